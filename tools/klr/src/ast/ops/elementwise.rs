//! Element-wise arithmetic, scans and reductions.

use crate::ast::{AccumCmd, AluOp, Dtype, Engine, Immediate, Operand, TensorRef, TensorScalarReverseOps, TensorSubDim};

record! {
    /// Parameters of `tensorScalar`.
    TensorScalar = 180 {
        dst: TensorRef,
        src: TensorRef,
        imm0: Operand,
        op0: AluOp,
        imm1: Option<Operand>,
        op1: Option<AluOp>,
        reverse: TensorScalarReverseOps,
        engine: Engine,
        dtype: Option<Dtype>,
    }
}

record! {
    /// Parameters of `tensorTensor`.
    TensorTensor = 182 {
        dst: TensorRef,
        src0: TensorRef,
        src1: TensorRef,
        op: AluOp,
        dtype: Option<Dtype>,
        engine: Engine,
    }
}

record! {
    /// Parameters of `ncScalarTensorTensor`.
    NcScalarTensorTensor = 167 {
        dst: TensorRef,
        data: TensorRef,
        src0: Operand,
        src1: Operand,
        op0: AluOp,
        op1: AluOp,
        reverse_operands "reverseOperands": TensorScalarReverseOps,
        dtype: Option<Dtype>,
    }
}

record! {
    /// Parameters of `tensorTensorScan`.
    TensorTensorScan = 169 {
        dst: TensorRef,
        src0: TensorRef,
        src1: TensorRef,
        op0: AluOp,
        op1: AluOp,
        reverse_operands "reverseOperands": TensorScalarReverseOps,
        imm0: Operand,
        accumulator_cmd "accumulatorCmd": AccumCmd,
        dtype: Option<Dtype>,
    }
}

record! {
    /// Parameters of `tensorScalarReduce`.
    TensorScalarReduce = 181 {
        dst: TensorRef,
        src: TensorRef,
        operand0: Operand,
        op0: AluOp,
        reverse0: bool,
        dtype: Option<Dtype>,
        reduce_op "reduceOp": Option<AluOp>,
        reduce_res "reduceRes": TensorRef,
        reduce_cmd "reduceCmd": AccumCmd = AccumCmd::ZeroAccumulate,
        reduce_init "reduceInit": Option<Immediate> = None,
    }
}

record! {
    /// Parameters of `tensorScalarCumulative`.
    TensorScalarCumulative = 211 {
        dst: TensorRef,
        src: TensorRef,
        op0: AluOp,
        op1: AluOp,
        imm0: Operand,
        imm1: Option<Operand>,
        reduce_cmd "reduceCmd": AccumCmd,
        reverse: TensorScalarReverseOps,
        dtype: Option<Dtype>,
    }
}

record! {
    /// Parameters of `tensorReduce`.
    TensorReduce = 179 {
        dst: TensorRef,
        src: TensorRef,
        op: AluOp,
        op_dim "opDim": TensorSubDim,
        negated: bool,
        dtype: Option<Dtype>,
        keepdims: bool,
    }
}

record! {
    /// Parameters of `tensorPartitionReduce`.
    TensorPartitionReduce = 184 {
        dst: TensorRef,
        op: AluOp,
        data: TensorRef,
        dtype: Option<Dtype>,
    }
}
