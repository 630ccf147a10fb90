//! Exchange between cores and ranks.

use crate::ast::{AluOp, Engine, Immediate, ReplicaGroup, TensorRef};

record! {
    /// Parameters of `sendRecv`.
    SendRecv = 187 {
        dst: TensorRef,
        src: TensorRef,
        send_to_rank "sendToRank": Immediate,
        recv_from_rank "recvFromRank": Immediate,
        pipe_id "pipeId": Immediate,
        use_gpsimd_dma "useGpsimdDma": bool,
    }
}

record! {
    /// Parameters of `sendRecvCompute`.
    SendRecvCompute = 188 {
        dsts: Vec<TensorRef>,
        srcs: Vec<TensorRef>,
        send_to_ranks "sendToRanks": Vec<Immediate>,
        recv_from_ranks "recvFromRanks": Vec<Immediate>,
        pipe_id "pipeId": Immediate,
        op: AluOp,
    }
}

record! {
    /// Parameters of the collectives, `allReduce` to `allToAll`.
    CollectiveOp = 199 {
        dsts: Vec<TensorRef>,
        srcs: Vec<TensorRef>,
        op: Option<AluOp>,
        replica_group "replicaGroup": ReplicaGroup,
        concat_dim "concatDim": Option<i64>,
        source_target_pairs "sourceTargetPairs": Option<Vec<Vec<i64>>>,
        channel_id: Option<i64>,
        num_channels: Option<i64>,
        priority: Option<u64> = None,
    }
}

record! {
    /// Parameters of `send`.
    Send = 202 {
        op: AluOp,
        srcs: Vec<TensorRef>,
        peer_id "peerId": i64,
    }
}

record! {
    /// Parameters of `recv`.
    Recv = 203 {
        op: AluOp,
        dsts: Vec<TensorRef>,
        replica_groups "replicaGroups": Vec<i64>,
        peer_id "peerId": i64,
    }
}

record! {
    /// Parameters of `coreBarrier`.
    CoreBarrier = 204 {
        data: TensorRef,
        cores: Vec<i64>,
        engine: Engine,
    }
}
