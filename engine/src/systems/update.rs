//! Stage 5: publishes semaphore and event updates in issue order, then lets control go on.

use super::{column, slice, table};
use crate::check::Hooks;
use crate::control::advance::Flow;
use crate::sync::deadlock::Standing;
use crate::sync::{Banks, RemoteUpdate};
use crate::world::*;
use crate::{Code, Error};
use bevy_ecs::prelude::*;

/// Updates addressed to other cores, in issue order.
#[derive(Resource, Default)]
pub struct Outbox(pub Vec<RemoteUpdate>);

#[expect(clippy::too_many_arguments, reason = "one parameter per kind of component the stage touches")]
pub(super) fn update(
    program: Res<Program>,
    settings: Res<Settings>,
    issue: Res<IssueList>,
    mut pc: ResMut<ProgramCounter>,
    mut run: ResMut<Run>,
    mut hooks: Option<ResMut<Hooks>>,
    mut outbox: ResMut<Outbox>,
    mut publish: Local<Vec<u32>>,
    rows: Query<&SyncSet>,
    mut engines: Query<(&mut Cursor, &mut Status, &mut RegisterFile)>,
    mut axes: Query<&mut Induction>,
    mut semaphores: Query<(&mut SemValue, &mut Touched, &mut Peak)>,
    mut events: Query<(&mut EventBit, &mut EventTouched)>,
    mut triggers: Query<&mut FireCount>,
) {
    run.stats.ticks += 1;
    let syncs = slice!(rows);
    let Some((mut sem, mut sem_touched, mut sem_peaks)) = table!(semaphores) else {
        return;
    };
    let Some((mut bits, mut bits_touched)) = table!(events) else {
        return;
    };
    let mut banks = Banks {
        semaphores: sem.bypass_change_detection(),
        touched: sem_touched.bypass_change_detection(),
        peaks: sem_peaks.bypass_change_detection(),
        events: bits.bypass_change_detection(),
        event_touched: bits_touched.bypass_change_detection(),
        core: settings.core,
    };
    let mut triggers = table!(triggers);
    let fires = column!(triggers);
    let mut axes = table!(axes);
    let Some((mut cursors, mut status, mut registers)) = table!(engines) else { return };
    let by_sync = program.blocks.get(pc.block as usize).is_some_and(|b| b.by_sync);
    let (run, pc) = (&mut *run, &mut *pc);
    publish.clear();
    // The control state, borrowed for as long as one of the uses below needs it.
    macro_rules! flow {
        () => {
            Flow {
                program: &program,
                settings: &settings,
                pc,
                cursors: &mut cursors.bypass_change_detection()[..QUEUES],
                status: &mut status.bypass_change_detection()[..QUEUES],
                registers: registers.bypass_change_detection(),
                induction: column!(axes),
                semaphores: &mut *banks.semaphores,
                touched: &mut *banks.touched,
                events: &mut *banks.events,
                run,
                publish: &mut publish,
            }
        };
    }
    for row in &issue.rows {
        let inst = &program.insts[*row as usize];
        let mut acted = true;
        if !matches!(inst.control, Control::None) {
            let mut flow = flow!();
            acted = match flow.control_row(*row) {
                Ok(acted) => acted,
                Err(e) => {
                    run.fault.get_or_insert(program.locate(e, *row));
                    return;
                }
            };
            if let (true, Control::Rewind { triggers, .. }) = (acted, &inst.control) {
                triggers.iter().for_each(|t| fires[*t as usize] = FireCount(0));
            }
        }
        if by_sync && !owns_updates(inst.opcode) {
            let out = banks.publish(&program, &syncs[*row as usize], &mut outbox.0);
            let out = out.and_then(|()| match acted {
                true => trigger_updates(&program, inst, fires, &mut banks, &mut outbox.0),
                false => Ok(()),
            });
            if let Err(e) = out {
                run.fault.get_or_insert(program.locate(e, *row));
                return;
            }
        }
    }
    // A barrier acts once more when all engines have met; they are issued together.
    for row in issue.rows.iter().filter(|r| by_sync && syncs[**r as usize].seconds > 0) {
        if let Err(e) = banks.publish_seconds(&program, &syncs[*row as usize], &mut outbox.0) {
            run.fault.get_or_insert(program.locate(e, *row));
            return;
        }
    }
    if run.fault.is_some() || pc.finished {
        return;
    }
    let all_done = cursors.bypass_change_detection()[..QUEUES].iter().all(|c| c.next >= c.end);
    let segment =
        program.blocks.get(pc.block as usize).map(|b| program.segments[(b.first_segment + pc.segment) as usize]);
    let join = segment.and_then(|s| s.join);
    let mut flow = flow!();
    let outcome = if flow.pc.join_issued {
        flow.advance(join)
    } else if flow.pc.idle_body || (all_done && (join.is_none() || flow.pc.next == Next::Exit)) {
        flow.advance(None)
    } else {
        Ok(())
    };
    if let Err(e) = outcome {
        let e = join.map_or(e.clone(), |row| program.locate(e, row));
        run.fault.get_or_insert(e);
        return;
    }
    if std::mem::take(&mut pc.new_trip)
        && let Some(hooks) = &mut hooks
    {
        hooks.new_trip();
    }
    for row in publish.drain(..) {
        if let Some(hooks) = &mut hooks {
            hooks.released(&program, row);
        }
        if let Err(e) = banks.publish(&program, &syncs[row as usize], &mut outbox.0) {
            run.fault.get_or_insert(program.locate(e, row));
            return;
        }
    }
    // With other cores around, one of them may still send what is missing.
    if pc.stuck && settings.cores == 1 {
        let standing = Standing {
            program: &program,
            pc,
            cursors: &cursors.bypass_change_detection()[..QUEUES],
            status: &status.bypass_change_detection()[..QUEUES],
            semaphores: banks.semaphores,
            touched: banks.touched,
            peaks: banks.peaks,
            events: banks.event_touched,
            registers: registers.bypass_change_detection(),
            core: settings.core,
        };
        run.fault = Some(Error::new(Code::S003, standing.report()));
    }
}

/// A trigger's DMABlock signals when its descriptors are done.
fn trigger_updates(
    program: &Program,
    inst: &Inst,
    fires: &[FireCount],
    banks: &mut Banks,
    outbox: &mut Vec<RemoteUpdate>,
) -> crate::Result<()> {
    let Control::Trigger { blocks, trigger } = &inst.control else { return Ok(()) };
    let fired = fires.get(*trigger as usize).map_or(0, |f| f.0);
    if fired == 0 || blocks.is_empty() {
        return Ok(());
    }
    let block = blocks[((fired - 1) % blocks.len() as u64) as usize];
    banks.publish(program, &program.insts[block as usize].sync, outbox)
}
