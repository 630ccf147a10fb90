"""`nki.isa`: the instructions, with the destination first.

Every function of the machine is a row of the table in `tools/python/src/isa`; this module adds the enumerations, the registers
and the questions about the target.
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


def _emit(opcode: str, ins: Any, outs: Any) -> None:
    _native.emit(opcode, 7, ins, outs, {}, None)


def register_alloc(x: Any = None) -> Any:
    """A register; its first value is a number or that of a tensor of one element."""
    if isinstance(x, _Tensor):
        made = VirtualRegister(0, False)
        register_load(made, x)
        return made
    if isinstance(x, VirtualRegister):
        made = VirtualRegister(0, False)
        register_move(made, x)
        return made
    return VirtualRegister(int(x or 0), False)


def _writable(dst: Any) -> None:
    if not isinstance(dst, VirtualRegister):
        raise TypeError(f"a register is written, not {type(dst).__name__}; registers come from nki.isa.register_alloc")
    if dst._frozen:
        raise AssertionError("the variable of a loop is a frozen register: it cannot be written")
    dst._forget()


def register_move(dst: Any, src: Any = None, imm: Any = None) -> None:
    """dst = src, a number or a register."""
    _writable(dst)
    value = imm if src is None else src
    if isinstance(value, VirtualRegister):
        _emit("RegisterMove", [value], [dst])
    else:
        _emit("RegisterMove", [int(value)], [dst])


def register_load(dst: Any, src: Any) -> None:
    """dst = the element of a tensor."""
    _writable(dst)
    _emit("TensorLoad", [src], [dst])


def register_store(dst: Any, src: Any) -> None:
    """The element of a tensor = src, a register or a number."""
    _emit("TensorSave", [src if isinstance(src, VirtualRegister) else int(src)], [dst])


def topk(val_dst: Any, idx_dst: Any, src: Any, n: int, name: Any = None) -> None:
    """The largest of the first `n` elements of every 16 partitions, ascending, with their positions.

    Element i of a group lies in partition i % 16 and column i // 16.
    """
    raise NotImplementedError("nki.isa.topk has no published form among the machine's instructions; use max8 and nc_match_replace8")


from . import constants  # noqa: E402
