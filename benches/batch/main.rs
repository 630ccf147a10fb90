//! What does one item of a batch cost, against a process for each?
//!
//! `cargo bench -p birsim-benches --bench batch`; `BIRSIM_BENCH_N` changes the number of items.
//!
//! The executable is the command itself, too: workers and the processes of the comparison are started from it.

use birsim_benches::programs;
use birsim_engine::format;
use birsim_engine::ir::{ApPair, Engine, Extra, MemoryType, Module, Opcode, Operand, PhysicalAp, TensorKind};
use birsim_kernels::Dtype;
use std::error::Error;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Items of a run.
const ITEMS: usize = 10_000;
/// Items of the comparison, whose cost per item does not depend on their number.
const COMPARED: usize = 1_000;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("run" | "batch" | "batch-worker") => birsim_cli::main(),
        _ => match measure() {
            Ok(()) => ExitCode::SUCCESS,
            Err(e) => {
                eprintln!("{e}");
                ExitCode::FAILURE
            }
        },
    }
}

fn measure() -> Outcome<()> {
    let n: usize = std::env::var("BIRSIM_BENCH_N").ok().and_then(|v| v.parse().ok()).unwrap_or(ITEMS);
    let dir = tempfile::tempdir()?;
    let at = dir.path();
    std::fs::write(at.join("x.npy"), npy(0.0))?;
    std::fs::write(at.join("g.npy"), npy(1.0))?;
    let cpus = std::thread::available_parallelism()?;
    println!("{cpus} CPUs; items per second (wall), CPU per item over all processes");

    for k in 0..n {
        std::fs::write(at.join(format!("p{k}.json")), format::write(&tiny(k)))?;
    }
    let distinct = batch(at, n, |k| format!("p{k}.json"), &[])?;
    let processes = xargs(at, n.min(COMPARED), |k| format!("p{k}.json"))?;
    row("distinct 3-instruction modules", &distinct, &processes);

    for k in 0..n {
        std::fs::write(at.join(format!("x{k}.npy")), npy(k as f32))?;
    }
    let one = batch_of_inputs(at, n)?;
    let processes = xargs(at, n.min(COMPARED), |_| "p0.json".into())?;
    row("one module, as many inputs", &one, &processes);

    std::fs::write(at.join("tiles.json"), format::write(&tiles(300)))?;
    for mode in ["physical", "symbolic"] {
        let m = batch(at, n / 50, |_| "tiles.json".into(), &["--mem-mode", mode, "--no-outputs", "--atol", "1"])?;
        println!(
            "300 instructions on 128 x 512 tiles, {mode}: {:.2} ms of CPU per item",
            m.cpu / (n / 50) as f64 * 1e3
        );
    }
    println!(
        "resident memory of a worker: {:.1} MiB after {} items, {:.1} MiB after {n}",
        growth(at, n / 10)?,
        n / 10,
        growth(at, n)?
    );
    Ok(())
}

/// What a number of items cost.
struct Cost {
    items: usize,
    wall: f64,
    cpu: f64,
    /// CPU of the supervisor alone.
    supervisor: Option<f64>,
}

fn row(what: &str, batch: &Cost, processes: &Cost) {
    let rate = |c: &Cost| c.items as f64 / c.wall;
    let each = |c: &Cost| c.cpu / c.items as f64 * 1e6;
    let alone =
        batch.supervisor.map_or(String::new(), |s| format!(", supervisor {:.0} us", s / batch.items as f64 * 1e6));
    println!(
        "{what}: batch {:.0}/s, {:.0} us{alone}; xargs -P 2 {:.0}/s, {:.0} us; {:.1} x",
        rate(batch),
        each(batch),
        rate(processes),
        each(processes),
        rate(batch) / rate(processes)
    );
}

