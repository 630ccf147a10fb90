//! Synchronisation records (`bir-json.md` 8).

use super::{Slot, Walk};
use crate::{Instruction, Queue, Steer, SyncKind, UpdateMode, WaitMode};
use birsim_kernels::{Code, Error};

/// Identifiers of semaphores and events.
pub(super) const MAX_ID: u32 = 255;

/// More cores than any machine has.
const MAX_CORES: u32 = 1024;

impl<'m> Walk<'m> {
    pub(super) fn sync(&mut self, i: &'m Instruction) {
        for (n, w) in i.sync.on_wait.iter().enumerate() {
            let slot = Slot::Operand("on_wait", n);
            self.sync_id(i, slot, w.id);
            let event = w.kind == SyncKind::Event;
            if event != (w.mode == WaitMode::EvtSetClear) {
                let code = if event { Code::S004 } else { Code::S005 };
                let what = format!("the wait mode {} does not fit a wait of type {}", w.mode, w.kind);
                self.fault(i, slot, Error::new(code, what).received(w.mode));
            }
            if w.mode == WaitMode::SemGeReg && w.regref.is_none() {
                let e = Error::new(Code::J003, "a sem-ge-reg wait names its register in `regref`");
                self.fault(i, slot, e);
            }
        }
        for (n, u) in i.sync.on_update.iter().chain(&i.sync.second_update).enumerate() {
            let slot = Slot::Operand("on_update", n);
            self.sync_id(i, slot, u.id);
            let event = u.kind == SyncKind::Event;
            if event != (u.mode == UpdateMode::EvtSet) {
                let code = if event { Code::S004 } else { Code::S005 };
                let what = format!("the update mode {} does not fit an update of type {}", u.mode, u.kind);
                self.fault(i, slot, Error::new(code, what).received(u.mode));
            }
            if matches!(u.mode, UpdateMode::SemInc | UpdateMode::SemDec) && u.value != 1 {
                let e = Error::new(Code::S005, format!("the value of {} is 1", u.mode)).received(u.value);
                self.fault(i, slot, e);
            }
            if u.target_core.is_some_and(|c| c >= MAX_CORES) {
                let e = Error::new(Code::J011, format!("a target core is below {MAX_CORES}"));
                self.fault(i, slot, e.received(u.target_core.unwrap_or_default()));
            }
        }
    }

    fn sync_id(&mut self, i: &'m Instruction, slot: Slot, id: u32) {
        if id > MAX_ID {
            self.fault(i, slot, Error::new(Code::J011, "semaphore and event ids are 0..255").received(id));
        }
    }

    pub(super) fn queue_itself(&mut self, queue: &'m Queue) {
        let instructions = queue.blocks.iter().flat_map(|b| &b.instructions);
        self.unique("DMABlock", instructions.clone().map(|i| i.name.as_str()));
        if !self.full {
            return;
        }
        for id in queue.semaphores.iter().chain(&queue.use_special_sema) {
            if *id > MAX_ID {
                let e = Error::new(Code::J011, "semaphore and event ids are 0..255").received(id);
                self.push(e.operand("semaphores"));
            }
        }
        for i in instructions.filter(|i| !i.opcode.steers(Steer::QueueBlock)) {
            self.fault(i, Slot::Whole, Error::new(Code::J009, "a queue holds DMABlock instructions only"));
        }
    }
}
