//! Copies, fills, generators and selects.

use crate::ast::{AccumCmd, AluOp, DataPattern, Dtype, Engine, Immediate, Operand, TensorRef};

record! {
    /// Parameters of `ncCopy`.
    NcCopy = 178 {
        dst: TensorRef,
        src: TensorRef,
        dtype: Option<Dtype>,
        engine: Engine,
    }
}

record! {
    /// Parameters of `copyPredicated`.
    CopyPredicated = 168 {
        dst: TensorRef,
        src: TensorRef,
        predicate: TensorRef,
        dtype: Option<Dtype>,
        reverse_pred "reversePred": bool,
    }
}

record! {
    /// Parameters of `memSet`.
    MemSet = 158 {
        dst: TensorRef,
        value: Immediate,
        dtype: Dtype,
        engine: Engine,
    }
}

record! {
    /// Parameters of `iota`.
    Iota = 159 {
        dst: TensorRef,
        pattern: DataPattern,
        dtype: Option<Dtype>,
    }
}

record! {
    /// Parameters of `ncAffineSelect`.
    NcAffineSelect = 151 {
        dst: TensorRef,
        pred: DataPattern,
        on_true_tile "onTrueTile": TensorRef,
        on_false_value "onFalseValue": Immediate,
        dtype: Option<Dtype>,
        cmp_op "cmpOp": AluOp,
    }
}

record! {
    /// Parameters of `selectReduce`.
    SelectReduce = 185 {
        dst: TensorRef,
        predicate: TensorRef,
        on_true "onTrue": TensorRef,
        on_false "onFalse": Operand,
        reduce_res "reduceRes": Option<TensorRef>,
        reduce_cmd "reduceCmd": AccumCmd,
        reduce_op "reduceOp": AluOp,
        reverse_pred "reversePred": bool,
        dtype: Option<Dtype>,
    }
}

record! {
    /// Parameters of `ncRangeSelect`.
    NcRangeSelect = 165 {
        dst: TensorRef,
        reduce_command "reduceCommand": AccumCmd,
        reduce_res "reduceRes": Option<TensorRef>,
        reduce_op "reduceOp": Option<AluOp>,
        comp_op0 "compOp0": AluOp,
        comp_op1 "compOp1": AluOp,
        bound0: TensorRef,
        bound1: TensorRef,
        range_start "rangeStart": Immediate,
        on_true_tile "onTrueTile": TensorRef,
        on_false_value "onFalseValue": Immediate,
        dtype: Option<Dtype>,
    }
}

record! {
    /// Parameters of `shuffle`.
    Shuffle = 157 {
        dst: TensorRef,
        src: TensorRef,
        shuffle_mask "shuffleMask": Vec<Immediate>,
        dtype: Option<Dtype>,
    }
}

record! {
    /// Parameters of `transpose`.
    Transpose = 155 {
        dst: TensorRef,
        src: TensorRef,
        dtype: Option<Dtype>,
        engine: Engine,
    }
}
