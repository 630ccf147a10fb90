//! How fast are whole kernels beside the same list of NumPy calls?
//!
//! `cargo bench -p birsim-benches --bench programs [-- PART_OF_A_NAME ..]` prints a table of times and ratios for one and
//! two threads, in physical and in symbolic memory, and writes it as JSON with `--json FILE`. `--baseline FILE` compares
//! with such a file and fails when a program has become slower by more than a quarter. `--small` runs everything once
//! in a small size. PERFORMANCE.md beside this file tells how to read the table.

mod build;
mod kernels;

use birsim_benches::numpy::Numpy;
use birsim_engine::{MemMode, Order, Simulator};
use kernels::Program;
use serde_json::{Value as Json, json};
use std::time::Instant;

const THREADS: [usize; 2] = [1, 2];
/// Each side runs this often; the best time counts.
const RUNS: usize = 5;
/// A program may be this much slower than in the baseline.
const LOSS: f64 = 1.25;

fn main() -> Result<(), String> {
    let mut args = std::env::args().skip(1).filter(|a| a != "--bench");
    let (mut small, mut json_file, mut baseline, mut wanted) = (false, None, None, Vec::new());
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--small" => small = true,
            "--json" => json_file = Some(args.next().ok_or("--json FILE")?),
            "--baseline" => baseline = Some(args.next().ok_or("--baseline FILE")?),
            part => wanted.push(part.to_string()),
        }
    }
    let mut sides: Vec<Option<Numpy>> = THREADS.map(|n| Numpy::of("programs", n).ok()).into();
    match sides[0].as_ref() {
        Some(n) => println!("{}; best of {RUNS} runs; ratio = NumPy time / birsim time", n.versions),
        None => println!("python3 with numpy is not there (pip install numpy): own times only"),
    }
    println!(
        "{:24} {:>7} {:>12} {:>12} {:>12} {:>8}",
        "program", "threads", "NumPy us", "physical us", "symbolic us", "ratio"
    );
    let runs = if small { 1 } else { RUNS };
    let mut rows = Vec::new();
    for program in kernels::all(small)? {
        let label = format!("{} {}", program.name, program.size);
        if !wanted.is_empty() && !wanted.iter().any(|w| label.contains(w.as_str())) {
            continue;
        }
        for (threads, numpy) in THREADS.into_iter().zip(&mut sides) {
            let theirs = numpy.as_mut().and_then(|n| {
                let there = n.has(&format!("{} {}", program.name, program.size));
                there.then(|| n.time(runs).ok()).flatten()
            });
            let physical = best(&program, threads, MemMode::Physical, runs)?;
            let symbolic = best(&program, threads, MemMode::Symbolic, runs)?;
            let ratio = theirs.map(|t| t / physical);
            let shown = |x: Option<f64>, scale: f64| x.map_or("-".into(), |x| format!("{:.2}", x * scale));
            println!(
                "{label:24} {threads:>7} {:>12} {:>12} {:>12} {:>8}",
                shown(theirs, 1e6),
                shown(Some(physical), 1e6),
                shown(Some(symbolic), 1e6),
                shown(ratio, 1.0)
            );
            rows.push(json!({
                "program": label, "threads": threads, "numpy_s": theirs, "physical_s": physical, "symbolic_s": symbolic,
                "ratio": ratio,
            }));
        }
    }
    if let Some(file) = json_file {
        std::fs::write(&file, format!("{:#}\n", Json::from(rows.clone()))).map_err(|e| format!("{file}: {e}"))?;
    }
    baseline.map_or(Ok(()), |file| compare(&file, &rows))
}

/// Best time of the run alone, of one repetition: each run has a new machine with its inputs bound.
fn best(program: &Program, threads: usize, mode: MemMode, runs: usize) -> Result<f64, String> {
    let mut best = f64::INFINITY;
    for _ in 0..runs {
        let builder = Simulator::builder().threads(threads).mem_mode(mode).order(Order::Program);
        let mut sim = builder.build().map_err(|e| e.to_string())?;
        sim.load(&program.module).map_err(|e| e.to_string())?;
        for (name, dtype, elements) in &program.inputs {
            sim.bind(name, &contents(dtype, *elements)).map_err(|e| e.to_string())?;
        }
        let start = Instant::now();
        sim.run().map_err(|e| format!("{}: {e}", program.name))?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best / program.trips as f64)
}

/// Numbers between -1 and 1.
fn contents(dtype: &str, elements: u64) -> Vec<u8> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    // The upper half of a float32 is a bfloat16.
    let skip = if build::size(dtype) == 2 { 2 } else { 0 };
    (0..elements).flat_map(|_| next().to_le_bytes().into_iter().skip(skip)).collect()
}

/// Fails when a program is much slower than in an earlier table.
fn compare(file: &str, rows: &[Json]) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
    let earlier: Vec<Json> = serde_json::from_str(&text).map_err(|e| format!("{file}: {e}"))?;
    let mut slower = Vec::new();
    for row in rows {
        let same = |r: &&Json| r["program"] == row["program"] && r["threads"] == row["threads"];
        let Some(before) = earlier.iter().find(same) else { continue };
        for key in ["physical_s", "symbolic_s"] {
            if let (Some(now), Some(then)) = (row[key].as_f64(), before[key].as_f64())
                && now > then * LOSS
            {
                slower.push(format!(
                    "{} on {} threads, {key}: {:.2} times",
                    row["program"],
                    row["threads"],
                    now / then
                ));
            }
        }
    }
    if slower.is_empty() { Ok(()) } else { Err(format!("slower than {file}:\n{}", slower.join("\n"))) }
}
