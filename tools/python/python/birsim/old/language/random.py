"""Random numbers and printing."""

from __future__ import annotations

from typing import Any

from ...nki import language as nl
from ...nki.dtype import as_dtype, float32
from .. import emit
from ..tile import Tile, as_tile, flush
from .tensors import ndarray


def rand(shape: Any, dtype: Any = float32, **_: Any) -> Tile:
    """A new tile of random numbers in [0, 1)."""
    made = ndarray(shape, dtype)
    emit.copy(made, as_tile(nl.rand(tuple(made.normal().shape), dtype=as_dtype(dtype))))
    return made


def random_seed(seed: Any, **_: Any) -> None:
    """Seeds the random numbers."""
    flush()
    nl.random_seed(seed.nki() if isinstance(seed, Tile) else seed)


def dropout(x: Tile, rate: Any, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """Zero with probability `rate`, else the element."""
    from .. import isa

    return isa.dropout(x, prob=rate, mask=mask, dtype=dtype)


def device_print(prefix: str, x: Any = None, **_: Any) -> None:
    """Prints the values of a tile."""
    print(prefix, "" if x is None else x.numpy() if isinstance(x, Tile) else x, flush=True)


def no_reorder() -> Any:
    """An ordering hint, which a sequential run needs not."""
    import contextlib

    return contextlib.nullcontext()
