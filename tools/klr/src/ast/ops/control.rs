//! Registers, branches and rank ids.

use crate::ast::{AluOp, BrCmpOp, TensorRef};

record! {
    /// Parameters of `tensorLoad`.
    TensorLoad = 190 {
        dst: String,
        src: TensorRef,
    }
}

record! {
    /// Parameters of `tensorStore`.
    TensorStore = 191 {
        dst: TensorRef,
        src: String,
    }
}

record! {
    /// Parameters of `registerMove`.
    RegisterMove = 192 {
        dst: String,
        imm: i32,
    }
}

record! {
    /// Parameters of `cmpBranch`.
    CmpBranch = 193 {
        reg1: String,
        reg2: String,
        imm: i32,
        op: BrCmpOp,
        true_label "trueLabel": String,
        false_label "falseLabel": String,
    }
}

record! {
    /// Parameters of `registerAluOp`.
    RegisterAluOp = 194 {
        dst: String,
        src: String,
        imm: i32,
        op: AluOp,
    }
}

record! {
    /// Parameters of `rankId`.
    RankId = 200 {
        dst: String,
    }
}

record! {
    /// Parameters of `currentProcessingRankId`.
    CurrentProcessingRankId = 201 {
        dst: String,
        iteration_id "iterationId": i64,
        channel_id "channelId": i64,
        num_channels "numChannels": i64,
        replica_group "replicaGroup": Vec<Vec<i64>>,
    }
}
