//! DMA operators.

use crate::ast::{AluOp, DgeComputeOp, DmaBounds, Dtype, Engine, Immediate, TensorRef, TransposeOps};

record! {
    /// Parameters of `ncDmaCopy`.
    NcDmaCopy = 153 {
        dst: TensorRef,
        src: TensorRef,
        compute_op: DgeComputeOp,
        oob_mode "oobMode": DmaBounds,
        dge_mode "dgeMode": u64,
        unique_indices "uniqueIndices": bool,
        priority: Option<u64> = None,
        engine: Engine,
    }
}

record! {
    /// Parameters of `dmaTranspose`.
    DmaTranspose = 154 {
        dst: TensorRef,
        src: TensorRef,
        axes: TransposeOps,
        dtype: Option<Dtype>,
        dge_mode "dgeMode": u64,
        oob_mode "oobMode": DmaBounds,
        priority: Option<u64> = None,
    }
}

record! {
    /// Parameters of `dmaCompute`.
    DmaCompute = 197 {
        dst: TensorRef,
        srcs: Vec<TensorRef>,
        scales: Vec<Immediate>,
        reduce_op "reduceOp": AluOp,
    }
}
