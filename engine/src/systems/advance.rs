//! Stage 6: lets control go on when the segment is done.

use crate::control::advance::Flow;
use crate::control::state::ControlState;
use crate::world::Stats;
use bevy_ecs::prelude::*;

pub(super) fn advance(mut stats: ResMut<Stats>, mut control: ControlState) {
    control.with(|flow| run(flow, &mut stats));
}

/// The stage itself.
pub(super) fn run(flow: &mut Flow, stats: &mut Stats) {
    stats.ticks += 1;
    flow.due.clear();
    if flow.banks.findings.fault.is_some() {
        return;
    }
    if let Err(e) = flow.end_tick() {
        flow.banks.findings.fault = Some(e);
    }
}
