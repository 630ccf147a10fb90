"""`neuronxcc.nki.isa`: the instructions with 0.1's signatures. Most return a new tile instead of taking a destination."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..nki import isa as _nisa
from ..nki import language as _nl
from ..nki.dtype import as_dtype as _as_dtype
from ..nki.isa import *  # noqa: F403
from .emit import aligned as _aligned
from .emit import copy as _copy
from .emit import elementwise as _elementwise
from .emit import fill as _fill
from .emit import number as _number
from .emit import spread as _spread
from .emit import to_sbuf as _to_sbuf
from .index import IndexExpr as _IndexExpr
from .language import _flat, _reduce
from .masks import Mask as _Mask
from .masks import boxes as _boxes
from .tile import Tile as _Tile
from .tile import allocate as _allocate
from .tokens import activation_token as _activation
from .tokens import alu_token as _alu

reduce_cmd = _nisa.reduce_cmd


def _engine(engine: Any) -> dict[str, Any]:
    """Keyword for an engine that the caller chose; 0 and None mean the compiler's choice."""
    return {} if engine is None or engine == 0 or engine == _nisa.engine.unknown else {"engine": engine}


def _type(dtype: Any, otherwise: Any) -> Any:
    return _as_dtype(otherwise if dtype is None else dtype)


def _operand(value: Any, data: _Tile) -> Any:
    """A number, or a tile with one element in every partition of `data`."""
    value = _number(value)
    if not isinstance(value, _Tile):
        return value
    value = _to_sbuf(value) if not value.on_chip else value.normal()
    return _spread(value, (data.normal().shape[0], *value.shape[1:]))


def _view(operand: Any, box: Any = None) -> Any:
    """What the machine takes for an operand: the partitions of `box` of a tile, or the number itself."""
    if not isinstance(operand, _Tile):
        return operand
    if box is not None and operand.shape[0] > 1:
        operand = operand.narrowed((box[0], *((0, n) for n in operand.shape[1:])))
    return operand.nki()


def _by_box(data: _Tile, dtype: Any, mask: Any, run: Any, shape: Any = None, buffer: Any = None) -> _Tile:
    """The pending result of `run(dst, data, box)` on every box of the mask; `shape` when it is not that of the data."""
    if not data.on_chip:
        data = _to_sbuf(data)
    data = data.normal()
    whole = data.shape if shape is None else shape

    def go(dst: _Tile) -> None:
        target = dst.normal()
        for box in _boxes(mask, data.shape):
            out = target.narrowed(box) if shape is None else target.narrowed((box[0], *((0, n) for n in target.shape[1:])))
            run(out.out(), data.narrowed(box).nki(), box)

    return _Tile.pending(whole, dtype, _nl.sbuf if buffer is None else buffer, go)


# ---- copies


def tensor_copy(src: _Tile, mask: Any = None, dtype: Any = None, engine: Any = None, **_: Any) -> _Tile:
    """A copy of a tile."""
    return _elementwise(_type(dtype, src.dtype), mask, [src], lambda d, s: _nisa.tensor_copy(dst=d, src=s, **_engine(engine)))


def tensor_copy_dynamic_src(src: _Tile, mask: Any = None, dtype: Any = None, engine: Any = None, **_: Any) -> _Tile:
    """A copy from an address that is known at run time only."""
    return tensor_copy(src, mask=mask, dtype=dtype, engine=engine)


def tensor_copy_dynamic_dst(*, dst: _Tile, src: _Tile, mask: Any = None, dtype: Any = None, engine: Any = None, **_: Any) -> None:
    """A copy to an address that is known at run time only."""
    _copy(dst, src)


def tensor_copy_predicated(src: Any, dst: _Tile, predicate: _Tile, mask: Any = None, dtype: Any = None, reverse_pred: Any = False, **_: Any) -> None:
    """Copies elements where the predicate is not zero."""
    target = dst.normal()
    src = _number(src)
    for box in _boxes(mask, target.shape):
        part = target.narrowed(box)
        flags = _spread(predicate, target.shape).narrowed(box)
        if isinstance(src, _Tile):
            value = _spread(src, target.shape).narrowed(box)
        else:
            value = _allocate(part.shape, target.dtype)
            _fill(value, src)
        if flags.dtype.kind not in "ub":
            plain = _elementwise("uint8", None, [flags], lambda d, t: _nisa.tensor_scalar(dst=d, data=t, op0=_nl.not_equal, operand0=0.0))
            flags = plain
        flags.root
        _nisa.tensor_copy_predicated(dst=part.out(), src=value.nki(), predicate=flags.normal().nki(), **({"reverse_pred": True} if reverse_pred else {}))


