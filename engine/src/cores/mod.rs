//! The driver of all runs: one core or several, with rounds, rendezvous and shared memory.
//!
//! A core is a resumable task. A round runs every runnable core until it blocks, in parallel; then, in core order, what the
//! cores wrote to shared tensors is merged, remote semaphore updates are delivered, and cores that wait for each other are
//! let through. The outcome does not depend on the number of threads.

mod agree;
mod check;
mod deadlock;
mod faults;
mod meet;
mod merge;
mod port;
mod races;
mod ranks;
mod remarks;
mod shared;

use crate::check::Clock;
use crate::ir::Module;
use crate::sim::{Builder, Core, Progress, Refusal, RunSummary, TensorInfo};
use crate::world::{Parcel, ProgramCounter, Sent};
use crate::{Code, Error, Result};
use crossbeam::channel::Receiver;
use faults::placed;
pub use meet::CollectiveCount;
use meet::Floor;
use rayon::prelude::*;
use shared::SharedMemory;
use std::borrow::Cow;
use std::collections::VecDeque;

/// What happens when a core has nothing left to do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// More may be appended.
    Open,
    /// The program has ended: leftovers and findings are judged.
    Judge,
}

/// The cores of a run, rank by rank, each with a module of its own.
pub struct Cores {
    options: Builder,
    pub(crate) cores: Vec<Core>,
    /// Cores that have nothing left to do.
    done: Vec<bool>,
    /// Cores for which something has changed since they stopped.
    awake: Vec<bool>,
    /// Cores that ran since meetings were last looked at.
    ran: Vec<usize>,
    floor: Floor,
    races: races::Races,
    /// Shared tensors, by rank.
    shared: Vec<SharedMemory>,
    /// What cores sent and nobody has delivered.
    sent: Receiver<Sent>,
    /// Started with the first run.
    pool: Option<rayon::ThreadPool>,
}

impl Cores {
    /// Loads the modules: one per core, or as [`Builder::lnc`] and [`Builder::ranks`] say.
    pub fn load(builder: &Builder, modules: &[Module]) -> Result<Self> {
        Cores::load_on(builder, modules, None)
    }

    /// The same, with the parts of this machine that do not depend on its program. That pays for small programs.
    pub fn reload(mut self, builder: &Builder, modules: &[Module]) -> Result<Self> {
        let one = self.cores.len() == 1;
        Cores::load_on(builder, modules, self.cores.pop().filter(|_| one))
    }

    fn load_on(builder: &Builder, modules: &[Module], used: Option<Core>) -> Result<Self> {
        // The gravest of them.
        if let Some(e) = Cores::obstacles(builder, modules).into_iter().next() {
            return Err(e);
        }
        let builder = builder.of_machine();
        let mut cores = Vec::new();
        let mut frame = used.and_then(Core::into_frame);
        for (seat, module) in ranks::seats(&builder, modules)? {
            let core = Core::load(&builder.clone().seated(seat), &modules[module], frame.take());
            cores.push(core.map_err(|e| e.at(|p| (p.rank, p.core) = (seat.rank_field(), seat.core_field())))?);
        }
        Cores::of(builder, cores)
    }

    /// What keeps the modules from running on these ranks and cores, the gravest first. [`Cores::load`] fails with the first.
    pub fn obstacles(builder: &Builder, modules: &[Module]) -> Vec<Error> {
        check::all(builder, modules, false)
    }

    /// What is wrong with the modules on these ranks and cores: all that can be said before anything runs.
    pub fn check(builder: &Builder, modules: &[Module]) -> Vec<Error> {
        check::all(builder, modules, true)
    }

    /// One core that keeps the id the builder gives it.
    pub(crate) fn alone(builder: &Builder, module: &Module) -> Result<Self> {
        let builder = builder.of_machine();
        let core = Core::load(&builder, module, None)?;
        Cores::of(builder, vec![core])
    }

    /// These cores.
    pub(crate) fn of(options: Builder, mut cores: Vec<Core>) -> Result<Self> {
        if cores.is_empty() {
            return Err(Error::new(Code::F008, "there is no core to run on"));
        }
        let per_rank = ranks::cores_per_rank(&cores);
        let of_rank = |(k, c): (usize, &mut [Core])| SharedMemory::new(c, k * per_rank);
        let shared = cores.chunks_mut(per_rank).enumerate().map(of_rank).collect::<Result<_>>()?;
        let (send, sent) = crossbeam::channel::unbounded();
        cores.iter_mut().enumerate().for_each(|(id, core)| core.connect(id, &send));
        let (done, awake) = (vec![false; cores.len()], vec![true; cores.len()]);
        let floor = Floor::new(cores.len());
        Ok(Cores {
            done,
            awake,
            ran: Vec::new(),
            races: races::Races::default(),
            floor,
            options,
            cores,
            shared,
            sent,
            pool: None,
        })
    }

