//! What happens between segments: joins, block ends, loop trips, calls and returns.

use crate::ir::{Steer, Trait};
use crate::sync::Banks;
use crate::sync::deadlock::Standing;
use crate::world::*;
use crate::{Code, Error, Result};
use birsim_kernels::profile::{BreakGoes, Guard, Leftover, StrideZero};

/// Calls that may be active at a time where nested ones are allowed.
const MAX_CALLS: usize = 256;

/// The components control reads and writes.
pub struct Flow<'a> {
    /// Program.
    pub program: &'a Program,
    /// Waits and updates of its rows.
    pub syncs: &'a [SyncSet],
    /// Settings.
    pub settings: &'a Settings,
    /// Program counter.
    pub pc: &'a mut ProgramCounter,
    /// Cursors of the engines.
    pub cursors: &'a mut [Cursor],
    /// Status of the engines.
    pub status: &'a mut [Status],
    /// Register files.
    pub registers: &'a mut [RegisterFile],
    /// Loop axes.
    pub induction: &'a mut [Induction],
    /// Semaphores and events.
    pub banks: Banks<'a>,
    /// Actual set of every set.
    pub bindings: &'a mut Bindings,
    /// Rows whose updates are due because their body has ended.
    pub due: &'a mut Vec<RowId>,
}

