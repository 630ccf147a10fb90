//! What blocks and runs leave behind in the banks: events that are still set, semaphores that are not zero.

use super::advance::Flow;
use crate::world::*;
use crate::{Code, Error, Result};
use birsim_kernels::profile::Leftover;

impl Flow<'_> {
    /// Events must be clear at the end of a block; semaphores should be (ruling D21).
    pub(super) fn check_leftovers(&mut self) -> Result<()> {
        // Without an early exit the loop over the bank is a few vector instructions.
        if self.banks.events.iter().fold(false, |any, e| any | e.0) {
            let id = self.banks.events.iter().position(|e| e.0).unwrap_or_default();
            let block = &self.program.blocks[self.pc.block].name;
            return Err(Error::new(Code::S004, format!("event {id} is still set at the end of the block"))
                .received(format!("event {id} = 1"))
                .at(|p| p.block = Some(block.to_string())));
        }
        Ok(())
    }

    /// Remarks on semaphores that are left non-zero when the run ends (ruling D21).
    pub fn leftover_semaphores(&mut self) -> Result<()> {
        let left: Vec<String> = self
            .banks
            .semaphores
            .iter()
            .zip(self.banks.touched.iter())
            .enumerate()
            .filter(|(_, (s, t))| s.0 != 0 && t.0)
            .map(|(id, (s, _))| format!("{id} = {}", s.0))
            .collect();
        let rule = self.settings.profile.leftover_semaphores;
        if left.is_empty() || rule == Leftover::Ignore && !self.settings.strict {
            return Ok(());
        }
        let message = format!("semaphores left non-zero at the end of the run: {}", left.join(", "));
        if self.settings.strict || rule == Leftover::Fault {
            return Err(Error::new(Code::S005, message).advice("reset them, or run without --strict"));
        }
        self.banks.findings.note(Diagnostic::warning(Remark::SemaphoreLeft, message));
        Ok(())
    }
}
