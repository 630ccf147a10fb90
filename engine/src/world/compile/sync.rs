//! Waits and updates of an instruction.

use super::Context;
use super::instruction::count;
use crate::ir::{Instruction, Opcode, SyncKind, Trait, UpdateMode, WaitMode};
use crate::world::{SyncSet, Update, Wait, WaitId};
use crate::{Code, Error, Result};

impl Context<'_> {
    pub(super) fn sync(&mut self, i: &Instruction) -> Result<SyncSet> {
        let mut set = SyncSet {
            wait: WaitId::of(self.program.waits.len()),
            update: self.program.updates.len() as u32,
            waits: count(i.sync.on_wait.len())?,
            updates: count(i.sync.on_update.len())?,
            seconds: count(i.sync.second_update.len())?,
            predicated: !i.predicates.is_empty(),
            ..SyncSet::of(i.opcode)
        };
        for w in &i.sync.on_wait {
            let reg = match (&w.regref, w.mode) {
                (Some(r), WaitMode::SemGeReg) => Some(self.register(r)?),
                (None, WaitMode::SemGeReg) => {
                    return Err(Error::new(Code::J003, "a sem-ge-reg wait names its register in regref"));
                }
                _ => None,
            };
            if w.kind == SyncKind::Event || w.mode != WaitMode::SemGeImm {
                set.slow_wait = true;
                set.ends_window = true;
            }
            self.program.waits.push(Wait { kind: w.kind, id: w.id, mode: w.mode, value: w.value, reg });
        }
        for u in &i.sync.on_update {
            let plain = u.kind == SyncKind::Semaphore
                && u.target_core.is_none()
                && (u.mode == UpdateMode::SemAddImm || (u.mode == UpdateMode::SemInc && u.value == 1));
            set.ends_window |= !plain;
        }
        // The second list follows the first, so that one range of the table holds both.
        for u in i.sync.on_update.iter().chain(&i.sync.second_update) {
            let (kind, id, mode, value, target_core) = (u.kind, u.id, u.mode, u.value, u.target_core);
            self.program.updates.push(Update { kind, id, mode, value, target_core });
        }
        let updated = i.sync.on_update.iter().chain(&i.sync.second_update).map(|u| u.id);
        for id in i.sync.on_wait.iter().map(|w| w.id).chain(updated) {
            if id > 255 {
                return Err(Error::new(Code::J011, "semaphore and event ids are 0..255").received(id));
            }
        }
        Ok(set)
    }
}

impl SyncSet {
    /// Of an instruction without waits and updates.
    pub fn of(opcode: Opcode) -> Self {
        SyncSet {
            ends_window: opcode.is(Trait::EndsWindow),
            joins_alone: opcode.is(Trait::JoinsAlone),
            meets: opcode.is(Trait::Meets),
            ..SyncSet::default()
        }
    }
}
