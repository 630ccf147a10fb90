"""Grids of 0.1: `kernel[a, b]`, `nl.nc(2)`, `nl.spmd_dim`. Every point runs once, one after another, on shared HBM."""

from __future__ import annotations

import itertools
import numbers
from typing import Any, Iterator

__all__ = ["SpmdDim", "nc", "points", "sizes", "spmd_dim"]


class SpmdDim:
    """A size of a grid that says which of its factors are cores; only the product matters here."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __mul__(self, other: Any) -> "SpmdDim":
        return SpmdDim(self.size * (other.size if isinstance(other, SpmdDim) else int(other)))

    __rmul__ = __mul__

    def __index__(self) -> int:
        return self.size


def nc(cores: int) -> SpmdDim:
    """A factor of a grid that is spread over physical cores."""
    return SpmdDim(int(cores))


def spmd_dim(*factors: Any) -> SpmdDim:
    """A size of a grid as the product of its factors."""
    size = SpmdDim(1)
    for f in factors:
        size = size * f
    return size


def sizes(grid: Any) -> tuple[int, ...]:
    """The sizes of a grid given in brackets."""
    out = []
    for n in grid if isinstance(grid, (tuple, list)) else (grid,):
        if not isinstance(n, (numbers.Integral, SpmdDim)):
            raise TypeError(f"a grid consists of integers, nl.nc and nl.spmd_dim, not {type(n).__name__}")
        out.append(max(1, n.__index__()))
    return tuple(out)


def points(grid: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Every point of a grid, the last axis fastest."""
    return itertools.product(*(range(n) for n in grid))
