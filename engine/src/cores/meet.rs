//! Where cores meet: barriers, exchanges, collectives, messages.
//!
//! The meetings of one sort (a group, stream and channel; a barrier; one way of a pipe; the messages of a peer) form a queue
//! on every core, in list order, execution by execution; the k-th of a core meets the k-th of the others, whichever engine
//! holds it. A meeting takes place once, when its last member has come, so its cost does not depend on who else waits.

use super::agree::{Difference, folded, of_groups, of_tensors};
use super::races;
use crate::check::Clock;
use crate::ir::CollectiveKind;
use crate::sim::Core;
use crate::world::*;
use crate::{Code, Error, Result};
use birsim_kernels::Profile;
use hashbrown::{HashMap, HashSet};
use rayon::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A queue of meetings on a core.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Line {
    Barrier {
        id: i64,
        members: Arc<[u32]>,
    },
    Group {
        members: Arc<[u32]>,
        stream: i64,
        channel: i64,
    },
    Swap,
    /// What one core sends another through a pipe.
    Way {
        from: u32,
        to: u32,
        pipe: i64,
    },
    Inbox {
        from: u32,
    },
}

/// The queues that a meeting stands in.
fn lines(core: u32, m: &Meeting) -> Vec<Line> {
    match m {
        Meeting::None(_) => Vec::new(),
        Meeting::Barrier { id, members, .. } => vec![Line::Barrier { id: *id, members: Arc::clone(members) }],
        Meeting::Exchange { to, from, pipe, .. } => {
            vec![Line::Way { from: core, to: *to, pipe: *pipe }, Line::Way { from: *from, to: core, pipe: *pipe }]
        }
        Meeting::Swap { .. } => vec![Line::Swap],
        Meeting::Message { from, .. } => vec![Line::Inbox { from: *from }],
        Meeting::Group(g) => {
            let mut members = g.members.to_vec();
            members.sort_unstable();
            vec![Line::Group { members: members.into(), stream: g.stream, channel: g.channel }]
        }
    }
}

/// A row that waits at a meeting.
struct Waiting {
    meeting: Meeting,
    /// Its queues, and its place in each.
    at: Vec<(Line, u64)>,
}

/// A core of the run and its row.
type Side = (u32, RowId);

/// A meeting whose members are all here.
enum Ready {
    Alone(Side, Alone),
    Barrier(Vec<Side>),
    Group(Vec<Side>, Arc<Group>),
    /// Receiver and sender.
    Inputs(Vec<(Side, Side)>),
    Message(Side, u32, u64),
}

impl Ready {
    /// The order of meetings that take place between the same two rounds.
    fn rank(&self) -> Side {
        match self {
            Ready::Alone(s, _) | Ready::Message(s, ..) => *s,
            Ready::Barrier(sides) | Ready::Group(sides, _) => sides.iter().copied().min().unwrap_or_default(),
            Ready::Inputs(pairs) => pairs.iter().map(|(s, _)| *s).min().unwrap_or_default(),
        }
    }
}

/// Messages of one core to another.
#[derive(Default)]
struct Inbox {
    /// Number of the first one kept.
    first: u64,
    kept: VecDeque<Option<(Message, Option<Clock>)>>,
}

/// What collectives of one kind over one group moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectiveCount {
    /// Kind.
    pub kind: CollectiveKind,
    /// Ranks or cores of the group.
    pub group: Vec<u32>,
    /// Meetings that took place.
    pub count: u64,
    /// Bytes that the members brought.
    pub bytes: u64,
}

/// The meetings of a run.
#[derive(Default)]
pub(super) struct Floor {
    /// Rows that wait, by core.
    waiting: Vec<BTreeMap<RowId, Waiting>>,
    /// Meetings that were held, by core and queue.
    held: Vec<HashMap<Line, u64>>,
    /// Who has come to a meeting.
    here: HashMap<(Line, u64), Vec<Side>>,
    inboxes: HashMap<(u32, u32), Inbox>,
    /// Memory of contributions that the members have in hand.
    lent: u64,
    counts: BTreeMap<(u8, Vec<u32>), (u64, u64)>,
    /// Where the same cores met last.
    last: HashMap<Vec<u32>, String>,
}

