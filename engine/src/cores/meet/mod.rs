//! Where cores meet: barriers, exchanges, collectives, messages.
//!
//! The meetings of one sort (a group, stream and channel; a barrier; one way of a pipe; the messages of a peer) form a queue
//! on every core, in list order, execution by execution; the k-th of a core meets the k-th of the others, whichever engine
//! holds it. A meeting takes place once, when its last member has come, so its cost does not depend on who else waits.

mod brought;
mod counts;
mod exchanges;
mod fold;
mod inboxes;
mod line;
mod standing;

use super::agree::{of_groups, of_tensors};
use super::faults::{Side, at, disagree, placed};
use super::races;
use crate::Result;
use crate::check::Clock;
use crate::ir::CollectiveKind;
use crate::sim::Core;
use crate::world::*;
use birsim_kernels::Profile;
use brought::{Brought, Way};
pub use counts::CollectiveCount;
use counts::Counts;
use hashbrown::HashMap;
use inboxes::Inboxes;
use line::{Line, lines, together};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A row that waits at a meeting.
struct Waiting {
    meeting: Meeting,
    /// Its queues, and its place in each.
    at: Vec<(Line, u64)>,
}

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

impl Ready {
    /// The rows whose inputs it needs.
    fn bringing(&self) -> impl Iterator<Item = Side> {
        let (sides, pairs) = match self {
            Ready::Group(sides, _) => (sides.as_slice(), [].as_slice()),
            Ready::Inputs(pairs) => ([].as_slice(), pairs.as_slice()),
            _ => Default::default(),
        };
        sides.iter().copied().chain(pairs.iter().map(|(side, _)| *side))
    }
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
    inboxes: Inboxes,
    /// Memory of contributions that the members have in hand.
    lent: u64,
    counts: Counts,
    /// Where the same cores met last.
    last: HashMap<Vec<u32>, String>,
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
        self.counts.list()
    }

    /// Keeps a message until it is asked for.
    pub fn deliver(&mut self, from: u32, to: u32, message: Message, clock: Option<Clock>) {
        self.inboxes.deliver(from, to, message, clock);
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
                if self.inboxes.has(core as u32, *from, *number) {
                    ready.push(Ready::Message((core as u32, *row), *from, *number));
                }
            }
        }
    }

    /// Holds a meeting: checks that its members agree, and lets them through.
    fn take_place(
        &mut self,
        cores: &mut [Core],
        ready: Ready,
        brought: &Brought,
        profile: &Profile,
        woken: &mut Vec<usize>,
    ) -> Result<()> {
        let way = brought.way(cores, &ready);
        let mut passed: Vec<(Side, Received)> = Vec::new();
        match ready {
            Ready::Alone(side, alone) => passed.push((side, Received::Alone(alone))),
            Ready::Barrier(sides) => passed.extend(sides.into_iter().map(|s| (s, Received::Passed))),
            Ready::Message(side, from, number) => {
                let Some((message, clock)) = self.inboxes.take(side.0, from, number) else { return Ok(()) };
                if let Some(known) = clock {
                    races::follow(&mut cores[side.0 as usize], side.1, &known);
                }
                cores[from as usize].taken_over(message.bytes.len());
                passed.push((side, Received::Message(Box::new(message))));
            }
            Ready::Inputs(pairs) => {
                for (receiver, sender) in &pairs {
                    let (mine, sent) = (brought.by(receiver)?, brought.by(sender)?);
                    if let Some(d) = of_tensors(CollectiveKind::SendRecv, &sent, &mine) {
                        return Err(disagree(cores, "an exchange", &d, [*sender, *receiver]));
                    }
                    let received = if way == Way::Handed { Received::Landed } else { Received::Inputs(sent) };
                    passed.push((*receiver, received));
                }
                if way == Way::Handed {
                    let pairs: Vec<_> = pairs.iter().map(|(to, from)| (*to, *from, *from)).collect();
                    self.hand_over(cores, &pairs, brought)?;
                }
                self.count_exchange(cores, &pairs, brought)?;
            }
            Ready::Group(sides, first) => {
                let members = sides.iter().map(|side| brought.by(side)).collect::<Result<Vec<_>>>()?;
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
                let bytes: u64 = members.iter().flat_map(|m| &m.ins).map(Extent::bytes).sum();
                self.counts.add(first.kind, first.names.to_vec(), bytes);
                if way == Way::Handed {
                    self.hand_around(cores, &sides, &first, brought)?;
                    passed.extend(sides.into_iter().map(|side| (side, Received::Landed)));
                } else {
                    let folded = if way == Way::Folded {
                        self.fold(cores, &sides, &first, &members, profile)?
                    } else {
                        Vec::new()
                    };
                    let gathered = Arc::new(Gathered { group: first, members, folded });
                    let alike = sides.iter().enumerate();
                    passed.extend(alike.map(|(k, s)| (*s, Received::Group(Arc::clone(&gathered), k))));
                }
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
}
