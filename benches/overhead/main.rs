//! What does one tiny instruction cost? And loading a large module?
//!
//! `cargo bench -p birsim-benches --bench overhead`

use birsim_benches::programs;
use birsim_engine::ir::Module;
use birsim_engine::ir::validate::resolve;
use birsim_engine::{Check, IssueOrder, Simulator, format};
use std::hint::black_box;
use std::num::NonZero;
use std::time::Instant;

const RUNS: usize = 5;

fn main() {
    // A smaller count serves instruction-level profilers.
    let n: usize = std::env::var("BIRSIM_BENCH_N").ok().and_then(|v| v.parse().ok()).unwrap_or(1_000_000);
    // First, so that memory kept from the runs does not hide its peak.
    load(n / 10);
    for (label, module) in [
        ("synchronised 1x1 instructions on 6 engines", programs::synchronised(n)),
        ("loop with one 1x1 instruction", one_in_a_loop(n as i64)),
        ("branches, registers, register_ap, loops", programs::controlled(n, false)),
        ("the same on queues that wait for each other", programs::controlled(n, true)),
    ] {
        for (name, schedule) in [("window", IssueOrder::Window), ("reference", IssueOrder::Reference)] {
            let best = (0..RUNS).map(|_| run(&module, schedule, &[])).min_by(|a, b| a.seconds.total_cmp(&b.seconds));
            let Some(best) = best else { continue };
            println!(
                "{} x {label:44} {name:10} {:6.2} M instructions/s, {:6.1} ns per tick",
                best.instructions,
                best.instructions as f64 / best.seconds / 1e6,
                best.seconds * 1e9 / best.ticks as f64
            );
        }
    }
    observers(n);
    session(n / 10);
}

/// What checkers cost when they are off: the code without observers is compiled apart, so what is left is one test per
/// tick of whether there are any. It is timed alone, and set against the shortest ticks, those of a loop with one
/// instruction. For comparison, the same loop with every checker on.
fn observers(n: usize) {
    let module = one_in_a_loop(n as i64);
    let best = |checks: &[Check]| {
        (0..RUNS).map(|_| run(&module, IssueOrder::Window, checks)).min_by(|a, b| a.seconds.total_cmp(&b.seconds))
    };
    let tests = 100_000_000u32;
    let nobody: Option<Box<u64>> = None;
    let start = Instant::now();
    for _ in 0..tests {
        if black_box(&nobody).is_some() {
            black_box(0);
        }
    }
    let test = start.elapsed().as_secs_f64() * 1e9 / f64::from(tests);
    let (Some(off), Some(on)) = (best(&[]), best(Check::ALL)) else { return };
    let tick = off.seconds * 1e9 / off.ticks as f64;
    println!(
        "checkers off: one test of {test:.2} ns per tick of {tick:.1} ns = {:.2} %; all checkers on: {:.1} times as long",
        test / tick * 100.0,
        on.seconds / off.seconds
    );
}

/// What appending costs on top of running: native instructions in blocks of 4,096, first over one tile, then with a tile of
/// its own for every instruction.
fn session(n: usize) {
    use birsim_engine::ir::opcodes::elementwise::field::TensorScalar as f;
    use birsim_engine::ir::{ApPair, Engine, MemoryType, Opcode};
    use birsim_engine::session::{Block, LocationId, LocationSpec, SourceId, View};
    use birsim_engine::world::FieldValue;
    use birsim_engine::{Session, Target};
    use birsim_kernels::{Dtype, Named, alu::AluOp};
    const BLOCK: usize = 4096;
    let one = [ApPair { step: 1, num: 1 }, ApPair { step: 1, num: 1 }];
    let location = |number| LocationId { core: 0, number };
    let spec = || LocationSpec::new("tile", MemoryType::Sb, Dtype::Float32, &[1, 8]);
    for (label, fresh) in [("one tile", false), ("a tile each", true)] {
        let Ok(mut session) = Session::new(Target::Trn2, 1) else { return };
        let (mut build, mut append, mut run) = (0.0, 0.0, 0.0);
        let mut block = Block::new();
        block.declare(location(0), spec());
        let mut tile = 0;
        for _ in 0..n.div_ceil(BLOCK) {
            let start = Instant::now();
            for _ in 0..BLOCK {
                let from = location(tile);
                if fresh {
                    tile += 1;
                    block.declare(location(tile), spec());
                }
                block
                    .instr(Opcode::TensorScalar, Engine::Dve, SourceId(0))
                    .input(View::new(from, Dtype::Float32, 0, &one))
                    .output(View::new(location(tile), Dtype::Float32, 0, &one))
                    .field(f::op0, FieldValue::Int(i64::from(AluOp::Add.ordinal())))
                    .field(f::const0, FieldValue::Float(1.0))
                    .field(f::reverse0, FieldValue::Int(0))
                    .field(f::op1, FieldValue::Int(i64::from(AluOp::Bypass.ordinal())))
                    .field(f::const1, FieldValue::Float(0.0))
                    .field(f::reverse1, FieldValue::Int(0));
                if fresh {
                    block.release(from);
                }
            }
            build += start.elapsed().as_secs_f64();
            let start = Instant::now();
            if let Err(e) = session.append(0, &block) {
                eprintln!("{e}");
                return;
            }
            append += start.elapsed().as_secs_f64();
            let start = Instant::now();
            if let Err(e) = session.run(0) {
                eprintln!("{e}");
                return;
            }
            run += start.elapsed().as_secs_f64();
            block.clear();
        }
        let each = |seconds: f64| seconds * 1e9 / (n.div_ceil(BLOCK) * BLOCK) as f64;
        println!(
            "session, {label}: {:.0} ns to build an instruction, {:.0} ns to append it, {:.0} ns to run it",
            each(build),
            each(append),
            each(run)
        );
    }
}

