//! Adds the names of tensors to errors about indices: the kernel that finds a bad index knows views, not names.

use super::{Inst, Opnd, Program};
use crate::Error;
use crate::ir::table::Role;

impl Program {
    /// Adds the table and the index tensor of an instruction to an error about one of its indices.
    #[cold]
    pub(super) fn name_tables(&self, e: Error, inst: &Inst) -> Error {
        let (row, range) = (inst.opcode.row(), inst.operands);
        let (ins, outs) = (range.ins as usize, range.outs as usize);
        let named = |k: usize| {
            let set = match self.operands.get(range.first as usize + k)? {
                Opnd::Static { loc, .. } => self.locations.get(loc.at())?.set,
                Opnd::Dynamic(d) => d.set,
                _ => return None,
            };
            let location = self.locations.iter().find(|l| l.set == set)?;
            Some(location.name.to_string())
        };
        let is_table = |roles: &[&'static str], k: usize| Role::of(roles, k).is_some_and(|r| r.table);
        // Without a mark in the row, the operand that an index vector moves is the table.
        let moved = |k: &usize| {
            let operand = self.operands.get(range.first as usize + k);
            matches!(operand, Some(Opnd::Dynamic(d)) if d.vector.is_some())
        };
        let table = (0..ins)
            .find(|k| is_table(row.ins, *k))
            .or_else(|| (0..outs).find(|k| is_table(row.outs, *k)).map(|k| ins + k))
            .or_else(|| (0..ins + outs).find(moved));
        let index = (0..ins)
            .find(|k| Role::of(row.ins, *k).is_some_and(|r| r.index))
            .map(|k| (k, format!("ins[{k}]")))
            .or_else(|| (range.indirect > 0).then(|| (ins + outs, "indirection_ins[0]".to_string())));
        e.at(|p| {
            p.tensor = table.and_then(named);
            p.operand = index.and_then(|(k, label)| Some(format!("{label} ({})", named(k)?)));
        })
    }
}
