//! Vector clocks over the engines, ALL, and the DMA queues.

/// Six engine queues, ALL, and the descriptors of DMA queues.
pub(super) const THREADS: usize = 8;
/// Instructions of every engine.
pub(super) const ALL: usize = 6;
/// The descriptors.
pub(super) const QUEUE: usize = 7;

/// A vector clock: for every thread, how many of its instructions precede a point of the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Clock([u64; THREADS]);

impl Clock {
    pub(super) fn of(&self, thread: usize) -> u64 {
        self.0[thread]
    }

    pub(super) fn join(&mut self, other: &Clock) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a = (*a).max(*b));
    }

    pub(super) fn tick(&mut self, thread: usize) {
        self.0[thread] += 1;
    }
}
