//! Operators of the KLR tool chain itself; files made from kernels do not hold them, and none is lowered.

use crate::ast::{
    AccumCmd, ActivationFunc, AffineSelectCmp, AluOp, DataPattern, DgeComputeOp, DmaBounds, Immediate,
    IndexMissBehavior, TensorRef, TensorScalarReverseOps, TensorSubDim,
};

record! {
    /// Parameters of `activate`.
    Activate = 148 {
        dst: TensorRef,
        src: TensorRef,
        accumulator_cmd "accumulatorCmd": AccumCmd,
        activation_func "activationFunc": ActivationFunc,
        scale: Immediate,
        bias: Immediate,
        imm: Immediate,
    }
}

record! {
    /// Parameters of `affineSelect`.
    AffineSelect = 150 {
        dst: TensorRef,
        src: TensorRef,
        fill_mode "fillMode": AffineSelectCmp,
        fill_reg "fillReg": u64,
        mask_pattern "maskPattern": DataPattern,
    }
}

record! {
    /// Parameters of `copy`.
    Copy = 177 {
        dst: TensorRef,
        src: TensorRef,
        op_dim "opDim": Option<TensorSubDim>,
    }
}

record! {
    /// Parameters of `dmaCopy`.
    DmaCopy = 152 {
        dst: TensorRef,
        src: TensorRef,
        compute_op: DgeComputeOp,
        dst_bounds_check "dstBoundsCheck": DmaBounds,
        src_bounds_check "srcBoundsCheck": DmaBounds,
    }
}

record! {
    /// Parameters of `loadMaskRegister`.
    LoadMaskRegister = 156 {
        reg_num "regNum": u64,
    }
}

record! {
    /// Parameters of `loadStationary`.
    LoadStationary = 160 {
        src: TensorRef,
        is_transpose "isTranspose": bool,
    }
}

record! {
    /// Parameters of `localGather`.
    LocalGather = 162 {
        dst: TensorRef,
        src: TensorRef,
        index_miss_behavior "indexMissBehavior": IndexMissBehavior,
        free_pool_buffer "freePoolBuffer": bool,
    }
}

record! {
    /// Parameters of `matMul`.
    MatMul = 161 {
        dst: TensorRef,
        moving: TensorRef,
    }
}

record! {
    /// Parameters of `matchValueLoad`.
    MatchValueLoad = 170 {
        src: TensorRef,
    }
}

record! {
    /// Parameters of `rangeSelect`.
    RangeSelect = 164 {
        dst: TensorRef,
        src: TensorRef,
        reduce_command "reduceCommand": AccumCmd,
        reduce_op "reduceOp": AluOp,
        base: f32,
        fill_value "fillValue": f32,
        comp_op0 "compOp0": AluOp,
        comp_op1 "compOp1": AluOp,
        bound0: Immediate,
        bound1: Immediate,
    }
}

record! {
    /// Parameters of `scalarTensorTensor`.
    ScalarTensorTensor = 166 {
        dst: TensorRef,
        src0: TensorRef,
        src1: TensorRef,
        op0: AluOp,
        op1: AluOp,
        reverse_operands "reverseOperands": TensorScalarReverseOps,
        imm0: Immediate,
        accumulator_cmd "accumulatorCmd": AccumCmd,
    }
}
