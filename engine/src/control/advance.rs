//! What happens between segments: joins, block ends and jumps. Loops and calls are in `frames.rs`.

use crate::sync::Banks;
use crate::sync::deadlock::Standing;
use crate::world::*;
use crate::{Code, Error, Result};
use birsim_kernels::profile::BreakGoes;

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
    pub(super) fn env(&self) -> Scalars<'_> {
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
    pub(super) fn enter_position(&mut self) -> Result<()> {
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

    pub(super) fn set_segment(&mut self, segment: u32) {
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

    pub(super) fn next_segment(&mut self) -> Result<()> {
        let plan = &self.program.blocks[self.pc.block];
        if self.pc.next != Next::Exit && self.pc.segment + 1 < plan.segments {
            self.set_segment(self.pc.segment + 1);
            return Ok(());
        }
        self.end_of_block()
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
}
