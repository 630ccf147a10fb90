"""`nki.isa`: the instructions, with the destination first."""

from __future__ import annotations

import enum as _enum
import threading as _threading
from typing import Any

import numpy as _np

from ... import _native
from ...errors import NkiValidationError
from ..target import NcVersion as nc_version
from ..target import current as _target
from ..target import generation as get_nc_version
from ..tokens import BITVEC as _BITVEC
from ..tokens import alu as _alu
from ..tokens import func as _func

VirtualRegister = _native.VirtualRegister
_Tensor = _native.NkiTensor


class engine(_enum.IntEnum):
    """Engines."""

    unknown = 0
    tensor = 1
    scalar = 2
    gpsimd = 3
    dma = 4
    vector = 5
    sync = 6


unknown_engine, tensor_engine, scalar_engine, gpsimd_engine, vector_engine = engine.unknown, engine.tensor, engine.scalar, engine.gpsimd, engine.vector
_BIR = {0: 0, 1: 3, 2: 2, 3: 1, 4: 4, 5: 5, 6: 6}


class reduce_cmd(_enum.IntEnum):
    """What an instruction does with the accumulation registers."""

    idle = 0
    reset = 1
    reduce = 2
    reset_reduce = 3
    load_reduce = 4


_ACC = {0: 0, 1: 1, 2: 4, 3: 3, 4: 5}


class oob_mode(_enum.IntEnum):
    """What an index outside of a tensor means."""

    error = 0
    skip = 1


class dge_mode(_enum.IntEnum):
    """Who makes the descriptors of a copy."""

    unknown = 0
    swdge = 1
    hwdge = 2
    none = 3


_DGE = {0: 3, 1: 1, 2: 2, 3: 0}


class matmul_perf_mode(str, _enum.Enum):
    """Modes of the tensor engine."""

    none = "none"
    double_row = "double_row"


class dma_engine(_enum.IntEnum):
    """Engines that exchange between cores."""

    dma = 1
    gpsimd_dma = 2


def get_nc_sub_version() -> int:
    """The revision of the target."""
    return 0


class NkiInstruction:
    """A handle of an instruction; order is that of the program."""

    def depends_on(self, *producers: Any) -> "NkiInstruction":
        """Ordering only."""
        return self


def _num(v: Any) -> Any:
    return v.item() if isinstance(v, (_np.generic, _np.ndarray)) else v


def _eng(e: Any, default: int) -> int:
    return default if e is None or int(e) == 0 else _BIR[int(e)]


def _opnd(v: Any, bitvec: bool = False) -> Any:
    """A tensor, or an immediate of the class of the operation."""
    v = _num(v)
    if v is None:
        return 0 if bitvec else 0.0
    if isinstance(v, (_Tensor, VirtualRegister)):
        return v
    return int(v) if bitvec else float(v)


def _free(t: Any) -> int:
    n = 1
    for k in t.shape[1:]:
        n *= k
    return n


def _check(fname: str, **operands: Any) -> None:
    """Partition limits and buffers of on-chip operands."""
    for label, t in operands.items():
        if not isinstance(t, _Tensor):
            if t is None or isinstance(t, (int, float)):
                continue
            raise TypeError(f"{fname}: {label} is a tensor, not {type(t).__name__}")
        if t.buffer not in ("sbuf", "psum"):
            raise NkiValidationError(f"{fname}: {label} lies in {t.buffer}; it must be in sbuf or psum ({_target()})")
        if t.shape[0] > 128:
            raise NkiValidationError(f"{fname} {label} partition dimension {t.shape[0]} exceeds the maximum 128 of {t.buffer} ({_target()})")


def _same(fname: str, dst: Any, **operands: Any) -> None:
    _check(fname, dst=dst, **operands)
    for label, t in operands.items():
        if isinstance(t, _Tensor) and (t.shape[0] != dst.shape[0] or _free(t) != _free(dst)):
            raise NkiValidationError(f"{fname}: {label} has the shape {tuple(t.shape)} and dst {tuple(dst.shape)}: partitions and elements per partition must agree")


def _vector(fname: str, label: str, v: Any, data: Any) -> None:
    if isinstance(v, _Tensor) and (_free(v) != 1 or v.shape[0] != data.shape[0]):
        raise NkiValidationError(f"{fname}: {label} has the shape {tuple(v.shape)}; a vector operand has one element in each of the {data.shape[0]} partitions")


