//! The public API: load a module, bind tensors, run, read results.

mod arrays;
mod builder;
mod core;
mod summary;

pub use arrays::Scalar;
pub use builder::{Builder, MemMode};
pub use core::Progress;
pub use summary::RunSummary;

use core::{Core, all_allocated, mark_rows, not_loaded, nth, started, sync_banks};

use crate::check::{Check, Dump, Hooks, Point};
use crate::exec::Cx;
use crate::exec::effects::{Effect, effects};
use crate::ir::{Block, MemoryType, Module, Storage, TensorKind};
use crate::memory::{ArenaMem, UNWRITTEN};
use crate::systems::{self, Calls, Outbox};
use crate::target::Target;
use crate::world::compile::Compiler;
use crate::world::scope::Layout;
use crate::world::spawn::{spawn_core, spawn_new};
use crate::world::*;
use crate::{Code, Error, Place, Result};
use bevy_ecs::prelude::World;
use bevy_ecs::system::RunSystemOnce;
use birsim_kernels::Dtype;
use std::time::Instant;

/// A tensor of the program that can be bound or read.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorInfo {
    /// Memory-location name.
    pub name: String,
    /// Name of its set.
    pub set: String,
    /// Role.
    pub kind: TensorKind,
    /// Memory.
    pub ty: MemoryType,
    /// Declared element type.
    pub dtype: Dtype,
    /// Logical shape.
    pub shape: Vec<u64>,
    /// Bytes of the memory.
    pub bytes: u64,
    /// Seen by every core of a logical core.
    pub shared: bool,
    /// Bound `.npy`, relative to the module; empty when none.
    pub file: String,
}

impl TensorInfo {
    /// Bytes of the logical tensor, when that many fit its memory.
    pub fn logical_bytes(&self) -> Option<u64> {
        let n = self.shape.iter().try_fold(self.dtype.size() as u64, |t, d| t.checked_mul(*d))?;
        (n <= self.bytes).then_some(n)
    }
}

/// A simulator of one core.
pub struct Simulator {
    options: Builder,
    /// Started with the first run: cores that run together share the pool of their [`crate::Cores`].
    pool: Option<rayon::ThreadPool>,
    core: Option<Core>,
    tensors: Vec<TensorInfo>,
}

impl Simulator {
    /// Starts with the defaults.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Loads a program: compiles it and spawns its entities. Replaces what was loaded before.
    pub fn load(&mut self, module: &Module) -> Result<()> {
        crate::ir::validate::check(module)?;
        let o = &self.options;
        let placed = o.tensor_map.as_ref().map(|m| m.apply(module)).transpose()?;
        let module = placed.as_ref().unwrap_or(module);
        let target = match o.target {
            Some(t) => t,
            None => Target::of(module.arch)?,
        };
        let physical = match o.mem_mode {
            MemMode::Symbolic => false,
            MemMode::Physical => true,
            MemMode::Auto => all_allocated(module),
        };
        let layout = Layout { strict: o.strict, ..Layout::new(target.sizes(), physical, o.rules()) };
        let (compiler, program) = Compiler::new(module, layout, o.order)?;
        let mut world = World::new();
        let settings = Settings {
            profile: o.rules(),
            // Ticks are part of a trace, so it needs the order that has one instruction in each.
            schedule: match o.schedule {
                Schedule::Window if o.trace.is_some() => Schedule::Reference,
                s => s,
            },
            limits: o.limits.clone(),
            seed: o.seed.unwrap_or(42),
            core: o.core,
            cores: o.cores.unwrap_or(1),
            target,
            unsupported_is_error: o.unsupported_is_error,
            print_all: o.print_all,
            strict: o.strict,
            tables: o.tables.clone(),
            track_init: o.checks.contains(&Check::Uninit),
            external: o.external.clone(),
            fill: o.fill.unwrap_or(UNWRITTEN),
        };
        let random = match o.schedule {
            Schedule::Seeded(s) => s,
            _ => 0,
        };
        world.insert_resource(settings);
        world.insert_resource(program);
        world.insert_resource(Run::default());
        world.insert_resource(IssueList { random, ..IssueList::default() });
        world.insert_resource(Calls::default());
        world.insert_resource(Outbox::default());
        world.insert_resource(ProgramCounter::default());
        spawn_core(&mut world);
        self.core = Some(Core { world, tick: systems::tick(), compiler, target, physical });
        self.grow()?;
        self.watch()
    }

