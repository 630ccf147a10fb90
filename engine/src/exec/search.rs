//! The search family of the vector engine, and gathers inside a partition.

use super::Cx;
use super::Want::{In, Out};
use super::fields::own;
use crate::Result;
use crate::ir::opcodes::params;
use birsim_kernels::{gather, indirect, search};

bind! {
    IndirectCopy(own) => indirect_copy,
    Gather => gather,
    Max => max,
    MaxIndex => max_index,
    MatchReplace(own) => match_replace,
    MaxIndexAndMatchReplace(own) => max_index_and_match_replace,
    NonzeroWithCount => nonzero_with_count,
}

/// Max (88).
pub fn max(cx: &mut Cx) -> Result<()> {
    let mut io = cx.open(&[In(0), Out(0)])?;
    search::max8(&io.ins.src(0)?, &mut io.outs.dst(0)?, io.profile)
}

/// MaxIndex (89).
pub fn max_index(cx: &mut Cx) -> Result<()> {
    let mut io = cx.open(&[In(0), In(1), Out(0)])?;
    search::max_index(&io.ins.src(0)?, &io.ins.src(1)?, &mut io.outs.dst(0)?, io.profile)
}

/// MatchReplace (90).
pub fn match_replace(cx: &mut Cx, own: &params::MatchReplace) -> Result<()> {
    let imm = own.imm_value as f32;
    let mut io = cx.open(&[In(0), In(1), Out(0)])?;
    search::match_replace(imm, &io.ins.src(0)?, &io.ins.src(1)?, &mut io.outs.dst(0)?, None, io.profile)
}

/// MaxIndexAndMatchReplace (91).
pub fn max_index_and_match_replace(cx: &mut Cx, own: &params::MaxIndexAndMatchReplace) -> Result<()> {
    let imm = own.imm_value as f32;
    cx.with_both_outputs(&[In(0), In(1)], |ins, dst, indices, profile| {
        search::match_replace(imm, &ins.src(0)?, &ins.src(1)?, dst, Some(indices), profile)
    })
}

/// NonzeroWithCount (104): an extension, the reference skips it.
pub fn nonzero_with_count(cx: &mut Cx) -> Result<()> {
    let offset = if cx.n_ins() > 1 { cx.scalar(1)?.map_or(0, |i| i.as_i32()) } else { 0 };
    let padding = if cx.n_ins() > 2 { cx.scalar(2)?.map_or(-1, |i| i.as_i32()) } else { -1 };
    let mut io = cx.open(&[In(0), Out(0)])?;
    search::nonzero_with_count(offset, padding, &io.ins.src(0)?, &mut io.outs.dst(0)?)
}

/// Gather (92).
pub fn gather(cx: &mut Cx) -> Result<()> {
    let mut io = cx.open(&[In(0), In(1), Out(0)])?;
    gather::gather(&io.ins.src(0)?, &io.ins.src(1)?, &mut io.outs.dst(0)?, io.profile)
}

/// IndirectCopy (26).
pub fn indirect_copy(cx: &mut Cx, own: &params::IndirectCopy) -> Result<()> {
    let valid = u64::from(own.num_valid_indices);
    let mut io = cx.open(&[In(0), In(1), Out(0)])?;
    indirect::indirect_copy(valid, &io.ins.src(0)?, &io.ins.src(1)?, &mut io.outs.dst(0)?)
}
