//! The public API: load a module, bind tensors, run, read results.

use crate::check::{Check, Dump, Hooks, Point, TraceSink, verdict};
use crate::control::ProgramCounter;
use crate::control::advance::Flow;
use crate::exec::Cx;
use crate::ir::table::OPCODES;
use crate::ir::{Block, MemoryType, Module, Opcode, Storage, TensorKind};
use crate::memory::effects::{Effect, effects};
use crate::memory::{ArenaMem, Shadow, TensorMap};
use crate::systems::{self, Calls, Outbox};
use crate::target::Target;
use crate::world::compile::{Compiler, Order};
use crate::world::scope::Layout;
use crate::world::spawn::{spawn_core, spawn_new};
use crate::world::*;
use crate::{Code, Error, Place, Result};
use bevy_ecs::prelude::{Schedule as EcsSchedule, World};
use bevy_ecs::system::RunSystemOnce;
use birsim_kernels::{Dtype, Profile};
use std::time::Instant;

/// Where locations lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemMode {
    /// Physical iff every SBUF and PSUM location is allocated.
    #[default]
    Auto,
    /// One arena per location.
    Symbolic,
    /// SBUF, PSUM and DRAM arenas; locations are views and overlaps are real.
    Physical,
}

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

/// What a finished run did.
#[derive(Clone, Debug)]
pub struct RunSummary {
    /// Counters.
    pub stats: Stats,
    /// Remarks, in order of appearance.
    pub diagnostics: Vec<Diagnostic>,
    /// Order that was used: `sync`, `program` or `mixed`.
    pub order: &'static str,
    /// Physical memory was used.
    pub physical: bool,
    /// Target.
    pub target: Target,
    /// Wall time of the run.
    pub wall: std::time::Duration,
    /// Texts of DevicePrint, in order.
    pub prints: Vec<DevicePrint>,
}

impl RunSummary {
    /// The sum over several cores: counters add up, texts follow each other in core order.
    pub fn merged(parts: &[RunSummary]) -> Option<RunSummary> {
        let (first, rest) = parts.split_first()?;
        let mut all = first.clone();
        for part in rest {
            all.stats.ticks += part.stats.ticks;
            all.stats.instructions += part.stats.instructions;
            all.stats.touched += part.stats.touched;
            all.stats.per_opcode.iter_mut().zip(part.stats.per_opcode).for_each(|(a, b)| *a += b);
            all.stats.skipped.iter_mut().zip(part.stats.skipped).for_each(|(a, b)| *a += b);
            all.diagnostics.extend(part.diagnostics.iter().cloned());
            all.prints.extend(part.prints.iter().cloned());
            if part.order != all.order {
                all.order = "mixed";
            }
        }
        Some(all)
    }

    /// (opcode, executions) of every opcode that ran.
    pub fn opcodes(&self) -> Vec<(Opcode, u64)> {
        Opcode::all().map(|o| (o, self.stats.per_opcode[o.ordinal() as usize])).filter(|(_, n)| *n > 0).collect()
    }

    /// (opcode, executions) of skip-and-note opcodes.
    pub fn skipped(&self) -> Vec<(Opcode, u64)> {
        Opcode::all().map(|o| (o, self.stats.skipped[o.ordinal() as usize])).filter(|(_, n)| *n > 0).collect()
    }
}

/// Choices before a simulator is built.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    target: Option<Target>,
    threads: Option<usize>,
    order: Order,
    schedule: Schedule,
    mem_mode: MemMode,
    profile: Profile,
    limits: Limits,
    seed: Option<u64>,
    core: u32,
    cores: Option<u32>,
    strict: bool,
    unsupported_is_error: bool,
    print_all: bool,
    tables: Option<std::sync::Arc<birsim_kernels::activation::pwp::Tables>>,
    checks: Vec<Check>,
    trace: Option<TraceSink>,
    dumps: Vec<(String, String)>,
    tensor_map: Option<TensorMap>,
    external: Option<std::path::PathBuf>,
}

