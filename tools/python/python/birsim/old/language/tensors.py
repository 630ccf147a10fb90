"""New tensors and constants."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...nki import language as nl
from ...nki.dtype import as_dtype, float32
from .. import emit
from ..tile import ParDim, Tile, allocate, as_tile, flush


def ds(start: int, size: int) -> slice:
    """`start` up to `start + size` as an index."""
    return slice(start, start + size)


def ndarray(shape: Any, dtype: Any, buffer: Any = None, name: str = "", **_: Any) -> Tile:
    """A new tensor without values."""
    flush()
    return allocate(shape, dtype, buffer, name)


def full(shape: Any, fill_value: Any, dtype: Any, buffer: Any = None, name: str = "", **_: Any) -> Tile:
    """A new tensor of one value."""
    made = ndarray(shape, dtype, buffer, name)
    emit.fill(made, fill_value)
    return made


def zeros(shape: Any, dtype: Any = float32, buffer: Any = None, name: str = "", **_: Any) -> Tile:
    """A new tensor of zeros."""
    return full(shape, 0, dtype, buffer, name)


def ones(shape: Any, dtype: Any = float32, buffer: Any = None, name: str = "", **_: Any) -> Tile:
    """A new tensor of ones."""
    return full(shape, 1, dtype, buffer, name)


def _like(a: Tile, dtype: Any, buffer: Any) -> tuple[Any, Any, Any]:
    par = a.root.par
    shape = tuple(ParDim(n) if k == par and a.shape == a.root.shape else n for k, n in enumerate(a.shape))
    return shape, a.dtype if dtype is None else dtype, a.buffer if buffer is None else buffer


def empty_like(a: Tile, dtype: Any = None, buffer: Any = None, name: str = "", **_: Any) -> Tile:
    """A new tensor of the shape and type of `a`."""
    shape, dtype, buffer = _like(a, dtype, buffer)
    return ndarray(shape, dtype, buffer, name)


def zeros_like(a: Tile, dtype: Any = None, buffer: Any = None, name: str = "", **_: Any) -> Tile:
    """A new tensor of zeros of the shape and type of `a`."""
    shape, dtype, buffer = _like(a, dtype, buffer)
    return full(shape, 0, dtype, buffer, name)


def shared_constant(constant: Any, dtype: Any = None, **_: Any) -> Tile:
    """A tensor of HBM that holds the values of an array."""
    values = constant if isinstance(constant, str) else np.asarray(constant)
    if dtype is not None and not isinstance(values, str):
        values = values.astype(as_dtype(dtype).numpy)
    return as_tile(nl.shared_constant(values))


def shared_identity_matrix(n: int, dtype: Any = None, **_: Any) -> Tile:
    """An identity matrix in HBM."""
    return shared_constant(np.identity(n, dtype=(as_dtype("uint8" if dtype is None else dtype)).numpy))


def static_cast(array: Any, dtype: Any) -> Any:
    """An array of the host with another element type."""
    from ...neuron_dtypes import static_cast as cast

    return cast(array, dtype)
