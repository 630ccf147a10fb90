"""Selections by an inequality, a range or a predicate."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...nki import isa as nisa
from ...nki import language as nl
from .. import emit
from ..masks import Mask, boxes
from ..tile import Tile
from ..tokens import alu_token
from .operands import by_box, kept_type, per_partition, view


def affine_select(pred: Any, on_true_tile: Tile, on_false_value: Any, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """The tile where an affine inequality holds, else a number."""
    if not isinstance(pred, Mask):
        raise TypeError("affine_select needs a comparison of index expressions as pred=")
    data = on_true_tile.normal()
    data.root

    def run(d: Any, t: Any, box: Any) -> None:
        source = t
        for form in pred.forms:
            form = form.over(data.shape).narrowed(box)
            nisa.affine_select(
                dst=d,
                pattern=[[c, n] for c, n in zip(form.coefs[1:], form.shape[1:])],
                channel_multiplier=form.coefs[0],
                on_true_tile=source,
                on_false_value=emit.number(on_false_value),
                cmp_op=nl.greater_equal,
                offset=form.const,
            )
            source = d

    if data.buffer == nl.psum:
        data = emit.to_sbuf(data)
    return by_box(data, kept_type(dtype, data.dtype), mask, run)


def range_select(
    *,
    on_true_tile: Tile,
    comp_op0: Any,
    comp_op1: Any,
    bound0: Tile,
    bound1: Tile,
    reduce_cmd: Any = None,
    reduce_res: Any = None,
    reduce_op: Any = np.max,
    range_start: Any = 0.0,
    on_false_value: Any = None,
    mask: Any = None,
    dtype: Any = None,
    **_: Any,
) -> Tile:
    """The tile where the position in the free dimension lies within two bounds, else a number."""
    data = on_true_tile.normal()
    data.root
    b0, b1 = per_partition(bound0, data), per_partition(bound1, data)
    more: dict[str, Any] = {"range_start": range_start}
    if on_false_value is not None:
        more["on_false_value"] = on_false_value
    if reduce_cmd is not None:
        more["reduce_cmd"] = reduce_cmd

    def run(d: Any, t: Any, box: Any) -> None:
        if reduce_res is not None:
            more["reduce_res"] = view(reduce_res.normal(), box)
        nisa.range_select(
            dst=d,
            on_true_tile=t,
            comp_op0=alu_token(comp_op0),
            comp_op1=alu_token(comp_op1),
            bound0=view(b0, box),
            bound1=view(b1, box),
            reduce_op=alu_token(reduce_op),
            **more,
        )

    made = by_box(data, kept_type(dtype, data.dtype), mask, run)
    made.root
    return made


def select_reduce(
    *,
    dst: Tile,
    predicate: Tile,
    on_true: Tile,
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
        if isinstance(t, Tile):
            t.root
    target, shape = dst.normal(), dst.normal().shape
    for box in boxes(mask, shape):
        more: dict[str, Any] = {} if reduce_cmd is None else {"reduce_cmd": reduce_cmd}
        if reduce_res is not None:
            more["reduce_res"] = view(reduce_res.normal(), box)
        if reverse_pred:
            more["reverse_pred"] = True
        other = view(per_partition(on_false, dst), box)
        nisa.select_reduce(
            dst=target.narrowed(box).out(),
            predicate=predicate.normal().narrowed(box).nki(),
            on_true=on_true.normal().narrowed(box).nki(),
            on_false=other,
            reduce_op=alu_token(reduce_op),
            **more,
        )