/// A meeting that a core waits for.
pub(super) struct Missing {
    /// Its row.
    pub row: RowId,
    /// What it is.
    pub text: String,
    /// Members that have not come.
    pub absent: Vec<usize>,
    /// Where the members met last.
    pub last: Option<String>,
}

/// The members of a meeting with the core itself, sorted.
fn together(core: u32, members: &[u32]) -> Vec<u32> {
    let mut all = members.to_vec();
    all.push(core);
    all.sort_unstable();
    all.dedup();
    all
}

impl Floor {
    pub fn new(cores: usize) -> Floor {
        Floor {
            waiting: (0..cores).map(|_| BTreeMap::new()).collect(),
            held: vec![HashMap::new(); cores],
            ..Floor::default()
        }
    }

    /// What was held so far.
    pub fn counts(&self) -> Vec<CollectiveCount> {
        let one = |((kind, group), (count, bytes)): (&(u8, Vec<u32>), &(u64, u64))| {
            let kind = birsim_kernels::Named::from_ordinal(*kind)?;
            Some(CollectiveCount { kind, group: group.clone(), count: *count, bytes: *bytes })
        };
        self.counts.iter().filter_map(one).collect()
    }

    /// Keeps a message until it is asked for.
    pub fn deliver(&mut self, from: u32, to: u32, message: Message, clock: Option<Clock>) {
        self.inboxes.entry((to, from)).or_default().kept.push_back(Some((message, clock)));
    }

    /// What a core waits for at meetings, row by row.
    pub fn standing(&self, core: usize) -> Vec<Missing> {
        let one = |(row, w): (&RowId, &Waiting)| {
            let members: Vec<u32> = match &w.meeting {
                Meeting::None(_) => Vec::new(),
                Meeting::Barrier { members, .. } => members.to_vec(),
                Meeting::Group(g) => g.members.to_vec(),
                Meeting::Exchange { to, from, .. } => vec![*from, *to],
                Meeting::Swap { other, .. } => vec![*other],
                Meeting::Message { from, .. } => vec![*from],
            };
            let here = |m: &u32| {
                *m == core as u32
                    || w.at.iter().any(|key| self.here.get(key).is_some_and(|h| h.iter().any(|s| s.0 == *m)))
            };
            let mut absent: Vec<usize> = members.iter().filter(|m| !here(m)).map(|m| *m as usize).collect();
            absent.sort_unstable();
            absent.dedup();
            let last = self.last.get(&together(core as u32, &members)).cloned();
            Missing { row: *row, text: w.meeting.describe(), absent, last }
        };
        self.waiting[core].iter().map(one).collect()
    }

    /// Notes who waits among the cores that ran, and holds every meeting that is complete. Returns the cores that can go
    /// on.
    pub fn hold(&mut self, cores: &mut [Core], ran: &[usize], profile: &Profile) -> Result<Vec<usize>> {
        if let Some(core) = cores.first() {
            core.world.resource::<Settings>().limits.give_back(std::mem::take(&mut self.lent));
        }
        let mut ready = Vec::new();
        let mut exchanges = Vec::new();
        for id in ran.iter().copied() {
            for row in self.arrive(cores, id)? {
                self.look(id as u32, row, &mut ready, &mut exchanges);
            }
        }
        self.look_at_inboxes(&mut ready);
        self.look_at_exchanges(&exchanges, &mut ready);
        ready.sort_by_key(Ready::rank);
        let mut woken = Vec::new();
        let brought = self.bring(cores, &ready)?;
        for r in ready {
            self.take_place(cores, r, &brought, profile, &mut woken)?;
        }
        woken.sort_unstable();
        woken.dedup();
        Ok(woken)
    }

    /// Rows of a core that have come to a meeting since it was last looked at.
    fn arrive(&mut self, cores: &mut [Core], id: usize) -> Result<Vec<RowId>> {
        let mut new = Vec::new();
        let core = &mut cores[id];
        for s in core.standing()? {
            if self.waiting[id].contains_key(&s.row) {
                continue;
            }
            let meeting = match core.meeting(s.row) {
                Ok(meeting) => meeting,
                Err(e) => return Err(placed(core, e)),
            };
            let own = lines(id as u32, &meeting);
            let mut of = |rows: &[RowId]| -> Vec<Line> {
                // A row that cannot be evaluated yet stands in no queue.
                rows.iter().filter_map(|r| core.meeting(*r).ok()).flat_map(|m| lines(id as u32, &m)).collect()
            };
            let (before, after) = (of(&s.before), of(&s.after));
            let count = |list: &[Line], line: &Line| list.iter().filter(|l| *l == line).count() as u64;
            let at = own.into_iter().map(|line| {
                let held = self.held[id].get(&line).copied().unwrap_or(0);
                let place = held + count(&before, &line) - count(&after, &line).min(held);
                (line, place)
            });
            let waiting = Waiting { at: at.collect(), meeting };
            self.waiting[id].insert(s.row, waiting);
            new.push(s.row);
        }
        Ok(new)
    }

