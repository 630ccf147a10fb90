//! The control state as one system parameter, for the last stage of a tick and for what happens between ticks.

use super::advance::Flow;
use crate::Result;
use crate::ir::SyncKind;
use crate::sync::SyncBank;
use crate::sync::deadlock::{Elsewhere, Helper};
use crate::world::columns::{column, slice, table};
use crate::world::*;
use bevy_ecs::prelude::*;
use bevy_ecs::system::SystemParam;

type EngineState = (&'static mut Cursor, &'static mut Status, &'static mut RegisterFile);

/// Queries and resources of a [`Flow`].
#[derive(SystemParam)]
pub(crate) struct ControlState<'w, 's> {
    program: Res<'w, Program>,
    settings: Res<'w, Settings>,
    rows: Query<'w, 's, &'static SyncSet>,
    pc: ResMut<'w, ProgramCounter>,
    bindings: ResMut<'w, Bindings>,
    engines: Query<'w, 's, EngineState>,
    axes: Query<'w, 's, &'static mut Induction>,
    bank: SyncBank<'w, 's>,
    due: ResMut<'w, Due>,
}

impl ControlState<'_, '_> {
    /// Lends the control state to `f`.
    pub(crate) fn with<R>(&mut self, f: impl FnOnce(&mut Flow) -> R) -> R {
        let mut engines = table!(self.engines);
        let (cursors, status, registers): (&mut [Cursor], &mut [Status], &mut [RegisterFile]) = match &mut engines {
            Some((c, s, r)) => (
                &mut c.bypass_change_detection()[..QUEUES],
                &mut s.bypass_change_detection()[..QUEUES],
                r.bypass_change_detection(),
            ),
            None => (&mut [], &mut [], &mut []),
        };
        let mut axes = table!(self.axes);
        let induction = column!(axes);
        let syncs = slice!(self.rows);
        self.bank.with(&self.settings, |banks| {
            f(&mut Flow {
                program: &self.program,
                syncs,
                settings: &self.settings,
                pc: &mut self.pc,
                cursors,
                status,
                registers,
                induction,
                banks,
                bindings: &mut self.bindings,
                due: &mut self.due.0,
            })
        })
    }
}

/// Enters the program, or goes on with what was appended to it.
pub(crate) fn start(mut control: ControlState) -> Result<()> {
    control.with(|flow| flow.start())
}

/// Judges the semaphores at the end of a run.
pub(crate) fn leftovers(mut control: ControlState) -> Result<()> {
    control.with(|flow| flow.leftover_semaphores())
}

/// What the engines wait for, as text.
pub(crate) fn report(In(elsewhere): In<Elsewhere>, mut control: ControlState) -> String {
    control.with(|flow| flow.standing().report(&elsewhere))
}

/// Rows that wait, and for which event or semaphore.
pub(crate) fn waits(mut control: ControlState) -> Vec<(RowId, SyncKind, u32)> {
    control.with(|flow| flow.standing().waits())
}

/// What the core could do for a wait of another one.
pub(crate) fn help(In((kind, id, core)): In<(SyncKind, u32, u32)>, mut control: ControlState) -> Vec<Helper> {
    control.with(|flow| flow.standing().help(kind, id, core))
}
