"""Reductions along free axes."""

from __future__ import annotations

import builtins
import math
from typing import Any

from ...nki import isa as nisa
from ...nki import language as nl
from ...nki.dtype import bool_, float32
from ..index import IndexExpr
from ..masks import boxes
from ..tile import Tile
from .arithmetic import binary, by_number
from .memory import regroup


def _axes(axis: Any, rank: int) -> list[int]:
    axes = [int(a) for a in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    axes = sorted({a + rank if a < 0 else a for a in axes})
    if any(not 0 < a < rank for a in axes):
        raise ValueError(
            f"axis {axis} of a tile of {rank} dimensions: the axes 1 to {rank - 1} can be reduced, partitions by a matrix product or nisa.tensor_partition_reduce"
        )
    return axes


def reduced(x: Tile, axes: list[int], keepdims: Any = False) -> tuple[int, ...]:
    """The shape after a reduction; a tile keeps at least one free dimension."""
    if keepdims:
        return tuple(1 if k in axes else n for k, n in enumerate(x.shape))
    shape = tuple(n for k, n in enumerate(x.shape) if k not in axes)
    return shape if len(shape) > 1 else (*shape, 1)


def reduce(op: Any, x: Tile, axis: Any, dtype: Any, mask: Any, keepdims: Any, negate: Any = False) -> Tile:
    if not x.on_chip:
        raise TypeError("a reduction needs a tile on chip: load it with nl.load first")
    x = x.normal()
    axes = _axes(axis, len(x.shape))
    order = [k for k in range(len(x.shape)) if k not in axes] + axes
    moved = Tile(
        x.root,
        tuple(IndexExpr(tuple(f.shape[k] for k in order), tuple(f.coefs[k] for k in order), f.const) for f in x.forms),
        tuple(x.shape[k] for k in order),
    )
    shape = reduced(x, axes, keepdims)
    left = len(order) - len(axes)
    names = tuple(range(left, len(order)))

    def go(dst: Tile) -> None:
        target = regroup(dst.normal(), moved.shape[:left] + (1,) * len(axes))
        for box in boxes(mask, x.shape):
            part = moved.narrowed(tuple(box[k] for k in order))
            out = target.narrowed(tuple(box[k] if j < left else (0, 1) for j, k in enumerate(order)))
            kept = tuple(n for n in out.shape[:left])
            nisa.tensor_reduce(dst=exact(out, kept), op=op, data=exact(part, part.shape), axis=names, **({"negate": True} if negate else {}))

    # A mask of single elements says which are reduced, and every result is written.
    return Tile.pending(shape, x.dtype if dtype is None else dtype, nl.sbuf, go, mask if isinstance(mask, bool) else None)


def exact(tile: Tile, shape: tuple[int, ...]) -> Any:
    """The access pattern of a tile with exactly the dimensions of `shape`, which has the partition first."""
    view = tile.out() if tile.shape != shape else tile.nki()
    return view if tuple(view.shape) == tuple(shape) else _pattern(tile, shape)


def _pattern(tile: Tile, shape: tuple[int, ...]) -> Any:
    root = tile.root
    assert root.par is not None
    offset = builtins.sum(f.const * (root.pitch if d == root.par else root.strides[d]) for d, f in enumerate(tile.forms))
    steps = []
    for k in range(len(shape)):
        par = tile.forms[root.par].coefs[k]
        steps.append(
            par * root.pitch if par else builtins.sum(f.coefs[k] * root.strides[d] for d, f in enumerate(tile.forms) if d != root.par)
        )
    if not steps[0]:
        steps[0] = root.pitch
    return root.base.ap(pattern=[[s, n] for s, n in zip(steps, shape)] or [[root.pitch, 1], [1, 1]], offset=offset)


def _reduction(name: str, token: str) -> Any:
    def f(x: Tile, axis: Any, dtype: Any = None, mask: Any = None, keepdims: Any = False, **_: Any) -> Tile:
        return reduce(getattr(nl, token), x, axis, dtype, mask, keepdims)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"`{name}` along free axes."
    return f


sum = _reduction("sum", "add")  # noqa: A001
max = _reduction("max", "maximum")  # noqa: A001
min = _reduction("min", "minimum")  # noqa: A001
prod = _reduction("prod", "multiply")


def all(x: Tile, axis: Any, dtype: Any = None, mask: Any = None, keepdims: Any = False, **_: Any) -> Tile:  # noqa: A001
    """1 where no element along free axes is zero, else 0."""
    return reduce(nl.logical_and, x, axis, bool_ if dtype is None else dtype, mask, keepdims)


def _count(x: Tile, axis: Any) -> int:
    return math.prod(x.shape[a] for a in _axes(axis, len(x.shape)))


def mean(x: Tile, axis: Any, dtype: Any = None, mask: Any = None, keepdims: Any = False, **_: Any) -> Tile:
    """The mean along free axes."""
    kept = x.dtype if dtype is None else dtype
    total = reduce(nl.add, x, axis, float32, mask, keepdims)
    return by_number(total, nl.multiply, 1.0 / _count(x.normal(), axis), kept, None)


def var(x: Tile, axis: Any, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """The variance along free axes."""
    kept = x.dtype if dtype is None else dtype
    centre = mean(x, axis, float32, mask, keepdims=True)
    off = binary("subtract", x, centre, float32, mask)
    return mean(binary("multiply", off, off, float32, mask), axis, kept, mask)
