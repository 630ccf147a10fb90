//! Element-wise and reducing instructions.

use crate::ir::{EngineAccumulation, PoolFunction};
use crate::rows;
use birsim_kernels::Named;
use birsim_kernels::alu::AluOp;

rows! {
    Pool = 20, Kernel, [Pool, Dve], ["in"] => ["out"], Exact, "alu-ops 6.5" {
        func: Ty::Enum(PoolFunction::DEF) => Def::Required;
    }
    TensorTensor = 31, Kernel, [Dve, Pool], ["in0", "in1"] => ["out", "reduced?"], Exact, "alu-ops 6.2" {
        op: Ty::Enum(AluOp::DEF) => Def::Required;
        acc: Ty::Enum(EngineAccumulation::DEF) => Def::Enum(0);
    }
}