def dma_copy(*, dst: _Tile, src: _Tile, mask: Any = None, dst_rmw_op: Any = None, oob_mode: Any = None, dge_mode: Any = None, **_: Any) -> None:
    """A copy by DMA; one side may be looked up by row numbers."""
    if isinstance(src, _Tile):
        src.root
    more: dict[str, Any] = {}
    if oob_mode is not None:
        more["oob_mode"] = oob_mode
    if dge_mode is not None:
        more["dge_mode"] = dge_mode
    if src.buffer == _nl.psum:
        src = _to_sbuf(src)
    if mask is not None:
        from .language import _regroup

        if src.shape != dst.shape:
            src = _regroup(src.normal(), dst.shape)
        for box in _boxes(mask, dst.shape):
            dma_copy(dst=dst.narrowed(box), src=src.narrowed(box), dst_rmw_op=dst_rmw_op, **more)
        return
    if dst_rmw_op is not None:
        if _alu(dst_rmw_op) is not _nl.add:
            raise ValueError("dst_rmw_op can be add; other operations are not modelled")
        more.pop("dge_mode", None)
        target = dst.normal().nki()
        _nisa.dma_compute(dst=target, srcs=[src.normal().nki(), target], reduce_op=_nl.add, **more)
        return
    if src.rows is None and dst.rows is None and dst.on_chip and src.on_chip and dst.normal().shape != src.normal().shape:
        _copy(dst, src)
        return
    _nisa.dma_copy(dst=dst.normal().nki(), src=src.normal().nki(), **more)


def dma_transpose(src: _Tile, axes: Any = None, mask: Any = None, dtype: Any = None, dge_mode: Any = None, **_: Any) -> _Tile:
    """The transpose of a tensor, by DMA."""
    rank = len(src.shape)
    default = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}.get(rank)
    order = default if axes is None else tuple(axes)
    if order is None or order != default:
        raise ValueError(f"dma_transpose of {rank} dimensions permutes by {default}, not {order}")
    moved = _Tile(
        src.root, tuple(_IndexExpr(tuple(f.shape[k] for k in order), tuple(f.coefs[k] for k in order), f.const) for f in src.forms), tuple(src.shape[k] for k in order)
    )
    if src.on_chip or src.rows is not None:
        # Through HBM, where every axis may lead; looked-up rows are gathered on the way.
        from ..nki import language as nl
        from .tile import as_tile

        stage = as_tile(nl.ndarray(src.shape, dtype=src.dtype, buffer=nl.private_hbm))
        _nisa.dma_copy(dst=stage.nki(), src=src.nki())
        return dma_transpose(stage, axes=axes, mask=mask, dtype=dtype)

    def go(dst: _Tile) -> None:
        _nisa.dma_copy(dst=dst.normal().nki(), src=moved.nki())

    return _Tile.pending(moved.shape, _type(dtype, src.dtype), _nl.sbuf, go)


def memset(shape: Any, value: Any, dtype: Any, mask: Any = None, engine: Any = None, **_: Any) -> _Tile:
    """A new tile of one value."""
    made = _allocate(shape, dtype)
    for box in _boxes(mask, made.shape):
        _fill(made.narrowed(box), value)
    return made


def iota(expr: Any, dtype: Any, mask: Any = None, **_: Any) -> _Tile:
    """A tile with the values of an index expression."""
    if not isinstance(expr, _IndexExpr):
        raise TypeError("iota needs an index expression such as nl.arange(128)[:, None]")

    def go(dst: _Tile) -> None:
        target = dst.normal()
        for box in _boxes(mask, expr.shape):
            part = expr.narrowed(box)
            pattern = [[c, n] for c, n in zip(part.coefs[1:], part.shape[1:])] or [[0, 1]]
            _nisa.iota(dst=target.narrowed(box).out(), pattern=pattern, offset=part.const, channel_multiplier=part.coefs[0])

    return _Tile.pending(expr.shape if len(expr.shape) > 1 else (*expr.shape, 1), dtype, _nl.sbuf, go)


