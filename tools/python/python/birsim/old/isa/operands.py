"""What the instructions share: engines, types, operands of one element per partition, and masks."""

from __future__ import annotations

from typing import Any

from ...nki import isa as nisa
from ...nki import language as nl
from ...nki.dtype import as_dtype
from .. import emit
from ..masks import boxes
from ..tile import Tile


def chosen(engine: Any) -> dict[str, Any]:
    """Keyword for an engine that the caller chose; 0 and None mean the compiler's choice."""
    return {} if engine is None or engine == 0 or engine == nisa.engine.unknown else {"engine": engine}


def kept_type(dtype: Any, otherwise: Any) -> Any:
    return as_dtype(otherwise if dtype is None else dtype)


def per_partition(value: Any, data: Tile) -> Any:
    """A number, or a tile with one element in every partition of `data`."""
    value = emit.number(value)
    if not isinstance(value, Tile):
        return value
    value = emit.to_sbuf(value) if not value.on_chip else value.normal()
    return emit.spread(value, (data.normal().shape[0], *value.shape[1:]))


def view(operand: Any, box: Any = None) -> Any:
    """What the machine takes for an operand: the partitions of `box` of a tile, or the number itself."""
    if not isinstance(operand, Tile):
        return operand
    if box is not None and operand.shape[0] > 1:
        operand = operand.narrowed((box[0], *((0, n) for n in operand.shape[1:])))
    return operand.nki()


def by_box(data: Tile, dtype: Any, mask: Any, run: Any, shape: Any = None, buffer: Any = None) -> Tile:
    """The pending result of `run(dst, data, box)` on every box of the mask; `shape` when it is not that of the data."""
    if not data.on_chip:
        data = emit.to_sbuf(data)
    data = data.normal()
    whole = data.shape if shape is None else shape

    def go(dst: Tile) -> None:
        target = dst.normal()
        for box in boxes(mask, data.shape):
            out = target.narrowed(box) if shape is None else target.narrowed((box[0], *((0, n) for n in target.shape[1:])))
            run(out.out(), data.narrowed(box).nki(), box)

    return Tile.pending(whole, dtype, nl.sbuf if buffer is None else buffer, go, mask if shape is None else None)