    /// Appends a block to the entry function, with the storage it declares. It runs with the next [`Simulator::run`].
    pub fn append_block(&mut self, storages: &[Storage], block: &Block) -> Result<()> {
        crate::ir::validate::check_piece(storages, block)?;
        let core = self.core.as_mut().ok_or_else(not_loaded)?;
        let mut program = core.world.resource_mut::<Program>();
        core.compiler.append(&mut program, storages, block)?;
        self.grow()
    }

    /// Frees the storage of a tensor; it reads as never written afterwards.
    pub fn release(&mut self, name: &str) -> Result<()> {
        let index = self.index_of(name)?;
        let core = self.core.as_mut().ok_or_else(not_loaded)?;
        let placement = core.compiler.layout.placements[index].clone();
        if core.physical && placement.arena < 3 {
            return Err(Error::new(Code::F008, "a tensor placed in a shared memory cannot be released")
                .received(name)
                .advice("load the program with --mem-mode symbolic"));
        }
        let mut freed = 0;
        if let Some(mem) = nth::<ArenaMem>(&mut core.world, placement.arena as usize) {
            freed = mem.release();
        }
        let mut run = core.world.resource_mut::<Run>();
        run.stats.touched = run.stats.touched.saturating_sub(freed);
        Ok(())
    }

    /// Sets up what watches the run; names of dumps must exist.
    fn watch(&mut self) -> Result<()> {
        let (o, mut points) = (&self.options, Vec::new());
        for (tensor, instruction) in &o.dumps {
            let location = self.index_of(tensor)?;
            let bytes = self.tensors[location].logical_bytes().unwrap_or(self.tensors[location].bytes) as usize;
            let core = self.core.as_ref().ok_or_else(not_loaded)?;
            let known = |name: &str| core.world.resource::<Program>().insts.iter().any(|i| *i.name == *name);
            let counted = || instruction.rsplit_once('#').and_then(|(name, n)| Some((name, n.parse().ok()?)));
            let (name, n) = match known(instruction) {
                true => (instruction.as_str(), None),
                false => {
                    counted().map(|(name, n)| (name, Some(n))).filter(|(name, _)| known(name)).ok_or_else(|| {
                        Error::new(Code::F006, format!("the program has no instruction named {instruction}"))
                            .received(instruction)
                    })?
                }
            };
            points.push(Point::new(location as u32, bytes, tensor, instruction, (name, n)));
        }
        let hooks = Hooks::new(&o.all_checks(), o.trace.clone(), points);
        if let (Some(core), Some(hooks)) = (&mut self.core, hooks) {
            core.world.insert_resource(hooks);
        }
        Ok(())
    }

    /// Values taken at the points asked for with [`Builder::dump`], as far as they were reached.
    pub fn dumps(&self) -> Vec<Dump> {
        let hooks = self.core.as_ref().and_then(|c| c.world.get_resource::<Hooks>());
        hooks.map_or_else(Vec::new, |h| h.dumps().cloned().collect())
    }

    /// What an instruction would read and write now: locations and patterns of arena bytes, inputs first. Dynamic
    /// operands are resolved with the current registers.
    pub fn effects(&mut self, instruction: &str) -> Result<Vec<Effect>> {
        let core = self.core.as_mut().ok_or_else(not_loaded)?;
        let row = core.world.resource::<Program>().insts.iter().position(|i| *i.name == *instruction);
        let row = row.ok_or_else(|| {
            Error::new(Code::F006, format!("the program has no instruction named {instruction}")).received(instruction)
        })? as u32;
        let ask = move |mut machine: systems::MachineParam| {
            machine.with(|m| Cx::new(m, row).and_then(|cx| effects(&cx)).map_err(|e| m.program.locate(e, row)))
        };
        let broken = || Error::new(Code::B001, "the machine cannot be looked at");
        core.world.run_system_once(ask).map_err(|_| broken())?.ok_or_else(broken)?
    }