def nc_stream_shuffle(src: _Tile, dst: _Tile, shuffle_mask: Any, dtype: Any = None, mask: Any = None, **_: Any) -> None:
    """Moves partitions inside of every group of 32."""
    s, d = src.normal(), dst.normal()
    _nisa.nc_stream_shuffle(dst=d.out(), src=s.nki(), shuffle_mask=list(shuffle_mask))


# ---- matrices


class _Product:
    """A pending matrix product, which may also be added to what PSUM holds."""

    def __init__(self, stationary: _Tile, moving: _Tile, options: dict[str, Any]) -> None:
        self.stationary, self.moving, self.options = stationary, moving, options

    def __call__(self, dst: _Tile) -> None:
        _nisa.nc_matmul(dst=dst.normal().nki(), stationary=self.stationary.nki(), moving=self.moving.nki(), accumulate=False, **self.options)

    def accumulate(self, dst: _Tile) -> None:
        """`dst += product`."""
        _nisa.nc_matmul(dst=dst.normal().nki(), stationary=self.stationary.nki(), moving=self.moving.nki(), accumulate=True, **self.options)


def nc_matmul(
    stationary: _Tile, moving: _Tile, *, is_stationary_onezero: Any = False, is_moving_onezero: Any = False, is_transpose: Any = False, mask: Any = None, **more: Any
) -> _Tile:
    """stationary.T @ moving, contracted over partitions, in PSUM."""
    stationary, moving = _to_sbuf(stationary).normal(), _to_sbuf(moving).normal()
    stationary.root, moving.root
    if mask is not None:
        shape = (stationary.shape[0], *moving.shape[1:])
        parts = list(_boxes(mask, shape))
        if len(parts) != 1:
            raise ValueError("the mask of a matrix product must be a box")
        box = parts[0]
        stationary = stationary.narrowed((box[0], *((0, n) for n in stationary.shape[1:])))
        moving = moving.narrowed((box[0], *((0, n) for n in moving.shape[1:])))
    options = {k: v for k, v in more.items() if k in ("tile_position", "tile_size", "perf_mode") and v not in (None, ())}
    if is_transpose:
        options["is_transpose"] = True
    if is_stationary_onezero:
        options["is_stationary_onezero"] = True
    if is_moving_onezero:
        options["is_moving_onezero"] = True
    columns = int(np.prod(stationary.shape[1:]))
    kept = moving.dtype if is_transpose else _as_dtype("float32")
    return _Tile.pending((columns, *moving.shape[1:]), kept, _nl.psum, _Product(stationary, moving, options))


def nc_transpose(data: _Tile, mask: Any = None, dtype: Any = None, engine: Any = None, **_: Any) -> _Tile:
    """The transpose of a tile, in PSUM when the tensor engine makes it."""
    data = data.normal()
    data.root
    free = int(np.prod(data.shape[1:]))
    on_vector = engine == _nisa.engine.vector or (not _engine(engine) and data.buffer == _nl.psum and max(data.shape[0], free) <= 32)
    if not on_vector:
        data = _to_sbuf(data)
    kept = _type(dtype, data.dtype)

    def go(dst: _Tile) -> None:
        target = dst.normal()
        aside = None
        if dst.dtype != data.dtype:
            # A transpose moves bits; the conversion is a copy of its own.
            aside = _allocate((free, data.shape[0]), data.dtype, _nl.sbuf if on_vector else _nl.psum)
        out = target if aside is None else aside
        engine_word = _nisa.engine.vector if on_vector else _nisa.engine.tensor
        _nisa.nc_transpose(dst=out.out(), data=data.nki(), engine=engine_word)
        if aside is not None:
            _nisa.tensor_copy(dst=target.out(), src=aside.nki())

    return _Tile.pending((free, data.shape[0]), kept, _nl.sbuf if on_vector else _nl.psum, go)


