//! `birsim.run`: programs that come from files, without tracing anything.

use crate::dtype::Dt;
use crate::errors::fault;
use crate::worker::{Failure, wait};
use birsim_cli::program::{self, Bytes, Source};
use birsim_cli::tensors::Decl;
use birsim_cli::usage::{Usage, entry_sets};
use birsim_engine::ir::{Arch, Module};
use birsim_engine::{Check, Cores, IssueOrder, Limits, MemMode, Order, RunSummary, Simulator, Target};
use birsim_kernels::{Code, Error, Named, Profile};
use birsim_klr::LowerOptions;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A loaded program.
#[pyclass(frozen)]
pub struct Run {
    cores: Arc<Mutex<Cores>>,
    modules: Vec<Module>,
    notes: Vec<String>,
    cancel: Arc<AtomicBool>,
}

fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One of several words.
fn word<T: Copy>(name: &str, given: Option<&str>, words: &[(&str, T)]) -> PyResult<T> {
    let given = given.unwrap_or(words[0].0);
    words.iter().find(|(w, _)| *w == given).map(|(_, v)| *v).ok_or_else(|| {
        let list: Vec<&str> = words.iter().map(|(w, _)| *w).collect();
        PyValueError::new_err(format!("{name}={given:?}: {name} is one of {}", list.join(", ")))
    })
}

/// The error that the others of a program are lesser than, with all their texts.
fn gravest(mut errors: Vec<Error>) -> Error {
    program::gravest_last(&mut errors);
    errors.pop().unwrap_or_else(|| Error::new(Code::B001, "loading failed without an error"))
}

/// The options of a run, by the names of the command line.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Options {
    target: Option<String>,
    threads: Option<usize>,
    seed: Option<u64>,
    order: Option<String>,
    schedule: Option<String>,
    schedule_seed: Option<u64>,
    mem_mode: Option<String>,
    profile: Option<String>,
    set: Vec<(String, String)>,
    check: Vec<String>,
    fill: Option<u8>,
    strict: bool,
    accept_abstract: bool,
    max_memory: Option<u64>,
    max_instructions: Option<u64>,
    timeout: Option<f64>,
}

impl Options {
    fn target(&self) -> PyResult<Option<Target>> {
        let Some(name) = &self.target else { return Ok(None) };
        let known = Target::from_name(name).or_else(|| Target::of(Some(Arch::from_name(name)?)).ok());
        let none = || PyValueError::new_err(format!("target={name:?}: targets are inf1, trn1, trn2 and trn3"));
        known.map(Some).ok_or_else(none)
    }

    fn builder(&self, py: Python<'_>, cancel: &Arc<AtomicBool>) -> PyResult<birsim_engine::Builder> {
        let presets = [("reference", Profile::reference as fn() -> Profile), ("device", Profile::device)];
        let mut profile = word("profile", self.profile.as_deref(), &presets)?();
        for (field, value) in &self.set {
            profile.set(field, value).map_err(|e| fault(py, &e, None))?;
        }
        let seconds = self.timeout.map(Duration::try_from_secs_f64).transpose();
        let seconds = seconds.map_err(|_| PyValueError::new_err("timeout is a number of seconds"))?;
        let limits = Limits {
            max_memory: self.max_memory,
            max_instructions: self.max_instructions,
            deadline: seconds.and_then(|t| Instant::now().checked_add(t)),
            cancel: Some(cancel.clone()),
            ..Limits::default()
        };
        let orders = [("auto", Order::Auto), ("sync", Order::Sync), ("program", Order::Program)];
        let schedules = [("window", IssueOrder::Window), ("reference", IssueOrder::Reference)];
        let memories = [("auto", MemMode::Auto), ("symbolic", MemMode::Symbolic), ("physical", MemMode::Physical)];
        let mut checks = Vec::new();
        for name in &self.check {
            let none = || {
                let names: Vec<&str> = Check::ALL.iter().map(|c| c.name()).collect();
                PyValueError::new_err(format!("check={name:?}: checkers are {}", names.join(", ")))
            };
            checks.push(Check::from_name(name).ok_or_else(none)?);
        }
        let schedule = word("schedule", self.schedule.as_deref(), &schedules)?;
        let mut b = Simulator::builder()
            .order(word("order", self.order.as_deref(), &orders)?)
            .schedule(self.schedule_seed.map_or(schedule, IssueOrder::Seeded))
            .mem_mode(word("mem_mode", self.mem_mode.as_deref(), &memories)?)
            .profile(profile)
            .limits(limits)
            .checks(checks)
            .strict(self.strict);
        if let Some(target) = self.target()? {
            b = b.target(target);
        }
        if let Some(n) = self.threads {
            b = b.threads(n);
        }
        if let Some(n) = self.seed {
            b = b.seed(n);
        }
        Ok(match self.fill {
            Some(byte) => b.fill(byte),
            None => b,
        })
    }
}

