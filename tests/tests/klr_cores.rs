//! KLR kernels of two cores with core barriers around a shared buffer.

use birsim_engine::ir::{Module, Opcode, Value};
use birsim_engine::{Code, Cores, Error, Simulator};
use birsim_klr::ast::*;
use birsim_klr::{LowerOptions, lower, read, write};

const ROWS: u64 = 32;
const COLUMNS: u64 = 8;
/// Elements of one core's half of the shared buffer.
const HALF: usize = (ROWS * COLUMNS) as usize;

fn tensor(name: &str, memory: Memory, rows: u64) -> TensorName {
    let address = Address {
        name: name.into(),
        memory,
        par_size: rows,
        free_size: COLUMNS * 4,
        par_offset: None,
        free_offset: None,
        is_shared: memory == Memory::SharedHbm,
    };
    let shape = Shape { par_dim: rows, free_dims: vec![COLUMNS] };
    let dtype = Dtype::Float32;
    TensorName { name: name.into(), dtype, shape, address, free_elements: COLUMNS, address_rotation: false }
}

fn part(tensor: TensorName, core: usize) -> TensorRef {
    let pair = |step, num| ApPair { step, num, offset: 0 };
    TensorRef::Abstract(Access::BirPattern(BirAccessPattern {
        tensor,
        offset: (core * HALF) as u64,
        pattern: vec![pair(COLUMNS as i64, ROWS), pair(1, COLUMNS)],
        scalar_offset: None,
        vector_offset: None,
        indirect_dim: 0,
        dtype_override: None,
    }))
}

fn local(name: &str) -> TensorRef {
    part(tensor(name, Memory::Sbuf, ROWS), 0)
}

/// A core's half of the buffer that both see.
fn both(core: usize) -> TensorRef {
    part(tensor("both", Memory::SharedHbm, 2 * ROWS), core)
}

fn input(core: usize) -> TensorRef {
    part(tensor("x", Memory::Hbm, 2 * ROWS), core)
}

fn stmt(name: &str, op: Operator) -> Stmt {
    let pos = Pos { line: 3, column: 1, line_end: None, column_end: None, filename: Some("k.py".into()) };
    Stmt { op, name: Some(name.into()), pos }
}

fn dma(name: &str, dst: TensorRef, src: TensorRef) -> Stmt {
    let p = NcDmaCopy {
        dst,
        src,
        compute_op: DgeComputeOp::None,
        oob_mode: DmaBounds::Error,
        dge_mode: 0,
        unique_indices: false,
        priority: None,
        engine: Engine::Unassigned,
    };
    stmt(name, Operator::NcDmaCopy(Box::new(p)))
}

fn barrier(name: &str) -> Stmt {
    let p = CoreBarrier { data: both(0), cores: vec![0, 1], engine: Engine::Pool };
    stmt(name, Operator::CoreBarrier(Box::new(p)))
}

fn jump(name: &str, to: &str) -> Stmt {
    let p = CmpBranch {
        reg1: String::new(),
        reg2: String::new(),
        imm: 0,
        op: BrCmpOp::Always,
        true_label: to.into(),
        false_label: String::new(),
    };
    stmt(name, Operator::CmpBranch(Box::new(p)))
}

fn block(label: &str, body: Vec<Stmt>) -> Block {
    Block { label: label.into(), no_reorder: false, body }
}

/// Each core publishes its half, reads the other's, and replaces its own by the sum. A core that skips jumps over the
/// first meeting.
fn body(core: usize, skip: bool) -> Vec<Block> {
    let sum = TensorTensor {
        dst: local("c"),
        src0: local("a"),
        src1: local("b"),
        op: AluOp::Add,
        dtype: None,
        engine: Engine::Dve,
    };
    let name = |n: &str| format!("{n}{core}");
    vec![
        block(
            "main.1",
            vec![
                dma(&name("load"), local("a"), input(core)),
                dma(&name("publish"), both(core), local("a")),
                jump(&name("jump"), if skip { "tail.1" } else { "meet.1" }),
            ],
        ),
        block("meet.1", vec![barrier(&name("first")), jump(&name("on"), "tail.1")]),
        block(
            "tail.1",
            vec![
                dma(&name("fetch"), local("b"), both(1 - core)),
                stmt(&name("sum"), Operator::TensorTensor(Box::new(sum))),
                barrier(&name("second")),
                dma(&name("replace"), both(core), local("c")),
            ],
        ),
    ]
}

