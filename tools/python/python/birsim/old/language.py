"""`neuronxcc.nki.language`: tensors, loops and functions that return tiles."""

from __future__ import annotations

import builtins
import math as _math
import sys as _sys
from types import SimpleNamespace as _Namespace
from typing import Any, Iterator

import numpy as _np

from ..nki import isa as _nisa
from ..nki import language as _nl
from ..nki.dtype import *  # noqa: F403
from ..nki.dtype import DType as _DType
from ..nki.dtype import as_dtype as _as_dtype
from ..nki.dtype import bool_ as _bool
from ..nki.dtype import float32 as _float32
from . import state as _state
from .emit import aligned as _aligned
from .emit import assign as _assign
from .emit import copy as _copy
from .emit import elementwise as _elementwise
from .emit import fill as _fill
from .emit import number as _number
from .emit import spread as _spread
from .emit import to_sbuf as _to_sbuf
from .grid import nc, spmd_dim  # noqa: F401
from .index import IndexExpr as _IndexExpr
from .index import arange, mgrid  # noqa: F401
from .masks import boxes as _boxes
from .tile import ParDim as par_dim  # noqa: N813
from .tile import Tile as _Tile
from .tile import allocate as _allocate
from .tile import as_tile as _as_tile
from .tile import flush as _flush
from .tokens import COMPARISONS as _COMPARISONS
from .tokens import alu_token as _alu_token

sbuf, psum = _nl.sbuf, _nl.psum
hbm, shared_hbm, private_hbm = _nl.hbm, _nl.shared_hbm, _nl.private_hbm
tile_size = _nl.tile_size
bool = _bool  # noqa: A001
Tensor = tensor = _Tile
fp32 = _Namespace(min=float(_np.finfo(_np.float32).min), max=float(_np.finfo(_np.float32).max))


# ---- tensors


def ds(start: int, size: int) -> slice:
    """`start` up to `start + size` as an index."""
    return slice(start, start + size)


def ndarray(shape: Any, dtype: Any, buffer: Any = None, name: str = "", **_: Any) -> _Tile:
    """A new tensor without values."""
    _flush()
    return _allocate(shape, dtype, buffer, name)


def full(shape: Any, fill_value: Any, dtype: Any, buffer: Any = None, name: str = "", **_: Any) -> _Tile:
    """A new tensor of one value."""
    made = ndarray(shape, dtype, buffer, name)
    _fill(made, fill_value)
    return made


def zeros(shape: Any, dtype: Any = _float32, buffer: Any = None, name: str = "", **_: Any) -> _Tile:
    """A new tensor of zeros."""
    return full(shape, 0, dtype, buffer, name)


def ones(shape: Any, dtype: Any = _float32, buffer: Any = None, name: str = "", **_: Any) -> _Tile:
    """A new tensor of ones."""
    return full(shape, 1, dtype, buffer, name)


def _like(a: _Tile, dtype: Any, buffer: Any) -> tuple[Any, Any, Any]:
    par = a.root.par
    shape = tuple(par_dim(n) if k == par and a.shape == a.root.shape else n for k, n in enumerate(a.shape))
    return shape, a.dtype if dtype is None else dtype, a.buffer if buffer is None else buffer


def empty_like(a: _Tile, dtype: Any = None, buffer: Any = None, name: str = "", **_: Any) -> _Tile:
    """A new tensor of the shape and type of `a`."""
    shape, dtype, buffer = _like(a, dtype, buffer)
    return ndarray(shape, dtype, buffer, name)


def zeros_like(a: _Tile, dtype: Any = None, buffer: Any = None, name: str = "", **_: Any) -> _Tile:
    """A new tensor of zeros of the shape and type of `a`."""
    shape, dtype, buffer = _like(a, dtype, buffer)
    return full(shape, 0, dtype, buffer, name)


def shared_constant(constant: Any, dtype: Any = None, **_: Any) -> _Tile:
    """A tensor of HBM that holds the values of an array."""
    values = constant if isinstance(constant, str) else _np.asarray(constant)
    if dtype is not None and not isinstance(values, str):
        values = values.astype(_as_dtype(dtype).numpy)
    return _as_tile(_nl.shared_constant(values))


