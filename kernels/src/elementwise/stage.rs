//! The lane loop of the element-wise kernels, and one stage op(value, operand) of it.

use super::Number;
use crate::access::{CHUNK, Dst, Input, Src, for_lane_ranges, piece_count, pieces};
use crate::accumulate::Epilogue;
use crate::cast::check_unpacked;
use crate::{Code, Dtype, Error, Profile, Result};

/// The second operand of a stage.
pub(super) enum Operand<'a, N> {
    /// One value for everything.
    Scalar(N),
    /// `step` consecutive elements of a lane share one element of the operand; `step` = lane length is a column.
    Spread(&'a Src<'a>, usize),
    /// One element for each element.
    Full(&'a Src<'a>),
}

impl<'a, N: Number> Operand<'a, N> {
    /// Fits an operand to a destination: a number, one element per lane, or a count that divides the lane's.
    pub(super) fn of(input: &'a Input<'a>, dst: &Dst, name: &str) -> Result<Self> {
        let view = match input {
            Input::Imm(imm) => return Ok(Operand::Scalar(N::immediate(imm).map_err(|e| e.operand(name))?)),
            Input::View(view) => view,
        };
        check_unpacked(view.dtype()).map_err(|e| e.operand(name))?;
        let (own, all) = (view.lane_len(), dst.lane_len());
        if view.lanes() != dst.lanes() || (all > 0 && (own == 0 || all % own != 0)) {
            return Err(shapes_differ(view, dst).operand(name));
        }
        Ok(if own == all { Operand::Full(view) } else { Operand::Spread(view, all / own.max(1)) })
    }
}

impl<'a, N> Operand<'a, N> {
    /// The memory the operand is read from.
    pub(super) fn view(&self) -> Option<&'a Src<'a>> {
        match self {
            Operand::Scalar(_) => None,
            Operand::Spread(view, _) | Operand::Full(view) => Some(view),
        }
    }
}

/// out = op(in, operand), or op(operand, in) when reversed.
pub(super) struct Stage<'a, N: Number> {
    pub op: N::Op,
    pub reverse: bool,
    pub operand: Operand<'a, N>,
}

impl<N: Number> Stage<'_, N> {
    /// Runs the stage over elements `at..` of `lane`. The input is `first`, or what `work` already holds.
    pub(super) fn run(&self, lane: usize, at: usize, first: Option<&[N]>, work: &mut [N], scratch: &mut [N]) {
        let (op, reverse) = (self.op, self.reverse);
        match self.operand {
            Operand::Scalar(s) => match first {
                Some(a) => N::apply_scalar_into(op, work, a, s, reverse),
                None => N::apply_scalar(op, work, s, reverse),
            },
            Operand::Spread(view, step) => {
                if let Some(a) = first {
                    work.copy_from_slice(a);
                }
                let mut done = 0;
                while done < work.len() {
                    let k = (at + done) / step;
                    let end = work.len().min((k + 1) * step - at);
                    let mut s = [N::zeroed()];
                    N::read(view, lane, k, &mut s);
                    N::apply_scalar(op, &mut work[done..end], s[0], reverse);
                    done = end;
                }
            }
            Operand::Full(view) => {
                let b = match N::in_place(view, lane, at, work.len()) {
                    Some(b) => b,
                    None => {
                        let scratch = &mut scratch[..work.len()];
                        N::read(view, lane, at, scratch);
                        scratch
                    }
                };
                match (first, reverse) {
                    (Some(a), false) => N::apply_into(op, work, a, b),
                    (Some(a), true) => N::apply_into(op, work, b, a),
                    (None, false) => N::apply(op, work, b),
                    (None, true) => N::apply_reversed(op, work, b),
                }
            }
        }
    }
}

/// Lanes up to this length get buffers of this length.
const SMALL: usize = 16;

