//! What do many cores cost, beside what NumPy takes for the same data?
//!
//! `cargo bench -p birsim-benches --bench cores`. Times are CPU times of the process, best of several, of the run without
//! loading; memory is what the process has resident beyond what it had before the case.

use birsim_benches::programs::{cell, module, step, tensor};
use birsim_engine::ir::{
    AddressSpace, ApPair, CollectiveKind, Engine, Extra, Instruction, MemoryType, Module, Name, Opcode, Operand,
    PhysicalAp, Storage, TensorKind, Value,
};
use birsim_engine::{Code, Cores, Error, MemMode, Simulator};
use birsim_kernels::Dtype;
use birsim_kernels::alu::AluOp;
use std::collections::HashMap;
use std::ffi::OsString;
use std::process::Command;
use std::time::{Duration, Instant};

const RUNS: usize = 5;
/// Instructions of a heavy core, each over 65,536 elements.
const HEAVY: usize = 30_000;

fn main() -> Result<(), Error> {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("load {}", load.trim());
    let numpy = numpy();
    for (k, kind) in [CollectiveKind::AllReduce, CollectiveKind::PermuteImplicit].into_iter().enumerate() {
        let time = |ranks: usize| best(&|| exchange(kind, ranks));
        let (few, many) = (time(8)?, time(64)?);
        let beside = numpy.map_or_else(String::new, |n| {
            format!(", NumPy {:.2} ms: {:.1}x", ms(n[k]), many.cpu.as_secs_f64() / n[k].as_secs_f64())
        });
        println!(
            "{kind} fp32, 64 ranks x 512 KiB: {:.2} ms{beside}; +{} MiB; cost per rank, 64 against 8: {:.2}x",
            ms(many.cpu),
            many.grown >> 20,
            many.cpu.as_secs_f64() / 64.0 / (few.cpu.as_secs_f64() / 8.0)
        );
    }
    let rounds = 200;
    let (without, with) = (best(&|| barriers(rounds, 8))?, best(&|| barriers(rounds, 16 << 20))?);
    println!(
        "barrier round of 2 cores, 32 bytes written: {:.1} us; beside a 64 MiB shared tensor {:.1} us: {:.2}x",
        without.cpu.as_secs_f64() * 1e6 / rounds as f64,
        with.cpu.as_secs_f64() * 1e6 / rounds as f64,
        with.cpu.as_secs_f64() / without.cpu.as_secs_f64()
    );
    let untouched = best(&|| {
        let list = || vec![Instruction::new("b", Opcode::CoreBarrier, Engine::Pool)];
        load_all(vec![module(vec![shared("both", 256 << 20)], list()), module(vec![shared("both", 256 << 20)], list())])
    })?;
    println!(
        "1 GiB shared tensor, untouched, one barrier: {:.2} ms, +{} MiB",
        ms(untouched.cpu),
        untouched.grown >> 20
    );
    let input = best(&|| reads(32 << 20))?;
    println!("128 MiB shared input of which 2 cores read a part: +{} MiB", input.grown >> 20);
    let (symbolic, physical) = (best(&|| tiles(MemMode::Symbolic))?, best(&|| tiles(MemMode::Physical))?);
    println!(
        "64 cores, two 128 x 512 fp32 tiles each: symbolic {:.1} ms +{} MiB, physical {:.1} ms +{} MiB: {:.2}x",
        ms(symbolic.cpu),
        symbolic.grown >> 20,
        ms(physical.cpu),
        physical.grown >> 20,
        physical.cpu.as_secs_f64() / symbolic.cpu.as_secs_f64()
    );
    for cores in [2, 4, 8] {
        let (one, two) = (side_by_side(cores, 1)?, side_by_side(cores, 2)?);
        println!(
            "{cores} independent heavy cores: {:.0} ms on 1 thread, {:.0} ms on 2: {:.2}x; CPU {:.2}x, of which {:.0} % and {:.0} %",
            ms(one.wall),
            ms(two.wall),
            one.wall.as_secs_f64() / two.wall.as_secs_f64(),
            two.cpu.as_secs_f64() / one.cpu.as_secs_f64(),
            two.shares[0] * 100.0,
            two.shares[1] * 100.0
        );
    }
    Ok(())
}

