//! Fewer and longer lanes for the same elements in the same order, decided once before a kernel runs.
//!
//! Starting a lane costs more than computing a few elements. What a kernel computes does not depend on where lanes begin,
//! unless something is folded or differs from lane to lane.

use super::lane_loop::Second;
use crate::Result;
use crate::access::{CHUNK, Dst, Pattern, Source, piece_count};
use crate::accumulate::Epilogue;

/// Lanes up to this length are joined even when their elements have to be gathered for it.
const SHORT: usize = 16;

/// Below this number of elements one thread does everything, so one lane is enough.
const ONE_LANE: usize = 16 * CHUNK;

/// Elements of a lane from which on the cost of starting one does not show.
pub(super) const LONG: usize = 64 * CHUNK;

/// How the lanes of all operands are joined.
#[derive(Clone, Copy)]
enum Join {
    /// Into one.
    All,
    /// Into at least so many of up to [`LONG`] elements, so that threads find work.
    Some(usize),
}

impl Join {
    /// The choice for operands that have one element for each element of the destination.
    fn of(operands: &[&Pattern], dst: &Pattern) -> Option<Join> {
        let (lanes, len) = (dst.lanes(), dst.lane_len());
        let alike = operands.iter().all(|p| p.lanes() == lanes && p.lane_len() == len);
        if lanes < 2 || len == 0 || !alike {
            return None;
        }
        let all = |f: fn(&Pattern) -> bool| f(dst) && operands.iter().all(|p| f(p));
        let dense = all(|p| p.is_contiguous() && p.pairs()[0].stride == (p.lane_len() * p.dtype().size()) as i64);
        // The loops of the operations walk such lanes by themselves, at a cost of a few cycles each.
        let walked = all(|p| p.is_contiguous() && p.dtype().size() >= 4);
        if dst.len() <= ONE_LANE && (dense || len <= SHORT && !walked) {
            return Some(Join::All);
        }
        // The number of threads is asked for last, because asking starts the thread pool.
        dense.then(|| Join::Some(piece_count().max(16)))
    }

    fn apply(self, p: &Pattern) -> Option<Pattern> {
        match self {
            Join::All => Some(p.flat()),
            Join::Some(lanes) => p.long_lanes(lanes, LONG),
        }
    }
}

/// Calls `f` once, with the operands in the form that is fastest to walk.
pub(crate) fn normalise(
    src: &Source,
    seconds: [Option<Second>; 2],
    dst: &mut Dst,
    epilogue: Option<&Epilogue>,
    f: impl FnOnce(&Source, [Option<Second>; 2], &mut Dst) -> Result<()>,
) -> Result<()> {
    let tensors = [src.apart(), seconds[0].as_ref().and_then(Second::view), seconds[1].as_ref().and_then(Second::view)];
    let patterns: arrayvec::ArrayVec<&Pattern, 3> = tensors.iter().flatten().map(|v| v.pattern()).collect();
    let join = if epilogue.is_none() { Join::of(&patterns, dst.pattern()) } else { None };
    let joined = |p: &Pattern| join.and_then(|join| join.apply(p));
    let Some(to) = joined(dst.pattern()) else { return f(src, seconds, dst) };
    // Where the destination can be joined, so can every dense operand of its shape.
    let from = tensors.map(|t| t.and_then(|v| joined(v.pattern())));
    if from.iter().zip(&tensors).any(|(from, tensor)| from.is_none() && tensor.is_some()) {
        return f(src, seconds, dst);
    }
    let [first, others @ ..] = &from;
    let src = match first {
        Some(pattern) => src.reshaped(pattern)?,
        None => *src,
    };
    let second = |k: usize| -> Result<Option<Second>> {
        match (&seconds[k], &others[k]) {
            (Some(second), Some(pattern)) => second.reshaped(pattern).map(Some),
            (second, _) => Ok(*second),
        }
    };
    f(&src, [second(0)?, second(1)?], &mut dst.reshaped(&to)?)
}
