//! Splitting a kernel over lanes.

use crate::{Result, parallel as workers};
use std::ops::ControlFlow::{Break, Continue};
use std::ops::Range;

/// Below this many elements a kernel stays on one thread: handing out work costs more than 10 us of arithmetic.
const PARALLEL_FROM: usize = 32 * 1024;

/// Pieces per thread: a thread that comes late still finds some, and one that ends early waits shortly and stays awake.
const PIECES: usize = 4;

/// Pieces that large work is cut into.
pub(crate) fn piece_count() -> usize {
    workers::threads() * PIECES
}

/// The work is worth handing out. Asking for the number of threads starts the pool, so that comes last.
fn worth_it(lanes: usize, elements: usize, parallel: bool) -> bool {
    parallel && elements >= PARALLEL_FROM && lanes > 1 && workers::threads() > 1
}

/// Runs `f` for every lane, in parallel when `parallel` holds and the work is worth it.
///
/// `parallel` must imply that different lanes touch different output bytes. The error of the lowest lane wins, so the
/// outcome does not depend on the number of threads.
pub fn for_lanes(lanes: usize, elements: usize, parallel: bool, f: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
    for_lane_ranges(lanes, elements, parallel, |mut range| range.try_for_each(&f))
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
    if !worth_it(lanes, elements, parallel) {
        return f(0..lanes);
    }
    let piece = lanes.div_ceil(piece_count()).max(1);
    let failed = workers::first_break(lanes.div_ceil(piece), |c| match f(c * piece..lanes.min((c + 1) * piece)) {
        Err(e) => Break(e),
        Ok(()) => Continue(()),
    });
    failed.map_or(Ok(()), Err)
}
