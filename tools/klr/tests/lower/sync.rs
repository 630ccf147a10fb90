//! Collectives, exchange between cores, barriers, ranks.

use crate::build::*;
use birsim_klr::ast::*;

fn collective() -> CollectiveOp {
    CollectiveOp {
        dsts: vec![hbm("d", Dtype::Float32, &[32, 8])],
        srcs: vec![hbm("a", Dtype::Float32, &[32, 8])],
        op: Some(AluOp::Max),
        replica_group: ReplicaGroup::Literal(vec![vec![0, 1], vec![2, 3]]),
        concat_dim: Some(1),
        source_target_pairs: Some(vec![vec![0, 1], vec![1, 0]]),
        channel_id: Some(4),
        num_channels: Some(8),
        priority: Some(2),
    }
}

const HEAD: &str = "CollectiveCompute Pool (a[8:32,1:8]) -> (d[8:32,1:8])";
const GROUPS: &str = "replica_groups=[[0, 1], [2, 3]]";

#[test]
fn kind_52_all_reduce() {
    let op = Operator::AllReduce(Box::new(collective()));
    assert_eq!(all(op.clone())[0].name, "AllReduce-1");
    assert_eq!(one(op), format!("{HEAD} kind=AllReduce {GROUPS} op=max stream_id=-1"));
    let named = CollectiveOp { replica_group: ReplicaGroup::Named("tp".into()), ..collective() };
    assert_eq!(refused(Operator::AllReduce(Box::new(named))), "K004 a replica group must be literal");
    let none = CollectiveOp { srcs: vec![], ..collective() };
    assert!(refused(Operator::AllReduce(Box::new(none))).starts_with("K005 a collective needs"));
}

#[test]
fn kind_53_all_gather() {
    assert_eq!(
        one(Operator::AllGather(Box::new(collective()))),
        format!("{HEAD} kind=AllGather {GROUPS} cc_dim=Free stream_id=-1")
    );
    let far = CollectiveOp { concat_dim: Some(2), ..collective() };
    assert_eq!(refused(Operator::AllGather(Box::new(far))), "K004 concatDim must be 0 or 1");
}

#[test]
fn kind_54_reduce_scatter() {
    assert_eq!(
        one(Operator::ReduceScatter(Box::new(collective()))),
        format!("{HEAD} kind=ReduceScatter {GROUPS} op=max cc_dim=Free stream_id=-1")
    );
    let no_op = CollectiveOp { op: None, ..collective() };
    assert_eq!(refused(Operator::ReduceScatter(Box::new(no_op))), "K005 the collective has no reduction");
}

#[test]
fn kind_55_collective_permute() {
    assert_eq!(
        one(Operator::CollectivePermute(Box::new(collective()))),
        format!("{HEAD} kind=Permute stream_id=-1 src_target_pairs=[[0, 1], [1, 0]]")
    );
    let triple = CollectiveOp { source_target_pairs: Some(vec![vec![0, 1, 2]]), ..collective() };
    assert_eq!(refused(Operator::CollectivePermute(Box::new(triple))), "K005 a source-target pair has two ranks");
}

#[test]
fn kind_56_collective_permute_implicit() {
    assert_eq!(
        one(Operator::CollectivePermuteImplicit(Box::new(collective()))),
        format!("{HEAD} kind=PermuteImplicit {GROUPS} cc_channel=4 stream_id=-1")
    );
}

#[test]
fn kind_57_collective_permute_implicit_reduce() {
    let b = hbm("b", Dtype::Float32, &[32, 8]);
    let two = CollectiveOp { srcs: vec![collective().srcs[0].clone(), b], ..collective() };
    assert_eq!(
        one(Operator::CollectivePermuteImplicitReduce(Box::new(two))),
        format!(
            "CollectiveCompute Pool (a[8:32,1:8] b[8:32,1:8]) -> (d[8:32,1:8]) kind=PermuteReduceImplicit {GROUPS} \
             op=max cc_channel=4 stream_id=-1"
        )
    );
    let one = Operator::CollectivePermuteImplicitReduce(Box::new(collective()));
    assert!(refused(one).starts_with("K005 a permute has a fixed number"));
}

#[test]
fn kind_59_all_to_all() {
    assert_eq!(one(Operator::AllToAll(Box::new(collective()))), format!("{HEAD} kind=AllToAll {GROUPS} stream_id=-1"));
}

#[test]
fn kind_42_send_recv() {
    let p = SendRecv {
        dst: f("d"),
        src: f("a"),
        send_to_rank: Immediate::Int(1),
        recv_from_rank: Immediate::Int(1),
        pipe_id: Immediate::Int(3),
        use_gpsimd_dma: true,
    };
    let op = Operator::SendRecv(Box::new(p.clone()));
    assert_eq!(all(op.clone())[0].name, "LocalSendRecv-1");
    assert_eq!(
        one(op),
        format!(
            "{HEAD} kind=SendRecv stream_id=-1 is_local=true pipe_id=3 recv_from_rank=[1] send_to_rank=1 \
             initial_corebarrier=true"
        )
    );
    let own = SendRecv { recv_from_rank: Immediate::Int(0), ..p.clone() };
    assert_eq!(
        refused(Operator::SendRecv(Box::new(own))),
        "K004 SendRecv instruction on core 0 is receiving from itself!"
    );
    let float = SendRecv { pipe_id: Immediate::Float(0.0), ..p };
    assert_eq!(refused(Operator::SendRecv(Box::new(float))), "K004 The pipeId must be a integer");
}

#[test]
fn kind_64_core_barrier() {
    let op = CoreBarrier { data: f("a"), cores: vec![0, 1], engine: Engine::Sp };
    assert_eq!(
        one(Operator::CoreBarrier(Box::new(op))),
        "CoreBarrier SP (a[8:32,1:8]) -> (a[8:32,1:8]) id=1 cores=[0, 1]"
    );
}

#[test]
fn barriers_are_numbered_per_group_of_cores() {
    let barrier = |name: &str, cores: &[i64]| {
        let op = CoreBarrier { data: f("a"), cores: cores.to_vec(), engine: Engine::Sp };
        stmt(name, Operator::CoreBarrier(Box::new(op)))
    };
    let body = vec![barrier("x", &[0, 1]), barrier("y", &[1, 2, 0]), barrier("z", &[1, 0])];
    let lowered = module(kernel(vec![block("main.1", body)]));
    let ids: Vec<String> = lowered.functions[0].blocks[0].instructions.iter().map(text).collect();
    for (line, id) in ids.iter().zip([" id=1 ", " id=1 ", " id=2 "]) {
        assert!(line.contains(id), "{ids:?}");
    }
}

#[test]
fn kind_60_rank_id() {
    let list = all(Operator::RankId(Box::new(RankId { dst: "r".into() })));
    assert_eq!(text(list.last().unwrap()), "GetGlobalRankId ALL () -> (%r) world_size=2");
}

#[test]
fn kind_61_current_processing_rank_id() {
    let p = CurrentProcessingRankId {
        dst: "r".into(),
        iteration_id: 1,
        channel_id: 2,
        num_channels: 4,
        replica_group: vec![vec![0, 1]],
    };
    let list = all(Operator::CurrentProcessingRankId(Box::new(p.clone())));
    assert_eq!(
        text(list.last().unwrap()),
        "GetCurProcessingRankID ALL () -> (%r) iter_id=1 channel_id=2 replica_groups=[[0, 1]]"
    );
    let negative = CurrentProcessingRankId { channel_id: -1, ..p };
    assert!(refused(Operator::CurrentProcessingRankId(Box::new(negative))).starts_with("K005"));
}
