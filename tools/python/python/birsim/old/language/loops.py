"""Loops, `loop_reduce`, and the position in the grid."""

from __future__ import annotations

import builtins
import sys
from typing import Any, Iterator

from ...nki.dtype import float32
from .. import emit, state
from ..tile import Tile, allocate
from ..tokens import alu_token
from .arithmetic import binary
from .memory import copy as copied


class _LoopIndex(int):
    """The value of a loop variable; it knows its loop for `loop_reduce`."""

    loop: "_Loop"


class _Loop:
    """One execution of a loop over a range."""

    def __init__(self, values: range, site: Any) -> None:
        self.values, self.site = values, site
        self.sums: dict[Any, Tile] = {}
        self.now = 0

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[int]:
        running = state.current().loops
        running.append(self)
        depth = len(running)
        try:
            for value in self.values:
                self.now = value
                index = _LoopIndex(value)
                index.loop = self
                yield index
        finally:
            del running[depth - 1 :]


def affine_range(start: int, stop: int | None = None, step: int = 1, **_: Any) -> Any:
    """The loop `range(start, stop, step)`."""
    values = range(int(start)) if stop is None else range(int(start), int(stop), int(step))
    if not state.running():
        return values
    frame = sys._getframe(1)
    return _Loop(values, (frame.f_code, frame.f_lasti))


sequential_range = static_range = affine_range


def loop_reduce(x: Tile, op: Any, loop_indices: Any, dtype: Any = None, name: Any = None, mask: Any = None) -> Tile:
    """`x` combined by `op` over the passes of the given loops so far; complete after the last pass."""
    over = [i.loop for i in loop_indices]
    running = state.current().loops
    outer = builtins.min(over, key=running.index)
    frame = sys._getframe(1)
    key = (frame.f_code, frame.f_lasti, *((loop.site, loop.now) for loop in running[running.index(outer) :] if loop not in over))
    total = outer.sums.get(key)
    kept = x.dtype if x.dtype.kind != "f" else float32
    if total is None:
        total = outer.sums[key] = allocate(x.normal().shape, kept)
        emit.copy(total, x)
    else:
        binary(_combine(op), total, x, kept, mask)._settle(total)
    return copied(total, dtype=x.dtype if dtype is None else dtype)


def _combine(op: Any) -> str:
    return alu_token(op).__name__


def program_id(axis: int = 0) -> int:
    """The position of this grid point along `axis`."""
    point = state.current().point
    return point[axis] if axis < len(point) else 0


def num_programs(axes: Any = 0) -> Any:
    """The number of grid points along an axis, or along several."""
    grid = state.current().grid
    if axes is None:
        return grid
    if isinstance(axes, (tuple, list)):
        return tuple(num_programs(a) for a in axes)
    return grid[axes] if axes < len(grid) else 1


def program_ndim() -> int:
    """The number of axes of the grid."""
    return len(state.current().grid)