def shared_identity_matrix(n: int, dtype: Any = None, **_: Any) -> _Tile:
    """An identity matrix in HBM."""
    return shared_constant(_np.identity(n, dtype=(_as_dtype("uint8" if dtype is None else dtype)).numpy))


def static_cast(array: Any, dtype: Any) -> Any:
    """An array of the host with another element type."""
    from ..neuron_dtypes import static_cast as cast

    return cast(array, dtype)


# ---- loops and grid


class _LoopIndex(int):
    """The value of a loop variable; it knows its loop for `loop_reduce`."""

    loop: "_Loop"


class _Loop:
    """One execution of a loop over a range."""

    def __init__(self, values: range, site: Any) -> None:
        self.values, self.site = values, site
        self.sums: dict[Any, _Tile] = {}
        self.now = 0

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[int]:
        running = _state.current().loops
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
    if not _state.running():
        return values
    frame = _sys._getframe(1)
    return _Loop(values, (frame.f_code, frame.f_lasti))


sequential_range = static_range = affine_range


def loop_reduce(x: _Tile, op: Any, loop_indices: Any, dtype: Any = None, name: Any = None, mask: Any = None) -> _Tile:
    """`x` combined by `op` over the passes of the given loops so far; complete after the last pass."""
    over = [i.loop for i in loop_indices]
    running = _state.current().loops
    outer = builtins.min(over, key=running.index)
    frame = _sys._getframe(1)
    key = (frame.f_code, frame.f_lasti, *((loop.site, loop.now) for loop in running[running.index(outer) :] if loop not in over))
    total = outer.sums.get(key)
    kept = x.dtype if x.dtype.kind != "f" else _float32
    if total is None:
        total = outer.sums[key] = _allocate(x.normal().shape, kept)
        _copy(total, x)
    else:
        _binary(_combine(op), total, x, kept, mask)._settle(total)
    return copy(total, dtype=x.dtype if dtype is None else dtype)


def _combine(op: Any) -> str:
    return _alu_token(op).__name__


def program_id(axis: int = 0) -> int:
    """The position of this grid point along `axis`."""
    point = _state.current().point
    return point[axis] if axis < len(point) else 0


def num_programs(axes: Any = 0) -> Any:
    """The number of grid points along an axis, or along several."""
    grid = _state.current().grid
    if axes is None:
        return grid
    if isinstance(axes, (tuple, list)):
        return tuple(num_programs(a) for a in axes)
    return grid[axes] if axes < len(grid) else 1


def program_ndim() -> int:
    """The number of axes of the grid."""
    return len(_state.current().grid)


# ---- between HBM and the chip


def load(src: _Tile, mask: Any = None, dtype: Any = None, **_: Any) -> _Tile:
    """A tile of SBUF with the values of a tensor of HBM."""
    if src.on_chip:
        return copy(src, mask=mask, dtype=dtype)
    shape = src.shape if len(src.shape) > 1 else (*src.shape, 1) if src.shape else (1, 1)

    def go(dst: _Tile) -> None:
        target = dst.normal()
        for box in _boxes(mask, src.shape):
            wide = tuple(box) if len(src.shape) > 1 else (*box, *((0, 1),) * (2 - len(box)))
            _nisa.dma_copy(dst=target.narrowed(wide).nki(), src=src.narrowed(box).nki())

    return _Tile.pending(shape, src.dtype if dtype is None else dtype, sbuf, go)


def load_transpose2d(src: _Tile, mask: Any = None, dtype: Any = None, **_: Any) -> _Tile:
    """A tile of SBUF with the transpose of a matrix of HBM."""
    rows, columns = src.shape
    for box in _boxes(mask, src.shape):
        if box != ((0, rows), (0, columns)):
            src = src.narrowed(box)
    flipped = _Tile(src.root, tuple(_IndexExpr(f.shape[::-1], f.coefs[::-1], f.const) for f in src.forms), src.shape[::-1])

    def go(dst: _Tile) -> None:
        _nisa.dma_copy(dst=dst.normal().narrowed(tuple((0, n) for n in flipped.shape)).nki(), src=flipped.nki())

    return _Tile.pending((columns, rows), src.dtype if dtype is None else dtype, sbuf, go)


