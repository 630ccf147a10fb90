//! Sessions: programs that a front end appends block by block, next to whole modules.
//!
//! A front end fills a [`Block`] with native instructions, appends it to a core, and runs the core when somebody asks for
//! a value. Program order is the meaning: the same bits come out however the program is cut into blocks. There is no
//! synchronisation to insert, and engines matter only where numbers depend on them.
//!
//! A block costs what it holds, not what ran before it. When a core has run everything that was appended, the rows of its
//! program are dropped and their entities are written again by the next block; storage is freed as soon as no instruction
//! that is still to run names it. So memory follows what is alive, however long the program is.
//!
//! Several cores meet as modules do, at core barriers, exchanges and collectives. [`Session::run`] runs one core until it
//! waits for another; [`Session::run_all`] runs all to their ends.

mod block;
mod lower;
mod storage;

pub use crate::world::source::{SourceId, Sources};
pub use block::{Adding, Block, Dynamic, LocationId, LocationSpec, Register, Role, View};

use crate::check::{Check, Hooks};
use crate::cores::{Cores, End};
use crate::exec::effects::byte_runs;
use crate::ir::ApPair;
use crate::memory::resolve;
use crate::sim::{Builder, Core, RunSummary};
use crate::target::Target;
use crate::world::*;
use crate::{Code, Error, Result};
use bevy_ecs::prelude::*;
use birsim_kernels::Dtype;
use block::Step;
use lower::{Lowering, MAX_DEPTH, Templates};
use storage::{Known, Releases, declare, release};

/// How far a core of a session got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Everything that was appended has run.
    Done,
    /// It waits for another core; the text says for what.
    Blocked(String),
}

/// What a session did.
#[derive(Clone, Debug)]
pub struct Report {
    /// Counters and remarks, core by core.
    pub cores: Vec<RunSummary>,
    /// The locations that were alive at the end, core by core.
    pub alive: Vec<Vec<LocationId>>,
}

/// What a session knows of one core besides its world.
#[derive(Default)]
struct Native {
    known: Known,
    templates: Templates,
    /// Registers that blocks have named so far.
    registers: u32,
}

/// A machine that programs are appended to.
pub struct Session {
    cores: Cores,
    native: Vec<Native>,
    sources: Sources,
}

impl Session {
    /// A session of `cores` cores with the defaults: a NaN or 4 in never-written memory.
    pub fn new(target: Target, cores: u32) -> Result<Session> {
        Session::with(Builder::default().fill(crate::Fill::NanOrFour), target, cores)
    }

    /// A session with choices. Dumps, the trace and memory modes belong to modules and are not looked at.
    pub fn with(options: Builder, target: Target, cores: u32) -> Result<Session> {
        if let Some(check) = options.all_checks().iter().find(|c| matches!(c, Check::Race | Check::WriteOnly)) {
            return Err(Error::new(Code::U002, "a session has no schedule and no end that this check could judge")
                .received(check)
                .advice("write the program as a module and check that"));
        }
        let sources = Sources::default();
        let mut all = Vec::new();
        for id in 0..cores {
            let options = options.clone().core(id).of_cores(cores);
            let mut program = Program { sources: sources.clone(), ..Program::default() };
            program.functions.push(FunctionPlan { name: Box::default(), list: ListId::default(), auto_psum: false });
            program.lists.push(Vec::new());
            program.axes = (0..MAX_DEPTH).map(|_| Box::default()).collect();
            let mut core = Core::new(&options, target, program);
            core.world.insert_resource(Releases::default());
            core.world.spawn_batch((0..MAX_DEPTH).map(|_| Induction::default()));
            core.observe(&options, Vec::new());
            core.extend_pass(|pass| {
                pass.add_systems(release.after(crate::systems::Stages));
            });
            all.push(core);
        }
        let native = all.iter().map(|_| Native::default()).collect();
        Ok(Session { cores: Cores::of(options, all)?, native, sources })
    }

