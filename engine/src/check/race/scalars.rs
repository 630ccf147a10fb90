//! Who used which register and which semaphore last.

use super::clock::Clock;
use super::record::Touch;
use crate::world::{FieldValue, Inst, Opnd, Program, RegRef, SyncSet};

/// What two engines may use without order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Scalar {
    /// Position of the engine whose file it is in, whether it is physical, slot.
    Register(usize, bool, u32),
    /// Its id.
    Semaphore(u32),
}

/// How it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// A register is read.
    Read,
    /// A register is written.
    Write,
    /// A semaphore is waited for.
    Wait,
    /// A semaphore is raised.
    Raise,
    /// A semaphore is lowered.
    Lower,
    /// A semaphore is set to a value.
    Set,
}

impl Use {
    /// Which of the two comes first makes no difference.
    fn commutes(self, other: Use) -> bool {
        use Use::*;
        matches!(
            (self, other),
            (Read, Read) | (Wait, Wait | Raise) | (Raise, Wait | Raise | Lower) | (Lower, Raise | Lower)
        )
    }

    /// What is said about an instruction that does it.
    pub(super) fn verb(self) -> &'static str {
        match self {
            Use::Read => "reads",
            Use::Write => "writes",
            Use::Wait => "waits for",
            Use::Raise => "raises",
            Use::Lower => "lowers",
            Use::Set => "sets",
        }
    }
}

/// The last use of each kind by each thread.
#[derive(Clone, Debug, Default)]
pub(super) struct Uses(Vec<(Use, Touch)>);

impl Uses {
    /// An earlier use that the current one does not follow and does not commute with.
    pub(super) fn conflict(&self, how: Use, clock: &Clock, thread: usize) -> Option<(Use, Touch)> {
        let open = |t: &Touch| t.thread != thread && clock.of(t.thread) < t.tick;
        self.0.iter().find(|(other, t)| open(t) && !how.commutes(*other)).copied()
    }

    /// Records a use.
    pub(super) fn note(&mut self, how: Use, touch: Touch) {
        if matches!(how, Use::Write | Use::Set) {
            // Whoever follows it also follows what it followed.
            self.0.clear();
        }
        match self.0.iter_mut().find(|(other, t)| *other == how && t.thread == touch.thread) {
            Some(known) => known.1 = touch,
            None => self.0.push((how, touch)),
        }
    }
}

/// Calls `f` with every register that an instruction reads (false) or writes (true).
pub(super) fn registers(program: &Program, inst: &Inst, sync: &SyncSet, mut f: impl FnMut(RegRef, bool)) {
    let range = inst.operands;
    let (ins, outs) = (range.ins as usize, range.outs as usize);
    let all = &program.operands[range.first as usize..][..ins + outs + range.indirect as usize];
    let mut read = |r| f(r, false);
    for (k, operand) in all.iter().enumerate() {
        match operand {
            Opnd::Register(..) if (ins..ins + outs).contains(&k) => {}
            Opnd::Register(r, _) => read(*r),
            Opnd::SymbolicImm(s) => s.2.registers(&mut read),
            Opnd::Dynamic(d) => {
                let more = d.operand_scale.iter().chain(&d.bytes);
                [&d.sub, &d.offset].into_iter().chain(more).for_each(|e| e.registers(&mut read));
            }
            Opnd::Static { .. } | Opnd::Faulty(_) | Opnd::Imm { .. } | Opnd::ImmArray(_) => {}
        }
    }
    inst.predicates.iter().for_each(|p| p.ex.registers(&mut read));
    for field in inst.own.keys() {
        match field {
            FieldValue::Ex(e) => e.registers(&mut read),
            FieldValue::Exs(list) => list.iter().for_each(|e| e.registers(&mut read)),
            _ => {}
        }
    }
    program.waits_of(sync).iter().filter_map(|w| w.reg).for_each(read);
    for operand in &all[ins..ins + outs] {
        if let Opnd::Register(r, _) = operand {
            f(*r, true);
        }
    }
}
