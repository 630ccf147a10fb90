//! Activations and other functions of one tensor.

use crate::ast::{AccumCmd, ActivationFunc, AluOp, DropoutThresholdType, Dtype, Operand, TensorRef};

record! {
    /// Parameters of `ncActivate`, `activationReduce`.
    NcActivate = 149 {
        dst: TensorRef,
        src: TensorRef,
        accumulator_cmd "accumulatorCmd": AccumCmd,
        activation_func "activationFunc": ActivationFunc,
        scale: Operand,
        bias: Option<TensorRef>,
        reduce_op "reduceOp": Option<AluOp>,
        reduce_res "reduceRes": Option<TensorRef>,
        dtype: Option<Dtype>,
    }
}

record! {
    /// Parameters of `activate2`.
    Activate2 = 217 {
        dst: TensorRef,
        src: TensorRef,
        op0: AluOp,
        op1: AluOp,
        imm0: Operand,
        imm1: Operand,
        activation_func "activationFunc": ActivationFunc,
        relu_param "reluParam": Operand,
        reduce_op "reduceOp": AluOp,
        reduce_res "reduceRes": Option<TensorRef>,
        reduce_cmd "reduceCmd": AccumCmd,
        reverse0: bool,
        reverse1: bool,
        dtype: Option<Dtype>,
    }
}

record! {
    /// Parameters of `exponential`.
    Exponential = 216 {
        dst: TensorRef,
        src: TensorRef,
        max_value "maxValue": Operand,
        reduce_res "reduceRes": Option<TensorRef>,
        reducecmd: AccumCmd,
        reduce_init "reduceInit": Operand,
    }
}

record! {
    /// Parameters of `reciprocal`.
    Reciprocal = 176 {
        dst: TensorRef,
        src: TensorRef,
        dtype: Option<Dtype>,
    }
}

record! {
    /// Parameters of `dropout`.
    Dropout = 147 {
        dst: TensorRef,
        src: TensorRef,
        threshold_type "thresholdType": DropoutThresholdType,
        threshold: Operand,
        dtype: Option<Dtype>,
    }
}