    /// A row has come: is its meeting complete now?
    fn look(&mut self, core: u32, row: RowId, ready: &mut Vec<Ready>, exchanges: &mut Vec<Side>) {
        let waiting = &self.waiting[core as usize][&row];
        let members = match &waiting.meeting {
            Meeting::None(alone) => {
                ready.push(Ready::Alone((core, row), *alone));
                return;
            }
            Meeting::Exchange { .. } => {
                waiting.at.iter().for_each(|key| self.here.entry(key.clone()).or_default().push((core, row)));
                exchanges.push((core, row));
                return;
            }
            Meeting::Message { .. } => return,
            Meeting::Barrier { members, .. } => members.len(),
            Meeting::Swap { .. } => 2,
            Meeting::Group(g) => g.members.len(),
        };
        let Some(key) = waiting.at.first() else { return };
        // Partners are two cores of one rank, so a pair of ranks has a queue of its own.
        let key = match &waiting.meeting {
            Meeting::Swap { other, .. } => {
                (Line::Way { from: core.min(*other), to: core.max(*other), pipe: i64::MIN }, key.1)
            }
            _ => key.clone(),
        };
        let here = self.here.entry(key.clone()).or_default();
        here.push((core, row));
        if here.len() < members {
            return;
        }
        let sides = self.here.remove(&key).unwrap_or_default();
        ready.push(match &waiting.meeting {
            Meeting::Group(g) => {
                let side = |id: &u32| sides.iter().find(|s| s.0 == *id).copied();
                match sides.len() {
                    // Finding each of many in a list would cost the square of their number.
                    n if n > 8 => {
                        let by_core: HashMap<u32, Side> = sides.iter().map(|s| (s.0, *s)).collect();
                        Ready::Group(g.members.iter().filter_map(|m| by_core.get(m).copied()).collect(), Arc::clone(g))
                    }
                    _ => Ready::Group(g.members.iter().filter_map(side).collect(), Arc::clone(g)),
                }
            }
            Meeting::Swap { .. } => match sides.as_slice() {
                [a, b] => Ready::Inputs(vec![(*a, *b), (*b, *a)]),
                _ => return,
            },
            _ => Ready::Barrier(sides),
        });
    }

    /// Rows whose message has arrived.
    fn look_at_inboxes(&self, ready: &mut Vec<Ready>) {
        if self.inboxes.is_empty() {
            return;
        }
        for (core, rows) in self.waiting.iter().enumerate() {
            for (row, w) in rows {
                let (Meeting::Message { from, .. }, Some((_, number))) = (&w.meeting, w.at.first()) else { continue };
                let inbox = self.inboxes.get(&(core as u32, *from));
                let arrived = inbox.and_then(|i| i.kept.get(number.checked_sub(i.first)? as usize)?.as_ref());
                if arrived.is_some() {
                    ready.push(Ready::Message((core as u32, *row), *from, *number));
                }
            }
        }
    }

    /// An exchange takes place when all that are joined by it, neighbour by neighbour, have come.
    fn look_at_exchanges(&mut self, new: &[Side], ready: &mut Vec<Ready>) {
        let mut seen: HashSet<Side> = HashSet::new();
        for start in new {
            if !seen.insert(*start) {
                continue;
            }
            let (mut joined, mut at, mut complete) = (vec![*start], 0, true);
            while let Some(side) = joined.get(at).copied() {
                at += 1;
                for key in &self.waiting[side.0 as usize][&side.1].at {
                    let other = self.here.get(key).and_then(|h| h.iter().find(|s| **s != side));
                    match other {
                        Some(other) if seen.insert(*other) => joined.push(*other),
                        Some(_) => {}
                        None => complete = false,
                    }
                }
            }
            if !complete {
                continue;
            }
            let mut pairs = Vec::new();
            for side in &joined {
                let incoming = &self.waiting[side.0 as usize][&side.1].at[1];
                let sender = self.here.get(incoming).and_then(|h| h.iter().find(|s| *s != side));
                pairs.extend(sender.map(|sender| (*side, *sender)));
            }
            for side in &joined {
                for key in &self.waiting[side.0 as usize][&side.1].at {
                    self.here.remove(key);
                }
            }
            ready.push(Ready::Inputs(pairs));
        }
    }

