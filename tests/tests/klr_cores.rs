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
    let kernel = LncKernel {
        name: "k".into(),
        inputs: vec![tensor("x", Memory::Hbm, 2 * ROWS)],
        outputs: vec![tensor("both", Memory::SharedHbm, 2 * ROWS)],
        bodies: vec![body(0, false), body(1, skip)],
        shared_constants: vec![],
        shared_buffers: vec![tensor("both", Memory::SharedHbm, 2 * ROWS)],
        edges: vec![],
    };
    let file = read(&write(&Program::Lnc(kernel))).expect("what is written reads");
    let Contents::Program(program) = file.contents else { panic!("a program was written") };
    lower(&program, &LowerOptions::default()).unwrap_or_else(|e| panic!("{e:?}")).modules
}

fn run(modules: &[Module], threads: usize) -> Result<Vec<f32>, Error> {
    let mut cores = Cores::load(&Simulator::builder().threads(threads), modules)?;
    let x: Vec<u8> = (0..2 * HALF).flat_map(|n| (n as f32 * 0.5).to_le_bytes()).collect();
    cores.bind("x", &x)?;
    cores.run()?;
    let out = cores.output("both")?;
    Ok(out.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
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
         core 0: first0 (CoreBarrier) waits for barrier 1 of cores [0, 1]\n  \
         core 1: second1 (CoreBarrier) waits for barrier 2 of cores [0, 1]"
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
             core 0: second0 (CoreBarrier) waits for barrier 2 of cores [0, 1]\n  \
             core 1: second1 (CoreBarrier) waits for barrier 7 of cores [0, 1]"
        )
    );
}
