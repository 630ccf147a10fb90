"""`neuron_dtypes`: element types for arrays of the host, and the casts between floats and packed (x4) elements.

A packed element holds four neighbours of the last axis, the first in the lowest bits. Packed arrays carry NumPy user types when
this package's native part registers them, else unsigned integers of the same width.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from ml_dtypes import finfo

from .nki.dtype import DType, as_dtype

__all__ = [
    "bfloat16",
    "finfo",
    "float4_e2m1fn_x4",
    "float8_e4m3",
    "float8_e4m3fn",
    "float8_e4m3fn_x4",
    "float8_e5m2",
    "float8_e5m2_x4",
    "is_float_type",
    "sizeinbytes",
    "static_cast",
]

_LANE = {"float8_e4m3fn_x4": ml_dtypes.float8_e4m3fn, "float8_e5m2_x4": ml_dtypes.float8_e5m2, "float4_e2m1fn_x4": ml_dtypes.float4_e2m1fn}


def _host(dtype: DType) -> np.dtype:
    """The NumPy type of arrays of `dtype`."""
    if dtype.kind == "x":
        try:
            return np.dtype(str(dtype))
        except TypeError:
            return dtype.numpy
    return dtype.numpy


bfloat16 = np.dtype(ml_dtypes.bfloat16)
float8_e4m3 = np.dtype(ml_dtypes.float8_e4m3)
float8_e4m3fn = np.dtype(ml_dtypes.float8_e4m3fn)
float8_e5m2 = np.dtype(ml_dtypes.float8_e5m2)
float8_e4m3fn_x4 = _host(as_dtype("float8_e4m3fn_x4"))
float8_e5m2_x4 = _host(as_dtype("float8_e5m2_x4"))
float4_e2m1fn_x4 = _host(as_dtype("float4_e2m1fn_x4"))


def _pack(a: np.ndarray, name: str) -> np.ndarray:
    lane = _LANE[name]
    if a.shape[-1] % 4:
        raise ValueError(f"the last axis has {a.shape[-1]} elements; packing into {name} needs a multiple of 4")
    a = np.ascontiguousarray(a)
    values = a if a.dtype == np.dtype(lane) else a.astype(np.float32).astype(lane)
    bits = values.view(np.uint8)
    if name == "float4_e2m1fn_x4":
        n = (bits & 0xF).astype(np.uint16).reshape(*a.shape[:-1], -1, 4)
        packed = n[..., 0] | n[..., 1] << 4 | n[..., 2] << 8 | n[..., 3] << 12
    else:
        packed = np.ascontiguousarray(bits).view(np.uint32)
    return packed.view(_host(as_dtype(name)))


def _unpack(a: np.ndarray, name: str) -> np.ndarray:
    a = np.ascontiguousarray(a)
    if name == "float4_e2m1fn_x4":
        u = a.view(np.uint16)
        n = np.stack([(u >> shift) & 0xF for shift in (0, 4, 8, 12)], -1).astype(np.uint8)
        return n.reshape(*u.shape[:-1], -1).view(_LANE[name])
    return a.view(np.uint32).view(np.uint8).view(_LANE[name])


def static_cast(array: Any, dtype: Any) -> Any:
    """The array with another element type; to and from packed types the last axis shrinks and grows by 4."""
    scalar = not isinstance(array, np.ndarray)
    a = np.asarray(array)
    try:
        wanted = as_dtype(dtype)
        host = _host(wanted)
    except TypeError:
        wanted, host = None, np.dtype(dtype)
    source = str(a.dtype)
    if wanted is not None and wanted.kind == "x":
        if source == wanted:
            return a
        return _pack(_unpack(a, source) if source in _LANE else a, str(wanted))
    if source in _LANE:
        a = _unpack(a, source)
    if a.dtype != host:
        if host.kind == "V" and a.dtype.kind == "f" and a.dtype.itemsize > 4:
            # ml_dtypes rounds once, from float32.
            a = a.astype(np.float32)
        a = a.astype(host)
    return a[()] if scalar else a


def sizeinbytes(dtype: Any) -> int:
    """Bytes of one element."""
    return as_dtype(dtype).itemsize


def is_float_type(dtype: Any) -> bool:
    """The elements are floats, packed or not."""
    return as_dtype(dtype).kind in "fx"
