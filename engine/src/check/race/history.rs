//! What was posted to one semaphore since it was last written or lowered.

use super::clock::{Clock, THREADS};
use std::collections::VecDeque;

/// Posts that are kept per thread of a semaphore. When an older one is needed, a wait follows a later post instead, and so
/// follows more than it must: races can be missed, but none is invented.
const KEPT: usize = 512;

#[derive(Clone, Debug)]
struct Post {
    /// Sum of the thread's earlier posts.
    before: u64,
    clock: Clock,
}

/// Posts of one thread.
#[derive(Clone, Debug, Default)]
struct Poster {
    sum: u64,
    posts: VecDeque<Post>,
}

/// The history of one semaphore.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    base: u32,
    /// Clock of the update that set the base.
    writer: Clock,
    posters: [Option<Box<Poster>>; THREADS],
}

impl History {
    /// Current value.
    pub(super) fn value(&self) -> u32 {
        self.posters.iter().flatten().fold(self.base, |v, p| v.wrapping_add(p.sum as u32))
    }

    /// An update that adds.
    pub(super) fn add(&mut self, by: u32, thread: usize, clock: &Clock) {
        let poster = self.posters[thread].get_or_insert_default();
        poster.posts.push_back(Post { before: poster.sum, clock: clock.clone() });
        poster.sum += u64::from(by);
        if poster.posts.len() > KEPT {
            poster.posts.pop_front();
        }
    }

    /// An update that lowers the value. The rest may come from any of the earlier posts, so a wait for it follows them all.
    pub(super) fn lower(&mut self, by: u32, clock: &Clock) {
        let mut writer = clock.clone();
        writer.join(&self.writer);
        self.posters.iter().flatten().filter_map(|p| p.posts.back()).for_each(|p| writer.join(&p.clock));
        *self = History { base: self.value().wrapping_sub(by), writer, posters: Default::default() };
    }

    /// An update that replaces the value.
    pub(super) fn restart(&mut self, value: u32, clock: &Clock) {
        *self = History { base: value, writer: clock.clone(), posters: Default::default() };
    }

    /// Joins the posts that a satisfied wait for `>= value` certainly follows.
    pub(super) fn acquire(&self, value: u32, seen: &mut Clock) {
        let total: u64 = u64::from(self.base) + self.posters.iter().flatten().map(|p| p.sum).sum::<u64>();
        if self.base > 0 && total - u64::from(self.base) < u64::from(value) {
            seen.join(&self.writer);
        }
        for p in self.posters.iter().flatten() {
            // The last post without which the others would not have reached the value.
            let others = total - p.sum;
            if others >= u64::from(value) {
                continue;
            }
            let needed = p.posts.partition_point(|q| others + q.before < u64::from(value));
            // If that post was dropped, use the oldest one still kept; the wait then follows more than it must.
            if let Some(post) = p.posts.get(needed.saturating_sub(1)) {
                seen.join(&post.clock);
            }
        }
    }
}
