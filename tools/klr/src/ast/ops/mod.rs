//! Parameter structures of the operators (`klr.md` 3.2), one file per family.

mod activation;
mod batch_norm;
mod control;
mod copy;
mod cores;
mod dma;
mod elementwise;
mod internal;
mod matmul;
mod other;
mod random;
mod search;

pub use activation::{Activate2, Dropout, Exponential, NcActivate, Reciprocal};
pub use batch_norm::{BatchNormAggregate, BatchNormStats};
pub use control::{CmpBranch, CurrentProcessingRankId, RankId, RegisterAluOp, RegisterMove, TensorLoad, TensorStore};
pub use copy::{CopyPredicated, Iota, MemSet, NcAffineSelect, NcCopy, NcRangeSelect, SelectReduce, Shuffle, Transpose};
pub use cores::{CollectiveOp, CoreBarrier, Recv, Send, SendRecv, SendRecvCompute};
pub use dma::{DmaCompute, DmaTranspose, NcDmaCopy};
pub use elementwise::{
    NcScalarTensorTensor, TensorPartitionReduce, TensorReduce, TensorScalar, TensorScalarCumulative,
    TensorScalarReduce, TensorTensor, TensorTensorScan,
};
pub use internal::{
    Activate, AffineSelect, Copy, DmaCopy, LoadMaskRegister, LoadStationary, LocalGather, MatMul, MatchValueLoad,
    RangeSelect, ScalarTensorTensor,
};
pub use matmul::{MatMulMX, NcMatMul, QuantizeMX};
pub use other::{DevicePrint, ExtendedInst};
pub use random::{Rand2, RandGetState, RandSetState, Rng, SetRngSeed};
pub use search::{FindIndex8, MatchReplace8, Max8, NcLocalGather, NcNGather, NonzeroWithCount, SequenceBounds};