impl Builder {
    /// Target; the module's architecture when not given.
    #[must_use]
    pub fn target(mut self, t: Target) -> Self {
        self.target = Some(t);
        self
    }

    /// Threads of the kernels; the machine's CPUs when not given.
    #[must_use]
    pub fn threads(mut self, n: usize) -> Self {
        self.threads = Some(n);
        self
    }

    /// Order of execution.
    #[must_use]
    pub fn order(mut self, o: Order) -> Self {
        self.order = o;
        self
    }

    /// Schedule.
    #[must_use]
    pub fn schedule(mut self, s: Schedule) -> Self {
        self.schedule = s;
        self
    }

    /// Memory mode.
    #[must_use]
    pub fn mem_mode(mut self, m: MemMode) -> Self {
        self.mem_mode = m;
        self
    }

    /// Choices of numerics.
    #[must_use]
    pub fn profile(mut self, p: Profile) -> Self {
        self.profile = p;
        self
    }

    /// Limits.
    #[must_use]
    pub fn limits(mut self, l: Limits) -> Self {
        self.limits = l;
        self
    }

    /// Seed of the host MT19937-64; 42 when not given.
    #[must_use]
    pub fn seed(mut self, s: u64) -> Self {
        self.seed = Some(s);
        self
    }

    /// Opt-in checkers; their findings fail the run with S017 when it ends.
    #[must_use]
    pub fn checks(mut self, checks: impl IntoIterator<Item = Check>) -> Self {
        self.checks = checks.into_iter().collect();
        self.checks.sort_unstable();
        self.checks.dedup();
        self
    }

    /// Tells every executed instruction; selects the `reference` schedule in place of `window`.
    #[must_use]
    pub fn trace(mut self, sink: TraceSink) -> Self {
        self.trace = Some(sink);
        self
    }

    /// Keeps the value of a tensor after the last execution of an instruction, see [`Simulator::dumps`].
    #[must_use]
    pub fn dump(mut self, tensor: impl Into<String>, instruction: impl Into<String>) -> Self {
        self.dumps.push((tensor.into(), instruction.into()));
        self
    }

    /// Places tensors of SBUF and PSUM.
    #[must_use]
    pub fn tensor_map(mut self, map: TensorMap) -> Self {
        self.tensor_map = Some(map);
        self
    }

    /// The program that CustomOp and BIRKernel may start; without it they are refused.
    #[must_use]
    pub fn external_kernels(mut self, program: impl Into<std::path::PathBuf>) -> Self {
        self.external = Some(program.into());
        self
    }

    /// Piecewise tables that activation functions are evaluated with, where they have one.
    #[must_use]
    pub fn pwp_tables(mut self, tables: birsim_kernels::activation::pwp::Tables) -> Self {
        self.tables = Some(std::sync::Arc::new(tables));
        self
    }

    /// Id of the simulated core; 0 when not given.
    #[must_use]
    pub fn core(mut self, id: u32) -> Self {
        self.core = id;
        self
    }

    /// Number of cores that run together; 1 when not given.
    #[must_use]
    pub fn of_cores(mut self, n: u32) -> Self {
        self.cores = Some(n);
        self
    }

    /// The thread pool of a run.
    pub(crate) fn pool(&self) -> Result<rayon::ThreadPool> {
        let mut pool = rayon::ThreadPoolBuilder::new();
        if let Some(n) = self.threads {
            pool = pool.num_threads(n.max(1));
        }
        pool.build().map_err(|e| Error::new(Code::F008, format!("threads cannot be started: {e}")))
    }

    /// Leftovers of the sync protocol are faults.
    #[must_use]
    pub fn strict(mut self, on: bool) -> Self {
        self.strict = on;
        self
    }

    /// The five skip-and-note opcodes are an error.
    #[must_use]
    pub fn unsupported_is_error(mut self, on: bool) -> Self {
        self.unsupported_is_error = on;
        self
    }

