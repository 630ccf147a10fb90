"""`nki.language`: tensors, views, loops, and functions that return tiles."""

from __future__ import annotations

import builtins as _builtins
import contextlib as _contextlib
import os as _os
from typing import Any, Callable, Iterator

import numpy as _np

from ... import _native
from ..dtype import *  # noqa: F403
from ..dtype import as_dtype as _as_dtype
from ..dtype import bool_ as bool  # noqa: A004
from ..dtype import float32 as _float32
from ..objects import NKIObject as NKIObject
from ..regions import MemoryRegion as MemoryRegion
from ..regions import hbm as hbm
from ..regions import is_hbm as is_hbm
from ..regions import is_on_chip as is_on_chip
from ..regions import is_psum as is_psum
from ..regions import is_sbuf as is_sbuf
from ..regions import private_hbm as private_hbm
from ..regions import psum as psum
from ..regions import sbuf as sbuf
from ..regions import shared_hbm as shared_hbm
from ..regions import name_of as _region_name
from ..target import current as _target
from .functions import *  # noqa: F403

NkiTensor = _native.NkiTensor
VirtualRegister = _native.VirtualRegister
tensor = NkiTensor


class _Fp32:
    min = float(_np.finfo(_np.float32).min)
    max = float(_np.finfo(_np.float32).max)


fp32 = _Fp32()


class _TileSize:
    """Sizes of the current target."""

    pmax = 128
    psum_fmax = psum_bank_fmax = 512
    psum_bank_fmax_bytes = 2048
    gemm_stationary_fmax = 128
    gemm_moving_fmax = 512
    bn_stats_fmax = 512
    psum_min_align = 4
    sbuf_min_align = 1

    @property
    def psum_num_banks(self) -> int:
        """Banks of PSUM."""
        return 7 if _os.environ.get("NKI_DMA_TRANSPOSE_AS_PE_TRANSPOSE", "").lower() == "true" else 8

    @property
    def total_available_sbuf_size(self) -> int:
        """Usable bytes of a partition."""
        return {"trn1": 180_224, "trn2": 212_984, "trn3": 245_752}[_target()]

    sbuf_fmax_bytes = total_available_sbuf_size

    @property
    def sbuf_fmax(self) -> int:
        """Usable float32 elements of a partition."""
        return self.total_available_sbuf_size // 4

    @property
    def sbuf_size_bytes(self) -> int:
        """Bytes of all partitions."""
        return {"trn1": 24, "trn2": 28, "trn3": 32}[_target()] << 20


tile_size = _TileSize()


def par_dim(n: int) -> int:
    """A size; the partition dimension is the first one."""
    return n


def _sizes(shape: Any) -> list[int]:
    return [int(n) for n in (shape if isinstance(shape, (tuple, list)) else (shape,))]


# ---- tensors


def ds(start: Any, size: int) -> Any:
    """`start` up to `start + size` as an index; start may be a register."""
    return _native.ds(start, size)


def _place(address: Any) -> Any:
    """(partition, byte) of an address, when it says one."""
    if isinstance(address, (tuple, list)) and len(address) == 2 and _builtins.all(isinstance(n, int) and n >= 0 for n in address):
        return (int(address[0]), int(address[1]))
    return None


def ndarray(shape: Any, dtype: Any, buffer: Any = None, name: str = "", address: Any = None) -> NkiTensor:
    """A new tensor without values. `address`, a (partition, byte), is what `check="overlap"` looks at; storage is never shared."""
    sizes = _sizes(shape)
    region = _region_name(buffer)
    if region in ("sbuf", "psum") and len(sizes) == 1:
        sizes.append(1)
    return _native.ndarray(name or "", sizes, _as_dtype(dtype), region, _place(address))


def _fill(t: Any, value: Any) -> Any:
    from .. import isa

    if t.buffer in ("sbuf", "psum"):
        isa.memset(t, value)
    else:
        one = _native.ndarray("", [1, 1], t.dtype, "sbuf")
        isa.memset(one, value)
        cell = _native.ndarray("", [1], t.dtype, "private_hbm")
        isa.dma_copy(cell, one)
        isa.dma_copy(t, cell.ap([[0, n] for n in t.shape]))
    return t


def full(shape: Any, fill_value: Any, dtype: Any, buffer: Any = None, name: str = "", **_: Any) -> NkiTensor:
    """A new tensor of one value."""
    return _fill(ndarray(shape, dtype, buffer, name), fill_value)


def zeros(shape: Any, dtype: Any = _float32, buffer: Any = None, name: str = "", **_: Any) -> NkiTensor:
    """A new tensor of zeros."""
    return full(shape, 0, dtype, buffer, name)


def ones(shape: Any, dtype: Any = _float32, buffer: Any = None, name: str = "", **_: Any) -> NkiTensor:
    """A new tensor of ones."""
    return full(shape, 1, dtype, buffer, name)


def empty_like(x: Any, dtype: Any = None, buffer: Any = None, name: str = "") -> NkiTensor:
    """A new tensor of the shape of `x`."""
    return ndarray(x.shape, x.dtype if dtype is None else dtype, x.buffer if buffer is None else buffer, name)


def zeros_like(x: Any, dtype: Any = None, buffer: Any = None, name: str = "") -> NkiTensor:
    """A new tensor of zeros of the shape of `x`."""
    return _fill(empty_like(x, dtype, buffer, name), 0)