def store(dst: _Tile, value: Any, mask: Any = None, **_: Any) -> None:
    """Writes a tile, or a number, to a tensor of HBM."""
    if not isinstance(value, _Tile):
        _fill(dst, value)
        return
    value.root
    source = _to_sbuf(value) if value.buffer == psum else value
    if mask is None:
        _copy(dst, source)
        return
    source = source.normal() if source.on_chip else source
    if source.shape != dst.shape:
        source = _regroup(source, dst.shape)
    for box in _boxes(mask, dst.shape):
        _nisa.dma_copy(dst=dst.narrowed(box).nki(), src=source.narrowed(box).nki())


def _regroup(tile: _Tile, shape: tuple[int, ...]) -> _Tile:
    """The tile with axes of size 1 put in or left out so that it has `shape`, or broadcast to it."""
    wanted = [n for n in shape if n != 1]
    if [n for n in tile.shape if n != 1] == wanted:
        kept = iter(k for k, n in enumerate(tile.shape) if n != 1)
        order = [None if n == 1 else next(kept) for n in shape]
        forms = tuple(_IndexExpr(shape, tuple(0 if k is None else f.coefs[k] for k in order), f.const) for f in tile.forms)
        return _Tile(tile.root, forms, shape, tile.rows)
    return _spread(tile, shape) if tile.on_chip else tile.over(shape)


def atomic_rmw(dst: _Tile, value: _Tile, op: Any, mask: Any = None, **_: Any) -> None:
    """Adds a tile to a tensor of HBM, where it lies."""
    if _combine(op) != "add":
        raise ValueError("atomic_rmw can add; other operations are not modelled")
    old = load(dst, mask=mask)
    old.root
    store(dst, add(old, value), mask=mask)


def copy(src: _Tile, mask: Any = None, dtype: Any = None, **_: Any) -> _Tile:
    """A new tile of SBUF with the values of another one."""
    if not src.on_chip:
        return load(src, mask=mask, dtype=dtype)
    return _elementwise(src.dtype if dtype is None else dtype, mask, [src], lambda d, s: _nisa.tensor_copy(dst=d, src=s))


# ---- arithmetic


def _common(x: _DType, y: _DType) -> _DType:
    """The more precise of two types: floats before integers, then the wider one."""
    if x == y:
        return x
    if (x.kind == "f") != (y.kind == "f"):
        return x if x.kind == "f" else y
    if x.itemsize != y.itemsize:
        return x if x.itemsize > y.itemsize else y
    return _float32 if x.kind == "f" and x.itemsize == 2 else x


def _binary(name: str, x: Any, y: Any, dtype: Any = None, mask: Any = None) -> Any:
    x, y = _number(x), _number(y)
    op = getattr(_nl, name)
    tiles = [t for t in (x, y) if isinstance(t, _Tile)]
    if not tiles:
        raise TypeError(f"nl.{name} needs at least one tile; compute with Python numbers directly")
    for t in tiles:
        t.root
    if dtype is None:
        dtype = tiles[0].dtype if len(tiles) == 1 else _common(tiles[0].dtype, tiles[1].dtype)
        if name in _COMPARISONS:
            dtype = _bool
        elif len(tiles) == 1 and isinstance(x if tiles[0] is y else y, float) and dtype.kind != "f":
            dtype = _float32
    if len(tiles) == 1:
        value, swap = (y, {}) if tiles[0] is x else (x, {"reverse0": True})
        return _elementwise(dtype, mask, tiles, lambda d, t: _nisa.tensor_scalar(dst=d, data=t, op0=op, operand0=value, **swap))
    if x.buffer == psum and y.buffer == psum:
        y = _to_sbuf(y)
    return _elementwise(dtype, mask, [x, y], lambda d, a, b: _nisa.tensor_tensor(dst=d, data1=a, data2=b, op=op))