    fn grow(&mut self) -> Result<()> {
        let core = self.core.as_mut().ok_or_else(not_loaded)?;
        spawn_new(&mut core.world, &core.compiler.layout)?;
        let program = core.world.resource::<Program>();
        let sets = program.sets.len() as u32;
        self.tensors.clear();
        for (meta, place) in program.locations.iter().zip(&core.compiler.layout.placements) {
            self.tensors.push(TensorInfo {
                name: meta.name.to_string(),
                set: program.sets[meta.set as usize].name.to_string(),
                kind: meta.kind,
                ty: meta.ty,
                dtype: meta.dtype,
                // One of several locations holds one block of the tensor.
                shape: match &program.sets[meta.set as usize].locations {
                    several if several.len() > 1 => {
                        meta.shape[core.compiler.block_dims(meta.set).min(meta.shape.len())..].to_vec()
                    }
                    _ => meta.shape.to_vec(),
                },
                bytes: place.bytes(),
                shared: meta.shared,
                file: meta.file.to_string(),
            });
        }
        let mut run = core.world.resource_mut::<Run>();
        let known = run.bindings.len() as u32;
        run.bindings.extend(known..sets);
        Ok(())
    }

    /// Every memory location of the program.
    pub fn tensors(&self) -> &[TensorInfo] {
        &self.tensors
    }

    /// The world, for inspection and for tests that change the machine between ticks.
    pub fn world_mut(&mut self) -> Option<&mut World> {
        self.core.as_mut().map(|c| &mut c.world)
    }

    fn index_of(&self, name: &str) -> Result<usize> {
        self.tensors
            .iter()
            .position(|t| t.name == name)
            .ok_or_else(|| Error::new(Code::F006, format!("the program has no tensor named {name}")).received(name))
    }

    /// Writes the bytes of a tensor: row-major, little-endian, of the declared dtype.
    pub fn bind(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let index = self.index_of(name)?;
        let info = &self.tensors[index];
        if bytes.len() as u64 > info.bytes {
            return Err(Error::new(Code::F004, format!("the data of {name} is larger than its memory"))
                .received(format!("{} bytes for {}", bytes.len(), info.bytes))
                .at(|p| p.tensor = Some(name.to_string())));
        }
        let core = self.core.as_mut().ok_or_else(not_loaded)?;
        let place = core.compiler.layout.placements[index].clone();
        let limits = core.world.resource::<Settings>().limits.clone();
        let Some(mem) = nth::<ArenaMem>(&mut core.world, place.arena as usize) else {
            return Err(Error::new(Code::B001, "a location has no arena"));
        };
        let mut fresh = 0;
        let mut failed = None;
        place.for_rows(bytes.len(), |at, range| match mem.write(at, &bytes[range]) {
            Ok(n) => fresh += n,
            Err(e) => failed = failed.take().or(Some(e)),
        });
        if let Some(e) = failed {
            return Err(e);
        }
        if let Some(InitShadow(Some(shadow))) = nth::<InitShadow>(&mut core.world, place.arena as usize) {
            mark_rows(shadow, &place, bytes.len());
        }
        core.world.resource_mut::<Run>().touch(fresh, &limits)
    }

    /// The bytes of a tensor; never-written ones hold the fill byte.
    pub fn output(&mut self, name: &str) -> Result<Vec<u8>> {
        let index = self.index_of(name)?;
        let info = &self.tensors[index];
        let n = info.logical_bytes().ok_or_else(|| {
            Error::new(Code::J013, "the tensor's shape does not fit its memory")
                .received(format!("{:?} of {} in {} bytes", info.shape, info.dtype, info.bytes))
                .at(|p| p.tensor = Some(name.to_string()))
        })?;
        self.read_bytes(index, n as usize)
    }

