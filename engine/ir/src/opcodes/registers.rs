//! Scalar registers.

use crate::rows;
use birsim_kernels::Named;
use birsim_kernels::alu::AluOp;

rows! {
    RegisterAlu = 73, Kernel, [All, Pool, Activation, Pe, Dve, Sp], ["a:ir", "b:ir?"] => ["out:r"], Approximate,
        "alu 6.12; ruling D46",
        partial "arithmetic on float registers is not described", demands [OperandsOfOp] {
        op: Ty::Enum(AluOp::DEF) => Def::Required;
        is_64bit: Ty::Bool => Def::Bool(false);
    }
    RegisterMove = 74, Kernel, [All, Pool, Activation, Pe, Dve, Sp], ["in:ir"] => ["out:r"], Exact, "opcodes 11" {}
    TensorLoad = 75, Kernel, [All, Pool, Activation, Pe, Dve, Sp], ["in"] => ["out:r"], Exact, "opcodes 11",
        is [DramByRegister] {}
    TensorSave = 76, Kernel, [All, Pool, Activation, Pe, Dve, Sp], ["in:ir"] => ["out"], Exact, "opcodes 11" {}
}
