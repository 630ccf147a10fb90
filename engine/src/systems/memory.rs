//! Stage 4: runs the issue list in issue order, each call read -> compute -> write.

use super::dispatch::{Call, Calls};
use super::machine::MachineParam;
use crate::exec::{Cx, Machine};
use crate::ir::table::RouteClass;
use crate::world::*;
use crate::{Code, Error, Result};
use bevy_ecs::prelude::*;
use birsim_kernels::halt;

pub(super) fn memory(mut calls: ResMut<Calls>, mut issue: ResMut<IssueList>, mut machine: MachineParam) {
    if calls.0.is_empty() {
        return;
    }
    // Decide once per tick whether anyone observes.
    let done = machine.with(|m| {
        let stop = m.settings.stop.clone();
        halt::scope(stop, || match m.watch.is_some() {
            true => execute_all::<true>(m, &mut calls.0),
            false => execute_all::<false>(m, &mut calls.0),
        })
    });
    issue.rows.truncate(done.unwrap_or(0));
}

/// The stage itself, without observers. The caller has installed what may stop an instruction (`halt::scope`).
pub(super) fn run(m: &mut Machine, calls: &mut Calls, issue: &mut IssueList) {
    let done = execute_all::<false>(m, &mut calls.0);
    issue.rows.truncate(done);
}

/// Runs the calls up to the first that fails; returns how many succeeded.
fn execute_all<const OBSERVED: bool>(m: &mut Machine, calls: &mut Vec<Call>) -> usize {
    let mut done = 0;
    for call in calls.drain(..) {
        let outcome = match call.execute {
            Some(execute) => execute_one::<OBSERVED>(m, call.row, execute),
            None => note_unmodelled::<OBSERVED>(m, call.row),
        };
        if let Err(e) = outcome {
            m.findings.fault = Some(m.program.locate(e, call.row));
            break;
        }
        m.stats.count(call.opcode);
        done += 1;
    }
    done
}

/// Executes one row, unless a predicate says no.
fn execute_one<const OBSERVED: bool>(m: &mut Machine, row: RowId, execute: crate::exec::Execute) -> Result<()> {
    let inst = &m.program.insts[row];
    check_engine(m.program, inst)?;
    if !inst.predicates.is_empty() {
        let env = Scalars { registers: m.registers, induction: m.induction, seat: m.settings.seat };
        if !predicates_hold(&inst.predicates, &env)? {
            if OBSERVED {
                m.passed(row);
            }
            return Ok(());
        }
    }
    let mut cx = Cx::new(m, row)?;
    if OBSERVED { cx.call(execute) } else { execute(&mut cx) }
}

/// A row without a kernel: sync-only, control, skip-and-note, or not modelled.
fn note_unmodelled<const OBSERVED: bool>(m: &mut Machine, row: RowId) -> Result<()> {
    let inst = &m.program.insts[row];
    check_engine(m.program, inst)?;
    if OBSERVED {
        m.passed(row);
    }
    match inst.opcode.row().class {
        RouteClass::NoOp | RouteClass::ControlFlow => Ok(()),
        RouteClass::Skipped if !m.settings.unsupported_is_error => {
            m.stats.skipped[inst.opcode.ordinal() as usize] += 1;
            let message = format!("{} is skipped, as the reference simulator does", inst.opcode);
            m.findings.note(Diagnostic::warning(Remark::Skipped, message).at(row));
            Ok(())
        }
        _ if !matches!(inst.control, Control::None) => Ok(()),
        _ => Err(Error::new(Code::U001, format!("{} is not modelled", inst.opcode))),
    }
}
