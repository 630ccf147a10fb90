//! Cases made from bugs of other simulators, run through the command line: module, inputs, goldens, the options, the exit
//! codes that are right, and words that the messages must hold.

use crate::cases::{Closeness, Verdict};
use serde::Deserialize;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// `case.json` of a bug case, as far as the judgement needs it.
#[derive(Clone, Debug, Deserialize)]
struct BugCase {
    tolerance: Option<Closeness>,
    #[serde(default)]
    nan_bits: bool,
    #[serde(default)]
    inputs: Vec<String>,
    #[serde(default)]
    outputs: Vec<String>,
    /// The modules of several cores; `module.json` without it.
    #[serde(default)]
    modules: Vec<String>,
    /// Further options.
    #[serde(default)]
    args: Vec<String>,
    /// Right exit codes; 0 without any.
    #[serde(default)]
    exit_codes: Vec<i32>,
    /// Words of the messages.
    #[serde(default)]
    message_contains: Vec<String>,
    /// Codes of remarks that the report must hold.
    #[serde(default)]
    diagnostics: Vec<String>,
    /// Modules `core0.json`, `core1.json`, .. that run together.
    #[serde(default)]
    cores: usize,
    /// Most memory that the process may use.
    peak_mib: Option<u64>,
}

/// A program that has not ended after this time hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// Every case folder of a collection, sorted.
pub fn find(root: &Path) -> Vec<PathBuf> {
    let Ok(read) = std::fs::read_dir(root) else { return Vec::new() };
    let folders = read.filter_map(|e| e.ok().map(|e| e.path()));
    let mut out: Vec<PathBuf> = folders.filter(|p| p.join("case.json").is_file()).collect();
    out.sort();
    out
}

/// Runs a case with the command line at `birsim`, writing into `out`, and judges it. A second form of the module, in
/// program order, must give the same.
pub fn run(birsim: &Path, folder: &Path, out: &Path) -> Verdict {
    let text = std::fs::read_to_string(folder.join("case.json")).map_err(|e| e.to_string())?;
    let case: BugCase = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    let modules = match case.modules.as_slice() {
        [] if case.cores > 0 => (0..case.cores).map(|k| format!("core{k}.json")).collect(),
        [] => vec!["module.json".to_owned()],
        some => some.to_vec(),
    };
    judge(birsim, folder, out, &case, &modules)?;
    let other = "module.program_order.json";
    if folder.join(other).is_file() {
        judge(birsim, folder, out, &case, &[other.to_owned()]).map_err(|e| format!("{other}: {e}"))?;
    }
    Ok(())
}

fn judge(birsim: &Path, folder: &Path, out: &Path, case: &BugCase, modules: &[String]) -> Verdict {
    let mut command = Command::new(birsim);
    command.arg("run").args(modules).arg("--out").arg(out).args(&case.args).current_dir(folder);
    let bind = |option: &str, kind: &str, names: &[String]| -> Vec<String> {
        let file = |n: &String| format!("{kind}/{n}.npy");
        let there = names.iter().filter(|n| folder.join(file(n)).is_file());
        there.flat_map(|n| [option.to_owned(), format!("{n}={}", file(n))]).collect()
    };
    command.args(bind("--input", "inputs", &case.inputs)).args(bind("--golden", "golden", &case.outputs));
    let (rtol, atol) = match case.tolerance {
        Some(Closeness::Near { rtol, atol }) => (rtol, atol),
        _ => (0.0, 0.0),
    };
    command.arg(format!("--rtol={rtol}")).arg(format!("--atol={atol}"));
    if case.nan_bits {
        command.arg("--nan-bits");
    }
    let report = out.join("report.json");
    if !case.diagnostics.is_empty() {
        command.arg("--report").arg(&report);
    }
    let ended = end(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn())?;
    let allowed: &[i32] = if case.exit_codes.is_empty() { &[0] } else { &case.exit_codes };
    if !allowed.contains(&ended.code) {
        return Err(format!("ends with {}, expected {allowed:?}:\n{}", ended.code, ended.text));
    }
    // A run that ends well need not tell of a fault.
    if let Some(word) = case.message_contains.iter().find(|w| !ended.text.contains(*w)) {
        return Err(format!("does not say '{word}':\n{}", ended.text));
    }
    if !case.diagnostics.is_empty() {
        let text = std::fs::read_to_string(&report).map_err(|e| e.to_string())?;
        let report: serde_json::Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
        let remarks = report["diagnostics"].as_array().map_or(&[][..], Vec::as_slice);
        if let Some(code) = case.diagnostics.iter().find(|c| remarks.iter().all(|r| r["code"] != c.as_str())) {
            return Err(format!("the report does not hold the remark {code}"));
        }
    }
    match (case.peak_mib, ended.peak_mib) {
        (Some(most), Some(got)) if got > most => Err(format!("uses {got} MiB, more than {most}")),
        _ => Ok(()),
    }
}

struct Ended {
    code: i32,
    text: String,
    /// Where the system tells it.
    peak_mib: Option<u64>,
}

/// Waits for the end of a process; one that does not end is killed.
fn end(started: std::io::Result<Child>) -> Result<Ended, String> {
    let mut child = started.map_err(|e| e.to_string())?;
    let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
    let status = format!("/proc/{}/status", child.id());
    std::thread::scope(|s| {
        let out = s.spawn(|| text_of(&mut stdout));
        let err = s.spawn(|| text_of(&mut stderr));
        let (start, mut peak) = (Instant::now(), None);
        let code = loop {
            peak = resident_peak(&status).or(peak);
            match child.try_wait().map_err(|e| e.to_string())? {
                Some(status) => break status.code().unwrap_or(-1),
                None if start.elapsed() > PATIENCE => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err("does not end".to_owned());
                }
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        };
        let text = [out, err].map(|t| t.join().unwrap_or_default()).concat();
        Ok(Ended { code, text, peak_mib: peak })
    })
}

fn text_of(stream: &mut Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    // What a killed process has written is kept.
    let _ = stream.as_mut().map(|s| s.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The most memory a process has used so far.
fn resident_peak(status: &str) -> Option<u64> {
    let text = std::fs::read_to_string(status).ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib / 1024)
}
