//! Operands whose memory holds working values as they are: the loops of the operations walk their lanes, without a buffer
//! and without a call for each lane.

use super::Number;
use super::lane_loop::{Operand, Stage};
use super::normalise::LONG;
use crate::access::{CHUNK, Dst, Rows, RowsMut, Source, Src, pieces};
use crate::alu::Operation;
use crate::{Code, Dtype, Error, Result};
use std::ops::Range;

/// Elements after which the second stage has its turn: what the first one wrote is still in the cache.
const CACHED: usize = 8 * CHUNK;

/// Lanes that are walked at once: as many as a column of scalars has room for.
const COLUMN: usize = 128;

/// Runs the stages, then `finish`, over all elements. `None` when an operand has to be converted, gathered or kept, which
/// the general loop does.
pub(super) fn run<N: Number>(
    src: &Source,
    stages: &[Option<Stage<N>>; 2],
    dst: &mut Dst,
    finish: &(impl Fn(&mut [N]) + Sync),
) -> Option<Result<()>> {
    if !fits(src, stages, dst) {
        return None;
    }
    let len = dst.lane_len();
    let piece = if stages.iter().all(Option::is_some) { CACHED } else { LONG };
    let count = (piece / len.max(1)).clamp(1, COLUMN);
    Some(dst.for_lane_ranges(dst.len(), |dst, range| {
        let mut columns = [[N::zeroed(); COLUMN]; 2];
        for first in range.clone().step_by(count) {
            let lanes = first..range.end.min(first + count);
            for (stage, column) in stages.iter().zip(&mut columns) {
                if let Some(Stage { operand: Operand::Spread(view, _), .. }) = stage {
                    for (lane, value) in lanes.clone().zip(column) {
                        N::read(view, lane, 0, std::slice::from_mut(value));
                    }
                }
            }
            pieces(len, piece, |at, n| {
                let place = Place { lanes: lanes.clone(), at, n };
                let mut out = place.of_mut(dst)?;
                let mut input = src.apart().map(|v| place.of(v)).transpose()?;
                for (stage, column) in stages.iter().zip(&columns) {
                    if let Some(stage) = stage {
                        stage_rows(stage, out.reborrow(), input.take(), column, &place)?;
                    }
                }
                // Both stages skipped: a plain copy.
                if let Some(input) = input {
                    out.reborrow().zip(input).for_each(|(o, i)| o.copy_from_slice(i));
                }
                out.for_each(finish);
                Ok(())
            })?;
        }
        Ok(())
    }))
}

/// Every operand is of the working type, aligned, and contiguous in each lane.
fn fits<N: Number>(src: &Source, stages: &[Option<Stage<N>>; 2], dst: &mut Dst) -> bool {
    let (lanes, len) = (dst.lanes(), dst.lane_len());
    let rows = |v: &Src| N::is_native(v.dtype()) && v.lanes_as::<N>(0..lanes, 0, len).is_some();
    // float32r is rounded on the way out.
    let plain = N::is_native(dst.dtype()) && dst.dtype() != Dtype::Float32r;
    if !plain || dst.lanes_as_mut::<N>(0..lanes, 0, len).is_none() || !src.apart().is_none_or(rows) {
        return false;
    }
    stages.iter().enumerate().all(|(k, stage)| match stage.as_ref().map(|s| &s.operand) {
        None | Some(Operand::Scalar(_)) => true,
        Some(Operand::Spread(_, step)) => *step == len,
        Some(Operand::Full(Source::Apart(v))) => rows(v),
        // The operand is the destination itself: the first stage may read it, if its other operand has memory of its own.
        Some(Operand::Full(Source::Same)) => src.apart().is_some() && (k == 0 || stages[0].is_none()),
    })
}

/// Some elements of some lanes.
struct Place {
    lanes: Range<usize>,
    at: usize,
    n: usize,
}

impl Place {
    fn of<'a, N: Number>(&self, view: &Src<'a>) -> Result<Rows<'a, N>> {
        view.lanes_as(self.lanes.clone(), self.at, self.n).ok_or_else(lost)
    }

    fn of_mut<'a, N: Number>(&self, dst: &'a mut Dst) -> Result<RowsMut<'a, N>> {
        dst.lanes_as_mut(self.lanes.clone(), self.at, self.n).ok_or_else(lost)
    }
}

#[cold]
fn lost() -> Error {
    Error::new(Code::B001, "rows of an operand that were checked are gone")
}

/// One stage over rows. The input is `first`, or what `out` already holds.
fn stage_rows<N: Number>(
    stage: &Stage<N>,
    out: RowsMut<N>,
    first: Option<Rows<N>>,
    column: &[N; COLUMN],
    place: &Place,
) -> Result<()> {
    let (op, reverse) = (stage.op, stage.reverse);
    let scale = |out: RowsMut<N>, first: Option<Rows<N>>, s: Rows<N>| match first {
        Some(a) => op.scale_rows_into(out, a, s, reverse),
        None => op.scale_rows(out, s, reverse),
    };
    match &stage.operand {
        Operand::Scalar(s) => scale(out, first, Rows::repeat(s)),
        Operand::Spread(..) => scale(out, first, Rows::each(column)),
        Operand::Full(Source::Apart(v)) => match (first, reverse) {
            (Some(a), false) => op.apply_rows_into(out, a, place.of(v)?),
            (Some(a), true) => op.apply_rows_into(out, place.of(v)?, a),
            (None, false) => op.apply_rows(out, place.of(v)?),
            (None, true) => op.apply_rows_reversed(out, place.of(v)?),
        },
        Operand::Full(Source::Same) => match (first, reverse) {
            (Some(a), false) => op.apply_rows_reversed(out, a),
            (Some(a), true) => op.apply_rows(out, a),
            (None, _) => return Err(lost()),
        },
    }
    Ok(())
}
