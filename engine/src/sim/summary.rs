//! What a run did.

use crate::ir::Opcode;
use crate::target::Target;
use crate::world::*;
/// What a finished run did.
#[derive(Clone, Debug)]
pub struct RunSummary {
    /// Counters.
    pub stats: Stats,
    /// Remarks, in order of appearance.
    pub diagnostics: Vec<Diagnostic>,
    /// Order that was used: `sync`, `program` or `mixed`.
    pub order: &'static str,
    /// Physical memory was used.
    pub physical: bool,
    /// Target.
    pub target: Target,
    /// Wall time of the run.
    pub wall: std::time::Duration,
    /// Texts of DevicePrint, in order.
    pub prints: Vec<DevicePrint>,
}

impl RunSummary {
    /// The sum over several cores: counters add up, texts follow each other in core order.
    pub fn merged(parts: &[RunSummary]) -> Option<RunSummary> {
        let (first, rest) = parts.split_first()?;
        let mut all = first.clone();
        for part in rest {
            all.stats.ticks += part.stats.ticks;
            all.stats.instructions += part.stats.instructions;
            all.stats.touched += part.stats.touched;
            all.stats.per_opcode.iter_mut().zip(part.stats.per_opcode).for_each(|(a, b)| *a += b);
            all.stats.skipped.iter_mut().zip(part.stats.skipped).for_each(|(a, b)| *a += b);
            all.diagnostics.extend(part.diagnostics.iter().cloned());
            all.prints.extend(part.prints.iter().cloned());
            if part.order != all.order {
                all.order = "mixed";
            }
        }
        Some(all)
    }

    /// (opcode, executions) of every opcode that ran.
    pub fn opcodes(&self) -> Vec<(Opcode, u64)> {
        Opcode::all().map(|o| (o, self.stats.per_opcode[o.ordinal() as usize])).filter(|(_, n)| *n > 0).collect()
    }

    /// (opcode, executions) of skip-and-note opcodes.
    pub fn skipped(&self) -> Vec<(Opcode, u64)> {
        Opcode::all().map(|o| (o, self.stats.skipped[o.ordinal() as usize])).filter(|(_, n)| *n > 0).collect()
    }
}
