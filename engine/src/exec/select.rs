//! Selects, shuffles, transposes, searches and gathers on the vector engine.

use super::Cx;
use super::Want::{In, InPlace, Maybe, Out};
use super::activation::{drain_second, epilogue};
use super::fields::own;
use crate::ir::EngineAccumulation;
use crate::ir::opcodes::params;
use crate::world::Draft;
use crate::{Code, Error, Result};
use birsim_kernels::{range, select, sequence, shuffle};

bind! {
    StreamShuffle(shuffle_mask) => stream_shuffle,
    StreamTranspose => stream_transpose,
    Select => select,
    CopyPredicated(own) => copy_predicated,
    RangeSelect(own) => range_select,
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
pub fn copy_predicated(cx: &mut Cx, own: &params::CopyPredicated) -> Result<()> {
    let kind = own.accumulator_cmd;
    let op = own.reduce_op;
    let reverse_pred = own.reverse_pred;
    let mut io = cx.open(&[In(0), In(1), Maybe(2), Out(0)])?;
    let (predicate, src, on_false) = (io.ins.src(0)?, io.ins.input(1)?, io.ins.input_opt(2)?);
    let epilogue = epilogue(io.accumulator, io.profile, kind, op, None);
    let p = select::CopyPredicated { reverse_pred, on_false, epilogue };
    select::copy_predicated(&p, &predicate, &src, &mut io.outs.dst(0)?, io.profile)?;
    drop(io);
    drain_second(cx, kind, false)
}

/// RangeSelect (63).
pub fn range_select(cx: &mut Cx, own: &params::RangeSelect) -> Result<()> {
    let kind = own.reduce_cmd;
    // Without a second output nothing is folded: the command's default would otherwise touch the accumulator.
    let kind = if cx.n_outs() > 1 { kind } else { EngineAccumulation::Idle };
    let op = own.reduce_op;
    let base = own.base;
    let (compare_op0, compare_op1) = (own.compare_op0, own.compare_op1);
    let fill_value = own.fill_value as f32;
    let num_active_channels = own.num_active_channels;
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

fn shuffle_mask(draft: &Draft) -> Result<Box<[u8]>> {
    let entry = |m: &i64| {
        u8::try_from(*m)
            .map_err(|_| Error::new(Code::S008, "a shuffle mask entry is 0..31 or 255").received(m).operand("mask"))
    };
    own::<params::StreamShuffle>(draft)?.mask.iter().map(entry).collect()
}

/// StreamShuffle (39).
#[allow(clippy::borrowed_box)] // The type is the one that `shuffle_mask` makes.
pub fn stream_shuffle(cx: &mut Cx, mask: &Box<[u8]>) -> Result<()> {
    let mut io = cx.open(&[In(0), Out(0)])?;
    shuffle::stream_shuffle(mask, &io.ins.src(0)?, &mut io.outs.dst(0)?)
}

/// StreamTranspose (40).
pub fn stream_transpose(cx: &mut Cx) -> Result<()> {
    let mut io = cx.open(&[In(0), Out(0)])?;
    shuffle::stream_transpose(&io.ins.src(0)?, &mut io.outs.dst(0)?)
}