    /// Reads what the members bring, before any of them goes on.
    fn bring(&mut self, cores: &mut [Core], ready: &[Ready]) -> Result<HashMap<Side, Arc<Contribution>>> {
        let mut rows: Vec<Vec<RowId>> = vec![Vec::new(); cores.len()];
        for r in ready {
            match r {
                Ready::Group(sides, _) => sides.iter().for_each(|(core, row)| rows[*core as usize].push(*row)),
                Ready::Inputs(pairs) => pairs.iter().for_each(|((core, row), _)| rows[*core as usize].push(*row)),
                _ => {}
            }
        }
        let read = |(core, rows): (&mut Core, &Vec<RowId>)| -> Vec<(RowId, Result<Contribution>)> {
            rows.iter().map(|row| (*row, core.contribution(*row))).collect()
        };
        let all: Vec<Vec<(RowId, Result<Contribution>)>> = match ready.is_empty() {
            true => Vec::new(),
            false if cores.len() == 1 => cores.iter_mut().zip(&rows).map(read).collect(),
            false => cores.par_iter_mut().zip(&rows).map(read).collect(),
        };
        let mut out = HashMap::new();
        for (id, list) in all.into_iter().enumerate() {
            for (row, contribution) in list {
                let c = contribution.map_err(|e| placed(&cores[id], e))?;
                let bytes = c.inputs.iter().map(|i| i.len() as u64).sum();
                let limits = &cores[id].world.resource::<Settings>().limits;
                limits.take(bytes).map_err(|e| at(cores, e, (id as u32, row)))?;
                self.lent += bytes;
                out.insert((id as u32, row), Arc::new(c));
            }
        }
        Ok(out)
    }

    /// Holds a meeting: checks that its members agree, and lets them through.
    fn take_place(
        &mut self,
        cores: &mut [Core],
        ready: Ready,
        brought: &HashMap<Side, Arc<Contribution>>,
        profile: &Profile,
        woken: &mut Vec<usize>,
    ) -> Result<()> {
        let contribution = |side: &Side| {
            let found = brought.get(side).map(Arc::clone);
            found.ok_or_else(|| Error::new(Code::B001, "a member of a meeting has brought nothing"))
        };
        let mut passed: Vec<(Side, Received)> = Vec::new();
        match ready {
            Ready::Alone(side, alone) => passed.push((side, Received::Alone(alone))),
            Ready::Barrier(sides) => passed.extend(sides.into_iter().map(|s| (s, Received::Passed))),
            Ready::Message(side, from, number) => {
                let Some((message, clock)) = self.take_message(side.0, from, number) else { return Ok(()) };
                if let Some(known) = clock {
                    races::follow(&mut cores[side.0 as usize], side.1, &known);
                }
                cores[from as usize].taken_over(message.bytes.len());
                passed.push((side, Received::Message(Box::new(message))));
            }
            Ready::Inputs(pairs) => {
                for (receiver, sender) in &pairs {
                    let (mine, sent) = (contribution(receiver)?, contribution(sender)?);
                    if let Some(d) = of_tensors(CollectiveKind::SendRecv, &sent, &mine) {
                        return Err(disagree(cores, "an exchange", &d, [*sender, *receiver]));
                    }
                    passed.push((*receiver, Received::Inputs(sent)));
                }
                self.count_exchange(cores, &passed);
            }
            Ready::Group(sides, first) => {
                let members = sides.iter().map(contribution).collect::<Result<Vec<_>>>()?;
                for (side, mine) in sides.iter().zip(&members).skip(1) {
                    let own = match &self.waiting[side.0 as usize][&side.1].meeting {
                        Meeting::Group(g) => Arc::clone(g),
                        _ => continue,
                    };
                    let leader = match &self.waiting[sides[0].0 as usize][&sides[0].1].meeting {
                        Meeting::Group(g) => Arc::clone(g),
                        _ => continue,
                    };
                    let difference = of_groups(&leader, &own).or_else(|| of_tensors(own.kind, &members[0], mine));
                    if let Some(d) = difference {
                        return Err(disagree(cores, "a collective", &d, [sides[0], *side]));
                    }
                }
                let stop = cores[0].world.resource::<Settings>().stop.clone();
                let all = birsim_kernels::halt::scope(stop, || folded(&first, &members, profile));
                let bytes: u64 = members.iter().flat_map(|m| &m.inputs).map(|i| i.len() as u64).sum();
                self.count(first.kind, first.names.to_vec(), bytes);
                let all = all.map_err(|e| at(cores, e, sides[0]))?;
                let gathered = Arc::new(Gathered { group: first, members, folded: all });
                let alike = sides.iter().enumerate();
                passed.extend(alike.map(|(k, s)| (*s, Received::Group(Arc::clone(&gathered), k))));
            }
        }
        let met: Vec<Side> =
            passed.iter().filter(|(_, r)| !matches!(r, Received::Message(_))).map(|(s, _)| *s).collect();
        if let [(core, row), _, ..] = met.as_slice() {
            let text = cores[*core as usize].row_text(*row);
            let ids: Vec<u32> = met.iter().map(|s| s.0).collect();
            self.last.insert(together(*core, &ids), text);
            races::meet(cores, &met);
        }
        for ((core, row), received) in passed {
            let id = core as usize;
            if let Some(w) = self.waiting[id].remove(&row) {
                w.at.into_iter().for_each(|(line, _)| *self.held[id].entry(line).or_default() += 1);
            }
            cores[id].grant(row, received);
            woken.push(id);
        }
        Ok(())
    }

