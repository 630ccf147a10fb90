//! The five stages of a tick, one file each, chained in one schedule.

mod dispatch;
mod machine;
mod memory;
mod select;
mod update;
mod wait;

use bevy_ecs::prelude::*;
use bevy_ecs::schedule::SingleThreadedExecutor;

pub use dispatch::{Call, Calls};
pub(crate) use machine::MachineParam;
pub(crate) use memory::read_inputs;
pub use update::Outbox;

/// The schedule of one tick.
pub fn tick() -> Schedule {
    let mut schedule = Schedule::default();
    schedule.set_executor(SingleThreadedExecutor::new());
    schedule.add_systems((select::select, wait::wait, dispatch::dispatch, memory::memory, update::update).chain());
    schedule
}

/// The one slice of a component that all entities of a kind share; they are one archetype.
macro_rules! slice {
    ($query:expr) => {
        $query.contiguous_iter().ok().and_then(|mut i| i.next()).unwrap_or_default()
    };
}

/// The one table of a component that is written, as an optional column; `column!` turns it into a slice.
macro_rules! table {
    ($query:expr) => {
        $query.contiguous_iter_mut().ok().and_then(|mut i| i.next())
    };
}

/// The mutable slice of a column, without change detection.
macro_rules! column {
    ($table:expr) => {
        match &mut $table {
            Some(s) => s.bypass_change_detection(),
            None => &mut [],
        }
    };
}

pub(crate) use {column, slice, table};
