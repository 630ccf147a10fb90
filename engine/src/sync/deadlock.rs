//! The report of a deadlock: which engine waits for what, which instruction could satisfy it and where that instruction is,
//! which engines wait for each other, and what the values say about the cause.

use super::producers::{At, for_core, lowering, producers, raises};
use crate::ir::{Engine, SyncKind, UpdateMode, WaitMode};
use crate::world::*;
use hashbrown::HashMap;
use std::fmt::Write as _;

/// At most this many instructions are named.
const NAMED: usize = 3;

/// The state of the machine that the report is made from.
pub struct Standing<'a> {
    /// Program.
    pub program: &'a Program,
    /// Waits and updates of its rows.
    pub syncs: &'a [SyncSet],
    /// Program counter.
    pub pc: &'a ProgramCounter,
    /// Cursors of the engines.
    pub cursors: &'a [Cursor],
    /// What the engines do.
    pub status: &'a [Status],
    /// Semaphore values.
    pub semaphores: &'a [SemValue],
    /// Which were updated.
    pub touched: &'a [Touched],
    /// Their highest values so far.
    pub peaks: &'a [Peak],
    /// Events that were set once.
    pub events: &'a [EventTouched],
    /// Register files.
    pub registers: &'a [RegisterFile],
    /// This core.
    pub core: u32,
}

/// What other cores could do for waits of this one, as text, by event or semaphore.
pub type Elsewhere = HashMap<(SyncKind, u32), String>;

/// An instruction that could satisfy a wait of another core.
pub struct Helper {
    /// Its row.
    pub row: RowId,
    /// It is still to come.
    pub to_come: bool,
    /// The row that its queue stands at.
    pub head: Option<RowId>,
    /// Its name, engine and place.
    pub text: String,
}

/// An engine, the row at its head, and the wait that holds it.
type Waiting = (Engine, RowId, WaitId);

