//! One simulated core: its world and its loop of ticks.

use super::{Builder, RunSummary};
use crate::check::{Hooks, verdict};
use crate::control::advance::Flow;
use crate::ir::table::OPCODES;
use crate::ir::{MemoryType, Module, Storage, TensorKind};
use crate::memory::Shadow;
use crate::target::Target;
use crate::world::compile::Compiler;
use crate::world::*;
use crate::{Code, Error, Result};
use bevy_ecs::prelude::{Schedule as EcsSchedule, World};
use std::time::Instant;
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
pub(super) struct Core {
    pub(super) world: World,
    pub(super) tick: EcsSchedule,
    pub(super) compiler: Compiler,
    pub(super) target: Target,
    pub(super) physical: bool,
}

impl Core {
    pub(super) fn run(&mut self) -> Result<()> {
        while self.step()? == Progress::Ran {}
        Ok(())
    }

    pub(super) fn step(&mut self) -> Result<Progress> {
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

    pub(super) fn finish(&mut self) -> Result<Progress> {
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
    pub(super) fn standing_remarks(&mut self) -> Vec<Diagnostic> {
        let world = &mut self.world;
        let mut query = world.query::<&LocationState>();
        let states: Vec<LocationState> = query.iter(world).copied().collect();
        let program = world.resource::<Program>();
        let mut out = Vec::new();
        // With several cores, one may write what another declares, so the driver of the cores decides. An aborted run is
        // not expected to have written its outputs.
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

    pub(super) fn check_limits(&self) -> Result<()> {
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
    pub(super) fn flow(&mut self, f: impl FnOnce(&mut Flow) -> Result<()>) -> Result<()> {
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

    pub(super) fn summary(&mut self, wall: std::time::Duration) -> RunSummary {
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

pub(super) fn started<'a>(pool: &'a mut Option<rayon::ThreadPool>, options: &Builder) -> Result<&'a rayon::ThreadPool> {
    Ok(match pool {
        Some(p) => p,
        None => pool.insert(options.pool()?),
    })
}

pub(super) type SyncBanks = (Vec<SemValue>, Vec<Touched>, Vec<Peak>, Vec<EventBit>, Vec<EventTouched>);

/// Copies of the sync banks.
pub(super) fn sync_banks(world: &mut World) -> SyncBanks {
    (
        world.query::<&SemValue>().iter(world).copied().collect(),
        world.query::<&Touched>().iter(world).copied().collect(),
        world.query::<&Peak>().iter(world).copied().collect(),
        world.query::<&EventBit>().iter(world).copied().collect(),
        world.query::<&EventTouched>().iter(world).copied().collect(),
    )
}

pub(super) fn not_loaded() -> Error {
    Error::new(Code::F008, "no program is loaded").advice("call Simulator::load first")
}

/// The component of the n-th entity of a kind; entities of a kind are one table in spawn order.
pub(super) fn nth<C: bevy_ecs::component::Component<Mutability = bevy_ecs::component::Mutable>>(
    world: &mut World,
    n: usize,
) -> Option<&mut C> {
    world.query::<&mut C>().iter_mut(world).nth(n).map(bevy_ecs::change_detection::Mut::into_inner)
}

pub(super) fn all_allocated(module: &Module) -> bool {
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

pub(super) fn mark_rows(shadow: &mut Shadow, place: &crate::memory::LocationInfo, n: usize) {
    place.for_rows(n, |at, range| shadow.set_run(at, at + range.len(), true));
}
