//! Work on several threads: the one place of this crate that knows rayon. Without the feature `parallel`, and with it on
//! one thread, the same work runs in order; no result depends on which.

use crate::halt;
use std::ops::ControlFlow::{self, Break, Continue};

/// The same work with this thread's stop flag installed, for other threads to run.
fn taken_along<A, R>(f: impl Fn(A) -> R + Sync) -> impl Fn(A) -> R + Sync {
    let stop = halt::current();
    move |a| halt::scope(stop.clone(), || f(a))
}

/// Threads that share the work.
pub(crate) fn threads() -> usize {
    #[cfg(feature = "parallel")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "parallel"))]
    1
}

/// Calls `f` for every part and returns what the first part broke off with, whatever the order of execution.
pub(crate) fn first_break_of<S: Send, T: Send>(parts: Vec<S>, f: impl Fn(S) -> ControlFlow<T> + Sync) -> Option<T> {
    let at = taken_along(|(k, part)| match f(part) {
        Break(value) => Some((k, value)),
        Continue(()) => None,
    });
    #[cfg(feature = "parallel")]
    {
        use rayon::prelude::*;
        let found = parts.into_par_iter().enumerate().with_max_len(1).filter_map(at).min_by_key(|(k, _)| *k);
        found.map(|(_, value)| value)
    }
    #[cfg(not(feature = "parallel"))]
    parts.into_iter().enumerate().find_map(at).map(|(_, value)| value)
}

/// Joins the results of `f` for 0..pieces; `join` must be associative and `none` its neutral element.
pub(crate) fn map_reduce<T: Send>(
    pieces: usize,
    f: impl Fn(usize) -> T + Sync,
    none: impl Fn() -> T + Sync,
    join: impl Fn(T, T) -> T + Sync,
) -> T {
    #[cfg(feature = "parallel")]
    {
        use rayon::prelude::*;
        (0..pieces).into_par_iter().map(&f).reduce(&none, &join)
    }
    #[cfg(not(feature = "parallel"))]
    (0..pieces).map(f).fold(none(), join)
}

/// Calls `f` for consecutive pieces of `items`, `len` items each.
pub(crate) fn each_chunk<T: Send>(items: &mut [T], len: usize, f: impl Fn((usize, &mut [T])) + Sync) {
    #[cfg(feature = "parallel")]
    {
        use rayon::prelude::*;
        items.par_chunks_mut(len).with_max_len(1).enumerate().for_each(&f);
    }
    #[cfg(not(feature = "parallel"))]
    items.chunks_mut(len).enumerate().for_each(f);
}
