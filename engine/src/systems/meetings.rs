//! Which rows of a core wait for other cores.

use crate::world::columns::slice;
use crate::world::*;
use bevy_ecs::prelude::*;

/// A row that waits for other cores, and the rows of other engines that its place in a queue depends on.
pub(crate) struct Standing {
    /// The row.
    pub row: RowId,
    /// Rows that come before it in list order and have not run.
    pub before: Vec<RowId>,
    /// Rows that come after it in list order and were let through already.
    pub after: Vec<RowId>,
}

/// The rows that wait for other cores and were not let through.
pub(crate) fn standing(
    program: Res<Program>,
    settings: Res<Settings>,
    pc: Res<ProgramCounter>,
    rows: Query<&SyncSet>,
    cursors: Query<&Cursor>,
    registers: Query<&RegisterFile>,
    axes: Query<&Induction>,
) -> Vec<Standing> {
    let (syncs, cursors) = (slice!(rows), slice!(cursors));
    let env = Scalars { registers: slice!(registers), induction: slice!(axes), seat: settings.seat };
    let index = |row: RowId| program.insts[row].index;
    let waiting = pc.meetings.iter().filter(|row| !pc.granted.contains(row));
    let one = |row: &RowId| {
        let mut before = Vec::new();
        // The rows of one engine are in list order, so only the other engines can hold earlier ones. A block that runs in
        // list order has one queue, whose head this row is.
        for c in cursors.iter().take(QUEUES).filter(|c| !c.contains(*row)) {
            let earlier = c.rows().take_while(|r| index(*r) < index(*row));
            before.extend(earlier.filter(|r| {
                let runs = || predicates_hold(&program.insts[*r].predicates, &env).unwrap_or(false);
                syncs[*r].meets && !pc.met.contains(r) && runs()
            }));
        }
        let after = pc.met.iter().copied().filter(|r| index(*r) > index(*row)).collect();
        Standing { row: *row, before, after }
    };
    waiting.map(one).collect()
}