def _def_binary(name: str) -> Any:
    def f(x: Any, y: Any, dtype: Any = None, mask: Any = None, **_: Any) -> Any:
        return _binary(name, x, y, dtype, mask)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"`{name}` of two tiles, or of a tile and a number, element by element."
    return f


for _n in (
    *("add subtract multiply divide maximum minimum power bitwise_and bitwise_or bitwise_xor left_shift right_shift".split()),
    *("logical_and logical_or logical_xor equal not_equal greater greater_equal less less_equal".split()),
):
    globals()[_n] = _def_binary(_n)


def mod(x: Any, y: Any, dtype: Any = None, mask: Any = None, **_: Any) -> Any:
    """The remainder of x / y, with the sign of the divisor."""
    return _binary("mod", x, y, dtype, mask)


def fmod(x: Any, y: Any, dtype: Any = None, mask: Any = None, **_: Any) -> Any:
    """The remainder of x / y, with the sign of the dividend."""
    return _binary("fmod", x, y, dtype, mask)


def _def_activation(name: str) -> Any:
    def f(x: _Tile, dtype: Any = None, mask: Any = None, **_: Any) -> _Tile:
        op = getattr(_nl, name)
        kept = x.dtype if x.dtype.kind == "f" else _float32
        return _elementwise(kept if dtype is None else dtype, mask, [x], lambda d, t: _nisa.activation(dst=d, op=op, data=t))

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"`{name}` of every element."
    return f


for _n in (
    "exp log tanh sqrt rsqrt sigmoid relu gelu gelu_dx gelu_apprx_tanh gelu_apprx_sigmoid gelu_apprx_sigmoid_dx silu silu_dx "
    "softplus mish erf erf_dx arctan sign square".split()
):
    globals()[_n] = _def_activation(_n)


def abs(x: _Tile, dtype: Any = None, mask: Any = None, **_: Any) -> _Tile:  # noqa: A001
    """The magnitude of every element."""
    return _scalar(x, _nl.abs, 0.0, dtype, mask)


def _scalar(x: _Tile, op: Any, value: Any, dtype: Any, mask: Any, **more: Any) -> _Tile:
    """One `tensor_scalar` over a tile."""
    kept = x.dtype if dtype is None else dtype
    return _elementwise(kept, mask, [x], lambda d, t: _nisa.tensor_scalar(dst=d, data=t, op0=op, operand0=value, **more))


def negative(x: _Tile, dtype: Any = None, mask: Any = None, **_: Any) -> _Tile:
    """The negative of every element."""
    return _scalar(x, _nl.multiply, -1 if x.dtype.kind != "f" else -1.0, dtype, mask)


def reciprocal(x: _Tile, dtype: Any = None, mask: Any = None, **_: Any) -> _Tile:
    """1 / x of every element."""
    return _elementwise(x.dtype if dtype is None else dtype, mask, [x], lambda d, t: _nisa.reciprocal(dst=d, data=t))


def invert(x: _Tile, dtype: Any = None, mask: Any = None, **_: Any) -> _Tile:
    """All bits of every element flipped."""
    return _scalar(x, _nl.bitwise_xor, -1 if x.dtype.kind == "i" else (1 << 8 * x.dtype.itemsize) - 1, dtype, mask)


bitwise_not = invert


def logical_not(x: _Tile, dtype: Any = None, mask: Any = None, **_: Any) -> _Tile:
    """1 where an element is zero, else 0."""
    return _scalar(x, _nl.equal, 0.0, _bool if dtype is None else dtype, mask)


def _by_new(name: str) -> Any:
    """A function that `nki.language` builds from several instructions."""

    def f(x: _Tile, dtype: Any = None, mask: Any = None, **_: Any) -> _Tile:
        g = getattr(_nl, name)
        kept = _as_dtype(x.dtype if dtype is None else dtype)

        def run(d: Any, t: Any) -> None:
            _nisa.tensor_copy(dst=d, src=g(t, dtype=kept))

        return _elementwise(kept, mask, [x], run)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"`{name}` of every element."
    return f


