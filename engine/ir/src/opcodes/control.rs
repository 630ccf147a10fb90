//! Control flow.

use crate::rows;
use crate::{BranchCompare, BranchHintKind};
use birsim_kernels::Named;

rows! {
    Terminator = 77, Abstract, [], [] => [], Unsupported, "opcodes 1" {}
    CompareAndBranch = 78, Kernel, [All], ["a:ir", "b:ir"] => [], Exact, "opcodes 11; ruling D44",
        steers Branch, is [Terminator, EndsWindow], demands [Comparison] {
        comp_op: Ty::Enum(BranchCompare::DEF) => Def::Required;
        on_true: Ty::Str => Def::Absent;
        on_false: Ty::Str => Def::Absent;
    }
    UnconditionalBranch = 79, Kernel, [All], [] => [], Exact, "opcodes 11", steers Jump, is [Terminator, EndsWindow] {
        target: Ty::Str => Def::Absent;
    }
    BranchHint = 80, Kernel, [All], [] => [], Exact, "opcodes 11" {
        hint: Ty::Enum(BranchHintKind::DEF) => Def::Absent;
        associate_branch: Ty::Str => Def::Absent;
    }
    Return = 81, Kernel, [All], [] => [], Exact, "opcodes 11; ruling D41", steers Return, is [Terminator, EndsWindow] {}
    Exit = 82, Kernel, [All], [] => [], Exact, "opcodes 11; ruling D20", steers Exit, is [Terminator, EndsWindow, JoinsAlone] {}
    Break = 83, Kernel, [All], [] => [], Exact, "opcodes 11; ruling D19", steers Break, is [Terminator, EndsWindow] {}
    Call = 84, Kernel, [All], [] => [], Exact, "bir-json 10; ruling D45", steers Call, is [RunsBlocks] {
        target: Ty::Str => Def::Absent;
        arguments: Ty::Map => Def::Absent;
        table_id: Ty::I64 => Def::Absent;
    }
    Loop = 105, ControlFlow, [All], [] => [], Exact, "bir-json 9; rulings D35, D42, D43",
        partial "the slot-driven pass over a Loop's blocks in in-control-flow mode is not modelled (ruling D42)",
        steers Loop, is [RunsBlocks, HoldsBlocks, ImpliesEngine] {
        LoopAxis: Ty::Axis => Def::Absent;
        isBasicBlock: Ty::Bool => Def::Bool(false);
        isParallel: Ty::Bool => Def::Bool(false);
        unroll: Ty::Json => Def::Absent;
        registers: Ty::Json => Def::Absent;
    }
    DynamicForLoop = 106, ControlFlow, [All], [] => [], Exact, "bir-json 9; ruling D35",
        steers DynamicLoop, is [RunsBlocks, HoldsBlocks, ImpliesEngine, ForgetsWriters] {
        DynamicForLoopAxis: Ty::Axis => Def::Required;
        isBasicBlock: Ty::Bool => Def::Bool(false);
        isParallel: Ty::Bool => Def::Bool(false);
        unroll: Ty::Json => Def::Absent;
        registers: Ty::Json => Def::Absent;
    }
    DoWhile = 108, ControlFlow, [All], [] => [], Exact, "bir-json 9",
        steers DoWhile, is [RunsBlocks, HoldsBlocks, ImpliesEngine, ForgetsWriters], demands [OneRegister("cond")] {
        cond: Ty::Expr => Def::Required;
    }
}
