//! Control flow.

use crate::rows;
use crate::{BranchCompare, BranchHintKind};
use birsim_kernels::Named;

rows! {
    Terminator = 77, Abstract, [], [] => [], Unsupported, "opcodes 1" {}
    CompareAndBranch = 78, Kernel, [All], ["a:ir", "b:ir"] => [], Exact, "opcodes 11; ruling D44" {
        comp_op: Ty::Enum(BranchCompare::DEF) => Def::Required;
        on_true: Ty::Str => Def::Absent;
        on_false: Ty::Str => Def::Absent;
    }
    UnconditionalBranch = 79, Kernel, [All], [] => [], Exact, "opcodes 11" {
        target: Ty::Str => Def::Absent;
    }
    BranchHint = 80, Kernel, [All], ["any:air*"] => ["any:ar*"], Exact, "opcodes 11" {
        hint: Ty::Enum(BranchHintKind::DEF) => Def::Absent;
        associate_branch: Ty::Str => Def::Absent;
    }
    Return = 81, Kernel, [All], ["any:air*"] => ["any:ar*"], Exact, "opcodes 11; ruling D41" {}
    Exit = 82, Kernel, [All], ["any:air*"] => ["any:ar*"], Exact, "opcodes 11; ruling D20" {}
    Break = 83, Kernel, [All], ["any:air*"] => ["any:ar*"], Exact, "opcodes 11; ruling D19" {}
    Call = 84, Kernel, [All], ["any:air*"] => ["any:ar*"], Exact, "bir-json 10; ruling D45" {
        target: Ty::Str => Def::Absent;
        arguments: Ty::Map => Def::Absent;
        table_id: Ty::I64 => Def::Absent;
    }
    Loop = 105, ControlFlow, [All], [] => [], Exact, "bir-json 9; rulings D35, D42, D43",
        partial "the slot-driven pass over a Loop's blocks in in-control-flow mode is not modelled (ruling D42)" {
        LoopAxis: Ty::Axis => Def::Absent;
        isBasicBlock: Ty::Bool => Def::Bool(false);
        isParallel: Ty::Bool => Def::Bool(false);
        unroll: Ty::Json => Def::Absent;
        registers: Ty::Json => Def::Absent;
    }
    DynamicForLoop = 106, ControlFlow, [All], [] => [], Exact, "bir-json 9; ruling D35" {
        DynamicForLoopAxis: Ty::Axis => Def::Required;
        isBasicBlock: Ty::Bool => Def::Bool(false);
        isParallel: Ty::Bool => Def::Bool(false);
        unroll: Ty::Json => Def::Absent;
        registers: Ty::Json => Def::Absent;
    }
    DoWhile = 108, ControlFlow, [All], [] => [], Exact, "bir-json 9" {
        cond: Ty::Expr => Def::Required;
    }
}
