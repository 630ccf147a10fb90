//! Abstract operators on request: the nearest BIR form, or what is missing for one.

use crate::build::*;
use birsim_ir::Instruction;
use birsim_kernels::Code;
use birsim_klr::LowerOptions;
use birsim_klr::ast::*;

fn accept() -> LowerOptions {
    LowerOptions { accept_abstract: true, ..LowerOptions::default() }
}

/// What core 0 of a kernel of two cores becomes.
fn lowered(list: Vec<Operator>) -> (Vec<Instruction>, Vec<String>) {
    let body = list.into_iter().enumerate().map(|(k, op)| stmt(&format!("s{k}"), op)).collect();
    let mut k = kernel(vec![block("main.1", body)]);
    k.bodies.push(vec![block("main.1", vec![])]);
    let mut out = run_with(k, &accept()).unwrap_or_else(|e| panic!("{e:?}"));
    (out.modules.remove(0).functions.remove(0).blocks.remove(0).instructions, out.notes)
}

fn accepted(op: Operator) -> String {
    let (kind, name) = (op.kind(), op.constructor());
    let (list, notes) = lowered(vec![op]);
    assert_eq!(list.len(), 1);
    let note = format!("{name} (kind {kind}) is an abstract operator, lowered to {}", list[0].opcode);
    assert!(notes.contains(&note), "{note}: {notes:?}");
    text(&list[0])
}

/// What is missing for a form.
fn missing(op: Operator) -> String {
    let kind = op.kind();
    let mut k = kernel(vec![block("main.1", vec![stmt("s", op)])]);
    k.bodies.push(vec![block("main.1", vec![])]);
    let errors = run_with(k, &accept()).expect_err("is refused");
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!((errors[0].code(), errors[0].what()), (Code::K004, format!("Unsupported operator {kind}").as_str()));
    errors[0].advice_text().to_string()
}

fn activate() -> Activate {
    Activate {
        dst: f("d"),
        src: f("a"),
        accumulator_cmd: AccumCmd::ZeroAccumulate,
        activation_func: ActivationFunc::Exp,
        scale: Immediate::Float(2.0),
        bias: Immediate::Int(3),
        imm: Immediate::Register(3),
    }
}

#[test]
fn kind_01_activate() {
    assert_eq!(
        accepted(Operator::Activate(Box::new(activate()))),
        "Activation Activation (a[8:32,1:8] float32 Float(3.0) float32 Float(2.0) float32 Float(0.0)) -> (d[8:32,1:8]) \
         func=Exp scale=2.0 alpha=0.0 acc=ZeroAccumulate op0=bypass op1=bypass reduce_op=add"
    );
    let load = Activate { accumulator_cmd: AccumCmd::LoadAccumulate, ..activate() };
    assert_eq!(missing(Operator::Activate(Box::new(load))), "LoadAccumulate has no value to load");
    let pointer = Activate { scale: Immediate::Pointer, ..activate() };
    assert!(missing(Operator::Activate(Box::new(pointer))).contains("is a pointer"));
}

fn generator() -> DataPattern {
    DataPattern { offset: 5, pattern: vec![ApPair { step: -1, num: 8, offset: 0 }], channel_multiplier: 2 }
}

fn select(fill_mode: AffineSelectCmp) -> Operator {
    let p = AffineSelect { dst: f("d"), src: f("a"), fill_mode, fill_reg: 2, mask_pattern: generator() };
    Operator::AffineSelect(Box::new(p))
}

#[test]
fn kind_04_affine_select() {
    let modes = [
        (AffineSelectCmp::GreaterThan, "is_gt"),
        (AffineSelectCmp::GreaterThanEq, "is_ge"),
        (AffineSelectCmp::Eq, "is_equal"),
        (AffineSelectCmp::NotEq, "not_equal"),
    ];
    for (mode, name) in modes {
        assert_eq!(
            accepted(select(mode)),
            format!(
                "TensorScalarAffineSelect Pool (a[8:32,1:8]) -> (d[8:32,1:8]) base=5 pattern=[(-1, 8)] \
                 channel_multiplier=2 compare_op={name} fill_value=0.0"
            )
        );
    }
}

#[test]
fn d48_numbered_registers_hold_0_which_is_noted() {
    let (_, notes) = lowered(vec![select(AffineSelectCmp::Eq)]);
    assert!(notes.iter().any(|n| n == "no operator writes the numbered register 2; it holds 0"), "{notes:?}");
    let scale = Activate { scale: Immediate::Register(7), ..activate() };
    let (list, notes) = lowered(vec![Operator::Activate(Box::new(scale))]);
    assert!(text(&list[0]).contains(" scale=0.0 "), "{}", text(&list[0]));
    assert!(notes.iter().any(|n| n.contains("register 7;")), "{notes:?}");
}

#[test]
fn kind_08_copy() {
    for op_dim in [None, Some(TensorSubDim::XY)] {
        let p = Copy { dst: f("d"), src: f("a"), op_dim };
        assert_eq!(accepted(Operator::Copy(Box::new(p))), "TensorCopy Unassigned (a[8:32,1:8]) -> (d[8:32,1:8])");
    }
}

