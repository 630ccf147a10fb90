//! No file is written for two purposes, and none is written that the run reads: a golden that a run overwrites would
//! equal itself.

use crate::args::Run;
use crate::npy::encode_name;
use crate::tensors::{Decl, Origin, Plan};
use crate::usage::Usage;
use birsim_engine::Cores;
use birsim_engine::ir::Module;
use birsim_kernels::{Code, Error, Result};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// What tells that two paths lead to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Identity {
    /// An existing file, links followed.
    #[cfg(unix)]
    File(u64, u64),
    /// A place, links of its folder followed.
    Place(PathBuf),
}

/// Devices and pipes have none: they may be read and written by many.
fn identity(path: &Path) -> Option<Identity> {
    if let Ok(found) = std::fs::metadata(path) {
        if !found.is_file() {
            return None;
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            return Some(Identity::File(found.dev(), found.ino()));
        }
        #[cfg(not(unix))]
        return path.canonicalize().ok().map(Identity::Place);
    }
    let name = path.file_name()?;
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = folder.canonicalize().or_else(|_| std::path::absolute(folder)).ok()?;
    Some(Identity::Place(folder.join(name)))
}

/// A file and what the run needs it for.
#[derive(Debug)]
struct Use {
    what: String,
    path: PathBuf,
}

/// What was found out about paths. Asking the system costs more than a small run, so only paths that could meet are looked at:
/// a file that is there can have any name, but two that are not there are one only under one name.
#[derive(Default)]
struct Known<'a> {
    folders: HashMap<&'a Path, bool>,
    identities: HashMap<&'a Path, Option<Identity>>,
}

impl<'a> Known<'a> {
    /// Something is there under this path.
    fn is_there(&mut self, path: &'a Path) -> bool {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
        folder.is_none_or(|f| *self.folders.entry(f).or_insert_with(|| f.exists())) && path.exists()
    }

    fn identity(&mut self, path: &'a Path) -> Option<&Identity> {
        self.identities.entry(path).or_insert_with(|| identity(path)).as_ref()
    }

    /// The two paths lead to one file; `there` tells whether something is there under the first one.
    fn same(&mut self, path: &'a Path, there: bool, other: &'a Path) -> bool {
        if !there && path.file_name() != other.file_name() {
            return false;
        }
        let known = self.identity(path).cloned();
        known.is_some() && known.as_ref() == self.identity(other)
    }
}

/// The files of a run.
#[derive(Debug, Default)]
pub struct Paths {
    read: Vec<Use>,
    written: Vec<Use>,
}

impl Paths {
    /// The files that the options name.
    pub fn of(args: &Run) -> Paths {
        let mut paths = Paths::default();
        for program in args.program.iter().filter(|p| p.as_os_str() != "-") {
            paths.reads("the program", program);
        }
        args.input.iter().for_each(|(name, f)| paths.reads(&format!("the input {name}"), f));
        args.input_files.iter().chain(&args.inputs).for_each(|f| paths.reads("an input", f));
        args.golden.iter().for_each(|(name, f)| paths.reads(&format!("the golden of {name}"), f));
        args.output_files.iter().chain(&args.goldens).for_each(|f| paths.reads("a golden", f));
        let others = [
            ("--golden-trace", &args.golden_trace),
            ("--tensor-map", &args.tensor_map),
            ("--allow-external-kernels", &args.allow_external_kernels),
        ];
        for (what, path) in others {
            path.iter().for_each(|p| paths.reads(&format!("the file of {what}"), p));
        }
        for (what, path) in [("--report", &args.report), ("--junit", &args.junit), ("--trace", &args.trace)] {
            path.iter().for_each(|p| paths.writes(&format!("the file of {what}"), p));
        }
        for dump in &args.dump {
            let what = format!("the dump of {}", dump.tensor);
            paths.writes_tensor(&what, &dump.path(&args.out));
        }
        paths
    }

    /// Adds what only the program tells: files of inputs and goldens, outputs.
    pub fn tensors(&mut self, args: &Run, decls: &[Decl], inputs: &Plan, goldens: &Plan) {
        for (plan, word) in [(inputs, "input"), (goldens, "golden")] {
            for (decl, origin) in decls.iter().zip(&plan.origins) {
                if let Some(Origin::File(path) | Origin::Member(path, _)) = origin {
                    self.reads(&format!("the {word} of {}", decl.label()), path);
                }
            }
        }
        for decl in decls.iter().filter(|d| d.kind.is_output()) {
            let path = decl.folder(&args.out).join(format!("{}-birsim.npy", encode_name(&decl.name)));
            self.writes_tensor(&format!("the output {}", decl.label()), &path);
        }
    }

    fn reads(&mut self, what: &str, path: &Path) {
        self.read.push(Use { what: what.to_owned(), path: path.to_owned() });
    }

    fn writes(&mut self, what: &str, path: &Path) {
        self.written.push(Use { what: what.to_owned(), path: path.to_owned() });
    }

    /// A tensor file, and the side file that comes with it or is removed.
    fn writes_tensor(&mut self, what: &str, path: &Path) {
        self.writes(what, path);
        let mut side = path.as_os_str().to_owned();
        side.push(".meta");
        self.writes(&format!("the side file of {}", what.trim_start_matches("the ")), Path::new(&side));
    }

    /// Refuses the first file that is needed for two purposes.
    pub fn check(&self) -> Result<()> {
        let mut known = Known::default();
        for (k, w) in self.written.iter().enumerate() {
            let there = known.is_there(&w.path);
            if let Some(r) = self.read.iter().find(|u| known.same(&w.path, there, &u.path)) {
                let both = if r.path == w.path {
                    w.path.display().to_string()
                } else {
                    format!("{} is {}", w.path.display(), r.path.display())
                };
                return Err(Error::new(Code::F009, format!("{} would overwrite {}", w.what, r.what)).received(both));
            }
            if let Some(other) = self.written[..k].iter().find(|u| known.same(&w.path, there, &u.path)) {
                return Err(Error::new(Code::F009, format!("{} and {} are one file", other.what, w.what))
                    .received(w.path.display()));
            }
        }
        Ok(())
    }
}

/// An output that several cores write, each in memory of its own, cannot be one file.
pub fn one_core_per_output(sim: &Cores, modules: &[Module], decls: &[Decl]) -> Result<()> {
    let lnc = sim.lnc();
    if lnc < 2 {
        return Ok(());
    }
    let usage: Vec<Usage> = modules.iter().map(|m| Usage::of(std::slice::from_ref(m))).collect();
    for decl in decls.iter().filter(|d| d.kind.is_output()) {
        let first = decl.rank.unwrap_or(0) * lnc;
        let own = |core: usize| {
            let tensors = sim.cores().get(first + core).map_or(&[][..], |c| c.tensors());
            // The modules of one rank serve all, or each rank has its own.
            let module = if modules.len() == lnc { core } else { first + core };
            let writes = usage.get(module).is_some_and(|u| u.writes(decl));
            tensors.iter().any(|t| t.name == decl.name && !t.shared) && writes
        };
        let writers: Vec<String> = (0..lnc).filter(|c| own(*c)).map(|c| c.to_string()).collect();
        if writers.len() > 1 {
            return Err(Error::new(Code::F009, format!("the output {} is one file for several cores", decl.name))
                .received(format!("cores {} write it, each in memory of its own", writers.join(", ")))
                .advice("name the outputs of the cores differently, or declare the tensor as shared")
                .at(|p| p.tensor = Some(decl.name.clone())));
        }
    }
    Ok(())
}
