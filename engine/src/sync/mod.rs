//! Semaphores and events: the two banks of a core (`machine.md` 5).

pub(crate) mod bank;
pub mod deadlock;
mod producers;

pub(crate) use bank::SyncBank;

use crate::ir::{SyncKind, UpdateMode};
use crate::world::*;
use crate::{Code, Error, Result};
use birsim_kernels::profile::ReturnSemaphores;

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
    /// Remarks on updates.
    pub findings: &'a mut Findings,
    /// Settings.
    pub settings: &'a Settings,
}

impl Banks<'_> {
    /// Applies the updates of a row; remote ones go by post.
    pub fn publish(&mut self, program: &Program, syncs: &[SyncSet], row: RowId) -> Result<()> {
        self.publish_list(program.updates_of(&syncs[row]), row).map_err(|e| program.locate(e, row))
    }

    /// Applies the second updates of a barrier.
    pub fn publish_seconds(&mut self, program: &Program, syncs: &[SyncSet], row: RowId) -> Result<()> {
        self.publish_list(program.seconds_of(&syncs[row]), row).map_err(|e| program.locate(e, row))
    }

    fn publish_list(&mut self, list: &[Update], row: RowId) -> Result<()> {
        for u in list {
            match u.target_core {
                Some(core) if core != self.settings.seat.core => match self.settings.seat.of_core_named(core) {
                    Some(id) => self.post.send(id, Parcel::Update(*u)),
                    None => {
                        return Err(Error::new(Code::S005, "a semaphore update names a core that does not exist")
                            .received(format!("core {core} of {}", self.settings.seat.cores)));
                    }
                },
                _ => self.apply(u, Some(row))?,
            }
        }
        Ok(())
    }

    /// A Return wipes the whole bank of semaphores (ruling D41).
    pub fn wipe(&mut self) {
        if self.settings.profile.return_semaphores == ReturnSemaphores::Wipe {
            self.semaphores.fill(SemValue(0));
            self.touched.fill(Touched(false));
        }
    }

    /// Says that a semaphore was lowered below zero, because the counter wraps silently.
    #[cold]
    fn below_zero(&mut self, u: &Update, old: u32, row: Option<RowId>) -> Result<()> {
        let by = if u.mode == UpdateMode::SemDec { 1 } else { u.value };
        let message = format!("semaphore {} is lowered below zero, and its counter wraps", u.id);
        let received = format!("{old} - {by} = {}", old.wrapping_sub(by));
        if self.settings.strict {
            return Err(Error::new(Code::S005, message)
                .received(received)
                .advice("lower it only after a wait for at least as much, or run without --strict"));
        }
        let message = format!("{message}: {received}");
        self.findings.note(Diagnostic::warning(Remark::SemaphoreBelowZero, message).at(row));
        Ok(())
    }

    /// Applies one update, of a row of this core or of another core.
    pub fn apply(&mut self, u: &Update, row: Option<RowId>) -> Result<()> {
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
        let lowered = match u.mode {
            UpdateMode::SemSubImm => u.value > old,
            UpdateMode::SemDec => old == 0,
            _ => false,
        };
        if lowered {
            self.below_zero(u, old, row)?;
        }
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
