//! What is said about every run: outputs that nothing wrote, inputs that an instruction changed.

use super::Cores;
use crate::ir::TensorKind;
use crate::world::{Diagnostic, FunctionId, LocationMeta, Program, Remark, Writer};
use std::ops::Range;

impl Cores {
    /// Remarks on the tensors of the entry functions of a rank. Cores may write what another declares, so all of them are looked
    /// at. A run that broke off is not expected to have written anything.
    pub(super) fn standing_remarks(&self, rank: Range<usize>) -> Vec<Diagnostic> {
        let mut out = Vec::new();
        if !self.cores.iter().all(|c| c.is_finished()) {
            return out;
        }
        let mut seen = hashbrown::HashSet::new();
        for id in rank.clone() {
            let core = &self.cores[id];
            let program = core.world.resource::<Program>();
            for (index, meta) in program.locations.iter().enumerate() {
                if program.sets[meta.set].function != FunctionId::ENTRY || !seen.insert(&meta.name) {
                    continue;
                }
                let writer = match core.state(index) {
                    s if s.written => Some((id, s.first_writer)),
                    _ => self.written_elsewhere(rank.clone(), id, &meta.name),
                };
                out.extend(self.remark_on(meta, writer));
            }
        }
        out
    }

    /// Core and row of the first write by another core of the rank than `but`.
    fn written_elsewhere(&self, rank: Range<usize>, but: usize, name: &str) -> Option<(usize, Writer)> {
        let others = rank.filter(|id| *id != but).map(|id| (id, &self.cores[id]));
        others
            .filter_map(|(id, core)| Some((id, core.state(core.find(name)?))))
            .find(|(_, s)| s.written)
            .map(|(id, s)| (id, s.first_writer))
    }

    fn remark_on(&self, meta: &LocationMeta, writer: Option<(usize, Writer)>) -> Option<Diagnostic> {
        let is_input = meta.kind.is_input() || meta.kind == TensorKind::Const;
        let (code, message, row) = match writer {
            None if meta.kind.is_output() => {
                (Remark::OutputNeverWritten, format!("output {} was never written", meta.name), None)
            }
            Some((core, writer)) if is_input && !meta.kind.is_output() && !meta.aliased => {
                let program = self.cores[core].world.resource::<Program>();
                let by = writer.name(program).unwrap_or_else(|| "?".into());
                let text = format!("input {} was modified, first by {by}", meta.name);
                // A remark about several cores does not name the place of one of them.
                let row = writer.row().filter(|_| self.cores.len() == 1);
                (Remark::InputModified, text, row)
            }
            _ => return None,
        };
        Some(Diagnostic::warning(code, message).at(row).of(meta.name.to_string()))
    }
}