    /// The table of source lines. Lines can be added while the session runs on another thread.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    fn core(&mut self, id: u32) -> Result<&mut Core> {
        let count = self.native.len();
        let core = self.cores.cores.get_mut(id as usize);
        core.ok_or_else(|| Error::new(Code::S008, "the session has no such core").received(format!("{id} of {count}")))
    }

    /// Declares a location, outside of a block, under the next free number.
    pub fn location(&mut self, core: u32, spec: &LocationSpec) -> Result<LocationId> {
        self.core(core)?;
        let id = LocationId { core, number: self.native[core as usize].known.next };
        self.declare(id, spec)?;
        Ok(id)
    }

    fn declare(&mut self, id: LocationId, spec: &LocationSpec) -> Result<()> {
        let native = &mut self.native[id.core as usize];
        let core = &mut self.cores.cores[id.core as usize];
        let slot = declare(&mut core.world, &mut native.known, id, spec)?;
        if let Some(mut hooks) = core.world.get_resource_mut::<Hooks>() {
            hooks.declared(slot);
        }
        match &spec.share {
            Some(key) => self.cores.share(key, (id.core as usize, slot.at())),
            None => Ok(()),
        }
    }

    /// Appends a block to a core. On an error nothing of it is appended, but its locations stay declared.
    pub fn append(&mut self, core: u32, block: &Block) -> Result<()> {
        self.core(core)?;
        self.declare_all(core, block)?;
        let native = &mut self.native[core as usize];
        let world = &mut self.cores.cores[core as usize].world;
        world.resource_scope(|world, mut program: Mut<Program>| {
            let mut places = world.query::<&Placement>();
            let places = places.contiguous_iter(world).ok().and_then(|mut i| i.next()).unwrap_or_default();
            let settings = world.resource::<Settings>();
            let own = (&mut native.known, &mut native.templates, &mut native.registers);
            let mut lowering = Lowering::new(&mut program, (places, settings), own, core);
            let outcome = lowering.append(block);
            let releases = lowering.releases;
            // A shared location is kept to the end: other cores may not have come to it yet.
            let locations = &program.locations;
            let due = releases.into_iter().filter(|(_, slot)| !locations[*slot].shared);
            world.resource_mut::<Releases>().due.extend(due);
            outcome
        })?;
        write_rows(world, native.registers);
        Ok(())
    }

    fn declare_all(&mut self, core: u32, block: &Block) -> Result<()> {
        for step in &block.steps {
            match step {
                Step::Declare(id, spec) => {
                    if id.core != core {
                        return Err(Error::new(Code::J006, "a block declares locations of its own core only")
                            .received(format!("location {} of core {} on core {core}", id.number, id.core)));
                    }
                    self.declare(*id, spec)?;
                }
                Step::Instr(i) => {
                    if let Some(body) = &i.body {
                        self.declare_all(core, &body.1)?;
                    }
                }
                Step::Release(_) => {}
            }
        }
        Ok(())
    }

    /// Runs a core until everything appended to it has run, or it waits for another core.
    pub fn run(&mut self, core: u32) -> Result<Progress> {
        self.core(core)?;
        let outcome = self.cores.run_one(core as usize);
        self.recycle();
        match outcome? {
            crate::sim::Progress::Finished => Ok(Progress::Done),
            _ => Ok(Progress::Blocked(self.cores.state_of(core as usize))),
        }
    }

    /// Runs all cores until everything appended has run. That none can go on is an error.
    pub fn run_all(&mut self) -> Result<()> {
        let outcome = self.cores.run_out(End::Open);
        self.recycle();
        outcome
    }

    /// Drops the rows of cores that have run everything.
    fn recycle(&mut self) {
        for core in &mut self.cores.cores {
            if core.is_finished() && core.world.resource::<Findings>().fault.is_none() {
                recycle(core);
            }
        }
    }

    fn slot(&self, id: LocationId) -> Result<usize> {
        let native = self.native.get(id.core as usize);
        let native = native.ok_or_else(|| Error::new(Code::S008, "the session has no such core").received(id.core))?;
        native.known.slot(id, id.core).map(LocId::at)
    }

    /// Writes the first bytes of a location: row-major, little-endian. Copies on other cores are written too.
    pub fn bind(&mut self, id: LocationId, bytes: &[u8]) -> Result<()> {
        let slot = self.slot(id)?;
        match self.cores.bind_shared((id.core as usize, slot), bytes)? {
            true => Ok(()),
            false => self.cores.cores[id.core as usize].write(slot, bytes),
        }
    }

    /// All bytes of a location as they are now: what was appended and has not run is not seen.
    pub fn read(&self, id: LocationId) -> Result<Vec<u8>> {
        let slot = self.slot(id)?;
        let core = &self.cores.cores[id.core as usize];
        core.read(slot, core.place(slot)?.bytes() as usize)
    }

    /// The elements of a view, in order.
    pub fn read_view(&self, id: LocationId, dtype: Dtype, offset: i64, pairs: &[ApPair]) -> Result<Vec<u8>> {
        let slot = self.slot(id)?;
        let core = &self.cores.cores[id.core as usize];
        let place = core.place(slot)?;
        let pattern = resolve(&place, dtype, offset, pairs)?;
        let mut out = core.buffer(slot, pattern.len().saturating_mul(dtype.size()))?;
        let mem = core.arena(&place)?;
        let mut at = 0;
        byte_runs(&pattern, |lo, hi| {
            mem.read(lo, &mut out[at..at + hi - lo]);
            at += hi - lo;
        });
        Ok(out)
    }

    /// Whether an instruction has written to a location.
    pub fn is_written(&self, id: LocationId) -> Result<bool> {
        Ok(self.cores.cores[id.core as usize].state(self.slot(id)?).written)
    }

    /// Frees a location when everything appended so far has run.
    pub fn release(&mut self, id: LocationId) -> Result<()> {
        self.slot(id)?;
        let mut block = Block::new();
        block.release(id);
        self.append(id.core, &block)
    }

    /// Value of a register.
    pub fn register(&mut self, core: u32, register: Register) -> Result<i64> {
        let files = self.registers(core, register)?;
        Ok(files.map_or(-1, |f| crate::world::read_register(f, register.reference())))
    }

    fn registers(&mut self, core: u32, register: Register) -> Result<Option<&[RegisterFile]>> {
        self.core(core)?;
        let named = register.number < self.native[core as usize].registers;
        let world = &mut self.cores.cores[core as usize].world;
        let mut query = world.query::<&RegisterFile>();
        Ok(query.contiguous_iter(world).ok().and_then(|mut i| i.next()).filter(|_| named))
    }

    /// Ends the session: what its checkers found is an error, as at the end of a program.
    pub fn finish(mut self) -> Result<Report> {
        self.run_all()?;
        for core in &mut self.cores.cores {
            core.conclude()?;
        }
        Ok(self.report())
    }

    /// Counters and remarks so far: also after a fault.
    pub fn report(&mut self) -> Report {
        let alive = self.native.iter().enumerate().map(|(core, n)| n.known.alive(core as u32)).collect();
        Report { cores: self.cores.summaries(), alive }
    }

    /// The core, for inspection.
    pub fn world_mut(&mut self, core: u32) -> Result<&mut World> {
        Ok(&mut self.core(core)?.world)
    }
}

