//! What instructions do to their operands, as far as it is known at load. Checkers, traces and the race history read this
//! one list; so can whoever wants to know which rows may run side by side.

use super::{Form, Inst, Opnd, Program};
use crate::ir::{Role, Trait};
use smallvec::SmallVec;

/// How an operand is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read.
    Read,
    /// Written.
    Write,
    /// Read, combined and written.
    Update,
}

/// What an instruction does to one of its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// How it is used.
    pub access: Access,
    /// A key that depends on the run decides whether a write is an update.
    pub open: bool,
    /// Indices choose its elements, anywhere in its location.
    pub table: bool,
    /// Every element of the pattern is accessed; otherwise data decide which ones are.
    pub exact: bool,
}

impl Use {
    /// Of an operand that belongs to no instruction.
    const NONE: Use = Use { access: Access::Read, open: false, table: false, exact: false };
}

impl Program {
    /// What an instruction does to each operand, counted over ins, outs, indirection_ins.
    pub fn uses_of(&self, i: &Inst) -> &[Use] {
        let r = i.operands;
        &self.uses[r.first as usize..][..(r.ins + r.outs + r.indirect) as usize]
    }

    /// Adds an instruction whose operands are the last ones of the table; returns its row.
    pub(crate) fn push(&mut self, inst: Inst) -> super::RowId {
        let uses: SmallVec<[Use; 8]> =
            self.operands_of(&inst).iter().enumerate().map(|(k, o)| used(&inst, k, o)).collect();
        // An instruction that was refused may have left operands behind, or uses that no operand has any more.
        self.uses.resize(inst.operands.first as usize, Use::NONE);
        self.uses.extend(uses);
        self.insts.push(inst);
        super::RowId::of(self.insts.len() - 1)
    }
}

fn used(inst: &Inst, k: usize, operand: &Opnd) -> Use {
    let (row, ins, outs) = (inst.opcode.row(), inst.operands.ins as usize, inst.operands.outs as usize);
    let is_out = (ins..ins + outs).contains(&k);
    // Index operands have no role.
    let role = match k {
        _ if k < ins => Role::of(row.ins, k),
        _ if is_out => Role::of(row.outs, k - ins),
        _ => None,
    };
    let adds = is_out && role.is_some_and(|r| r.adds);
    let access = match (is_out, adds && inst.forms.adds == Form::Yes) {
        (false, _) => Access::Read,
        (true, false) => Access::Write,
        (true, true) => Access::Update,
    };
    let by_index = matches!(operand, Opnd::Dynamic(d) if d.vector.is_some());
    let table = by_index || role.is_some_and(|r| r.table);
    let keeps_some = is_out && inst.opcode.is(Trait::KeepsSome);
    let exact = !table && !keeps_some;
    Use { access, open: adds && inst.forms.adds == Form::Open, table, exact }
}