def shared_constant(constant: Any, dtype: Any = None, **_: Any) -> NkiTensor:
    """A tensor of HBM with the values of an array or a `.npy` file."""
    values = _np.load(constant) if isinstance(constant, (str, _os.PathLike)) else _np.asarray(constant)
    kind = _as_dtype(values.dtype if dtype is None else dtype) if values.dtype != _np.float64 else _as_dtype(dtype or _float32)
    values = _np.ascontiguousarray(values.astype(kind.numpy))
    return _native.constant("", list(values.shape) or [1], kind, values.tobytes())


def _identity_of(n: int, dtype: Any) -> Any:
    from .. import isa

    kind = _as_dtype(dtype)
    data = _np.identity(n, dtype=_np.float32).astype(kind.numpy)
    made = _native.ndarray("", [n, n], kind, "sbuf")
    isa.dma_copy(made, _native.constant("", [n, n], kind, data.tobytes()))
    return made


def shared_identity_matrix(n: int, dtype: Any = "uint8", dst: Any = None) -> NkiTensor:
    """An identity matrix in SBUF."""
    made = _identity_of(n, dtype)
    if dst is not None:
        from .. import isa

        isa.tensor_copy(dst, made)
        return dst
    return made


# ---- loops and grid


def affine_range(start: int, stop: Any = None, step: int = 1, **_: Any) -> Any:
    """The loop `range(start, stop, step)`."""
    return _builtins.range(int(start)) if stop is None else _builtins.range(int(start), int(stop), int(step))


sequential_range = static_range = affine_range
globals()["range"] = affine_range


def dynamic_range(start: Any, stop: Any = None, step: int = 1) -> Iterator[Any]:
    """A loop whose bounds may be registers. Its variable is a register that the kernel cannot write.

    The passes are run one by one; when a whole program is traced, the body is traced once and becomes a loop of the program.
    """
    if isinstance(step, VirtualRegister):
        raise AssertionError("dynamic_range: step is a positive Python integer, not a register")
    lower, upper = (0, start) if stop is None else (start, stop)
    if int(step) < 1:
        raise AssertionError(f"dynamic_range: step is a positive Python integer, not {step}")
    if not _native.whole():
        for i in _builtins.range(int(lower), int(upper), int(step)):
            yield VirtualRegister(i, True)
        return
    index = VirtualRegister(0, True)
    index._forget()
    _native.open_body()
    done = False
    try:
        yield index
        done = True
    finally:
        if not done:
            _native.drop_body()
    _native.close_body(index, lower, upper, int(step))


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any], Any], step: int = 1) -> None:
    """Calls `body_fun` with the variable of a loop."""
    for i in dynamic_range(lower, upper, step):
        body_fun(i)


def while_loop(init: Any, body_fun: Callable[[Any], Any]) -> None:
    """Calls `body_fun` while a register is not zero; it returns the next one."""
    if not _native.whole():
        reg = init
        while int(reg) != 0:
            reg = body_fun(reg)
        return
    # The machine's loop tests after its body, so it stands in a loop of one pass or none.
    from .. import isa

    reg, guard = isa.register_alloc(init), isa.register_alloc(0)
    _native.emit("RegisterAlu", 7, [reg, 0], [guard], {"op": 19}, None)
    guard._forget()
    for _ in dynamic_range(0, guard):
        _native.open_body()
        done = False
        try:
            isa.register_move(reg, body_fun(reg))
            done = True
        finally:
            if not done:
                _native.drop_body()
        _native.close_body(reg)


def program_id(axis: int = 0) -> int:
    """The number of this core."""
    found = _native.tracing()
    return 0 if found is None or axis else found[2]


def num_programs(axes: Any = 0) -> Any:
    """The number of cores."""
    found = _native.tracing()
    if isinstance(axes, (tuple, list)):
        return tuple(num_programs(a) for a in axes)
    return 1 if found is None or axes else found[1]


def program_ndim() -> int:
    """1 when the kernel was launched with a number of programs, else 0."""
    found = _native.tracing()
    return int(found is not None and found[3])


def nc(n: int) -> int:
    """A number of cores."""
    return n


def spmd_dim(*n: Any) -> int:
    """A product."""
    out = 1
    for k in n:
        out *= int(k)
    return out


def no_reorder() -> Any:
    """An ordering hint."""
    return _contextlib.nullcontext()


# ---- functions that return tiles


def rand(shape: Any, dtype: Any = _float32, buffer: Any = None, name: str = "") -> NkiTensor:
    """Random numbers in [0, 1)."""
    from .. import isa

    bits = ndarray(shape, "uint32")
    isa.rng(bits)
    made = ndarray(shape, dtype, buffer, name)
    isa.tensor_scalar(bits, bits, "right_shift", 8)
    isa.tensor_scalar(made, bits, "multiply", float(2.0**-24))
    return made


def random_seed(seed: Any) -> None:
    """Seeds."""
    from .. import isa

    isa.set_rng_seed(seed)


def device_print(print_prefix: str, tensor: Any = None) -> None:
    """Prints the values of a tensor."""
    print(print_prefix, "" if tensor is None else _np.asarray(tensor), flush=True)