    /// DevicePrint shows whole tensors.
    #[must_use]
    pub fn print_all(mut self, on: bool) -> Self {
        self.print_all = on;
        self
    }

    /// Builds the simulator.
    pub fn build(self) -> Result<Simulator> {
        Ok(Simulator { options: self, pool: None, core: None, tensors: Vec::new() })
    }
}

/// How far a core got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// One tick ran.
    Ran,
    /// It waits for another core.
    Blocked,
    /// Nothing is left to do.
    Finished,
}

/// One simulated core: its world, its schedule, and what later pieces of the program continue from.
struct Core {
    world: World,
    tick: EcsSchedule,
    compiler: Compiler,
    target: Target,
    physical: bool,
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
        let (compiler, program) = Compiler::new(module, Layout::new(target.sizes(), physical), o.order)?;
        let mut world = World::new();
        let settings = Settings {
            profile: o.profile.clone(),
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
            if !core.world.resource::<Program>().insts.iter().any(|i| *i.name == **instruction) {
                return Err(Error::new(Code::F006, format!("the program has no instruction named {instruction}"))
                    .received(instruction));
            }
            points.push(Point::new(location as u32, bytes, tensor, instruction));
        }
        let hooks = Hooks::new(&o.checks, o.trace.clone(), points);
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
    /// operands are resolved with the present registers.
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

    /// The bytes of a tensor; never-written ones are 0xFF.
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
        let (mut semaphores, mut touched, mut events, mut event_touched) = sync_banks(&mut core.world);
        let mut banks = crate::sync::Banks {
            semaphores: &mut semaphores,
            touched: &mut touched,
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
        if let Some(e) = nth::<EventBit>(&mut core.world, at) {
            *e = events[at];
        }
        if let Some(t) = nth::<EventTouched>(&mut core.world, at) {
            *t = event_touched[at];
        }
        Ok(())
    }

