"""The enumerations of `nki.isa`."""

from __future__ import annotations

import enum

__all__ = ["dge_mode", "dma_engine", "engine", "matmul_perf_mode", "oob_mode", "reduce_cmd"]


class engine(enum.IntEnum):
    """Engines."""

    unknown = 0
    tensor = 1
    scalar = 2
    gpsimd = 3
    dma = 4
    vector = 5
    sync = 6


class reduce_cmd(enum.IntEnum):
    """What an instruction does with the accumulation registers."""

    idle = 0
    reset = 1
    reduce = 2
    reset_reduce = 3
    load_reduce = 4


class oob_mode(enum.IntEnum):
    """What an index outside of a tensor means."""

    error = 0
    skip = 1


class dge_mode(enum.IntEnum):
    """Who makes the descriptors of a copy."""

    unknown = 0
    swdge = 1
    hwdge = 2
    none = 3


class matmul_perf_mode(str, enum.Enum):
    """Modes of the tensor engine."""

    none = "none"
    double_row = "double_row"


class dma_engine(enum.IntEnum):
    """Engines that exchange between cores."""

    dma = 1
    gpsimd_dma = 2
