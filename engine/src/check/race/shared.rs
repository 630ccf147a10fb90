//! Accesses of several cores to the memory that they share.

use super::clock::{Clock, QUEUE};
use super::pieces::Pieces;
use crate::check::Scene;
use crate::exec::effects::Effect;
use crate::world::{LocId, RowId};

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

/// What was done to some bytes.
#[derive(Clone, Debug, Default)]
struct Accesses {
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
pub struct SharedAccesses(Pieces<Accesses>);

impl SharedAccesses {
    /// Records an access of core `core` of the run. Returns an earlier access of another core that nothing orders before it.
    pub fn note(&mut self, core: u32, touch: &SharedTouch) -> Option<Found> {
        let mut found = None;
        for (lo, hi) in touch.runs.iter().copied() {
            found = found.or_else(|| self.conflict(core, touch, lo, hi));
        }
        self.0.bound(PIECES);
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
        for (from, to, p) in self.0.over(lo, hi) {
            let of = |n: &Noted, writes: bool| Found {
                sides: [(core, touch.row, touch.writes), (n.core, n.row, writes)],
                queues: [touch.thread == QUEUE, n.thread == QUEUE],
                bytes: (from.max(lo), to.min(hi)),
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
        if touch.writes && touch.exact {
            // Whoever follows the write also follows everything it followed.
            return self.0.replace(lo, hi, Accesses { write: Some(noted.clone()), reads: Vec::new() });
        }
        self.0.change(lo, hi, |p| {
            if touch.writes {
                p.write = Some(noted.clone());
            }
            if touch.reads {
                p.reads.retain(|r| (r.core, r.thread) != (noted.core, noted.thread));
                p.reads.push(noted.clone());
            }
        });
    }
}
