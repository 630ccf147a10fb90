//! Frames of control: the bodies of loops, and calls. What happens when one begins, ends, or runs again.

use super::advance::Flow;
use crate::ir::{Steer, Trait};
use crate::world::*;
use crate::{Code, Error, Result};
use birsim_kernels::profile::{Guard, StrideZero};

/// Calls that may be active at a time where nested ones are allowed.
const MAX_CALLS: usize = 256;

impl Flow<'_> {
    /// Pushes the frame of a loop or call; false when there is nothing to run.
    pub(super) fn push_frame(&mut self, row: RowId) -> Result<bool> {
        let program = self.program;
        let inst = &program.insts[row];
        let (list, kind) = match &inst.control {
            Control::Loop { axis, lb, ub, stride, degenerate } => {
                let env = self.env();
                let (value, ub) = (lb.eval(&env)?, ub.eval(&env)?);
                let stride = match stride.eval(&env)? {
                    0 if !degenerate && self.settings.profile.loop_stride_zero == StrideZero::Refuse => {
                        return Err(Error::new(Code::J011, "the stride of a loop is zero").received(0));
                    }
                    0 => 1,
                    s if s < 0 => {
                        return Err(Error::new(Code::J011, "the stride of a loop is not negative").received(s));
                    }
                    s => s,
                };
                if !degenerate && value >= ub {
                    return Ok(false);
                }
                self.induction[*axis] = Induction { value, live: true };
                let kind = FrameKind::Loop { axis: *axis, value, ub, stride, once: *degenerate };
                (inst.body.unwrap_or_default(), kind)
            }
            Control::DoWhile(_) => (inst.body.unwrap_or_default(), FrameKind::DoWhile),
            Control::Call { function, bindings } => {
                let calls = self.pc.frames.iter().filter(|f| matches!(f.kind, FrameKind::Function { .. })).count();
                let most = match self.settings.profile.nested_calls {
                    Guard::Refuse => 1,
                    Guard::Allow => MAX_CALLS,
                };
                if calls > most {
                    return Err(nested_call(program, *function));
                }
                let actuals: Vec<SetId> = bindings.iter().map(|(_, a)| self.bindings.0[*a]).collect();
                let mut restore = Vec::new();
                for ((formal, _), actual) in bindings.iter().zip(actuals) {
                    let slot = &mut self.bindings.0[*formal];
                    restore.push((*formal, *slot));
                    *slot = actual;
                }
                (program.functions[*function].list, FrameKind::Function { restore })
            }
            _ => return Ok(false),
        };
        let (block, segment) = (self.pc.block, self.pc.segment);
        self.pc.frames.push(Frame { list, position: 0, kind, row, block, segment });
        Ok(true)
    }

    /// The blocks of the top frame ran out.
    pub(super) fn end_of_list(&mut self) -> Result<()> {
        let Some(top) = self.pc.frames.last() else { return Ok(()) };
        let row = top.row;
        match top.kind.clone() {
            FrameKind::Loop { axis, value, ub, stride, once } => {
                let next = value.saturating_add(stride);
                if once || next >= ub {
                    return self.pop();
                }
                self.induction[axis].value = next;
                let Some(top) = self.pc.frames.last_mut() else { return Ok(()) };
                top.kind = FrameKind::Loop { axis, value: next, ub, stride, once };
                top.position = 0;
                self.new_trip(row);
                self.again()
            }
            FrameKind::DoWhile => {
                let Control::DoWhile(cond) = &self.program.insts[row].control else { return self.pop() };
                if cond.eval(&self.env())? == 0 {
                    return self.pop();
                }
                if let Some(top) = self.pc.frames.last_mut() {
                    top.position = 0;
                }
                self.new_trip(row);
                self.again()
            }
            FrameKind::Function { .. } if self.pc.frames.len() == 1 => {
                self.pc.finished = true;
                Ok(())
            }
            FrameKind::Function { .. } => self.pop(),
        }
    }

    /// Loops whose number of trips is known only at run time forget between trips who wrote which bytes (`machine.md` 7).
    fn new_trip(&mut self, row: RowId) {
        let opcode = self.program.insts[row].opcode;
        self.pc.new_trip |= opcode.is(Trait::ForgetsWriters);
    }

    /// Another trip. An empty body is left to the next tick, so that limits see loops that never end.
    fn again(&mut self) -> Result<()> {
        let empty = self.pc.frames.last().is_some_and(|t| self.program.lists[t.list].is_empty());
        self.pc.idle_body = empty;
        if empty { Ok(()) } else { self.enter_position() }
    }

    /// Ends the top frame: its owner's updates are due and the owning block goes on.
    pub(super) fn pop(&mut self) -> Result<()> {
        let Some(frame) = self.drop_frame() else { return Ok(()) };
        if self.pc.frames.is_empty() {
            // The entry function returned.
            let list = frame.list;
            let position = self.program.lists[list].len() as u32;
            self.pc.frames.push(Frame { position, ..frame });
            self.pc.finished = true;
            self.pc.exited = true;
            return Ok(());
        }
        if self.program.insts[frame.row].opcode.steers(Steer::CallKernel) {
            // Its expansion ends with a Return of its own (`machine.md` 7), which wipes the bank (ruling D41).
            self.banks.wipe();
        }
        self.due.push(frame.row);
        self.pc.block = frame.block;
        self.pc.segment = frame.segment;
        self.pc.next = Next::FallThrough;
        self.next_segment()
    }

    pub(super) fn drop_frame(&mut self) -> Option<Frame> {
        let frame = self.pc.frames.pop()?;
        match &frame.kind {
            FrameKind::Loop { axis, .. } => self.induction[*axis].live = false,
            FrameKind::Function { restore } => {
                for (formal, old) in restore {
                    self.bindings.0[*formal] = *old;
                }
            }
            FrameKind::DoWhile => {}
        }
        Some(frame)
    }
}