fn batch(at: &Path, n: usize, program: impl Fn(usize) -> String, options: &[&str]) -> Outcome<Cost> {
    let lines = (0..n).fold(String::new(), |mut text, k| {
        let _ = writeln!(text, r#"{{"program":"{}","inputs":{{"x":"x.npy"}},"goldens":{{"o":"g.npy"}}}}"#, program(k));
        text
    });
    std::fs::write(at.join("m.jsonl"), lines)?;
    timed_batch(at, n, options)
}

/// One program with an input of its own for each item; goldens would differ from every one.
fn batch_of_inputs(at: &Path, n: usize) -> Outcome<Cost> {
    let lines = (0..n).fold(String::new(), |mut text, k| {
        let _ = writeln!(text, r#"{{"program":"p0.json","inputs":{{"x":"x{k}.npy"}}}}"#);
        text
    });
    std::fs::write(at.join("m.jsonl"), lines)?;
    timed_batch(at, n, &[])
}

fn timed_batch(at: &Path, n: usize, options: &[&str]) -> Outcome<Cost> {
    let _ = std::fs::remove_dir_all(at.join("out"));
    let (start, before) = (Instant::now(), children_cpu()?);
    let status = Command::new(std::env::current_exe()?)
        .args(["batch", "m.jsonl", "--out", "out", "--quiet", "--report", "r.json"])
        .args(options)
        .current_dir(at)
        .stdout(Stdio::null())
        .status()?;
    if !status.success() {
        return Err(format!("the batch ended with {status}").into());
    }
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(at.join("r.json"))?)?;
    let workers = report["stats"]["cpu_s"].as_f64().unwrap_or(0.0);
    let cpu = children_cpu()? - before;
    Ok(Cost { items: n, wall: start.elapsed().as_secs_f64(), cpu, supervisor: Some(cpu - workers) })
}

fn xargs(at: &Path, n: usize, program: impl Fn(usize) -> String) -> Outcome<Cost> {
    let exe = std::env::current_exe()?;
    let (start, before) = (Instant::now(), children_cpu()?);
    let mut child = Command::new("xargs")
        .args(["-P", "2", "-I", "{}"])
        .arg(&exe)
        .args(["run", "{}", "-q", "--input", "x=x.npy", "--golden", "o=g.npy", "--threads", "1"])
        .current_dir(at)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()?;
    let mut list = child.stdin.take().ok_or("no pipe")?;
    for k in 0..n {
        writeln!(list, "{}", program(k))?;
    }
    drop(list);
    if !child.wait()?.success() {
        return Err("a run failed".into());
    }
    Ok(Cost { items: n, wall: start.elapsed().as_secs_f64(), cpu: children_cpu()? - before, supervisor: None })
}

/// Resident memory of the only worker after the last of `n` items, in MiB, from its own statistics.
fn growth(at: &Path, n: usize) -> Outcome<f64> {
    let lines = (0..n).fold(String::new(), |mut text, k| {
        let _ = writeln!(text, r#"{{"program":"p{k}.json","inputs":{{"x":"x.npy"}},"goldens":{{"o":"g.npy"}}}}"#);
        text
    });
    let mut child = Command::new(std::env::current_exe()?)
        .args(["batch", "-", "--jobs", "1", "--no-outputs"])
        .current_dir(at)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let (mut ask, hear) = (child.stdin.take().ok_or("no pipe")?, child.stdout.take().ok_or("no pipe")?);
    let writer = std::thread::spawn(move || ask.write_all(lines.as_bytes()).map(|()| ask));
    let mut answers = std::io::BufRead::lines(std::io::BufReader::new(hear));
    for _ in 0..n {
        answers.next().ok_or("the batch ended early")??;
    }
    // The worker waits for its next item as long as the input is open.
    let ask = writer.join().map_err(|_| "the writer failed")??;
    let worker = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id()))?;
    let status = std::fs::read_to_string(format!("/proc/{}/status", worker.trim()))?;
    let kib = status.lines().find_map(|l| l.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse::<f64>().ok());
    drop(ask);
    child.wait()?;
    Ok(kib.ok_or("no VmRSS")? / 1024.0)
}

/// CPU seconds of all children that have ended, theirs included.
fn children_cpu() -> Outcome<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    // Fields 16 and 17 of proc(5), in ticks of 10 ms; the first two are cut off with the name.
    let ticks: f64 = fields[13].parse::<f64>()? + fields[14].parse::<f64>()?;
    Ok(ticks / 100.0)
}

/// A float32 `.npy` file of 2 x 2 equal elements.
fn npy(value: f32) -> Vec<u8> {
    let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }";
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((text.len() as u16).to_le_bytes());
    out.extend(text.as_bytes());
    out.extend([value; 4].iter().flat_map(|v| v.to_le_bytes()));
    out
}

fn whole(name: &str, rows: u64, cols: u64) -> Operand {
    Operand::Physical(PhysicalAp {
        dtype: Dtype::Float32,
        memref: name.into(),
        memsetref: "".into(),
        offset: 0,
        ap: vec![ApPair { step: cols as i64, num: rows as i64 }, ApPair { step: 1, num: cols as i64 }].into(),
        dynamic: None,
        extra: Extra::new(),
    })
}

/// Load, multiply by one, save; no two with the same bytes.
fn tiny(k: usize) -> Module {
    let t = |name: &str, ty, kind| programs::tensor(name, ty, kind, 2, 2);
    let storages = vec![
        t("x", MemoryType::Dram, TensorKind::ExternalInput),
        t("s", MemoryType::Sb, TensorKind::Internal),
        t("o", MemoryType::Dram, TensorKind::ExternalOutput),
    ];
    let at = |name| whole(name, 2, 2);
    let mut multiply = programs::step(format!("I-1-{k}"), Engine::Pool, at("s"), at("s"), 1.0);
    multiply.sync = Default::default();
    let instructions =
        vec![moved(format!("I-0-{k}"), at("x"), at("s")), multiply, moved(format!("I-2-{k}"), at("s"), at("o"))];
    programs::module(storages, instructions)
}

/// `n` additions over tiles of 128 x 512, then one element saved.
fn tiles(n: usize) -> Module {
    let mut storages = vec![
        programs::tensor("x", MemoryType::Dram, TensorKind::ExternalInput, 2, 2),
        programs::tensor("o", MemoryType::Dram, TensorKind::ExternalOutput, 2, 2),
    ];
    let mut instructions = Vec::new();
    let names: Vec<String> = (0..8).map(|k| format!("t{k}")).collect();
    for name in &names {
        storages.push(programs::tensor(name, MemoryType::Sb, TensorKind::Internal, 128, 512));
    }
    for k in 0..n {
        let (from, to) = (whole(&names[k % 8], 128, 512), whole(&names[(k + 1) % 8], 128, 512));
        instructions.push(programs::step(format!("I-{k}"), Engine::Pool, from, to, 1.0));
    }
    instructions.push(moved("save".into(), whole("x", 2, 2), whole("o", 2, 2)));
    programs::module(storages, instructions)
}

fn moved(name: String, from: Operand, to: Operand) -> birsim_engine::ir::Instruction {
    let mut i = programs::step(name, Engine::Dma, from, to, 0.0);
    i.opcode = Opcode::DMACopy;
    i.fields.clear();
    i
}