def _drained(emit: Any, reduce_res: Any) -> NkiInstruction:
    """Runs `emit` with the tile that takes the accumulator: engines drain it to float32, other types are a copy of that."""
    if reduce_res is None or reduce_res.dtype == "float32":
        emit([] if reduce_res is None else [reduce_res])
        return _HANDLE
    stage = _native.ndarray("", list(reduce_res.shape), "float32", "sbuf")
    emit([stage])
    return tensor_copy(reduce_res, stage)


def _emit(_op: str, _eng: int, _ins: Any, _outs: Any, _name: Any = None, /, **fields: Any) -> NkiInstruction:
    _native.emit(_op, _eng, _ins, _outs, fields, _name)
    return _HANDLE


_HANDLE = NkiInstruction()


# ---- data movement


def dma_copy(dst: Any, src: Any, priority: Any = None, oob_mode: Any = oob_mode.error, dge_mode: Any = dge_mode.unknown, engine: Any = None, name: Any = None, mask: Any = None, dst_rmw_op: Any = None, unique_indices: Any = True) -> Any:
    """dst = src by DMA."""
    for label, t in (("dst", dst), ("src", src)):
        if not isinstance(t, _Tensor):
            raise TypeError(f"dma_copy: {label} is a tensor, not {type(t).__name__}")
        if t.buffer == "psum":
            raise NkiValidationError(f"dma_copy: {label} lies in psum, which DMA cannot reach ({_target()}); copy it to sbuf with tensor_copy")
        if t.buffer == "sbuf" and t.shape[0] > 128:
            raise NkiValidationError(f"dma_copy {label} partition dimension {t.shape[0]} exceeds the maximum 128 of sbuf ({_target()})")
    if dst.size != src.size:
        raise NkiValidationError(f"dma_copy: src has {src.size} elements ({tuple(src.shape)}) and dst {dst.size} ({tuple(dst.shape)})")
    if dst_rmw_op is not None:
        return dma_compute(dst, [src, dst], dst_rmw_op, oob_mode=oob_mode, name=name)
    return _emit("DMACopy", 4, [src], [dst], name, dge_type=_DGE[int(dge_mode)], oob_is_err=int(oob_mode) == 0)


def dma_compute(dst: Any, srcs: Any, reduce_op: Any = None, scales: Any = None, unique_indices: Any = True, oob_mode: Any = oob_mode.error, name: Any = None) -> Any:
    """dst = the sum of the sources."""
    if reduce_op is None or isinstance(reduce_op, (list, tuple)):
        reduce_op, scales = scales, reduce_op
    scales = [1.0] * len(srcs) if scales is None else [float(s) for s in scales]
    return _emit("DMACopy", 4, list(srcs), [dst], name, mode=2, cce_op=_alu(reduce_op), constants=scales, oob_is_err=int(oob_mode) == 0)


def dma_transpose(dst: Any, src: Any, axes: Any = None, priority: Any = None, dge_mode: Any = dge_mode.unknown, oob_mode: Any = oob_mode.error, name: Any = None) -> Any:
    """dst = src with its dimensions reversed, by DMA."""
    order = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}[len(src.shape)]
    if axes is not None and tuple(axes) != order:
        raise NkiValidationError(f"dma_transpose of {len(src.shape)} dimensions permutes by {order}, not {tuple(axes)}")
    # A copy that reads in the order of the destination: on chip the partition leads, so a source there goes through HBM.
    pattern = src.get_pattern()
    if src.buffer != "sbuf" and not src.is_indirect():
        moved = src.permute(list(order))
        return _emit("DMACopy", 4, [moved], [dst], name)
    stage = _native.ndarray("", list(src.shape), src.dtype, "private_hbm")
    _emit("DMACopy", 4, [src], [stage], name, oob_is_err=int(oob_mode) == 0)
    return _emit("DMACopy", 4, [stage.permute(list(order))], [dst], name)


def tensor_copy(dst: Any, src: Any, engine: Any = None, name: Any = None, dtype: Any = None) -> Any:
    """dst = src on chip."""
    _same("tensor_copy", dst, src=src)
    return _emit("TensorCopy", _eng(engine, 5), [src], [dst], name)


