//! One simulated core: its world, its tick, and what later pieces of the program continue from.

use super::{Builder, MemMode, RunSummary, TensorInfo};
use crate::check::{Check, Hooks, verdict};
use crate::control::state::{leftovers, start};
use crate::exec::Cx;
use crate::ir::{Block, MemoryType, Module, Storage};
use crate::systems::{self, Calls, MachineParam};
use crate::target::Target;
use crate::world::compile::Compiler;
use crate::world::placement::Layout;
use crate::world::spawn::{spawn_core, spawn_new, take_down};
use crate::world::*;
use crate::{Code, Error, Place, Result};
use bevy_ecs::prelude::{IntoSystem, Schedule, World};
use bevy_ecs::system::SystemState;
use hashbrown::HashMap;

/// How far a core got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// One tick ran.
    Ran,
    /// It waits for another core, or for nothing that can come.
    Blocked,
    /// Nothing is left to do.
    Finished,
}

/// What of a core does not depend on its program: engines, semaphores and events, and the schedule with what its systems have
/// found out about the world. To make it costs as much as a hundred small instructions.
pub(crate) struct Frame {
    world: World,
    pass: Schedule,
}

impl Frame {
    fn new() -> Frame {
        let mut world = World::new();
        world.init_resource::<Scratch>();
        spawn_core(&mut world);
        Frame { world, pass: systems::pass() }
    }
}

/// One simulated core. [`crate::Cores`] drives it.
pub struct Core {
    pub(crate) world: World,
    pass: Schedule,
    /// Compiles pieces of BIR that are appended.
    compiler: Option<Compiler>,
    /// The machine as it is lent between ticks, from the first time on.
    lent: Option<SystemState<MachineParam<'static, 'static>>>,
    physical: bool,
    /// Remarks on the program itself, from when it was loaded.
    pub(super) at_load: Vec<Diagnostic>,
    pub(super) tensors: Vec<TensorInfo>,
    pub(super) names: HashMap<String, u32>,
}

impl Core {
    /// A core with a program, on a new frame or on one that another core has left.
    pub(crate) fn load(options: &Builder, module: &Module, frame: Option<Frame>) -> Result<Core> {
        let target = match options.target {
            Some(t) => t,
            None => Target::of(module.arch)?,
        };
        let placed = options.tensor_map.as_ref().map(|m| m.apply(module)).transpose()?;
        let module = placed.as_ref().unwrap_or(module);
        let doubts = crate::ir::validate::check_for(module, target.arch())?;
        if let (true, Some(e)) = (options.strict, doubts.errors.first()) {
            return Err(e.clone());
        }
        let physical = match options.mem_mode {
            MemMode::Symbolic => false,
            MemMode::Physical => true,
            MemMode::Auto => all_allocated(module),
        };
        let layout = Layout { strict: options.strict, ..Layout::new(target, physical, options.rules()) };
        let (compiler, program) = Compiler::new(module, layout, options.order, crate::exec::prepare)?;
        let mut core = Core::on(frame.unwrap_or_else(Frame::new), options, target, program);
        (core.compiler, core.physical) = (Some(compiler), physical);
        core.grow()?;
        core.watch(options)?;
        let mut findings = core.world.resource_mut::<Findings>();
        doubts.by_rule().for_each(|(rule, first, places)| findings.note(Diagnostic::on_target(rule, first, places)));
        core.at_load.clone_from(&core.world.resource::<Findings>().diagnostics);
        Ok(core)
    }

    /// A core with a program whose rows, locations and arenas have no entities yet.
    pub(crate) fn new(options: &Builder, target: Target, program: Program) -> Core {
        Core::on(Frame::new(), options, target, program)
    }

