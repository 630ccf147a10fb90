//! Splitting a kernel over lanes.

use crate::Result;
use rayon::prelude::*;
use std::ops::Range;

/// Below this many elements a kernel stays on one thread: handing out work costs more than 10 us of arithmetic.
const PARALLEL_FROM: usize = 32 * 1024;

/// Pieces per thread: a thread that comes late still finds some, and one that ends early waits shortly and stays awake.
const PIECES: usize = 4;

/// Pieces that large work is cut into.
pub(crate) fn piece_count() -> usize {
    rayon::current_num_threads() * PIECES
}

/// Runs `f` for every lane, in parallel when `parallel` holds and the work is worth it.
///
/// `parallel` must imply that different lanes touch different output bytes. The error of the lowest lane wins, so the
/// outcome does not depend on the number of threads.
pub fn for_lanes(lanes: usize, elements: usize, parallel: bool, f: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
    let threads = rayon::current_num_threads();
    if !parallel || elements < PARALLEL_FROM || threads < 2 || lanes < 2 {
        return (0..lanes).try_for_each(f);
    }
    let piece = lanes.div_ceil(piece_count()).max(1);
    let failed = (0..lanes.div_ceil(piece))
        .into_par_iter()
        .with_max_len(1)
        .filter_map(|c| (c * piece..lanes.min((c + 1) * piece)).find_map(|lane| f(lane).err().map(|e| (lane, e))))
        .min_by_key(|(lane, _)| *lane);
    match failed {
        Some((_, e)) => Err(e),
        None => Ok(()),
    }
}

/// As [`for_lanes`], for kernels that keep buffers from lane to lane: `f` gets consecutive ranges that cover all lanes.
///
/// Where the cuts lie depends on the number of threads, so a result must not depend on them.
pub fn for_lane_ranges(
    lanes: usize,
    elements: usize,
    parallel: bool,
    f: impl Fn(Range<usize>) -> Result<()> + Sync,
) -> Result<()> {
    let threads = rayon::current_num_threads();
    if !parallel || elements < PARALLEL_FROM || threads < 2 || lanes < 2 {
        return f(0..lanes);
    }
    let piece = lanes.div_ceil(piece_count()).max(1);
    let failed = (0..lanes.div_ceil(piece))
        .into_par_iter()
        .with_max_len(1)
        .filter_map(|c| f(c * piece..lanes.min((c + 1) * piece)).err().map(|e| (c, e)))
        .min_by_key(|(c, _)| *c);
    failed.map_or(Ok(()), |(_, e)| Err(e))
}
