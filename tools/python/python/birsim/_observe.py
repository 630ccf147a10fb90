"""Values of tensors as NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from .nki.dtype import as_dtype


def _positions(dims: list[list[int]], offset: int) -> np.ndarray:
    at = np.array(offset, dtype=np.int64)
    for step, count in dims:
        at = at[..., None] + np.arange(count, dtype=np.int64) * step
    return at


def gather(data: bytes, tensor: Any) -> Any:
    """The elements of a view out of the bytes of its storage."""
    dtype = as_dtype(tensor.dtype)
    flat = np.frombuffer(data, dtype=as_dtype(tensor._stored).numpy)
    shape = tuple(tensor.shape)
    if tensor.is_contiguous() and tensor.offset == 0 and flat.size == int(np.prod(shape)):
        values = flat.reshape(shape)
    else:
        values = flat[_positions(tensor.get_pattern(), tensor.offset)]
    return values.astype(dtype.numpy)


def array(tensor: Any) -> Any:
    """The values of a tensor now."""
    return gather(tensor._bytes(), tensor)


def text(tensor: Any) -> str:
    """What `print` shows."""
    head = f"{tensor.name}: {tensor.dtype} {tuple(tensor.shape)} in {tensor.buffer}"
    try:
        return f"{head}\n{array(tensor)!r}"
    except Exception as e:  # noqa: BLE001  printing never raises
        return f"{head} (values not known: {e})"
