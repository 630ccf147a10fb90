//! Stage 5: publishes semaphore and event updates in issue order, then lets control go on.

use crate::Result;
use crate::control::advance::Flow;
use crate::control::state::ControlState;
use crate::world::*;
use bevy_ecs::prelude::*;

pub(super) fn update(issue: Res<IssueList>, mut stats: ResMut<Stats>, mut control: ControlState) {
    stats.ticks += 1;
    control.with(|flow| {
        flow.publish.clear();
        if let Err(e) = publish(flow, &issue.rows).and_then(|()| advance(flow)) {
            flow.findings.fault.get_or_insert(e);
        }
    });
}

/// Acts on control and publishes updates, row by row; then what barriers add when all engines have met.
fn publish(flow: &mut Flow, rows: &[u32]) -> Result<()> {
    let (program, syncs) = (flow.program, flow.syncs);
    let by_sync = program.blocks.get(flow.pc.block as usize).is_some_and(|b| b.by_sync);
    for row in rows {
        let inst = &program.insts[*row as usize];
        let mut acted = true;
        if !matches!(inst.control, Control::None) {
            acted = flow.control_row(*row).map_err(|e| program.locate(e, *row))?;
            if let (true, Control::Rewind { triggers, .. }) = (acted, &inst.control) {
                triggers.iter().for_each(|t| flow.fires[*t as usize] = FireCount(0));
            }
        }
        if by_sync && !owns_updates(inst.opcode) {
            let own = flow.banks.publish(program, &syncs[*row as usize]);
            let all = own.and_then(|()| if acted { trigger_updates(flow, inst) } else { Ok(()) });
            all.map_err(|e| program.locate(e, *row))?;
        }
    }
    if by_sync {
        // Barriers of all engines are issued together, so their second updates follow all first ones.
        for row in rows.iter().filter(|r| syncs[**r as usize].seconds > 0) {
            let seconds = flow.banks.publish_seconds(program, &syncs[*row as usize]);
            seconds.map_err(|e| program.locate(e, *row))?;
        }
    }
    Ok(())
}

/// A trigger's DMABlock signals when its descriptors are done.
fn trigger_updates(flow: &mut Flow, inst: &Inst) -> Result<()> {
    let Control::Trigger { blocks, trigger } = &inst.control else { return Ok(()) };
    let fired = flow.fires.get(*trigger as usize).map_or(0, |f| f.0);
    if fired == 0 || blocks.is_empty() {
        return Ok(());
    }
    let block = blocks[((fired - 1) % blocks.len() as u64) as usize];
    flow.banks.publish(flow.program, &flow.syncs[block as usize])
}

/// Goes on when the segment is done, and publishes for instructions whose bodies have ended.
fn advance(flow: &mut Flow) -> Result<()> {
    if flow.findings.fault.is_some() || flow.pc.finished {
        return Ok(());
    }
    let (program, syncs) = (flow.program, flow.syncs);
    let all_done = flow.cursors.iter().all(|c| c.next >= c.end);
    let plan = program.blocks.get(flow.pc.block as usize);
    let join = plan.and_then(|b| program.segments[(b.first_segment + flow.pc.segment) as usize].join);
    let outcome = if flow.pc.join_issued {
        flow.advance(join)
    } else if flow.pc.idle_body || (all_done && (join.is_none() || flow.pc.next == Next::Exit)) {
        flow.advance(None)
    } else {
        Ok(())
    };
    outcome.map_err(|e| join.map_or(e.clone(), |row| program.locate(e, row)))?;
    for k in 0..flow.publish.len() {
        let row = flow.publish[k];
        flow.banks.publish(program, &syncs[row as usize]).map_err(|e| program.locate(e, row))?;
    }
    Ok(())
}