    fn on(frame: Frame, options: &Builder, target: Target, program: Program) -> Core {
        let Frame { mut world, pass } = frame;
        let settings = Settings {
            profile: options.rules(),
            // Ticks are part of a trace, so it needs the schedule with one instruction per tick.
            schedule: match options.schedule {
                IssueOrder::Window if options.trace.is_some() => IssueOrder::Reference,
                s => s,
            },
            limits: options.limits.clone(),
            stop: options.limits.stop(),
            seed: options.seed.unwrap_or(42),
            seat: options.place(),
            stand_in: options.stand_in,
            target,
            unsupported_is_error: options.unsupported_is_error,
            print_all: options.print_all,
            strict: options.strict,
            tables: options.tables.clone(),
            track_init: options.checks.contains(&Check::Uninit),
            external: options.external.clone(),
            fill: options.fill,
        };
        world.insert_resource(settings);
        world.insert_resource(program);
        world.insert_resource(Bindings::default());
        world.insert_resource(Findings::default());
        world.insert_resource(Calls::default());
        world.insert_resource(Post::default());
        begin(&mut world, options.schedule);
        Core {
            world,
            pass,
            compiler: None,
            lent: None,
            physical: false,
            at_load: Vec::new(),
            tensors: Vec::new(),
            names: HashMap::new(),
        }
    }

    /// What is left when the program goes. Observers have added to the schedule, so that a watched core leaves nothing.
    pub(crate) fn into_frame(mut self) -> Option<Frame> {
        if self.is_watched() {
            return None;
        }
        self.reset_engines(|file, _| *file = RegisterFile::default());
        take_down(&mut self.world);
        Some(Frame { world: self.world, pass: self.pass })
    }

    /// Adds systems that run after the stages of a pass.
    pub(crate) fn extend_pass(&mut self, add: impl FnOnce(&mut Schedule)) {
        add(&mut self.pass);
    }

    /// Appends a block to the entry function, with the storage it declares.
    pub(crate) fn append(&mut self, storages: &[Storage], block: &Block) -> Result<()> {
        crate::ir::validate::check_piece(storages, block)?;
        let compiler = self.compiler.as_mut().ok_or_else(no_compiler)?;
        compiler.append(&mut self.world.resource_mut::<Program>(), storages, block)?;
        self.grow()
    }

    /// Gives entities to what the program has grown by.
    fn grow(&mut self) -> Result<()> {
        let compiler = self.compiler.as_ref().ok_or_else(no_compiler)?;
        spawn_new(&mut self.world, &compiler.layout)?;
        let program = self.world.resource::<Program>();
        let sets = program.sets.len();
        let known = self.tensors.len();
        for (meta, place) in program.locations.iter().zip(&compiler.layout.placements).skip(known) {
            let set = &program.sets[meta.set];
            self.names.entry(meta.name.to_string()).or_insert(self.tensors.len() as u32);
            self.tensors.push(TensorInfo {
                name: meta.name.to_string(),
                set: set.name.to_string(),
                kind: meta.kind,
                ty: meta.ty,
                dtype: meta.dtype,
                // One of several locations holds one block of the tensor.
                shape: match &set.locations {
                    several if several.len() > 1 => {
                        meta.shape[compiler.block_dims(meta.set).min(meta.shape.len())..].to_vec()
                    }
                    _ => meta.shape.to_vec(),
                },
                bytes: place.bytes(),
                shared: meta.shared,
                file: meta.file.to_string(),
            });
        }
        let mut bindings = self.world.resource_mut::<Bindings>();
        let known = bindings.0.len();
        bindings.0.extend((known..sets).map(SetId::of));
        Ok(())
    }

    /// Runs one tick.
    pub(crate) fn step(&mut self) -> Result<Progress> {
        self.pass(0)
    }