impl Flow<'_> {
    fn env(&self) -> Scalars<'_> {
        Scalars { registers: self.registers, induction: self.induction, seat: self.settings.seat }
    }

    /// The machine as it stands, for the report of a deadlock.
    pub fn standing(&self) -> Standing<'_> {
        Standing {
            program: self.program,
            syncs: self.syncs,
            pc: self.pc,
            cursors: self.cursors,
            status: self.status,
            semaphores: self.banks.semaphores,
            touched: self.banks.touched,
            peaks: self.banks.peaks,
            events: self.banks.event_touched,
            registers: self.registers,
            core: self.settings.seat.core,
        }
    }

    /// Enters the entry function, or continues it with blocks appended since it ran out.
    pub fn start(&mut self) -> Result<()> {
        if self.pc.exited {
            return Ok(());
        }
        let list = self.program.functions[0].list;
        if !self.pc.started {
            self.pc.started = true;
            let kind = FrameKind::Function { restore: Vec::new() };
            self.pc.frames.push(Frame {
                list,
                position: 0,
                kind,
                row: RowId::NONE,
                block: BlockId::default(),
                segment: 0,
            });
            self.enter_position()
        } else if self.pc.finished {
            self.pc.finished = false;
            self.enter_position()
        } else {
            Ok(())
        }
    }

    /// Enters the block at the top frame's position, or ends the frame when there is none.
    fn enter_position(&mut self) -> Result<()> {
        let Some(top) = self.pc.frames.last() else {
            self.pc.finished = true;
            return Ok(());
        };
        match self.program.lists[top.list].get(top.position as usize) {
            Some(block) => self.enter(*block),
            None => self.end_of_list(),
        }
    }

    fn enter(&mut self, block: BlockId) -> Result<()> {
        let from = self.pc.block;
        let plan = &self.program.blocks[block];
        let mut values = Vec::new();
        for (reg, incoming) in &plan.arguments {
            let Some((value, _)) = incoming.iter().find(|(_, pred)| *pred == from) else { continue };
            let v = match value {
                Opnd::Imm { imm, .. } => imm.bits,
                Opnd::Register(r, _) => read_register(self.registers, *r) as u64,
                _ => return Err(Error::new(Code::J009, "a block argument takes a register or an immediate")),
            };
            values.push((*reg, v));
        }
        for (reg, v) in values {
            write_register(self.registers, reg, v);
        }
        self.pc.block = block;
        self.pc.next = Next::FallThrough;
        self.set_segment(0);
        Ok(())
    }

    fn set_segment(&mut self, segment: u32) {
        let plan = &self.program.blocks[self.pc.block];
        self.pc.segment = segment;
        self.pc.met.clear();
        let s = &self.program.segments[plan.segment(segment)];
        for ((cursor, status), range) in self.cursors.iter_mut().zip(self.status.iter_mut()).zip(&s.ranges) {
            *cursor = *range;
            *status = if range.next < range.end { Status::Ready } else { Status::Finished };
        }
    }

    /// The last stage of a tick: goes on when the segment is done, and publishes for instructions whose bodies have ended.
    pub fn end_tick(&mut self) -> Result<()> {
        if self.pc.finished {
            return Ok(());
        }
        if self.pc.next == Next::Exit {
            self.stop();
        }
        let program = self.program;
        let all_done = self.cursors.iter().all(|c| c.next >= c.end);
        let plan = program.blocks.get(self.pc.block.at());
        let join = plan.and_then(|b| program.segments[b.segment(self.pc.segment)].join);
        let outcome = if self.pc.join_issued {
            self.advance(join)
        } else if self.pc.idle_body || (all_done && (join.is_none() || self.pc.next == Next::Exit)) {
            self.advance(None)
        } else {
            Ok(())
        };
        outcome.map_err(|e| match join {
            Some(row) => program.locate(e, row),
            None => e,
        })?;
        for k in 0..self.due.len() {
            self.banks.publish(program, self.syncs, self.due[k])?;
        }
        Ok(())
    }

    /// Exit: in list order the run ends at once; engines of a synchronised block have all arrived (ruling D20).
    fn stop(&mut self) {
        for (c, s) in self.cursors.iter_mut().zip(self.status.iter_mut()) {
            c.next = c.end;
            *s = Status::Finished;
        }
    }

    /// The segment's engines are done and its join, if any, has executed: go on.
    fn advance(&mut self, joined: Option<RowId>) -> Result<()> {
        self.pc.steps += 1;
        if std::mem::take(&mut self.pc.idle_body) {
            return self.enter_position();
        }
        if let Some(row) = joined {
            let inst = &self.program.insts[row];
            if predicates_hold(&inst.predicates, &self.env())? && self.push_frame(row)? {
                return self.enter_position();
            }
            if owns_updates(inst.opcode) {
                self.due.push(row);
            }
        }
        self.next_segment()
    }

    fn next_segment(&mut self) -> Result<()> {
        let plan = &self.program.blocks[self.pc.block];
        if self.pc.next != Next::Exit && self.pc.segment + 1 < plan.segments {
            self.set_segment(self.pc.segment + 1);
            return Ok(());
        }
        self.end_of_block()
    }

    /// Pushes the frame of a loop or call; false when there is nothing to run.
    fn push_frame(&mut self, row: RowId) -> Result<bool> {
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

    fn end_of_block(&mut self) -> Result<()> {
        let plan = &self.program.blocks[self.pc.block];
        if plan.by_sync {
            self.check_leftovers()?;
        }
        match self.pc.next {
            Next::FallThrough => {
                if let Some(top) = self.pc.frames.last_mut() {
                    top.position += 1;
                }
                self.enter_position()
            }
            Next::Block(b) => self.jump(b),
            Next::Break if self.settings.profile.break_goes == BreakGoes::NextBlock => self.fall_through(),
            Next::Break => match self.pc.frames.last().map(|top| matches!(top.kind, FrameKind::Function { .. })) {
                Some(true) => self.fall_through(),
                Some(false) => self.pop(),
                None => Ok(()),
            },
            Next::Return => {
                while let Some(top) = self.pc.frames.last() {
                    if matches!(top.kind, FrameKind::Function { .. }) {
                        return self.pop();
                    }
                    self.drop_frame();
                }
                Ok(())
            }
            Next::Exit => {
                while self.pc.frames.len() > 1 {
                    self.drop_frame();
                }
                self.pc.finished = true;
                self.pc.exited = true;
                Ok(())
            }
        }
    }

    /// A Break outside of every loop continues with the next block (`machine.md` 7).
    fn fall_through(&mut self) -> Result<()> {
        if let Some(top) = self.pc.frames.last_mut() {
            top.position += 1;
        }
        self.enter_position()
    }

    fn jump(&mut self, block: BlockId) -> Result<()> {
        while let Some(top) = self.pc.frames.last_mut() {
            // Blocks are numbered in the order of the text, so each list is sorted.
            if let Ok(p) = self.program.lists[top.list].binary_search(&block) {
                top.position = p as u32;
                return self.enter(block);
            }
            if matches!(top.kind, FrameKind::Function { .. }) {
                break;
            }
            self.drop_frame();
        }
        Err(Error::new(Code::B001, "a branch target is in no enclosing list").received(block))
    }

    /// The blocks of the top frame ran out.
    fn end_of_list(&mut self) -> Result<()> {
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
    fn pop(&mut self) -> Result<()> {
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

    fn drop_frame(&mut self) -> Option<Frame> {
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

    /// Events must be clear at the end of a block; semaphores should be (ruling D21).
    fn check_leftovers(&mut self) -> Result<()> {
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
