//! Stage 2: consumes the event waits of what was issued, and refuses waits of unknown form.

use crate::ir::{SyncKind, WaitMode};
use crate::world::columns::{column, slice, table};
use crate::world::*;
use crate::{Code, Error};
use bevy_ecs::prelude::*;

pub(super) fn wait(
    program: Res<Program>,
    pc: Res<ProgramCounter>,
    mut issue: ResMut<IssueList>,
    mut findings: ResMut<Findings>,
    rows: Query<&SyncSet>,
    mut events: Query<&mut EventBit>,
) {
    let mut events = table!(events);
    run(&program, &pc, &mut issue, &mut findings, slice!(rows), column!(events));
}

/// The stage itself.
pub(super) fn run(
    program: &Program,
    pc: &ProgramCounter,
    issue: &mut IssueList,
    findings: &mut Findings,
    syncs: &[SyncSet],
    bits: &mut [EventBit],
) {
    // Rows with such waits end the window, so only the last one can have any.
    let Some(last) = issue.rows.last().copied() else { return };
    if !program.blocks[pc.block].by_sync {
        return;
    }
    let s = syncs[last];
    if !s.slow_wait {
        return;
    }
    for w in program.waits_of(&s) {
        let fault = match (w.kind, w.mode) {
            (SyncKind::Event, WaitMode::EvtSetClear) => {
                let bit = &mut bits[w.id as usize].0;
                if std::mem::take(bit) {
                    continue;
                }
                Error::new(Code::S004, format!("event {} is cleared before it is set", w.id)).received("event = 0")
            }
            (SyncKind::Event, mode) => {
                Error::new(Code::S004, "an event is waited for with evt-set-clear").received(mode)
            }
            (SyncKind::Semaphore, WaitMode::EvtSetClear) => {
                Error::new(Code::S005, "a semaphore is waited for with sem-ge-imm or sem-ge-reg")
                    .received("evt-set-clear")
            }
            _ => continue,
        };
        findings.fault = Some(program.locate(fault, last));
        issue.rows.clear();
        return;
    }
}
