//! The kinds without a lowering, each refused by number.

use crate::build::*;
use birsim_klr::ast::*;

fn check(kind: u8, op: Operator) {
    assert_eq!(op.kind(), kind);
    assert_eq!(refused(op), format!("K004 Unsupported operator {kind}"));
}

#[test]
fn kind_01_activate() {
    check(
        1,
        Operator::Activate(Box::new(Activate {
            dst: f("d"),
            src: f("a"),
            accumulator_cmd: AccumCmd::Idle,
            activation_func: ActivationFunc::Exp,
            scale: Immediate::Float(1.0),
            bias: Immediate::Float(0.0),
            imm: Immediate::Float(0.0),
        })),
    );
}

#[test]
fn kind_04_affine_select() {
    let mask_pattern = DataPattern { offset: 0, pattern: vec![], channel_multiplier: 0 };
    let fill_mode = AffineSelectCmp::Eq;
    check(
        4,
        Operator::AffineSelect(Box::new(AffineSelect {
            dst: f("d"),
            src: f("a"),
            fill_mode,
            fill_reg: 0,
            mask_pattern,
        })),
    );
}

#[test]
fn kind_08_copy() {
    check(8, Operator::Copy(Box::new(Copy { dst: f("d"), src: f("a"), op_dim: None })));
}

#[test]
fn kind_11_dma_copy() {
    check(
        11,
        Operator::DmaCopy(Box::new(DmaCopy {
            dst: f("d"),
            src: f("a"),
            compute_op: DgeComputeOp::None,
            dst_bounds_check: DmaBounds::Skip,
            src_bounds_check: DmaBounds::Error,
        })),
    );
}

#[test]
fn kind_17_load_mask_register() {
    check(17, Operator::LoadMaskRegister(Box::new(LoadMaskRegister { reg_num: 3 })));
}

#[test]
fn kind_18_load_stationary() {
    check(18, Operator::LoadStationary(Box::new(LoadStationary { src: f("a"), is_transpose: false })));
}

#[test]
fn kind_19_local_gather() {
    check(
        19,
        Operator::LocalGather(Box::new(LocalGather {
            dst: f("d"),
            src: f("a"),
            index_miss_behavior: IndexMissBehavior::Skip,
            free_pool_buffer: true,
        })),
    );
}

#[test]
fn kind_21_mat_mul() {
    check(21, Operator::MatMul(Box::new(MatMul { dst: f("d"), moving: f("a") })));
}

#[test]
fn kind_24_match_value_load() {
    check(24, Operator::MatchValueLoad(Box::new(MatchValueLoad { src: f("a") })));
}

#[test]
fn kind_27_range_select() {
    check(
        27,
        Operator::RangeSelect(Box::new(RangeSelect {
            dst: f("d"),
            src: f("a"),
            reduce_command: AccumCmd::Idle,
            reduce_op: AluOp::Max,
            base: 0.0,
            fill_value: 0.0,
            comp_op0: AluOp::IsGe,
            comp_op1: AluOp::IsLt,
            bound0: Immediate::Int(0),
            bound1: Immediate::Int(1),
        })),
    );
}

#[test]
fn kind_30_scalar_tensor_tensor() {
    check(
        30,
        Operator::ScalarTensorTensor(Box::new(ScalarTensorTensor {
            dst: f("d"),
            src0: f("a"),
            src1: f("b"),
            op0: AluOp::Mult,
            op1: AluOp::Add,
            reverse_operands: TensorScalarReverseOps::None,
            imm0: Immediate::Float(1.0),
            accumulator_cmd: AccumCmd::Idle,
        })),
    );
}

#[test]
fn kind_43_send_recv_compute() {
    check(
        43,
        Operator::SendRecvCompute(Box::new(SendRecvCompute {
            dsts: vec![f("d")],
            srcs: vec![f("a")],
            send_to_ranks: vec![],
            recv_from_ranks: vec![],
            pipe_id: Immediate::Int(0),
            op: AluOp::Add,
        })),
    );
}

#[test]
fn kind_58_broadcast() {
    check(
        58,
        Operator::Broadcast(Box::new(CollectiveOp {
            dsts: vec![f("d")],
            srcs: vec![f("a")],
            op: None,
            replica_group: ReplicaGroup::Literal(vec![vec![0, 1]]),
            concat_dim: None,
            source_target_pairs: None,
            channel_id: None,
            num_channels: None,
            priority: None,
        })),
    );
}

#[test]
fn kind_62_send() {
    check(62, Operator::Send(Box::new(Send { op: AluOp::Bypass, srcs: vec![f("a")], peer_id: 1 })));
}

#[test]
fn kind_63_recv() {
    let replica_groups = vec![0, 1];
    check(63, Operator::Recv(Box::new(Recv { op: AluOp::Bypass, dsts: vec![f("d")], replica_groups, peer_id: 1 })));
}

#[test]
fn kind_70_extended_inst() {
    check(
        70,
        Operator::ExtendedInst(Box::new(ExtendedInst {
            opcode: 240,
            has_read: true,
            has_write: false,
            ports: 1,
            data0: vec![],
            data1: vec![],
        })),
    );
}

#[test]
fn errors_are_collected_over_the_kernel() {
    let load = || Operator::LoadMaskRegister(Box::new(LoadMaskRegister { reg_num: 3 }));
    let send = Operator::Send(Box::new(Send { op: AluOp::Bypass, srcs: vec![f("a")], peer_id: 1 }));
    let errors = run(kernel(vec![
        block("main.1", vec![stmt("a", load()), stmt("b", send)]),
        block("main.2", vec![stmt("c", load())]),
    ]))
    .expect_err("three refusals");
    let found: Vec<_> = errors.iter().map(|e| e.place().instruction.clone().unwrap()).collect();
    assert_eq!(found, ["a", "b", "c"]);
    assert_eq!(errors[2].place().block.as_deref(), Some("main.2"));
}
