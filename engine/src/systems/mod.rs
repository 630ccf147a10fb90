//! The five stages of a tick, one file each, chained in one schedule.

mod dispatch;
mod machine;
mod meetings;
mod memory;
mod select;
mod update;
mod wait;

use bevy_ecs::prelude::*;
use bevy_ecs::schedule::SingleThreadedExecutor;

pub use dispatch::{Call, Calls};
pub(crate) use machine::MachineParam;
pub(crate) use meetings::{Standing, contribution, meeting, standing};

/// The five stages; systems that a kind of run adds are ordered after them.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stages;

/// The schedule of one tick.
pub fn tick() -> Schedule {
    let mut schedule = Schedule::default();
    schedule.set_executor(SingleThreadedExecutor::new());
    let stages = (select::select, wait::wait, dispatch::dispatch, memory::memory, update::update);
    schedule.add_systems(stages.chain().in_set(Stages));
    schedule
}