/// Written, read and lowered.
fn modules(skip: bool) -> Vec<Module> {
    lowered([body(0, false), body(1, skip)])
}

fn lowered(bodies: [Vec<Block>; 2]) -> Vec<Module> {
    lowered_from("both", bodies)
}

/// A kernel whose output has the address name `address`.
fn lowered_from(address: &str, bodies: [Vec<Block>; 2]) -> Vec<Module> {
    let mut output = tensor("both", Memory::SharedHbm, 2 * ROWS);
    output.address.name = address.into();
    let kernel = LncKernel {
        name: "k".into(),
        inputs: vec![tensor("x", Memory::Hbm, 2 * ROWS)],
        outputs: vec![output],
        bodies: bodies.to_vec(),
        shared_constants: vec![],
        shared_buffers: vec![tensor("both", Memory::SharedHbm, 2 * ROWS)],
        edges: vec![],
    };
    let file = read(&write(&Program::Lnc(kernel))).expect("what is written reads");
    let Contents::Program(program) = file.contents else { panic!("a program was written") };
    let options = LowerOptions { accept_abstract: true, ..LowerOptions::default() };
    lower(&program, &options).unwrap_or_else(|e| panic!("{e:?}")).modules
}

fn run(modules: &[Module], threads: usize) -> Result<Vec<f32>, Error> {
    let mut cores = Cores::load(&Simulator::builder().threads(threads), modules)?;
    let x: Vec<u8> = (0..2 * HALF).flat_map(|n| (n as f32 * 0.5).to_le_bytes()).collect();
    cores.bind("x", &x)?;
    cores.run()?;
    let out = cores.output("both")?;
    Ok(out.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
}

/// Each core adds the other's values to its own, `trips` times, with two barriers in the body of a register loop.
fn loops(trips: [i32; 2]) -> Vec<Module> {
    let body = |core: usize| {
        let name = |n: &str| format!("{n}{core}");
        let set = |reg: &str, imm| Operator::RegisterMove(Box::new(RegisterMove { dst: reg.into(), imm }));
        let step = RegisterAluOp { dst: "i".into(), src: "i".into(), imm: 1, op: AluOp::Add };
        let test = |n: &str| {
            let p = CmpBranch {
                reg1: "i".into(),
                reg2: "n".into(),
                imm: 0,
                op: BrCmpOp::LtReg,
                true_label: "loop.1".into(),
                false_label: "tail.1".into(),
            };
            stmt(&name(n), Operator::CmpBranch(Box::new(p)))
        };
        let sum = TensorTensor {
            dst: local("a"),
            src0: local("a"),
            src1: local("b"),
            op: AluOp::Add,
            dtype: None,
            engine: Engine::Dve,
        };
        vec![
            block(
                "main.1",
                vec![
                    dma(&name("load"), local("a"), input(core)),
                    stmt(&name("i"), set("i", 0)),
                    stmt(&name("n"), set("n", trips[core])),
                    test("enter"),
                ],
            ),
            block(
                "loop.1",
                vec![
                    dma(&name("publish"), both(core), local("a")),
                    barrier(&name("first")),
                    dma(&name("fetch"), local("b"), both(1 - core)),
                    stmt(&name("sum"), Operator::TensorTensor(Box::new(sum))),
                    barrier(&name("second")),
                    stmt(&name("step"), Operator::RegisterAluOp(Box::new(step))),
                    test("next"),
                ],
            ),
            block("tail.1", vec![dma(&name("result"), both(core), local("a"))]),
        ]
    };
    lowered([body(0), body(1)])
}

#[test]
fn two_barriers_give_the_same_bits_over_100_runs_and_any_threads() {
    let modules = modules(false);
    let sum = |n: usize| (n % HALF) as f32 * 0.5 + (n % HALF + HALF) as f32 * 0.5;
    let want: Vec<f32> = (0..2 * HALF).map(sum).collect();
    for round in 0..100 {
        assert_eq!(run(&modules, 1 + round % 2).unwrap(), want, "round {round}");
    }
}

#[test]
fn a_core_that_skips_a_barrier_is_named_with_the_other() {
    let e = run(&modules(true), 2).unwrap_err();
    assert_eq!(e.code(), Code::S003);
    assert_eq!(
        e.what(),
        "no core can go on\n  \
         core 0: first0 (CoreBarrier) waits for barrier 1 of cores [0, 1]; absent: core 1 (waits at second1)\n  \
         core 1: second1 (CoreBarrier) waits for barrier 2 of cores [0, 1]; absent: core 0 (waits at first0)\n  \
         circle: first0 of core 0 -> second1 of core 1 -> first0 of core 0"
    );
}

#[test]
fn a_wrong_barrier_id_names_both_cores_ids_and_instructions() {
    let mut modules = modules(false);
    let instructions = modules[1].functions[0].blocks.iter_mut().flat_map(|b| &mut b.instructions);
    let second = instructions.filter(|i| i.opcode == Opcode::CoreBarrier).last().unwrap();
    second.set("id", Value::Int(7));
    let e = run(&modules, 2).unwrap_err();
    assert_eq!(
        (e.code(), e.what()),
        (
            Code::S003,
            "no core can go on\n  \
             core 0: second0 (CoreBarrier) waits for barrier 2 of cores [0, 1]; absent: core 1 (waits at second1); they \
             met last at first0 (CoreBarrier)\n  \
             core 1: second1 (CoreBarrier) waits for barrier 7 of cores [0, 1]; absent: core 0 (waits at second0); they \
             met last at first0 (CoreBarrier)\n  \
             circle: second0 of core 0 -> second1 of core 1 -> second0 of core 0"
        )
    );
}

/// A barrier is identified by its place in the program, which is the same in all trips of a loop.
#[test]
fn barriers_in_a_loop_meet_in_every_trip() {
    let modules = loops([3, 3]);
    let sum = |n: usize| ((n % HALF) as f32 * 0.5 + (n % HALF + HALF) as f32 * 0.5) * 4.0;
    let want: Vec<f32> = (0..2 * HALF).map(sum).collect();
    for round in 0..20 {
        assert_eq!(run(&modules, 1 + round % 2).unwrap(), want, "round {round}");
    }
}

#[test]
fn a_core_that_leaves_a_loop_early_is_named() {
    let e = run(&loops([2, 3]), 2).unwrap_err();
    assert_eq!(e.code(), Code::S003);
    assert_eq!(
        e.what(),
        "no core can go on\n  core 0: has finished\n  core 1: first1 (CoreBarrier) waits for barrier 1 of cores [0, 1]; \
         absent: core 0 (has finished); they met last at second0 (CoreBarrier)"
    );
}

#[test]
fn barriers_of_different_cores_do_not_meet() {
    let mut modules = modules(false);
    for inst in modules[1].functions[0].blocks.iter_mut().flat_map(|b| &mut b.instructions) {
        if inst.opcode == Opcode::CoreBarrier {
            // Core 1 lists only itself; the order of a list has no effect.
            inst.set("cores", Value::Ints(vec![birsim_engine::ir::Expr::Const(1)]));
        }
    }
    let e = run(&modules, 2).unwrap_err();
    assert_eq!(
        e.what(),
        "no core can go on\n  core 0: first0 (CoreBarrier) waits for barrier 1 of cores [0, 1]; absent: core 1 (has finished)\n  \
         core 1: has finished"
    );
}

/// The output is the input's storage: core 0 copies it, and both wait for that before they change their halves.
#[test]
fn an_output_that_takes_the_place_of_an_input_starts_from_its_values() {
    let output = |core: usize| match both(core) {
        TensorRef::Abstract(Access::BirPattern(mut p)) => {
            p.tensor.address.name = "x".into();
            TensorRef::Abstract(Access::BirPattern(p))
        }
        other => other,
    };
    let body = |core: usize| {
        let sum = TensorTensor {
            dst: local("c"),
            src0: local("a"),
            src1: local("a"),
            op: AluOp::Add,
            dtype: None,
            engine: Engine::Dve,
        };
        // Core 1 leaves its half alone.
        let mut list = vec![dma(&format!("load{core}"), local("a"), output(core))];
        if core == 0 {
            list.push(stmt("sum", Operator::TensorTensor(Box::new(sum))));
            list.push(dma("store", output(core), local("c")));
        }
        vec![block("main.1", list)]
    };
    let modules = lowered_from("x", [body(0), body(1)]);
    let want: Vec<f32> = (0..2 * HALF).map(|n| n as f32 * if n < HALF { 1.0 } else { 0.5 }).collect();
    for threads in [1, 2] {
        assert_eq!(run(&modules, threads).unwrap(), want);
    }
}

#[test]
fn an_exchange_that_computes_folds_what_the_listed_cores_sent() {
    let body = |core: usize| {
        let fold = SendRecvCompute {
            dsts: vec![local("c")],
            srcs: vec![local("a")],
            send_to_ranks: vec![Immediate::Int(1 - core as i32)],
            // Core 0 takes the other's and its own values, core 1 the other's only.
            recv_from_ranks: [1, 0].into_iter().skip(core).map(Immediate::Int).collect(),
            pipe_id: Immediate::Int(0),
            op: AluOp::Add,
        };
        vec![block(
            "main.1",
            vec![
                dma(&format!("load{core}"), local("a"), input(core)),
                stmt(&format!("fold{core}"), Operator::SendRecvCompute(Box::new(fold))),
                dma(&format!("store{core}"), both(core), local("c")),
            ],
        )]
    };
    let modules = lowered([body(0), body(1)]);
    let x = |n: usize| n as f32 * 0.5;
    let want: Vec<f32> = (0..HALF).map(|n| x(n + HALF) + x(n)).chain((0..HALF).map(x)).collect();
    for threads in [1, 2] {
        assert_eq!(run(&modules, threads).unwrap(), want);
    }
}

#[test]
fn a_message_goes_from_core_to_core() {
    let send = Send { op: AluOp::Bypass, srcs: vec![local("a")], peer_id: 1 };
    let recv = Recv { op: AluOp::Bypass, dsts: vec![local("b")], replica_groups: vec![0, 1], peer_id: 0 };
    let load = dma("load", local("a"), input(0));
    let from = vec![load, stmt("send", Operator::Send(Box::new(send))), dma("own", both(0), local("a"))];
    let to = vec![stmt("recv", Operator::Recv(Box::new(recv))), dma("got", both(1), local("b"))];
    let modules = lowered([vec![block("main.1", from)], vec![block("main.1", to.clone())]]);
    let want: Vec<f32> = (0..2 * HALF).map(|n| (n % HALF) as f32 * 0.5).collect();
    assert_eq!(run(&modules, 2).unwrap(), want);
    let silent = lowered([vec![block("main.1", vec![dma("own", both(0), input(0))])], vec![block("main.1", to)]]);
    let e = run(&silent, 2).unwrap_err();
    assert_eq!(
        e.what(),
        "no core can go on\n  core 0: has finished\n  core 1: recv (CollectiveRecv) waits for a message of rank 0; \
         absent: core 0 (has finished)"
    );
}
