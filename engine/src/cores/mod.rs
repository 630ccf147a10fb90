//! Several cores: rounds, rendezvous, shared memory.
//!
//! A core is a resumable task. A round runs every runnable core until it blocks, in parallel; then, in core order, what the
//! cores wrote to shared tensors is merged, remote semaphore updates are delivered, and cores that wait for each other are
//! let through. The outcome does not depend on the number of threads.

mod meet;
mod shared;

use crate::ir::Module;
use crate::sim::{Builder, Progress, Simulator, TensorInfo};
use crate::sync::RemoteUpdate;
use crate::{Code, Error, Result, RunSummary};
use rayon::prelude::*;
use shared::SharedMemory;

/// The cores of one logical NeuronCore, each with a module of its own.
pub struct Cores {
    cores: Vec<Simulator>,
    pool: rayon::ThreadPool,
    shared: SharedMemory,
}

impl Cores {
    /// Loads one module per core.
    pub fn load(builder: &Builder, modules: &[Module]) -> Result<Self> {
        let pool = builder.pool()?;
        let mut cores = Vec::with_capacity(modules.len());
        for (id, module) in modules.iter().enumerate() {
            let mut sim = builder.clone().core(id as u32).of_cores(modules.len() as u32).build()?;
            sim.load(module)?;
            cores.push(sim);
        }
        if cores.is_empty() {
            return Err(Error::new(Code::F008, "there is no core to run on"));
        }
        let shared = SharedMemory::new(&cores);
        Ok(Cores { cores, pool, shared })
    }

    /// The cores, in core order.
    pub fn cores(&self) -> &[Simulator] {
        &self.cores
    }

    /// Counters and remarks of every core so far: also after a fault.
    pub fn summaries(&mut self) -> Vec<RunSummary> {
        self.cores.iter_mut().filter_map(Simulator::summary).collect()
    }

    /// Tensors of the head core, then those that only other cores have.
    pub fn tensors(&self) -> Vec<TensorInfo> {
        let mut out: Vec<TensorInfo> = Vec::new();
        for t in self.cores.iter().flat_map(|c| c.tensors()) {
            if !out.iter().any(|o| o.name == t.name) {
                out.push(t.clone());
            }
        }
        out
    }

    /// Writes a tensor on every core that has it.
    pub fn bind(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let mut found = false;
        for core in &mut self.cores {
            if core.tensors().iter().any(|t| t.name == name) {
                core.bind(name, bytes)?;
                found = true;
            }
        }
        if found { Ok(()) } else { self.cores[0].bind(name, bytes) }
    }

    /// A tensor after the run: of the first core that wrote it, else of the first that has it.
    pub fn output(&mut self, name: &str) -> Result<Vec<u8>> {
        let mut first = None;
        for core in 0..self.cores.len() {
            if !self.cores[core].tensors().iter().any(|t| t.name == name) {
                continue;
            }
            first.get_or_insert(core);
            if self.cores[core].written_by(name)?.is_some() {
                return self.cores[core].output(name);
            }
        }
        self.cores[first.unwrap_or(0)].output(name)
    }

    /// Whether any core wrote a tensor, and by which instruction first.
    pub fn written_by(&mut self, name: &str) -> Result<Option<String>> {
        for core in &mut self.cores {
            if core.tensors().iter().any(|t| t.name == name)
                && let Some(writer) = core.written_by(name)?
            {
                return Ok(Some(writer));
            }
        }
        Ok(None)
    }

    /// Runs all cores to their ends, or to the first fault in core order.
    pub fn run(&mut self) -> Result<Vec<RunSummary>> {
        let start = std::time::Instant::now();
        let mut done = vec![false; self.cores.len()];
        loop {
            self.shared.begin(&mut self.cores)?;
            let outcomes: Vec<Result<Progress>> = self.pool.install(|| {
                let pairs = self.cores.par_iter_mut().zip(done.par_iter());
                pairs.map(|(core, done)| if *done { Ok(Progress::Finished) } else { core.run_round() }).collect()
            });
            let count = self.cores.len();
            for (id, outcome) in outcomes.into_iter().enumerate() {
                let outcome = outcome.map_err(|e| on_core(e, id, count))?;
                done[id] |= outcome == Progress::Finished;
            }
            self.shared.merge(&mut self.cores)?;
            let delivered = self.deliver()?;
            if done.iter().all(|d| *d) {
                break;
            }
            let met = meet::resolve(&mut self.cores, &done)?;
            if !met && !delivered {
                return Err(self.deadlock(&done));
            }
        }
        let wall = start.elapsed();
        let mut summaries = self.summaries();
        summaries.iter_mut().for_each(|s| s.wall = wall);
        Ok(summaries)
    }

    /// Hands messages and remote semaphore updates to their cores, in the order of the senders.
    fn deliver(&mut self) -> Result<bool> {
        for sender in 0..self.cores.len() {
            for (to, message) in self.cores[sender].take_messages() {
                if let Some(core) = self.cores.get_mut(to as usize) {
                    core.put_message(message);
                }
            }
        }
        let (send, receive) = crossbeam::channel::unbounded::<RemoteUpdate>();
        for core in &mut self.cores {
            for update in core.take_outbox() {
                // The receiver lives to the end of this function.
                let _ = send.send(update);
            }
        }
        drop(send);
        let mut any = false;
        for remote in receive.iter() {
            let count = self.cores.len();
            let core = self.cores.get_mut(remote.core as usize).ok_or_else(|| {
                Error::new(Code::S005, "a semaphore update names a core that does not exist")
                    .received(format!("core {} of {count}", remote.core))
            })?;
            core.apply_update(&remote.update).map_err(|e| on_core(e, remote.core as usize, count))?;
            any = true;
        }
        Ok(any)
    }

    /// Nothing can go on: every core says what it waits for.
    fn deadlock(&mut self, done: &[bool]) -> Error {
        let mut lines = String::from("no core can go on");
        for (id, core) in self.cores.iter_mut().enumerate() {
            let state = if done[id] { "has finished".to_string() } else { core.waiting_for() };
            lines.push_str(&format!("\n  core {id}: {state}"));
        }
        Error::new(Code::S003, lines)
    }
}

/// Names the core in an error of one of several.
fn on_core(e: Error, id: usize, cores: usize) -> Error {
    if cores == 1 {
        return e;
    }
    e.at(|p| p.file = Some(format!("core {id}")))
}
