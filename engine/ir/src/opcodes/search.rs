//! The eight largest values, their indices, and replacement.

use crate::rows;

rows! {
    Max = 88, Kernel, [Dve], ["in"] => ["out"], Exact, "opcodes 4; ruling D30", is [ByPartition] {}
    MaxIndex = 89, Kernel, [Dve], ["values", "in"] => ["out"], Exact, "opcodes 4" {}
    MatchReplace = 90, Kernel, [Dve], ["values", "in"] => ["out"], Exact, "opcodes 4", is [ByPartition] {
        imm_value: Ty::Float => Def::Required;
    }
    MaxIndexAndMatchReplace = 91, Kernel, [Dve], ["values", "in"] => ["out", "indices"], Exact, "opcodes 4",
        is [SinceGen3, ByPartition] {
        imm_value: Ty::Float => Def::Required;
    }
    NonzeroWithCount = 104, Skipped, [Pool], ["in", "index_offset:air?", "padding:air?"] => ["out"], Extension,
        "opcodes 4", open "the reference skips it; birsim executes it, with the layout of public device documents, as an extension", is [SinceGen3] {}
}
