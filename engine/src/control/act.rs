//! What issued rows do to control and to the banks, in issue order, once they have executed.

use crate::Result;
use crate::sync::Banks;
use crate::world::*;

/// What issued rows act on.
pub struct Acts<'a> {
    /// Program.
    pub program: &'a Program,
    /// Waits and updates of its rows.
    pub syncs: &'a [SyncSet],
    /// Settings.
    pub settings: &'a Settings,
    /// Program counter: terminators set where it goes next.
    pub pc: &'a mut ProgramCounter,
    /// Register files.
    pub registers: &'a [RegisterFile],
    /// Loop axes.
    pub induction: &'a [Induction],
    /// Trigger fire counts.
    pub fires: &'a mut [FireCount],
    /// Semaphores and events.
    pub banks: Banks<'a>,
}

impl Acts<'_> {
    /// Acts on control and publishes updates, row by row; then what barriers add when all engines have met.
    pub fn publish(&mut self, rows: &[RowId]) -> Result<()> {
        let (program, syncs) = (self.program, self.syncs);
        let by_sync = program.blocks.get(self.pc.block.at()).is_some_and(|b| b.by_sync);
        for row in rows {
            let inst = &program.insts[*row];
            let mut acted = true;
            if !matches!(inst.control, Control::None) {
                acted = self.control(*row).map_err(|e| program.locate(e, *row))?;
            }
            if by_sync && !owns_updates(inst.opcode) {
                self.banks.publish(program, syncs, *row)?;
                if acted {
                    self.trigger_updates(inst)?;
                }
            }
        }
        if by_sync {
            // Barriers of all engines are issued together, so their second updates follow all first ones.
            for row in rows.iter().filter(|r| syncs[**r].seconds > 0) {
                self.banks.publish_seconds(program, syncs, *row)?;
            }
        }
        Ok(())
    }

    /// Executes the control part of an issued row: terminators record where control goes next. False when a predicate
    /// says no.
    fn control(&mut self, row: RowId) -> Result<bool> {
        let inst = &self.program.insts[row];
        let env = Scalars { registers: self.registers, induction: self.induction, seat: self.settings.seat };
        if !predicates_hold(&inst.predicates, &env)? {
            return Ok(false);
        }
        match &inst.control {
            Control::Jump(b) => self.pc.next = Next::Block(*b),
            Control::Branch { op, on_true, on_false } => {
                let taken = super::branch::taken(self.program, inst, *op, self.settings.profile.branch_dtypes, &env)?;
                let target = if taken { on_true } else { on_false };
                self.pc.next = target.map_or(Next::FallThrough, Next::Block);
            }
            Control::Break => self.pc.next = Next::Break,
            Control::Return => {
                self.pc.next = Next::Return;
                self.banks.wipe();
            }
            Control::Exit => self.pc.next = Next::Exit,
            Control::Rewind { clear, triggers } => {
                for id in clear {
                    if let Some(s) = self.banks.semaphores.get_mut(*id as usize) {
                        *s = SemValue(0);
                    }
                }
                triggers.iter().for_each(|t| self.fires[*t] = FireCount(0));
            }
            _ => {}
        }
        Ok(true)
    }

    /// A trigger's DMABlock signals when its descriptors are done.
    fn trigger_updates(&mut self, inst: &Inst) -> Result<()> {
        let Control::Trigger { blocks, trigger } = &inst.control else { return Ok(()) };
        let fired = self.fires.get(trigger.at()).map_or(0, |f| f.0);
        if fired == 0 || blocks.is_empty() {
            return Ok(());
        }
        let block = blocks[((fired - 1) % blocks.len() as u64) as usize];
        self.banks.publish(self.program, self.syncs, block)
    }
}
