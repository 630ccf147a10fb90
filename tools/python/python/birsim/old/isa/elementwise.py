"""Instructions on every element."""

from __future__ import annotations

from typing import Any

from ...nki import isa as nisa
from ...nki import language as nl
from .. import emit
from ..language.arithmetic import common
from ..tile import Tile
from ..tokens import activation_token, alu_token
from .operands import by_box, chosen, kept_type, per_partition, view


def activation(
    op: Any,
    data: Tile,
    bias: Any = None,
    scale: Any = 1.0,
    reduce_op: Any = None,
    reduce_res: Any = None,
    reduce_cmd: Any = None,
    mask: Any = None,
    dtype: Any = None,
    **_: Any,
) -> Tile:
    """op(data * scale + bias)."""
    data.root
    op, bias, scale = activation_token(op), per_partition(bias, data), per_partition(scale, data)
    kept = kept_type(dtype, data.dtype if data.dtype.kind == "f" else "float32")
    more: dict[str, Any] = {}
    if reduce_op is not None:
        more["reduce_op"] = alu_token(reduce_op)
    if reduce_cmd is not None:
        more["reduce_cmd"] = reduce_cmd

    def run(d: Any, t: Any, box: Any) -> None:
        if reduce_res is not None:
            more["reduce_res"] = view(reduce_res.normal(), box)
        if bias is not None:
            more["bias"] = view(bias, box)
        nisa.activation(dst=d, op=op, data=t, scale=view(scale, box), **more)

    made = by_box(data, kept, mask, run)
    if more or reduce_res is not None:
        made.root  # the reduction is a second result, which cannot wait
    return made


def activation_reduce(
    op: Any,
    data: Tile,
    *,
    reduce_op: Any,
    reduce_res: Any,
    bias: Any = None,
    scale: Any = 1.0,
    mask: Any = None,
    dtype: Any = None,
    **_: Any,
) -> Tile:
    """An activation and the reduction of its results."""
    data.root
    op, bias, scale = activation_token(op), per_partition(bias, data), per_partition(scale, data)
    kept = kept_type(dtype, data.dtype if data.dtype.kind == "f" else "float32")

    def run(d: Any, t: Any, box: Any) -> None:
        more = {} if bias is None else {"bias": view(bias, box)}
        nisa.activation_reduce(
            dst=d, op=op, data=t, reduce_op=alu_token(reduce_op), reduce_res=view(reduce_res.normal(), box), scale=view(scale, box), **more
        )

    made = by_box(data, kept, mask, run)
    made.root
    return made


def tensor_tensor(data1: Tile, data2: Tile, op: Any, dtype: Any = None, mask: Any = None, engine: Any = None, **_: Any) -> Tile:
    """op(data1, data2)."""

    data1.root, data2.root
    op = alu_token(op)
    if data1.buffer == nl.psum and data2.buffer == nl.psum:
        data2 = emit.to_sbuf(data2)
    kept = kept_type(dtype, common(data1.dtype, data2.dtype))
    return emit.elementwise(
        kept, mask, [data1, data2], lambda d, a, b: nisa.tensor_tensor(dst=d, data1=a, data2=b, op=op, **chosen(engine))
    )


def tensor_scalar(
    data: Tile,
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
) -> Tile:
    """(data op0 operand0) op1 operand1, with one number for every partition."""
    data.root
    operand0, operand1 = per_partition(operand0, data), per_partition(operand1, data)
    more: dict[str, Any] = {"op0": alu_token(op0), **chosen(engine)}
    if reverse0:
        more["reverse0"] = True
    if op1 is not None:
        more["op1"] = alu_token(op1)
        if reverse1:
            more["reverse1"] = True

    def run(d: Any, t: Any, box: Any) -> None:
        second = {} if op1 is None else {"operand1": view(operand1, box)}
        nisa.tensor_scalar(dst=d, data=t, operand0=view(operand0, box), **more, **second)

    return by_box(data, kept_type(dtype, data.dtype), mask, run)


