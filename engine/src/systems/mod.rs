//! The five stages of a tick, one file each, chained in one schedule.

mod dispatch;
mod memory;
mod select;
mod update;
mod wait;

use bevy_ecs::prelude::*;
use bevy_ecs::schedule::SingleThreadedExecutor;

pub use dispatch::Call;

/// The schedule of one tick.
pub fn tick() -> Schedule {
    let mut schedule = Schedule::default();
    schedule.set_executor(SingleThreadedExecutor::new());
    schedule.add_systems(
        (select::select, wait::wait, dispatch::dispatch, memory::memory, update::update).chain(),
    );
    schedule
}

/// The one slice of a component that all entities of a kind share; they are one archetype.
macro_rules! slice {
    ($query:expr) => {
        $query.contiguous_iter().ok().and_then(|mut i| i.next()).unwrap_or_default()
    };
}

/// The mutable slice of a component, without change detection.
macro_rules! slice_mut {
    ($query:expr) => {
        match $query.contiguous_iter_mut().ok().and_then(|mut i| i.next()) {
            Some(mut s) => s.bypass_change_detection(),
            None => &mut [],
        }
    };
}

pub(crate) use {slice, slice_mut};
