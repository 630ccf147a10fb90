//! Programs that stay loaded between runs in one process.
//!
//! A batch worker runs the same program many times. What is kept is the modules after validation, and the simulated machine:
//! resetting it costs what the last run touched. A plain `birsim run` keeps nothing.

use crate::args::Run;
use crate::batch::key;
use crate::program::{Loaded, Source};
use birsim_engine::ir::spelling::misspelt;
use birsim_engine::{Cores, Remark};
use birsim_kernels::Result;

/// Most programs that stay loaded.
const MOST: usize = 8;
/// Programs larger than this in all do not stay.
const MOST_BYTES: usize = 64 << 20;

/// A program after validation.
pub struct Ready {
    /// Hash of the program's bytes.
    pub hash: [u8; 32],
    /// Files that it names.
    pub files: Vec<String>,
    /// Its modules and the remarks of lowering.
    pub loaded: Loaded,
    /// Remarks about its text.
    pub remarks: Vec<(Remark, String)>,
    /// The machine with the program on it, as the last run left it.
    pub sim: Option<Cores>,
    options: String,
    bytes: usize,
}

impl Ready {
    /// Collects what every run of a loaded program needs to know.
    pub fn new(loaded: Loaded) -> Ready {
        let notes = loaded.notes.iter().map(|n| (Remark::Lowering, n.clone()));
        let keys = loaded.modules.iter().flat_map(misspelt).map(|r| (Remark::MisspeltKey, r));
        let remarks = keys.chain(notes).collect();
        Ready { hash: [0; 32], files: Vec::new(), loaded, remarks, sim: None, options: String::new(), bytes: 0 }
    }
}

/// The programs that stay loaded.
#[derive(Default)]
pub struct Kept {
    /// Programs stay, each for runs with the same options only.
    options: Option<String>,
    /// Most recent last.
    programs: Vec<Ready>,
    /// The machine of a program that did not stay.
    spare: Option<Cores>,
    /// The run has got as far as a loaded program.
    loaded: bool,
}

impl Kept {
    /// Programs stay: the process serves many runs.
    pub fn keeps(&self) -> bool {
        self.options.is_some()
    }

    /// Begins a run with these options; its program stays.
    pub fn begin(&mut self, options: String) {
        (self.options, self.loaded) = (Some(options), false);
    }

    /// The program of the last run, when it was loaded without an error.
    pub fn last(&self) -> Option<&Ready> {
        self.programs.last().filter(|_| self.loaded)
    }

    /// The program from these sources: as it was kept, or loaded now.
    pub fn ready(&mut self, sources: &[Source], load: impl FnOnce() -> Result<Loaded>) -> Result<Ready> {
        let Some(options) = &self.options else { return load().map(Ready::new) };
        let hash = key::of_programs(sources);
        if let Some(k) = self.programs.iter().position(|p| p.hash == hash && &p.options == options) {
            return Ok(self.programs.remove(k));
        }
        let mut ready = Ready::new(load()?);
        ready.files = key::named_files(&ready.loaded.modules);
        (ready.hash, ready.options) = (hash, options.clone());
        ready.bytes = sources.iter().map(|s| s.bytes.len()).sum();
        Ok(ready)
    }

    /// Keeps a program for later runs.
    pub fn put(&mut self, ready: Ready) {
        if self.options.is_none() {
            return;
        }
        self.programs.push(ready);
        self.loaded = true;
        let total = |p: &[Ready]| p.iter().map(|r| r.bytes).sum::<usize>();
        while self.programs.len() > MOST || (self.programs.len() > 1 && total(&self.programs) > MOST_BYTES) {
            self.spare = self.programs.remove(0).sim;
        }
    }

    /// A machine that no program needs any more.
    pub fn spare(&mut self) -> Option<Cores> {
        self.spare.take()
    }

    /// A run whose machine can be used again: nothing watches it.
    pub fn machine_stays(&self, args: &Run) -> bool {
        let watched =
            !args.check.is_empty() || !args.dump.is_empty() || args.golden_trace.is_some() || args.fill.len() > 1;
        self.options.is_some() && !watched && args.allow_external_kernels.is_none()
    }
}
