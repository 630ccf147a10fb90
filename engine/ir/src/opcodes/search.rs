//! The eight largest values, their indices, and replacement.

use crate::rows;

rows! {
    Max = 88, Kernel, [Dve], ["in"] => ["out"], Exact, "alu-ops 6.14; ruling D30" {}
    MaxIndex = 89, Kernel, [Dve], ["values", "in"] => ["out"], Exact, "alu-ops 6.14" {}
    MatchReplace = 90, Kernel, [Dve], ["values", "in"] => ["out"], Exact, "alu-ops 6.14" {
        imm_value: Ty::Float => Def::Required;
    }
    MaxIndexAndMatchReplace = 91, Kernel, [Dve], ["values", "in"] => ["out", "indices"], Exact, "alu-ops 6.14" {
        imm_value: Ty::Float => Def::Required;
    }
    NonzeroWithCount = 104, Skipped, [Pool], ["in", "index_offset:air?", "padding:air?"] => ["out"], Extension,
        "bir-model 6.2" {}
}