def scalar_tensor_tensor(
    *,
    data: Tile,
    op0: Any,
    operand0: Any,
    op1: Any,
    operand1: Tile,
    reverse0: Any = False,
    reverse1: Any = False,
    dtype: Any = None,
    mask: Any = None,
    **_: Any,
) -> Tile:
    """(data op0 operand0) op1 operand1, where operand1 is a tile."""
    data.root, operand1.root
    operand0 = per_partition(operand0, data)
    shape, (wide, other) = emit.aligned(data, operand1)
    if wide.buffer == nl.psum and other.buffer == nl.psum:
        other = emit.to_sbuf(other)
    more: dict[str, Any] = {k: True for k, v in (("reverse0", reverse0), ("reverse1", reverse1)) if v}

    def run(d: Any, t: Any, box: Any) -> None:
        nisa.scalar_tensor_tensor(
            dst=d, data=t, op0=alu_token(op0), operand0=view(operand0, box), op1=alu_token(op1), operand1=other.narrowed(box).nki(), **more
        )

    return by_box(wide, kept_type(dtype, data.dtype), mask, run)


def tensor_scalar_reduce(
    *,
    data: Tile,
    op0: Any,
    operand0: Any,
    reduce_op: Any,
    reduce_res: Tile,
    reverse0: Any = False,
    dtype: Any = None,
    mask: Any = None,
    **_: Any,
) -> Tile:
    """data op0 operand0, and the reduction of the results."""
    data.root
    operand0 = per_partition(operand0, data)

    def run(d: Any, t: Any, box: Any) -> None:
        more = {"reverse0": True} if reverse0 else {}
        nisa.tensor_scalar_reduce(
            dst=d,
            data=t,
            op0=alu_token(op0),
            operand0=view(operand0, box),
            reduce_op=alu_token(reduce_op),
            reduce_res=view(reduce_res.normal(), box),
            **more,
        )

    made = by_box(data, kept_type(dtype, data.dtype), mask, run)
    made.root
    return made


def tensor_tensor_scan(
    data0: Any,
    data1: Tile,
    initial: Any,
    op0: Any,
    op1: Any,
    reverse0: Any = False,
    reverse1: Any = False,
    dtype: Any = None,
    mask: Any = None,
    **_: Any,
) -> Tile:
    """The recurrence r[i] = (data0[i] op0 r[i - 1]) op1 data1[i]."""
    data0.root, data1.root
    initial = per_partition(initial, data1)
    shape, (a, b) = emit.aligned(data0, data1)
    if a.buffer == nl.psum and b.buffer == nl.psum:
        a = emit.to_sbuf(a)
    more: dict[str, Any] = {k: True for k, v in (("reverse0", reverse0), ("reverse1", reverse1)) if v}

    def run(d: Any, t: Any, box: Any) -> None:
        nisa.tensor_tensor_scan(
            dst=d, data0=a.narrowed(box).nki(), data1=t, initial=view(initial, box), op0=alu_token(op0), op1=alu_token(op1), **more
        )

    return by_box(b, kept_type(dtype, data1.dtype), mask, run)


def tensor_scalar_cumulative(
    *, src: Tile, dst: Tile, op0: Any, op1: Any, imm0: Any, imm1: Any = None, reduce_cmd: Any = None, mask: Any = None, **_: Any
) -> None:
    """A running combination of the elements of every partition."""
    s, d = src.normal(), dst.normal()
    more: dict[str, Any] = {} if reduce_cmd is None else {"reduce_cmd": reduce_cmd}
    if imm1 is not None:
        more["imm1"] = view(per_partition(imm1, s))
    nisa.tensor_scalar_cumulative(
        dst=d.out(), src=s.nki(), op0=alu_token(op0), op1=alu_token(op1), imm0=view(per_partition(imm0, s)), **more
    )


def reciprocal(data: Tile, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """1 / data."""
    return emit.elementwise(kept_type(dtype, data.dtype), mask, [data], lambda d, t: nisa.reciprocal(dst=d, data=t))


def dropout(data: Tile, prob: Any, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """Zero with probability `prob`, else the element."""
    data.root
    prob = per_partition(prob, data)
    return by_box(data, kept_type(dtype, data.dtype), mask, lambda d, t, box: nisa.dropout(dst=d, data=t, prob=view(prob, box)))
