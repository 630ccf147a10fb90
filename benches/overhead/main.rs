//! What does one tiny instruction cost? And loading a large module?
//!
//! `cargo bench -p birsim-benches --bench overhead`

use birsim_benches::programs;
use birsim_engine::ir::Module;
use birsim_engine::{Schedule, Simulator, format};
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
    ] {
        for (name, schedule) in [("window", Schedule::Window), ("reference", Schedule::Reference)] {
            let best = (0..RUNS).map(|_| run(&module, schedule)).fold(f64::INFINITY, f64::min);
            println!("{n} x {label:44} {name:10} {:6.2} M instructions/s", n as f64 / best / 1e6);
        }
    }
}

fn run(module: &Module, schedule: Schedule) -> f64 {
    let Ok(mut sim) = Simulator::builder().schedule(schedule).threads(1).build() else { return f64::NAN };
    if let Err(e) = sim.load(module) {
        eprintln!("{e}");
        return f64::NAN;
    }
    let zeros = vec![0; sim.tensors()[0].bytes as usize];
    if let Err(e) = sim.bind("cells", &zeros) {
        eprintln!("{e}");
    }
    let start = Instant::now();
    if let Err(e) = sim.run() {
        eprintln!("{e}");
        return f64::NAN;
    }
    start.elapsed().as_secs_f64()
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
    let start = Instant::now();
    let read = format::read(text.as_bytes());
    let parsed = start.elapsed();
    let Ok(module) = read else { return };
    let Ok(mut sim) = Simulator::builder().build() else { return };
    let start = Instant::now();
    if let Err(e) = sim.load(&module) {
        eprintln!("{e}");
        return;
    }
    println!(
        "load {n} instructions ({:.1} MB of JSON): read {:.0} ms ({:.0} MB/s), compile and spawn {:.0} ms, peak memory +{} MiB",
        text.len() as f64 / 1e6,
        parsed.as_secs_f64() * 1e3,
        text.len() as f64 / 1e6 / parsed.as_secs_f64(),
        start.elapsed().as_secs_f64() * 1e3,
        peak_kib().saturating_sub(before) / 1024,
    );
}

/// Lets the peak start again from what is resident now; without effect where the system does not offer it.
fn reset_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Peak resident set of this process so far, in KiB; 0 where the system does not tell.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM:"));
    line.and_then(|l| l.split_whitespace().nth(1)).and_then(|v| v.parse().ok()).unwrap_or(0)
}
