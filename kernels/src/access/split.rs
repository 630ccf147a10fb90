//! Splitting a kernel over lanes: every thread owns the part of the destination that it writes.

use super::Dst;
use crate::{Result, halt, parallel as workers, rehearsal};
use std::ops::ControlFlow::{Break, Continue};
use std::ops::Range;

/// Below this many elements a kernel stays on one thread: handing out work costs more than 10 us of arithmetic.
const PARALLEL_FROM: usize = 32 * 1024;

/// Pieces per thread. With several, a thread that starts late still finds work, and one that finishes early waits only
/// briefly.
const PIECES: usize = 4;

/// Elements between two checks whether the run should stop: well below 100 ms of the slowest arithmetic.
const BOUND: usize = 1 << 18;

/// Calls `f` for consecutive ranges of bounded work that cover `lanes`.
fn bounded(lanes: Range<usize>, per_lane: usize, mut f: impl FnMut(Range<usize>) -> Result<()>) -> Result<()> {
    let step = (BOUND / per_lane.max(1)).max(1);
    if lanes.len() <= step {
        return f(lanes);
    }
    let mut at = lanes.start;
    while at < lanes.end {
        halt::check()?;
        let end = lanes.end.min(at.saturating_add(step));
        f(at..end)?;
        at = end;
    }
    Ok(())
}

/// Pieces that large work is cut into.
pub(crate) fn piece_count() -> usize {
    workers::threads() * PIECES
}

/// Runs `f(part, units)` for consecutive ranges that cover `units`, in parallel when `splits` holds and the work is worth
/// it. `cut(whole, unit)` gives the part before a unit and the rest.
///
/// Where the pieces begin depends on the number of threads, so no result may depend on it. The error of the lowest unit
/// wins for the same reason.
pub(crate) fn for_pieces<S: Send>(
    mut whole: S,
    units: usize,
    elements: usize,
    splits: bool,
    cut: impl Fn(S, usize) -> (S, S),
    f: impl Fn(&mut S, Range<usize>) -> Result<()> + Sync,
) -> Result<()> {
    if rehearsal::is_on() {
        return Ok(());
    }
    let per_unit = elements / units.max(1);
    // The number of threads is asked for last, because asking starts the thread pool.
    if !splits || elements < PARALLEL_FROM || units < 2 || workers::threads() < 2 {
        return bounded(0..units, per_unit, |units| f(&mut whole, units));
    }
    let piece = units.div_ceil(piece_count()).max(1);
    let mut parts = Vec::with_capacity(units.div_ceil(piece));
    let mut at = 0;
    while units - at > piece {
        let (part, rest) = cut(whole, at + piece);
        parts.push((part, at..at + piece));
        (whole, at) = (rest, at + piece);
    }
    parts.push((whole, at..units));
    let failed = workers::first_break_of(parts, |(mut part, units)| {
        match bounded(units, per_unit, |units| f(&mut part, units)) {
            Err(e) => Break(e),
            Ok(()) => Continue(()),
        }
    });
    failed.map_or(Ok(()), Err)
}

impl Dst<'_> {
    /// Runs `f(part, lane)` for every lane, in parallel when lanes do not overlap and `elements` are worth it.
    pub fn for_lanes(&mut self, elements: usize, f: impl Fn(&mut Dst, usize) -> Result<()> + Sync) -> Result<()> {
        self.for_lane_ranges(elements, |part, mut lanes| lanes.try_for_each(|lane| f(part, lane)))
    }

    /// As [`Dst::for_lanes`], for kernels that keep buffers from lane to lane: consecutive ranges that cover all lanes.
    pub fn for_lane_ranges(
        &mut self,
        elements: usize,
        f: impl Fn(&mut Dst, Range<usize>) -> Result<()> + Sync,
    ) -> Result<()> {
        self.for_lane_groups(1, elements, f)
    }

    /// As [`Dst::for_lane_ranges`] over groups of `size` lanes, which stay together; the last one may be shorter.
    pub fn for_lane_groups(
        &mut self,
        size: usize,
        elements: usize,
        f: impl Fn(&mut Dst, Range<usize>) -> Result<()> + Sync,
    ) -> Result<()> {
        let (groups, splits) =
            (self.lanes().div_ceil(size), elements >= PARALLEL_FROM && self.pattern().lanes_disjoint());
        for_pieces(self.reborrow(), groups, elements, splits, |whole, group| whole.split_at(group * size), f)
    }
}
