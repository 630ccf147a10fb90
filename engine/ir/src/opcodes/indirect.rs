//! Gathers and scatters.

use super::dma::dma_rows;
use crate::rows;
use crate::{DgeType, IndirectDim};
use birsim_kernels::Named;
use birsim_kernels::alu::AluOp;

dma_rows! {
    GenericIndirectLoad = 42, Kernel, [Dma], ["in#", "indices*^"] => ["out"], Approximate, "opcodes 9",
        partial "an indirect axis of a pattern with more than four pairs is not described" {
        indirect_dims: Ty::Enums(IndirectDim::DEF) => Def::Absent;
    }
    IndirectLoad = 43, Kernel, [Dma], ["in#", "indices&^"] => ["out"], Approximate,
        "opcodes 9; rulings D12, D13",
        open "how many elements one index moves is not published: as many as the dense operand has per index (ruling D12)" {
        runtime_semaphore_wait_value: Ty::U32 => Def::Int(0);
    }
    GenericIndirectSave = 44, Kernel, [Dma], ["in", "indices*^"] => ["out#+"], Approximate, "opcodes 9",
        partial "an indirect axis of a pattern with more than four pairs is not described", rules [Adds(&[Set("op")])] {
        indirect_dims: Ty::Enums(IndirectDim::DEF) => Def::Absent;
        op: Ty::Enum(AluOp::DEF) => Def::Enum(4);
    }
    IndirectSave = 45, Kernel, [Dma], ["in", "indices&^"] => ["out#"], Approximate,
        "opcodes 9; rulings D12, D13",
        open "how many elements one index moves is not published: as many as the dense operand has per index (ruling D12)" {
        runtime_semaphore_wait_value: Ty::U32 => Def::Int(0);
    }
    IndirectSaveAccumulate = 46, Kernel, [Dma], ["indices^", "in", "table:air&", "destination:air?", "entries:air?"]
        => ["out#+?"], Approximate,
        "opcodes 13" {
        num_indices: Ty::U32 => Def::Absent;
        entry_step_elements: Ty::U32 => Def::Absent;
        op: Ty::Enum(AluOp::DEF) => Def::Enum(4);
    }
    @plain {
        IndirectCopy = 26, Kernel, [Pool], ["in#", "offsets^"] => ["out"], Approximate, "opcodes 13" {
            num_valid_indices: Ty::U32 => Def::Required;
        }
        Gather = 92, Kernel, [Pool], ["in#", "indices^"] => ["out"], Approximate, "opcodes 13" {}
    }
}
