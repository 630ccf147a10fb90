//! Copies, fills and partition shuffles.

use crate::rows;
use crate::{DmaQosClass, MemsetMode};
use birsim_kernels::Named;

rows! {
    Generic = 0, Abstract, [], [] => [], Unsupported, "opcodes 1" {}
    GenericCopy = 1, Kernel, [Pool, Activation, Dve], ["in:ai"] => ["out"], Exact, "opcodes 3; numerics 2",
        is [Elementwise] {
        can_read_uninit: Ty::Bool => Def::Bool(false);
    }
    GenericRelu = 2, Skipped, [], ["in:ai"] => ["out"], Skipped, "opcodes 3" {}
    AbstractCopy = 3, Kernel, [Pool, Activation, Dve], ["in:ai"] => ["out"], Exact, "opcodes 3; numerics 2",
        is [Elementwise] {
        dma_qos: Ty::Enum(DmaQosClass::DEF) => Def::Enum(0);
    }
    Memset = 10, Kernel, [Dve, Pool], [] => ["out"], Exact, "opcodes 3; ruling D7" {
        mode: Ty::Enum(MemsetMode::DEF) => Def::Required;
        constant: Ty::Bits => Def::Required;
    }
    TensorCopy = 23, Kernel, [Dve, Pool, Activation], ["in:ai"] => ["out"], Exact, "opcodes 3; numerics 2",
        is [Elementwise] {
        can_read_uninit: Ty::Bool => Def::Bool(false);
    }
    TensorCopyDynamicSrc = 24, Kernel, [Dve, Pool, Activation], ["in@", "offset:air?"] => ["out"], Approximate,
        "opcodes 13" {
        scale: Ty::U32 => Def::Absent;
        can_read_uninit: Ty::Bool => Def::Bool(false);
    }
    TensorCopyDynamicDst = 25, Kernel, [Dve, Pool, Activation], ["in", "offset:air?"] => ["out@"], Approximate,
        "opcodes 13" {
        scale: Ty::U32 => Def::Absent;
        can_read_uninit: Ty::Bool => Def::Bool(false);
    }
    StreamShuffle = 39, Kernel, [Dve], ["in"] => ["out"], Exact, "opcodes 3", is [KeepsSome],
        demands [ShuffleMask] {
        mask: Ty::Ints => Def::Required;
    }
    StreamTranspose = 40, Kernel, [Dve], ["in"] => ["out"], Exact, "opcodes 3",
        partial "inputs above 32 x 32 that are not whole tiles: the published index formula leaves the result" {}
}
