"""From tiles to instructions: copies, assignment, and the frame of every element-wise call."""

from __future__ import annotations

import sys
from typing import Any, Callable, Sequence

import numpy as np

from ..nki import isa as nisa
from ..nki import language as nl
from . import state
from .index import broadcast_shapes
from .masks import boxes
from .tile import Tile, allocate, as_tile

__all__ = ["aligned", "assign", "copy", "elementwise", "fill", "number", "spread", "to_sbuf", "update"]


def number(value: Any) -> Any:
    """A Python number for a NumPy scalar or an array of one element."""
    return value.item() if isinstance(value, (np.generic, np.ndarray)) else value


def _legal_start(tile: Tile) -> bool:
    """Compute engines reach a run of partitions from a multiple of 32, 64 or 0 only, by its length."""
    par = tile.root.par
    if par is None:
        return True
    k = tile.partition_axis()
    n = 1 if k is None else tile.shape[k]
    first = tile.forms[par].const
    return first % 32 == 0 and (n <= 32 or first == 0 or (n <= 64 and first == 64))


def copy(dst: Tile, src: Tile, engine: Any = None) -> None:
    """Copies elements in order, through whatever the two buffers need."""
    if dst.on_chip and src.on_chip:
        a, b = dst.normal(), src.normal()
        if a.shape[0] != b.shape[0] and b.shape[0] == 1:
            b = spread(b, (a.shape[0], *b.shape[1:]))
        if int(np.prod(a.shape)) != int(np.prod(b.shape)):
            b = b.over(a.shape)
        if _legal_start(a) and _legal_start(b):
            nisa.tensor_copy(dst=a.out(), src=b.nki(), **({} if engine is None else {"engine": engine}))
            return
        dst, src = a, b
        if dst.buffer == nl.psum:
            raise ValueError(f"a PSUM destination must start at partition 0, 32, 64 or 96, not {dst.forms[dst.root.par].const}")
    if src.on_chip:
        src = to_sbuf(src)
    if dst.on_chip and dst.buffer == nl.psum:
        # DMA cannot reach PSUM.
        stage = allocate(dst.normal().shape, src.dtype)
        copy(stage, src)
        copy(dst, stage)
        return
    a, b = dst.normal(), src.normal()
    if int(np.prod(a.shape)) != int(np.prod(b.shape)):
        b = b.over(a.shape)
    nisa.dma_copy(dst=a.nki(), src=b.nki())


def to_sbuf(tile: Tile) -> Tile:
    """The tile itself, or a copy in SBUF when it lies in PSUM or HBM."""
    if tile.buffer == nl.sbuf:
        return tile
    tile = tile.normal()
    made = allocate(tile.shape, tile.dtype)
    copy(made, tile)
    return made


def spread(tile: Tile, shape: tuple[int, ...]) -> Tile:
    """The tile over `shape`: free axes by steps of zero, partitions by a copy through HBM."""
    tile = tile.normal()
    if tile.on_chip and tile.shape[0] == 1 and shape[0] > 1:
        tile = to_sbuf(tile)
        flat = tuple(tile.shape[1:])
        stage = as_tile(nl.ndarray((1, *flat), dtype=tile.root.base.dtype, buffer=nl.private_hbm))
        nisa.dma_copy(dst=stage.nki(), src=tile.nki())
        wide = allocate((shape[0], *flat), tile.dtype)
        nisa.dma_copy(dst=wide.nki(), src=stage.over((shape[0], *flat)).nki())
        tile = wide
    return tile.over(shape)


def aligned(*tiles: Tile) -> tuple[tuple[int, ...], list[Tile]]:
    """The common shape of on-chip tiles and the tiles over it. Partitions meet at axis 0, free axes at the last one."""
    tiles = tuple(t.normal() for t in tiles)
    rank = max(len(t.shape) for t in tiles)
    same = []
    for t in tiles:
        shape = (t.shape[0], *(1,) * (rank - len(t.shape)), *t.shape[1:])
        if len(t.shape) != rank:
            key: list[Any] = [slice(None), *[None] * (rank - len(t.shape))]
            t = t[tuple(key)]
        assert t.shape == shape
        same.append(t)
    shape = broadcast_shapes(*(t.shape for t in same))
    return shape, [spread(t, shape) for t in same]


def elementwise(dtype: Any, mask: Any, tiles: Sequence[Tile], run: Callable[..., None], buffer: Any = None) -> Tile:
    """The pending result of `run(dst, *views)` over the common shape of `tiles`, where `mask` holds."""
    for t in tiles:
        if not t.on_chip:
            raise TypeError(f"an operand lies in HBM ({t.name}, {t.shape}): load it with nl.load first")
    shape, ins = aligned(*tiles)

    def go(dst: Tile) -> None:
        parts = list(boxes(mask, shape))
        if any(box[0][0] % 32 for box in parts):
            # Pieces that engines cannot start at: all of it is computed aside, and DMA, which starts anywhere, moves the pieces.
            aside = allocate(shape, dst.dtype)
            run(aside.out(), *(t.nki() for t in ins))
            for box in parts:
                copy(dst.normal().narrowed(box), aside.narrowed(box))
            return
        for box in parts:
            run(dst.normal().narrowed(box).out(), *(t.narrowed(box).nki() for t in ins))

    return Tile.pending(shape, dtype, nl.sbuf if buffer is None else buffer, go, mask)