for _n in ("sin", "cos", "tan", "ceil", "floor", "trunc"):
    globals()[_n] = _by_new(_n)


# ---- reductions


def _axes(axis: Any, rank: int) -> list[int]:
    axes = [int(a) for a in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    axes = sorted({a + rank if a < 0 else a for a in axes})
    if any(not 0 < a < rank for a in axes):
        raise ValueError(f"axis {axis} of a tile of {rank} dimensions: the axes 1 to {rank - 1} can be reduced, partitions by a matrix product or nisa.tensor_partition_reduce")
    return axes


def reduced(x: _Tile, axes: list[int], keepdims: Any = False) -> tuple[int, ...]:
    """The shape after a reduction; a tile keeps at least one free dimension."""
    if keepdims:
        return tuple(1 if k in axes else n for k, n in enumerate(x.shape))
    shape = tuple(n for k, n in enumerate(x.shape) if k not in axes)
    return shape if len(shape) > 1 else (*shape, 1)


def _reduce(op: Any, x: _Tile, axis: Any, dtype: Any, mask: Any, keepdims: Any, negate: Any = False) -> _Tile:
    if not x.on_chip:
        raise TypeError("a reduction needs a tile on chip: load it with nl.load first")
    x = x.normal()
    axes = _axes(axis, len(x.shape))
    order = [k for k in range(len(x.shape)) if k not in axes] + axes
    moved = _Tile(x.root, tuple(_IndexExpr(tuple(f.shape[k] for k in order), tuple(f.coefs[k] for k in order), f.const) for f in x.forms), tuple(x.shape[k] for k in order))
    shape = reduced(x, axes, keepdims)
    left = len(order) - len(axes)
    names = tuple(range(left, len(order)))

    def go(dst: _Tile) -> None:
        target = _regroup(dst.normal(), moved.shape[:left] + (1,) * len(axes))
        for box in _boxes(mask, x.shape):
            part = moved.narrowed(tuple(box[k] for k in order))
            out = target.narrowed(tuple(box[k] if j < left else (0, 1) for j, k in enumerate(order)))
            kept = tuple(n for n in out.shape[:left])
            _nisa.tensor_reduce(dst=_flat(out, kept), op=op, data=_flat(part, part.shape), axis=names, **({"negate": True} if negate else {}))

    return _Tile.pending(shape, x.dtype if dtype is None else dtype, sbuf, go)


def _flat(tile: _Tile, shape: tuple[int, ...]) -> Any:
    """The access pattern of a tile with exactly the dimensions of `shape`, which has the partition first."""
    view = tile.out() if tile.shape != shape else tile.nki()
    return view if tuple(view.shape) == tuple(shape) else _pattern(tile, shape)


def _pattern(tile: _Tile, shape: tuple[int, ...]) -> Any:
    root = tile.root
    assert root.par is not None
    offset = builtins.sum(f.const * (root.pitch if d == root.par else root.strides[d]) for d, f in enumerate(tile.forms))
    steps = []
    for k in range(len(shape)):
        par = tile.forms[root.par].coefs[k]
        steps.append(par * root.pitch if par else builtins.sum(f.coefs[k] * root.strides[d] for d, f in enumerate(tile.forms) if d != root.par))
    if not steps[0]:
        steps[0] = root.pitch
    return root.base.ap(pattern=[[s, n] for s, n in zip(steps, shape)] or [[root.pitch, 1], [1, 1]], offset=offset)


def _def_reduce(name: str, token: str) -> Any:
    def f(x: _Tile, axis: Any, dtype: Any = None, mask: Any = None, keepdims: Any = False, **_: Any) -> _Tile:
        return _reduce(getattr(_nl, token), x, axis, dtype, mask, keepdims)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"`{name}` along free axes."
    return f


for _n, _t in (("sum", "add"), ("max", "maximum"), ("min", "minimum"), ("prod", "multiply")):
    globals()[_n] = _def_reduce(_n, _t)


def all(x: _Tile, axis: Any, dtype: Any = None, mask: Any = None, keepdims: Any = False, **_: Any) -> _Tile:  # noqa: A001
    """1 where no element along free axes is zero, else 0."""
    return _reduce(_nl.logical_and, x, axis, _bool if dtype is None else dtype, mask, keepdims)


def _count(x: _Tile, axis: Any) -> int:
    return _math.prod(x.shape[a] for a in _axes(axis, len(x.shape)))


def mean(x: _Tile, axis: Any, dtype: Any = None, mask: Any = None, keepdims: Any = False, **_: Any) -> _Tile:
    """The mean along free axes."""
    kept = x.dtype if dtype is None else dtype
    total = _reduce(_nl.add, x, axis, _float32, mask, keepdims)
    return _scalar(total, _nl.multiply, 1.0 / _count(x.normal(), axis), kept, None)


def var(x: _Tile, axis: Any, dtype: Any = None, mask: Any = None, **_: Any) -> _Tile:
    """The variance along free axes."""
    kept = x.dtype if dtype is None else dtype
    centre = mean(x, axis, _float32, mask, keepdims=True)
    off = _binary("subtract", x, centre, _float32, mask)
    return mean(_binary("multiply", off, off, _float32, mask), axis, kept, mask)


# ---- shapes and matrices


def broadcast_to(src: _Tile, *, shape: Any, **_: Any) -> _Tile:
    """The tile repeated to `shape`, without a copy along free axes."""
    shape = tuple(int(n) for n in shape)
    src = src.normal() if src.on_chip else src
    if src.on_chip and src.shape[0] == 1 and shape[0] > 1:
        wide = _allocate(shape, src.dtype)
        _copy(wide, _spread(src, shape))
        return wide
    return src.over(shape)


def expand_dims(data: _Tile, axis: int, **_: Any) -> _Tile:
    """The tile with a dimension of size 1 put in."""
    rank = len(data.shape) + 1
    at = axis + rank if axis < 0 else axis
    key: list[Any] = [slice(None)] * len(data.shape)
    key.insert(at, None)
    return data[tuple(key)]


def matmul(x: _Tile, y: _Tile, transpose_x: Any = False, mask: Any = None, **_: Any) -> _Tile:
    """The product of two tiles; without `transpose_x` the left one is transposed first."""
    from . import isa

    x, y = _to_sbuf(x), _to_sbuf(y)
    if not transpose_x:
        x = _to_sbuf(isa.nc_transpose(x))
    return isa.nc_matmul(x, y, mask=mask)


def transpose(x: _Tile, dtype: Any = None, mask: Any = None, **_: Any) -> _Tile:
    """The transpose of a tile."""
    from . import isa

    return copy(isa.nc_transpose(x), dtype=dtype, mask=mask)


def where(condition: _Tile, x: Any, y: Any, dtype: Any = None, mask: Any = None, **_: Any) -> _Tile:
    """Elements of `x` where the condition is not zero, else of `y`."""
    x, y = _number(x), _number(y)
    tiles = [condition, *(t for t in (x, y) if isinstance(t, _Tile))]
    for t in tiles:
        t.root
    if dtype is None:
        kinds = [t.dtype for t in tiles[1:]]
        dtype = _float32 if not kinds else kinds[0] if len(kinds) == 1 else _common(*kinds)
    dtype = _as_dtype(dtype)
    shape, wide = _aligned(*tiles)
    flags = _elementwise(_as_dtype("uint8"), None, [wide[0]], lambda d, t: _nisa.tensor_scalar(dst=d, data=t, op0=_nl.not_equal, operand0=0.0))
    flags.root
    rest = iter(wide[1:])
    xs = next(rest) if isinstance(x, _Tile) else None
    ys = next(rest) if isinstance(y, _Tile) else None

    def go(dst: _Tile) -> None:
        for box in _boxes(mask, shape):
            d = dst.normal().narrowed(box)
            if ys is None:
                _fill(d, y)
            else:
                _nisa.tensor_copy(dst=d.out(), src=ys.narrowed(box).nki())
            if xs is None:
                chosen = _allocate(d.shape, dtype)
                _fill(chosen, x)
            elif xs.dtype != dtype:
                chosen = _allocate(d.shape, dtype)
                _nisa.tensor_copy(dst=chosen.nki(), src=xs.narrowed(box).nki())
            else:
                chosen = xs.narrowed(box)
            _nisa.tensor_copy_predicated(dst=d.out(), src=chosen.nki(), predicate=flags.narrowed(box).nki())

    return _Tile.pending(shape, dtype, sbuf, go)


def gather_flattened(data: _Tile, indices: _Tile, mask: Any = None, dtype: Any = None, **_: Any) -> _Tile:
    """data[p, indices[p, k]] with the free dimensions of `data` as one."""
    data, indices = _to_sbuf(data).normal(), _to_sbuf(indices).normal()
    data.root, indices.root
    return _elementwise(
        data.dtype if dtype is None else dtype, mask, [indices], lambda d, i: _nisa.nc_n_gather(dst=d, data=data.nki(), indices=i)
    )


def softmax(x: _Tile, axis: Any = -1, dtype: Any = None, compute_dtype: Any = None, mask: Any = None, **_: Any) -> _Tile:
    """exp(x - max) over its sum along free axes."""
    kept = x.dtype if dtype is None else dtype
    top = _reduce(_nl.maximum, x, axis, _float32, mask, True)
    e = globals()["exp"](_binary("subtract", x, top, _float32, mask), mask=mask)
    total = _reduce(_nl.add, e, axis, _float32, mask, True)
    return _binary("divide", e, total, kept, mask)


def rms_norm(x: _Tile, w: Any, axis: Any, n: int, epsilon: float = 1e-6, dtype: Any = None, compute_dtype: Any = None, mask: Any = None, **_: Any) -> _Tile:
    """x / sqrt(mean(x^2) + epsilon) * w along free axes."""
    kept = x.dtype if dtype is None else dtype
    total = _reduce(_nl.add, _binary("multiply", x, x, _float32, mask), axis, _float32, mask, True)
    mean_square = _scalar(total, _nl.multiply, 1.0 / n, _float32, None, op1=_nl.add, operand1=float(epsilon))
    scaled = _binary("multiply", x, globals()["rsqrt"](mean_square), _float32 if w is not None else kept, mask)
    return scaled if w is None else _binary("multiply", scaled, w, kept, mask)


# ---- random numbers, printing


def rand(shape: Any, dtype: Any = _float32, **_: Any) -> _Tile:
    """A new tile of random numbers in [0, 1)."""
    made = ndarray(shape, dtype)
    _copy(made, _as_tile(_nl.rand(tuple(made.normal().shape), dtype=_as_dtype(dtype))))
    return made


def random_seed(seed: Any, **_: Any) -> None:
    """Seeds the random numbers."""
    _flush()
    _nl.random_seed(seed.nki() if isinstance(seed, _Tile) else seed)


def dropout(x: _Tile, rate: Any, mask: Any = None, dtype: Any = None, **_: Any) -> _Tile:
    """Zero with probability `rate`, else the element."""
    from . import isa

    return isa.dropout(x, prob=rate, mask=mask, dtype=dtype)


def device_print(prefix: str, x: Any = None, **_: Any) -> None:
    """Prints the values of a tile."""
    print(prefix, "" if x is None else x.numpy() if isinstance(x, _Tile) else x, flush=True)


def no_reorder() -> Any:
    """An ordering hint, which a sequential run needs not."""
    import contextlib

    return contextlib.nullcontext()


def __getattr__(name: str) -> Any:
    found = getattr(_nl, name, None)
    if found is None or name.startswith("_"):
        raise AttributeError(f"neuronxcc.nki.language has no attribute {name!r}")
    return found
