//! Element-wise and reducing instructions.

use crate::rows;
use crate::{AxisList, EngineAccumulation, PoolFunction, TscMode};
use birsim_kernels::Named;
use birsim_kernels::alu::AluOp;

rows! {
    Pool = 20, Kernel, [Pool, Dve], ["in"] => ["out"], Exact, "alu 6.5; ruling D25", is [ByPartition] {
        func: Ty::Enum(PoolFunction::DEF) => Def::Required;
    }
    Reciprocal = 21, Kernel, [Dve], ["in"] => ["out"], Exact, "activation 5", is [Elementwise] {}
    TensorReduce = 27, Kernel, [Dve, Pool], ["in"] => ["out"], Exact, "alu 6.4; ruling D4", is [ByPartition] {
        op: Ty::Enum(AluOp::DEF) => Def::Required;
        axis: Ty::Enum(AxisList::DEF) => Def::Required;
        apply_transpose: Ty::Bool => Def::Bool(false);
        negate: Ty::Bool => Def::Bool(false);
    }
    TensorScalar = 28, Kernel, [Dve, Pool], ["in"] => ["out"], Exact, "alu 6.1; ruling D2", is [Elementwise] {
        op0: Ty::Enum(AluOp::DEF) => Def::Required;
        const0: Ty::Float => Def::Required;
        reverse0: Ty::Bool => Def::Required;
        op1: Ty::Enum(AluOp::DEF) => Def::Required;
        const1: Ty::Float => Def::Required;
        reverse1: Ty::Bool => Def::Required;
    }
    TensorScalarPtr = 29, Kernel, [Dve, Pool], ["in0", "scalar0:air", "scalar1:air?"] => ["out", "reduced?"], Exact,
        "alu 6.1, 6.6, 6.7",
        partial "the index maths of apply_transpose in this instruction is not published", is [Elementwise],
        rules [
            InPlace(&[Zero("apply_transpose")]),
            Used("reduced", &[Set("acc")]),
            // A reduction folds with op1, so a second scalar can only be its start value.
            Unused("scalar1", &[
                Set("acc"),
                Not("acc", 5),
                Zero("is_scalar_tensor_tensor"),
                Zero("is_tensor_tensor_scan"),
                Outs(2),
            ]),
        ] {
        op0: Ty::Enum(AluOp::DEF) => Def::Required;
        reverse0: Ty::Bool => Def::Required;
        op1: Ty::Enum(AluOp::DEF) => Def::Required;
        reverse1: Ty::Bool => Def::Required;
        apply_transpose: Ty::Bool => Def::Bool(false);
        is_tensor_scalar_addr: Ty::Bool => Def::Bool(false);
        is_scalar_tensor_tensor: Ty::Bool => Def::Bool(false);
        is_tensor_tensor_scan: Ty::Bool => Def::Bool(false);
        negate_second_output: Ty::Bool => Def::Bool(false);
        acc: Ty::Enum(EngineAccumulation::DEF) => Def::Enum(0);
    }
    TensorScalarCache = 30, Kernel, [Dve, Pool], ["in", "scalar:air?", "initial:air?"] => ["out"], Exact,
        "alu 6.8; ruling D6", is [ByPartition], rules [Used("initial", &[Is("acc", 5)])] {
        op0: Ty::Enum(AluOp::DEF) => Def::Required;
        reverse0: Ty::Bool => Def::Bool(false);
        op1: Ty::Enum(AluOp::DEF) => Def::Required;
        reverse1: Ty::Bool => Def::Bool(false);
        mode: Ty::Enum(TscMode::DEF) => Def::Enum(0);
        acc: Ty::Enum(EngineAccumulation::DEF) => Def::Enum(0);
    }
    TensorTensor = 31, Kernel, [Dve, Pool], ["in0", "in1"] => ["out", "reduced?"], Exact, "alu 6.2; ruling D4",
        is [Elementwise], rules [Used("reduced", &[Set("acc")])] {
        op: Ty::Enum(AluOp::DEF) => Def::Required;
        acc: Ty::Enum(EngineAccumulation::DEF) => Def::Enum(0);
    }
    TongaReduceMacroSymbolic = 109, Kernel, [Pool, Activation, Dve], ["in", "more*"] => ["out+"], Approximate,
        "opcodes 13", rules [Adds(&[Zero("is_first_reduce")])] {
        op: Ty::Enum(AluOp::DEF) => Def::Required;
        is_first_reduce: Ty::Bool => Def::Bool(false);
        reduce_axes: Ty::Axes => Def::Absent;
    }
}