    fn read_bytes(&mut self, index: usize, n: usize) -> Result<Vec<u8>> {
        let core = self.core.as_mut().ok_or_else(not_loaded)?;
        let place = core.compiler.layout.placements[index].clone();
        let Some(mem) = nth::<ArenaMem>(&mut core.world, place.arena as usize) else {
            return Err(Error::new(Code::B001, "a location has no arena"));
        };
        // A tensor that nothing ever touched may be declared larger than any memory.
        let mut out = Vec::new();
        let fits = n as u64 <= core.target.sizes().dram_bytes;
        if !fits || out.try_reserve_exact(n).is_err() {
            return Err(Error::new(
                Code::S018,
                "the tensor does not fit into the memory of the target or of this computer",
            )
            .received(format!("{n} bytes"))
            .at(|p| p.tensor = Some(self.tensors[index].name.clone())));
        }
        out.resize(n, 0);
        place.for_rows(n, |at, range| mem.read(at, &mut out[range]));
        Ok(out)
    }

    /// Whether anything was written to a tensor, and by which instruction first.
    pub fn written_by(&mut self, name: &str) -> Result<Option<String>> {
        let index = self.index_of(name)?;
        let core = self.core.as_mut().ok_or_else(not_loaded)?;
        let state = nth::<LocationState>(&mut core.world, index).map_or_else(LocationState::default, |s| *s);
        let program = core.world.resource::<Program>();
        let writer = program.insts.get(state.first_writer as usize);
        Ok(if state.written { writer.map(|i| i.name.to_string()) } else { None })
    }

    /// Runs until the entry function's blocks run out, or to a fault.
    pub fn run(&mut self) -> Result<RunSummary> {
        let core = self.core.as_mut().ok_or_else(not_loaded)?;
        let pool = started(&mut self.pool, &self.options)?;
        let start = Instant::now();
        // The whole loop runs inside the pool: entering it from outside costs 10 us each time.
        let outcome = pool.install(|| core.run());
        outcome.map(|()| core.summary(start.elapsed()))
    }

    /// Runs one tick. Returns false when there is nothing left to do.
    pub fn step(&mut self) -> Result<bool> {
        let core = self.core.as_mut().ok_or_else(not_loaded)?;
        let pool = started(&mut self.pool, &self.options)?;
        pool.install(|| core.step()).map(|p| p == Progress::Ran)
    }

    /// Function, block, instruction and source of a remark.
    pub fn place_of(&self, d: &Diagnostic) -> Place {
        match (&self.core, d.payload) {
            (Some(core), Some(row)) => {
                core.world.resource::<Program>().locate(Error::new(Code::B001, ""), row).place().clone()
            }
            _ => Place::default(),
        }
    }

    /// Runs until the core waits for another one or is finished.
    pub(crate) fn run_round(&mut self) -> Result<Progress> {
        let core = self.core.as_mut().ok_or_else(not_loaded)?;
        loop {
            match core.step()? {
                Progress::Ran => {}
                other => return Ok(other),
            }
        }
    }

    /// Semaphore updates for other cores since the last call.
    pub(crate) fn take_outbox(&mut self) -> Vec<crate::sync::RemoteUpdate> {
        self.core.as_mut().map(|c| std::mem::take(&mut c.world.resource_mut::<Outbox>().0)).unwrap_or_default()
    }

    /// Messages for other cores since the last call.
    pub(crate) fn take_messages(&mut self) -> Vec<(u32, Message)> {
        let core = self.core.as_mut();
        core.map(|c| std::mem::take(&mut c.world.resource_mut::<Run>().outgoing)).unwrap_or_default()
    }

    /// Hands over a message of another core.
    pub(crate) fn put_message(&mut self, message: Message) {
        if let Some(core) = &mut self.core {
            core.world.resource_mut::<Run>().messages.push_back(message);
        }
    }

