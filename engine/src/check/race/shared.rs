//! Accesses of several cores to the memory that they share.

use super::clock::{Clock, QUEUE};
use crate::check::Scene;
use crate::exec::effects::Effect;
use crate::world::{LocId, RowId};
use std::collections::BTreeMap;

/// One access of a core to shared memory.
#[derive(Clone, Debug)]
pub struct SharedTouch {
    /// Location.
    pub location: LocId,
    /// Runs of its bytes, counted inside the location.
    runs: Vec<(usize, usize)>,
    writes: bool,
    reads: bool,
    exact: bool,
    thread: usize,
    clock: Clock,
    /// Row of the instruction.
    pub row: RowId,
}

impl SharedTouch {
    pub(super) fn of(s: &Scene, e: &Effect, thread: usize, clock: &Clock) -> SharedTouch {
        let place = &s.m.places[e.location].0;
        let inside = |at: usize| {
            let at = (at as u64).saturating_sub(place.start);
            let (row, column) = (at / place.row_stride.max(1), at % place.row_stride.max(1));
            (row * place.row_bytes + column) as usize
        };
        let mut runs = Vec::new();
        e.runs(|lo, hi| runs.push((inside(lo), inside(lo) + (hi - lo))));
        SharedTouch {
            location: e.location,
            runs,
            writes: e.writes(),
            reads: e.reads(),
            exact: e.exact,
            thread,
            clock: clock.clone(),
            row: s.row,
        }
    }
}

/// Pieces that are kept per tensor. Beyond that the record is cleared, which can only hide races.
const PIECES: usize = 1 << 16;

#[derive(Clone, Debug)]
struct Noted {
    core: u32,
    thread: usize,
    tick: u64,
    row: RowId,
    exact: bool,
}

/// Neighbouring bytes with the same accesses, up to `hi`.
#[derive(Clone, Debug)]
struct Piece {
    hi: usize,
    write: Option<Noted>,
    /// The last read of every thread of every core.
    reads: Vec<Noted>,
}

/// Two accesses that nothing orders.
pub struct Found {
    /// Core of the run, row, and whether it writes: of the later access and of the earlier one.
    pub sides: [(u32, RowId, bool); 2],
    /// Whether each was made by descriptors of a DMA queue.
    pub queues: [bool; 2],
    /// Bytes of the tensor.
    pub bytes: (usize, usize),
}

/// Who touched which bytes of one shared tensor last.
#[derive(Default)]
pub struct SharedAccesses(BTreeMap<usize, Piece>);

impl SharedAccesses {
    /// Records an access of core `core` of the run; an earlier one of another core that it does not follow.
    pub fn note(&mut self, core: u32, touch: &SharedTouch) -> Option<Found> {
        let mut found = None;
        for (lo, hi) in touch.runs.iter().copied() {
            found = found.or_else(|| self.conflict(core, touch, lo, hi));
        }
        if self.0.len() > PIECES {
            self.0.clear();
        }
        let noted = Noted {
            core,
            thread: touch.thread,
            tick: touch.clock.of(touch.thread),
            row: touch.row,
            exact: touch.exact,
        };
        touch.runs.iter().for_each(|(lo, hi)| self.record(*lo, *hi, touch, &noted));
        found
    }

    fn conflict(&self, core: u32, touch: &SharedTouch, lo: usize, hi: usize) -> Option<Found> {
        let open =
            |n: &Noted| n.core != core && touch.clock.of_other(n.core, n.thread) < n.tick && (touch.exact || n.exact);
        let start = self.0.range(..=lo).next_back().filter(|(_, p)| p.hi > lo).map_or(lo, |(k, _)| *k);
        for (from, p) in self.0.range(start..hi) {
            let of = |n: &Noted, writes: bool| Found {
                sides: [(core, touch.row, touch.writes), (n.core, n.row, writes)],
                queues: [touch.thread == QUEUE, n.thread == QUEUE],
                bytes: ((*from).max(lo), p.hi.min(hi)),
            };
            if let Some(w) = p.write.as_ref().filter(|n| open(n)) {
                return Some(of(w, true));
            }
            if touch.writes
                && let Some(r) = p.reads.iter().find(|n| open(n))
            {
                return Some(of(r, false));
            }
        }
        None
    }

    fn record(&mut self, lo: usize, hi: usize, touch: &SharedTouch, noted: &Noted) {
        if lo >= hi {
            return;
        }
        self.cut(lo);
        self.cut(hi);
        if touch.writes && touch.exact {
            // Whoever follows the write also follows everything it followed.
            let inside: Vec<usize> = self.0.range(lo..hi).map(|(k, _)| *k).collect();
            inside.iter().for_each(|k| _ = self.0.remove(k));
            self.0.insert(lo, Piece { hi, write: Some(noted.clone()), reads: Vec::new() });
            return;
        }
        let mut at = lo;
        while at < hi {
            let next = self.0.range_mut(at..hi).next().map(|(k, _)| *k);
            let end = match next {
                Some(k) if k == at => self.0.get(&k).map_or(hi, |p| p.hi),
                other => {
                    let end = other.unwrap_or(hi);
                    self.0.insert(at, Piece { hi: end, write: None, reads: Vec::new() });
                    end
                }
            };
            if let Some(p) = self.0.get_mut(&at) {
                if touch.writes {
                    p.write = Some(noted.clone());
                }
                if touch.reads {
                    p.reads.retain(|r| (r.core, r.thread) != (noted.core, noted.thread));
                    p.reads.push(noted.clone());
                }
            }
            at = end;
        }
    }

    /// Splits the piece that contains `at`, if there is one.
    fn cut(&mut self, at: usize) {
        let Some((_, p)) = self.0.range_mut(..at).next_back().filter(|(_, p)| p.hi > at) else { return };
        let rest = p.clone();
        p.hi = at;
        self.0.insert(at, rest);
    }
}