/// Writes the new rows into entities: those of rows that ran and were dropped first, then new ones.
fn write_rows(world: &mut World, registers: u32) {
    world.resource_scope(|world, mut program: Mut<Program>| {
        let mut spawned = *world.resource::<spawn::Spawned>();
        let mut new = std::mem::take(&mut program.syncs).into_iter();
        let mut rows = world.query::<&mut SyncSet>();
        for (mut old, sync) in rows.iter_mut(world).skip(spawned.rows).zip(&mut new) {
            *old = sync;
        }
        world.spawn_batch(new.collect::<Vec<_>>());
        spawned.rows = program.insts.len();
        world.insert_resource(spawned);
        for mut file in world.query::<&mut RegisterFile>().iter_mut(world) {
            if file.symbolic.len() < registers as usize {
                file.symbolic.resize(registers as usize, u64::MAX);
            }
        }
    });
}

/// Forgets the rows that have run. What refers to them is settled first: remarks and first writers.
fn recycle(core: &mut Core) {
    let world = &mut core.world;
    world.resource_scope(|world, mut program: Mut<Program>| {
        world.resource_mut::<Findings>().settle(&program);
        let mut locations = world.query::<&mut LocationState>();
        for mut state in locations.iter_mut(world) {
            if let (true, Writer::Row(row)) = (state.written, state.first_writer) {
                let source = program.insts.get(row.at()).map(|i| &i.source);
                state.first_writer = match source {
                    Some(Origin::Native(id)) => Writer::Source(*id),
                    _ => Writer::Row(row),
                };
            }
        }
        let p = &mut *program;
        p.insts.clear();
        p.operands.clear();
        p.uses.clear();
        p.patterns.clear();
        p.blocks.clear();
        p.segments.clear();
        p.lists.truncate(1);
        p.lists[0].clear();
    });
    world.resource_mut::<spawn::Spawned>().rows = 0;
    if let Some(mut hooks) = world.get_resource_mut::<Hooks>() {
        hooks.new_trip();
    }
    let mut pc = world.resource_mut::<ProgramCounter>();
    let (block, segment) = (BlockId::default(), 0);
    pc.frames.truncate(1);
    pc.frames.iter_mut().for_each(|f| f.position = 0);
    (pc.block, pc.segment) = (block, segment);
    for mut cursor in world.query::<&mut Cursor>().iter_mut(world) {
        *cursor = Cursor::default();
    }
}
