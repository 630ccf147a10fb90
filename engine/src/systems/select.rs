//! Stage 1: polls engine heads in order and takes what is runnable.

use crate::ir::{SyncKind, UpdateMode, WaitMode};
use crate::world::columns::{slice, table};
use crate::world::{IssueOrder, *};
use bevy_ecs::prelude::*;

/// Rows issued in one tick at most.
pub(crate) const WINDOW: usize = 1024;

/// What selection looks at, and what it decides.
pub(super) struct Select<'a> {
    pub program: &'a Program,
    pub settings: &'a Settings,
    pub findings: &'a Findings,
    pub pc: &'a mut ProgramCounter,
    pub issue: &'a mut IssueList,
    pub syncs: &'a [SyncSet],
    pub cursors: &'a mut [Cursor],
    pub status: &'a mut [Status],
    pub registers: &'a [RegisterFile],
    pub induction: &'a [Induction],
    pub semaphores: &'a [SemValue],
    pub events: &'a [EventBit],
}

// A system's parameters are the state it looks at.
#[allow(clippy::too_many_arguments)]
pub(super) fn select(
    program: Res<Program>,
    settings: Res<Settings>,
    findings: Res<Findings>,
    mut pc: ResMut<ProgramCounter>,
    mut issue: ResMut<IssueList>,
    rows: Query<&SyncSet>,
    mut engines: Query<(&mut Cursor, &mut Status)>,
    registers: Query<&RegisterFile>,
    axes: Query<&Induction>,
    semaphores: Query<&SemValue>,
    events: Query<&EventBit>,
) {
    let Some((mut cursors, mut status)) = table!(engines) else { return };
    run(Select {
        program: &program,
        settings: &settings,
        findings: &findings,
        pc: &mut pc,
        issue: &mut issue,
        syncs: slice!(rows),
        cursors: cursors.bypass_change_detection(),
        status: status.bypass_change_detection(),
        registers: slice!(registers),
        induction: slice!(axes),
        semaphores: slice!(semaphores),
        events: slice!(events),
    });
}

/// The stage itself.
pub(super) fn run(all: Select) {
    let Select { program, settings, findings, pc, issue, syncs, .. } = all;
    let Select { cursors, status, registers, induction, semaphores, events, .. } = all;
    issue.rows.clear();
    pc.join_issued = false;
    pc.stuck = false;
    pc.meetings.clear();
    if findings.fault.is_some() || pc.finished || pc.idle_body {
        return;
    }
    issue.forget_raised(semaphores.len());
    let plan = &program.blocks[pc.block];
    let pc = &mut *pc;
    let mut poll = Poll {
        program,
        syncs,
        registers,
        semaphores,
        events,
        by_sync: plan.by_sync,
        induction,
        seat: settings.seat,
        granted: &mut pc.granted,
        meetings: &mut pc.meetings,
        issue,
        cursors: &mut cursors[..QUEUES],
        status: &mut status[..QUEUES],
    };
    let started = match settings.schedule {
        IssueOrder::Window => poll.window(),
        IssueOrder::Reference => poll.one_in_turn(),
        IssueOrder::Seeded(_) => poll.one_at_random(),
    };
    if started {
        poll.meetings.clear();
        return;
    }
    let finished = poll.cursors.iter().all(|c| c.next >= c.end);
    if !finished {
        match poll.rendezvous() {
            true => poll.meetings.clear(),
            false => pc.stuck = poll.meetings.is_empty(),
        }
        return;
    }
    let segment = &program.segments[plan.segment(pc.segment)];
    if let Some(join) = segment.join {
        match poll.blocked(join) {
            None if poll.must_meet(join) => poll.meetings.push(join),
            None => {
                poll.granted.retain(|row| *row != join);
                poll.issue.rows.push(join);
                pc.join_issued = true;
            }
            Some(wait) => {
                poll.status.fill(Status::Waiting(wait));
                pc.stuck = true;
            }
        }
    }
}

struct Poll<'a> {
    program: &'a Program,
    syncs: &'a [SyncSet],
    registers: &'a [RegisterFile],
    semaphores: &'a [SemValue],
    events: &'a [EventBit],
    by_sync: bool,
    induction: &'a [Induction],
    seat: Seat,
    granted: &'a mut Vec<RowId>,
    meetings: &'a mut Vec<RowId>,
    issue: &'a mut IssueList,
    cursors: &'a mut [Cursor],
    status: &'a mut [Status],
}