    /// Runs a tick, and further ones until so many rows were issued.
    fn pass(&mut self, enough: usize) -> Result<Progress> {
        let pc = self.world.resource::<ProgramCounter>();
        if !pc.started || pc.finished {
            self.ask(start)??;
            if self.world.resource::<ProgramCounter>().finished {
                return Ok(Progress::Finished);
            }
        }
        self.world.resource_mut::<IssueList>().enough = enough;
        self.pass.run(&mut self.world);
        if let Some(e) = &self.world.resource::<Findings>().fault {
            return Err(e.clone());
        }
        self.check_limits()?;
        let pc = self.world.resource::<ProgramCounter>();
        if pc.finished {
            return Ok(Progress::Finished);
        }
        let blocked = (pc.stuck || !pc.meetings.is_empty()) && self.world.resource::<IssueList>().rows.is_empty();
        Ok(if blocked { Progress::Blocked } else { Progress::Ran })
    }

    /// Runs until the core waits or nothing is left to do.
    pub(crate) fn run(&mut self) -> Result<Progress> {
        loop {
            match self.pass(systems::WINDOW)? {
                Progress::Ran => {}
                other => return Ok(other),
            }
        }
    }

    /// What is looked at when the program has ended: semaphores left over, and what the checkers found.
    pub(crate) fn conclude(&mut self) -> Result<()> {
        self.ask(leftovers)??;
        let world = &mut self.world;
        let Some(mut hooks) = world.remove_resource::<Hooks>() else { return Ok(()) };
        let mut found = Vec::new();
        let mut query = world.query::<&Placement>();
        let places: Vec<&Placement> = query.iter(world).collect();
        hooks.finish(world.resource::<Program>(), &places, &mut found);
        world.insert_resource(hooks);
        let mut findings = world.resource_mut::<Findings>();
        found.into_iter().for_each(|d| findings.note(d));
        verdict(world.resource::<Program>(), &world.resource::<Findings>().diagnostics).map_or(Ok(()), Err)
    }

    /// The program has run to its end.
    pub(crate) fn is_finished(&self) -> bool {
        self.world.resource::<ProgramCounter>().finished
    }

    /// Instructions and trips, as the limit counts them.
    pub(crate) fn executed(&self) -> u64 {
        let pc = self.world.resource::<ProgramCounter>();
        self.world.resource::<Stats>().instructions.saturating_add(pc.steps)
    }

    pub(crate) fn check_limits(&self) -> Result<()> {
        let settings = self.world.resource::<Settings>();
        let stats = self.world.resource::<Stats>();
        let pc = self.world.resource::<ProgramCounter>();
        if let Some(p) = &settings.limits.progress {
            p.store(stats.instructions, std::sync::atomic::Ordering::Relaxed);
        }
        let Some(reached) = settings.limits.reached(stats, pc) else { return Ok(()) };
        let program = self.world.resource::<Program>();
        let block = program.blocks.get(pc.block.at()).filter(|b| !b.name.is_empty());
        Err(Error::from(reached).at(|p| p.block = block.map(|b| b.name.to_string())))
    }

    /// Looks at a row as if it were executed, between ticks.
    pub(crate) fn with_row<R>(&mut self, row: RowId, f: impl FnOnce(&mut Cx) -> Result<R>) -> Result<R> {
        let lent = self.lent.get_or_insert_with(|| SystemState::new(&mut self.world));
        let unable =
            |what: &dyn std::fmt::Display| Error::new(Code::B001, format!("the machine cannot be lent: {what}"));
        let mut machine = lent.get_mut(&mut self.world).map_err(|e| unable(&e))?;
        let answer = machine.with(|m| {
            let (program, stop) = (m.program, m.settings.stop.clone());
            let answer = birsim_kernels::halt::scope(stop, || Cx::new(m, row).and_then(|mut cx| f(&mut cx)));
            answer.map_err(|e| program.locate(e, row))
        });
        answer.unwrap_or_else(|| Err(unable(&"it has no engines")))
    }

