//! Who touched which bytes of an arena last.

use super::clock::{Clock, THREADS};
use crate::world::RowId;
use std::collections::BTreeMap;

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

/// Neighbouring bytes with the same accesses, up to `hi`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    hi: usize,
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

/// The pieces of an arena, by first byte.
#[derive(Clone, Debug, Default)]
pub(super) struct Map(BTreeMap<usize, Piece>);

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
        let start = self.0.range(..=lo).next_back().filter(|(_, p)| p.hi > lo).map_or(lo, |(k, _)| *k);
        for (from, p) in self.0.range(start..hi) {
            let of = |n: &Noted, w: bool| Conflict {
                thread: n.touch.thread,
                row: n.touch.row,
                writes: w,
                lo: *from,
                hi: p.hi,
            };
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
        if self.0.len() > PIECES {
            self.0.clear();
        }
        self.cut(lo);
        self.cut(hi);
        let noted = Some(Noted { touch, exact });
        if writes && exact {
            // An exact write replaces the record: whoever follows it also follows everything it followed.
            let doomed: Vec<usize> = self.0.range(lo..hi).map(|(k, _)| *k).collect();
            doomed.iter().for_each(|k| {
                self.0.remove(k);
            });
            self.0.insert(lo, Piece { hi, write: noted, reads: [None; THREADS] });
            return;
        }
        let mut at = lo;
        while at < hi {
            let end = match self.0.range_mut(at..hi).next() {
                Some((k, p)) if *k == at => {
                    if writes {
                        p.write = noted;
                    }
                    if reads {
                        p.reads[touch.thread] = noted;
                    }
                    p.hi
                }
                next => {
                    let end = next.map_or(hi, |(k, _)| *k);
                    let mut reads_of = [None; THREADS];
                    if reads {
                        reads_of[touch.thread] = noted;
                    }
                    self.0.insert(at, Piece { hi: end, write: if writes { noted } else { None }, reads: reads_of });
                    end
                }
            };
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
