//! Vector clocks over the engines, ALL, and the DMA queues, of this core and of others.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Six engine queues, ALL, and the descriptors of DMA queues.
pub(super) const THREADS: usize = 8;
/// Instructions of every engine.
pub(super) const ALL: usize = 6;
/// The descriptors.
pub(super) const QUEUE: usize = 7;

/// A vector clock: for every thread, how many of its instructions precede a point of the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clock {
    own: [u64; THREADS],
    /// The threads of other cores, by core of the run; nothing until cores meet.
    others: Option<Arc<BTreeMap<u32, [u64; THREADS]>>>,
}

fn join(a: &mut [u64; THREADS], b: &[u64; THREADS]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a = (*a).max(*b));
}

impl Clock {
    pub(super) fn of(&self, thread: usize) -> u64 {
        self.own[thread]
    }

    /// How many instructions of a thread of another core precede.
    pub(super) fn of_other(&self, core: u32, thread: usize) -> u64 {
        self.others.as_ref().and_then(|o| o.get(&core)).map_or(0, |c| c[thread])
    }

    pub(super) fn join(&mut self, other: &Clock) {
        join(&mut self.own, &other.own);
        self.join_others(&other.others);
    }

    fn join_others(&mut self, others: &Option<Arc<BTreeMap<u32, [u64; THREADS]>>>) {
        match (&mut self.others, others) {
            (_, None) => {}
            (own @ None, Some(more)) => *own = Some(Arc::clone(more)),
            (Some(own), Some(more)) if Arc::ptr_eq(own, more) => {}
            (Some(own), Some(more)) => {
                let own = Arc::make_mut(own);
                more.iter().for_each(|(core, c)| join(own.entry(*core).or_default(), c));
            }
        }
    }

    pub(super) fn tick(&mut self, thread: usize) {
        self.own[thread] += 1;
    }

    /// Joins what another core's clock says to the knowledge that is handed on between cores.
    pub(crate) fn hand_on(&mut self, core: u32, clock: &Clock) {
        self.join_others(&clock.others);
        let others = Arc::make_mut(self.others.get_or_insert_default());
        join(others.entry(core).or_default(), &clock.own);
    }

    /// What other cores handed on, without what it says about core `core` itself, which knows that better.
    pub(super) fn without(mut self, core: u32) -> Clock {
        if let Some(others) = self.others.as_mut().filter(|o| o.contains_key(&core)) {
            Arc::make_mut(others).remove(&core);
        }
        self
    }
}
