//! How checkers, dumps and the trace see instructions run. They live above this folder, which knows only the trait.

use super::effects::{Effect, effects};
use super::{Cx, Execute, Machine};
use crate::Result;
use crate::world::{Indexed, RowId};

/// An observer of every executed instruction, DMA descriptors included.
pub trait Watch: Send + Sync {
    /// The instruction is about to run.
    fn before(&mut self, cx: &mut Cx, effects: &[Effect]);
    /// It has run without a fault.
    fn after(&mut self, cx: &mut Cx, effects: &[Effect]);
    /// An instruction that has no kernel, or whose predicate fails: only its waits and updates act.
    fn passed(&mut self, m: &mut Machine, row: RowId);
}

impl Cx<'_, '_> {
    /// Runs the instruction and calls the observer before and after it, when there is one.
    pub fn call(&mut self, execute: Execute) -> Result<()> {
        if self.m.watch.is_none() {
            return execute(self);
        }
        let list = effects(self)?;
        self.m.scratch.indexed.clear();
        self.watched(|watch, cx| watch.before(cx, &list));
        // The observer is back in its place, so that it sees instructions inside this one too.
        execute(self)?;
        self.watched(|watch, cx| watch.after(cx, &list));
        self.mark_indexed()
    }

    fn watched(&mut self, look: impl FnOnce(&mut dyn Watch, &mut Self)) {
        if let Some(watch) = self.m.watch.take() {
            look(watch, self);
            self.m.watch = Some(watch);
        }
    }

    /// Marks bytes selected by an index as initialised. Runs after the observers, which need the old marks.
    fn mark_indexed(&mut self) -> Result<()> {
        let (ins, outs) = (self.n_ins(), self.n_outs());
        for k in 0..self.m.scratch.indexed.len() {
            let Indexed { operand, lo, hi } = self.m.scratch.indexed[k];
            if (ins..ins + outs).contains(&operand)
                && let Some(location) = self.location(operand)?
                && let Some(shadow) = &mut self.m.inits[self.m.places[location].0.arena].0
            {
                shadow.set_run(lo, hi, true);
            }
        }
        Ok(())
    }
}

impl Machine<'_> {
    /// Calls the observer, when there is one, for an instruction that touches no memory.
    pub fn passed(&mut self, row: RowId) {
        if let Some(watch) = self.watch.take() {
            watch.passed(self, row);
            self.watch = Some(watch);
        }
    }
}
