//! Memset, Iota, selects by position, and GetSequenceBounds.

use super::Cx;
use super::Want::{In, Out};
use crate::ir::opcodes::{copy::field as fc, select::field as f};
use crate::ir::{Engine, MemsetMode, Value};
use crate::{Code, Error, Result};
use arrayvec::ArrayVec;
use birsim_kernels::alu::AluOp;
use birsim_kernels::profile::ChannelBase;
use birsim_kernels::{fill, iota, rng};

bind! {
    Memset => memset,
    Iota => iota,
    TensorScalarAffineSelect => affine_select,
}

/// Memset (10).
pub fn memset(cx: &mut Cx) -> Result<()> {
    match cx.named::<MemsetMode>(fc::Memset::mode)? {
        MemsetMode::Const => {
            let bits = cx.int(fc::Memset::constant)? as u64;
            let mut io = cx.open(&[Out(0)])?;
            fill::memset_const(bits, &mut io.outs.dst(0)?)
        }
        MemsetMode::Random if cx.inst.engine == Engine::Pool => {
            let (first, engine) = (cx.first_partition(0)?, cx.engine());
            let mut io = cx.open(&[Out(0)])?;
            let mut dst = io.outs.dst(0)?;
            rng::memset_random_pool(io.rngs[engine].0.gen1(first, dst.lanes())?, &mut dst)
        }
        MemsetMode::Random => {
            let mut host = cx.take_host_rng();
            let done = cx
                .open(&[Out(0)])
                .and_then(|mut io| rng::memset_random_host(&mut host, &mut io.outs.dst(0)?, io.profile));
            cx.put_host_rng(host);
            done
        }
    }
}

fn pattern(cx: &Cx, field: usize) -> Result<ArrayVec<(i64, u32), 8>> {
    let mut out = ArrayVec::new();
    let Some(Value::Pairs(pairs)) = cx.cold(field) else { return Ok(out) };
    for (step, num) in pairs {
        let num = u32::try_from(*num)
            .map_err(|_| Error::new(Code::J008, "a count of the pattern is out of range").received(num))?;
        out.try_push((*step, num))
            .map_err(|_| Error::new(Code::J008, "a pattern has at most eight pairs").received(pairs.len()))?;
    }
    Ok(out)
}

/// The base of an affine pattern; its partition term counts from the pattern's first partition (ruling D24), or from the
/// machine's.
fn base(cx: &Cx, base: i64, channel_multiplier: i64) -> Result<i64> {
    Ok(match cx.profile().channel_base {
        ChannelBase::Pattern => base,
        ChannelBase::Machine => base.wrapping_add(channel_multiplier.wrapping_mul(cx.first_partition(0)? as i64)),
    })
}

/// Iota (61).
pub fn iota(cx: &mut Cx) -> Result<()> {
    let pattern = pattern(cx, f::Iota::pattern)?;
    let p = iota::Affine {
        base: base(cx, cx.int(f::Iota::base)?, cx.int(f::Iota::channel_multiplier)?)?,
        pattern: &pattern,
        channel_multiplier: cx.int(f::Iota::channel_multiplier)?,
    };
    let mut io = cx.open(&[Out(0)])?;
    iota::iota(&p, &mut io.outs.dst(0)?, io.profile)
}

/// TensorScalarAffineSelect (62).
pub fn affine_select(cx: &mut Cx) -> Result<()> {
    let pattern = pattern(cx, f::TensorScalarAffineSelect::pattern)?;
    let p = iota::AffineSelect {
        value: iota::Affine {
            base: base(
                cx,
                cx.int(f::TensorScalarAffineSelect::base)?,
                cx.int(f::TensorScalarAffineSelect::channel_multiplier)?,
            )?,
            pattern: &pattern,
            channel_multiplier: cx.int(f::TensorScalarAffineSelect::channel_multiplier)?,
        },
        compare_op: cx.named::<AluOp>(f::TensorScalarAffineSelect::compare_op)?,
        fill_value: cx.float(f::TensorScalarAffineSelect::fill_value)? as f32,
    };
    let mut io = cx.open(&[In(0), Out(0)])?;
    iota::affine_select(&p, &io.ins.src(0)?, &mut io.outs.dst(0)?, io.profile)
}
