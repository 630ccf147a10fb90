//! Work on several threads: the one place of this crate that knows rayon. Without the feature `parallel`, and with it on
//! one thread, the same work runs in order; no result depends on which.

use std::ops::ControlFlow::{self, Break, Continue};

/// Threads that share the work.
pub(crate) fn threads() -> usize {
    #[cfg(feature = "parallel")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "parallel"))]
    1
}

/// Calls `f` for 0..pieces and returns what the lowest piece broke off with, whatever the order of execution.
pub(crate) fn first_break<T: Send>(pieces: usize, f: impl Fn(usize) -> ControlFlow<T> + Sync) -> Option<T> {
    let at = |piece: usize| match f(piece) {
        Break(value) => Some((piece, value)),
        Continue(()) => None,
    };
    #[cfg(feature = "parallel")]
    {
        use rayon::prelude::*;
        let found = (0..pieces).into_par_iter().with_max_len(1).filter_map(at).min_by_key(|(piece, _)| *piece);
        found.map(|(_, value)| value)
    }
    #[cfg(not(feature = "parallel"))]
    (0..pieces).find_map(at).map(|(_, value)| value)
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

/// Calls `f` for every item and its index, until one fails.
pub(crate) fn try_each<T: Send, E: Send>(
    items: &mut [T],
    f: impl Fn(usize, &mut T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    #[cfg(feature = "parallel")]
    {
        use rayon::prelude::*;
        items.par_iter_mut().enumerate().try_for_each(|(k, item)| f(k, item))
    }
    #[cfg(not(feature = "parallel"))]
    items.iter_mut().enumerate().try_for_each(|(k, item)| f(k, item))
}