/// Runs `body(lane, start, input, work, scratch)` over every piece of every lane and stores what it leaves in `work`.
///
/// `input` is the piece of `src`; when absent, `work` holds it already. Contiguous memory of the working type is used in
/// place, everything else goes through a buffer: the values are the same. `others` are the operands that `body` reads.
pub(super) fn map_lanes<N: Number>(
    src: &Src,
    others: [Option<&Src>; 2],
    dst: &Dst,
    epilogue: Option<&Epilogue>,
    profile: &Profile,
    body: impl Fn(usize, usize, Option<&[N]>, &mut [N], &mut [N]) + Sync,
) -> Result<()> {
    if src.lanes() != dst.lanes() || src.lane_len() != dst.lane_len() {
        return Err(shapes_differ(src, dst));
    }
    if let Some(e) = epilogue {
        e.check(dst.lanes())?;
    }
    let in_place = dst.starts_at(src);
    // The destination is the work area when it holds plain working values (float32r is rounded on the way out) and
    // nothing else reads it meanwhile.
    let direct = N::is_native(dst.dtype())
        && dst.dtype() != Dtype::Float32r
        && others.iter().flatten().all(|o| !dst.starts_at(o))
        && (!in_place || N::is_native(src.dtype()));
    // When no operand needs a buffer, longer pieces cost fewer calls.
    let views = others.iter().flatten().filter(|o| o.lane_len() == dst.lane_len());
    let wide = direct
        && N::always_in_place(&dst.as_src())
        && N::always_in_place(src)
        && views.clone().all(|o| N::always_in_place(o));
    // A second stage should find the values of the first one in the cache.
    let single = others[0].is_some() && others[1].is_none();
    let piece = match wide {
        true if single => LONG,
        true => 8 * CHUNK,
        false => CHUNK,
    };
    // Integer results are folded as they are.
    let folded = if N::is_native(Dtype::Float32) { dst.dtype() } else { Dtype::Float32 };
    // Clearing two full buffers would cost more than the work of a tiny instruction.
    macro_rules! run {
        ($size:expr) => {
    for_lane_ranges(dst.lanes(), dst.len(), dst.pattern().lanes_disjoint(), |range| {
        let (mut buf, mut scratch) = ([N::zeroed(); $size], [N::zeroed(); $size]);
        for lane in range {
            let mut fold = epilogue.and_then(|e| e.lane(lane, folded));
            pieces(dst.lane_len(), piece, |at, n| {
                // SAFETY: operands are disjoint from the destination or identical to it element by element (promised in
                // `Src::from_raw`). `direct` excludes identical ones that would be read, and an identical `src` is only
                // reached through this slice.
                let out = if direct { unsafe { N::in_place_mut(dst, lane, at, n) } } else { None };
                let stored = out.is_some();
                let work = match out {
                    Some(out) => out,
                    None => &mut buf[..n],
                };
                let input = if stored && in_place { None } else { N::in_place(src, lane, at, n) };
                if input.is_none() && !(stored && in_place) {
                    N::read(src, lane, at, work);
                }
                body(lane, at, input, work, &mut scratch);
                if let Some(fold) = &mut fold {
                    N::fold_into(fold, work);
                }
                if !stored {
                    N::write(dst, lane, at, &buf[..n], profile.fp8());
                }
                Ok(())
            })?;
            if let Some(fold) = fold {
                fold.finish();
            }
        }
        Ok(())
    })
        };
    }
    if dst.lane_len() <= SMALL { run!(SMALL) } else { run!(CHUNK) }
}

/// Short lanes without a fold run faster as one: the order of the elements is the same.
pub(super) fn merges(src: &Src, dst: &Dst, epilogue: Option<&Epilogue>) -> bool {
    let same = src.lanes() == dst.lanes() && src.lane_len() == dst.lane_len();
    same && epilogue.is_none() && dst.lanes() > 1 && dst.lane_len() <= 16 && dst.len() <= 16 * CHUNK
}

/// Elements of a lane from which on the cost of starting one does not show.
const LONG: usize = 64 * CHUNK;

/// Dense operands without a fold as fewer, longer lanes: the order of the elements is the same.
pub(super) fn long_lanes<'a>(
    in0: &Src<'a>,
    in1: &Src<'a>,
    dst: &Dst<'a>,
    epilogue: Option<&Epilogue>,
) -> Option<(Src<'a>, Src<'a>, Dst<'a>)> {
    if epilogue.is_some() || in0.lanes() != dst.lanes() || in0.lane_len() != dst.lane_len() {
        return None;
    }
    let lanes = piece_count().max(16);
    let to = dst.pattern().long_lanes(lanes, LONG)?;
    let (a, b) = (in0.pattern().long_lanes(lanes, LONG)?, in1.pattern().long_lanes(lanes, LONG)?);
    Some((in0.reshaped(a).ok()?, in1.reshaped(b).ok()?, dst.reshaped(to).ok()?))
}

#[cold]
pub(super) fn shapes_differ(src: &Src, dst: &Dst) -> Error {
    Error::new(Code::S002, "operands of an element-wise instruction must have equal partition and element counts")
        .received(format!(
            "{} partitions of {} elements against {} of {}",
            src.lanes(),
            src.lane_len(),
            dst.lanes(),
            dst.lane_len()
        ))
}