    /// Bytes of the memories of all cores and of what they share, touched or not.
    pub fn declared(&mut self) -> u64 {
        let shared = self.shared.iter().map(|s| s.mapped(&self.cores)).fold(0, u64::saturating_add);
        self.cores.iter_mut().map(Core::declared).fold(shared, u64::saturating_add)
    }

    /// Makes the machine ready to run its program again, with the limits of this builder; everything else must be as when it
    /// was loaded. False when it cannot be: several cores, or observers, must be loaded anew.
    pub fn reset(&mut self, builder: &Builder) -> bool {
        let [core] = self.cores.as_mut_slice() else { return false };
        if core.is_watched() {
            return false;
        }
        core.reset(builder);
        (self.done, self.awake) = (vec![false], vec![true]);
        self.ran.clear();
        (self.floor, self.races) = (Floor::new(1), races::Races::default());
        self.options = builder.clone();
        true
    }

    /// Ranks whose tensors are told apart: one unless the run counts ranks and cores apart.
    pub fn ranks(&self) -> usize {
        self.cores.len() / ranks::cores_per_rank(&self.cores)
    }

    /// Cores of a rank.
    pub fn lnc(&self) -> usize {
        ranks::cores_per_rank(&self.cores)
    }

    /// Collectives that were held so far.
    pub fn collectives(&self) -> Vec<CollectiveCount> {
        self.floor.counts()
    }

    /// Everything that instructions refuse whatever the inputs are, core by core.
    pub fn refusals(&mut self) -> Result<Vec<Refusal>> {
        let mut all = Vec::new();
        for core in &mut self.cores {
            all.extend(core.refusals()?);
        }
        Ok(all)
    }

    /// The cores, in core order.
    pub fn cores(&self) -> &[Core] {
        &self.cores
    }

    /// Counters and remarks of every core so far: also after a fault.
    pub fn summaries(&mut self) -> Vec<RunSummary> {
        let mut all: Vec<RunSummary> = self.cores.iter().map(|c| c.summary(std::time::Duration::ZERO)).collect();
        for rank in 0..self.ranks() {
            let range = self.of_rank(rank);
            all[range.start].diagnostics.extend(self.standing_remarks(range));
        }
        all
    }

    /// Tensors of the head core, then those that only other cores have.
    pub fn tensors(&self) -> Vec<TensorInfo> {
        Self::union(&self.cores)
    }

    /// The same of the cores of a rank.
    pub fn tensors_of(&self, rank: usize) -> Vec<TensorInfo> {
        Self::union(&self.cores[self.of_rank(rank)])
    }

    fn union(cores: &[Core]) -> Vec<TensorInfo> {
        let mut seen = hashbrown::HashSet::new();
        let all = cores.iter().flat_map(|c| c.tensors());
        all.filter(|t| seen.insert(t.name.as_str())).cloned().collect()
    }

    /// Writes a tensor on every core that has it.
    pub fn bind(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        (0..self.ranks()).try_for_each(|rank| self.bind_rank(rank, name, bytes))
    }

    /// Writes a tensor on every core of a rank that has it.
    pub fn bind_rank(&mut self, rank: usize, name: &str, bytes: &[u8]) -> Result<()> {
        let mut found = false;
        let range = self.of_rank(rank);
        for core in &mut self.cores[range.clone()] {
            if core.find(name).is_some() {
                core.bind(name, bytes)?;
                found = true;
            }
        }
        if found { Ok(()) } else { self.cores[range.start].bind(name, bytes) }
    }

    /// Writes a tensor of one core of the run: memory of its own, or its copy of what several see.
    pub fn bind_core(&mut self, core: usize, name: &str, bytes: &[u8]) -> Result<()> {
        let count = self.cores.len();
        let found = self.cores.get_mut(core);
        found
            .ok_or_else(|| Error::new(Code::F008, "the run has no such core").received(format!("{core} of {count}")))?
            .bind(name, bytes)
    }

