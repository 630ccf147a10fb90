//! Gather and scatter through an index tensor (`opcodes.md` 9.1, rulings D12, D13, D22).
//!
//! Every instruction here names, slot by slot, where an *entry* of the table starts; one loop then moves the entries in
//! slot order. A slot may also be skipped. Duplicate destinations are written in slot order: the last writer wins, and
//! sums add up one after the other.

mod dynamic;
mod entries;
mod generic;
mod index;
mod plain;
mod rows;

pub use dynamic::{VectorOffset, copy_in_bounds, vector_gather, vector_scatter};
pub use generic::{IndirectDim, generic_load, generic_save};
pub use plain::{SaveAccumulate, load, save, save_accumulate};
pub use rows::indirect_copy;

use crate::access::{Dst, Pattern, Src, View};

/// Added to 64-bit addresses on their way to an indirect instruction.
pub const ADDRESS_BIAS: i64 = 0x1_0000_0000;

/// Places that indices chose: first byte and number of bytes, in the order of access.
pub type Log = std::cell::RefCell<Vec<(i64, usize)>>;

/// An indexed operand: the memory that indices may reach, and the operand's own pattern in it.
pub struct Table<'a, V> {
    /// A view whose extent bounds every access: of the location when the pattern is only a base, else of the operand.
    pub whole: V,
    /// The operand's pattern, in the same arena.
    pub pattern: &'a Pattern,
    /// Address of the arena's byte 0, which 64-bit index values refer to.
    pub address: i64,
    /// Collects every access to the table, for checkers that ask for them.
    pub log: Option<&'a Log>,
}

impl<M> Table<'_, View<'_, M>> {
    /// The bytes that indices may reach.
    fn extent(&self) -> (i64, i64) {
        self.whole.pattern().extent().unwrap_or((0, 0))
    }
}

/// Records an access to a table, if a checker asks for them.
fn tell(log: Option<&Log>, byte: i64, bytes: usize) {
    if let Some(log) = log {
        log.borrow_mut().push((byte, bytes));
    }
}

impl<'a> From<&'a Src<'a>> for Table<'a, Src<'a>> {
    fn from(view: &'a Src<'a>) -> Self {
        Table { whole: *view, pattern: view.pattern(), address: 0, log: None }
    }
}

impl<'a> From<Dst<'a>> for Table<'a, Dst<'a>> {
    fn from(view: Dst<'a>) -> Self {
        Table { pattern: view.pattern(), whole: view, address: 0, log: None }
    }
}
