//! Batch normalisation (34 to 38).

use super::Cx;
use super::Want::{In, Out};
use super::fields::own;
use crate::Result;
use crate::ir::opcodes::params;
use birsim_kernels::batchnorm::{self as kernel, BnBackprop, BnStats, Gradients};

bind! {
    BNStats(own) => stats,
    BNStatsAggregate => aggregate,
    BNGradients => gradients,
    BNBackprop(own) => backprop,
    BNBackprop2(own) => backprop2,
}

/// BNStats (34).
pub fn stats(cx: &mut Cx, own: &params::BNStats) -> Result<()> {
    let p = BnStats { apply_transpose: own.apply_transpose };
    let mut io = cx.open(&[In(0), Out(0)])?;
    kernel::bn_stats(&p, &io.ins.src(0)?, &mut io.outs.dst(0)?, io.profile)
}

/// BNStatsAggregate (35).
pub fn aggregate(cx: &mut Cx) -> Result<()> {
    let mut io = cx.open(&[In(0), Out(0)])?;
    kernel::bn_stats_aggregate(&io.ins.src(0)?, &mut io.outs.dst(0)?, io.profile)
}

/// BNGradients (36).
pub fn gradients(cx: &mut Cx) -> Result<()> {
    let mut io = cx.open(&[In(0), In(1), In(2), In(3), Out(0)])?;
    let (x, dy, mean, factor) = (io.ins.src(0)?, io.ins.src(1)?, io.ins.src(2)?, io.ins.src(3)?);
    kernel::bn_gradients(&x, &dy, &mean, &factor, &mut io.outs.dst(0)?, io.profile)
}

/// BNBackprop (37).
pub fn backprop(cx: &mut Cx, own: &params::BNBackprop) -> Result<()> {
    let p = BnBackprop { total_elements: own.total_elements as f32 };
    let mut io = cx.open(&[In(0), In(1), In(2), In(3), Out(0)])?;
    let (x, dy, g, mean) = (io.ins.src(0)?, io.ins.src(1)?, io.ins.src(2)?, io.ins.src(3)?);
    kernel::bn_backprop(&p, &x, &dy, Gradients::Joint(&g), &mean, &mut io.outs.dst(0)?, io.profile)
}

/// BNBackprop2 (38).
pub fn backprop2(cx: &mut Cx, own: &params::BNBackprop2) -> Result<()> {
    let p = BnBackprop { total_elements: own.total_elements as f32 };
    let mut io = cx.open(&[In(0), In(1), In(2), In(3), In(4), Out(0)])?;
    let (x, dy, mean) = (io.ins.src(0)?, io.ins.src(1)?, io.ins.src(4)?);
    let (scale, rest) = (io.ins.src(2)?, io.ins.src(3)?);
    kernel::bn_backprop(&p, &x, &dy, Gradients::Split(&scale, &rest), &mean, &mut io.outs.dst(0)?, io.profile)
}
