//! Opt-in observers of a run: checkers, dumps and the trace. A run without observers has no [`Hooks`], and the only
//! cost is one test per tick.
//!
//! Observers see every executed instruction in issue order, DMA descriptors included. Issue order is an order the
//! instructions could have run in one by one, so checkers and dumps work with every schedule; the trace names ticks and
//! selects the `reference` schedule.

mod dump;
mod nan;
mod pinned;
mod race;
mod trace;
mod uninit;
mod write_only;

pub use dump::{Dump, Point};
pub use race::{Clock, Found, Race, SharedAccesses, SharedTouch};
pub use trace::{TraceRow, TraceSink};

use crate::exec::effects::Effect;
use crate::exec::{Cx, Machine, Watch};
use crate::world::columns::slice;
use crate::world::{
    Diagnostic, Due, LocId, LocationMeta, Placement, Program, ProgramCounter, Remark, RowId, Severity, SyncSet,
};
use crate::{Code, Error};
use bevy_ecs::prelude::*;
use std::borrow::Cow;

birsim_kernels::named_enum! {
    /// An opt-in checker.
    Check {
        /// Reads of memory that nothing wrote.
        Uninit = 0, "uninit";
        /// The first instruction that makes a NaN or an infinity.
        Nan = 1, "nan";
        /// Writes of NaN, the guard of the reference (ruling D14).
        NanWrite = 2, "nan-write";
        /// Tensors that are written and never read.
        WriteOnly = 3, "write-only";
        /// Writes to pinned memory.
        Pinned = 4, "pinned";
        /// Uses of the same bytes, register or semaphore by two engines that nothing orders.
        Race = 5, "race";
    }
}

/// What a checker sees of the machine.
pub struct Scene<'a, 'w> {
    /// The machine.
    pub m: &'a Machine<'w>,
    /// Instruction that runs.
    pub row: RowId,
    /// Its effects.
    pub effects: &'a [Effect],
    /// It may read memory that nothing wrote.
    pub may_read_uninit: bool,
}

impl Scene<'_, '_> {
    fn meta(&self, e: &Effect) -> &LocationMeta {
        &self.m.program.locations[e.location]
    }

    fn name(&self) -> Cow<'_, str> {
        self.m.program.name_of(&self.m.program.insts[self.row])
    }
}

/// A broken rule.
pub struct Finding {
    /// Text.
    pub message: String,
    /// Instruction, when there is one.
    pub row: Option<RowId>,
    /// Tensor, when there is one.
    pub tensor: Option<String>,
}

impl Finding {
    /// The finding as a remark. Only findings have the class `fault`, so the end of the run can count them.
    fn remark(self, code: Remark) -> Diagnostic {
        Diagnostic::new(Severity::Fault, code, self.message).at(self.row).of(self.tensor)
    }
}

/// One checker.
pub trait Checker: Send + Sync {
    /// What its findings are.
    fn code(&self) -> Remark;
    /// Called before an instruction runs.
    fn before(&mut self, _: &Scene, _: &mut Vec<Finding>) {}
    /// Called when it has run.
    fn after(&mut self, _: &Scene, _: &mut Vec<Finding>) {}
    /// An instruction that has no kernel, or whose predicate fails: only its waits and updates act.
    fn passed(&mut self, _: &Machine, _: RowId) {}
    /// The blocks of an instruction have ended, and its updates act.
    fn released(&mut self, _: &Program, _: &[SyncSet], _: RowId) {}
    /// A loop begins another trip that clears the provenance of written memory.
    fn new_trip(&mut self) {}
    /// The checker of races: the driver also tells it what other cores do.
    fn race(&mut self) -> Option<&mut race::Race> {
        None
    }
    /// A location was declared, perhaps in the place of one that was released.
    fn declared(&mut self, _: LocId) {}
    /// Called at the end of the run.
    fn finish(&mut self, _: &Program, _: &[&Placement], _: &mut Vec<Finding>) {}
}

/// The observers of a run; a world without observers has none.
#[derive(Resource, Default)]
pub struct Hooks {
    checkers: Vec<Box<dyn Checker>>,
    trace: Option<TraceSink>,
    dumps: Vec<dump::Point>,
    found: Vec<Finding>,
    origins: Vec<Remark>,
}

