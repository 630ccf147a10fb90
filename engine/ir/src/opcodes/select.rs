//! Selection by predicate, affine value or range.

use crate::EngineAccumulation;
use crate::rows;
use birsim_kernels::Named;
use birsim_kernels::alu::AluOp;

rows! {
    Select = 51, Kernel, [Dve], ["predicate", "on_true:air", "on_false:air"] => ["out"], Exact, "alu 6.9",
        is [Elementwise] {}
    CopyPredicated = 52, Kernel, [Dve], ["predicate", "on_true:air", "on_false:air?"] => ["out", "reduced?"],
        Approximate, "alu 6.9; ruling D23", is [Elementwise, KeepsSome],
        rules [Used("reduced", &[Set("accumulator_cmd")])] {
        can_read_uninit: Ty::Bool => Def::Bool(false);
        reverse_pred: Ty::Bool => Def::Bool(false);
        reduce_op: Ty::Enum(AluOp::DEF) => Def::Enum(0);
        accumulator_cmd: Ty::Enum(EngineAccumulation::DEF) => Def::Enum(0);
    }
    Iota = 61, Kernel, [Pool], [] => ["out"], Exact, "alu 6.11; rulings D24, D32" {
        base: Ty::I64 => Def::Required;
        pattern: Ty::Pairs => Def::Required;
        channel_multiplier: Ty::I64 => Def::Int(0);
    }
    TensorScalarAffineSelect = 62, Kernel, [Pool], ["in"] => ["out"], Exact, "alu 6.11; ruling D24",
        is [ByPartition] {
        base: Ty::I64 => Def::Required;
        pattern: Ty::Pairs => Def::Required;
        channel_multiplier: Ty::I64 => Def::Int(0);
        compare_op: Ty::Enum(AluOp::DEF) => Def::Required;
        fill_value: Ty::Float => Def::Float(0.0);
    }
    RangeSelect = 63, Kernel, [Dve], ["in", "bound0:air", "bound1:air"] => ["out", "reduced?"], Approximate,
        "alu 6.10",
        partial "num_active_channels below the partitions of the pattern: what the other partitions receive is not published", is [SinceGen3, ByPartition],
        rules [Used("reduced", &[Set("reduce_cmd")])] {
        base: Ty::I64 => Def::Int(0);
        compare_op0: Ty::Enum(AluOp::DEF) => Def::Required;
        compare_op1: Ty::Enum(AluOp::DEF) => Def::Required;
        reduce_op: Ty::Enum(AluOp::DEF) => Def::Enum(8);
        reduce_cmd: Ty::Enum(EngineAccumulation::DEF) => Def::Enum(3);
        fill_value: Ty::Float => Def::Float(0.0);
        num_active_channels: Ty::I64 => Def::Int(0);
    }
    GetSequenceBounds = 64, Kernel, [Pool, Dve], ["segment_ids"] => ["out"], Approximate, "opcodes 13", is [SinceGen3] {}
}
