//! The operators, one file per family (`klr.md` 5).

mod activation;
mod batch_norm;
mod collective;
pub mod copy;
pub mod dma;
pub mod elementwise;
pub mod fill;
mod matmul;
mod other;
mod random;
mod reduce;
mod registers;
mod search;
mod select;

use super::abstracts;
use super::context::Core;
use crate::ast::Operator;
use birsim_ir::Instruction;
use birsim_kernels::Result;

/// Lowers one operator to its main instruction; helpers go to `cx.before` and `cx.after`.
pub fn lower(cx: &mut Core<'_>, op: &Operator) -> Result<Instruction> {
    use Operator as Op;
    match op {
        Op::NcActivate(p) | Op::ActivationReduce(p) => activation::nc_activate(cx, p),
        Op::Activate2(p) => activation::activate2(cx, p),
        Op::Exponential(p) => activation::exponential(cx, p),
        Op::Reciprocal(p) => activation::reciprocal(cx, p),
        Op::BatchNormStats(p) => batch_norm::stats(cx, p),
        Op::BatchNormAggregate(p) => batch_norm::aggregate(cx, p),
        Op::NcCopy(p) => copy::nc_copy(cx, p),
        Op::Shuffle(p) => copy::shuffle(cx, p),
        Op::Transpose(p) => matmul::transpose(cx, p),
        Op::NcDmaCopy(p) => dma::nc_dma_copy(cx, p),
        Op::DmaTranspose(p) => dma::dma_transpose(cx, p),
        Op::DmaCompute(p) => dma::dma_compute(cx, p),
        Op::MemSet(p) => fill::mem_set(cx, p),
        Op::Iota(p) => fill::iota(cx, p),
        Op::NcAffineSelect(p) => select::affine_select(cx, p),
        Op::NcRangeSelect(p) => select::range_select(cx, p),
        Op::CopyPredicated(p) => select::copy_predicated(cx, p),
        Op::SelectReduce(p) => select::select_reduce(cx, p),
        Op::NcMatMul(p) => matmul::nc_mat_mul(cx, p),
        Op::NcMatMulMX(p) => matmul::nc_mat_mul_mx(cx, p),
        Op::QuantizeMX(p) => matmul::quantize_mx(cx, p),
        Op::TensorScalar(p) => elementwise::tensor_scalar(cx, p),
        Op::TensorTensor(p) => elementwise::tensor_tensor(cx, p),
        Op::NcScalarTensorTensor(p) => elementwise::scalar_tensor_tensor(cx, p),
        Op::TensorTensorScan(p) => elementwise::tensor_tensor_scan(cx, p),
        Op::TensorScalarReduce(p) => elementwise::tensor_scalar_reduce(cx, p),
        Op::TensorScalarCumulative(p) => elementwise::tensor_scalar_cumulative(cx, p),
        Op::TensorReduce(p) => reduce::tensor_reduce(cx, p),
        Op::TensorPartitionReduce(p) => reduce::tensor_partition_reduce(cx, p),
        Op::Max8(p) => search::max8(cx, p),
        Op::FindIndex8(p) => search::find_index8(cx, p),
        Op::MatchReplace8(p) => search::match_replace8(cx, p),
        Op::NcLocalGather(p) => search::local_gather(cx, p),
        Op::NcNGather(p) => search::n_gather(cx, p),
        Op::NonzeroWithCount(p) => search::nonzero_with_count(cx, p),
        Op::SequenceBounds(p) => search::sequence_bounds(cx, p),
        Op::Dropout(p) => random::dropout(cx, p),
        Op::Rng(p) => random::rng(cx, p),
        Op::Rand2(p) => random::rand2(cx, p),
        Op::RandGetState(p) => random::rand_get_state(cx, p),
        Op::RandSetState(p) => random::rand_set_state(cx, p),
        Op::SetRngSeed(p) => random::set_rng_seed(cx, p),
        Op::TensorLoad(p) => registers::tensor_load(cx, p),
        Op::TensorStore(p) => registers::tensor_store(cx, p),
        Op::RegisterMove(p) => registers::register_move(cx, p),
        Op::RegisterAluOp(p) => registers::register_alu(cx, p),
        Op::CmpBranch(p) => registers::cmp_branch(cx, p),
        Op::RankId(p) => registers::rank_id(cx, p),
        Op::CurrentProcessingRankId(p) => registers::current_processing_rank_id(cx, p),
        Op::AllReduce(p) => collective::all_reduce(cx, p),
        Op::AllGather(p) => collective::all_gather(cx, p),
        Op::ReduceScatter(p) => collective::reduce_scatter(cx, p),
        Op::AllToAll(p) => collective::all_to_all(cx, p),
        Op::CollectivePermute(p) => collective::permute(cx, p),
        Op::CollectivePermuteImplicit(p) => collective::permute_implicit(cx, p),
        Op::CollectivePermuteImplicitReduce(p) => collective::permute_implicit_reduce(cx, p),
        Op::SendRecv(p) => collective::send_recv(cx, p),
        Op::CoreBarrier(p) => collective::core_barrier(cx, p),
        Op::DevicePrint(p) => other::device_print(cx, p),
        Op::Activate(_)
        | Op::AffineSelect(_)
        | Op::Copy(_)
        | Op::DmaCopy(_)
        | Op::LoadMaskRegister(_)
        | Op::LoadStationary(_)
        | Op::LocalGather(_)
        | Op::MatMul(_)
        | Op::MatchValueLoad(_)
        | Op::RangeSelect(_)
        | Op::ScalarTensorTensor(_)
        | Op::SendRecvCompute(_)
        | Op::Broadcast(_)
        | Op::Send(_)
        | Op::Recv(_)
        | Op::ExtendedInst(_) => abstracts::lower(cx, op),
    }
}
