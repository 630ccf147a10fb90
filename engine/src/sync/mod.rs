//! Semaphores and events: the two banks of a core (`machine.md` 5).

pub(crate) mod bank;
pub mod deadlock;
mod producers;

pub(crate) use bank::SyncBank;

use crate::ir::{SyncKind, UpdateMode};
use crate::world::{EventBit, EventTouched, Parcel, Peak, Post, Program, Seat, SemValue, SyncSet, Touched, Update};
use crate::{Code, Error, Result};

/// Both banks, as slices of components.
pub struct Banks<'a> {
    /// Semaphore values.
    pub semaphores: &'a mut [SemValue],
    /// Which were updated.
    pub touched: &'a mut [Touched],
    /// Their highest values.
    pub peaks: &'a mut [Peak],
    /// Event bits.
    pub events: &'a mut [EventBit],
    /// Which were set.
    pub event_touched: &'a mut [EventTouched],
    /// Updates for other cores.
    pub post: &'a mut Post,
    /// Where this core sits.
    pub seat: Seat,
}

impl Banks<'_> {
    /// Applies the updates of an instruction; remote ones go by post.
    pub fn publish(&mut self, program: &Program, s: &SyncSet) -> Result<()> {
        self.publish_list(program.updates_of(s))
    }

    /// Applies the second updates of a barrier.
    pub fn publish_seconds(&mut self, program: &Program, s: &SyncSet) -> Result<()> {
        self.publish_list(program.seconds_of(s))
    }

    fn publish_list(&mut self, list: &[Update]) -> Result<()> {
        for u in list {
            match u.target_core {
                Some(core) if core != self.seat.core => match self.seat.of_core_named(core) {
                    Some(id) => self.post.send(id, Parcel::Update(*u)),
                    None => {
                        return Err(Error::new(Code::S005, "a semaphore update names a core that does not exist")
                            .received(format!("core {core} of {}", self.seat.cores)));
                    }
                },
                _ => self.apply(u)?,
            }
        }
        Ok(())
    }

    /// Applies one update.
    pub fn apply(&mut self, u: &Update) -> Result<()> {
        let id = u.id as usize;
        match (u.kind, u.mode) {
            (SyncKind::Event, UpdateMode::EvtSet) => {
                if self.events[id].0 {
                    return Err(Error::new(Code::S004, format!("event {id} is set while it is set"))
                        .received(format!("event {id} = 1")));
                }
                self.events[id] = EventBit(true);
                self.event_touched[id] = EventTouched(true);
                return Ok(());
            }
            (SyncKind::Event, mode) => {
                return Err(Error::new(Code::S004, "an event is updated with evt-set").received(mode));
            }
            (SyncKind::Semaphore, UpdateMode::EvtSet) => {
                return Err(
                    Error::new(Code::S005, "evt-set is not an update of a semaphore").received(format!("id {id}"))
                );
            }
            (SyncKind::Semaphore, UpdateMode::SemInc | UpdateMode::SemDec) if u.value != 1 => {
                return Err(
                    Error::new(Code::S005, format!("Semaphore inc value must be 1, for {}", u.mode)).received(u.value)
                );
            }
            _ => {}
        }
        let old = self.semaphores[id].0;
        let new = match u.mode {
            UpdateMode::SemAddImm => old.wrapping_add(u.value),
            UpdateMode::SemSubImm => old.wrapping_sub(u.value),
            UpdateMode::SemInc => old.wrapping_add(1),
            UpdateMode::SemDec => old.wrapping_sub(1),
            UpdateMode::SemWrImm | UpdateMode::EvtSet => u.value,
        };
        self.semaphores[id] = SemValue(new);
        self.touched[id] = Touched(true);
        self.peaks[id].0 = self.peaks[id].0.max(new);
        Ok(())
    }
}
