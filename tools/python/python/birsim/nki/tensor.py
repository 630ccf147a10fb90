"""`nki.tensor`: arrays of compile time."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtype import as_dtype


def zeros(shape: Any, dtype: Any = "float32") -> Any:
    """Zeros."""
    return np.zeros(shape, as_dtype(dtype).numpy)


def arange(start: int, stop: Any = None, step: int = 1, dtype: Any = "float32") -> Any:
    """A row of numbers."""
    return np.arange(*((0, start) if stop is None else (start, stop)), step, dtype=np.float32).astype(as_dtype(dtype).numpy)[None]


def identity(n: int, dtype: Any = "float32") -> Any:
    """An identity matrix."""
    return np.identity(n, dtype=np.float32).astype(as_dtype(dtype).numpy)
