//! Batch normalisation.

use crate::rows;

rows! {
    BNStats = 34, Kernel, [Dve], ["x"] => ["stats"], Exact, "bir-model 6.4; ruling D29", run crate::exec::batchnorm::stats {
        apply_transpose: Ty::Bool => Def::Bool(false);
    }
    BNStatsAggregate = 35, Kernel, [Dve], ["stats"] => ["mean_var"], Exact, "bir-model 6.4", run crate::exec::batchnorm::aggregate {}
    BNGradients = 36, Kernel, [Dve], ["x", "dy", "mean:ai", "variance:ai"] => ["gradients"], Exact, "bir-model 6.4", run crate::exec::batchnorm::gradients {}
    BNBackprop = 37, Kernel, [Dve], ["x", "dy", "gradients", "mean:ai"] => ["dx"], Exact,
        "bir-model 6.4; ruling D11", run crate::exec::batchnorm::backprop {
        total_elements: Ty::Float => Def::Required;
    }
    BNBackprop2 = 38, Kernel, [Dve], ["x", "dy", "scale:ai", "gradients", "mean:ai"] => ["dx"], Exact,
        "bir-model 6.4; ruling D11", run crate::exec::batchnorm::backprop2 {
        total_elements: Ty::Float => Def::Required;
    }
}
