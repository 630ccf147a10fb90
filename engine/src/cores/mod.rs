//! The driver of all runs: one core or several, with rounds, rendezvous and shared memory.
//!
//! A core is a resumable task. A round runs every runnable core until it blocks, in parallel; then, in core order, what the
//! cores wrote to shared tensors is merged, remote semaphore updates are delivered, and cores that wait for each other are
//! let through. The outcome does not depend on the number of threads.

mod meet;
mod port;
mod remarks;
mod shared;

use crate::ir::Module;
use crate::sim::{Builder, Core, Progress, RunSummary, TensorInfo};
use crate::world::{Parcel, Sent};
use crate::{Code, Error, Result};
use crossbeam::channel::Receiver;
use rayon::prelude::*;
use shared::SharedMemory;

/// What happens when a core has nothing left to do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// More may be appended.
    Open,
    /// The program has ended: leftovers and findings are judged.
    Judge,
}

/// The cores of one logical NeuronCore, each with a module of its own.
pub struct Cores {
    options: Builder,
    pub(crate) cores: Vec<Core>,
    /// Cores that have nothing left to do.
    done: Vec<bool>,
    shared: SharedMemory,
    /// What cores sent and nobody has delivered.
    sent: Receiver<Sent>,
    /// Started with the first run.
    pool: Option<rayon::ThreadPool>,
}

impl Cores {
    /// Loads one module per core.
    pub fn load(builder: &Builder, modules: &[Module]) -> Result<Self> {
        let mut cores = Vec::with_capacity(modules.len());
        for (id, module) in modules.iter().enumerate() {
            cores.push(Core::load(&builder.clone().core(id as u32).of_cores(modules.len() as u32), module)?);
        }
        Cores::of(builder.clone(), cores)
    }

    /// One core that keeps the id the builder gives it.
    pub(crate) fn alone(builder: &Builder, module: &Module) -> Result<Self> {
        Cores::of(builder.clone(), vec![Core::load(builder, module)?])
    }

    /// These cores.
    pub(crate) fn of(options: Builder, mut cores: Vec<Core>) -> Result<Self> {
        if cores.is_empty() {
            return Err(Error::new(Code::F008, "there is no core to run on"));
        }
        let shared = SharedMemory::new(&cores);
        let (send, sent) = crossbeam::channel::unbounded();
        cores.iter_mut().enumerate().for_each(|(id, core)| core.connect(id, &send));
        Ok(Cores { done: vec![false; cores.len()], options, cores, shared, sent, pool: None })
    }

    /// The cores, in core order.
    pub fn cores(&self) -> &[Core] {
        &self.cores
    }

    /// Counters and remarks of every core so far: also after a fault.
    pub fn summaries(&mut self) -> Vec<RunSummary> {
        let mut all: Vec<RunSummary> = self.cores.iter().map(|c| c.summary(std::time::Duration::ZERO)).collect();
        if let Some(last) = all.last_mut() {
            last.diagnostics.extend(self.standing_remarks());
        }
        all
    }

    /// Tensors of the head core, then those that only other cores have.
    pub fn tensors(&self) -> Vec<TensorInfo> {
        let mut seen = hashbrown::HashSet::new();
        let all = self.cores.iter().flat_map(|c| c.tensors());
        all.filter(|t| seen.insert(t.name.as_str())).cloned().collect()
    }

    /// Writes a tensor on every core that has it.
    pub fn bind(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let mut found = false;
        for core in &mut self.cores {
            if core.find(name).is_some() {
                core.bind(name, bytes)?;
                found = true;
            }
        }
        if found { Ok(()) } else { self.cores[0].bind(name, bytes) }
    }

    /// A tensor after the run: of the first core that wrote it, else of the first that has it.
    pub fn output(&mut self, name: &str) -> Result<Vec<u8>> {
        let mut first = None;
        for core in &self.cores {
            let Some(index) = core.find(name) else { continue };
            first.get_or_insert(core);
            if core.state(index).written {
                return core.output(name);
            }
        }
        first.unwrap_or(&self.cores[0]).output(name)
    }

    /// Whether any core wrote a tensor, and by which instruction first.
    pub fn written_by(&mut self, name: &str) -> Result<Option<String>> {
        Ok(self.cores.iter().find_map(|core| core.writer_of(core.find(name)?)))
    }

    /// Makes a location a copy of the tensor with this key.
    pub(crate) fn share(&mut self, key: &str, copy: (usize, usize)) -> Result<()> {
        self.shared.join(&mut self.cores, key, copy)
    }

    /// Writes all copies of the tensor that a location is a copy of; false when it is none.
    pub(crate) fn bind_shared(&mut self, copy: (usize, usize), bytes: &[u8]) -> Result<bool> {
        self.shared.bind(&mut self.cores, copy, bytes)
    }

    /// Runs all cores to their ends, or to the first fault in core order.
    pub fn run(&mut self) -> Result<Vec<RunSummary>> {
        let start = std::time::Instant::now();
        self.run_out(End::Judge)?;
        let wall = start.elapsed();
        let mut summaries = self.summaries();
        summaries.iter_mut().for_each(|s| s.wall = wall);
        Ok(summaries)
    }

