//! The search family of the vector engine, and gathers inside a partition.

use super::Cx;
use crate::Result;
use crate::ir::opcodes::{indirect::field as fi, search::field as f};
use birsim_kernels::{gather, indirect, search};

bind! {
    IndirectCopy => indirect_copy,
    Gather => gather,
    Max => max,
    MaxIndex => max_index,
    MatchReplace => match_replace,
    MaxIndexAndMatchReplace => max_index_and_match_replace,
    NonzeroWithCount => nonzero_with_count,
}

/// Max (88).
pub fn max(cx: &mut Cx) -> Result<()> {
    search::max8(&cx.src(0)?, &cx.dst(0)?, cx.profile())
}

/// MaxIndex (89).
pub fn max_index(cx: &mut Cx) -> Result<()> {
    search::max_index(&cx.src(0)?, &cx.src(1)?, &cx.dst(0)?, cx.profile())
}

/// MatchReplace (90).
pub fn match_replace(cx: &mut Cx) -> Result<()> {
    let imm = cx.float(f::MatchReplace::imm_value)? as f32;
    search::match_replace(imm, &cx.src(0)?, &cx.src(1)?, &cx.dst(0)?, None, cx.profile())
}

/// MaxIndexAndMatchReplace (91).
pub fn max_index_and_match_replace(cx: &mut Cx) -> Result<()> {
    let imm = cx.float(f::MaxIndexAndMatchReplace::imm_value)? as f32;
    let (values, data) = (cx.src(0)?, cx.src(1)?);
    let (dst, indices) = (cx.dst(0)?, cx.dst(1)?);
    search::match_replace(imm, &values, &data, &dst, Some(&indices), cx.profile())
}

/// NonzeroWithCount (104): an extension, the reference skips it.
pub fn nonzero_with_count(cx: &mut Cx) -> Result<()> {
    let offset = if cx.n_ins() > 1 { cx.scalar(1)?.map_or(0, |i| i.as_i32()) } else { 0 };
    let padding = if cx.n_ins() > 2 { cx.scalar(2)?.map_or(-1, |i| i.as_i32()) } else { -1 };
    search::nonzero_with_count(offset, padding, &cx.src(0)?, &cx.dst(0)?)
}

/// Gather (92).
pub fn gather(cx: &mut Cx) -> Result<()> {
    gather::gather(&cx.src(0)?, &cx.src(1)?, &cx.dst(0)?, cx.profile())
}

/// IndirectCopy (26).
pub fn indirect_copy(cx: &mut Cx) -> Result<()> {
    let valid = cx.int(fi::IndirectCopy::num_valid_indices)?.max(0) as u64;
    indirect::indirect_copy(valid, &cx.src(0)?, &cx.src(1)?, &cx.dst(0)?)
}