    fn take_message(&mut self, to: u32, from: u32, number: u64) -> Option<(Message, Option<Clock>)> {
        let inbox = self.inboxes.get_mut(&(to, from))?;
        let message = inbox.kept.get_mut(number.checked_sub(inbox.first)? as usize)?.take();
        while inbox.kept.pop_front_if(|m| m.is_none()).is_some() {
            inbox.first += 1;
        }
        message
    }

    fn count(&mut self, kind: CollectiveKind, group: Vec<u32>, bytes: u64) {
        let entry = self.counts.entry((birsim_kernels::Named::ordinal(kind), group)).or_default();
        entry.0 += 1;
        entry.1 += bytes;
    }

    /// An exchange counts for all that are joined by it. Partner exchanges are no collectives.
    fn count_exchange(&mut self, cores: &[Core], passed: &[(Side, Received)]) {
        let is_collective = |(core, row): &Side| {
            matches!(self.waiting[*core as usize].get(row).map(|w| &w.meeting), Some(Meeting::Exchange { .. }))
        };
        if !passed.iter().all(|(side, _)| is_collective(side)) {
            return;
        }
        let mut group: Vec<u32> = passed.iter().map(|((core, _), _)| cores[*core as usize].seat().rank).collect();
        group.sort_unstable();
        let bytes = passed.iter().map(|(_, r)| match r {
            Received::Inputs(c) => c.inputs.iter().map(|i| i.len() as u64).sum(),
            _ => 0u64,
        });
        self.count(CollectiveKind::SendRecv, group, bytes.sum());
    }
}

/// An error of a core with the fields that name the core.
pub(super) fn placed(core: &Core, e: Error) -> Error {
    let seat = core.seat();
    e.at(|p| (p.rank, p.core) = (seat.rank_field(), seat.core_field()))
}

fn at(cores: &[Core], e: Error, (core, row): Side) -> Error {
    let core = &cores[core as usize];
    placed(core, core.locate(e, row))
}

/// The fault of two members that do not agree.
fn disagree(cores: &[Core], what: &str, d: &Difference, sides: [Side; 2]) -> Error {
    let text = |k: usize| {
        let core = &cores[sides[k].0 as usize];
        format!("{} at {} on {}", d.values[k], core.row_text(sides[k].1), core.seat().name())
    };
    let e = Error::new(Code::S008, format!("the members of {what} disagree on {}", d.what))
        .received(format!("{}; {}", text(0), text(1)))
        .operand(&d.key);
    at(cores, e, sides[1])
}
