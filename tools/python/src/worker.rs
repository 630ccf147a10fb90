//! The thread that an engine runs on, so that Python traces the next block meanwhile and signals are noticed.

use crate::backend::{Backend, Settings};
use crate::op::Step;
use crate::source::Sources;
use birsim_engine::session::Progress;
use birsim_kernels::{Code, Error, Result};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Blocks that wait for the engine.
const QUEUE: usize = 2;
/// How often a waiting caller looks for signals.
const LOOK: Duration = Duration::from_millis(50);

type Job = Box<dyn FnOnce(&mut Backend) + Send>;

/// A running engine.
pub struct Worker {
    jobs: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
    sources: Arc<Mutex<Sources>>,
    cancel: Arc<AtomicBool>,
    /// The first error of a block that nobody waited for.
    failed: Arc<Mutex<Option<Error>>>,
}

/// Why a caller got no answer.
pub enum Failure {
    /// The engine refused.
    Engine(Error),
    /// A signal handler raised.
    Signal(PyErr),
}

impl Worker {
    /// Starts an engine.
    pub fn start(settings: &Settings, sources: Arc<Mutex<Sources>>) -> Result<Worker> {
        let mut backend = Backend::new(settings)?;
        let (jobs, queue): (SyncSender<Job>, Receiver<Job>) = sync_channel(QUEUE);
        let thread = std::thread::Builder::new().name("birsim".into()).spawn(move || {
            for job in queue {
                job(&mut backend);
            }
        });
        let thread = thread.map_err(|e| Error::new(Code::F008, format!("a thread cannot be started: {e}")))?;
        Ok(Worker {
            jobs: Some(jobs),
            thread: Some(thread),
            sources,
            cancel: settings.cancel.clone(),
            failed: Arc::default(),
        })
    }

    /// Hands a block over without waiting for it.
    pub fn post(&self, py: Python<'_>, core: u32, steps: Vec<Step>) -> Result<(), Failure> {
        self.failure()?;
        let (failed, sources) = (self.failed.clone(), self.sources.clone());
        let job: Job = Box::new(move |backend| {
            // The lock is not held while the block runs: the tracing thread looks at it.
            let earlier = lock(&failed).is_some();
            if !earlier && let Err(e) = run(backend, core, &steps, &sources) {
                *lock(&failed) = Some(e);
            }
        });
        let Some(jobs) = &self.jobs else { return Ok(()) };
        py.detach(|| jobs.send(job)).map_err(|_| Failure::Engine(gone()))
    }

    /// Runs a block and waits for it.
    pub fn run(&self, py: Python<'_>, core: u32, steps: Vec<Step>) -> Result<Progress, Failure> {
        let sources = self.sources.clone();
        self.call(py, move |backend| run(backend, core, &steps, &sources))
    }

    /// Calls `f` on the engine when it has run what was handed over before.
    pub fn call<T: Send + 'static>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut Backend) -> Result<T> + Send + 'static,
    ) -> Result<T, Failure> {
        let (reply, answer) = sync_channel(1);
        let failed = self.failed.clone();
        let job: Job = Box::new(move |backend| {
            let earlier = lock(&failed).clone();
            // Nobody listens any more when the caller was interrupted.
            let _ = reply.send(match earlier {
                Some(e) => Err(e),
                None => f(backend),
            });
        });
        let Some(jobs) = &self.jobs else { return Err(Failure::Engine(gone())) };
        py.detach(|| jobs.send(job)).map_err(|_| Failure::Engine(gone()))?;
        wait(py, answer, &self.cancel)
    }

    fn failure(&self) -> Result<(), Failure> {
        match lock(&self.failed).clone() {
            Some(e) => Err(Failure::Engine(e)),
            None => Ok(()),
        }
    }
}

/// Waits for the answer of another thread. The GIL is free meanwhile; a signal handler that raises cancels the run.
pub fn wait<T: Send>(py: Python<'_>, answer: Receiver<Result<T>>, cancel: &AtomicBool) -> Result<T, Failure> {
    let mut answer = answer;
    loop {
        let (outcome, back) = py.detach(move || (answer.recv_timeout(LOOK), answer));
        answer = back;
        match outcome {
            Ok(outcome) => return outcome.map_err(Failure::Engine),
            Err(RecvTimeoutError::Disconnected) => return Err(Failure::Engine(gone())),
            Err(RecvTimeoutError::Timeout) => {
                if let Err(e) = py.check_signals() {
                    cancel.store(true, Ordering::Relaxed);
                    return Err(Failure::Signal(e));
                }
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.cancel.store(true, Ordering::Relaxed);
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // The thread only fails by a panic of the engine, which it has reported.
            let _ = thread.join();
        }
    }
}

fn run(backend: &mut Backend, core: u32, steps: &[Step], sources: &Mutex<Sources>) -> Result<Progress> {
    backend.run(core, steps, &|id| lock(sources).get(id))
}

fn gone() -> Error {
    Error::new(Code::B001, "the engine's thread has ended")
}

fn lock<T>(m: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}