fn dma() -> DmaCopy {
    DmaCopy {
        dst: f("d"),
        src: hbm("a", Dtype::Float32, &[32, 8]),
        compute_op: DgeComputeOp::None,
        dst_bounds_check: DmaBounds::Reg(7),
        src_bounds_check: DmaBounds::Skip,
    }
}

#[test]
fn kind_11_dma_copy() {
    let static_copy = "DMACopy DMA (a[8:32,1:8]) -> (d[8:32,1:8]) dge_type=Unassigned mode=Copy";
    let line = accepted(Operator::DmaCopy(Box::new(dma())));
    assert_eq!(line, static_copy.to_owned() + " oob_is_err=true");
    let add = DmaCopy { compute_op: DgeComputeOp::Add, ..dma() };
    let line = accepted(Operator::DmaCopy(Box::new(add)));
    assert!(line.contains("cce_op=add") && line.contains("mode=Copy"), "{line}");
    // With a run-time offset the policy of its side counts.
    let moving = |r: TensorRef| match r {
        TensorRef::Abstract(Access::BirPattern(mut p)) => {
            p.scalar_offset =
                Some(ScalarOffset::Acc(Box::new(Access::Simple(tensor("i", Memory::Sbuf, Dtype::Int32, &[1, 1])))));
            access(p)
        }
        other => other,
    };
    let (list, _) = lowered(vec![Operator::DmaCopy(Box::new(DmaCopy { src: moving(dma().src), ..dma() }))]);
    let line = text(list.last().unwrap());
    assert!(line.starts_with("DMACopy") && !line.contains("oob_is_err=true"), "{line}");
    let unknown = DmaCopy { dst: moving(dma().dst), ..dma() };
    assert!(missing(Operator::DmaCopy(Box::new(unknown))).contains("policy is in a numbered register"));
}

fn load(is_transpose: bool) -> Operator {
    Operator::LoadStationary(Box::new(LoadStationary { src: sb("w", Dtype::Bfloat16, &[32, 16]), is_transpose }))
}

fn product() -> Operator {
    Operator::MatMul(Box::new(MatMul { dst: ps("p", &[16, 8]), moving: f("v") }))
}

#[test]
fn kinds_18_and_21_load_stationary_and_mat_mul() {
    let (list, _) = lowered(vec![load(false), product(), product()]);
    let lines: Vec<String> = list.iter().map(text).collect();
    let held = "COMPILER-GENERATED-stationary-1[16:32,1:16]";
    let matmul =
        |flag: i64| format!("Matmult PE (v[8:32,1:8] {held}) -> (p[8:16,1:8]) accumulation_flag={flag} perf_mode=None");
    assert_eq!(lines, [format!("TensorCopy DVE (w[16:32,1:16]) -> ({held})"), matmul(1), matmul(6)]);
    assert!(missing(load(true)).contains("transposing load"));
    assert!(missing(product()).contains("no loadStationary"));
    // The PE's contents are not followed from block to block.
    let jump = CmpBranch {
        reg1: String::new(),
        reg2: String::new(),
        imm: 0,
        op: BrCmpOp::Always,
        true_label: "b".into(),
        false_label: String::new(),
    };
    let first = vec![stmt("a", load(false)), stmt("j", Operator::CmpBranch(Box::new(jump)))];
    let blocks = vec![block("main.1", first), block("b", vec![stmt("m", product())])];
    let errors = run_with(kernel(blocks), &accept()).expect_err("another block");
    assert_eq!((errors.len(), errors[0].what()), (1, "Unsupported operator 21"));
    let large = LoadStationary { src: sb("w", Dtype::Float32, &[32, 129]), is_transpose: false };
    let body = vec![stmt("a", Operator::LoadStationary(Box::new(large)))];
    let errors = run_with(kernel(vec![block("main.1", body)]), &accept()).expect_err("129 columns");
    assert_eq!(errors[0].what(), "a stationary matrix is at most 128 x 128");
}

#[test]
fn kind_24_match_value_load() {
    let load = |src| Operator::MatchValueLoad(Box::new(MatchValueLoad { src }));
    // Its operand may be a register, which no other operator takes.
    assert_eq!(accepted(load(TensorRef::Register(4))), "NoOp DVE () -> ()");
    assert_eq!(accepted(load(f("a"))), "NoOp DVE () -> ()");
}

fn range() -> RangeSelect {
    RangeSelect {
        dst: f("d"),
        src: f("a"),
        reduce_command: AccumCmd::Zero,
        reduce_op: AluOp::Max,
        base: -3.0,
        fill_value: -2.5,
        comp_op0: AluOp::IsGe,
        comp_op1: AluOp::IsLt,
        bound0: Immediate::Int(1),
        bound1: Immediate::Float(8.5),
    }
}

