//! Stage 5: what issued rows do to control and to the banks, in issue order.

use crate::control::act::Acts;
use crate::sync::SyncBank;
use crate::world::columns::{column, slice, table};
use crate::world::*;
use bevy_ecs::prelude::*;

// A system's parameters are the state it looks at.
#[allow(clippy::too_many_arguments)]
pub(super) fn publish(
    program: Res<Program>,
    settings: Res<Settings>,
    issue: Res<IssueList>,
    rows: Query<&SyncSet>,
    mut pc: ResMut<ProgramCounter>,
    registers: Query<&RegisterFile>,
    axes: Query<&Induction>,
    mut triggers: Query<&mut FireCount>,
    mut bank: SyncBank,
) {
    let mut triggers = table!(triggers);
    bank.with(&settings, |banks| {
        run(
            Acts {
                program: &program,
                syncs: slice!(rows),
                settings: &settings,
                pc: &mut pc,
                registers: slice!(registers),
                induction: slice!(axes),
                fires: column!(triggers),
                banks,
            },
            &issue.rows,
        );
    });
}

/// The stage itself.
pub(super) fn run(mut acts: Acts, rows: &[RowId]) {
    if let Err(e) = acts.publish(rows) {
        acts.banks.findings.fault.get_or_insert(e);
    }
}
