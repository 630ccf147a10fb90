//! Copies: GenericCopy, AbstractCopy, TensorCopy, Load, Save, DMACopy and the DMA descriptors.

use super::Cx;
use super::Want::{In, InPlace, Out};
use super::fields::own;
use crate::ir::opcodes::params;
use crate::ir::{CopyMode, TransposeOp};
use crate::world::Draft;
use crate::{Code, Error, Result};
use birsim_kernels::access::Source;
use birsim_kernels::alu::AluOp;
use birsim_kernels::cast::MemoryReductionOp;
use birsim_kernels::{copy as kernel, dma};

bind! {
    GenericCopy => copy,
    AbstractCopy => copy,
    TensorCopy => copy,
    TensorCopyDynamicSrc => copy,
    TensorCopyDynamicDst => copy,
    Load => transfer,
    Save => transfer,
    DMACopy(prepare_dma_copy) => dma_copy,
    DMADescriptorCopy => transfer,
    DMADescriptorCCE(descriptor_cce) => reduce,
    DMADescriptorTranspose(transpose_op) => transpose,
    DMADescriptorReplicate => replicate,
}

/// GenericCopy (1), AbstractCopy (3), TensorCopy (23), and TensorCopyDynamicSrc and Dst (24, 25), whose offset operand is part
/// of their resolved address.
pub fn copy(cx: &mut Cx) -> Result<()> {
    let mut io = cx.open(&[InPlace(0), Out(0)])?;
    match io.ins.source(0)? {
        Source::Apart(src) => kernel::copy(&src, &mut io.outs.dst(0)?, io.profile),
        Source::Same => Ok(()),
    }
}

/// Load (19), Save (22), DMADescriptorCopy (69), and the plain form of DMACopy.
pub fn transfer(cx: &mut Cx) -> Result<()> {
    let mut io = cx.open(&[InPlace(0), Out(0)])?;
    let mut dst = io.outs.dst(0)?;
    match io.ins.source(0)? {
        Source::Apart(src) if src.len() != dst.len() => {
            let rule = "DMA Copy in/out shape must match: the element counts differ";
            Err(kernel::counts_differ(rule, &src, &dst))
        }
        Source::Apart(src) => kernel::copy(&src, &mut dst, io.profile),
        Source::Same => Ok(()),
    }
}

/// The modes of DMACopy.
pub enum DmaCopy {
    /// Copies, or adds to what is there.
    Copy {
        /// How a new value is combined with the one it replaces.
        op: MemoryReductionOp,
        /// An element outside its tensor is a fault; otherwise it is skipped.
        oob_is_err: bool,
    },
    /// Swaps axes.
    Transpose(TransposeOp),
    /// Combines all inputs.
    Cce(Cce),
    /// Repeats the source.
    Replicate,
}

fn prepare_dma_copy(draft: &Draft) -> Result<DmaCopy> {
    let own = own::<params::DMACopy>(draft)?;
    Ok(match own.mode {
        CopyMode::Copy => {
            let op = match own.cce_op {
                AluOp::Bypass => MemoryReductionOp::Copy,
                AluOp::Add => MemoryReductionOp::Add,
                other => {
                    return Err(Error::new(Code::S006, "a copy accumulates with bypass or add only (1465)")
                        .received(other)
                        .operand("cce_op"));
                }
            };
            DmaCopy::Copy { op, oob_is_err: own.oob_is_err }
        }
        CopyMode::Transpose => DmaCopy::Transpose(own.transpose_op),
        CopyMode::Cce => DmaCopy::Cce(Cce::new(own.cce_op, own.constants.as_deref())),
        CopyMode::Replicate => DmaCopy::Replicate,
    })
}

/// DMACopy (32): four modes.
pub fn dma_copy(cx: &mut Cx, form: &DmaCopy) -> Result<()> {
    match form {
        DmaCopy::Copy { op, oob_is_err } => {
            if super::indirect::dynamic_copy(cx, *op, *oob_is_err)?.is_some() {
                return Ok(());
            }
            match op {
                MemoryReductionOp::Copy => transfer(cx),
                op => {
                    let mut io = cx.open(&[In(0), Out(0)])?;
                    dma::accumulate_copy(*op, &io.ins.src(0)?, &mut io.outs.dst(0)?, io.profile)
                }
            }
        }
        DmaCopy::Transpose(op) => transpose(cx, op),
        DmaCopy::Cce(cce) => reduce(cx, cce),
        DmaCopy::Replicate => replicate(cx),
    }
}

/// DMADescriptorTranspose (71).
fn transpose_op(draft: &Draft) -> Result<TransposeOp> {
    Ok(own::<params::DMADescriptorTranspose>(draft)?.transpose_op)
}

/// A reduction in flight: the operation, and a factor for each input.
pub struct Cce {
    op: AluOp,
    constants: Box<[f32]>,
}

impl Cce {
    fn new(op: AluOp, constants: Option<&[f64]>) -> Self {
        Cce { op, constants: constants.unwrap_or_default().iter().map(|x| *x as f32).collect() }
    }
}

/// DMADescriptorCCE (70).
fn descriptor_cce(draft: &Draft) -> Result<Cce> {
    let own = own::<params::DMADescriptorCCE>(draft)?;
    Ok(Cce::new(own.op, own.constants.as_deref()))
}

/// DMADescriptorReplicate (72).
pub fn replicate(cx: &mut Cx) -> Result<()> {
    let mut io = cx.open(&[In(0), Out(0)])?;
    dma::replicate(&io.ins.src(0)?, &mut io.outs.dst(0)?, io.profile)
}

fn transpose(cx: &mut Cx, op: &TransposeOp) -> Result<()> {
    let mut io = cx.open(&[In(0), Out(0)])?;
    dma::transpose(*op, &io.ins.src(0)?, &mut io.outs.dst(0)?, io.profile)
}

fn reduce(cx: &mut Cx, cce: &Cce) -> Result<()> {
    let mut io = cx.open_all()?;
    let p = dma::Cce { op: cce.op, constants: &cce.constants };
    dma::cce(&p, &io.ins.tensors()?, &mut io.outs.dst(0)?, io.profile)
}
