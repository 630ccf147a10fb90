//! Selects, shuffles, transposes, searches and gathers on the vector engine.

use super::Cx;
use super::activation::{drain_second, epilogue};
use crate::ir::EngineAccumulation;
use crate::ir::opcodes::{copy::field as fc, select::field as f};
use crate::{Code, Error, Result};
use birsim_kernels::alu::AluOp;
use birsim_kernels::{range, select, sequence, shuffle};

bind! {
    StreamShuffle => stream_shuffle,
    StreamTranspose => stream_transpose,
    Select => select,
    CopyPredicated => copy_predicated,
    RangeSelect => range_select,
    GetSequenceBounds => sequence_bounds,
}

/// Select (51).
pub fn select(cx: &mut Cx) -> Result<()> {
    let (on_true, on_false) = (cx.input(1)?, cx.input(2)?);
    select::select(&cx.src(0)?, &on_true, &on_false, &cx.dst(0)?, cx.profile())
}

/// CopyPredicated (52).
pub fn copy_predicated(cx: &mut Cx) -> Result<()> {
    let kind =
        cx.named_opt::<EngineAccumulation>(f::CopyPredicated::accumulator_cmd)?.unwrap_or(EngineAccumulation::Idle);
    let op = cx.named_opt::<AluOp>(f::CopyPredicated::reduce_op)?.unwrap_or(AluOp::Max);
    let (predicate, src, on_false) = (cx.src(0)?, cx.input(1)?, cx.input_opt(2)?);
    let dst = cx.dst(0)?;
    let p = select::CopyPredicated {
        reverse_pred: cx.flag(f::CopyPredicated::reverse_pred)?,
        on_false,
        epilogue: epilogue(cx, kind, op, None),
    };
    select::copy_predicated(&p, &predicate, &src, &dst, cx.profile())?;
    drain_second(cx, kind, false)
}

/// RangeSelect (63).
pub fn range_select(cx: &mut Cx) -> Result<()> {
    let kind = cx.named_opt::<EngineAccumulation>(f::RangeSelect::reduce_cmd)?.unwrap_or(EngineAccumulation::Idle);
    // Without a second output nothing is folded: the command's default would otherwise touch the accumulator.
    let kind = if cx.n_outs() > 1 { kind } else { EngineAccumulation::Idle };
    let op = cx.named_opt::<AluOp>(f::RangeSelect::reduce_op)?.unwrap_or(AluOp::Max);
    let (bound0, bound1) = (cx.input(1)?, cx.input(2)?);
    let (src, dst) = (cx.src(0)?, cx.dst(0)?);
    let p = range::RangeSelect {
        base: cx.int(f::RangeSelect::base)?,
        compare_op0: cx.named::<AluOp>(f::RangeSelect::compare_op0)?,
        compare_op1: cx.named::<AluOp>(f::RangeSelect::compare_op1)?,
        fill_value: cx.float(f::RangeSelect::fill_value)? as f32,
        num_active_channels: cx.int(f::RangeSelect::num_active_channels)?,
        epilogue: epilogue(cx, kind, op, None),
    };
    range::range_select(&p, &src, &bound0, &bound1, &dst, cx.profile())?;
    drain_second(cx, kind, false)
}

/// GetSequenceBounds (64).
pub fn sequence_bounds(cx: &mut Cx) -> Result<()> {
    sequence::sequence_bounds(&cx.src(0)?, &cx.dst(0)?, cx.profile())
}

/// StreamShuffle (39).
pub fn stream_shuffle(cx: &mut Cx) -> Result<()> {
    let mask: Result<Vec<u8>> = cx
        .ints(fc::StreamShuffle::mask)?
        .into_iter()
        .map(|m| {
            u8::try_from(m)
                .map_err(|_| Error::new(Code::S008, "a shuffle mask entry is 0..31 or 255").received(m).operand("mask"))
        })
        .collect();
    shuffle::stream_shuffle(&mask?, &cx.src(0)?, &cx.dst(0)?)
}

/// StreamTranspose (40).
pub fn stream_transpose(cx: &mut Cx) -> Result<()> {
    shuffle::stream_transpose(&cx.src(0)?, &cx.dst(0)?)
}
