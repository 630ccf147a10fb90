"""Made from the table of functions; do not edit. `python -m birsim._signatures` writes it again."""

from typing import Any, Callable, Sequence

from ..._native import NkiInstruction, NkiTensor, VirtualRegister
from .enums import dge_mode, dma_engine, engine, matmul_perf_mode, oob_mode, reduce_cmd


def dma_copy(dst: NkiTensor, src: NkiTensor, priority: Any | None = None, oob_mode: oob_mode | int | str = oob_mode.error, dge_mode: dge_mode | int | str = dge_mode.unknown, engine: engine | int | str = engine.unknown, name: str | None = None, dst_rmw_op: Callable[..., Any] | str | None = None, unique_indices: bool = True) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def dma_transpose(dst: NkiTensor, src: NkiTensor, axes: Sequence[int] | None = None, priority: Any | None = None, dge_mode: dge_mode | int | str = dge_mode.unknown, oob_mode: oob_mode | int | str = oob_mode.error, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def dma_compute(dst: NkiTensor, srcs: Sequence[NkiTensor] | NkiTensor, reduce_op: Callable[..., Any] | str | None = None, scales: Any | None = None, unique_indices: bool = True, oob_mode: oob_mode | int | str = oob_mode.error, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def tensor_copy(dst: NkiTensor, src: NkiTensor, engine: engine | int | str = engine.unknown, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def nc_stream_shuffle(dst: NkiTensor, src: NkiTensor, shuffle_mask: Sequence[int], name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def tensor_tensor(dst: NkiTensor, data1: NkiTensor, data2: NkiTensor, op: Callable[..., Any] | str, engine: engine | int | str = engine.unknown, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def tensor_scalar(dst: NkiTensor, data: NkiTensor, op0: Callable[..., Any] | str, operand0: NkiTensor | VirtualRegister | float | None = None, reverse0: bool = False, op1: Callable[..., Any] | str | None = None, operand1: NkiTensor | VirtualRegister | float | None = None, reverse1: bool = False, engine: engine | int | str = engine.unknown, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def scalar_tensor_tensor(dst: NkiTensor, data: NkiTensor, op0: Callable[..., Any] | str, operand0: NkiTensor | VirtualRegister | float, op1: Callable[..., Any] | str, operand1: NkiTensor, reverse0: bool = False, reverse1: bool = False, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def tensor_tensor_scan(dst: NkiTensor, data0: NkiTensor, data1: NkiTensor, initial: NkiTensor | VirtualRegister | float, op0: Callable[..., Any] | str, op1: Callable[..., Any] | str, reverse0: bool = False, reverse1: bool = False, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def reciprocal(dst: NkiTensor, data: NkiTensor, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def activation(dst: NkiTensor, op: Callable[..., Any] | str, data: NkiTensor, bias: NkiTensor | VirtualRegister | float | None = None, scale: NkiTensor | VirtualRegister | float = 1.0, reduce_op: Callable[..., Any] | str | None = None, reduce_res: NkiTensor | None = None, reduce_cmd: reduce_cmd | int | str = reduce_cmd.idle, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def activation_reduce(dst: NkiTensor, op: Callable[..., Any] | str, data: NkiTensor, reduce_op: Callable[..., Any] | str, reduce_res: NkiTensor, bias: NkiTensor | VirtualRegister | float | None = None, scale: NkiTensor | VirtualRegister | float = 1.0, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def activate2(dst: NkiTensor, op: Callable[..., Any] | str, data: NkiTensor, imm0: NkiTensor | VirtualRegister | float, imm1: NkiTensor | VirtualRegister | float, op0: Callable[..., Any] | str, op1: Callable[..., Any] | str, relu_param: NkiTensor | VirtualRegister | float = 0.0, reverse0: bool = False, reverse1: bool = False, reduce_op: Callable[..., Any] | str | None = None, reduce_res: NkiTensor | None = None, reduce_cmd: reduce_cmd | int | str = reduce_cmd.idle, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def exponential(dst: NkiTensor, src: NkiTensor, max_value: NkiTensor | VirtualRegister | float = 0.0, reduce_res: NkiTensor | None = None, reduce_cmd: reduce_cmd | int | str = reduce_cmd.idle, reduce_init: NkiTensor | VirtualRegister | float = 0.0, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def memset(dst: NkiTensor, value: float = 0, engine: engine | int | str = engine.unknown, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def iota(dst: NkiTensor, pattern: Sequence[Sequence[int]], offset: VirtualRegister | int = 0, channel_multiplier: VirtualRegister | int = 0, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def affine_select(dst: NkiTensor, pattern: Sequence[Sequence[int]], channel_multiplier: VirtualRegister | int, on_true_tile: NkiTensor, on_false_value: float, cmp_op: Callable[..., Any] | str = 'equal', offset: VirtualRegister | int = 0, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def range_select(dst: NkiTensor, on_true_tile: NkiTensor, comp_op0: Callable[..., Any] | str, comp_op1: Callable[..., Any] | str, bound0: NkiTensor | VirtualRegister | float, bound1: NkiTensor | VirtualRegister | float, reduce_cmd: reduce_cmd | int | str = reduce_cmd.reset_reduce, reduce_res: NkiTensor | None = None, reduce_op: Callable[..., Any] | str = 'maximum', range_start: VirtualRegister | int = 0, on_false_value: float = -3.4028235e38, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def tensor_copy_predicated(dst: NkiTensor, src: NkiTensor | VirtualRegister | float, predicate: NkiTensor, reverse_pred: bool = False, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def select_reduce(dst: NkiTensor, predicate: NkiTensor, on_true: NkiTensor, on_false: NkiTensor | VirtualRegister | float, reduce_res: NkiTensor | None = None, reduce_cmd: reduce_cmd | int | str = reduce_cmd.idle, reduce_op: Callable[..., Any] | str = 'maximum', reverse_pred: bool = False, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def sequence_bounds(dst: NkiTensor, segment_ids: NkiTensor, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def tensor_reduce(dst: NkiTensor, op: Callable[..., Any] | str, data: NkiTensor, axis: Sequence[int], negate: bool = False, keepdims: bool = False, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def tensor_partition_reduce(dst: NkiTensor, op: Callable[..., Any] | str, data: NkiTensor, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def tensor_scalar_reduce(dst: NkiTensor, data: NkiTensor, op0: Callable[..., Any] | str, operand0: NkiTensor | VirtualRegister | float, reduce_op: Callable[..., Any] | str, reduce_res: NkiTensor | None = None, reverse0: bool = False, reduce_cmd: reduce_cmd | int | str = reduce_cmd.reset_reduce, reduce_init: NkiTensor | VirtualRegister | float | None = None, reduce_res_negate: bool = False, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def tensor_scalar_cumulative(dst: NkiTensor, src: NkiTensor, op0: Callable[..., Any] | str, op1: Callable[..., Any] | str, imm0: NkiTensor | VirtualRegister | float, imm1: NkiTensor | VirtualRegister | float | None = None, reduce_cmd: reduce_cmd | int | str = reduce_cmd.reset_reduce, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def bn_stats(dst: NkiTensor, data: NkiTensor, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def bn_aggr(dst: NkiTensor, data: NkiTensor, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def max8(dst: NkiTensor, src: NkiTensor, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def nc_find_index8(dst: NkiTensor, data: NkiTensor, vals: NkiTensor, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def nc_match_replace8(dst: NkiTensor, data: NkiTensor, vals: NkiTensor, imm: float, dst_idx: NkiTensor | None = None, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def nonzero_with_count(dst: NkiTensor, src: NkiTensor, index_offset: VirtualRegister | int = 0, padding_val: VirtualRegister | int = -1, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def nc_n_gather(dst: NkiTensor, data: NkiTensor, indices: NkiTensor, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def local_gather(dst: NkiTensor, src_buffer: NkiTensor, index: NkiTensor, num_elem_per_idx: VirtualRegister | int = 1, num_valid_indices: VirtualRegister | int | None = None, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def nc_matmul(dst: NkiTensor, stationary: NkiTensor, moving: NkiTensor, is_stationary_onezero: bool = False, is_moving_onezero: bool = False, is_transpose: bool = False, accumulate: bool | None = None, tile_position: Sequence[int] = (), tile_size: Sequence[int] = (), perf_mode: matmul_perf_mode | int | str = matmul_perf_mode.none, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def nc_transpose(dst: NkiTensor, data: NkiTensor, engine: engine | int | str = engine.unknown, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def nc_matmul_mx(dst: NkiTensor, stationary: NkiTensor, moving: NkiTensor, stationary_scale: NkiTensor, moving_scale: NkiTensor, tile_position: Sequence[int] | None = None, tile_size: Sequence[int] | None = None, accumulate: bool | None = None, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def quantize_mx(dst: NkiTensor, src: NkiTensor, dst_scale: NkiTensor, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def rng(dst: NkiTensor, engine: engine | int | str = engine.unknown, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def set_rng_seed(src_seeds: NkiTensor, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def rand_set_state(src_seeds: NkiTensor, engine: engine | int | str = engine.gpsimd, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def rand_get_state(dst: NkiTensor, engine: engine | int | str = engine.gpsimd, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def rand2(dst: NkiTensor, min: NkiTensor | VirtualRegister | float = 0.0, max: NkiTensor | VirtualRegister | float = 1.0, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def dropout(dst: NkiTensor, data: NkiTensor, prob: NkiTensor | VirtualRegister | float, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def sendrecv(src: NkiTensor, dst: NkiTensor, send_to_rank: VirtualRegister | int, recv_from_rank: VirtualRegister | int, pipe_id: VirtualRegister | int, dma_engine: dma_engine | int | str = dma_engine.dma, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def core_barrier(data: NkiTensor, cores: Sequence[int], engine: engine | int | str = engine.gpsimd, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""