# ---- element by element


def activation(
    op: Any,
    data: _Tile,
    bias: Any = None,
    scale: Any = 1.0,
    reduce_op: Any = None,
    reduce_res: Any = None,
    reduce_cmd: Any = None,
    mask: Any = None,
    dtype: Any = None,
    **_: Any,
) -> _Tile:
    """op(data * scale + bias)."""
    data.root
    op, bias, scale = _activation(op), _operand(bias, data), _operand(scale, data)
    kept = _type(dtype, data.dtype if data.dtype.kind == "f" else "float32")
    more: dict[str, Any] = {}
    if reduce_op is not None:
        more["reduce_op"] = _alu(reduce_op)
    if reduce_cmd is not None:
        more["reduce_cmd"] = reduce_cmd

    def run(d: Any, t: Any, box: Any) -> None:
        if reduce_res is not None:
            more["reduce_res"] = _view(reduce_res.normal(), box)
        if bias is not None:
            more["bias"] = _view(bias, box)
        _nisa.activation(dst=d, op=op, data=t, scale=_view(scale, box), **more)

    made = _by_box(data, kept, mask, run)
    if more or reduce_res is not None:
        made.root  # the reduction is a second result, which cannot wait
    return made


def activation_reduce(
    op: Any, data: _Tile, *, reduce_op: Any, reduce_res: Any, bias: Any = None, scale: Any = 1.0, mask: Any = None, dtype: Any = None, **_: Any
) -> _Tile:
    """An activation and the reduction of its results."""
    data.root
    op, bias, scale = _activation(op), _operand(bias, data), _operand(scale, data)
    kept = _type(dtype, data.dtype if data.dtype.kind == "f" else "float32")

    def run(d: Any, t: Any, box: Any) -> None:
        more = {} if bias is None else {"bias": _view(bias, box)}
        _nisa.activation_reduce(dst=d, op=op, data=t, reduce_op=_alu(reduce_op), reduce_res=_view(reduce_res.normal(), box), scale=_view(scale, box), **more)

    made = _by_box(data, kept, mask, run)
    made.root
    return made


def tensor_tensor(data1: _Tile, data2: _Tile, op: Any, dtype: Any = None, mask: Any = None, engine: Any = None, **_: Any) -> _Tile:
    """op(data1, data2)."""
    from .language import _common

    data1.root, data2.root
    op = _alu(op)
    if data1.buffer == _nl.psum and data2.buffer == _nl.psum:
        data2 = _to_sbuf(data2)
    kept = _type(dtype, _common(data1.dtype, data2.dtype))
    return _elementwise(kept, mask, [data1, data2], lambda d, a, b: _nisa.tensor_tensor(dst=d, data1=a, data2=b, op=op, **_engine(engine)))


def tensor_scalar(
    data: _Tile,
    op0: Any,
    operand0: Any,
    reverse0: Any = False,
    op1: Any = None,
    operand1: Any = None,
    reverse1: Any = False,
    dtype: Any = None,
    mask: Any = None,
    engine: Any = None,
    **_: Any,
) -> _Tile:
    """(data op0 operand0) op1 operand1, with one number for every partition."""
    data.root
    operand0, operand1 = _operand(operand0, data), _operand(operand1, data)
    more: dict[str, Any] = {"op0": _alu(op0), **_engine(engine)}
    if reverse0:
        more["reverse0"] = True
    if op1 is not None:
        more["op1"] = _alu(op1)
        if reverse1:
            more["reverse1"] = True

    def run(d: Any, t: Any, box: Any) -> None:
        second = {} if op1 is None else {"operand1": _view(operand1, box)}
        _nisa.tensor_scalar(dst=d, data=t, operand0=_view(operand0, box), **more, **second)

    return _by_box(data, _type(dtype, data.dtype), mask, run)


