//! The six stages of a tick, one file each, chained in one schedule, and the system that begins further ticks.

/// The stages of a tick, in order: calls a macro with their names.
macro_rules! stages {
    ($with:ident) => {
        $with!(select, wait, dispatch, memory, publish, advance)
    };
}

mod advance;
mod dispatch;
mod machine;
mod meetings;
mod memory;
mod pass;
mod publish;
mod select;
mod wait;

use bevy_ecs::prelude::*;
use bevy_ecs::schedule::SingleThreadedExecutor;

pub use dispatch::{Call, Calls};
pub(crate) use machine::MachineParam;
pub(crate) use meetings::{Standing, standing};
pub(crate) use select::WINDOW;

/// The stages; systems that a kind of run adds are ordered after them.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stages;

/// The schedule of one pass: a tick, and further ones where one pass for several ticks saves time.
pub fn pass() -> Schedule {
    let mut schedule = Schedule::default();
    schedule.set_executor(SingleThreadedExecutor::new());
    macro_rules! systems {
        ($($stage:ident),*) => { ($($stage::$stage,)* pass::go_on) };
    }
    schedule.add_systems(stages!(systems).chain().in_set(Stages));
    schedule
}