def memset(dst: Any, value: Any = 0, engine: Any = None, name: Any = None, dtype: Any = None) -> Any:
    """Fills with a constant."""
    from ..dtype import as_dtype

    _check("memset", dst=dst)
    kind = as_dtype(dst.dtype)
    value = _num(value)
    if kind.kind == "x":
        bits = int(value)
    else:
        with _np.errstate(all="ignore"):
            array = _np.asarray(value, dtype=_np.float64 if isinstance(value, float) else None)
            if kind.kind in "iub" and array.dtype.kind == "f":
                if value != int(value):
                    raise NkiValidationError(f"memset: the value {value!r} is no {kind}")
                array = array.astype(_np.int64)
            if kind.kind == "f":
                array = array.astype(_np.float32)
            array = array.astype(kind.numpy)
        bits = int.from_bytes(array.tobytes(), "little")
    return _emit("Memset", _eng(engine, 5), [], [dst], name, mode=0, constant=bits)


def iota(dst: Any, pattern: Any, offset: Any = 0, channel_multiplier: Any = 0, name: Any = None) -> Any:
    """Indices."""
    _check("iota", dst=dst)
    pairs = [(int(s), int(n)) for s, n in pattern]
    return _emit("Iota", 1, [], [dst], name, base=_num(offset), pattern=pairs, channel_multiplier=int(channel_multiplier))


def nc_stream_shuffle(dst: Any, src: Any, shuffle_mask: Any, name: Any = None) -> Any:
    """Moves partitions inside of groups of 32."""
    _check("nc_stream_shuffle", dst=dst, src=src)
    return _emit("StreamShuffle", 5, [src], [dst], name, mask=[int(m) for m in shuffle_mask])


def nc_transpose(dst: Any, data: Any, engine: Any = None, name: Any = None) -> Any:
    """dst[f, p] = data[p, f]."""
    _check("nc_transpose", dst=dst, data=data)
    chosen = _eng(engine, 3 if dst.buffer == "psum" else 5)
    if chosen == 3:
        return _transpose_pe(dst, data, name)
    return _emit("StreamTranspose", 5, [data], [dst], name)


def _identity(n: int, dtype: Any) -> Any:
    from ..language import _identity_of

    return _identity_of(n, dtype)


def _transpose_pe(dst: Any, data: Any, name: Any) -> Any:
    return _emit("Matmult", 3, [data, _identity(data.shape[0], data.dtype)], [dst], name, is_transpose=True, accumulation_flag=1)


def local_gather(dst: Any, src_buffer: Any, index: Any, num_elem_per_idx: int = 1, num_valid_indices: Any = None, name: Any = None) -> Any:
    """Elements at positions that 16 partitions share."""
    valid = index.size // (index.shape[0] // 16) if num_valid_indices is None else int(num_valid_indices)
    return _emit("IndirectCopy", 1, [src_buffer, index], [dst], name, num_valid_indices=valid)


def nc_n_gather(dst: Any, data: Any, indices: Any, name: Any = None) -> Any:
    """dst[p, i] = data[p, indices[p, i]]."""
    return _emit("Gather", 1, [data, indices], [dst], name)


def sendrecv(src: Any = None, dst: Any = None, send_to_rank: Any = 0, recv_from_rank: Any = 0, pipe_id: int = 0, dma_engine: Any = None, name: Any = None, use_gpsimd_dma: Any = False) -> Any:
    """Exchange with the other core."""
    return _emit("CollectiveCompute", 1, [src], [dst], name, kind=0, is_local=True, pipe_id=int(pipe_id), stream_id=-1, send_to_rank=int(send_to_rank), recv_from_rank=[int(recv_from_rank)], initial_corebarrier=True)


def core_barrier(data: Any = None, cores: Any = (0, 1), engine: Any = None, name: Any = None) -> Any:
    """Waits for the other core."""
    found = _native.tracing()
    if found is not None and found[1] > 1:
        # The k-th barrier of a core meets the k-th barrier of the other one.
        met = _barriers.met
        met[found[2]] = met.get(found[2], 0) + 1
        return _emit("CoreBarrier", 1, [data], [data], name, id=met[found[2]], cores=[int(c) for c in cores])
    return _HANDLE


class _Barriers(_threading.local):
    """Barriers that every core of the running launch has met."""

    def __init__(self) -> None:
        self.met: dict[int, int] = {}


_barriers = _Barriers()


# ---- element-wise