impl Standing<'_> {
    /// Text of the report. One line per engine: instruction, condition, current value, possible producers, hints.
    pub fn report(&self, elsewhere: &Elsewhere) -> String {
        let (program, plan) = (self.program, &self.program.blocks[self.pc.block]);
        let segment = &program.segments[plan.segment(self.pc.segment)];
        let mut out = format!("no engine can go on in block {}", plan.name);
        let mut waiting: Vec<Waiting> = Vec::new();
        for (e, (cursor, state)) in self.cursors.iter().zip(self.status).enumerate() {
            match state {
                Status::Waiting(w) if cursor.next < cursor.end => waiting.push((Engine::QUEUES[e], cursor.next, *w)),
                Status::Joining => {
                    let i = &program.insts[cursor.next];
                    let engine = Engine::QUEUES[e];
                    let _ = write!(out, "\n    {engine}: {} ({}) waits for every other engine", i.name, i.opcode);
                }
                _ => {}
            }
        }
        let finished = self.cursors.iter().all(|c| c.next >= c.end);
        if let (true, Some(join), Some(Status::Waiting(w))) = (finished, segment.join, self.status.first()) {
            waiting.push((Engine::All, join, *w));
        }
        for at in &waiting {
            self.line(&mut out, *at, elsewhere);
        }
        if let Some(circle) = self.circle(&waiting) {
            let _ = write!(out, "\n    circle: {circle}");
        }
        out
    }

    /// Rows that wait, and for which event or semaphore.
    pub fn waits(&self) -> Vec<(RowId, SyncKind, u32)> {
        let at = |wait: WaitId| (self.program.waits[wait].kind, self.program.waits[wait].id);
        let heads = self.cursors.iter().zip(self.status).filter_map(|(c, s)| match s {
            Status::Waiting(w) if c.next < c.end => Some((c.next, *w)),
            _ => None,
        });
        let mut found: Vec<(RowId, WaitId)> = heads.collect();
        // A core of a session may have no block yet, so `get` and not an index.
        let plan = self.program.blocks.get(self.pc.block.at());
        let join = plan.and_then(|p| self.program.segments[p.segment(self.pc.segment)].join);
        if let (true, Some(join), Some(Status::Waiting(w))) =
            (self.cursors.iter().all(|c| c.next >= c.end), join, self.status.first())
        {
            found.push((join, *w));
        }
        found.into_iter().map(|(row, w)| (row, at(w).0, at(w).1)).collect()
    }

    /// What this core could do for a wait of another one of its rank.
    pub fn help(&self, kind: SyncKind, id: u32, core: u32) -> Vec<Helper> {
        let one = |(row, at): (RowId, At)| Helper {
            row,
            to_come: at.is_to_come(),
            head: match at {
                At::Head => Some(row),
                At::Behind(head) => Some(head),
                _ => None,
            },
            text: self.names(&[(row, at)]),
        };
        for_core(self, kind, id, core).into_iter().map(one).collect()
    }

    fn line(&self, out: &mut String, (engine, row, wait): Waiting, elsewhere: &Elsewhere) {
        let i = &self.program.insts[row];
        let w = &self.program.waits[wait];
        let _ = write!(out, "\n    {engine}: {} ({}) waits for {}", i.name, i.opcode, self.condition(w));
        let all = producers(self, w);
        let (coming, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, at)| at.is_to_come());
        let (ran, outside): (Vec<_>, Vec<_>) = rest.into_iter().partition(|(_, at)| *at == At::Ran);
        let here = if outside.is_empty() { "" } else { " in this block" };
        let far = elsewhere.get(&(w.kind, w.id));
        match (coming.as_slice(), far) {
            ([], Some(far)) => {
                let _ = write!(out, "; updated by {far}");
            }
            ([], None) => {
                let _ = write!(out, "; no instruction still to come{here} updates it");
            }
            (list, far) => {
                let _ = write!(out, "; updated by {}", self.names(list));
                if let Some(far) = far {
                    let _ = write!(out, ", and by {far}");
                }
            }
        }
        if coming.is_empty() && !outside.is_empty() {
            let _ = write!(out, "; outside the block it is updated by {}", self.names(&outside));
        }
        if coming.is_empty() && !ran.is_empty() {
            let _ = write!(out, "; it was updated before by {}", self.names(&ran));
        }
        match w.kind {
            SyncKind::Semaphore => self.semaphore_hints(out, w, &coming, outside.is_empty()),
            SyncKind::Event => self.event_hint(out, row, w),
        }
    }

    /// Hints from the values: wrapped below zero, passed the awaited value, too small a sum.
    fn semaphore_hints(&self, out: &mut String, w: &Wait, coming: &[(RowId, At)], alone: bool) {
        let (id, awaited) = (w.id as usize, self.awaited(w));
        let (value, peak) = (self.semaphores[id].0, self.peaks[id].0);
        if self.touched[id].0 && value > u32::MAX / 2 {
            out.push_str("; the value has wrapped below zero");
        }
        if peak >= awaited {
            let _ = write!(out, "; value {peak} passed the awaited {awaited}");
            let lowered: Vec<(RowId, At)> = lowering(self, w.id);
            if !lowered.is_empty() {
                let _ = write!(out, " and was lowered, as by {}", self.names(&lowered));
            }
            return;
        }
        // Counts each instruction of this block once; loops and other blocks may add more.
        let sum: Option<u64> = coming.iter().map(|(row, _)| self.adds(*row, w)).sum();
        let missing = u64::from(awaited.saturating_sub(value));
        if let (Some(sum), false, true) = (sum, coming.is_empty(), alone)
            && sum < missing
        {
            let _ = write!(out, "; together they add {sum} of the {missing} that are missing");
        }
    }

    /// How much a row adds to the counter that a wait tests; `None` when it changes it in another way.
    fn adds(&self, row: RowId, w: &Wait) -> Option<u64> {
        let inst = &self.program.insts[row];
        if !matches!(inst.control, Control::None) {
            return None;
        }
        let sync = &self.syncs[row];
        let own = self.program.updates_of(sync).iter().chain(self.program.seconds_of(sync));
        own.filter(|u| u.kind == w.kind && u.id == w.id)
            .map(|u| match u.mode {
                UpdateMode::SemAddImm => Some(u64::from(u.value)),
                UpdateMode::SemInc => Some(1),
                _ => None,
            })
            .sum()
    }

    fn event_hint(&self, out: &mut String, row: RowId, w: &Wait) {
        if !self.events[w.id as usize].0 {
            return;
        }
        out.push_str("; it was set before");
        let takers = self.program.rows().filter(|r| *r != row).filter(|r| {
            let waits = self.program.waits_of(&self.syncs[*r]);
            waits.iter().any(|o| o.kind == SyncKind::Event && o.id == w.id)
        });
        let takers: Vec<(RowId, At)> = takers.map(|r| (r, At::Ran)).collect();
        if !takers.is_empty() {
            let _ = write!(out, " and is also consumed by {}", self.names(&takers));
        }
    }

    fn names(&self, list: &[(RowId, At)]) -> String {
        let one = |(row, at): &(RowId, At)| {
            let i = &self.program.insts[*row];
            let place = match at {
                At::Head => " (itself waiting)".to_string(),
                At::Behind(head) => format!(" (behind {})", self.program.insts[*head].name),
                At::Later => " (later in the block)".to_string(),
                At::Block(b) => format!(" (block {})", self.program.blocks[*b].name),
                At::Ran => String::new(),
            };
            format!("{} on {}{place}", i.name, i.engine)
        };
        let shown: Vec<String> = list.iter().take(NAMED).map(one).collect();
        let more = list.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", shown.join(", "))
    }

    fn awaited(&self, w: &Wait) -> u32 {
        match (w.mode, w.reg) {
            (WaitMode::SemGeReg, Some(r)) => read_register(self.registers, r) as u32,
            _ => w.value,
        }
    }

    fn condition(&self, w: &Wait) -> String {
        let id = w.id;
        let from = if w.reg.is_some() { " (from a register)" } else { "" };
        match w.kind {
            SyncKind::Event => format!("event {id} to be set, it is clear"),
            SyncKind::Semaphore => {
                format!("semaphore {id} >= {}{from}, it is {}", self.awaited(w), self.semaphores[id as usize].0)
            }
        }
    }

    /// Engines that wait for each other, in order.
    fn circle(&self, waiting: &[Waiting]) -> Option<String> {
        let next = |(_, _, wait): &Waiting| {
            let w = &self.program.waits[*wait];
            waiting.iter().position(|(engine, _, _)| {
                let Some(q) = Engine::QUEUES.iter().position(|e| e == engine) else { return false };
                self.cursors[q].rows().any(|r| raises(self, r, w))
            })
        };
        for start in 0..waiting.len() {
            let mut path = vec![start];
            let mut at = start;
            while let Some(n) = next(&waiting[at]) {
                if n == start {
                    let name = |k: &usize| self.program.insts[waiting[*k].1].name.as_ref();
                    let mut names: Vec<&str> = path.iter().map(name).collect();
                    names.push(names[0]);
                    return Some(names.join(" -> "));
                }
                if path.contains(&n) {
                    break;
                }
                path.push(n);
                at = n;
            }
        }
        None
    }
}
