//! A session: the streams of its cores, the names and places they refer to, and when they are handed to the engine.

use crate::backend::{Backend, Settings, stuck};
use crate::errors;
use crate::op::{Decl, Op, Region, Role, Step};
use crate::source::{Source, Sources};
use crate::tensor::Storage;
use crate::worker::{Failure, Worker};
use birsim_engine::session::Progress;
use birsim_kernels::{Dtype, Error};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use smallvec::SmallVec;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Instructions that are collected before they are handed to the engine.
const BLOCK: usize = 4096;
/// Bytes of dropped tensors that are kept before the engine runs what still names them.
const DROPPED: u64 = 64 << 20;

/// Name, shape, type and memory: what the cores of a logical core share a tensor by.
type SharedKey = (String, SmallVec<[i64; 5]>, Dtype, Region);

/// One core's instructions that have not run.
#[derive(Default)]
pub struct Stream {
    steps: Vec<Step>,
    ops: usize,
    dropped: u64,
    /// Bodies of loops that are being traced, innermost last.
    bodies: Vec<Vec<Op>>,
    /// Identity matrices by type.
    identities: Vec<(Dtype, Arc<Storage>)>,
    /// What a running combination continues from.
    accumulator: Option<Arc<Storage>>,
    /// Barriers so far.
    barriers: i64,
    /// Shared tensors that this core has asked for, by key.
    asked: HashMap<SharedKey, usize>,
}

/// What changes while a kernel is traced.
pub struct State {
    streams: Vec<Stream>,
    names: HashMap<String, u32>,
    shared: HashMap<SharedKey, Vec<Arc<Storage>>>,
    /// Whole tensors, for the export of a module.
    storages: u32,
}

/// A session, shared by its tensors and registers.
pub struct Session {
    /// What it runs for.
    pub settings: Settings,
    /// Every call runs at once.
    pub eager: bool,
    /// Nothing runs: the program is wanted, not its results.
    pub whole: bool,
    /// The kernel was launched with a number of programs.
    pub grid: bool,
    state: Mutex<State>,
    /// Started with the first block.
    engine: Mutex<Option<Arc<Worker>>>,
    sources: Arc<Mutex<Sources>>,
    /// Python callable that lets the other core go on; it says whether that one got any further.
    baton: Mutex<Option<Py<PyAny>>>,
    registers: AtomicU32,
    /// An error left a kernel or the engine: what is pending is thrown away.
    dead: AtomicBool,
}

thread_local! {
    static CURRENT: RefCell<Option<(Arc<Session>, u32)>> = const { RefCell::new(None) };
    /// Number of the place that calls count as made from; 0 is where Python is.
    static PINNED: Cell<u32> = const { Cell::new(0) };
}

/// The session and core that this thread traces.
pub fn current() -> Option<(Arc<Session>, u32)> {
    CURRENT.with_borrow(Clone::clone)
}

/// Replaces what this thread traces.
pub fn enter(what: Option<(Arc<Session>, u32)>) -> Option<(Arc<Session>, u32)> {
    CURRENT.with_borrow_mut(|c| std::mem::replace(c, what))
}

/// Number of the place that Python is at; 0 outside of kernels.
#[pyfunction]
pub fn mark(py: Python<'_>) -> u32 {
    current().map_or(0, |(session, _)| session.source(py))
}

/// Makes later calls of this thread count as made from a place, until 0 is pinned; gives what was pinned before.
#[pyfunction]
pub fn pin(place: u32) -> u32 {
    PINNED.replace(place)
}

/// The session and core that this thread traces, or an error that says how to start one.
pub fn here(what: &str) -> PyResult<(Arc<Session>, u32)> {
    current().ok_or_else(|| {
        PyRuntimeError::new_err(format!(
            "{what} was called outside of a kernel; run the kernel with nki.simulate(kernel)(...)"
        ))
    })
}

fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Session {
    /// A session without tensors.
    pub fn new(settings: Settings, eager: bool, whole: bool, grid: bool) -> Session {
        let cores = settings.cores as usize;
        Session {
            settings,
            eager,
            whole,
            grid,
            state: Mutex::new(State {
                streams: (0..cores).map(|_| Stream::default()).collect(),
                names: HashMap::new(),
                shared: HashMap::new(),
                storages: 0,
            }),
            engine: Mutex::new(None),
            sources: Arc::default(),
            baton: Mutex::new(None),
            registers: AtomicU32::new(0),
            dead: AtomicBool::new(false),
        }
    }

    /// Number of the place that Python is at, or of the one that is pinned.
    pub fn source(&self, py: Python<'_>) -> u32 {
        match PINNED.get() {
            0 => lock(&self.sources).here(py),
            pinned => pinned,
        }
    }

    /// The type that elements of a type are kept in.
    pub fn stored(&self, dtype: Dtype) -> Dtype {
        match dtype.is_integer() || dtype.is_packed() || dtype.size() > 2 || dtype == Dtype::Float8E8m0fnu {
            false if !self.settings.precise => Dtype::Float32,
            _ => dtype,
        }
    }

    /// The place of a number.
    pub fn place(&self, id: u32) -> Option<Source> {
        lock(&self.sources).get(id)
    }

    /// The place written as `file:line`.
    pub fn find(&self, text: &str) -> Option<Source> {
        lock(&self.sources).find(text)
    }

    /// Declares a tensor on a core. Shared tensors of several cores are paired by name, shape and type, in the order in
    /// which each core asks for them.
    pub fn declare(
        self: &Arc<Self>,
        core: u32,
        name: &str,
        shape: SmallVec<[i64; 5]>,
        dtype: Dtype,
        region: Region,
        role: Role,
    ) -> Arc<Storage> {
        self.declare_at(core, name, shape, dtype, region, role, None)
    }

    /// Declares a tensor whose author asked for a place on chip.
    #[expect(clippy::too_many_arguments, reason = "the fields of a declaration")]
    pub fn declare_at(
        self: &Arc<Self>,
        core: u32,
        name: &str,
        shape: SmallVec<[i64; 5]>,
        dtype: Dtype,
        region: Region,
        role: Role,
        address: Option<(i64, i64)>,
    ) -> Arc<Storage> {
        let mut state = lock(&self.state);
        let paired = region == Region::SharedHbm && self.settings.cores > 1 && role != Role::Input;
        let key = paired.then(|| (name.to_owned(), shape.clone(), dtype, region));
        if let Some(key) = &key {
            let asked = state.streams[core as usize].asked.entry(key.clone()).or_default();
            let nth = *asked;
            *asked += 1;
            if let Some(found) = state.shared.get(key).and_then(|l| l.get(nth)) {
                return found.clone();
            }
        }
        let loc = state.storages;
        state.storages += 1;
        let base = if name.is_empty() { region.name() } else { name };
        let unique = match state.names.get_mut(base) {
            None if !name.is_empty() => base.to_owned(),
            Some(n) => {
                *n += 1;
                format!("{base}_{n}")
            }
            None => format!("{base}_0"),
        };
        state.names.entry(base.to_owned()).or_insert(0);
        if unique != base {
            state.names.entry(unique.clone()).or_insert(0);
        }
        let storage = Arc::new(Storage::new(self.clone(), core, loc, unique.clone(), shape.clone(), dtype, region));
        let decl = Decl { loc, name: unique, region, dtype: self.stored(dtype), shape, role, address };
        let all = region == Region::SharedHbm || (role == Role::Input && region == Region::Hbm);
        for (k, stream) in state.streams.iter_mut().enumerate() {
            if all || k == core as usize {
                stream.steps.push(Step::Declare(Box::new(decl.clone())));
            }
        }
        if let Some(key) = key {
            state.shared.entry(key).or_default().push(storage.clone());
        }
        storage
    }

    /// A register of a core.
    pub fn register(&self, core: u32) -> u32 {
        let id = self.registers.fetch_add(1, Ordering::Relaxed);
        lock(&self.state).streams[core as usize].steps.push(Step::Register(id));
        id
    }

    /// The last view of a location is gone: it is released when what is pending has run.
    pub fn dropped(&self, core: u32, loc: u32, bytes: u64) {
        if self.whole || self.dead.load(Ordering::Relaxed) {
            return;
        }
        let mut state = lock(&self.state);
        let stream = &mut state.streams[core as usize];
        stream.steps.push(Step::Release(loc));
        stream.dropped += bytes;
    }

    /// Appends an instruction, and runs what is pending when there is enough of it.
    pub fn append(&self, py: Python<'_>, core: u32, op: Op) -> PyResult<()> {
        let full = {
            let mut state = lock(&self.state);
            let stream = &mut state.streams[core as usize];
            match stream.bodies.last_mut() {
                Some(body) => {
                    body.push(op);
                    false
                }
                None => {
                    stream.steps.push(Step::Op(op));
                    stream.ops += 1;
                    self.eager || stream.ops >= BLOCK || stream.dropped > DROPPED
                }
            }
        };
        if full && !self.whole { self.flush(py, core) } else { Ok(()) }
    }

    /// The identity matrix of a type, when the core has one.
    pub fn identity(&self, core: u32, dtype: Dtype) -> Option<Arc<Storage>> {
        let state = lock(&self.state);
        let found = state.streams[core as usize].identities.iter().find(|(d, _)| *d == dtype);
        found.map(|(_, storage)| storage.clone())
    }

    /// The accumulator of the last running combination.
    pub fn accumulator(&self, core: u32) -> Option<Arc<Storage>> {
        lock(&self.state).streams[core as usize].accumulator.clone()
    }

    /// Remembers the accumulator of a running combination.
    pub fn keep_accumulator(&self, core: u32, state: Option<Arc<Storage>>) {
        let before = std::mem::replace(&mut lock(&self.state).streams[core as usize].accumulator, state);
        // Dropping a tensor appends its release, so the state must be free.
        drop(before);
    }

    /// Remembers an identity matrix.
    pub fn keep_identity(&self, core: u32, dtype: Dtype, storage: Arc<Storage>) {
        lock(&self.state).streams[core as usize].identities.push((dtype, storage));
    }

    /// Number of the next barrier of a core, from 1.
    pub fn next_barrier(&self, core: u32) -> i64 {
        let mut state = lock(&self.state);
        let stream = &mut state.streams[core as usize];
        stream.barriers += 1;
        stream.barriers
    }

    /// Instructions that go into the body of a loop until [`Session::close`].
    pub fn open(&self, core: u32) {
        lock(&self.state).streams[core as usize].bodies.push(Vec::new());
    }

    /// Ends a body.
    pub fn close(&self, core: u32) -> Vec<Op> {
        lock(&self.state).streams[core as usize].bodies.pop().unwrap_or_default()
    }

    /// A loop body is being traced.
    pub fn in_body(&self, core: u32) -> bool {
        !lock(&self.state).streams[core as usize].bodies.is_empty()
    }

    fn pending(&self, core: u32) -> Vec<Step> {
        let mut state = lock(&self.state);
        let stream = &mut state.streams[core as usize];
        stream.ops = 0;
        stream.dropped = 0;
        std::mem::take(&mut stream.steps)
    }

    /// Hands what is pending on a core to the engine; waits for it when every call is to run at once.
    fn flush(&self, py: Python<'_>, core: u32) -> PyResult<()> {
        let steps = self.pending(core);
        if self.dead.load(Ordering::Relaxed) || steps.is_empty() {
            return Ok(());
        }
        let worker = self.worker(py)?;
        let outcome = if self.eager { worker.run(py, core, steps).map(|_| ()) } else { worker.post(py, core, steps) };
        outcome.map_err(|e| self.failure(py, e))
    }

    /// Runs everything that was called on a core before. Where it waits for another core, that one runs what it has, and
    /// then its tracing goes on.
    pub fn catch_up(&self, py: Python<'_>, core: u32) -> PyResult<()> {
        let worker = self.worker(py)?;
        let run = |core: u32| worker.run(py, core, self.pending(core)).map_err(|e| self.failure(py, e));
        if self.dead.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut before = None;
        loop {
            let Progress::Blocked(text) = run(core)? else { return Ok(()) };
            for other in (0..self.settings.cores).filter(|c| *c != core) {
                run(other)?;
            }
            let ran = Some(self.with_engine(py, |engine| Ok(engine.instructions()))?);
            if ran != before {
                before = ran;
                continue;
            }
            let baton = lock(&self.baton).as_ref().map(|b| b.clone_ref(py));
            let went_on = match baton {
                Some(b) => b.call1(py, (core,))?.extract::<bool>(py)?,
                None => false,
            };
            if !went_on {
                return Err(self.failure(py, Failure::Engine(stuck(core, &text))));
            }
        }
    }

    /// Sets what lets the other core go on.
    pub fn set_baton(&self, baton: Option<Py<PyAny>>) {
        let before = std::mem::replace(&mut *lock(&self.baton), baton);
        drop(before);
    }

    /// Hands over what is pending on every core.
    pub fn flush_all(&self, py: Python<'_>) -> PyResult<()> {
        (0..self.settings.cores).try_for_each(|core| self.flush(py, core))
    }

    /// Number of registers and tensors made so far: whether tracing went on.
    pub fn made(&self) -> u64 {
        u64::from(lock(&self.state).storages) + u64::from(self.registers.load(Ordering::Relaxed))
    }

    /// Runs all cores to their ends.
    pub fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.flush_all(py)?;
        self.with_engine(py, Backend::finish)
    }

    fn worker(&self, py: Python<'_>) -> PyResult<Arc<Worker>> {
        let mut slot = lock(&self.engine);
        if let Some(w) = &*slot {
            return Ok(w.clone());
        }
        let made = Worker::start(&self.settings, self.sources.clone()).map_err(|e| errors::fault(py, &e, None))?;
        Ok(slot.insert(Arc::new(made)).clone())
    }

    fn failure(&self, py: Python<'_>, e: Failure) -> PyErr {
        self.kill();
        match e {
            Failure::Signal(e) => e,
            Failure::Engine(e) => {
                let source = e.place().source.as_deref().and_then(|s| lock(&self.sources).find(s));
                errors::fault(py, &e, source.map(|s| (s.file, s.line, s.function)))
            }
        }
    }

    /// Calls `f` on the engine once what was handed over before has run. The GIL is free meanwhile.
    pub fn with_engine<T: Send + 'static>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut Backend) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        self.worker(py)?.call(py, f).map_err(|e| self.failure(py, e))
    }

    /// Throws away what is pending: an exception left the kernel.
    pub fn kill(&self) {
        self.dead.store(true, Ordering::Relaxed);
    }

    /// Takes what was traced of every core, without running it.
    pub fn take(&self) -> Vec<Vec<Step>> {
        lock(&self.state).streams.iter_mut().map(|s| std::mem::take(&mut s.steps)).collect()
    }

    /// Lets go of the tensors that were kept for pairing.
    pub fn forget(&self) {
        let kept = {
            let mut state = lock(&self.state);
            let kept: Vec<_> =
                state.streams.iter_mut().map(|s| (std::mem::take(&mut s.identities), s.accumulator.take())).collect();
            (std::mem::take(&mut state.shared), kept)
        };
        // Dropping a tensor appends its release, so the state must be free.
        drop(kept);
        self.set_baton(None);
    }

    /// Keys of the shared tensors that not every core asked for equally often, with how often each core did.
    pub fn unpaired(&self) -> Vec<String> {
        let state = lock(&self.state);
        let mut out = Vec::new();
        for key in state.shared.keys() {
            let counts: Vec<usize> = state.streams.iter().map(|s| s.asked.get(key).copied().unwrap_or(0)).collect();
            if counts.iter().any(|c| *c != counts[0]) {
                let shape: Vec<String> = key.1.iter().map(i64::to_string).collect();
                let label = if key.0.is_empty() { "(unnamed)" } else { &key.0 };
                out.push(format!("{label} ({}) {}: {counts:?} on each core", shape.join(", "), key.2));
            }
        }
        out.sort();
        out
    }
}
