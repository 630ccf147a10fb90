"""Between HBM and the chip."""

from __future__ import annotations

from typing import Any

from ...nki import isa as nisa
from ...nki import language as nl
from .. import emit
from ..index import IndexExpr
from ..masks import boxes
from ..tile import Tile
from ..tokens import alu_token
from .arithmetic import binary


def load(src: Tile, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """A tile of SBUF with the values of a tensor of HBM."""
    if src.on_chip:
        return copy(src, mask=mask, dtype=dtype)
    shape = src.shape if len(src.shape) > 1 else (*src.shape, 1) if src.shape else (1, 1)

    def go(dst: Tile) -> None:
        target = dst.normal()
        for box in boxes(mask, src.shape):
            wide = tuple(box) if len(src.shape) > 1 else (*box, *((0, 1),) * (2 - len(box)))
            nisa.dma_copy(dst=target.narrowed(wide).nki(), src=src.narrowed(box).nki())

    return Tile.pending(shape, src.dtype if dtype is None else dtype, nl.sbuf, go, mask if shape == src.shape else None)


def load_transpose2d(src: Tile, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """A tile of SBUF with the transpose of a matrix of HBM."""
    rows, columns = src.shape
    for box in boxes(mask, src.shape):
        if box != ((0, rows), (0, columns)):
            src = src.narrowed(box)
    flipped = Tile(src.root, tuple(IndexExpr(f.shape[::-1], f.coefs[::-1], f.const) for f in src.forms), src.shape[::-1])

    def go(dst: Tile) -> None:
        nisa.dma_copy(dst=dst.normal().narrowed(tuple((0, n) for n in flipped.shape)).nki(), src=flipped.nki())

    return Tile.pending((columns, rows), src.dtype if dtype is None else dtype, nl.sbuf, go)


def store(dst: Tile, value: Any, mask: Any = None, **_: Any) -> None:
    """Writes a tile, or a number, to a tensor of HBM."""
    if not isinstance(value, Tile):
        emit.fill(dst, value)
        return
    value.root
    source = emit.to_sbuf(value) if value.buffer == nl.psum else value
    if mask is None:
        emit.copy(dst, source)
        return
    source = source.normal() if source.on_chip else source
    if source.shape != dst.shape:
        source = regroup(source, dst.shape)
    for box in boxes(mask, dst.shape):
        nisa.dma_copy(dst=dst.narrowed(box).nki(), src=source.narrowed(box).nki())


def regroup(tile: Tile, shape: tuple[int, ...]) -> Tile:
    """The tile with axes of size 1 put in or left out so that it has `shape`, or broadcast to it."""
    wanted = [n for n in shape if n != 1]
    if [n for n in tile.shape if n != 1] == wanted:
        kept = iter(k for k, n in enumerate(tile.shape) if n != 1)
        order = [None if n == 1 else next(kept) for n in shape]
        forms = tuple(IndexExpr(shape, tuple(0 if k is None else f.coefs[k] for k in order), f.const) for f in tile.forms)
        return Tile(tile.root, forms, shape, tile.rows)
    return emit.spread(tile, shape) if tile.on_chip else tile.over(shape)


def atomic_rmw(dst: Tile, value: Tile, op: Any, mask: Any = None, **_: Any) -> None:
    """Adds a tile to a tensor of HBM, where it lies."""
    if alu_token(op) is not nl.add:
        raise ValueError("atomic_rmw can add; other operations are not modelled")
    old = load(dst, mask=mask)
    old.root
    store(dst, binary("add", old, value), mask=mask)


def copy(src: Tile, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """A new tile of SBUF with the values of another one."""
    if not src.on_chip:
        return load(src, mask=mask, dtype=dtype)
    return emit.elementwise(src.dtype if dtype is None else dtype, mask, [src], lambda d, s: nisa.tensor_copy(dst=d, src=s))