struct Took {
    seconds: f64,
    instructions: u64,
    ticks: u64,
}

fn run(module: &Module, schedule: IssueOrder, checks: &[Check]) -> Took {
    let nothing = Took { seconds: f64::NAN, instructions: 0, ticks: 1 };
    let sim = Simulator::builder().schedule(schedule).threads(1).checks(checks.iter().copied()).build();
    let Ok(mut sim) = sim else { return nothing };
    if let Err(e) = sim.load(module) {
        eprintln!("{e}");
        return nothing;
    }
    let zeros = vec![0; sim.tensors()[0].bytes as usize];
    if let Err(e) = sim.bind("cells", &zeros) {
        eprintln!("{e}");
    }
    let start = Instant::now();
    let ended = sim.run();
    let seconds = start.elapsed().as_secs_f64();
    // What checkers find is not the question here.
    if let Err(e) = &ended
        && checks.is_empty()
    {
        eprintln!("{e}");
        return nothing;
    }
    sim.summary().map_or(nothing, |s| Took { seconds, instructions: s.stats.instructions, ticks: s.stats.ticks.max(1) })
}

fn one_in_a_loop(trips: i64) -> Module {
    use birsim_engine::ir::{Engine, MemoryType, TensorKind};
    let body =
        vec![programs::step("I-0".into(), Engine::Dve, programs::cell("cells", 0), programs::cell("cells", 0), 0.5)];
    let cells = programs::tensor("cells", MemoryType::Sb, TensorKind::Internal, 1, 8);
    programs::module(vec![cells], vec![programs::repeat("i", trips, body)])
}

/// Time and peak memory to read and load a module of `n` instructions.
fn load(n: usize) {
    let text = format::write(&programs::synchronised(n));
    reset_peak();
    let before = peak_kib();
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let read = |threads: usize| {
        let start = Instant::now();
        let module = format::parse_all(text.as_bytes(), threads).ok().filter(|m| resolve(m).is_ok());
        (module, start.elapsed().as_secs_f64())
    };
    let (Some(module), parsed) = read(threads) else { return };
    let Ok(mut sim) = Simulator::builder().build() else { return };
    let start = Instant::now();
    if let Err(e) = sim.load(&module) {
        eprintln!("{e}");
        return;
    }
    let (compiled, peak) = (start.elapsed(), peak_kib().saturating_sub(before));
    let (Some(_), alone) = read(1) else { return };
    println!(
        "load {n} instructions ({:.1} MB of JSON): read {:.0} ms ({:.0} MB/s, on one thread {:.0} MB/s), compile and spawn {:.0} ms, peak memory +{} MiB",
        text.len() as f64 / 1e6,
        parsed * 1e3,
        text.len() as f64 / 1e6 / parsed,
        text.len() as f64 / 1e6 / alone,
        compiled.as_secs_f64() * 1e3,
        peak / 1024,
    );
}

/// Lets the peak start again from what is resident now; without effect where the system does not offer it.
fn reset_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Peak resident set of this process so far, in KiB; 0 where the system does not report it.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM:"));
    line.and_then(|l| l.split_whitespace().nth(1)).and_then(|v| v.parse().ok()).unwrap_or(0)
}
