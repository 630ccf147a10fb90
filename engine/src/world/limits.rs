//! Bounds of a run.

use super::{ProgramCounter, Stats};
use crate::{Code, Error};
use birsim_kernels::halt::Stop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// Bounds of a run; exceeding one is a clean fault (S009).
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Bytes of memory, of all cores together.
    pub max_memory: Option<u64>,
    /// What is in use, shared by all clones: what the cores touch, and what a front end takes or holds.
    pub used: Arc<Used>,
    /// Executed instructions.
    pub max_instructions: Option<u64>,
    /// End of the run.
    pub deadline: Option<Instant>,
    /// Set from outside to stop.
    pub cancel: Option<Arc<AtomicBool>>,
    /// Instructions executed so far, readable from other threads during the run.
    pub progress: Option<Arc<AtomicU64>>,
}

/// Bytes that somebody uses. Those of a machine count for the run as well, until the machine goes.
#[derive(Debug, Default)]
pub struct Used {
    bytes: AtomicU64,
    run: Option<Arc<Used>>,
}

impl Used {
    /// Adds, and returns what the run uses then.
    fn add(&self, bytes: u64) -> u64 {
        let own = self.bytes.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        self.run.as_ref().map_or(own, |run| run.add(bytes))
    }

    /// How many they are.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn remove(&self, bytes: u64) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(run) = &self.run {
            run.remove(bytes);
        }
    }
}

impl Drop for Used {
    fn drop(&mut self) {
        if let Some(run) = &self.run {
            run.remove(*self.bytes.get_mut());
        }
    }
}

impl Limits {
    /// The same limits for a machine of the run. What it uses is given back when it and all clones of these are gone.
    #[must_use]
    pub fn of_machine(&self) -> Limits {
        Limits { used: Arc::new(Used { bytes: AtomicU64::new(0), run: Some(Arc::clone(&self.used)) }), ..self.clone() }
    }

    /// What may stop a running instruction; `None` when nothing may.
    pub fn stop(&self) -> Option<Arc<Stop>> {
        let stop = Stop { cancel: self.cancel.clone(), deadline: self.deadline };
        (stop.cancel.is_some() || stop.deadline.is_some()).then(|| Arc::new(stop))
    }

    /// Takes memory before it is touched. Fails when that is more than the limit leaves.
    pub fn take(&self, bytes: u64) -> crate::Result<()> {
        let Some(max) = self.max_memory else { return Ok(()) };
        let used = self.used.add(bytes);
        if used <= max {
            return Ok(());
        }
        self.used.remove(bytes);
        Err(Error::new(Code::S009, "the run touches more memory than --max-memory allows")
            .received(format!("{used} of {max} bytes")))
    }

    /// Takes memory until the result is dropped.
    pub fn hold(&self, bytes: u64) -> crate::Result<Held> {
        self.take(bytes)?;
        Ok(Held { limits: self.clone(), bytes })
    }

    /// Gives memory back.
    pub fn give_back(&self, bytes: u64) {
        if self.max_memory.is_some() {
            self.used.remove(bytes);
        }
    }

    /// The limit that a run with these counters has reached.
    pub fn reached(&self, stats: &Stats, pc: &ProgramCounter) -> Option<Reached> {
        if let Some(max) = self.max_instructions
            && stats.instructions.saturating_add(pc.steps).saturating_add(pc.elsewhere) > max
        {
            return Some(Reached::Instructions(max));
        }
        if self.cancel.as_ref().is_some_and(|c| c.load(Ordering::Relaxed)) {
            return Some(Reached::Interrupted);
        }
        // Reading the clock costs as much as a small tick.
        let late = stats.ticks.is_multiple_of(64) && self.deadline.is_some_and(|d| Instant::now() >= d);
        late.then_some(Reached::Late)
    }
}

/// Memory that counts against the limit of a run for as long as this exists.
#[derive(Debug)]
pub struct Held {
    limits: Limits,
    bytes: u64,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.limits.give_back(self.bytes);
    }
}

/// A limit that ends a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// So many instructions and loop trips are allowed.
    Instructions(u64),
    /// Somebody wants the run to end.
    Interrupted,
    /// The time is over.
    Late,
}

impl From<Reached> for Error {
    fn from(reached: Reached) -> Error {
        match reached {
            Reached::Instructions(max) => {
                Error::new(Code::S009, "the run executes more instructions and loop trips than allowed")
                    .received(format!("more than {max}"))
            }
            Reached::Interrupted => Error::new(Code::S009, "the run was interrupted"),
            Reached::Late => Error::new(Code::S009, "the run takes longer than --timeout allows"),
        }
    }
}
