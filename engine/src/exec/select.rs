//! Selects, shuffles, transposes, searches and gathers on the vector engine.

use super::Cx;
use super::Want::{In, InPlace, Maybe, Out};
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
    let mut io = cx.open(&[InPlace(1), InPlace(2), In(0), Out(0)])?;
    let (on_true, on_false) = (io.ins.apart(1)?, io.ins.apart(2)?);
    let predicate = io.ins.src(0)?;
    select::select(&predicate, on_true.as_ref(), on_false.as_ref(), &mut io.outs.dst(0)?, io.profile)
}

/// CopyPredicated (52).
pub fn copy_predicated(cx: &mut Cx) -> Result<()> {
    let kind =
        cx.named_opt::<EngineAccumulation>(f::CopyPredicated::accumulator_cmd)?.unwrap_or(EngineAccumulation::Idle);
    let op = cx.named_opt::<AluOp>(f::CopyPredicated::reduce_op)?.unwrap_or(AluOp::Max);
    let reverse_pred = cx.flag(f::CopyPredicated::reverse_pred)?;
    let mut io = cx.open(&[In(0), In(1), Maybe(2), Out(0)])?;
    let (predicate, src, on_false) = (io.ins.src(0)?, io.ins.input(1)?, io.ins.input_opt(2)?);
    let epilogue = epilogue(io.accumulator, io.profile, kind, op, None);
    let p = select::CopyPredicated { reverse_pred, on_false, epilogue };
    select::copy_predicated(&p, &predicate, &src, &mut io.outs.dst(0)?, io.profile)?;
    drop(io);
    drain_second(cx, kind, false)
}

/// RangeSelect (63).
pub fn range_select(cx: &mut Cx) -> Result<()> {
    let kind = cx.named_opt::<EngineAccumulation>(f::RangeSelect::reduce_cmd)?.unwrap_or(EngineAccumulation::Idle);
    // Without a second output nothing is folded: the command's default would otherwise touch the accumulator.
    let kind = if cx.n_outs() > 1 { kind } else { EngineAccumulation::Idle };
    let op = cx.named_opt::<AluOp>(f::RangeSelect::reduce_op)?.unwrap_or(AluOp::Max);
    let base = cx.int(f::RangeSelect::base)?;
    let compare = [f::RangeSelect::compare_op0, f::RangeSelect::compare_op1];
    let [compare_op0, compare_op1] = [cx.named::<AluOp>(compare[0])?, cx.named::<AluOp>(compare[1])?];
    let fill_value = cx.float(f::RangeSelect::fill_value)? as f32;
    let num_active_channels = cx.int(f::RangeSelect::num_active_channels)?;
    let mut io = cx.open(&[In(1), In(2), In(0), Out(0)])?;
    let (src, bound0, bound1) = (io.ins.src(0)?, io.ins.input(1)?, io.ins.input(2)?);
    let epilogue = epilogue(io.accumulator, io.profile, kind, op, None);
    let p = range::RangeSelect { base, compare_op0, compare_op1, fill_value, num_active_channels, epilogue };
    range::range_select(&p, &src, &bound0, &bound1, &mut io.outs.dst(0)?, io.profile)?;
    drop(io);
    drain_second(cx, kind, false)
}

/// GetSequenceBounds (64).
pub fn sequence_bounds(cx: &mut Cx) -> Result<()> {
    let mut io = cx.open(&[In(0), Out(0)])?;
    sequence::sequence_bounds(&io.ins.src(0)?, &mut io.outs.dst(0)?, io.profile)
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
    let mut io = cx.open(&[In(0), Out(0)])?;
    shuffle::stream_shuffle(&mask?, &io.ins.src(0)?, &mut io.outs.dst(0)?)
}

/// StreamTranspose (40).
pub fn stream_transpose(cx: &mut Cx) -> Result<()> {
    let mut io = cx.open(&[In(0), Out(0)])?;
    shuffle::stream_transpose(&io.ins.src(0)?, &mut io.outs.dst(0)?)
}
