//! The lane loop of the element-wise kernels, and one stage op(value, operand) of it.

use super::normalise::LONG;
use super::{Number, native};
use crate::access::{CHUNK, Dst, Input, Pattern, Source, Src, pieces};
use crate::accumulate::Epilogue;
use crate::alu::Operation;
use crate::cast::check_unpacked;
use crate::{Code, Dtype, Error, Profile, Result};

/// A second operand as a kernel receives it.
#[derive(Clone, Copy)]
pub(crate) enum Second<'a> {
    /// A number, or a tensor with memory of its own.
    Input(Input<'a>),
    /// The elements of the destination, as they are before they are written.
    Same,
}

impl<'a> From<&Source<'a>> for Second<'a> {
    fn from(source: &Source<'a>) -> Self {
        match source {
            Source::Apart(src) => Second::Input(Input::View(*src)),
            Source::Same => Second::Same,
        }
    }
}

impl<'a> Second<'a> {
    /// The tensor, when it has memory of its own.
    pub(super) fn view(&self) -> Option<&Src<'a>> {
        match self {
            Second::Input(input) => input.view(),
            Second::Same => None,
        }
    }

    /// The operand as a tensor; `None` for a number.
    pub(super) fn source(&self) -> Option<Source<'a>> {
        match self {
            Second::Input(input) => input.view().map(|v| Source::Apart(*v)),
            Second::Same => Some(Source::Same),
        }
    }

    /// The same operand; a tensor under another pattern of its bytes.
    pub(super) fn reshaped<'b>(&self, pattern: &'b Pattern) -> Result<Second<'b>>
    where
        'a: 'b,
    {
        match self {
            Second::Input(input) => input.reshaped(pattern).map(Second::Input),
            Second::Same => Ok(Second::Same),
        }
    }
}

/// The second operand of a stage.
pub(super) enum Operand<'a, N> {
    /// One value for everything.
    Scalar(N),
    /// `step` consecutive elements of a lane share one element of the operand; `step` = lane length is a column.
    Spread(Src<'a>, usize),
    /// One element for each element.
    Full(Source<'a>),
}

impl<'a, N: Number> Operand<'a, N> {
    /// Fits an operand to a destination: a number, one element per lane, or a count that divides the lane's.
    pub(super) fn of(input: &Second<'a>, dst: &Dst, name: &str) -> Result<Self> {
        let view = match input {
            Second::Input(Input::Imm(imm)) => {
                return Ok(Operand::Scalar(N::immediate(imm).map_err(|e| e.operand(name))?));
            }
            Second::Same => return Ok(Operand::Full(Source::Same)),
            Second::Input(Input::View(view)) => view,
        };
        check_unpacked(view.dtype()).map_err(|e| e.operand(name))?;
        let (own, all) = (view.lane_len(), dst.lane_len());
        if view.lanes() != dst.lanes() || (all > 0 && (own == 0 || all % own != 0)) {
            return Err(shapes_differ(view, dst).operand(name));
        }
        Ok(if own == all { Operand::Full(Source::Apart(*view)) } else { Operand::Spread(*view, all / own.max(1)) })
    }

    /// Elements `at..` of `lane`, before anything is written there. `scratch` takes those that are not in memory as they are.
    fn ready<'s>(&'s self, dst: &Dst, lane: usize, at: usize, n: usize, scratch: &'s mut [N]) -> Ready<'s, N> {
        match self {
            Operand::Scalar(value) => Ready::Scalar(*value),
            Operand::Spread(view, step) => Ready::Spread(view, *step),
            Operand::Full(source) => {
                if let Some(values) = source.apart().and_then(|v| N::in_place(v, lane, at, n)) {
                    return Ready::Full(values);
                }
                let scratch = &mut scratch[..n];
                N::read(&source.view(dst), lane, at, scratch);
                Ready::Full(scratch)
            }
        }
    }

    /// Every piece of every lane can be used where it is.
    fn always_in_place(&self) -> bool {
        match self {
            Operand::Full(source) => source.apart().is_some_and(N::always_in_place),
            Operand::Scalar(_) | Operand::Spread(..) => true,
        }
    }

    fn is_tensor(&self) -> bool {
        !matches!(self, Operand::Scalar(_))
    }
}

/// A second operand for one piece of a lane.
enum Ready<'s, N> {
    Scalar(N),
    Spread(&'s Src<'s>, usize),
    Full(&'s [N]),
}

/// out = op(in, operand), or op(operand, in) when reversed.
pub(super) struct Stage<'a, N: Number> {
    pub op: N::Op,
    pub reverse: bool,
    pub operand: Operand<'a, N>,
}

