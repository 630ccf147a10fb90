//! Operators of the KLR tool chain that the reference refuses (`klr.md` 10), one file per family. On request
//! those whose meaning is definite become their nearest BIR form; for the others [`missing`] names the missing fact.

mod activation;
mod copy;
mod elementwise;
mod exchange;
mod matmul;
mod select;

use super::context::Core;
use crate::ast::{Immediate, Operator};
use birsim_ir::{Engine, Instruction, Opcode};
use birsim_kernels::{Code, Error, Result};

pub use matmul::Loaded;

/// Lowers an operator that the reference refuses.
pub fn lower(cx: &mut Core<'_>, op: &Operator) -> Result<Instruction> {
    if !cx.options.accept_abstract {
        let advice = match missing(op) {
            None => format!("{}; --accept-abstract lowers the operator to its nearest BIR form", instead(op)),
            Some(_) => instead(op).to_owned(),
        };
        return Err(refusal(op).advice(advice));
    }
    if let Some(fact) = missing(op) {
        return Err(refusal(op).advice(fact));
    }
    let inst = match op {
        Operator::Activate(p) => activation::activate(cx, p),
        Operator::AffineSelect(p) => select::affine_select(cx, p),
        Operator::RangeSelect(p) => select::range_select(cx, p),
        Operator::Copy(p) => copy::copy(cx, p),
        Operator::DmaCopy(p) => copy::dma_copy(cx, p),
        Operator::LoadStationary(p) => matmul::load_stationary(cx, p),
        Operator::MatMul(p) => matmul::mat_mul(cx, p),
        // The operators that search for the values have them as an operand, so the load itself does nothing.
        Operator::MatchValueLoad(_) => Ok(cx.inst("MatchValueLoad-", Opcode::NoOp, Engine::Dve)),
        Operator::ScalarTensorTensor(p) => elementwise::scalar_tensor_tensor(cx, p),
        Operator::SendRecvCompute(p) => exchange::send_recv_compute(cx, p),
        Operator::Send(p) => exchange::send(cx, p),
        Operator::Recv(p) => exchange::recv(cx, p),
        _ => Err(refusal(op)),
    }?;
    cx.note(format!("{} (kind {}) is an abstract operator, lowered to {}", op.constructor(), op.kind(), inst.opcode));
    Ok(inst)
}

/// The error text of the reference.
fn refusal(op: &Operator) -> Error {
    Error::new(Code::K004, format!("Unsupported operator {}", op.kind())).received(op.constructor())
}

/// An operator that could be lowered, but not with these parameters: `fact` says why.
fn unclear(kind: u8, fact: &str) -> Error {
    Error::new(Code::K004, format!("Unsupported operator {kind}")).advice(fact)
}

/// The fact that is missing for an operator without a definite BIR form.
fn missing(op: &Operator) -> Option<&'static str> {
    match op {
        Operator::LoadMaskRegister(_) => Some("no operator writes the register that becomes the mask"),
        Operator::LocalGather(_) => {
            Some("the operator names no indices: what fills the pool buffer is not in the file")
        }
        Operator::Broadcast(_) => Some("the operator names no root, and no collective kind is a broadcast"),
        Operator::ExtendedInst(_) => Some("the opcode is opaque: its operands and effect are not in the file"),
        _ => None,
    }
}

/// The operator that compiled kernels contain instead.
fn instead(op: &Operator) -> &'static str {
    match op {
        Operator::Activate(_) => "kernels hold ncActivate",
        Operator::AffineSelect(_) => "kernels hold ncAffineSelect",
        Operator::Copy(_) => "kernels hold ncCopy",
        Operator::DmaCopy(_) => "kernels hold ncDmaCopy",
        Operator::LoadMaskRegister(_) => "kernels hold shuffle, which carries its mask",
        Operator::LoadStationary(_) | Operator::MatMul(_) => "kernels hold ncMatMul, which carries both operands",
        Operator::LocalGather(_) => "kernels hold ncLocalGather or ncNGather",
        Operator::MatchValueLoad(_) => "kernels hold findIndex8 and matchReplace8, which carry their values",
        Operator::RangeSelect(_) => "kernels hold ncRangeSelect",
        Operator::ScalarTensorTensor(_) => "kernels hold ncScalarTensorTensor",
        Operator::SendRecvCompute(_) => "exchange with sendRecv and combine with tensorTensor",
        Operator::Send(_) | Operator::Recv(_) => "exchange with sendRecv or a collective",
        Operator::Broadcast(_) => "use allGather or collectivePermute",
        _ => "the operator has no documented lowering",
    }
}

/// The value of a numbered register: no operator writes one, so it holds 0 (ruling D48).
fn fresh_register(cx: &mut Core<'_>, register: u64) -> f32 {
    cx.note(format!("no operator writes the numbered register {register}; it holds 0"));
    0.0
}

/// An immediate as a float.
fn number(cx: &mut Core<'_>, kind: u8, value: &Immediate) -> Result<f32> {
    match value {
        Immediate::Float(x) => Ok(*x),
        Immediate::Int(n) => Ok(*n as f32),
        Immediate::Register(n) => Ok(fresh_register(cx, *n)),
        Immediate::Pointer => {
            Err(unclear(kind, "an immediate is a pointer, and the file does not say what it points to"))
        }
    }
}
