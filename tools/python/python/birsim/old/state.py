"""What a running 0.1 kernel has besides its tensors: the grid point, the loops, and the call whose result is pending."""

from __future__ import annotations

import contextlib
import math
import os
import threading
from typing import Any, Iterator

from ..nki import language as nl

__all__ = ["State", "current", "eager", "launched"]


class State:
    """The state of one launch."""

    def __init__(self, grid: tuple[int, ...] = (), precise: bool | None = None) -> None:
        self.grid = grid
        # 16-bit floats on chip are rounded to 16 bits. The simulator of 0.1 kept them in float32, and its kernels' tests rely on it.
        self.precise = os.environ.get("NKI_PRECISE_FP", "") not in ("", "0") if precise is None else precise
        self.point: tuple[int, ...] = (0,) * len(grid)
        self.pending: Any = None
        self.loops: list[Any] = []
        self._shared: list[Any] = []
        # Elements of a row, by the name of the tensor.
        self.rows: dict[str, int] = {}
        self._next = 0

    def start(self, point: tuple[int, ...]) -> None:
        """Begins a grid point: it meets the tensors of HBM that the first one made, in the same order."""
        self.point, self._next, self.loops = point, 0, []

    def note(self, tile: Any) -> None:
        """Remembers the size of the rows of a tensor, for errors."""
        self.rows[tile.root.base.name] = math.prod(tile.shape[1:])

    def hbm(self, shape: tuple[int, ...], dtype: Any, buffer: Any, name: str) -> Any:
        """A tensor of HBM: all grid points share it."""
        from .tile import Root, Tile

        k = self._next
        self._next += 1
        if k < len(self._shared):
            tile = self._shared[k]
            if (tile.shape, tile.dtype) != (shape, dtype):
                raise ValueError(
                    f"grid point {self.point} makes a tensor of shape {shape} and type {dtype} where the first one made {tile.shape} {tile.dtype}: "
                    "the points of a grid must make the same tensors of HBM in the same order"
                )
            return tile
        base = nl.ndarray(shape or (1,), dtype=dtype, buffer=buffer, name=name)
        tile = Tile.whole(Root(base, shape, None, dtype, buffer))
        self._shared.append(tile)
        self.note(tile)
        return tile


_local = threading.local()


def current() -> State:
    """The launch that runs in this thread."""
    state: State | None = getattr(_local, "state", None)
    if state is None:
        raise RuntimeError("this call needs a running kernel: decorate the function with nki.jit and call it with arrays")
    return state


@contextlib.contextmanager
def launched(state: State | None) -> Iterator[State | None]:
    """Makes `state` the one of this thread for the time of a `with` block."""
    before = getattr(_local, "state", None)
    _local.state = state
    try:
        yield state
    finally:
        _local.state = before


def running() -> bool:
    """A kernel runs in this thread."""
    return getattr(_local, "state", None) is not None


def eager() -> bool:
    """Every call runs at once, so that a fault is raised on its own line."""
    return os.environ.get("BIRSIM_EAGER", "") not in ("", "0")