def tensor_tensor(dst: Any, data1: Any, data2: Any, op: Any, engine: Any = None, name: Any = None) -> Any:
    """dst = data1 op data2."""
    _same("tensor_tensor", dst, data1=data1, data2=data2)
    if data1.buffer == "psum" and data2.buffer == "psum":
        raise NkiValidationError(f"tensor_tensor: data1 and data2 both lie in psum; one of them may ({_target()})")
    code = _alu(op)
    ints = all(t.dtype in ("int32", "uint32") and t.buffer == "sbuf" for t in (dst, data1, data2))
    chosen = _eng(engine, 1 if (ints and code not in _BITVEC) or code == 26 else 5)
    return _emit("TensorTensor", chosen, [data1, data2], [dst], name, op=code)


def tensor_scalar(dst: Any, data: Any, op0: Any, operand0: Any = None, reverse0: Any = False, op1: Any = None, operand1: Any = None, reverse1: Any = False, engine: Any = None, name: Any = None) -> Any:
    """dst = (data op0 operand0) op1 operand1."""
    _same("tensor_scalar", dst, data=data)
    _vector("tensor_scalar", "operand0", operand0, data)
    _vector("tensor_scalar", "operand1", operand1, data)
    a, b = _alu(op0), _alu(op1)
    operand0, operand1 = _num(operand0), _num(operand1)
    ins = [data, _opnd(operand0, a in _BITVEC)]
    if op1 is not None:
        ins.append(_opnd(operand1, b in _BITVEC))
    exact = all(t.dtype in ("int32", "uint32") for t in (dst, data)) and a in (4, 5, 6) and (op1 is None or b in (4, 5, 6)) and all(isinstance(v, (int, type(None))) for v in (operand0, operand1))
    if exact:
        ins = [data, int(operand0 or 0)] + ([int(operand1 or 0)] if op1 is not None else [])
    chosen = _eng(engine, 1 if a in (26, 28) or b in (26, 28) else 5)
    if chosen == 2:
        chosen = 5
    return _emit("TensorScalarPtr", chosen, ins, [dst], name, op0=a, reverse0=bool(reverse0), op1=b, reverse1=bool(reverse1), is_tensor_scalar_addr=exact)


def scalar_tensor_tensor(dst: Any, data: Any, op0: Any, operand0: Any, op1: Any, operand1: Any, reverse0: Any = False, reverse1: Any = False, name: Any = None, dtype: Any = None) -> Any:
    """dst = (data op0 operand0) op1 operand1, where operand1 is a tile."""
    _same("scalar_tensor_tensor", dst, data=data, operand1=operand1)
    _vector("scalar_tensor_tensor", "operand0", operand0, data)
    return _emit("TensorScalarPtr", 5, [data, _opnd(operand0), operand1], [dst], name, op0=_alu(op0), reverse0=bool(reverse0), op1=_alu(op1), reverse1=bool(reverse1), is_scalar_tensor_tensor=True)


def reciprocal(dst: Any, data: Any, name: Any = None) -> Any:
    """1 / data."""
    _same("reciprocal", dst, data=data)
    return _emit("Reciprocal", 5, [data], [dst], name)


def activation(dst: Any, op: Any, data: Any, bias: Any = None, scale: Any = 1.0, reduce_op: Any = None, reduce_res: Any = None, reduce_cmd: Any = reduce_cmd.idle, name: Any = None) -> Any:
    """dst = op(data * scale + bias)."""
    _same("activation", dst, data=data)
    _vector("activation", "scale", scale, data)
    _vector("activation", "bias", bias, data)
    acc = _ACC[int(reduce_cmd)]
    outs = [dst]
    if reduce_res is not None and acc:
        outs.append(reduce_res)
    _emit("Activation", 2, [data, _opnd(bias), _opnd(scale), 0.0], outs, name, func=_func(op), scale=1.0, alpha=0.0, acc=acc, reduce_op=4 if reduce_op is not None or acc else 0)
    if reduce_res is not None and not acc:
        _emit("ActivationReadAccumulator", 2, [], [reduce_res], name)
    return _HANDLE


def activation_reduce(dst: Any, op: Any, data: Any, reduce_op: Any = None, reduce_res: Any = None, bias: Any = None, scale: Any = 1.0, name: Any = None) -> Any:
    """An activation, and the sum of its results."""
    return activation(dst, op, data, bias, scale, reduce_op, reduce_res, globals()["reduce_cmd"].reset_reduce, name)