    /// The rendezvous this core waits at.
    pub(crate) fn meeting(&mut self) -> Result<Option<(u32, crate::cores::Meeting)>> {
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
        let told = core.flow(|f| {
            let (program, pc) = (f.program, &*f.pc);
            text =
                crate::sync::deadlock::report(program, pc, f.cursors, f.status, f.semaphores, f.touched, f.registers);
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

impl Core {
    fn run(&mut self) -> Result<()> {
        while self.step()? == Progress::Ran {}
        Ok(())
    }

    fn step(&mut self) -> Result<Progress> {
        if !self.world.resource::<ProgramCounter>().started || self.world.resource::<ProgramCounter>().finished {
            self.flow(|f| f.start())?;
            if self.world.resource::<ProgramCounter>().finished {
                return self.finish();
            }
        }
        self.tick.run(&mut self.world);
        let run = self.world.resource::<Run>();
        if let Some(e) = &run.fault {
            return Err(e.clone());
        }
        self.check_limits()?;
        if self.world.resource::<ProgramCounter>().finished {
            return self.finish();
        }
        let pc = self.world.resource::<ProgramCounter>();
        let blocked = (pc.stuck || pc.meeting.is_some()) && self.world.resource::<IssueList>().rows.is_empty();
        Ok(if blocked { Progress::Blocked } else { Progress::Ran })
    }

    fn finish(&mut self) -> Result<Progress> {
        self.flow(|f| f.leftover_semaphores())?;
        let world = &mut self.world;
        let Some(mut hooks) = world.remove_resource::<Hooks>() else { return Ok(Progress::Finished) };
        let mut found = Vec::new();
        let mut query = world.query::<&Placement>();
        let places: Vec<&Placement> = query.iter(world).collect();
        hooks.finish(world.resource::<Program>(), &places, &mut found);
        world.insert_resource(hooks);
        let mut run = world.resource_mut::<Run>();
        found.into_iter().for_each(|d| run.note(d));
        match verdict(world.resource::<Program>(), &world.resource::<Run>().diagnostics) {
            Some(e) => Err(e),
            None => Ok(Progress::Finished),
        }
    }

    /// What is said about every run: outputs that nothing wrote, inputs that an instruction changed.
    fn standing_remarks(&mut self) -> Vec<Diagnostic> {
        let world = &mut self.world;
        let mut query = world.query::<&LocationState>();
        let states: Vec<LocationState> = query.iter(world).copied().collect();
        let program = world.resource::<Program>();
        let mut out = Vec::new();
        // Of several cores one may write what another declares; whoever runs them judges. A run that broke off is
        // not expected to have written anything.
        if world.resource::<Settings>().cores > 1 || !world.resource::<ProgramCounter>().finished {
            return out;
        }
        for (meta, state) in program.locations.iter().zip(states) {
            let own = self.compiler.scopes[0].sets.values().any(|s| *s == meta.set);
            let is_input = meta.kind.is_input() || meta.kind == TensorKind::Const;
            let (code, message, payload) = match state.written {
                false if own && meta.kind.is_output() => {
                    ("output-never-written", format!("output {} was never written", meta.name), None)
                }
                true if own && is_input && !meta.kind.is_output() && !meta.aliased => {
                    let by = program.insts.get(state.first_writer as usize).map_or("?", |i| &i.name);
                    let text = format!("input {} was modified, first by {by}", meta.name);
                    ("input-modified", text, Some(state.first_writer))
                }
                _ => continue,
            };
            out.push(Diagnostic { class: "warning", code, message, payload, tensor: Some(meta.name.to_string()) });
        }
        out
    }

    fn check_limits(&self) -> Result<()> {
        let settings = self.world.resource::<Settings>();
        let run = self.world.resource::<Run>();
        let pc = self.world.resource::<ProgramCounter>();
        let limits = &settings.limits;
        let place = |e: Error| {
            let program = self.world.resource::<Program>();
            e.at(|p| p.block = program.blocks.get(pc.block as usize).map(|b| b.name.to_string()))
        };
        if let Some(max) = limits.max_instructions
            && run.stats.instructions.saturating_add(pc.steps) > max
        {
            return Err(place(
                Error::new(Code::S009, "the run executes more instructions and loop trips than allowed")
                    .received(format!("more than {max}")),
            ));
        }
        if limits.cancel.as_ref().is_some_and(|c| c.load(std::sync::atomic::Ordering::Relaxed)) {
            return Err(place(Error::new(Code::S009, "the run was interrupted")));
        }
        // Looking at the clock costs as much as a small tick.
        if run.stats.ticks.is_multiple_of(64) {
            if let Some(p) = &limits.progress {
                p.store(run.stats.instructions, std::sync::atomic::Ordering::Relaxed);
            }
            if limits.deadline.is_some_and(|d| Instant::now() >= d) {
                return Err(place(Error::new(Code::S009, "the run takes longer than --timeout allows")));
            }
        }
        Ok(())
    }

    /// Runs `f` on the control state outside a tick.
    fn flow(&mut self, f: impl FnOnce(&mut Flow) -> Result<()>) -> Result<()> {
        let world = &mut self.world;
        let mut engines = world.query::<(&Cursor, &Status, &RegisterFile)>();
        let mut state: Vec<(Cursor, Status, RegisterFile)> =
            engines.iter(world).map(|(c, s, r)| (*c, *s, r.clone())).collect();
        let (mut cursors, mut status): (Vec<_>, Vec<_>) = state.iter().map(|(c, s, _)| (*c, *s)).unzip();
        let mut registers: Vec<RegisterFile> = state.drain(..).map(|(_, _, r)| r).collect();
        let mut induction: Vec<Induction> = world.query::<&Induction>().iter(world).copied().collect();
        let mut semaphores: Vec<SemValue> = world.query::<&SemValue>().iter(world).copied().collect();
        let mut touched: Vec<Touched> = world.query::<&Touched>().iter(world).copied().collect();
        let mut events: Vec<EventBit> = world.query::<&EventBit>().iter(world).copied().collect();
        let mut publish = Vec::new();
        let mut pc = world.remove_resource::<ProgramCounter>().unwrap_or_default();
        let mut run = world.remove_resource::<Run>().unwrap_or_default();
        let outcome = f(&mut Flow {
            program: world.resource::<Program>(),
            settings: world.resource::<Settings>(),
            pc: &mut pc,
            cursors: &mut cursors[..QUEUES],
            status: &mut status[..QUEUES],
            registers: &mut registers,
            induction: &mut induction,
            semaphores: &mut semaphores,
            touched: &mut touched,
            events: &mut events,
            run: &mut run,
            publish: &mut publish,
        });
        world.insert_resource(pc);
        world.insert_resource(run);
        for (k, (mut c, mut s, mut r)) in
            world.query::<(&mut Cursor, &mut Status, &mut RegisterFile)>().iter_mut(world).enumerate()
        {
            (*c, *s) = (cursors[k], status[k]);
            *r = std::mem::take(&mut registers[k]);
        }
        for (mut i, v) in world.query::<&mut Induction>().iter_mut(world).zip(induction) {
            *i = v;
        }
        outcome
    }

    fn summary(&mut self, wall: std::time::Duration) -> RunSummary {
        let standing = self.standing_remarks();
        let program = self.world.resource::<Program>();
        let synced = program.blocks.iter().filter(|b| b.by_sync).count();
        let order = match synced {
            0 => "program",
            n if n == program.blocks.len() => "sync",
            _ => "mixed",
        };
        let run = self.world.resource::<Run>();
        debug_assert_eq!(run.stats.per_opcode.len(), OPCODES);
        RunSummary {
            stats: run.stats.clone(),
            diagnostics: run.diagnostics.iter().cloned().chain(standing).collect(),
            order,
            physical: self.physical,
            target: self.target,
            wall,
            prints: run.prints.clone(),
        }
    }
}

fn started<'a>(pool: &'a mut Option<rayon::ThreadPool>, options: &Builder) -> Result<&'a rayon::ThreadPool> {
    Ok(match pool {
        Some(p) => p,
        None => pool.insert(options.pool()?),
    })
}

type SyncBanks = (Vec<SemValue>, Vec<Touched>, Vec<EventBit>, Vec<EventTouched>);

/// Copies of the sync banks.
fn sync_banks(world: &mut World) -> SyncBanks {
    (
        world.query::<&SemValue>().iter(world).copied().collect(),
        world.query::<&Touched>().iter(world).copied().collect(),
        world.query::<&EventBit>().iter(world).copied().collect(),
        world.query::<&EventTouched>().iter(world).copied().collect(),
    )
}

fn not_loaded() -> Error {
    Error::new(Code::F008, "no program is loaded").advice("call Simulator::load first")
}

/// The component of the n-th entity of a kind; entities of a kind are one table in spawn order.
fn nth<C: bevy_ecs::component::Component<Mutability = bevy_ecs::component::Mutable>>(
    world: &mut World,
    n: usize,
) -> Option<&mut C> {
    world.query::<&mut C>().iter_mut(world).nth(n).map(bevy_ecs::change_detection::Mut::into_inner)
}

fn all_allocated(module: &Module) -> bool {
    let sets = module.functions.iter().chain(&module.nki_functions).flat_map(|f| &f.allocations);
    let mut any = false;
    for s in sets {
        let Storage::Set(set) = s else { continue };
        for l in &set.locations {
            if matches!(l.ty, MemoryType::Sb | MemoryType::Psum) {
                if !l.allocated {
                    return false;
                }
                any = true;
            }
        }
    }
    any
}

fn mark_rows(shadow: &mut Shadow, place: &crate::memory::LocationInfo, n: usize) {
    place.for_rows(n, |at, range| shadow.set_run(at, at + range.len(), true));
}
