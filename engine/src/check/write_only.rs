//! `write-only`: bytes of a tensor other than an output that instructions write and no instruction reads.

use super::{Checker, Finding, Scene, span};
use crate::exec::effects::byte_runs;
use crate::memory::{ArenaId, LocationInfo, Shadow};
use crate::world::{LocId, Placement, Program, Remark, RowId};
use birsim_kernels::access::Pattern;
use hashbrown::{HashMap, HashSet};

/// Writers of a tensor that a finding distinguishes.
const WRITERS: usize = 64;

/// Bytes that are tested as a whole before they are looked at one by one.
const STRETCH: usize = 4096;

/// Marks of one arena.
struct Marks {
    read: Shadow,
    written: Shadow,
}

struct Writer {
    row: RowId,
    pattern: Pattern,
    exact: bool,
}

#[derive(Default)]
pub(super) struct WriteOnly {
    arenas: HashMap<ArenaId, Marks>,
    writers: HashMap<LocId, Vec<Writer>>,
    reported: HashSet<LocId>,
}

impl Checker for WriteOnly {
    fn code(&self) -> Remark {
        Remark::WriteOnly
    }

    fn before(&mut self, s: &Scene, _: &mut Vec<Finding>) {
        for e in s.effects {
            let bytes = s.m.arenas[e.arena].len();
            let marks = self
                .arenas
                .entry(e.arena)
                .or_insert_with(|| Marks { read: Shadow::new(bytes), written: Shadow::new(bytes) });
            if e.reads() {
                // Indices may pick any entry of a table, so all of it counts as read.
                marks.read.set(&e.pattern, true);
            }
            if e.writes() {
                if e.exact {
                    marks.written.set(&e.pattern, true);
                }
                let list = self.writers.entry(e.location).or_default();
                if list.len() < WRITERS && !list.iter().any(|w| w.row == s.row && w.pattern == e.pattern) {
                    list.push(Writer { row: s.row, pattern: e.pattern.clone(), exact: e.exact });
                }
            }
        }
    }

    fn finish(&mut self, program: &Program, places: &[&Placement], found: &mut Vec<Finding>) {
        let mut locations: Vec<LocId> = self.writers.keys().copied().collect();
        locations.sort_unstable();
        for loc in locations {
            let (meta, place) = (&program.locations[loc], places[loc.at()]);
            let Some(marks) = self.arenas.get(&place.0.arena).filter(|_| !meta.kind.is_output()) else { continue };
            if self.reported.contains(&loc) {
                continue;
            }
            let writers = &self.writers[&loc];
            let unread = place.0.runs().find_map(|(lo, hi)| first(marks, lo, hi));
            let any_read = place.0.runs().any(|(lo, hi)| marks.read.uniform(lo, hi) != Some(false));
            let by = |w: &Writer| program.insts[w.row].name.to_string();
            let (message, writer) = match (any_read, unread) {
                (false, _) => (format!("{} is written, first by {}, and never read", meta.name, by(&writers[0])), 0),
                (true, Some((lo, hi))) => {
                    let covers = |w: &Writer| {
                        let mut hit = false;
                        byte_runs(&w.pattern, |a, b| hit |= a < hi && lo < b);
                        hit && w.exact
                    };
                    let k = writers.iter().position(covers).unwrap_or(0);
                    let part = span(place, lo, hi);
                    let text = format!(
                        "{} is read in part only: {part} is written, first by {}, and never read",
                        meta.name,
                        by(&writers[k])
                    );
                    (text, k)
                }
                (true, None) => continue,
            };
            self.reported.insert(loc);
            let tensor = meta.name.to_string();
            found.push(Finding { message, row: Some(writers[writer].row), tensor: Some(tensor) });
        }
    }
}

/// First run of written bytes that nothing read.
fn first(marks: &Marks, lo: usize, hi: usize) -> Option<(usize, usize)> {
    let dead = |b: usize| marks.written.get(b) && !marks.read.get(b);
    // Most stretches are either read or written throughout.
    let at = (lo..hi).step_by(STRETCH).find_map(|from| {
        let to = (from + STRETCH).min(hi);
        let clean = marks.written.uniform(from, to) == Some(false) || marks.read.uniform(from, to) == Some(true);
        if clean { None } else { (from..to).find(|b| dead(*b)) }
    })?;
    Some((at, (at..hi).find(|b| !dead(*b)).unwrap_or(hi)))
}

/// Two locations share bytes.
pub(super) fn overlap(a: &LocationInfo, b: &LocationInfo) -> bool {
    if a.arena != b.arena {
        return false;
    }
    let ((lo, hi), (from, to)) = (a.extent(), b.extent());
    if lo >= to || from >= hi {
        return false;
    }
    if a.row_stride != b.row_stride || a.row_stride == a.row_bytes || a.row_stride == 0 {
        return true;
    }
    // Same partitions: the byte ranges inside a partition decide.
    let column = |l: &LocationInfo| (l.start % l.row_stride, l.start % l.row_stride + l.row_bytes);
    let ((c0, c1), (d0, d1)) = (column(a), column(b));
    c0 < d1 && d0 < c1
}