def activate2(dst: Any, op: Any, data: Any, imm0: Any, imm1: Any, op0: Any, op1: Any, relu_param: Any = 0.0, reverse0: Any = False, reverse1: Any = False, reduce_op: Any = None, reduce_res: Any = None, reduce_cmd: Any = reduce_cmd.idle, name: Any = None) -> Any:
    """dst = op((data op0 imm0) op1 imm1)."""
    outs = [dst] + ([reduce_res] if reduce_res is not None else [])
    return _emit("Activation", 2, [data, _opnd(imm0), _opnd(imm1), _opnd(relu_param)], outs, name, func=_func(op), scale=1.0, alpha=0.0, acc=_ACC[int(reduce_cmd)], op0=_alu(op0), op1=_alu(op1), reduce_op=_alu(reduce_op), reverse0=bool(reverse0), reverse1=bool(reverse1), is_activate2=True)


def exponential(dst: Any, src: Any, max_value: Any = 0.0, reduce_res: Any = None, reduce_cmd: Any = reduce_cmd.idle, reduce_init: Any = 0.0, name: Any = None) -> Any:
    """dst = exp(src - max_value)."""
    outs = [dst] + ([reduce_res] if reduce_res is not None else [])
    return _emit("Exponential", 5, [src, _opnd(max_value), _opnd(reduce_init)], outs, name, reduce_cmd=_ACC[int(reduce_cmd)])


def tensor_copy_predicated(dst: Any, src: Any, predicate: Any, reverse_pred: Any = False, name: Any = None) -> Any:
    """Copies where the predicate is not zero."""
    _check("tensor_copy_predicated", dst=dst, predicate=predicate)
    return _emit("CopyPredicated", 5, [predicate, _opnd(src)], [dst], name, reverse_pred=bool(reverse_pred))


def select_reduce(dst: Any, predicate: Any, on_true: Any, on_false: Any, reduce_res: Any = None, reduce_cmd: Any = reduce_cmd.idle, reduce_op: Any = "maximum", reverse_pred: Any = False, name: Any = None) -> Any:
    """dst = predicate ? on_true : on_false."""
    return _drained(lambda more: _emit("CopyPredicated", 5, [predicate, on_true, _opnd(on_false)], [dst, *more], name, reverse_pred=bool(reverse_pred), reduce_op=_alu(reduce_op), accumulator_cmd=_ACC[int(reduce_cmd)]), reduce_res)


def affine_select(dst: Any, pattern: Any, channel_multiplier: Any = 0, on_true_tile: Any = None, on_false_value: Any = None, cmp_op: Any = "equal", offset: Any = 0, name: Any = None) -> Any:
    """dst = (offset + p * channel_multiplier + pattern) cmp_op 0 ? on_true_tile : on_false_value."""
    if isinstance(on_true_tile, int):
        offset, channel_multiplier, on_true_tile, on_false_value = channel_multiplier, on_true_tile, on_false_value, cmp_op
    _same("affine_select", dst, on_true_tile=on_true_tile)
    return _emit("TensorScalarAffineSelect", 1, [on_true_tile], [dst], name, base=_num(offset), pattern=[(int(s), int(n)) for s, n in pattern], channel_multiplier=int(channel_multiplier), compare_op=_alu(cmp_op), fill_value=float(on_false_value))


def range_select(dst: Any, on_true_tile: Any, comp_op0: Any, comp_op1: Any, bound0: Any, bound1: Any, reduce_cmd: Any = reduce_cmd.reset_reduce, reduce_res: Any = None, reduce_op: Any = "maximum", range_start: Any = 0, on_false_value: Any = -3.4028235e38, name: Any = None) -> Any:
    """dst where the position lies within two bounds, else a number."""
    return _drained(lambda more: _emit("RangeSelect", 5, [on_true_tile, _opnd(bound0), _opnd(bound1)], [dst, *more], name, base=int(_num(range_start)), compare_op0=_alu(comp_op0), compare_op1=_alu(comp_op1), reduce_op=_alu(reduce_op), reduce_cmd=_ACC[int(reduce_cmd)], fill_value=float(on_false_value)), reduce_res)


def dropout(dst: Any, data: Any, prob: Any, name: Any = None) -> Any:
    """Zero with probability `prob`."""
    return _emit("Dropout", 5, [data, _opnd(prob)], [dst], name, is_keep_threshold=False)


# ---- reductions and scans