def fill(dst: Tile, value: Any) -> None:
    """Sets every element of `dst` to a number."""
    value = number(value)
    value = float(value) if dst.dtype.kind == "f" else int(value)
    if dst.on_chip and _legal_start(dst):
        a = dst.normal()
        nisa.memset(dst=a.nki() if value == 0 else a.out(), value=value)
        return
    if dst.on_chip:
        shape = dst.normal().shape
    else:
        rows = dst.shape[0] if dst.shape else 1
        shape = (rows if rows <= 128 else 1, int(np.prod(dst.shape)) // (rows if rows <= 128 else 1))
    stage = allocate(shape if dst.on_chip or int(np.prod(shape[1:])) <= 16384 else (1, 1), dst.dtype)
    nisa.memset(dst=stage.nki(), value=value)
    if int(np.prod(stage.shape)) != int(np.prod(dst.shape)):
        stage = stage[tuple(slice(0, 1) for _ in stage.shape)]
        nisa.dma_copy(dst=dst.nki(), src=_repeated(stage, dst).nki())
        return
    nisa.dma_copy(dst=dst.normal().nki(), src=stage.nki())


def _repeated(stage: Tile, dst: Tile) -> Tile:
    """One element in HBM, read as many times as `dst` has elements."""
    one = as_tile(nl.ndarray((1,), dtype=stage.dtype, buffer=nl.private_hbm))
    nisa.dma_copy(dst=one.nki(), src=stage.nki())
    return one.over(dst.shape)


def assign(dst: Tile, value: Any) -> None:
    """`dst[...] = value`."""
    if not isinstance(value, Tile):
        if not isinstance(value, (int, float, bool, np.generic, np.ndarray)):
            raise TypeError(f"{type(value).__name__} cannot be assigned to a tensor")
        fill(dst, value)
        return
    st = state.current()
    where = value.where if value is st.pending else None
    if value is st.pending and sys.getrefcount(value) <= _assigned_refs:
        fits = dst.on_chip and (value.buffer == nl.psum) == (dst.buffer == nl.psum) and value.dtype == dst.dtype
        if fits and dst.normal().shape == value.shape:
            value._settle(dst)
            return
    value.root  # runs the call before anything else
    parts = list(boxes(where, value.shape))
    if parts == [tuple((0, n) for n in value.shape)]:
        copy(dst, value)
        return
    # What the call did not write stays as it is.
    from .language.memory import regroup

    dst = regroup(dst.normal(), value.shape)
    for box in parts:
        copy(dst.narrowed(box), value.narrowed(box))


def update(dst: Tile, name: str, other: Any) -> None:
    """`dst op= other`."""
    from . import language

    if isinstance(other, Tile) and name == "add" and dst._root is not None and dst.buffer == nl.psum and other is state.current().pending:
        accumulate = getattr(other._run, "accumulate", None)
        if accumulate is not None and _leads(other.shape, dst.normal().shape):
            # Operands under a mask give a smaller product, which belongs to the beginning of the destination.
            dst = dst.normal().narrowed(tuple((0, n) for n in other.shape))
        if accumulate is not None and not dst.root.mixed and dst.normal().shape == other.shape and sys.getrefcount(other) <= _updated_refs:
            state.current().pending = None
            accumulate(dst)
            return
    dst.root  # a pending left side is computed first
    if isinstance(other, Tile):
        other.root
        if other.buffer == nl.psum and dst.buffer == nl.psum:
            other = to_sbuf(other)
    result = getattr(language, name)(dst, other, dtype=dst.dtype)
    shape = result.shape
    if dst.normal().shape != shape:
        raise ValueError(f"a tensor of shape {dst.shape} cannot be updated in place with a result of shape {shape}")
    result._settle(dst)


def _leads(part: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    return part != whole and len(part) == len(whole) and all(n <= m for n, m in zip(part, whole))


class _Held:
    """Stands for the launch, which holds a pending result as well."""

    value: Any = None


def _probe(value: Any) -> int:
    return sys.getrefcount(value)


class _Probe:
    """Counts the references that an interpreter holds to the right side while it assigns or updates."""

    seen = 0

    def __setitem__(self, key: Any, value: Any) -> None:
        _Probe.seen = _probe(value)

    def __iadd__(self, value: Any) -> "_Probe":
        _Probe.seen = _probe(value)
        return self


def _fresh() -> object:
    _Held.value = object()
    return _Held.value


_probe_target = _Probe()
_probe_target[0] = _fresh()
_assigned_refs = _Probe.seen
_probe_target += _fresh()
_updated_refs = _Probe.seen
_Held.value = None
