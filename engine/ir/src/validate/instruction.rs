//! One instruction: class, blocks, operands, fields, sync.

use super::{Slot, Walk};
use crate::{Instruction, RouteClass, Trait};
use birsim_kernels::{Code, Error};

impl<'m> Walk<'m> {
    /// Checks the instruction alone. Returns false when nothing else can be said about it.
    pub(super) fn instruction_itself(&mut self, i: &'m Instruction) -> bool {
        let row = i.opcode.row();
        if row.class == RouteClass::Abstract {
            let e = Error::new(Code::J010, format!("{} is a base type, not an instruction", i.opcode));
            self.fault(i, Slot::Whole, e.received(i.opcode));
            return false;
        }
        if i.fields.len() != row.fields.len() {
            let e = Error::new(Code::J002, format!("{} has {} own keys", i.opcode, row.fields.len()));
            self.fault(i, Slot::Whole, e.received(i.fields.len()));
            return false;
        }
        let owns_blocks = row.is(Trait::HoldsBlocks);
        if !owns_blocks && !i.blocks.is_empty() {
            let e = Error::new(Code::J009, "only loops and DMABlock own blocks");
            self.fault(i, Slot::Key("blocks"), e.received(format!("{} blocks", i.blocks.len())));
            return false;
        }
        self.operands(i);
        self.fields(i);
        self.demands(i);
        self.sync(i);
        self.groups(i);
        true
    }
}
