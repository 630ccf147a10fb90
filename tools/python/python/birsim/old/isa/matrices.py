"""Matrix products and transposes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...nki import isa as nisa
from ...nki import language as nl
from ...nki.dtype import as_dtype
from .. import emit
from ..masks import boxes
from ..tile import Tile, allocate
from .operands import chosen, kept_type


class _Product:
    """A pending matrix product, which may also be added to what PSUM holds."""

    def __init__(self, stationary: Tile, moving: Tile, options: dict[str, Any], empty: bool) -> None:
        self.stationary, self.moving, self.options = stationary, moving, options
        # A mask leaves nothing to compute.
        self.empty = empty

    def __call__(self, dst: Tile) -> None:
        if self.empty:
            return
        nisa.nc_matmul(dst=dst.normal().nki(), stationary=self.stationary.nki(), moving=self.moving.nki(), accumulate=False, **self.options)

    def accumulate(self, dst: Tile) -> None:
        """`dst += product`."""
        if self.empty:
            return
        nisa.nc_matmul(dst=dst.normal().nki(), stationary=self.stationary.nki(), moving=self.moving.nki(), accumulate=True, **self.options)


def nc_matmul(
    stationary: Tile,
    moving: Tile,
    *,
    is_stationary_onezero: Any = False,
    is_moving_onezero: Any = False,
    is_transpose: Any = False,
    mask: Any = None,
    **more: Any,
) -> Tile:
    """stationary.T @ moving, contracted over partitions, in PSUM."""
    stationary, moving = emit.to_sbuf(stationary).normal(), emit.to_sbuf(moving).normal()
    stationary.root, moving.root
    empty = False
    if mask is not None:
        shape = (stationary.shape[0], *moving.shape[1:])
        parts = list(boxes(mask, shape))
        if len(parts) > 1:
            raise ValueError("the mask of a matrix product must be a box")
        empty = not parts
        for box in parts:
            stationary = stationary.narrowed((box[0], *((0, n) for n in stationary.shape[1:])))
            moving = moving.narrowed((box[0], *((0, n) for n in moving.shape[1:])))
    options = {k: v for k, v in more.items() if k in ("tile_position", "tile_size", "perf_mode") and v not in (None, ())}
    if "perf_mode" in options:
        mode = getattr(options["perf_mode"], "value", options["perf_mode"])
        options["perf_mode"] = {"double_row_gen3": "double_row"}.get(mode, mode)
    if is_transpose:
        options["is_transpose"] = True
    if is_stationary_onezero:
        options["is_stationary_onezero"] = True
    if is_moving_onezero:
        options["is_moving_onezero"] = True
    double = options.get("perf_mode") == "double_row"
    # In this mode the dimension of size 2 after the partitions is contracted as well.
    columns = int(np.prod(stationary.shape[2 if double else 1 :]))
    free = moving.shape[2 if double else 1 :]
    kept = moving.dtype if is_transpose else as_dtype("float32")
    return Tile.pending((columns, *free), kept, nl.psum, _Product(stationary, moving, options, empty))


def nc_transpose(data: Tile, mask: Any = None, dtype: Any = None, engine: Any = None, **_: Any) -> Tile:
    """The transpose of a tile, in PSUM when the tensor engine makes it."""
    data = data.normal()
    data.root
    free = int(np.prod(data.shape[1:]))
    on_vector = engine == nisa.engine.vector or (not chosen(engine) and data.buffer == nl.psum and max(data.shape[0], free) <= 32)
    if not on_vector:
        data = emit.to_sbuf(data)
    kept = kept_type(dtype, data.dtype)

    def go(dst: Tile) -> None:
        target = dst.normal()
        aside = None
        if dst.dtype != data.dtype:
            # A transpose moves bits; the conversion is a copy of its own.
            aside = allocate((free, data.shape[0]), data.dtype, nl.sbuf if on_vector else nl.psum)
        out = target if aside is None else aside
        engine_word = nisa.engine.vector if on_vector else nisa.engine.tensor
        nisa.nc_transpose(dst=out.out(), data=data.nki(), engine=engine_word)
        if aside is not None:
            nisa.tensor_copy(dst=target.out(), src=aside.nki())

    return Tile.pending((free, data.shape[0]), kept, nl.sbuf if on_vector else nl.psum, go)