def tensor_reduce(dst: Any, op: Any, data: Any, axis: Any, negate: Any = False, keepdims: Any = False, name: Any = None) -> Any:
    """The reduction of trailing free dimensions."""
    _check("tensor_reduce", dst=dst, data=data)
    rank = len(data.shape)
    axes = sorted(a + rank if a < 0 else a for a in (axis if isinstance(axis, (list, tuple)) else (axis,)))
    if not axes or axes[0] < 1 or axes != list(range(rank - len(axes), rank)):
        if axes == [1]:
            axes = [rank - 1]
        else:
            raise NkiValidationError(f"tensor_reduce: axis {axis} of a tensor of {rank} dimensions: the last dimensions are reduced, without the partitions")
    return _emit("TensorReduce", 5, [data], [dst], name, op=_alu(op), axis=len(axes) - 1, negate=bool(negate))


def tensor_partition_reduce(dst: Any, op: Any, data: Any, name: Any = None) -> Any:
    """The reduction over partitions."""
    return _emit("TensorReduce", 1, [data], [dst], name, op=_alu(op), axis=5)


def tensor_scalar_reduce(dst: Any, data: Any, op0: Any, operand0: Any, reduce_op: Any, reduce_res: Any = None, reverse0: Any = False, reduce_cmd: Any = reduce_cmd.reset_reduce, reduce_init: Any = None, reduce_res_negate: Any = False, name: Any = None) -> Any:
    """data op0 operand0, and the reduction of the results."""
    return _drained(lambda more: _emit("TensorScalarPtr", 5, [data, _opnd(operand0)] + ([] if reduce_init is None else [_opnd(reduce_init)]), [dst, *more], name, op0=_alu(op0), reverse0=bool(reverse0), op1=_alu(reduce_op), reverse1=False, acc=_ACC[int(reduce_cmd)], negate_second_output=bool(reduce_res_negate)), reduce_res)


def tensor_scalar_cumulative(dst: Any, src: Any, op0: Any, op1: Any, imm0: Any, imm1: Any = None, reduce_cmd: Any = reduce_cmd.reset_reduce, name: Any = None) -> Any:
    """A running combination."""
    ins = [src, _opnd(imm0)] + ([_opnd(imm1)] if int(reduce_cmd) == 4 else [])
    return _emit("TensorScalarCache", 5, ins, [dst], name, op0=_alu(op0), op1=_alu(op1), mode=1, acc=_ACC[int(reduce_cmd)])


def tensor_tensor_scan(dst: Any, data0: Any, data1: Any, initial: Any, op0: Any, op1: Any, reverse0: Any = False, reverse1: Any = False, name: Any = None) -> Any:
    """state = (data0 op0 state) op1 data1."""
    _same("tensor_tensor_scan", dst, data0=data0, data1=data1)
    return _emit("TensorScalarPtr", 5, [data0, _opnd(initial), data1], [dst], name, op0=_alu(op0), reverse0=bool(reverse0), op1=_alu(op1), reverse1=bool(reverse1), is_tensor_tensor_scan=True)


def bn_stats(dst: Any, data: Any, name: Any = None) -> Any:
    """Count, mean and squared deviation."""
    return _emit("BNStats", 5, [data], [dst], name)


def bn_aggr(dst: Any, data: Any, name: Any = None) -> Any:
    """Mean and variance."""
    return _emit("BNStatsAggregate", 5, [data], [dst], name)


def max8(dst: Any, src: Any, name: Any = None) -> Any:
    """The eight largest elements."""
    return _emit("Max", 5, [src], [dst], name)


def nc_find_index8(dst: Any, data: Any, vals: Any, name: Any = None) -> Any:
    """Where eight values stand."""
    return _emit("MaxIndex", 5, [vals, data], [dst], name)


def nc_match_replace8(dst: Any, data: Any, vals: Any, imm: Any, dst_idx: Any = None, name: Any = None) -> Any:
    """Replaces eight values."""
    if dst_idx is None:
        return _emit("MatchReplace", 5, [vals, data], [dst], name, imm_value=float(imm))
    return _emit("MaxIndexAndMatchReplace", 5, [vals, data], [dst, dst_idx], name, imm_value=float(imm))


def nonzero_with_count(dst: Any, src: Any, index_offset: Any = 0, padding_val: Any = -1, name: Any = None) -> Any:
    """Positions of what is not zero, and their number."""
    return _emit("NonzeroWithCount", 1, [src, int(index_offset), int(padding_val)], [dst], name)