fn ms(d: Duration) -> f64 {
    d.as_secs_f64() * 1e3
}

/// CPU times of AllReduce and Permute in NumPy, when it is there.
fn numpy() -> Option<[Duration; 2]> {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/cores/numpy_side.py");
    let out = Command::new(python).arg(script).env("OPENBLAS_NUM_THREADS", "1").output().ok()?;
    let text = String::from_utf8(out.stdout).ok()?;
    let mut words = text.split_whitespace();
    println!("NumPy {}", words.next()?);
    let mut next = || words.next()?.parse().ok().map(Duration::from_nanos);
    Some([next()?, next()?])
}

struct Cost {
    cpu: Duration,
    grown: u64,
}

/// CPU time of the process so far, with that of threads that have ended.
fn cpu() -> Duration {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

/// CPU times of the threads that there are, from the system's count in nanoseconds.
fn cpu_by_thread() -> HashMap<OsString, Duration> {
    let nanos = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten().filter_map(|t| {
        let text = std::fs::read_to_string(t.path().join("schedstat")).ok()?;
        Some((t.file_name(), Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?)))
    });
    nanos.collect()
}

fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = text.split_whitespace().nth(1).and_then(|p| p.parse().ok()).unwrap_or(0);
    pages * 4096
}

/// The cheapest of several runs of what `load` makes.
fn best(load: &dyn Fn() -> Result<Cores, Error>) -> Result<Cost, Error> {
    let mut out = Cost { cpu: Duration::MAX, grown: 0 };
    for _ in 0..RUNS {
        let before = resident();
        let mut cores = load()?;
        let start = cpu();
        cores.run()?;
        let spent = cpu() - start;
        out.grown = out.grown.max(resident().saturating_sub(before));
        out.cpu = out.cpu.min(spent);
    }
    Ok(out)
}

fn load_all(modules: Vec<Module>) -> Result<Cores, Error> {
    Cores::load(&Simulator::builder().threads(2), &modules)
}

fn shared(name: &str, elements: u64) -> Storage {
    let mut s = tensor(name, MemoryType::Dram, TensorKind::Internal, 1, elements);
    if let Storage::Set(set) = &mut s {
        set.addr_space = AddressSpace::Shared;
    }
    s
}

/// A rectangle of a tensor.
fn rows(name: &str, offset: i64, rows: i64, cols: i64, pitch: i64) -> Operand {
    Operand::Physical(PhysicalAp {
        dtype: Dtype::Float32,
        memref: name.into(),
        memsetref: Name::default(),
        offset,
        ap: vec![ApPair { step: pitch, num: rows }, ApPair { step: 1, num: cols }].into(),
        dynamic: None,
        extra: Extra::new(),
    })
}

fn exchange(kind: CollectiveKind, ranks: usize) -> Result<Cores, Error> {
    let mut cc = Instruction::new("cc", Opcode::CollectiveCompute, Engine::Pool)
        .with("kind", Value::named(kind))
        .with("op", Value::named(AluOp::Add));
    cc.ins.push(rows("x", 0, 128, 1024, 1024));
    cc.outs.push(rows("y", 0, 128, 1024, 1024));
    let storage = ["x", "y"].map(|n| tensor(n, MemoryType::Sb, TensorKind::Internal, 128, 1024)).to_vec();
    let program = module(storage, vec![cc]);
    let mut cores = Cores::load(&Simulator::builder().threads(2).ranks(ranks as u32), &[program])?;
    cores.bind("x", &vec![0x3f; 512 << 10])?;
    cores.bind("y", &vec![0; 512 << 10])?;
    Ok(cores)
}

fn barriers(count: usize, elements: u64) -> Result<Cores, Error> {
    let list = |core: i64| {
        let mut list = Vec::new();
        for k in 0..count {
            list.push(Instruction::new(format!("b{k}"), Opcode::CoreBarrier, Engine::Pool));
            let to = rows("both", core * 4, 1, 4, 8);
            let mut copy = Instruction::new(format!("c{k}"), Opcode::TensorCopy, Engine::Pool);
            copy.ins.push(rows("own", 0, 1, 4, 8));
            copy.outs.push(to);
            list.push(copy);
        }
        list
    };
    let own = || tensor("own", MemoryType::Sb, TensorKind::Internal, 1, 8);
    let mut cores = load_all((0..2).map(|k| module(vec![own(), shared("both", elements)], list(k))).collect())?;
    cores.bind("own", &[0; 32])?;
    Ok(cores)
}

