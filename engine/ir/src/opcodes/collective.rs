//! Collectives and ranks.

use crate::rows;
use crate::{CollectiveDimension, CollectiveKind, CollectiveTypeHint, DmaQosClass, UniqueTensors};
use birsim_kernels::Named;
use birsim_kernels::alu::AluOp;

rows! {
    GetGlobalRankId = 11, Kernel, [All], [] => ["out:ar"], Exact, "opcodes 10" {
        world_size: Ty::U32 => Def::Required;
    }
    Collective = 47, Abstract, [], [] => [], Unsupported, "opcodes 1" {
        queue: Ty::Str => Def::Absent;
    }
    CollectiveCompute = 48, Kernel, [Pool, Activation, Pe, Dma, Dve, Sp], ["in*"] => ["out*"], Approximate,
        "opcodes 10; ruling D15", is [Meets, EndsWindow, KeepsSome],
        demands [RankGroups("replica_groups"), RankPairs("src_target_pairs")] {
        queue: Ty::Str => Def::Absent;
        kind: Ty::Enum(CollectiveKind::DEF) => Def::Enum(2);
        replica_groups: Ty::Groups => Def::Absent;
        op: Ty::Enum(AluOp::DEF) => Def::Enum(0);
        cc_channel: Ty::Expr => Def::Absent;
        cc_dim: Ty::Enum(CollectiveDimension::DEF) => Def::Enum(1);
        cc_type_hint: Ty::Enum(CollectiveTypeHint::DEF) => Def::Enum(2);
        stream_id: Ty::I64 => Def::Int(0);
        src_target_pairs: Ty::Groups => Def::Absent;
        can_read_uninit: Ty::Bool => Def::Bool(false);
        is_local: Ty::Bool => Def::Bool(false);
        pipe_id: Ty::U32 => Def::Int(0);
        recv_from_rank: Ty::Exprs => Def::Absent;
        send_to_rank: Ty::Expr => Def::Absent;
        initial_corebarrier: Ty::Bool => Def::Bool(true);
        permute_chain: Ty::Json => Def::Absent;
        src1_bitmap: Ty::Json => Def::Absent;
        unique_tensors: Ty::Enum(UniqueTensors::DEF) => Def::Enum(0);
        use_gpsimd_dma: Ty::Bool => Def::Bool(false);
        dma_qos: Ty::Enum(DmaQosClass::DEF) => Def::Enum(0);
    }
    CollectiveSend = 49, Kernel, [Pool, Activation, Pe, Dma, Dve, Sp], ["in"] => [], Approximate,
        "opcodes 13", is [EndsWindow] {
        queue: Ty::Str => Def::Absent;
        peer_id: Ty::U32 => Def::Required;
        can_read_uninit: Ty::Bool => Def::Bool(false);
    }
    CollectiveRecv = 50, Kernel, [Pool, Activation, Pe, Dma, Dve, Sp], [] => ["out"], Approximate,
        "opcodes 13", is [Meets, EndsWindow] {
        queue: Ty::Str => Def::Absent;
        peer_id: Ty::U32 => Def::Required;
    }
    GetCurProcessingRankID = 66, Kernel, [All], [] => ["out:ar"], Approximate, "opcodes 10",
        demands [RankGroups("replica_groups")] {
        iter_id: Ty::U32 => Def::Int(0);
        channel_id: Ty::U32 => Def::Required;
        stream_id: Ty::I64 => Def::Int(0);
        replica_groups: Ty::Groups => Def::Required;
    }
    CoreBarrier = 87, Kernel, [All], ["semaphore:air?"] => ["semaphore:ar?"], Exact, "opcodes 10",
        is [SinceGen3, Meets, EndsWindow] {
        runtime_semaphore: Ty::U32 => Def::Int(0);
        id: Ty::U32 => Def::Int(0);
        cores: Ty::Ints => Def::Absent;
    }
}
