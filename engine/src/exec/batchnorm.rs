//! Batch normalisation (34 to 38).

use super::Cx;
use crate::Result;
use crate::ir::opcodes::batchnorm::field as f;
use birsim_kernels::batchnorm::{self as kernel, BnBackprop, BnStats, Gradients};

bind! {
    BNStats => stats,
    BNStatsAggregate => aggregate,
    BNGradients => gradients,
    BNBackprop => backprop,
    BNBackprop2 => backprop2,
}

/// BNStats (34).
pub fn stats(cx: &mut Cx) -> Result<()> {
    let p = BnStats { apply_transpose: cx.flag(f::BNStats::apply_transpose)? };
    kernel::bn_stats(&p, &cx.src(0)?, &cx.dst(0)?, cx.profile())
}

/// BNStatsAggregate (35).
pub fn aggregate(cx: &mut Cx) -> Result<()> {
    kernel::bn_stats_aggregate(&cx.src(0)?, &cx.dst(0)?, cx.profile())
}

/// BNGradients (36).
pub fn gradients(cx: &mut Cx) -> Result<()> {
    let (x, dy, mean, factor) = (cx.src(0)?, cx.src(1)?, cx.src(2)?, cx.src(3)?);
    kernel::bn_gradients(&x, &dy, &mean, &factor, &cx.dst(0)?, cx.profile())
}

/// BNBackprop (37).
pub fn backprop(cx: &mut Cx) -> Result<()> {
    let p = BnBackprop { total_elements: cx.float(f::BNBackprop::total_elements)? as f32 };
    let (x, dy, g, mean) = (cx.src(0)?, cx.src(1)?, cx.src(2)?, cx.src(3)?);
    kernel::bn_backprop(&p, &x, &dy, Gradients::Joint(&g), &mean, &cx.dst(0)?, cx.profile())
}

/// BNBackprop2 (38).
pub fn backprop2(cx: &mut Cx) -> Result<()> {
    let p = BnBackprop { total_elements: cx.float(f::BNBackprop2::total_elements)? as f32 };
    let (x, dy, scale, rest, mean) = (cx.src(0)?, cx.src(1)?, cx.src(2)?, cx.src(3)?, cx.src(4)?);
    kernel::bn_backprop(&p, &x, &dy, Gradients::Split(&scale, &rest), &mean, &cx.dst(0)?, cx.profile())
}
