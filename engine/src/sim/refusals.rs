//! What a program refuses whatever its inputs are, and which of its instructions are sure to run.

use super::Core;
use crate::exec::refusals::{refusals, set_up};
use crate::systems::MachineParam;
use crate::world::*;
use crate::{Error, Result};

/// An error that follows from the module alone.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The error that a run raises.
    pub error: Error,
    /// The instruction runs whatever the data are; else a run may never come to it.
    pub certain: bool,
}

impl Core {
    /// Everything that instructions refuse whatever the inputs are, in list order of the rows.
    pub(crate) fn refusals(&mut self) -> Result<Vec<Refusal>> {
        let certain = certain(self.world.resource::<Program>());
        let found = self.ask(found)?;
        let refusal = |(row, error): (RowId, Error)| Refusal { error, certain: certain[row.at()] };
        Ok(found.into_iter().map(refusal).collect())
    }
}

fn found(mut machine: MachineParam) -> Vec<(RowId, Error)> {
    let all = machine.with(|m| {
        set_up(m);
        let rows = m.program.rows();
        let all = rows.flat_map(|row| refusals(m, row).into_iter().map(move |e| (row, e))).collect();
        m.scratch.rehearsal = None;
        all
    });
    all.unwrap_or_default()
}

/// Loops and calls nest at most this deep.
const MAX_DEPTH: u32 = 64;

/// Rows that run whatever the data are. What follows a conditional branch counts as uncertain, and so does an instruction
/// with a predicate.
fn certain(program: &Program) -> Vec<bool> {
    let mut rows = vec![false; program.insts.len()];
    if let Some(entry) = program.functions.first() {
        Walk { program, rows: &mut rows }.list(entry.list, 0);
    }
    rows
}

struct Walk<'a> {
    program: &'a Program,
    rows: &'a mut [bool],
}

impl Walk<'_> {
    /// Marks the blocks of a list, which is sure to start. Returns whether control is sure to come to its end.
    fn list(&mut self, list: ListId, depth: u32) -> bool {
        if depth > MAX_DEPTH {
            return false;
        }
        let program = self.program;
        let blocks = &program.lists[list];
        for (k, block) in blocks.iter().enumerate() {
            let plan = &program.blocks[*block];
            let mut next = Some(true);
            for segment in &program.segments[plan.all_segments()] {
                let queued = segment.ranges.iter().flat_map(|r| r.rows());
                for row in queued.chain(segment.join) {
                    if let Some(goes_on) = self.row(row, blocks.get(k + 1), depth) {
                        next = next.filter(|_| goes_on);
                    }
                }
            }
            if next.is_none() {
                return false;
            }
        }
        true
    }

    /// Marks a row. For one that changes the flow of control: whether control surely continues with the next block.
    fn row(&mut self, row: RowId, next: Option<&BlockId>, depth: u32) -> Option<bool> {
        let inst = &self.program.insts[row];
        if !inst.predicates.is_empty() {
            return (!matches!(inst.control, Control::None)).then_some(false);
        }
        self.rows[row.at()] = true;
        match &inst.control {
            Control::None | Control::Descriptors(_) | Control::Rewind { .. } => None,
            Control::Jump(to) => Some(Some(to) == next),
            Control::Branch { .. } | Control::Break | Control::Return | Control::Exit => Some(false),
            Control::Call { function, .. } => {
                // A Return at the end of the callee is how it usually ends.
                self.list(self.program.functions[*function].list, depth + 1);
                None
            }
            Control::Trigger { blocks, .. } => {
                if let Some(first) = blocks.first()
                    && let Control::Descriptors(rows) = &self.program.insts[*first].control
                {
                    rows.iter().for_each(|d| self.rows[d.at()] = true);
                }
                None
            }
            Control::DoWhile(_) => self.body(inst, depth),
            Control::Loop { lb, ub, degenerate, .. } => match (lb.as_const(), ub.as_const()) {
                _ if *degenerate => self.body(inst, depth),
                (Some(lb), Some(ub)) if lb < ub => self.body(inst, depth),
                _ => None,
            },
        }
    }

    /// A body that runs at least once. A break ends the loop only, but nobody knows what else leaves it.
    fn body(&mut self, inst: &Inst, depth: u32) -> Option<bool> {
        self.list(inst.body?, depth + 1).then_some(true).or(Some(false))
    }
}
