//! Conformance cases: one folder each, with a module, inputs, goldens and `case.json`.

use birsim_cli::npy;
use birsim_engine::format;
use birsim_engine::{Error, Limits, Simulator};
use birsim_kernels::compare::{Tolerance, compare};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How close an output must come to its golden.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
pub enum Closeness {
    /// |got - golden| <= atol + rtol * |golden|.
    Near {
        /// Relative part, a fraction.
        rtol: f64,
        /// Absolute part.
        atol: f64,
    },
    /// Equal bits; any NaN equals any NaN.
    Exact(Exact),
}

/// The word `exact`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Exact {
    /// Equal bits.
    Exact,
}

/// `case.json`.
#[derive(Clone, Debug, Deserialize)]
pub struct Case {
    /// Name of the parent folder.
    pub family: String,
    /// `ok` or `error`.
    pub expect: String,
    /// How outputs are judged.
    #[serde(default)]
    pub tolerance: Option<Closeness>,
    /// NaN payloads count.
    #[serde(default)]
    pub nan_bits: bool,
    /// Input tensors.
    #[serde(default)]
    pub inputs: Vec<String>,
    /// Output tensors.
    #[serde(default)]
    pub outputs: Vec<String>,
    /// Accepted exit codes of error cases.
    #[serde(default)]
    pub exit_codes: Vec<i32>,
}

/// Every case folder below `root`, sorted.
pub fn find(root: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for family in entries(root) {
        out.extend(entries(&family).into_iter().filter(|c| c.join("case.json").is_file()));
    }
    out.sort();
    out
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let Ok(read) = std::fs::read_dir(dir) else { return Vec::new() };
    read.filter_map(|e| e.ok().map(|e| e.path())).filter(|p| p.is_dir()).collect()
}

/// Outcome of one case.
pub type Verdict = Result<(), String>;

/// Runs one case with the library and judges it.
pub fn run(folder: &Path, configure: &dyn Fn(birsim_engine::Builder) -> birsim_engine::Builder) -> Verdict {
    let text = std::fs::read_to_string(folder.join("case.json")).map_err(|e| e.to_string())?;
    let case: Case = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    match (execute(folder, &case, configure), case.expect.as_str()) {
        (Ok(code), _) if !case.exit_codes.is_empty() => {
            if case.exit_codes.contains(&code) {
                Ok(())
            } else {
                Err(format!("ends with {code}, expected {:?}", case.exit_codes))
            }
        }
        (Ok(0), "ok") => Ok(()),
        (Ok(code), _) => Err(format!("ends with {code}")),
        (Err(e), "error") if case.exit_codes.contains(&e.class().exit_code()) => Ok(()),
        (Err(e), _) => Err(e.to_string()),
    }
}

fn execute(
    folder: &Path,
    case: &Case,
    configure: &dyn Fn(birsim_engine::Builder) -> birsim_engine::Builder,
) -> Result<i32, Error> {
    let bytes =
        std::fs::read(folder.join("module.json")).map_err(|e| Error::new(birsim_engine::Code::F001, e.to_string()))?;
    let module = format::read(&bytes)?;
    let limits = Limits { max_instructions: Some(10_000_000), ..Limits::default() };
    let mut sim = configure(Simulator::builder().limits(limits)).build()?;
    sim.load(&module)?;
    for name in &case.inputs {
        let Some(info) = sim.tensors().iter().find(|t| t.name == *name).cloned() else { continue };
        let npy = npy::open(&folder.join("inputs").join(format!("{name}.npy")))?;
        let data = npy.into_tensor(info.dtype, &info.shape)?;
        sim.bind(name, &data)?;
    }
    sim.run()?;
    // What runs is not refused without its inputs.
    if let Some(refused) = sim.refusals()?.into_iter().find(|r| r.certain) {
        return Err(refused.error);
    }
    let mut code = 0;
    for name in &case.outputs {
        let Some(info) = sim.tensors().iter().find(|t| t.name == *name).cloned() else { continue };
        let got = sim.output(name)?;
        let path = folder.join("golden").join(format!("{name}.npy"));
        if !path.is_file() {
            continue;
        }
        let want = npy::open(&path)?.into_tensor(info.dtype, &info.shape)?;
        let tolerance = match case.tolerance {
            Some(Closeness::Near { rtol, atol }) => Tolerance { rtol, atol, nan_bits: case.nan_bits },
            _ => Tolerance { nan_bits: case.nan_bits, ..Tolerance::EXACT },
        };
        let c = compare(info.dtype, &got, &want, &tolerance);
        if c.mismatches > 0 || got.len() != want.len() {
            code = 1;
            if case.exit_codes.is_empty() {
                let at = c.first_mismatch.unwrap_or(0);
                let size = info.dtype.size();
                let hex = |b: &[u8]| b.get(at * size..(at + 1) * size).map(|b| format!("{b:02x?}")).unwrap_or_default();
                return Err(Error::new(
                    birsim_engine::Code::S008,
                    format!(
                        "output {name}: {} of {} elements differ, first at {at}: got {}, want {}",
                        c.mismatches,
                        c.elements,
                        hex(&got),
                        hex(&want)
                    ),
                ));
            }
        }
    }
    Ok(code)
}

/// Runs every case below `root`; returns (family, passed, failures).
pub fn run_all(
    root: &Path,
    configure: &dyn Fn(birsim_engine::Builder) -> birsim_engine::Builder,
) -> BTreeMap<String, (usize, Vec<String>)> {
    let mut out: BTreeMap<String, (usize, Vec<String>)> = BTreeMap::new();
    for folder in find(root) {
        let name = |p: Option<&Path>| {
            p.and_then(|p| p.file_name()).map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
        };
        let entry = out.entry(name(folder.parent())).or_default();
        match run(&folder, configure) {
            Ok(()) => entry.0 += 1,
            Err(e) => entry.1.push(format!("{}: {e}", name(Some(&folder)))),
        }
    }
    out
}