fn reads(elements: u64) -> Result<Cores, Error> {
    let list = |core: i64| {
        let mut copy = Instruction::new("c", Opcode::TensorCopy, Engine::Pool);
        copy.ins.push(rows("big", core * 1024, 1, 1024, 1024));
        copy.outs.push(rows("own", 0, 1, 1024, 1024));
        vec![copy]
    };
    let own = || tensor("own", MemoryType::Sb, TensorKind::Internal, 1, 1024);
    let mut cores = load_all((0..2).map(|k| module(vec![own(), shared("big", elements)], list(k))).collect())?;
    cores.give_rank(0, "big", vec![1; 4 * elements as usize])?;
    Ok(cores)
}

fn tiles(mode: MemMode) -> Result<Cores, Error> {
    let tile = |name: &str, addr: u64| {
        let mut s = tensor(name, MemoryType::Sb, TensorKind::Internal, 128, 512);
        if let Storage::Set(set) = &mut s {
            (set.locations[0].addr, set.locations[0].allocated) = (addr, true);
        }
        s
    };
    let list = ["a", "b"].map(|n| {
        let mut i = step(n.into(), Engine::Pool, cell(n, 0), cell(n, 0), 1.0);
        i.ins = vec![rows(n, 0, 128, 512, 512)];
        i.outs = vec![rows(n, 0, 128, 512, 512)];
        i
    });
    let program = module(vec![tile("a", 0), tile("b", 2048)], list.to_vec());
    let mut cores = Cores::load(&Simulator::builder().threads(2).mem_mode(mode).ranks(64), &[program])?;
    for name in ["a", "b"] {
        cores.bind(name, &vec![0; 256 << 10])?;
    }
    Ok(cores)
}

/// What cores that do not meet cost side by side.
struct Side {
    wall: Duration,
    cpu: Duration,
    /// Of the CPU time, those of the two busiest threads.
    shares: [f64; 2],
}

/// The fastest of several runs. A run lasts long enough for the system to spread its threads over the CPUs, which takes it tens
/// of milliseconds.
fn side_by_side(cores: usize, threads: usize) -> Result<Side, Error> {
    let mut best: Option<Side> = None;
    let modules = heavy(cores);
    for _ in 0..3 {
        let mut all = Cores::load(&Simulator::builder().threads(threads), &modules)?;
        let (start, before) = (Instant::now(), cpu_by_thread());
        all.run()?;
        let wall = start.elapsed();
        let spent =
            cpu_by_thread().into_iter().map(|(t, n)| n.saturating_sub(before.get(&t).copied().unwrap_or_default()));
        let mut spent: Vec<Duration> = spent.collect();
        spent.sort_unstable_by(|a, b| b.cmp(a));
        let cpu: Duration = spent.iter().sum();
        let share = |k: usize| spent.get(k).map_or(0.0, |n| n.as_secs_f64() / cpu.as_secs_f64());
        if best.as_ref().is_none_or(|b| wall < b.wall) {
            best = Some(Side { wall, cpu, shares: [share(0), share(1)] });
        }
    }
    best.ok_or_else(|| Error::new(Code::B001, "nothing ran"))
}

/// Cores that work for themselves.
fn heavy(cores: usize) -> Vec<Module> {
    let one = |_| {
        let list = (0..HEAVY).map(|k| {
            let mut i = step(format!("s{k}"), Engine::Pool, cell("a", 0), cell("a", 0), 0.5);
            i.ins = vec![rows("a", 0, 1, 65536, 65536)];
            i.outs = vec![rows("a", 0, 1, 65536, 65536)];
            i
        });
        let fill = {
            let mut m = Instruction::new("fill", Opcode::Memset, Engine::Pool);
            m.outs.push(rows("a", 0, 1, 65536, 65536));
            m.with("mode", Value::named(birsim_engine::ir::MemsetMode::Const)).with("constant", 1i64)
        };
        let storage = vec![tensor("a", MemoryType::Dram, TensorKind::Internal, 1, 65536)];
        module(storage, std::iter::once(fill).chain(list).collect())
    };
    (0..cores).map(one).collect()
}
