//! KLR sample files: those of this repository, and those of the folder that BIRSIM_KLR_CORPUS names.

use birsim_cli::npy;
use birsim_engine::ir::{Module, TensorKind};
use birsim_engine::{Code, Cores, Error, Limits, Simulator};
use birsim_klr::ast::Contents;
use birsim_klr::{LowerOptions, Lowered};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// One KLR file.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Path below the collection, without extension.
    pub name: String,
    /// Folder of the file: relative names of the kernel start here.
    pub folder: PathBuf,
    /// Contents.
    pub bytes: Vec<u8>,
}

/// `case.json` of a folder.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Case {
    /// Input tensors.
    #[serde(default)]
    pub inputs: Vec<String>,
    /// Output tensors with expected values; none means that any result will do.
    #[serde(default)]
    pub outputs: Vec<String>,
    /// Relative tolerance, a fraction.
    #[serde(default)]
    pub rtol: f64,
    /// Absolute tolerance.
    #[serde(default)]
    pub atol: f64,
    /// Folder of the tensor files, when it is another one.
    #[serde(default)]
    pub data: Option<String>,
}

/// The sample of this name.
pub fn sample(name: &str) -> Sample {
    samples().into_iter().find(|s| s.name == name).unwrap_or_else(|| panic!("no sample {name}"))
}

/// Every sample. A file of the named folder takes the place of its copy here.
pub fn samples() -> Vec<Sample> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeMap::new();
    let mut roots = vec![here.join("data/klr-corpus")];
    roots.extend(std::env::var_os("BIRSIM_KLR_CORPUS").map(PathBuf::from));
    for root in roots {
        for group in entries(&root) {
            for folder in entries(&group) {
                for file in entries(&folder).into_iter().filter(|f| f.extension().is_some_and(|e| e == "klr")) {
                    let name = file.strip_prefix(&root).unwrap_or(&file).with_extension("");
                    let name = name.to_string_lossy().into_owned();
                    let Ok(bytes) = std::fs::read(&file) else { continue };
                    found.insert(name.clone(), Sample { name, folder: folder.clone(), bytes });
                }
            }
        }
    }
    found.into_values().collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(read) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut out: Vec<PathBuf> = read.filter_map(|e| e.ok().map(|e| e.path())).collect();
    out.sort();
    out
}

impl Sample {
    /// `case.json`; empty when there is none.
    pub fn case(&self) -> Case {
        let text = std::fs::read_to_string(self.folder.join("case.json"));
        text.map_or_else(|_| Case::default(), |t| serde_json::from_str(&t).expect("case.json reads"))
    }

    /// Lowers the kernel; `None` when the file holds something else.
    pub fn lower(&self) -> Option<Result<Lowered, Vec<Error>>> {
        self.lower_with(&LowerOptions::default())
    }

    /// The same with options.
    pub fn lower_with(&self, options: &LowerOptions) -> Option<Result<Lowered, Vec<Error>>> {
        let file = birsim_klr::read(&self.bytes).unwrap_or_else(|e| panic!("{}: {e}", self.name));
        let Contents::Program(program) = file.contents else { return None };
        Some(birsim_klr::lower(&program, options))
    }

    /// Runs modules of this kernel. Inputs without a file are zeros.
    pub fn run(&self, modules: &[Module], threads: usize) -> Result<Finished, Error> {
        let case = self.case();
        let folder = case.data.as_ref().map_or(self.folder.clone(), |d| self.folder.join(d));
        let limits = Limits { max_instructions: Some(1_000_000), ..Limits::default() };
        let mut cores = Cores::load(&Simulator::builder().threads(threads).limits(limits), modules)?;
        for t in cores.tensors() {
            let path = match t.kind {
                k if k.is_input() => {
                    let stem = t.name.strip_suffix(".must_alias_input").unwrap_or(&t.name);
                    folder.join(format!("in_{stem}.npy"))
                }
                // Constants are files in the kernel's own folder.
                TensorKind::Const if !t.file.is_empty() => self.folder.join(&t.file),
                _ => continue,
            };
            let bytes = if path.is_file() {
                npy::open(&path)?.into_tensor(t.dtype, &t.shape)?
            } else if case.inputs.contains(&t.name) && !case.outputs.is_empty() {
                return Err(Error::new(Code::F001, format!("{} is missing", path.display())));
            } else {
                vec![0; t.logical_bytes().and_then(|n| usize::try_from(n).ok()).unwrap_or(0)]
            };
            cores.bind(&t.name, &bytes)?;
        }
        cores.run()?;
        let mut outputs = Vec::new();
        for t in cores.tensors().into_iter().filter(|t| t.kind.is_output()) {
            let bytes = cores.output(&t.name)?;
            let golden = folder.join(format!("out_{}.npy", t.name));
            let golden = case.outputs.contains(&t.name).then_some(golden);
            let golden = golden.map(|g| npy::open(&g)?.into_tensor(t.dtype, &t.shape)).transpose()?;
            outputs.push(Output { name: t.name, dtype: t.dtype, bytes, golden });
        }
        Ok(Finished { outputs, rtol: case.rtol, atol: case.atol })
    }
}

/// Results of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// Output tensors.
    pub outputs: Vec<Output>,
    /// Relative tolerance, a fraction.
    pub rtol: f64,
    /// Absolute tolerance.
    pub atol: f64,
}

/// One output tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Name.
    pub name: String,
    /// Element type.
    pub dtype: birsim_kernels::Dtype,
    /// What the run gave.
    pub bytes: Vec<u8>,
    /// What is expected.
    pub golden: Option<Vec<u8>>,
}
