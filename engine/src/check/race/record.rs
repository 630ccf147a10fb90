//! Who touched which bytes of an arena last.

use super::clock::{Clock, THREADS};
use super::pieces::Pieces;
use crate::world::RowId;

/// Pieces that are kept per arena. Beyond that the record is cleared, which can only hide races.
const PIECES: usize = 1 << 17;

/// One access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Touch {
    pub(super) thread: usize,
    pub(super) tick: u64,
    pub(super) row: RowId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Noted {
    touch: Touch,
    exact: bool,
}

/// What was done to some bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Accesses {
    write: Option<Noted>,
    reads: [Option<Noted>; THREADS],
}

/// An earlier access that is not ordered with the current one, and its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conflict {
    pub(super) thread: usize,
    pub(super) row: RowId,
    pub(super) writes: bool,
    pub(super) lo: usize,
    pub(super) hi: usize,
}

/// Who touched which bytes of an arena last.
#[derive(Clone, Debug, Default)]
pub(super) struct Map(Pieces<Accesses>);

impl Map {
    /// The first earlier access to [lo, hi) that the current one does not follow. Reads conflict with writes only. Two
    /// accesses through indices do not conflict, because neither certainly touches a given element.
    pub(super) fn conflict(
        &self,
        lo: usize,
        hi: usize,
        writes: bool,
        exact: bool,
        clock: &Clock,
        thread: usize,
    ) -> Option<Conflict> {
        let open =
            |n: &Noted| n.touch.thread != thread && clock.of(n.touch.thread) < n.touch.tick && (exact || n.exact);
        for (from, to, p) in self.0.over(lo, hi) {
            let of =
                |n: &Noted, w: bool| Conflict { thread: n.touch.thread, row: n.touch.row, writes: w, lo: from, hi: to };
            if let Some(w) = p.write.as_ref().filter(|n| open(n)) {
                return Some(of(w, true));
            }
            if writes && let Some(r) = p.reads.iter().flatten().find(|n| open(n)) {
                return Some(of(r, false));
            }
        }
        None
    }

    /// Records an access to [lo, hi).
    pub(super) fn note(&mut self, lo: usize, hi: usize, writes: bool, reads: bool, exact: bool, touch: Touch) {
        if lo >= hi {
            return;
        }
        self.0.bound(PIECES);
        let noted = Some(Noted { touch, exact });
        if writes && exact {
            // An exact write replaces the record: whoever follows it also follows everything it followed.
            return self.0.replace(lo, hi, Accesses { write: noted, reads: [None; THREADS] });
        }
        self.0.change(lo, hi, |p| {
            if writes {
                p.write = noted;
            }
            if reads {
                p.reads[touch.thread] = noted;
            }
        });
    }
}
