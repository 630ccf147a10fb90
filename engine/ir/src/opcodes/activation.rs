//! Activation engine and accumulator drains.

use crate::rows;
use crate::{ActivationFunction, EngineAccumulation};
use birsim_kernels::Named;
use birsim_kernels::alu::AluOp;

// KLR writes no op0, op1 and reduce_op; the catalogue has them always.
rows! {
    Activation = 4, Kernel, [Activation], ["in", "bias:air?", "scale:air?", "alpha:air?", "initial:air?"]
        => ["out", "accumulated?"],
        Exact, "activation 1, 3", is [Elementwise, WrittenWhole],
        rules [Used("initial", &[Is("acc", 5)]), Used("accumulated", &[Set("acc")])] {
        func: Ty::Enum(ActivationFunction::DEF) => Def::Required;
        scale: Ty::Float => Def::Required;
        alpha: Ty::Float => Def::Required;
        acc: Ty::Enum(EngineAccumulation::DEF) => Def::Required;
        op0: Ty::Enum(AluOp::DEF) => Def::Enum(0);
        op1: Ty::Enum(AluOp::DEF) => Def::Enum(0);
        reduce_op: Ty::Enum(AluOp::DEF) => Def::Enum(0);
        reverse0: Ty::Bool => Def::Bool(false);
        reverse1: Ty::Bool => Def::Bool(false);
        is_activate2: Ty::Bool => Def::Bool(false);
        can_read_uninit: Ty::Bool => Def::Bool(false);
    }
    ReadActivationAccumulator = 5, Kernel, [Activation], [] => ["out"], Exact, "activation 1.4; matmul-mx 3.4" {}
    LoadActFuncSet = 6, Kernel, [Activation], [] => [], Exact, "activation 5" {
        act_func_set_id: Ty::I64 => Def::Required;
    }
    ActivationReadAccumulator = 101, Kernel, [Activation], [] => ["out"], Exact, "activation 1.4",
        is [ByPartition] {}
    DveReadAccumulator = 102, Kernel, [Dve], [] => ["out"], Approximate, "activation 1.4; opcodes 13" {
        negated: Ty::Bool => Def::Bool(false);
    }
    Exponential = 103, Kernel, [Dve], ["in", "row_max:air?", "initial:air?"] => ["out", "accumulated?"], Exact,
        "activation 5", is [SinceCoreV4, Elementwise],
        rules [Used("accumulated", &[Set("reduce_cmd")])] {
        reduce_cmd: Ty::Enum(EngineAccumulation::DEF) => Def::Required;
    }
}
