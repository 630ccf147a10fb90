//! Loop trips allocate nothing: counted with an allocator of its own, so this test is alone in its binary.

use birsim_benches::programs::{block, cell, module, repeat, signal, step, tensor, wait};
use birsim_engine::ir::{Engine, Expr, Instruction, MemoryType, Module, Opcode, Operand, Storage, TensorKind, Value};
use birsim_engine::{IssueOrder, Simulator};
use birsim_kernels::alu::AluOp;
use birsim_tests::build::{element, imm, modulo, reg, register, symbolic};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller promises what `System` requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as in `alloc`.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as in `alloc`.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of a whole run.
fn allocations(m: &Module, schedule: IssueOrder, trips: u64) -> u64 {
    let mut sim = Simulator::builder().threads(1).schedule(schedule).build().unwrap();
    sim.load(m).unwrap();
    sim.bind("cells", &[0; 4096]).unwrap();
    // The first ticks grow buffers that later ones use again.
    for _ in 0..500 {
        assert!(sim.step().unwrap());
    }
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let summary = sim.run().unwrap();
    let count = ALLOCATIONS.load(Ordering::Relaxed) - before;
    assert!(summary.stats.ticks >= trips, "{} ticks", summary.stats.ticks);
    count
}

/// The same program with more trips allocates as often, give or take what other threads of the process do meanwhile.
fn none_per_trip(build: impl Fn(i64) -> Module, schedule: IssueOrder, many: i64) {
    let few = allocations(&build(1_000), schedule, 1_000);
    let more = allocations(&build(many), schedule, many as u64);
    assert!(more < few + 10, "{more} allocations in {many} trips, {few} in 1000");
}

fn cells() -> Storage {
    tensor("cells", MemoryType::Sb, TensorKind::Internal, 1, 1024)
}

/// The element of `cells` at a loop axis, modulo the size.
fn at_axis(axis: &str) -> Operand {
    symbolic("cells", vec![Expr::Const(0), modulo(Expr::Axis(axis.into()), 1024)], 1024, 1, 1)
}

fn add(name: &str, to: &str, by: i128) -> Instruction {
    let mut i = Instruction::new(name, Opcode::RegisterAlu, Engine::Sp).with("op", Value::named(AluOp::Add));
    i.ins = vec![reg(to), imm(by)];
    i.outs = vec![reg(to)];
    i
}

fn reset(id: i64) -> Instruction {
    let mut i = Instruction::new("reset", Opcode::GroupResetSemaphores, Engine::All);
    i.set("sema_group", Value::Ints(vec![Expr::Const(id)]));
    i
}

/// One instruction per trip, in list order.
fn plain(trips: i64) -> Module {
    let body = vec![step("I".into(), Engine::Dve, cell("cells", 0), cell("cells", 1), 0.5)];
    module(vec![cells()], vec![repeat("i", trips, body)])
}

/// Registers, affine addresses, engines that wait for each other.
fn busy(trips: i64) -> Module {
    let mut first = step("A".into(), Engine::Dve, at_axis("i"), cell("cells", 3), 0.5);
    first.sync.on_update.push(signal(1));
    let mut second = step("B".into(), Engine::Pool, cell("cells", 3), at_axis("i"), 0.25);
    second.sync.on_wait.push(wait(1, 1));
    let mut count = add("C", "r", 3);
    count.sync.on_wait.push(wait(1, 1));
    let mut save = Instruction::new("D", Opcode::TensorSave, Engine::Sp);
    save.ins = vec![reg("r")];
    save.outs = vec![element("cells", 7)];
    let body = vec![first, second, count, save, reset(1)];
    module(vec![cells(), register("r", Engine::All, -1)], vec![repeat("i", trips, body)])
}

/// A loop that ends by a register, with another loop and a barrier in each engine's own queue inside.
fn dynamic(trips: i64) -> Module {
    let mut start = Instruction::new("S", Opcode::RegisterMove, Engine::Sp);
    start.ins = vec![imm(i128::from(trips))];
    start.outs = vec![reg("r")];
    let inner = repeat("j", 2, vec![step("I".into(), Engine::Dve, at_axis("j"), cell("cells", 3), 0.5)]);
    let bars = [Engine::Dve, Engine::Sp].map(|e| Instruction::new(format!("bar-{e}"), Opcode::AllEngineBarrier, e));
    let mut down = add("down", "r", -1);
    down.sync.on_update.push(signal(2));
    let [a, b] = bars;
    let mut outer =
        Instruction::new("W", Opcode::DoWhile, Engine::All).with("cond", Value::Expr(Expr::Register("r".into())));
    outer.blocks.push(block("W-body", vec![inner, down, a, b, reset(2)]));
    module(vec![cells(), register("r", Engine::All, -1)], vec![start, outer])
}

// One test only: the counter is one for the process, and the harness allocates when a test ends.
#[test]
fn loop_trips_allocate_nothing() {
    none_per_trip(plain, IssueOrder::Window, 1_000_000);
    for schedule in [IssueOrder::Window, IssueOrder::Reference, IssueOrder::Seeded(3)] {
        none_per_trip(busy, schedule, 20_000);
        none_per_trip(dynamic, schedule, 20_000);
    }
}
