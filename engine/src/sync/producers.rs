//! Instructions that change the counter or event that a wait tests, and where they are while nothing moves.

use super::deadlock::Standing;
use crate::ir::{Steer, SyncKind, UpdateMode};
use crate::world::*;

/// Where an instruction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum At {
    /// At the head of its queue.
    Head,
    /// In its queue, after the head.
    Behind(RowId),
    /// After a join of the same block.
    Later,
    /// In another block.
    Block(BlockId),
    /// It has run.
    Ran,
}

impl At {
    /// It runs in this block if the block goes on.
    pub fn is_to_come(self) -> bool {
        matches!(self, At::Head | At::Behind(_) | At::Later)
    }
}

/// Rows that could satisfy a wait; those that are still to come first.
pub fn producers(s: &Standing, w: &Wait) -> Vec<(RowId, At)> {
    let rows = s.program.rows();
    let mut found: Vec<(RowId, At)> = rows.filter(|r| raises(s, *r, w)).map(|r| (r, place(s, r))).collect();
    // The sort is stable, so rows of one kind stay in list order.
    let rank = |at: At| match at {
        At::Head => 0,
        At::Behind(_) => 1,
        At::Later => 2,
        At::Block(_) => 3,
        At::Ran => 4,
    };
    found.sort_by_key(|(_, at)| rank(*at));
    found
}

/// Rows that have lowered a semaphore, or are in other blocks and may have lowered it.
pub fn lowering(s: &Standing, id: u32) -> Vec<(RowId, At)> {
    let lowers = |u: &Update| {
        u.kind == SyncKind::Semaphore
            && u.id == id
            && matches!(u.mode, UpdateMode::SemSubImm | UpdateMode::SemDec | UpdateMode::SemWrImm)
    };
    let rows = s.program.rows().filter(|r| {
        let (i, sync) = (&s.program.insts[*r], &s.syncs[*r]);
        let cleared = matches!(&i.control, Control::Rewind { clear, .. } if clear.contains(&id));
        cleared
            || i.opcode.steers(Steer::Return)
            || s.program.updates_of(sync).iter().chain(s.program.seconds_of(sync)).any(lowers)
    });
    rows.map(|r| (r, place(s, r))).filter(|(_, at)| !at.is_to_come()).collect()
}

/// Rows that could satisfy a wait of another core of the rank, and the row at the head of their queue where they come
/// after one.
pub fn for_core(s: &Standing, kind: SyncKind, id: u32, core: u32) -> Vec<(RowId, At)> {
    let raises = |r: &RowId| raises_where(s, *r, kind, id, |target| target == Some(core) && core != s.core);
    s.program.rows().filter(raises).map(|r| (r, place(s, r))).collect()
}

/// Whether a row, or a DMABlock that it fires, helps to satisfy a wait on this core.
pub fn raises(s: &Standing, row: RowId, w: &Wait) -> bool {
    raises_where(s, row, w.kind, w.id, |target| target.is_none_or(|c| c == s.core))
}

fn raises_where(s: &Standing, row: RowId, kind: SyncKind, id: u32, target: impl Fn(Option<u32>) -> bool) -> bool {
    let program = s.program;
    let by = |row: RowId| {
        let sync = &s.syncs[row];
        program.updates_of(sync).iter().chain(program.seconds_of(sync)).any(|u| {
            u.kind == kind
                && u.id == id
                && target(u.target_core)
                && !matches!(u.mode, UpdateMode::SemSubImm | UpdateMode::SemDec)
        })
    };
    match &program.insts[row].control {
        // A block acts when its trigger fires.
        Control::Descriptors(_) => false,
        Control::Trigger { blocks, .. } => by(row) || blocks.iter().any(|b| by(*b)),
        _ => by(row),
    }
}

fn place(s: &Standing, row: RowId) -> At {
    let block = s.program.insts[row].block;
    if block != s.pc.block {
        return At::Block(block);
    }
    let plan = &s.program.blocks[block];
    let segments = &s.program.segments[plan.all_segments()];
    let holds = |g: &Segment| g.join == Some(row) || g.ranges.iter().any(|r| r.contains(row));
    let now = s.pc.segment as usize;
    match segments.iter().position(holds) {
        Some(k) if k < now => At::Ran,
        Some(k) if k == now => {
            let Some(q) = segments[k].ranges.iter().position(|r| r.contains(row)) else {
                let finished = s.cursors.iter().all(|c| c.next >= c.end);
                return if finished { At::Head } else { At::Later };
            };
            match s.cursors[q].next {
                head if row < head => At::Ran,
                head if row == head => At::Head,
                head => At::Behind(head),
            }
        }
        _ => At::Later,
    }
}
