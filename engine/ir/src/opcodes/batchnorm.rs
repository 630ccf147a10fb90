//! Batch normalisation.

use crate::rows;

rows! {
    BNStats = 34, Kernel, [Dve], ["x"] => ["stats"], Exact, "opcodes 6; ruling D29",
        is [ByPartition] {
        apply_transpose: Ty::Bool => Def::Bool(false);
    }
    BNStatsAggregate = 35, Kernel, [Dve], ["stats"] => ["mean_var"], Exact, "opcodes 6", is [ByPartition] {}
    BNGradients = 36, Kernel, [Dve], ["x", "dy", "mean:ai", "variance:ai"] => ["gradients"], Exact, "opcodes 6",
        is [ByPartition] {}
    BNBackprop = 37, Kernel, [Dve], ["x", "dy", "gradients", "mean:ai"] => ["dx"], Exact,
        "opcodes 6; ruling D11", is [ByPartition] {
        total_elements: Ty::Float => Def::Required;
    }
    BNBackprop2 = 38, Kernel, [Dve], ["x", "dy", "scale:ai", "gradients", "mean:ai"] => ["dx"], Exact,
        "opcodes 6; ruling D11", is [ByPartition] {
        total_elements: Ty::Float => Def::Required;
    }
}
