//! Batch normalisation.

use crate::rows;

rows! {
    BNStats = 34, Kernel, [Dve], ["x"] => ["stats"], Exact, "bir-model 6.4; ruling D29" {
        apply_transpose: Ty::Bool => Def::Bool(false);
    }
    BNStatsAggregate = 35, Kernel, [Dve], ["stats"] => ["mean_var"], Exact, "bir-model 6.4" {}
    BNGradients = 36, Kernel, [Dve], ["x", "dy", "mean:ai", "variance:ai"] => ["gradients"], Exact, "bir-model 6.4" {}
    BNBackprop = 37, Kernel, [Dve], ["x", "dy", "gradients", "mean:ai"] => ["dx"], Exact,
        "bir-model 6.4; ruling D11" {
        total_elements: Ty::Float => Def::Required;
    }
    BNBackprop2 = 38, Kernel, [Dve], ["x", "dy", "scale:ai", "gradients", "mean:ai"] => ["dx"], Exact,
        "bir-model 6.4; ruling D11" {
        total_elements: Ty::Float => Def::Required;
    }
}