impl<N: Number> Stage<'_, N> {
    /// Runs the stage over elements `at..` of `lane`. The input is `first`, or what `work` already holds.
    fn run(&self, operand: &Ready<N>, lane: usize, at: usize, first: Option<&[N]>, work: &mut [N]) {
        let (op, reverse) = (self.op, self.reverse);
        match operand {
            Ready::Scalar(s) => match first {
                Some(a) => op.apply_scalar_into(work, a, *s, reverse),
                None => op.apply_scalar(work, *s, reverse),
            },
            Ready::Spread(view, step) => {
                if let Some(a) = first {
                    work.copy_from_slice(a);
                }
                let mut done = 0;
                while done < work.len() {
                    let k = (at + done) / step;
                    let end = work.len().min((k + 1) * step - at);
                    let mut s = [N::zeroed()];
                    N::read(view, lane, k, &mut s);
                    op.apply_scalar(&mut work[done..end], s[0], reverse);
                    done = end;
                }
            }
            Ready::Full(b) => match (first, reverse) {
                (Some(a), false) => op.apply_into(work, a, b),
                (Some(a), true) => op.apply_into(work, b, a),
                (None, false) => op.apply(work, b),
                (None, true) => op.apply_reversed(work, b),
            },
        }
    }
}

/// Lanes up to this length get buffers of this length.
const SMALL: usize = 16;

/// Runs the stages, then `finish`, over every piece of every lane and stores the result.
///
/// Contiguous memory of the working type is used in place, everything else goes through a buffer: the values are the same.
pub(super) fn map_lanes<N: Number>(
    src: &Source,
    stages: &[Option<Stage<N>>; 2],
    dst: &mut Dst,
    epilogue: Option<&Epilogue>,
    profile: &Profile,
    finish: impl Fn(&mut [N]) + Sync,
) -> Result<()> {
    let view = src.view(dst);
    if view.lanes() != dst.lanes() || view.lane_len() != dst.lane_len() {
        return Err(shapes_differ(&view, dst));
    }
    match epilogue {
        Some(e) => e.check(dst.lanes())?,
        None => {
            if let Some(done) = native::run(src, stages, dst, &finish) {
                return done;
            }
        }
    }
    let view = src.view(dst);
    // The destination is the work area when it holds plain working values (float32r is rounded on the way out).
    let direct = N::is_native(dst.dtype()) && dst.dtype() != Dtype::Float32r;
    let operands = || stages.iter().flatten().map(|s| &s.operand);
    // When no operand needs a buffer, longer pieces cost fewer calls.
    let wide = direct
        && N::always_in_place(&dst.as_src())
        && N::always_in_place(&view)
        && operands().all(Operand::always_in_place);
    // A second stage should find the values of the first one in the cache.
    let tensor = |k: usize| stages[k].as_ref().is_some_and(|s: &Stage<N>| s.operand.is_tensor());
    let single = tensor(0) && !tensor(1);
    let full = [0, 1].map(|k| matches!(&stages[k], Some(Stage { operand: Operand::Full(_), .. })));
    let piece = match (wide, single) {
        (true, true) => LONG,
        (true, false) => 8 * CHUNK,
        (false, _) => CHUNK,
    };
    // Integer results are folded as they are.
    let folded = if N::is_native(Dtype::Float32) { dst.dtype() } else { Dtype::Float32 };
    // Clearing two full buffers would cost more than the work of a tiny instruction.
    macro_rules! run {
        ($size:expr) => {{
            // Two full operands share the scratch buffer.
            let (first, piece) = match full {
                [true, true] if !wide => ($size / 2, $size / 2),
                [true, _] => ($size, piece),
                [false, _] => (0, piece),
            };
            dst.for_lane_ranges(dst.len(), |dst, range| {
                let (mut buf, mut scratch) = ([N::zeroed(); $size], [N::zeroed(); $size]);
                for lane in range {
                    let mut fold = epilogue.and_then(|e| e.lane(lane, folded));
                    pieces(dst.lane_len(), piece, |at, n| {
                        let (a, b) = scratch.split_at_mut(first);
                        let [one, two] = stages;
                        let operands = [
                            one.as_ref().map(|s| s.operand.ready(dst, lane, at, n, a)),
                            two.as_ref().map(|s| s.operand.ready(dst, lane, at, n, b)),
                        ];
                        let input = src.apart().and_then(|v| N::in_place(v, lane, at, n));
                        let mut run = |mut input: Option<&[N]>, work: &mut [N]| {
                            for (stage, operand) in stages.iter().zip(&operands) {
                                if let (Some(stage), Some(operand)) = (stage, operand) {
                                    stage.run(operand, lane, at, input.take(), work);
                                }
                            }
                            // Both stages skipped: a plain conversion.
                            if let Some(a) = input {
                                work.copy_from_slice(a);
                            }
                            finish(work);
                            if let Some(fold) = &mut fold {
                                N::fold_into(fold, work);
                            }
                        };
                        match if direct { N::in_place_mut(dst, lane, at, n) } else { None } {
                            Some(work) => {
                                // In place, the values are where they are needed.
                                if let (Source::Apart(v), None) = (src, input) {
                                    N::read(v, lane, at, work);
                                }
                                run(input, work);
                            }
                            None => {
                                let work = &mut buf[..n];
                                if input.is_none() {
                                    N::read(&src.view(dst), lane, at, work);
                                }
                                run(input, work);
                                N::write(dst, lane, at, work, profile.fp8());
                            }
                        }
                        Ok(())
                    })?;
                    if let Some(fold) = fold {
                        fold.finish();
                    }
                }
                Ok(())
            })
        }};
    }
    if dst.lane_len() <= SMALL { run!(SMALL) } else { run!(CHUNK) }
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
