//! DMA transfers, triggers, queue blocks and descriptors.

use crate::rows;
use crate::{CopyMode, DgeType, DmaQosClass, TransposeOp};
use birsim_kernels::Named;
use birsim_kernels::alu::AluOp;

/// Rows that start with the keys of the DMA base record.
macro_rules! dma_rows {
    ($($name:ident = $ord:literal, $class:ident, [$($engine:ident),*], [$($in:literal),*] => [$($out:literal),*],
        $fidelity:ident, $spec:literal $(, partial $partial:literal)? $(, open $open:literal)?
        $(, steers $steer:ident)? $(, is $is:tt)? $(, rules $rules:tt)? $(, demands $demands:tt)?
        { $($own:tt)* })+
     @plain { $($plain:tt)* }) => {
        rows! { $($name = $ord, $class, [$($engine),*], [$($in),*] => [$($out),*],
            $fidelity, $spec $(, partial $partial)? $(, open $open)? $(, steers $steer)? $(, is $is)? $(, rules $rules)?
            $(, demands $demands)? {
            queue: Ty::Str => Def::Absent;
            dge_type: Ty::Enum(DgeType::DEF) => Def::Enum(3);
            duplicate: Ty::Bool => Def::Bool(false);
            $($own)*
        })+ $($plain)* }
    };
}
pub(super) use dma_rows;

dma_rows! {
    DMA = 18, Abstract, [], [] => [], Unsupported, "opcodes 1" {}
    Load = 19, Kernel, [Dma, Sp], ["in"] => ["out"], Exact, "opcodes 9", is [Elementwise, DramByRegister] {
        can_read_uninit: Ty::Bool => Def::Bool(false);
        dma_qos: Ty::Enum(DmaQosClass::DEF) => Def::Enum(0);
    }
    Save = 22, Kernel, [Dma], ["in"] => ["out"], Exact, "opcodes 9", is [Elementwise, DramByRegister] {
        can_read_uninit: Ty::Bool => Def::Bool(false);
        dma_qos: Ty::Enum(DmaQosClass::DEF) => Def::Enum(0);
    }
    DMACopy = 32, Kernel, [Dma], ["in", "more*"] => ["out+"], Exact, "opcodes 9; rulings D15, D16, D22",
        partial "index vectors on both sides, on another axis than W, and sums that skip elements are not described",
        is [Elementwise, DramByRegister],
        rules [
            InPlace(&[Zero("mode")]),
            Adds(&[Zero("mode"), Set("cce_op")]),
            VectorAddress(&[Zero("mode")]),
            SkipsOutside(&[Zero("oob_is_err")]),
            Used("more", &[Is("mode", 2)]),
        ], demands [Ranks("replica_groups")] {
        mode: Ty::Enum(CopyMode::DEF) => Def::Enum(0);
        oob_is_err: Ty::Bool => Def::Bool(true);
        transpose_op: Ty::Enum(TransposeOp::DEF) => Def::Enum(0);
        constants: Ty::Floats => Def::Absent;
        cce_op: Ty::Enum(AluOp::DEF) => Def::Enum(0);
        replica_groups: Ty::Groups => Def::Absent;
        remote_notification: Ty::Ints => Def::Absent;
        can_read_uninit: Ty::Bool => Def::Bool(false);
        dma_qos: Ty::Enum(DmaQosClass::DEF) => Def::Enum(0);
        use_gpsimd_dma: Ty::Bool => Def::Bool(false);
    }
    ReadVarAddr = 41, Kernel, [Pool, Activation, Pe, Dma, Dve, Sp], ["in"] => ["out:ar"], Approximate,
        "opcodes 13" {}
    DMATrigger = 67, Kernel, [Dma], [] => [], Exact, "bir-json 10", steers Trigger, is [EndsWindow] {
        dma_blocks: Ty::Strs => Def::Absent;
    }
    @plain {
        GPSIMDSB2SB = 33, Kernel, [Pool], ["in"] => ["out"], Approximate, "opcodes 9", is [Meets, EndsWindow] {}
        DMADescriptor = 68, Abstract, [Dma], [] => [], Unsupported, "opcodes 1", is [ImpliesEngine] {
            num_tiling_dimensions: Ty::U32 => Def::Int(0);
        }
        DMADescriptorCopy = 69, Kernel, [Dma], ["in"] => ["out"], Exact, "opcodes 9", is [ImpliesEngine, Descriptor] {
            num_tiling_dimensions: Ty::U32 => Def::Int(0);
            can_read_uninit: Ty::Bool => Def::Bool(false);
        }
        DMADescriptorCCE = 70, Kernel, [Dma], ["in", "more*"] => ["out"], Exact, "opcodes 9; ruling D15",
            is [ImpliesEngine, Descriptor] {
            num_tiling_dimensions: Ty::U32 => Def::Int(0);
            constants: Ty::Floats => Def::Absent;
            op: Ty::Enum(AluOp::DEF) => Def::Enum(0);
        }
        DMADescriptorTranspose = 71, Kernel, [Dma], ["in"] => ["out"], Exact, "opcodes 2.2, 9",
            is [ImpliesEngine, Descriptor] {
            num_tiling_dimensions: Ty::U32 => Def::Int(0);
            transpose_op: Ty::Enum(TransposeOp::DEF) => Def::Enum(0);
            can_read_uninit: Ty::Bool => Def::Bool(false);
        }
        DMADescriptorReplicate = 72, Kernel, [Dma], ["in"] => ["out"], Exact, "opcodes 9; ruling D16",
            is [ImpliesEngine, Descriptor] {
            num_tiling_dimensions: Ty::U32 => Def::Int(0);
        }
        DMABlock = 107, Kernel, [Dma], [] => [], Exact, "bir-json 10", steers QueueBlock, is [ImpliesEngine, HoldsBlocks] {
            dma_trigger: Ty::Str => Def::Absent;
            block_id: Ty::U32 => Def::Int(0);
            section_start: Ty::Json => Def::Absent;
            priority_class: Ty::Json => Def::Absent;
            remote_notifications: Ty::Json => Def::Absent;
        }
    }
}