impl Hooks {
    /// The observers that were asked for; `None` when none were.
    pub fn new(checks: &[Check], trace: Option<TraceSink>, dumps: Vec<dump::Point>) -> Option<Hooks> {
        let checkers: Vec<Box<dyn Checker>> = checks
            .iter()
            .map(|c| -> Box<dyn Checker> {
                match c {
                    Check::Uninit => Box::new(uninit::Uninit::default()),
                    Check::Nan => Box::new(nan::Nan::default()),
                    Check::NanWrite => Box::new(nan::NanWrite),
                    Check::WriteOnly => Box::new(write_only::WriteOnly::default()),
                    Check::Pinned => Box::new(pinned::Pinned::default()),
                    Check::Race => Box::new(race::Race::default()),
                }
            })
            .collect();
        let nothing = checkers.is_empty() && trace.is_none() && dumps.is_empty();
        (!nothing).then(|| Hooks { checkers, trace, dumps, found: Vec::new(), origins: Vec::new() })
    }

    fn look(&mut self, cx: &mut Cx, list: &[Effect], after: bool) {
        let may_read_uninit = cx.may_read_uninit();
        let scene = Scene { m: cx.m, row: cx.row, effects: list, may_read_uninit };
        for c in &mut self.checkers {
            let before = self.found.len();
            let list = &mut self.found;
            if after {
                c.after(&scene, list)
            } else {
                c.before(&scene, list)
            }
            self.origins.resize(self.found.len().max(before), c.code());
        }
        for (f, code) in self.found.drain(..).zip(self.origins.drain(..)) {
            cx.m.findings.note(f.remark(code));
        }
    }

    /// The blocks of an instruction have ended, and its updates act.
    pub fn released(&mut self, program: &Program, syncs: &[SyncSet], row: RowId) {
        self.checkers.iter_mut().for_each(|c| c.released(program, syncs, row));
    }

    /// A loop whose number of trips is known only at run time begins another trip.
    pub fn new_trip(&mut self) {
        self.checkers.iter_mut().for_each(|c| c.new_trip());
    }

    /// The checker of races, when it is asked for.
    pub fn race(&mut self) -> Option<&mut race::Race> {
        self.checkers.iter_mut().find_map(|c| c.race())
    }

    /// A location was declared, perhaps in the place of one that was released.
    pub fn declared(&mut self, location: LocId) {
        self.checkers.iter_mut().for_each(|c| c.declared(location));
    }

    /// Ends a run: remaining findings are added to `diagnostics`.
    pub fn finish(&mut self, program: &Program, places: &[&Placement], diagnostics: &mut Vec<Diagnostic>) {
        let mut found = Vec::new();
        for c in &mut self.checkers {
            c.finish(program, places, &mut found);
            diagnostics.extend(found.drain(..).map(|f| f.remark(c.code())));
        }
    }

    /// The dumps taken so far.
    pub fn dumps(&self) -> impl Iterator<Item = &Dump> {
        self.dumps.iter().filter_map(|d| d.taken.as_ref())
    }
}

/// Tells the checkers what control did in this tick. The system is part of a tick only when there are observers.
pub fn follow(
    program: Res<Program>,
    due: Res<Due>,
    rows: Query<&SyncSet>,
    mut pc: ResMut<ProgramCounter>,
    mut hooks: ResMut<Hooks>,
) {
    if std::mem::take(&mut pc.new_trip) {
        hooks.new_trip();
    }
    let syncs = slice!(rows);
    due.0.iter().for_each(|row| hooks.released(&program, syncs, *row));
}

/// The fault of a run whose checkers found something; `None` when they did not.
pub fn verdict(program: &Program, diagnostics: &[Diagnostic]) -> Option<Error> {
    let mut found = diagnostics.iter().filter(|d| d.severity == Severity::Fault);
    let first = found.next()?;
    let more = found.count();
    let e = Error::new(Code::S017, first.to_string())
        .received(if more == 0 { "one finding".to_string() } else { format!("{} findings", more + 1) })
        .at(|p| p.tensor = first.tensor.clone());
    Some(first.row.map_or(e.clone(), |row| program.locate(e, row)))
}

impl Watch for Hooks {
    fn before(&mut self, cx: &mut Cx, effects: &[Effect]) {
        self.look(cx, effects, false);
    }

    fn after(&mut self, cx: &mut Cx, effects: &[Effect]) {
        self.look(cx, effects, true);
        if let Some(sink) = &self.trace {
            trace::tell(sink, cx, effects);
        }
        self.dumps.iter_mut().for_each(|d| d.look(cx));
    }

    fn passed(&mut self, m: &mut Machine, row: RowId) {
        self.checkers.iter_mut().for_each(|c| c.passed(m, row));
    }
}

/// Bytes of a location that an arena byte range covers, for messages: `partition p, bytes a..b`.
fn span(place: &Placement, lo: usize, hi: usize) -> String {
    let p = &place.0;
    let from = (lo as u64).saturating_sub(p.start);
    let (row, stride) = (from / p.row_stride.max(1), p.row_stride.max(1));
    let at = from - row * stride;
    format!("partition {row}, bytes {at}..{}", at + (hi - lo) as u64)
}