    /// As [`Cores::bind_rank`], for bytes that the caller gives away: cores that only read them share them.
    pub fn give_rank(&mut self, rank: usize, name: &str, bytes: Vec<u8>) -> Result<()> {
        let (bytes, range) = (std::sync::Arc::new(bytes), self.of_rank(rank));
        let (mut found, mut first) = (false, true);
        for core in &mut self.cores[range.clone()] {
            let Some(location) = core.find(name) else { continue };
            found = true;
            if core.give(location, &bytes, first)? {
                first = false;
            } else {
                core.bind(name, &bytes)?;
            }
        }
        if found { Ok(()) } else { self.cores[range.start].bind(name, &bytes) }
    }

    /// A tensor of the first rank after the run, see [`Cores::output_rank`].
    pub fn output(&self, name: &str) -> Result<Vec<u8>> {
        self.output_rank(0, name).map(Cow::into_owned)
    }

    /// A tensor of a rank after the run: of the first core that wrote it, else of the first that has it. See [`Core::output`].
    pub fn output_rank(&self, rank: usize, name: &str) -> Result<Cow<'_, [u8]>> {
        let cores = &self.cores[self.of_rank(rank)];
        let mut first = None;
        for core in cores {
            let Some(index) = core.find(name) else { continue };
            first.get_or_insert(core);
            if core.state(index).written {
                return core.output(name);
            }
        }
        first.unwrap_or(&cores[0]).output(name)
    }

    fn of_rank(&self, rank: usize) -> std::ops::Range<usize> {
        let n = self.lnc();
        let rank = rank.min(self.ranks() - 1);
        rank * n..(rank + 1) * n
    }

    /// Whether any core wrote a tensor, and by which instruction first.
    pub fn written_by(&mut self, name: &str) -> Result<Option<String>> {
        Ok(self.cores.iter().find_map(|core| core.writer_of(core.find(name)?)))
    }

    /// Makes a location a copy of the tensor with this key.
    pub(crate) fn share(&mut self, key: &str, copy: (usize, usize)) -> Result<()> {
        self.shared[0].join(&mut self.cores, key, copy)
    }

    /// Writes all copies of the tensor that a location is a copy of; false when it is none.
    pub(crate) fn bind_shared(&mut self, copy: (usize, usize), bytes: &[u8]) -> Result<bool> {
        self.shared[0].bind(&mut self.cores, copy, bytes)
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
        self.awake.fill(true);
        while !self.round(None)? {
            if !self.go_on()? {
                return Err(self.deadlock());
            }
        }
        if end == End::Open {
            return Ok(());
        }
        // A core is judged when all have ended: what another core still sends belongs to it.
        let mut first = None;
        for core in &mut self.cores {
            if let Err(e) = core.conclude() {
                let e = placed(core, e);
                first.get_or_insert(e);
            }
        }
        first.map_or(Ok(()), Err)
    }

    /// Runs one core as far as it gets. Others go on only where it waits for them and they wait for it.
    pub(crate) fn run_one(&mut self, id: usize) -> Result<Progress> {
        self.done[id] = false;
        self.awake[id] = true;
        loop {
            self.round(Some(id))?;
            if self.done[id] {
                return Ok(Progress::Finished);
            }
            if !self.go_on()? || !self.awake[id] {
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
            Progress::Blocked => {
                self.ran.push(0);
                if self.go_on()? { Ok(true) } else { Err(self.deadlock()) }
            }
            Progress::Finished => self.cores[0].conclude().map(|()| false),
        }
    }

    /// A round of one core or of all that can go on; true when all are done.
    fn round(&mut self, only: Option<usize>) -> Result<bool> {
        self.share_limits();
        let pool = started(&mut self.pool, &self.options)?;
        let (done, awake) = (&self.done, &self.awake);
        let runs = |id: &usize| awake[*id] && !done[*id] && only.is_none_or(|o| o == *id);
        let watched = self.options.traces();
        let mut running: Vec<(usize, &mut Core)> =
            self.cores.iter_mut().enumerate().filter(|(id, _)| runs(id)).collect();
        // The whole round runs inside the pool: entering it from outside costs 10 us each time.
        let outcomes: Vec<(usize, Result<Progress>)> = pool.install(|| {
            let run = |(id, core): &mut (usize, &mut Core)| (*id, core.run());
            match running.as_mut_slice() {
                // A trace has one order, whatever the number of threads.
                several if several.len() > 1 && !watched => several.par_iter_mut().map(run).collect(),
                few => few.iter_mut().map(run).collect(),
            }
        });
        for (id, outcome) in outcomes {
            self.awake[id] = false;
            self.ran.push(id);
            self.done[id] = outcome.map_err(|e| placed(&self.cores[id], e))? == Progress::Finished;
        }
        if self.share_limits() && self.ran.len() > 1 {
            // Each was within the limit by itself.
            for id in &self.ran {
                self.cores[*id].check_limits().map_err(|e| placed(&self.cores[*id], e))?;
            }
        }
        if self.options.looks_for_races() {
            let per_rank = self.lnc();
            self.races.look(&mut self.cores, &self.ran, &self.shared, per_rank);
        }
        let mut ran = vec![false; self.cores.len()];
        self.ran.iter().for_each(|id| ran[*id] = true);
        for shared in &mut self.shared {
            shared.merge(&mut self.cores, &ran)?;
        }
        Ok(self.done.iter().all(|d| *d))
    }

    /// Tells every core what the others have executed, so that the limit of instructions bounds the run. True when there is
    /// such a limit, and more than one core.
    fn share_limits(&mut self) -> bool {
        if self.cores.len() == 1 || self.options.instruction_limit().is_none() {
            return false;
        }
        let total: u64 = self.cores.iter().map(Core::executed).sum();
        for core in &mut self.cores {
            let own = core.executed();
            core.world.resource_mut::<ProgramCounter>().elsewhere = total - own;
        }
        true
    }

    /// Between rounds: delivers what cores sent and lets through those that wait for each other. False when nothing came
    /// of it.
    fn go_on(&mut self) -> Result<bool> {
        let mut any = self.deliver()?;
        let ran = std::mem::take(&mut self.ran);
        let profile = self.options.rules();
        let (pool, floor, cores) = (started(&mut self.pool, &self.options)?, &mut self.floor, &mut self.cores);
        let woken = match cores.as_mut_slice() {
            [_] => floor.hold(cores, &ran, &profile)?,
            _ => pool.install(|| floor.hold(cores, &ran, &profile))?,
        };
        for id in woken {
            (self.awake[id], any) = (true, true);
        }
        Ok(any)
    }

    /// Hands what cores sent during the round to its receivers, in the order of the senders.
    fn deliver(&mut self) -> Result<bool> {
        let mut sent: Vec<Sent> = self.sent.try_iter().collect();
        // Cores ran in parallel; what one core sent is in order already.
        sent.sort_by_key(|s| s.from);
        let mut any = false;
        // What one core sent, with the clocks of both sorts of it.
        let mut clocks: Option<(u32, VecDeque<Clock>, VecDeque<Clock>)> = None;
        for Sent { from, to, parcel } in sent {
            if self.options.looks_for_races() && clocks.as_ref().is_none_or(|c| c.0 != from) {
                let (messages, updates) = races::sent(&mut self.cores[from as usize]);
                clocks = Some((from, messages.into(), updates.into()));
            }
            match parcel {
                Parcel::Message(message) => {
                    let clock = clocks.as_mut().and_then(|c| c.1.pop_front());
                    self.floor.deliver(from, to, *message, clock);
                }
                Parcel::Update(update) => {
                    let core = &mut self.cores[to as usize];
                    races::receive(core, &update, clocks.as_mut().and_then(|c| c.2.pop_front()));
                    core.apply_update(&update).map_err(|e| placed(core, e))?;
                    (self.awake[to as usize], any) = (true, true);
                }
            }
        }
        Ok(any)
    }
}

/// Where kernels find their threads.
enum Threads<'a> {
    Own(&'a rayon::ThreadPool),
    /// Those of the pool that the caller runs in.
    Callers,
}

impl Threads<'_> {
    fn install<R: Send>(&self, f: impl FnOnce() -> R + Send) -> R {
        match self {
            Threads::Own(pool) => pool.install(f),
            Threads::Callers => f(),
        }
    }
}

/// The threads of the run. A caller inside a pool of as many threads lends its own: starting others costs 50 us, and entering
/// them 10 us each time.
fn started<'a>(pool: &'a mut Option<rayon::ThreadPool>, options: &Builder) -> Result<Threads<'a>> {
    Ok(match pool {
        Some(p) => Threads::Own(p),
        None if options.has_callers_threads() => Threads::Callers,
        None => Threads::Own(pool.insert(options.pool()?)),
    })
}
