//! The report of a deadlock of several cores: what each waits for, what others could do about it and where that stands, who
//! is absent from a meeting, and who waits for whom in a circle.

use super::Cores;
use crate::sync::deadlock::Elsewhere;
use crate::world::RowId;
use crate::{Code, Error};
use hashbrown::{HashMap, HashSet};
use std::fmt::Write as _;

/// Instructions and members that are named at most.
const NAMED: usize = 4;

/// A row that waits, on a core of the run.
type Node = (usize, RowId);

impl Cores {
    /// Nothing can go on: every core says what it waits for.
    pub(super) fn deadlock(&mut self) -> Error {
        if self.cores.len() == 1 {
            return Error::new(Code::S003, self.state_of(0));
        }
        let mut text = String::from("no core can go on");
        for id in 0..self.cores.len() {
            let state = self.state_of(id);
            let _ = write!(text, "\n  {}: {state}", self.cores[id].seat().name());
        }
        if let Some(circle) = self.circle() {
            let name = |(core, row): &Node| {
                format!("{} of {}", self.cores[*core].row_name(*row), self.cores[*core].seat().name())
            };
            let names: Vec<String> = circle.iter().map(name).collect();
            let _ = write!(text, "\n  circle: {} -> {}", names.join(" -> "), names[0]);
        }
        Error::new(Code::S003, text)
    }

    /// What a core waits for.
    pub(crate) fn state_of(&mut self, id: usize) -> String {
        if self.done[id] {
            return "has finished".into();
        }
        let meetings = self.floor.standing(id);
        let waits = self.cores[id].waits();
        let mut parts: Vec<String> = Vec::new();
        for m in &meetings {
            let mut text = format!("{} waits for {}", self.cores[id].row_text(m.row), m.text);
            if !m.absent.is_empty() {
                let shown: Vec<String> = m.absent.iter().take(NAMED).map(|core| self.elsewhere(*core)).collect();
                let more = m.absent.len().saturating_sub(NAMED);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                let _ = write!(text, "; absent: {}{more}", shown.join(", "));
            }
            if let Some(last) = &m.last {
                let _ = write!(text, "; they met last at {last}");
            }
            parts.push(text);
        }
        if meetings.is_empty() || !waits.is_empty() {
            let far = self.help_for(id, &waits);
            parts.push(self.cores[id].report(far));
        }
        parts.join("; ")
    }

    /// A core and where it waits, for the report of those that wait for it.
    fn elsewhere(&mut self, id: usize) -> String {
        let name = self.cores[id].seat().name();
        if self.done[id] {
            return format!("{name} (has finished)");
        }
        match self.floor.standing(id).first() {
            Some(m) => format!("{name} (waits at {})", self.cores[id].row_name(m.row)),
            None => match self.cores[id].waits().first() {
                Some((row, ..)) => format!("{name} (waits at {})", self.cores[id].row_name(*row)),
                None => name,
            },
        }
    }

    /// What the other cores of the rank could do for the waits of a core.
    fn help_for(&mut self, id: usize, waits: &[(RowId, crate::ir::SyncKind, u32)]) -> Elsewhere {
        let (per_rank, seat) = (self.lnc(), self.cores[id].seat());
        let first = id / per_rank * per_rank;
        let mut out = Elsewhere::new();
        for (_, kind, number) in waits {
            let mut names = Vec::new();
            for other in (first..first + per_rank).filter(|o| *o != id) {
                let name = self.cores[other].seat().name();
                let done = self.done[other];
                for h in self.cores[other].help(*kind, *number, seat.core) {
                    if h.to_come && !done {
                        names.push(format!("{} of {name}", h.text));
                    }
                }
            }
            if !names.is_empty() {
                names.truncate(NAMED);
                out.insert((*kind, *number), names.join(", "));
            }
        }
        out
    }

    /// Rows of several cores that wait for each other, in order; each circle is found once, at its lowest core.
    fn circle(&mut self) -> Option<Vec<Node>> {
        let per_rank = self.lnc();
        let mut waiting: Vec<Vec<RowId>> = Vec::new();
        for id in 0..self.cores.len() {
            let rows = self.cores[id].waits().into_iter().map(|w| w.0);
            let mut rows: Vec<RowId> = rows.chain(self.floor.standing(id).iter().map(|m| m.row)).collect();
            if self.done[id] {
                rows.clear();
            }
            waiting.push(rows);
        }
        let mut next: HashMap<Node, Vec<Node>> = HashMap::new();
        for id in 0..self.cores.len() {
            for m in self.floor.standing(id) {
                let absent = m.absent.iter().flat_map(|core| waiting[*core].iter().map(|row| (*core, *row)));
                next.entry((id, m.row)).or_default().extend(absent);
            }
            let core = self.cores[id].seat().core;
            let first = id / per_rank * per_rank;
            for (row, kind, number) in self.cores[id].waits() {
                for other in (first..first + per_rank).filter(|o| *o != id) {
                    let helpers = self.cores[other].help(kind, number, core);
                    let heads = helpers.iter().filter_map(|h| h.head).filter(|h| waiting[other].contains(h));
                    next.entry((id, row)).or_default().extend(heads.map(|h| (other, h)));
                }
            }
        }
        let mut done: HashSet<Node> = HashSet::new();
        for (id, rows) in waiting.iter().enumerate() {
            for row in rows {
                let (mut path, mut at) = (vec![(id, *row)], vec![0]);
                while let (Some(node), Some(k)) = (path.last().copied(), at.last_mut()) {
                    let Some(to) = next.get(&node).and_then(|n| n.get(*k)).copied() else {
                        done.insert(node);
                        path.pop();
                        at.pop();
                        continue;
                    };
                    *k += 1;
                    match path.iter().position(|n| *n == to) {
                        Some(start) => return Some(path.split_off(start)),
                        None if done.contains(&to) => {}
                        None => {
                            path.push(to);
                            at.push(0);
                        }
                    }
                }
            }
        }
        None
    }
}