#[pymethods]
impl Run {
    /// Loads the programs: one file, or one module per core.
    #[new]
    fn new(py: Python<'_>, programs: Vec<(String, Vec<u8>)>, options: &Bound<'_, PyDict>) -> PyResult<Run> {
        let options: Options = options.extract()?;
        let source =
            |(name, bytes): (String, Vec<u8>)| Source { name, folder: PathBuf::from("."), bytes: Bytes::Read(bytes) };
        let sources: Vec<Source> = programs.into_iter().map(source).collect();
        if sources.is_empty() {
            return Err(PyTypeError::new_err("a run needs a program"));
        }
        let lower = LowerOptions {
            arch: options.target()?.map(Target::arch),
            strict: options.strict,
            accept_abstract: options.accept_abstract,
            ..LowerOptions::default()
        };
        let cancel = Arc::new(AtomicBool::new(false));
        let builder = options.builder(py, &cancel)?;
        let loaded = py.detach(|| -> Result<_, Error> {
            let loaded = program::load_all(&sources, &lower).map_err(gravest)?;
            let cores = Cores::load(&builder, &loaded.modules)?;
            Ok((loaded, cores))
        });
        let (loaded, cores) = loaded.map_err(|e| fault(py, &e, None))?;
        Ok(Run { cores: Arc::new(Mutex::new(cores)), modules: loaded.modules, notes: loaded.notes, cancel })
    }

    /// (name, type, shape, is an input that must be given, is an output) of the tensors of the entry function.
    fn tensors(&self) -> Vec<(String, &'static str, Vec<u64>, bool, bool)> {
        let used = Usage::of(&self.modules);
        let own = entry_sets(&self.modules);
        let all = lock(&self.cores).tensors();
        let mine = all.into_iter().filter(|t| own.contains(t.set.as_str()));
        mine.map(|t| {
            let decl = Decl {
                rank: None,
                name: t.name,
                set: t.set,
                by_set: false,
                kind: t.kind,
                dtype: t.dtype,
                shape: t.shape,
                file: t.file,
            };
            let needed = used.needs(&decl);
            (decl.name, Dt::of_bir(decl.dtype).name(), decl.shape, needed, decl.kind.is_output())
        })
        .collect()
    }

    /// Writes a tensor.
    fn bind(&self, py: Python<'_>, name: &str, data: &[u8]) -> PyResult<()> {
        lock(&self.cores).bind(name, data).map_err(|e| fault(py, &e, None))
    }

    /// Runs the program to its end. The GIL is free meanwhile; a signal handler that raises ends the run.
    fn run(&self, py: Python<'_>) -> PyResult<()> {
        let (reply, answer) = sync_channel(1);
        let cores = self.cores.clone();
        let thread = std::thread::Builder::new().name("birsim".into()).spawn(move || {
            // Nobody listens any more when the caller was interrupted.
            let _ = reply.send(lock(&cores).run());
        });
        let thread =
            thread.map_err(|e| fault(py, &Error::new(Code::F008, format!("a thread cannot be started: {e}")), None))?;
        let outcome = wait(py, answer, &self.cancel).map(|_| ()).map_err(|e| match e {
            Failure::Engine(e) => fault(py, &e, None),
            Failure::Signal(e) => e,
        });
        // A panic of the thread has been answered for above.
        let _ = py.detach(|| thread.join());
        outcome
    }

    /// The bytes of a tensor.
    fn output<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyBytes>> {
        let data = lock(&self.cores).output(name).map_err(|e| fault(py, &e, None))?;
        Ok(PyBytes::new(py, &data))
    }

    /// Counters of the run.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        let summaries = lock(&self.cores).summaries();
        let Some(all) = RunSummary::merged(&summaries) else { return Ok(out) };
        out.set_item("target", all.target.to_string())?;
        out.set_item("cores", summaries.len())?;
        out.set_item("order", all.order)?;
        out.set_item("memory", if all.physical { "physical" } else { "symbolic" })?;
        out.set_item("instructions", all.stats.instructions)?;
        out.set_item("ticks", all.stats.ticks)?;
        out.set_item("bytes_touched", all.stats.touched)?;
        let counts = PyDict::new(py);
        for (opcode, n) in all.opcodes() {
            counts.set_item(opcode.name(), n)?;
        }
        out.set_item("opcodes", counts)?;
        let prints: Vec<&str> = all.prints.iter().map(|p| p.text.as_str()).collect();
        out.set_item("prints", prints)?;
        Ok(out)
    }

    /// Remarks of the loading and of the run.
    fn warnings(&self) -> Vec<String> {
        let summaries = lock(&self.cores).summaries();
        let remarks = summaries.iter().flat_map(|s| &s.diagnostics);
        self.notes.iter().cloned().chain(remarks.map(|d| format!("{}: {}", d.code, d.message))).collect()
    }
}
