//! The eight largest values, their indices, and replacement.

use crate::rows;

rows! {
    Max = 88, Kernel, [Dve], ["in"] => ["out"], Exact, "alu-ops 6.14; ruling D30", run crate::exec::search::max {}
    MaxIndex = 89, Kernel, [Dve], ["values", "in"] => ["out"], Exact, "alu-ops 6.14", run crate::exec::search::max_index {}
    MatchReplace = 90, Kernel, [Dve], ["values", "in"] => ["out"], Exact, "alu-ops 6.14", run crate::exec::search::match_replace {
        imm_value: Ty::Float => Def::Required;
    }
    MaxIndexAndMatchReplace = 91, Kernel, [Dve], ["values", "in"] => ["out", "indices"], Exact, "alu-ops 6.14", run crate::exec::search::max_index_and_match_replace {
        imm_value: Ty::Float => Def::Required;
    }
    NonzeroWithCount = 104, Skipped, [Pool], ["in", "index_offset:air?", "padding:air?"] => ["out"], Extension,
        "bir-model 6.2", run crate::exec::search::nonzero_with_count {}
}
