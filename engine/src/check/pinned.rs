//! `pinned`: an instruction writes into memory that the program declares write-protected, under whatever name.

use super::write_only::overlap;
use super::{Checker, Finding, Scene, span};
use crate::world::*;

#[derive(Default)]
pub(super) struct Pinned {
    locations: Vec<LocId>,
    known: usize,
}

impl Checker for Pinned {
    fn code(&self) -> Remark {
        Remark::Pinned
    }

    fn before(&mut self, s: &Scene, found: &mut Vec<Finding>) {
        let all = &s.m.program.locations;
        for (k, meta) in all.iter().enumerate().skip(self.known) {
            if meta.pinned {
                self.locations.push(LocId::of(k));
            }
        }
        self.known = all.len();
        for e in s.effects.iter().filter(|e| e.writes()) {
            for pinned in &self.locations {
                let (own, place) = (&s.m.places[e.location].0, &s.m.places[*pinned]);
                if !overlap(own, &place.0) {
                    continue;
                }
                let mut hit = None;
                e.runs(|lo, hi| hit = hit.or_else(|| inside(place, lo, hi)));
                let Some((lo, hi)) = hit else { continue };
                let name = &all[*pinned].name;
                let through =
                    if *pinned == e.location { String::new() } else { format!(" through {}", s.meta(e).name) };
                found.push(Finding {
                    message: format!("{} writes to the pinned {name}{through}: {}", s.name(), span(place, lo, hi)),
                    row: Some(s.row),
                    tensor: Some(name.to_string()),
                });
            }
        }
    }
}

/// The part of an arena byte range that belongs to a location.
fn inside(place: &Placement, lo: usize, hi: usize) -> Option<(usize, usize)> {
    let p = &place.0;
    let (start, end) = p.extent();
    let (lo, hi) = (lo.max(start), hi.min(end));
    if lo >= hi || p.is_linear() {
        return (lo < hi).then_some((lo, hi));
    }
    // First partition that the range reaches.
    let stride = p.row_stride as usize;
    let first = (lo - start) / stride;
    (first..=(hi - 1 - start) / stride).find_map(|row| {
        let from = start + row * stride;
        let (a, b) = (lo.max(from), hi.min(from + p.row_bytes as usize));
        (a < b).then_some((a, b))
    })
}