    /// Runs until no core has anything left to do.
    pub(crate) fn run_out(&mut self, end: End) -> Result<()> {
        self.done.fill(false);
        while !self.round(None, end)? {
            if !self.go_on()? {
                return Err(self.deadlock());
            }
        }
        Ok(())
    }

    /// Runs one core as far as it gets. Others go on only where it waits for them and they wait for it.
    pub(crate) fn run_one(&mut self, id: usize) -> Result<Progress> {
        self.done[id] = false;
        loop {
            self.round(Some(id), End::Open)?;
            if self.done[id] {
                return Ok(Progress::Finished);
            }
            if !self.go_on()? || self.cores[id].waits() {
                return Ok(Progress::Blocked);
            }
        }
    }

    /// Runs one tick of the first core. Returns false when there is nothing left to do.
    pub(crate) fn step(&mut self) -> Result<bool> {
        let core = &mut self.cores[0];
        let progress = started(&mut self.pool, &self.options)?.install(|| core.step())?;
        match progress {
            Progress::Ran => Ok(true),
            Progress::Blocked => Err(self.deadlock()),
            Progress::Finished => core.conclude().map(|()| false),
        }
    }

    /// A round of one core or of all; true when all are done.
    fn round(&mut self, only: Option<usize>, end: End) -> Result<bool> {
        self.shared.begin(&self.cores)?;
        let pool = started(&mut self.pool, &self.options)?;
        let (cores, done) = (&mut self.cores, &self.done);
        // The whole round runs inside the pool: entering it from outside costs 10 us each time.
        let outcomes: Vec<Result<Progress>> = pool.install(|| {
            let run = |(id, core): (usize, &mut Core)| match only.is_some_and(|o| o != id) {
                true => Ok(Progress::Blocked),
                false if done[id] => Ok(Progress::Finished),
                false => match core.run()? {
                    Progress::Finished if end == End::Judge => core.conclude().map(|()| Progress::Finished),
                    progress => Ok(progress),
                },
            };
            match cores.as_mut_slice() {
                [one] => vec![run((0, one))],
                several => several.par_iter_mut().enumerate().map(run).collect(),
            }
        });
        for (id, outcome) in outcomes.into_iter().enumerate() {
            self.done[id] |= outcome.map_err(|e| self.on_core(e, id))? == Progress::Finished;
        }
        self.shared.merge(&mut self.cores)?;
        Ok(self.done.iter().all(|d| *d))
    }

    /// Between rounds: delivers what cores sent and lets through those that wait for each other. False when nothing came
    /// of it.
    fn go_on(&mut self) -> Result<bool> {
        let delivered = self.deliver()?;
        Ok(meet::resolve(&mut self.cores, &self.done)? || delivered)
    }

    /// Hands what cores sent during the round to its receivers, in the order of the senders.
    fn deliver(&mut self) -> Result<bool> {
        let mut sent: Vec<Sent> = self.sent.try_iter().collect();
        // Cores ran side by side; what one of them sent is in order already.
        sent.sort_by_key(|s| s.from);
        let (count, mut any, mut updates) = (self.cores.len(), false, Vec::new());
        for Sent { to, parcel, .. } in sent {
            match (parcel, self.cores.get_mut(to as usize)) {
                (Parcel::Message(message), Some(core)) => core.put_message(*message),
                (Parcel::Message(_), None) => {}
                (Parcel::Update(update), Some(_)) => updates.push((to, update)),
                (Parcel::Update(_), None) => {
                    return Err(Error::new(Code::S005, "a semaphore update names a core that does not exist")
                        .received(format!("core {to} of {count}")));
                }
            }
        }
        self.cores.iter_mut().for_each(Core::delivered);
        for (to, update) in updates {
            let outcome = self.cores[to as usize].apply_update(&update);
            outcome.map_err(|e| self.on_core(e, to as usize))?;
            any = true;
        }
        Ok(any)
    }

    /// Nothing can go on: every core says what it waits for.
    fn deadlock(&mut self) -> Error {
        if let [one] = self.cores.as_mut_slice() {
            return Error::new(Code::S003, one.waiting_for());
        }
        let mut lines = String::from("no core can go on");
        for (id, core) in self.cores.iter_mut().enumerate() {
            let state = if self.done[id] { "has finished".to_string() } else { core.waiting_for() };
            lines.push_str(&format!("\n  core {id}: {state}"));
        }
        Error::new(Code::S003, lines)
    }

    /// Names the core in an error of one of several.
    fn on_core(&self, e: Error, id: usize) -> Error {
        if self.cores.len() == 1 {
            return e;
        }
        e.at(|p| p.file = Some(format!("core {id}")))
    }
}

fn started<'a>(pool: &'a mut Option<rayon::ThreadPool>, options: &Builder) -> Result<&'a rayon::ThreadPool> {
    Ok(match pool {
        Some(p) => p,
        None => pool.insert(options.pool()?),
    })
}