    /// Applies an update that another core sent.
    pub(crate) fn apply_update(&mut self, update: &Update) -> Result<()> {
        let core = self.core.as_mut().ok_or_else(not_loaded)?;
        let (mut semaphores, mut touched, mut peaks, mut events, mut event_touched) = sync_banks(&mut core.world);
        let mut banks = crate::sync::Banks {
            semaphores: &mut semaphores,
            touched: &mut touched,
            peaks: &mut peaks,
            events: &mut events,
            event_touched: &mut event_touched,
            core: u32::MAX,
        };
        banks.apply(update)?;
        let at = update.id as usize;
        if let Some(s) = nth::<SemValue>(&mut core.world, at) {
            *s = semaphores[at];
        }
        if let Some(t) = nth::<Touched>(&mut core.world, at) {
            *t = touched[at];
        }
        if let Some(p) = nth::<Peak>(&mut core.world, at) {
            *p = peaks[at];
        }
        if let Some(e) = nth::<EventBit>(&mut core.world, at) {
            *e = events[at];
        }
        if let Some(t) = nth::<EventTouched>(&mut core.world, at) {
            *t = event_touched[at];
        }
        Ok(())
    }

    /// The rendezvous this core waits at.
    pub(crate) fn meeting(&mut self) -> Result<Option<(u32, Meeting)>> {
        let core = self.core.as_mut().ok_or_else(not_loaded)?;
        let Some(row) = core.world.resource::<ProgramCounter>().meeting else { return Ok(None) };
        let program = core.world.resource::<Program>();
        let settings = core.world.resource::<Settings>();
        let run = core.world.resource::<Run>();
        let meeting = crate::exec::cores::meeting(program, settings, run, row).map_err(|e| program.locate(e, row))?;
        Ok(Some((row, meeting)))
    }

    /// Dense bytes of the inputs of an instruction.
    pub(crate) fn read_inputs(&mut self, row: u32) -> Result<Vec<Vec<u8>>> {
        let core = self.core.as_mut().ok_or_else(not_loaded)?;
        core.world
            .run_system_cached_with(systems::read_inputs, row)
            .unwrap_or_else(|e| Err(Error::new(Code::B001, format!("inputs cannot be read: {e}"))))
    }

    /// Lets the core past its rendezvous, with what the others sent.
    pub(crate) fn grant(&mut self, row: u32, received: Received) {
        if let Some(core) = &mut self.core {
            core.world.resource_mut::<ProgramCounter>().granted = Some(row);
            core.world.resource_mut::<Run>().received = Some(received);
        }
    }

    /// What the core waits for, as text.
    pub(crate) fn waiting_for(&mut self) -> String {
        let meeting = self.meeting();
        let Some(core) = &mut self.core else { return String::new() };
        if let Ok(Some((row, meeting))) = meeting {
            let inst = &core.world.resource::<Program>().insts[row as usize];
            return format!("{} ({}) waits for {}", inst.name, inst.opcode, meeting.describe());
        }
        let mut text = String::new();
        let (_, _, peaks, _, events) = sync_banks(&mut core.world);
        let told = core.flow(|f| {
            let standing = crate::sync::deadlock::Standing {
                program: f.program,
                pc: f.pc,
                cursors: f.cursors,
                status: f.status,
                semaphores: f.semaphores,
                touched: f.touched,
                peaks: &peaks,
                events: &events,
                registers: f.registers,
                core: f.settings.core,
            };
            text = standing.report();
            Ok(())
        });
        if told.is_err() { "is blocked".into() } else { text }
    }

    /// All bytes of a tensor's memory.
    pub(crate) fn memory(&mut self, name: &str) -> Result<Vec<u8>> {
        let index = self.index_of(name)?;
        let n = self.tensors[index].bytes as usize;
        self.read_bytes(index, n)
    }

    /// Replaces the bytes of a shared tensor by what the cores agreed on.
    pub(crate) fn bind_shared(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        self.bind(name, bytes)
    }

    /// Adds a remark.
    pub(crate) fn remark(&mut self, d: Diagnostic) {
        if let Some(core) = &mut self.core {
            core.world.resource_mut::<Run>().note(d);
        }
    }

    /// Counters and remarks so far: also after a fault.
    pub fn summary(&mut self) -> Option<RunSummary> {
        self.core.as_mut().map(|c| c.summary(std::time::Duration::ZERO))
    }
}