#[test]
fn kind_27_range_select() {
    assert_eq!(
        accepted(Operator::RangeSelect(Box::new(range()))),
        "RangeSelect DVE (a[8:32,1:8] float32 Float(1.0) float32 Float(8.5)) -> (d[8:32,1:8]) base=-3 \
         compare_op0=is_ge compare_op1=is_lt reduce_op=max reduce_cmd=Zero fill_value=-2.5"
    );
    for base in [1.5, f32::INFINITY, 1e30] {
        let p = RangeSelect { base, ..range() };
        assert!(missing(Operator::RangeSelect(Box::new(p))).contains("not a whole number"), "{base}");
    }
}

#[test]
fn kind_30_scalar_tensor_tensor() {
    let p = ScalarTensorTensor {
        dst: f("d"),
        src0: f("a"),
        src1: f("b"),
        op0: AluOp::Mult,
        op1: AluOp::Subtract,
        reverse_operands: TensorScalarReverseOps::Both,
        imm0: Immediate::Float(1.5),
        accumulator_cmd: AccumCmd::Accumulate,
    };
    assert_eq!(
        accepted(Operator::ScalarTensorTensor(Box::new(p.clone()))),
        "TensorScalarPtr DVE (a[8:32,1:8] float32 Float(1.5) b[8:32,1:8]) -> (d[8:32,1:8]) op0=mult reverse0=true \
         op1=subtract reverse1=true is_scalar_tensor_tensor=true acc=AddAccumulate"
    );
    let load = ScalarTensorTensor { accumulator_cmd: AccumCmd::LoadAccumulate, ..p };
    assert_eq!(missing(Operator::ScalarTensorTensor(Box::new(load))), "LoadAccumulate has no value to load");
}

fn exchange() -> SendRecvCompute {
    SendRecvCompute {
        dsts: vec![f("d")],
        srcs: vec![f("a")],
        send_to_ranks: vec![Immediate::Int(1)],
        recv_from_ranks: vec![Immediate::Int(1), Immediate::Int(0)],
        pipe_id: Immediate::Int(4),
        op: AluOp::Max,
    }
}

#[test]
fn kind_43_send_recv_compute() {
    let op = |p: SendRecvCompute| Operator::SendRecvCompute(Box::new(p));
    assert_eq!(
        accepted(op(exchange())),
        "CollectiveCompute Pool (a[8:32,1:8]) -> (d[8:32,1:8]) kind=SendRecvCCE op=max stream_id=-1 is_local=true \
         pipe_id=4 recv_from_rank=[1, 0] send_to_rank=1 initial_corebarrier=true"
    );
    assert!(missing(op(SendRecvCompute { op: AluOp::Mult, ..exchange() })).contains("add, max and min"));
    assert!(missing(op(SendRecvCompute { srcs: vec![f("a"), f("b")], ..exchange() })).contains("several tensors"));
    assert!(missing(op(SendRecvCompute { send_to_ranks: vec![], ..exchange() })).contains("sends to one core"));
    assert!(missing(op(SendRecvCompute { recv_from_ranks: vec![], ..exchange() })).contains("from no core"));
}

#[test]
fn kinds_62_and_63_send_and_recv() {
    let send = |op| Operator::Send(Box::new(Send { op, srcs: vec![f("a")], peer_id: 1 }));
    let recv =
        |op, peer_id| Operator::Recv(Box::new(Recv { op, dsts: vec![f("d")], replica_groups: vec![0, 1], peer_id }));
    assert_eq!(accepted(send(AluOp::Bypass)), "CollectiveSend Pool (a[8:32,1:8]) -> () peer_id=1");
    assert_eq!(accepted(recv(AluOp::Bypass, 1)), "CollectiveRecv Pool () -> (d[8:32,1:8]) peer_id=1");
    assert!(missing(send(AluOp::Add)).contains("no operation to combine"));
    assert!(missing(recv(AluOp::Add, 1)).contains("no operation to combine"));
    assert!(missing(recv(AluOp::Bypass, 0)).contains("its own peer"));
}

#[test]
fn what_has_no_form_says_what_is_missing() {
    let mask = Operator::LoadMaskRegister(Box::new(LoadMaskRegister { reg_num: 3 }));
    assert!(missing(mask).contains("the register that becomes the mask"));
    let gather =
        LocalGather { dst: f("d"), src: f("a"), index_miss_behavior: IndexMissBehavior::Skip, free_pool_buffer: true };
    assert!(missing(Operator::LocalGather(Box::new(gather))).contains("names no indices"));
    let broadcast = CollectiveOp {
        dsts: vec![f("d")],
        srcs: vec![f("a")],
        op: None,
        replica_group: ReplicaGroup::Literal(vec![vec![0, 1]]),
        concat_dim: None,
        source_target_pairs: None,
        channel_id: None,
        num_channels: None,
        priority: None,
    };
    assert!(missing(Operator::Broadcast(Box::new(broadcast))).contains("names no root"));
    let extended =
        ExtendedInst { opcode: 240, has_read: true, has_write: false, ports: 1, data0: vec![], data1: vec![] };
    assert!(missing(Operator::ExtendedInst(Box::new(extended))).contains("opaque"));
}
