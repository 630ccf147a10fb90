"""Shapes, matrix products, selection, and functions made of several steps."""

from __future__ import annotations

from typing import Any

from ...nki import isa as nisa
from ...nki import language as nl
from ...nki.dtype import as_dtype, float32
from .. import emit
from ..masks import boxes
from ..tile import Tile, allocate
from .arithmetic import binary, by_number, common, exp, rsqrt
from .memory import copy as copied
from .reductions import reduce


def broadcast_to(src: Tile, shape: Any, **_: Any) -> Tile:
    """The tile repeated to `shape`, without a copy along free axes."""
    shape = tuple(int(n) for n in shape)
    src = src.normal() if src.on_chip else src
    if src.on_chip and src.shape[0] == 1 and shape[0] > 1:
        wide = allocate(shape, src.dtype)
        emit.copy(wide, emit.spread(src, shape))
        return wide
    return src.over(shape)


def expand_dims(data: Tile, axis: int, **_: Any) -> Tile:
    """The tile with a dimension of size 1 put in."""
    rank = len(data.shape) + 1
    at = axis + rank if axis < 0 else axis
    key: list[Any] = [slice(None)] * len(data.shape)
    key.insert(at, None)
    return data[tuple(key)]


def matmul(x: Tile, y: Tile, transpose_x: Any = False, mask: Any = None, **_: Any) -> Tile:
    """The product of two tiles; without `transpose_x` the left one is transposed first."""
    from .. import isa

    x, y = emit.to_sbuf(x), emit.to_sbuf(y)
    if not transpose_x:
        x = emit.to_sbuf(isa.nc_transpose(x))
    return isa.nc_matmul(x, y, mask=mask)


def transpose(x: Tile, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """The transpose of a tile."""
    from .. import isa

    return copied(isa.nc_transpose(x), dtype=dtype, mask=mask)


def where(condition: Tile, x: Any, y: Any, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """Elements of `x` where the condition is not zero, else of `y`."""
    x, y = emit.number(x), emit.number(y)
    tiles = [condition, *(t for t in (x, y) if isinstance(t, Tile))]
    for t in tiles:
        t.root
    if dtype is None:
        kinds = [t.dtype for t in tiles[1:]]
        dtype = float32 if not kinds else kinds[0] if len(kinds) == 1 else common(*kinds)
    dtype = as_dtype(dtype)
    shape, wide = emit.aligned(*tiles)
    flags = emit.elementwise(
        as_dtype("uint8"), None, [wide[0]], lambda d, t: nisa.tensor_scalar(dst=d, data=t, op0=nl.not_equal, operand0=0.0)
    )
    flags.root
    rest = iter(wide[1:])
    xs = next(rest) if isinstance(x, Tile) else None
    ys = next(rest) if isinstance(y, Tile) else None

    def go(dst: Tile) -> None:
        for box in boxes(mask, shape):
            d = dst.normal().narrowed(box)
            if ys is None:
                emit.fill(d, y)
            else:
                nisa.tensor_copy(dst=d.out(), src=ys.narrowed(box).nki())
            if xs is None:
                chosen = allocate(d.shape, dtype)
                emit.fill(chosen, x)
            elif xs.dtype != dtype:
                chosen = allocate(d.shape, dtype)
                nisa.tensor_copy(dst=chosen.nki(), src=xs.narrowed(box).nki())
            else:
                chosen = xs.narrowed(box)
            nisa.tensor_copy_predicated(dst=d.out(), src=chosen.nki(), predicate=flags.narrowed(box).nki())

    return Tile.pending(shape, dtype, nl.sbuf, go)


def gather_flattened(data: Tile, indices: Tile, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """data[p, indices[p, k]] with the free dimensions of `data` as one."""
    data, indices = emit.to_sbuf(data).normal(), emit.to_sbuf(indices).normal()
    data.root, indices.root
    return emit.elementwise(
        data.dtype if dtype is None else dtype, mask, [indices], lambda d, i: nisa.nc_n_gather(dst=d, data=data.nki(), indices=i)
    )


def softmax(x: Tile, axis: Any = -1, dtype: Any = None, compute_dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """exp(x - max) over its sum along free axes."""
    kept = x.dtype if dtype is None else dtype
    top = reduce(nl.maximum, x, axis, float32, mask, True)
    e = exp(binary("subtract", x, top, float32, mask), mask=mask)
    total = reduce(nl.add, e, axis, float32, mask, True)
    return binary("divide", e, total, kept, mask)


def rms_norm(
    x: Tile, w: Any, axis: Any, n: int, epsilon: float = 1e-6, dtype: Any = None, compute_dtype: Any = None, mask: Any = None, **_: Any
) -> Tile:
    """x / sqrt(mean(x^2) + epsilon) * w along free axes."""
    kept = x.dtype if dtype is None else dtype
    total = reduce(nl.add, binary("multiply", x, x, float32, mask), axis, float32, mask, True)
    mean_square = by_number(total, nl.multiply, 1.0 / n, float32, None, op1=nl.add, operand1=float(epsilon))
    scaled = binary("multiply", x, rsqrt(mean_square), float32 if w is not None else kept, mask)
    return scaled if w is None else binary("multiply", scaled, w, kept, mask)