def scalar_tensor_tensor(
    *, data: _Tile, op0: Any, operand0: Any, op1: Any, operand1: _Tile, reverse0: Any = False, reverse1: Any = False, dtype: Any = None, mask: Any = None, **_: Any
) -> _Tile:
    """(data op0 operand0) op1 operand1, where operand1 is a tile."""
    data.root, operand1.root
    operand0 = _operand(operand0, data)
    shape, (wide, other) = _aligned(data, operand1)
    if wide.buffer == _nl.psum and other.buffer == _nl.psum:
        other = _to_sbuf(other)
    more: dict[str, Any] = {k: True for k, v in (("reverse0", reverse0), ("reverse1", reverse1)) if v}

    def run(d: Any, t: Any, box: Any) -> None:
        _nisa.scalar_tensor_tensor(dst=d, data=t, op0=_alu(op0), operand0=_view(operand0, box), op1=_alu(op1), operand1=other.narrowed(box).nki(), **more)

    return _by_box(wide, _type(dtype, data.dtype), mask, run)


def tensor_scalar_reduce(
    *, data: _Tile, op0: Any, operand0: Any, reduce_op: Any, reduce_res: _Tile, reverse0: Any = False, dtype: Any = None, mask: Any = None, **_: Any
) -> _Tile:
    """data op0 operand0, and the reduction of the results."""
    data.root
    operand0 = _operand(operand0, data)

    def run(d: Any, t: Any, box: Any) -> None:
        more = {"reverse0": True} if reverse0 else {}
        _nisa.tensor_scalar_reduce(
            dst=d, data=t, op0=_alu(op0), operand0=_view(operand0, box), reduce_op=_alu(reduce_op), reduce_res=_view(reduce_res.normal(), box), **more
        )

    made = _by_box(data, _type(dtype, data.dtype), mask, run)
    made.root
    return made


def tensor_tensor_scan(
    data0: Any, data1: _Tile, initial: Any, op0: Any, op1: Any, reverse0: Any = False, reverse1: Any = False, dtype: Any = None, mask: Any = None, **_: Any
) -> _Tile:
    """The recurrence r[i] = (data0[i] op0 r[i - 1]) op1 data1[i]."""
    data0.root, data1.root
    initial = _operand(initial, data1)
    shape, (a, b) = _aligned(data0, data1)
    if a.buffer == _nl.psum and b.buffer == _nl.psum:
        a = _to_sbuf(a)
    more: dict[str, Any] = {k: True for k, v in (("reverse0", reverse0), ("reverse1", reverse1)) if v}

    def run(d: Any, t: Any, box: Any) -> None:
        _nisa.tensor_tensor_scan(dst=d, data0=a.narrowed(box).nki(), data1=t, initial=_view(initial, box), op0=_alu(op0), op1=_alu(op1), **more)

    return _by_box(b, _type(dtype, data1.dtype), mask, run)


def tensor_scalar_cumulative(
    *, src: _Tile, dst: _Tile, op0: Any, op1: Any, imm0: Any, imm1: Any = None, reduce_cmd: Any = None, mask: Any = None, **_: Any
) -> None:
    """A running combination of the elements of every partition."""
    s, d = src.normal(), dst.normal()
    more: dict[str, Any] = {} if reduce_cmd is None else {"reduce_cmd": reduce_cmd}
    if imm1 is not None:
        more["imm1"] = _view(_operand(imm1, s))
    _nisa.tensor_scalar_cumulative(dst=d.out(), src=s.nki(), op0=_alu(op0), op1=_alu(op1), imm0=_view(_operand(imm0, s)), **more)


def reciprocal(data: _Tile, dtype: Any = None, mask: Any = None, **_: Any) -> _Tile:
    """1 / data."""
    return _elementwise(_type(dtype, data.dtype), mask, [data], lambda d, t: _nisa.reciprocal(dst=d, data=t))


def dropout(data: _Tile, prob: Any, mask: Any = None, dtype: Any = None, **_: Any) -> _Tile:
    """Zero with probability `prob`, else the element."""
    data.root
    prob = _operand(prob, data)
    return _by_box(data, _type(dtype, data.dtype), mask, lambda d, t, box: _nisa.dropout(dst=d, data=t, prob=_view(prob, box)))


