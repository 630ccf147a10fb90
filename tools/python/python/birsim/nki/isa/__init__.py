"""`nki.isa`: the instructions, with the destination first.

Every instruction is a row of the table in `tools/python/src/isa`; this module adds the enumerations, what makes a register and
the questions about the target.
"""

from __future__ import annotations

from typing import Any

from ... import _native
from ...errors import NkiValidationError as NkiValidationError
from ..target import NcVersion
from ..target import generation as get_nc_version
from .enums import dge_mode as dge_mode
from .enums import dma_engine as dma_engine
from .enums import engine as engine
from .enums import matmul_perf_mode as matmul_perf_mode
from .enums import oob_mode as oob_mode
from .enums import reduce_cmd as reduce_cmd
from .functions import *  # noqa: F403

nc_version = NcVersion
VirtualRegister = _native.VirtualRegister
NkiInstruction = _native.NkiInstruction
_Tensor = _native.NkiTensor


unknown_engine, tensor_engine, scalar_engine, gpsimd_engine, vector_engine = engine.unknown, engine.tensor, engine.scalar, engine.gpsimd, engine.vector


def get_nc_sub_version() -> int:
    """The revision of the target."""
    return 0


# ---- registers


def register_alloc(x: Any = None) -> Any:
    """A register; its first value is a number or that of a tensor of one element."""
    if isinstance(x, _Tensor):
        made = VirtualRegister(0, False)
        register_load(made, x)  # noqa: F405
        return made
    if isinstance(x, VirtualRegister):
        made = VirtualRegister(0, False)
        register_move(made, x)  # noqa: F405
        return made
    return VirtualRegister(int(x or 0), False)


from . import constants  # noqa: E402
