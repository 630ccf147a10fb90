//! Batch-norm statistics.

use crate::ast::{Dtype, TensorRef};

record! {
    /// Parameters of `batchNormAggregate`.
    BatchNormAggregate = 174 {
        dst: TensorRef,
        src: TensorRef,
        dtype: Option<Dtype>,
    }
}

record! {
    /// Parameters of `batchNormStats`.
    BatchNormStats = 175 {
        dst: TensorRef,
        src: TensorRef,
        dtype: Option<Dtype>,
    }
}