def affine_select(pred: Any, on_true_tile: _Tile, on_false_value: Any, mask: Any = None, dtype: Any = None, **_: Any) -> _Tile:
    """The tile where an affine inequality holds, else a number."""
    if not isinstance(pred, _Mask):
        raise TypeError("affine_select needs a comparison of index expressions as pred=")
    data = on_true_tile.normal()
    data.root

    def run(d: Any, t: Any, box: Any) -> None:
        source = t
        for form in pred.forms:
            form = form.over(data.shape).narrowed(box)
            _nisa.affine_select(
                dst=d,
                pattern=[[c, n] for c, n in zip(form.coefs[1:], form.shape[1:])],
                channel_multiplier=form.coefs[0],
                on_true_tile=source,
                on_false_value=_number(on_false_value),
                cmp_op=_nl.greater_equal,
                offset=form.const,
            )
            source = d

    if data.buffer == _nl.psum:
        data = _to_sbuf(data)
    return _by_box(data, _type(dtype, data.dtype), mask, run)


def range_select(
    *,
    on_true_tile: _Tile,
    comp_op0: Any,
    comp_op1: Any,
    bound0: _Tile,
    bound1: _Tile,
    reduce_cmd: Any = None,
    reduce_res: Any = None,
    reduce_op: Any = np.max,
    range_start: Any = 0.0,
    on_false_value: Any = None,
    mask: Any = None,
    dtype: Any = None,
    **_: Any,
) -> _Tile:
    """The tile where the position in the free dimension lies within two bounds, else a number."""
    data = on_true_tile.normal()
    data.root
    b0, b1 = _operand(bound0, data), _operand(bound1, data)
    more: dict[str, Any] = {"range_start": range_start}
    if on_false_value is not None:
        more["on_false_value"] = on_false_value
    if reduce_cmd is not None:
        more["reduce_cmd"] = reduce_cmd

    def run(d: Any, t: Any, box: Any) -> None:
        if reduce_res is not None:
            more["reduce_res"] = _view(reduce_res.normal(), box)
        _nisa.range_select(
            dst=d, on_true_tile=t, comp_op0=_alu(comp_op0), comp_op1=_alu(comp_op1), bound0=_view(b0, box), bound1=_view(b1, box), reduce_op=_alu(reduce_op), **more
        )

    made = _by_box(data, _type(dtype, data.dtype), mask, run)
    made.root
    return made


def select_reduce(
    *,
    dst: _Tile,
    predicate: _Tile,
    on_true: _Tile,
    on_false: Any,
    reduce_res: Any = None,
    reduce_cmd: Any = None,
    reduce_op: Any = np.max,
    reverse_pred: Any = False,
    mask: Any = None,
    dtype: Any = None,
    **_: Any,
) -> None:
    """The tile where the predicate holds, else a number; optionally reduced."""
    for t in (predicate, on_true, on_false):
        if isinstance(t, _Tile):
            t.root
    target, shape = dst.normal(), dst.normal().shape
    for box in _boxes(mask, shape):
        more: dict[str, Any] = {} if reduce_cmd is None else {"reduce_cmd": reduce_cmd}
        if reduce_res is not None:
            more["reduce_res"] = _view(reduce_res.normal(), box)
        if reverse_pred:
            more["reverse_pred"] = True
        other = _view(_operand(on_false, dst), box)
        _nisa.select_reduce(
            dst=target.narrowed(box).out(),
            predicate=predicate.normal().narrowed(box).nki(),
            on_true=on_true.normal().narrowed(box).nki(),
            on_false=other,
            reduce_op=_alu(reduce_op),
            **more,
        )


# ---- reductions and search


def tensor_reduce(op: Any, data: _Tile, axis: Any, mask: Any = None, dtype: Any = None, negate: Any = False, keepdims: Any = False, **_: Any) -> _Tile:
    """The reduction along free axes."""
    data.root
    return _reduce(_alu(op), data, axis, dtype, mask, keepdims, negate)


def tensor_partition_reduce(op: Any, data: _Tile, mask: Any = None, dtype: Any = None, **_: Any) -> _Tile:
    """The reduction over partitions."""
    data = _to_sbuf(data).normal()
    data.root
    parts = list(_boxes(mask, data.shape))
    if len(parts) != 1:
        raise ValueError("the mask of a reduction over partitions must be a box")
    part = data.narrowed(parts[0])
    return _Tile.pending(
        (1, *part.shape[1:]), _type(dtype, data.dtype), _nl.sbuf, lambda dst: _nisa.tensor_partition_reduce(dst=dst.normal().out(), op=_alu(op), data=part.nki())
    )


