//! Copies: GenericCopy, AbstractCopy, TensorCopy, Load, Save, DMACopy and the DMA descriptors.

use super::Cx;
use super::Want::{In, InPlace, Out};
use crate::ir::opcodes::dma::field as f;
use crate::ir::{CopyMode, Opcode, TransposeOp, Value};
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
    Load => copy,
    Save => copy,
    DMACopy => dma_copy,
    DMADescriptorCopy => copy,
    DMADescriptorCCE => descriptor_cce,
    DMADescriptorTranspose => descriptor_transpose,
    DMADescriptorReplicate => replicate,
}

/// GenericCopy (1), AbstractCopy (3), Load (19), Save (22), TensorCopy (23), DMADescriptorCopy (69), and
/// TensorCopyDynamicSrc and Dst (24, 25), whose offset operand is part of their resolved address.
pub fn copy(cx: &mut Cx) -> Result<()> {
    let by_dma = matches!(cx.inst.opcode, Opcode::Load | Opcode::Save | Opcode::DMACopy | Opcode::DMADescriptorCopy);
    let mut io = cx.open(&[InPlace(0), Out(0)])?;
    let mut dst = io.outs.dst(0)?;
    match io.ins.source(0)? {
        Source::Apart(src) if by_dma && src.len() != dst.len() => {
            let rule = "DMA Copy in/out shape must match: the element counts differ";
            Err(kernel::counts_differ(rule, &src, &dst))
        }
        Source::Apart(src) => kernel::copy(&src, &mut dst, io.profile),
        Source::Same => Ok(()),
    }
}

/// DMACopy (32): four modes.
pub fn dma_copy(cx: &mut Cx) -> Result<()> {
    match cx.named::<CopyMode>(f::DMACopy::mode)? {
        CopyMode::Copy => {
            let op = match cx.named_opt::<AluOp>(f::DMACopy::cce_op)? {
                None | Some(AluOp::Bypass) => MemoryReductionOp::Copy,
                Some(AluOp::Add) => MemoryReductionOp::Add,
                Some(other) => {
                    return Err(Error::new(Code::S006, "a copy accumulates with bypass or add only (1465)")
                        .received(other)
                        .operand("cce_op"));
                }
            };
            if super::indirect::dynamic_copy(cx, op)?.is_some() {
                return Ok(());
            }
            match op {
                MemoryReductionOp::Copy => copy(cx),
                op => {
                    let mut io = cx.open(&[In(0), Out(0)])?;
                    dma::accumulate_copy(op, &io.ins.src(0)?, &mut io.outs.dst(0)?, io.profile)
                }
            }
        }
        CopyMode::Transpose => transpose(cx, f::DMACopy::transpose_op),
        CopyMode::Cce => {
            let op = cx.named::<AluOp>(f::DMACopy::cce_op)?;
            reduce(cx, op, f::DMACopy::constants)
        }
        CopyMode::Replicate => replicate(cx),
    }
}

/// DMADescriptorTranspose (71).
pub fn descriptor_transpose(cx: &mut Cx) -> Result<()> {
    transpose(cx, f::DMADescriptorTranspose::transpose_op)
}

/// DMADescriptorCCE (70).
pub fn descriptor_cce(cx: &mut Cx) -> Result<()> {
    let op = cx.named::<AluOp>(f::DMADescriptorCCE::op)?;
    reduce(cx, op, f::DMADescriptorCCE::constants)
}

/// DMADescriptorReplicate (72).
pub fn replicate(cx: &mut Cx) -> Result<()> {
    let mut io = cx.open(&[In(0), Out(0)])?;
    dma::replicate(&io.ins.src(0)?, &mut io.outs.dst(0)?, io.profile)
}

fn transpose(cx: &mut Cx, field: usize) -> Result<()> {
    let op = cx.named_opt::<TransposeOp>(field)?.unwrap_or(TransposeOp::None);
    let mut io = cx.open(&[In(0), Out(0)])?;
    dma::transpose(op, &io.ins.src(0)?, &mut io.outs.dst(0)?, io.profile)
}

fn reduce(cx: &mut Cx, op: AluOp, constants: usize) -> Result<()> {
    let constants: Vec<f32> = match cx.cold(constants) {
        Some(Value::Floats(c)) => c.iter().map(|x| *x as f32).collect(),
        _ => Vec::new(),
    };
    let mut io = cx.open_all()?;
    dma::cce(&dma::Cce { op, constants: &constants }, &io.ins.tensors()?, &mut io.outs.dst(0)?, io.profile)
}
