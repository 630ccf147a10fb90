"""Reductions and searches."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...nki import isa as nisa
from ...nki import language as nl
from .. import emit
from ..language.reductions import reduce
from ..masks import boxes
from ..tile import Tile
from ..tokens import alu_token
from .operands import by_box, kept_type, view


def tensor_reduce(
    op: Any, data: Tile, axis: Any, mask: Any = None, dtype: Any = None, negate: Any = False, keepdims: Any = False, **_: Any
) -> Tile:
    """The reduction along free axes."""
    data.root
    return reduce(alu_token(op), data, axis, dtype, mask, keepdims, negate)


def tensor_partition_reduce(op: Any, data: Tile, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """The reduction over partitions."""
    data = emit.to_sbuf(data).normal()
    data.root
    parts = list(boxes(mask, data.shape))
    if len(parts) != 1:
        raise ValueError("the mask of a reduction over partitions must be a box")
    part = data.narrowed(parts[0])
    return Tile.pending(
        (1, *part.shape[1:]),
        kept_type(dtype, data.dtype),
        nl.sbuf,
        lambda dst: nisa.tensor_partition_reduce(dst=dst.normal().out(), op=alu_token(op), data=part.nki()),
    )


def _per_partition(name: str, size: Any, default: Any) -> Any:
    """A function that makes `size` elements per partition from a tile."""

    def f(data: Tile, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
        data.root
        wide = data.normal()
        shape = (wide.shape[0], size)
        return by_box(data, kept_type(dtype, default or data.dtype), mask, lambda d, t, box: getattr(nisa, name)(d, t), shape)

    f.__name__ = f.__qualname__ = name
    return f


_bn_stats, _bn_aggr, _max8 = _per_partition("bn_stats", 6, None), _per_partition("bn_aggr", 2, None), _per_partition("max8", 8, None)


def bn_stats(data: Tile, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """Count, mean and squared deviation of even and odd elements."""
    return _bn_stats(data, mask, dtype)


def bn_aggr(data: Tile, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """Mean and variance of several results of `bn_stats`."""
    return _bn_aggr(data, mask, dtype)


def max8(src: Tile, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """The eight largest elements of every partition, in descending order."""
    return _max8(src, mask, dtype)


def nc_find_index8(data: Tile, vals: Tile, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """Where the eight values of every partition stand."""
    data.root, vals.root
    wide = vals.normal()
    return by_box(data, kept_type(dtype, "uint32"), mask, lambda d, t, box: nisa.nc_find_index8(d, t, view(wide, box)), (wide.shape[0], 8))


def nc_match_replace8(data: Tile, vals: Tile, imm: Any, dst_idx: Any = None, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """The tile with the first occurrences of eight values replaced by a number."""
    data.root, vals.root
    wide = vals.normal()

    def run(d: Any, t: Any, box: Any) -> None:
        more = {} if dst_idx is None else {"dst_idx": view(dst_idx.normal(), box)}
        nisa.nc_match_replace8(d, t, view(wide, box), float(imm), **more)

    made = by_box(data, kept_type(dtype, data.dtype), mask, run)
    if dst_idx is not None:
        # The positions are a second result; an assignment to the source in place stays possible.
        made.root
    return made


def local_gather(
    src_buffer: Tile, index: Tile, num_elem_per_idx: int = 1, num_valid_indices: Any = None, mask: Any = None, **_: Any
) -> Tile:
    """Elements of every partition at positions shared by a group of 16 partitions."""
    src_buffer.root, index.root
    src, where = emit.to_sbuf(src_buffer).normal(), emit.to_sbuf(index).normal()
    positions = int(np.prod(where.shape[1:])) * 16 if num_valid_indices is None else int(num_valid_indices)
    shape = (src.shape[0], positions, int(num_elem_per_idx)) if int(num_elem_per_idx) > 1 else (src.shape[0], positions)

    def go(dst: Tile) -> None:
        more = {} if num_valid_indices is None else {"num_valid_indices": int(num_valid_indices)}
        nisa.local_gather(dst=dst.normal().out(), src_buffer=src.nki(), index=where.nki(), num_elem_per_idx=int(num_elem_per_idx), **more)

    return Tile.pending(shape, src.dtype, nl.sbuf, go)


def sequence_bounds(segment_ids: Tile, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """Where the segment of every element begins and ends."""
    segment_ids.root
    data = emit.to_sbuf(segment_ids).normal()
    n = int(np.prod(data.shape[1:]))
    return Tile.pending(
        (data.shape[0], 2, n),
        kept_type(dtype, data.dtype),
        nl.sbuf,
        lambda dst: nisa.sequence_bounds(dst=dst.normal().out(), segment_ids=data.nki()),
    )
