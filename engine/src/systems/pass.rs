//! Further ticks of a pass over the systems.
//!
//! Fetching what the systems of one tick may touch costs as much as several small instructions. For a window of a thousand
//! rows that hardly matters, but a loop with one instruction in its body, and every schedule with one instruction per tick,
//! would spend most of their time on it. So the last system of a pass fetches everything once and begins further ticks: the same
//! stages in the same order, until about as much has been issued as fits into a window, or until there is something for
//! the driver to look at. Runs with observers have one tick in each pass, because systems of `check` follow every tick.

use super::machine::{ArenaState, LocationColumns, Storage, with_storage};
use super::{advance, dispatch, memory, publish, select, wait};
use crate::check::Hooks;
use crate::control::act::Acts;
use crate::control::advance::Flow;
use crate::exec::Machine;
use crate::sync::Banks;
use crate::systems::Calls;
use crate::world::columns::{column, slice, table};
use crate::world::*;
use bevy_ecs::prelude::*;
use bevy_ecs::system::SystemParam;
use birsim_kernels::halt;

type EngineState = (
    &'static mut Cursor,
    &'static mut Status,
    &'static mut RegisterFile,
    &'static mut Accumulators,
    &'static mut EngineRng,
);
type SemaphoreState = (&'static mut SemValue, &'static mut Touched, &'static mut Peak);
type EventState = (&'static mut EventBit, &'static mut EventTouched);

/// What the stages of a tick touch together.
#[derive(SystemParam)]
pub(super) struct AllStages<'w, 's> {
    program: Res<'w, Program>,
    settings: Res<'w, Settings>,
    rows: Query<'w, 's, &'static SyncSet>,
    hooks: Option<Res<'w, Hooks>>,
    pc: ResMut<'w, ProgramCounter>,
    issue: ResMut<'w, IssueList>,
    calls: ResMut<'w, Calls>,
    bindings: ResMut<'w, Bindings>,
    due: ResMut<'w, Due>,
    stats: ResMut<'w, Stats>,
    findings: ResMut<'w, Findings>,
    mail: ResMut<'w, Mail>,
    post: ResMut<'w, Post>,
    scratch: ResMut<'w, Scratch>,
    host_rng: ResMut<'w, HostRng>,
    prints: ResMut<'w, Prints>,
    arenas: Query<'w, 's, ArenaState>,
    locations: Query<'w, 's, LocationColumns>,
    engines: Query<'w, 's, EngineState>,
    axes: Query<'w, 's, &'static mut Induction>,
    triggers: Query<'w, 's, &'static mut FireCount>,
    semaphores: Query<'w, 's, SemaphoreState>,
    events: Query<'w, 's, EventState>,
}

pub(super) fn go_on(mut all: AllStages) {
    if all.hooks.is_some() || all.ends(all.issue.rows.len()) {
        return;
    }
    let stop = all.settings.stop.clone();
    halt::scope(stop, || all.ticks());
}

impl AllStages<'_, '_> {
    /// The pass ends here: `issued` rows are enough, or the driver has something to look at.
    fn ends(&self, issued: usize) -> bool {
        let syncs = slice!(self.rows);
        ends((&self.settings, syncs), &self.stats, &self.findings, &self.pc, &self.issue, issued)
    }

    fn ticks(&mut self) {
        let (program, settings) = (&*self.program, &*self.settings);
        let syncs = slice!(self.rows);
        let (mut engines, mut semaphores, mut events) =
            (table!(self.engines), table!(self.semaphores), table!(self.events));
        let (Some((cursors, status, registers, accumulators, rngs)), Some((values, touched, peaks)), Some((bits, set))) =
            (&mut engines, &mut semaphores, &mut events)
        else {
            return;
        };
        let (cursors, status) = (cursors.bypass_change_detection(), status.bypass_change_detection());
        let registers = registers.bypass_change_detection();
        let (accumulators, rngs) = (accumulators.bypass_change_detection(), rngs.bypass_change_detection());
        let (values, touched) = (values.bypass_change_detection(), touched.bypass_change_detection());
        let peaks = peaks.bypass_change_detection();
        let (bits, set) = (bits.bypass_change_detection(), set.bypass_change_detection());
        let (mut axes, mut triggers) = (table!(self.axes), table!(self.triggers));
        let (induction, fires) = (column!(axes), column!(triggers));
        let (pc, issue, calls) = (&mut *self.pc, &mut *self.issue, &mut *self.calls);
        let (stats, findings) = (&mut *self.stats, &mut *self.findings);
        let (post, scratch, bindings, due) =
            (&mut *self.post, &mut *self.scratch, &mut *self.bindings, &mut self.due.0);
        let (mail, host_rng, prints) = (&mut *self.mail, &mut *self.host_rng, &mut *self.prints);
        macro_rules! banks {
            () => {
                Banks { semaphores: values, touched, peaks, events: bits, event_touched: set, post, findings, settings }
            };
        }
        with_storage(&mut self.arenas, &mut self.locations, |storage| {
            let Storage { arenas, inits, accums, written, places, states } = storage;
            // What each stage is called with; `stages!` calls them in the order of the schedule.
            macro_rules! stage {
                (select) => {
                    select::run(select::Select {
                        program,
                        settings,
                        findings,
                        pc,
                        issue,
                        syncs,
                        cursors,
                        status,
                        registers,
                        induction,
                        semaphores: values,
                        events: bits,
                    })
                };
                (wait) => {
                    wait::run(program, pc, issue, findings, syncs, bits)
                };
                (dispatch) => {
                    dispatch::run(program, issue, calls)
                };
                (memory) => {
                    let mut machine = Machine {
                        program,
                        syncs,
                        arenas,
                        inits,
                        accums,
                        written,
                        places,
                        states,
                        registers,
                        accumulators,
                        rngs,
                        induction,
                        fires,
                        settings,
                        bindings,
                        stats,
                        findings,
                        mail,
                        post,
                        scratch,
                        host_rng,
                        prints,
                        watch: None,
                    };
                    memory::run(&mut machine, calls, issue)
                };
                (publish) => {
                    let acts = Acts { program, syncs, settings, pc, registers, induction, fires, banks: banks!() };
                    publish::run(acts, &issue.rows)
                };
                (advance) => {
                    let (cursors, status) = (&mut cursors[..QUEUES], &mut status[..QUEUES]);
                    let mut flow = Flow {
                        program,
                        syncs,
                        settings,
                        pc,
                        cursors,
                        status,
                        registers,
                        induction,
                        banks: banks!(),
                        bindings,
                        due,
                    };
                    advance::run(&mut flow, stats)
                };
            }
            macro_rules! tick {
                ($($stage:ident),*) => { $({ stage!($stage); })* };
            }
            let mut issued = issue.rows.len();
            while !ends((settings, syncs), stats, findings, pc, issue, issued) {
                stages!(tick);
                // A tick that only moves control counts as well, so that a pass always ends.
                issued += issue.rows.len().max(1);
            }
        });
    }
}

/// Something has to be looked at outside the pass, or enough was issued in it.
fn ends(
    (settings, syncs): (&Settings, &[SyncSet]),
    stats: &Stats,
    findings: &Findings,
    pc: &ProgramCounter,
    issue: &IssueList,
    issued: usize,
) -> bool {
    let blocked = issue.rows.is_empty() && (pc.stuck || !pc.meetings.is_empty());
    let last = issue.rows.last().is_some_and(|row| syncs[*row].ends_pass);
    let looked_at = findings.fault.is_some() || pc.finished || blocked || last;
    looked_at || issued >= issue.enough || settings.limits.reached(stats, pc).is_some()
}