def sequence_bounds(dst: Any, segment_ids: Any, name: Any = None) -> Any:
    """Where segments begin and end."""
    return _emit("GetSequenceBounds", 1, [segment_ids], [dst], name)


# ---- tensor engine


def nc_matmul(dst: Any, stationary: Any, moving: Any, is_stationary_onezero: Any = False, is_moving_onezero: Any = False, is_transpose: Any = False, accumulate: Any = None, tile_position: Any = (), tile_size: Any = (), perf_mode: Any = "none", name: Any = None) -> Any:
    """dst (+)= stationary.T @ moving."""
    _check("nc_matmul", dst=dst, stationary=stationary, moving=moving)
    if dst.buffer != "psum":
        raise NkiValidationError(f"nc_matmul: dst lies in {dst.buffer}; the tensor engine writes to psum ({_target()})")
    if stationary.shape[0] != moving.shape[0]:
        raise NkiValidationError(f"nc_matmul: stationary has {stationary.shape[0]} partitions and moving {moving.shape[0]}")
    mode = getattr(perf_mode, "value", perf_mode)
    flag = {None: 4, False: 1, True: 4}[accumulate if accumulate is None else bool(accumulate)]
    fields: dict[str, Any] = {"accumulation_flag": flag, "perf_mode": 1 if mode in ("double_row", "double_row_gen3") else 0}
    if tile_size:
        fields.update(tile_size=list(tile_size), tile_position=list(tile_position))
    if is_transpose:
        return _emit("Matmult", 3, [stationary, moving], [dst], name, is_transpose=True, **fields)
    return _emit("Matmult", 3, [moving, stationary], [dst], name, **fields)


def nc_matmul_mx(dst: Any, stationary: Any, moving: Any, stationary_scale: Any, moving_scale: Any, tile_position: Any = None, tile_size: Any = None, accumulate: Any = None, name: Any = None) -> Any:
    """The product of packed operands with scales."""
    flag = {None: 4, False: 1, True: 4}[accumulate if accumulate is None else bool(accumulate)]
    return _emit("MatmultMx", 3, [moving, stationary, moving_scale, stationary_scale], [dst], name, accumulation_flag=flag)


def quantize_mx(dst: Any, src: Any, dst_scale: Any, name: Any = None) -> Any:
    """Packs a tile with shared scales."""
    return _emit("QuantizeMx", 5, [src], [dst, dst_scale], name)


# ---- random numbers


def rng(dst: Any, engine: Any = None, name: Any = None) -> Any:
    """Random bits."""
    return _emit("Memset", _eng(engine, 5), [], [dst], name, mode=1, constant=0)


def set_rng_seed(src_seeds: Any, name: Any = None) -> Any:
    """Seeds."""
    return _emit("SetRandState", 1, [src_seeds], [], name)


def rand_set_state(src_seeds: Any, engine: Any = None, name: Any = None) -> Any:
    """Sets the state."""
    return _emit("RandSetState", _eng(engine, 1), [src_seeds], [], name)


def rand_get_state(dst: Any, engine: Any = None, name: Any = None) -> Any:
    """Gets the state."""
    return _emit("RandGetState", _eng(engine, 1), [], [dst], name)


def rand2(dst: Any, min: Any = 0.0, max: Any = 1.0, name: Any = None) -> Any:
    """Uniform numbers."""
    return _emit("Rand2", 5, [_opnd(min), _opnd(max)], [dst], name)


# ---- registers


def register_alloc(x: Any = None) -> Any:
    """A register."""
    if isinstance(x, _Tensor):
        made = VirtualRegister(0, False)
        register_load(made, x)
        return made
    return VirtualRegister(int(_num(x or 0)), False)


def _writable(dst: Any) -> None:
    if dst._frozen:
        raise AssertionError("the variable of a loop is a frozen register: it cannot be written")
    dst._forget()


def register_move(dst: Any, src: Any = None, imm: Any = None) -> Any:
    """dst = src."""
    _writable(dst)
    v = imm if src is None else src
    return _emit("RegisterMove", 7, [v if isinstance(v, VirtualRegister) else int(_num(v))], [dst])


def register_load(dst: Any, src: Any) -> Any:
    """dst = the element."""
    _writable(dst)
    return _emit("TensorLoad", 7, [src], [dst])


def register_store(dst: Any, src: Any) -> Any:
    """The element = src."""
    return _emit("TensorSave", 7, [src], [dst])


from . import constants  # noqa: E402