    /// Runs a system between ticks.
    pub(crate) fn ask<M, R: 'static>(&mut self, system: impl IntoSystem<(), R, M> + 'static) -> Result<R> {
        self.world.run_system_cached(system).map_err(|e| Error::new(Code::B001, format!("a system cannot run: {e}")))
    }

    /// Counters and remarks so far: also after a fault.
    pub(crate) fn summary(&self, wall: std::time::Duration) -> RunSummary {
        let program = self.world.resource::<Program>();
        let (any, all) = (program.blocks.iter().any(|b| b.by_sync), program.blocks.iter().all(|b| b.by_sync));
        RunSummary {
            stats: self.world.resource::<Stats>().clone(),
            diagnostics: self.world.resource::<Findings>().diagnostics.clone(),
            order: match (any, all) {
                (true, true) => "sync",
                (true, false) => "mixed",
                _ => "program",
            },
            physical: self.physical,
            target: self.world.resource::<Settings>().target,
            wall,
            prints: self.world.resource::<Prints>().0.clone(),
        }
    }

    /// Function, block, instruction and source of a remark.
    pub fn place_of(&self, d: &Diagnostic) -> Place {
        let row = d.row.map(|row| self.world.resource::<Program>().locate(Error::new(Code::B001, ""), row));
        let seat = self.world.resource::<Settings>().seat;
        let place = match (&d.place, row) {
            (Some(place), _) => (**place).clone(),
            (None, Some(e)) => e.place().clone(),
            (None, None) => Place::default(),
        };
        Place { rank: place.rank.or(seat.rank_field()), core: place.core.or(seat.core_field()), ..place }
    }

    /// The core as messages name it.
    pub fn label(&self) -> String {
        self.world.resource::<Settings>().seat.name()
    }

    /// Physical memory is in use.
    pub(super) fn is_physical(&self) -> bool {
        self.physical
    }
}

/// Makes the resources of a run what they are before its first tick.
pub(super) fn begin(world: &mut World, schedule: IssueOrder) {
    let random = match schedule {
        IssueOrder::Seeded(seed) => seed,
        _ => 0,
    };
    world.insert_resource(IssueList { random, ..IssueList::default() });
    world.insert_resource(Due::default());
    world.insert_resource(Stats::default());
    world.insert_resource(Mail::default());
    world.insert_resource(HostRng::default());
    world.insert_resource(Prints::default());
    world.insert_resource(ProgramCounter::default());
}

fn no_compiler() -> Error {
    Error::new(Code::B001, "the core was not loaded from a module")
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::advance::Flow;
    use crate::control::state::ControlState;

    /// Copies that were handed to control between ticks once lost what it wrote to semaphores and events.
    #[test]
    fn what_control_writes_between_ticks_stays() {
        let mut core = Core::new(&Builder::default(), Target::Trn2, Program::default());
        let write = |mut control: ControlState| {
            control.with(|flow: &mut Flow| {
                flow.banks.semaphores[9] = SemValue(5);
                flow.banks.touched[9] = Touched(true);
                flow.banks.events[3] = EventBit(true);
                flow.registers[2].physical = vec![7];
                flow.status[1] = Status::Joining;
                flow.bindings.0 = vec![SetId(4)];
            });
        };
        core.ask(write).unwrap();
        let world = &mut core.world;
        let mut semaphores = world.query::<(&SemValue, &Touched)>();
        assert_eq!(semaphores.iter(world).nth(9), Some((&SemValue(5), &Touched(true))));
        assert_eq!(world.query::<&EventBit>().iter(world).nth(3), Some(&EventBit(true)));
        let mut engines = world.query::<(&Status, &RegisterFile)>();
        assert_eq!(engines.iter(world).nth(2).unwrap().1.physical, [7]);
        assert_eq!(engines.iter(world).nth(1).unwrap().0, &Status::Joining);
        assert_eq!(world.resource::<Bindings>().0, [SetId(4)]);
        let left = core.ask(leftovers).unwrap();
        assert!(left.is_ok());
        assert_eq!(core.world.resource::<Findings>().diagnostics[0].code, Remark::SemaphoreLeft);
    }
}
