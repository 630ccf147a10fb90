//! `uninit`: an instruction reads bytes that nothing wrote, whatever their type. Each tensor is reported once, with its
//! first reader, and with its writers when it was written in part.

use super::{Checker, Finding, Scene, span};
use crate::exec::effects::{Access, Effect};
use crate::world::*;
use hashbrown::{HashMap, HashSet};

/// Writers that are named at most.
const WRITERS: usize = 4;

#[derive(Default)]
pub(super) struct Uninit {
    reported: HashSet<LocId>,
    /// Writers of this trip.
    writers: HashMap<LocId, Vec<RowId>>,
    /// Writers of earlier trips.
    before: HashSet<LocId>,
}

impl Uninit {
    /// Reports the bytes [lo, hi). `any`: some other bytes of the tensor are initialised.
    fn report(&mut self, s: &Scene, e: &Effect, lo: usize, hi: usize, any: bool, found: &mut Vec<Finding>) {
        self.reported.insert(e.location);
        let meta = s.meta(e);
        let writers = match self.writers.get(&e.location) {
            Some(w) => {
                let p = s.m.program;
                let names: Vec<_> = w.iter().map(|row| p.name_of(&p.insts[*row])).collect();
                format!("; it was written in part by {}", names.join(", "))
            }
            None if self.before.contains(&e.location) => "; it was written in part in an earlier trip".to_string(),
            None if any => "; it was bound in part".to_string(),
            None => String::new(),
        };
        let place = &s.m.places[e.location];
        let verb = if e.access == Access::Update { "adds to" } else { "reads" };
        found.push(Finding {
            message: format!(
                "{} {verb} memory of {} ({}) that nothing wrote: {}{writers}",
                s.name(),
                meta.name,
                meta.ty,
                span(place, lo, hi)
            ),
            row: Some(s.row),
            tensor: Some(meta.name.to_string()),
        });
    }
}

impl Checker for Uninit {
    fn code(&self) -> Remark {
        Remark::Uninit
    }

    fn declared(&mut self, location: LocId) {
        self.reported.remove(&location);
        self.writers.remove(&location);
        self.before.remove(&location);
    }

    fn new_trip(&mut self) {
        self.before.extend(self.writers.drain().map(|(location, _)| location));
    }

    fn before(&mut self, s: &Scene, found: &mut Vec<Finding>) {
        if s.may_read_uninit {
            return;
        }
        for e in s.effects.iter().filter(|e| e.reads()) {
            let Some(shadow) = &s.m.inits[e.arena].0 else { continue };
            if self.reported.contains(&e.location) || e.pattern.is_empty() {
                continue;
            }
            let (mut first, mut any) = (None, false);
            e.runs(|lo, hi| {
                if shadow.uniform(lo, hi) == Some(true) {
                    any = true;
                } else if first.is_none() {
                    any |= (lo..hi).any(|b| shadow.get(b));
                    first = shadow.first_clear(lo, hi).map(|at| {
                        let end = (at..hi).find(|b| shadow.get(*b)).unwrap_or(hi);
                        (at, end)
                    });
                }
            });
            // Indices pick elements of a table, so here only a wholly uninitialised table is reported.
            let Some((lo, hi)) = first.filter(|_| e.exact || !any) else { continue };
            self.report(s, e, lo, hi, any, found);
        }
    }

    fn after(&mut self, s: &Scene, found: &mut Vec<Finding>) {
        // The kernel has read its indices, so the elements they picked are known now. Those of an output are marked as
        // initialised only after all checkers have run.
        for e in s.effects.iter().filter(|e| e.reads() && !e.exact && !s.may_read_uninit) {
            let Some(shadow) = &s.m.inits[e.arena].0 else { continue };
            let chosen = s.m.scratch.indexed.iter().filter(|i| i.operand == e.operand);
            let first = chosen.filter_map(|i| shadow.first_clear(i.lo, i.hi).map(|at| (at, i.hi))).next();
            if let Some((lo, hi)) = first
                && !self.reported.contains(&e.location)
            {
                let end = (lo..hi).find(|b| shadow.get(*b)).unwrap_or(hi);
                self.report(s, e, lo, end, true, found);
            }
        }
        for e in s.effects.iter().filter(|e| e.writes()) {
            let list = self.writers.entry(e.location).or_default();
            if list.len() < WRITERS && !list.contains(&s.row) {
                list.push(s.row);
            }
        }
    }
}
