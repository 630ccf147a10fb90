"""Copies, fills and shuffles."""

from __future__ import annotations

from typing import Any

from ...nki import isa as nisa
from ...nki import language as nl
from .. import emit
from ..index import IndexExpr
from ..masks import boxes
from ..tile import Tile, allocate, as_tile
from ..tokens import alu_token
from .operands import chosen, kept_type


def tensor_copy(src: Tile, mask: Any = None, dtype: Any = None, engine: Any = None, **_: Any) -> Tile:
    """A copy of a tile."""
    return emit.elementwise(kept_type(dtype, src.dtype), mask, [src], lambda d, s: nisa.tensor_copy(dst=d, src=s, **chosen(engine)))


def tensor_copy_dynamic_src(src: Tile, mask: Any = None, dtype: Any = None, engine: Any = None, **_: Any) -> Tile:
    """A copy from an address that is known at run time only."""
    return tensor_copy(src, mask=mask, dtype=dtype, engine=engine)


def tensor_copy_dynamic_dst(*, dst: Tile, src: Tile, mask: Any = None, dtype: Any = None, engine: Any = None, **_: Any) -> None:
    """A copy to an address that is known at run time only."""
    emit.copy(dst, src)


def tensor_copy_predicated(
    src: Any, dst: Tile, predicate: Tile, mask: Any = None, dtype: Any = None, reverse_pred: Any = False, **_: Any
) -> None:
    """Copies elements where the predicate is not zero."""
    target = dst.normal()
    src = emit.number(src)
    for box in boxes(mask, target.shape):
        part = target.narrowed(box)
        flags = emit.spread(predicate, target.shape).narrowed(box)
        if isinstance(src, Tile):
            value = emit.spread(src, target.shape).narrowed(box)
        else:
            value = allocate(part.shape, target.dtype)
            emit.fill(value, src)
        if flags.dtype.kind not in "ub":
            plain = emit.elementwise("uint8", None, [flags], lambda d, t: nisa.tensor_scalar(dst=d, data=t, op0=nl.not_equal, operand0=0.0))
            flags = plain
        flags.root
        nisa.tensor_copy_predicated(
            dst=part.out(), src=value.nki(), predicate=flags.normal().nki(), **({"reverse_pred": True} if reverse_pred else {})
        )


def dma_copy(
    *, dst: Tile, src: Tile, mask: Any = None, dst_rmw_op: Any = None, oob_mode: Any = None, dge_mode: Any = None, **_: Any
) -> None:
    """A copy by DMA; one side may be looked up by row numbers."""
    if isinstance(src, Tile):
        src.root
    more: dict[str, Any] = {}
    if oob_mode is not None:
        more["oob_mode"] = oob_mode
    if dge_mode is not None:
        more["dge_mode"] = dge_mode
    if src.buffer == nl.psum:
        src = emit.to_sbuf(src)
    if mask is not None:
        from ..language.memory import regroup

        if src.shape != dst.shape:
            src = regroup(src.normal(), dst.shape)
        for box in boxes(mask, dst.shape):
            dma_copy(dst=dst.narrowed(box), src=src.narrowed(box), dst_rmw_op=dst_rmw_op, **more)
        return
    if dst_rmw_op is not None:
        if alu_token(dst_rmw_op) is not nl.add:
            raise ValueError("dst_rmw_op can be add; other operations are not modelled")
        more.pop("dge_mode", None)
        if dst.rows is not None or src.rows is not None:
            # The sum is made on chip between a gather of the old rows and a scatter of the new ones.
            old = allocate(src.normal().shape if dst.rows is not None else dst.normal().shape, dst.dtype)
            add = allocate(old.shape, dst.dtype)
            nisa.dma_copy(dst=old.nki(), src=dst.normal().nki(), **more)
            nisa.dma_copy(dst=add.nki(), src=src.normal().nki(), **more)
            nisa.tensor_tensor(dst=old.nki(), data1=old.nki(), data2=add.nki(), op=nl.add)
            nisa.dma_copy(dst=dst.normal().nki(), src=old.nki(), **more)
            return
        target = dst.normal().nki()
        nisa.dma_compute(dst=target, srcs=[src.normal().nki(), target], reduce_op=nl.add, **more)
        return
    if src.rows is None and dst.rows is None and dst.on_chip and src.on_chip and dst.normal().shape != src.normal().shape:
        emit.copy(dst, src)
        return
    nisa.dma_copy(dst=dst.normal().nki(), src=src.normal().nki(), **more)


def dma_transpose(src: Tile, axes: Any = None, mask: Any = None, dtype: Any = None, dge_mode: Any = None, **_: Any) -> Tile:
    """The transpose of a tensor, by DMA."""
    rank = len(src.shape)
    default = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}.get(rank)
    order = default if axes is None else tuple(axes)
    if order is None or order != default:
        raise ValueError(f"dma_transpose of {rank} dimensions permutes by {default}, not {order}")
    moved = Tile(
        src.root,
        tuple(IndexExpr(tuple(f.shape[k] for k in order), tuple(f.coefs[k] for k in order), f.const) for f in src.forms),
        tuple(src.shape[k] for k in order),
    )
    if src.on_chip or src.rows is not None:
        # Through HBM, where every axis may lead; looked-up rows are gathered on the way.

        stage = as_tile(nl.ndarray(src.shape, dtype=src.root.base.dtype, buffer=nl.private_hbm))
        nisa.dma_copy(dst=stage.nki(), src=src.nki())
        return dma_transpose(stage, axes=axes, mask=mask, dtype=dtype)

    def go(dst: Tile) -> None:
        nisa.dma_copy(dst=dst.normal().nki(), src=moved.nki())

    return Tile.pending(moved.shape, kept_type(dtype, src.dtype), nl.sbuf, go)


def memset(shape: Any, value: Any, dtype: Any, mask: Any = None, engine: Any = None, **_: Any) -> Tile:
    """A new tile of one value."""
    made = allocate(shape, dtype)
    for box in boxes(mask, made.shape):
        emit.fill(made.narrowed(box), value)
    return made


def iota(expr: Any, dtype: Any, mask: Any = None, **_: Any) -> Tile:
    """A tile with the values of an index expression."""
    if not isinstance(expr, IndexExpr):
        raise TypeError("iota needs an index expression such as nl.arange(128)[:, None]")

    def go(dst: Tile) -> None:
        target = dst.normal()
        for box in boxes(mask, expr.shape):
            part = expr.narrowed(box)
            pattern = [[c, n] for c, n in zip(part.coefs[1:], part.shape[1:])] or [[0, 1]]
            nisa.iota(dst=target.narrowed(box).out(), pattern=pattern, offset=part.const, channel_multiplier=part.coefs[0])

    return Tile.pending(expr.shape if len(expr.shape) > 1 else (*expr.shape, 1), dtype, nl.sbuf, go)


def nc_stream_shuffle(src: Tile, dst: Tile, shuffle_mask: Any, dtype: Any = None, mask: Any = None, **_: Any) -> None:
    """Moves partitions inside of every group of 32."""
    s, d = src.normal(), dst.normal()
    nisa.nc_stream_shuffle(dst=d.out(), src=s.nki(), shuffle_mask=list(shuffle_mask))