impl Poll<'_> {
    /// Value of a semaphore after what was issued in this window.
    #[inline]
    fn semaphore(&self, id: u32) -> u32 {
        self.semaphores[id as usize].0.wrapping_add(self.issue.raised[id as usize])
    }

    /// The first unsatisfied wait of a row. Semaphore values include what was issued before in this window.
    #[inline]
    fn blocked(&self, row: RowId) -> Option<WaitId> {
        if !self.by_sync {
            return None;
        }
        let s = &self.syncs[row];
        for (k, w) in self.program.waits_of(s).iter().enumerate() {
            let satisfied = match (w.kind, w.mode, w.reg) {
                (SyncKind::Event, ..) => self.events[w.id as usize].0,
                (SyncKind::Semaphore, WaitMode::SemGeReg, Some(r)) => {
                    self.semaphore(w.id) >= read_register(self.registers, r) as u32
                }
                // Other modes are a protocol fault that the wait stage raises.
                (SyncKind::Semaphore, WaitMode::EvtSetClear, _) => true,
                _ => self.semaphore(w.id) >= w.value,
            };
            if !satisfied {
                return Some(WaitId(s.wait.0 + k as u32));
            }
        }
        None
    }

    /// Takes the head of engine `e` when it can run. Returns whether the window ends after it; `None` when it cannot run.
    #[inline]
    fn take(&mut self, e: usize) -> Option<bool> {
        let cursor = self.cursors[e];
        if cursor.next >= cursor.end {
            self.status[e] = Status::Finished;
            return None;
        }
        let row = cursor.next;
        let s = self.syncs[row];
        // A register or event must be looked at when everything issued before has executed.
        if s.slow_wait && self.by_sync && !self.issue.rows.is_empty() {
            return None;
        }
        if let Some(wait) = self.blocked(row) {
            self.status[e] = Status::Waiting(wait);
            return None;
        }
        if self.by_sync && s.joins_alone {
            self.status[e] = Status::Joining;
            return None;
        }
        if s.meets {
            // Whether its predicates hold is seen when everything issued before has executed.
            if s.predicated && !self.issue.rows.is_empty() {
                return None;
            }
            if self.must_meet(row) {
                self.status[e] = Status::Meeting;
                if !self.meetings.contains(&row) {
                    self.meetings.push(row);
                }
                return None;
            }
            self.granted.retain(|granted| *granted != row);
        }
        self.issue_head(e);
        Some(s.ends_window)
    }

    /// The row waits for other cores and was not let through yet.
    fn must_meet(&self, row: RowId) -> bool {
        if !self.syncs[row].meets || self.granted.contains(&row) {
            return false;
        }
        let env = Scalars { registers: self.registers, induction: self.induction, seat: self.seat };
        // A predicate that cannot be evaluated is a fault of the execution.
        predicates_hold(&self.program.insts[row].predicates, &env).unwrap_or(false)
    }

    #[inline]
    fn issue_head(&mut self, e: usize) {
        let cursor = &mut self.cursors[e];
        let row = cursor.next;
        cursor.next.0 += 1;
        self.status[e] = if cursor.next < cursor.end { Status::Ready } else { Status::Finished };
        self.issue.rows.push(row);
        self.issue.next_engine = (e + 1) % QUEUES;
        if self.by_sync {
            for u in self.program.updates_of(&self.syncs[row]) {
                let by = match u.mode {
                    UpdateMode::SemAddImm => u.value,
                    UpdateMode::SemInc => 1,
                    _ => continue,
                };
                if u.kind == SyncKind::Semaphore && u.target_core.is_none() {
                    self.issue.raise(u.id, by);
                }
            }
        }
    }

    /// Every engine issues consecutive runnable rows, until nothing moves or the window ends.
    fn window(&mut self) -> bool {
        loop {
            let before = self.issue.rows.len();
            let first = self.issue.next_engine;
            for k in 0..QUEUES {
                let e = (first + k) % QUEUES;
                while self.issue.rows.len() < WINDOW {
                    match self.take(e) {
                        None => break,
                        Some(true) => return true,
                        Some(false) => {}
                    }
                }
            }
            if self.issue.rows.len() == before || self.issue.rows.len() >= WINDOW {
                return !self.issue.rows.is_empty();
            }
        }
    }

    fn one_in_turn(&mut self) -> bool {
        let first = self.issue.next_engine;
        (0..QUEUES).any(|k| self.take((first + k) % QUEUES).is_some())
    }

    fn one_at_random(&mut self) -> bool {
        // A fixed step of a 64-bit linear congruential generator; its high bits pick the first engine polled.
        let r = self.issue.random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.issue.random = r;
        let mut order: [usize; QUEUES] = std::array::from_fn(|i| i);
        let mut bits = r >> 16;
        for i in (1..QUEUES).rev() {
            order.swap(i, (bits % (i as u64 + 1)) as usize);
            bits /= i as u64 + 1;
        }
        order.into_iter().any(|e| self.take(e).is_some())
    }

    /// Barriers and exits in the engines' own queues run when every engine that still has work has reached one.
    fn rendezvous(&mut self) -> bool {
        let cursors = &*self.cursors;
        let waiting = (0..QUEUES).filter(|e| cursors[*e].next < cursors[*e].end);
        let head = |e: usize| self.program.insts[cursors[e].next].opcode;
        let Some(first) = waiting.clone().next() else { return false };
        let op = head(first);
        let all = self.syncs[cursors[first].next].joins_alone
            && waiting.clone().all(|e| head(e) == op && self.blocked(self.cursors[e].next).is_none());
        if all {
            for e in 0..QUEUES {
                if self.cursors[e].next < self.cursors[e].end {
                    self.issue_head(e);
                }
            }
        }
        all
    }
}
