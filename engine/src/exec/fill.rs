//! Memset, Iota, selects by position, and GetSequenceBounds.

use super::Cx;
use super::Want::{In, Out};
use super::fields::own;
use crate::ir::opcodes::params;
use crate::ir::{Engine, MemsetMode};
use crate::world::Draft;
use crate::{Code, Error, Result};
use arrayvec::ArrayVec;
use birsim_kernels::alu::AluOp;
use birsim_kernels::profile::ChannelBase;
use birsim_kernels::{fill, iota, rng};

bind! {
    Memset(own) => memset,
    Iota(prepare_iota) => iota,
    TensorScalarAffineSelect(prepare_affine_select) => affine_select,
}

/// Memset (10).
pub fn memset(cx: &mut Cx, own: &params::Memset) -> Result<()> {
    match own.mode {
        MemsetMode::Const => {
            let bits = own.constant as u64;
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

fn pattern(pairs: &[(i64, i64)]) -> Result<ArrayVec<(i64, u32), 8>> {
    let mut out = ArrayVec::new();
    for (step, num) in pairs {
        let num = u32::try_from(*num)
            .map_err(|_| Error::new(Code::J008, "a count of the pattern is out of range").received(num))?;
        out.try_push((*step, num))
            .map_err(|_| Error::new(Code::J008, "a pattern has at most eight pairs").received(pairs.len()))?;
    }
    Ok(out)
}

/// An affine pattern.
pub struct Affine {
    base: i64,
    pattern: ArrayVec<(i64, u32), 8>,
    channel_multiplier: i64,
}

impl Affine {
    fn new(base: i64, pairs: &[(i64, i64)], channel_multiplier: i64) -> Result<Self> {
        Ok(Affine { base, pattern: pattern(pairs)?, channel_multiplier })
    }

    /// The pattern's partition term counts from its first partition (ruling D24), or from the machine's.
    fn at(&self, cx: &Cx) -> Result<iota::Affine<'_>> {
        let base = match cx.profile().channel_base {
            ChannelBase::Pattern => self.base,
            ChannelBase::Machine => {
                self.base.wrapping_add(self.channel_multiplier.wrapping_mul(cx.first_partition(0)? as i64))
            }
        };
        Ok(iota::Affine { base, pattern: &self.pattern, channel_multiplier: self.channel_multiplier })
    }
}

fn prepare_iota(draft: &Draft) -> Result<Affine> {
    let own = own::<params::Iota>(draft)?;
    Affine::new(own.base, &own.pattern, own.channel_multiplier)
}

/// Iota (61).
pub fn iota(cx: &mut Cx, affine: &Affine) -> Result<()> {
    let p = affine.at(cx)?;
    let mut io = cx.open(&[Out(0)])?;
    iota::iota(&p, &mut io.outs.dst(0)?, io.profile)
}

/// A selection by the sign of an affine pattern.
pub struct AffineSelect {
    value: Affine,
    compare_op: AluOp,
    fill_value: f32,
}

fn prepare_affine_select(draft: &Draft) -> Result<AffineSelect> {
    let own = own::<params::TensorScalarAffineSelect>(draft)?;
    let value = Affine::new(own.base, &own.pattern, own.channel_multiplier)?;
    Ok(AffineSelect { value, compare_op: own.compare_op, fill_value: own.fill_value as f32 })
}

/// TensorScalarAffineSelect (62).
pub fn affine_select(cx: &mut Cx, own: &AffineSelect) -> Result<()> {
    let p = iota::AffineSelect { value: own.value.at(cx)?, compare_op: own.compare_op, fill_value: own.fill_value };
    let mut io = cx.open(&[In(0), Out(0)])?;
    iota::affine_select(&p, &io.ins.src(0)?, &mut io.outs.dst(0)?, io.profile)
}