def _per_partition(name: str, size: Any, default: Any) -> Any:
    """A function that makes `size` elements per partition from a tile."""

    def f(data: _Tile, mask: Any = None, dtype: Any = None, **_: Any) -> _Tile:
        data.root
        wide = data.normal()
        shape = (wide.shape[0], size)
        return _by_box(data, _type(dtype, default or data.dtype), mask, lambda d, t, box: getattr(_nisa, name)(d, t), shape)

    f.__name__ = f.__qualname__ = name
    return f


_bn_stats, _bn_aggr, _max8 = _per_partition("bn_stats", 6, None), _per_partition("bn_aggr", 2, None), _per_partition("max8", 8, None)


def bn_stats(data: _Tile, mask: Any = None, dtype: Any = None, **_: Any) -> _Tile:
    """Count, mean and squared deviation of even and odd elements."""
    return _bn_stats(data, mask, dtype)


def bn_aggr(data: _Tile, mask: Any = None, dtype: Any = None, **_: Any) -> _Tile:
    """Mean and variance of several results of `bn_stats`."""
    return _bn_aggr(data, mask, dtype)


def max8(src: _Tile, mask: Any = None, dtype: Any = None, **_: Any) -> _Tile:
    """The eight largest elements of every partition, in descending order."""
    return _max8(src, mask, dtype)


def nc_find_index8(data: _Tile, vals: _Tile, mask: Any = None, dtype: Any = None, **_: Any) -> _Tile:
    """Where the eight values of every partition stand."""
    data.root, vals.root
    wide = vals.normal()
    return _by_box(data, _type(dtype, "uint32"), mask, lambda d, t, box: _nisa.nc_find_index8(d, t, _view(wide, box)), (wide.shape[0], 8))


def nc_match_replace8(data: _Tile, vals: _Tile, imm: Any, dst_idx: Any = None, mask: Any = None, dtype: Any = None, **_: Any) -> _Tile:
    """The tile with the first occurrences of eight values replaced by a number."""
    data.root, vals.root
    wide = vals.normal()

    def run(d: Any, t: Any, box: Any) -> None:
        more = {} if dst_idx is None else {"dst_idx": _view(dst_idx.normal(), box)}
        _nisa.nc_match_replace8(d, t, _view(wide, box), float(imm), **more)

    made = _by_box(data, _type(dtype, data.dtype), mask, run)
    if dst_idx is not None:
        # The positions are a second result; an assignment to the source in place stays possible.
        made.root
    return made


def local_gather(src_buffer: _Tile, index: _Tile, num_elem_per_idx: int = 1, num_valid_indices: Any = None, mask: Any = None, **_: Any) -> _Tile:
    """Elements of every partition at positions shared by a group of 16 partitions."""
    src_buffer.root, index.root
    src, where = _to_sbuf(src_buffer).normal(), _to_sbuf(index).normal()
    positions = int(np.prod(where.shape[1:])) * 16 if num_valid_indices is None else int(num_valid_indices)
    shape = (src.shape[0], positions, int(num_elem_per_idx)) if int(num_elem_per_idx) > 1 else (src.shape[0], positions)

    def go(dst: _Tile) -> None:
        more = {} if num_valid_indices is None else {"num_valid_indices": int(num_valid_indices)}
        _nisa.local_gather(dst=dst.normal().out(), src_buffer=src.nki(), index=where.nki(), num_elem_per_idx=int(num_elem_per_idx), **more)

    return _Tile.pending(shape, src.dtype, _nl.sbuf, go)


def sequence_bounds(segment_ids: _Tile, mask: Any = None, dtype: Any = None, **_: Any) -> _Tile:
    """Where the segment of every element begins and ends."""
    segment_ids.root
    data = _to_sbuf(segment_ids).normal()
    n = int(np.prod(data.shape[1:]))
    return _Tile.pending(
        (data.shape[0], 2, n), _type(dtype, data.dtype), _nl.sbuf, lambda dst: _nisa.sequence_bounds(dst=dst.normal().out(), segment_ids=data.nki())
    )
