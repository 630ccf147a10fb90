//! `write-only`: a tensor that instructions write and none reads, and that is no output.

use super::{Checker, Finding, Scene};
use crate::memory::LocationInfo;
use crate::world::{Placement, Program};
use hashbrown::{HashMap, HashSet};

#[derive(Default)]
pub(super) struct WriteOnly {
    read: HashSet<u32>,
    written: HashMap<u32, u32>,
    reported: HashSet<u32>,
}

impl Checker for WriteOnly {
    fn name(&self) -> &'static str {
        "write-only"
    }

    fn before(&mut self, s: &Scene, _: &mut Vec<Finding>) {
        for e in s.effects {
            if e.reads() {
                self.read.insert(e.location);
            }
            if e.writes() {
                self.written.entry(e.location).or_insert(s.payload);
            }
        }
    }

    fn finish(&mut self, program: &Program, places: &[&Placement], found: &mut Vec<Finding>) {
        let mut list: Vec<(u32, u32)> = self.written.iter().map(|(l, w)| (*l, *w)).collect();
        list.sort_unstable();
        for (loc, writer) in list {
            let meta = &program.locations[loc as usize];
            // In physical memory, and through aliases, a tensor is also read under another name.
            let seen = |l: &u32| overlap(&places[*l as usize].0, &places[loc as usize].0);
            if meta.kind.is_output() || self.read.iter().any(seen) || !self.reported.insert(loc) {
                continue;
            }
            let by = &program.insts[writer as usize].name;
            found.push(Finding {
                message: format!("{} is written, first by {by}, and never read", meta.name),
                payload: Some(writer),
                tensor: meta.name.to_string(),
            });
        }
    }
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
