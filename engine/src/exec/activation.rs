//! The scalar engine: Activation, accumulator drains, Exponential, Reciprocal (`activation.md`).

use super::Cx;
use super::Want::{InPlace, Maybe, Out};
use super::fields::own;
use crate::ir::opcodes::params;
use crate::ir::{ActivationFunction, EngineAccumulation};
use crate::{Code, Error, Result};
use birsim_kernels::Profile;
use birsim_kernels::access::{Imm, Input};
use birsim_kernels::accumulate::{Accumulator, Epilogue, read_accumulator};
use birsim_kernels::activation::{self as kernel, Front};
use birsim_kernels::alu::AluOp;

bind! {
    Activation(own) => activation,
    ReadActivationAccumulator => read,
    ActivationReadAccumulator => read,
    DveReadAccumulator(own) => dve_read,
    Exponential(own) => exponential,
    Reciprocal => reciprocal,
}

/// Activation (4), Activate2 included.
pub fn activation(cx: &mut Cx, own: &params::Activation) -> Result<()> {
    let func = own.func;
    let func = kernel_function(func)?;
    let kind = own.acc;
    let reduce = own.reduce_op;
    let activate2 = match own.is_activate2 {
        true => Some(((own.op0, own.reverse0), (own.op1, own.reverse1))),
        false => None,
    };
    // A field gives the value of an operand that is absent.
    let has = |k: usize| cx.n_ins() > k;
    let scale = if has(2) || activate2.is_some() { 1.0 } else { own.scale as f32 };
    let alpha = if has(3) { 0.0 } else { own.alpha as f32 };
    let tables = cx.m.settings.tables.clone();
    let mut io = cx.open(&[Maybe(1), Maybe(2), Maybe(3), Maybe(4), InPlace(0), Out(0)])?;
    let operand = |k: usize| io.ins.input_opt(k);
    let front = match activate2 {
        Some(((op0, r0), (op1, r1))) => Front::Ops { stages: [(op0, operand(1)?, r0), (op1, operand(2)?, r1)] },
        None => Front::Affine {
            scale: operand(2)?.unwrap_or(Input::Imm(Imm::f32(scale))),
            bias: operand(1)?.unwrap_or(Input::Imm(Imm::f32(0.0))),
        },
    };
    let alpha = operand(3)?.unwrap_or(Input::Imm(Imm::f32(alpha)));
    // LoadAccumulate starts from an immediate, which must be there (`activation.md` 1.4).
    let epilogue = epilogue(io.accumulator, io.profile, kind, reduce, operand(4)?);
    let p = kernel::Activation { func, front, alpha, epilogue, tables: tables.as_deref() };
    kernel::activation(&p, &io.ins.source(0)?, &mut io.outs.dst(0)?, io.profile)?;
    drop(io);
    drain_second(cx, kind, false)
}

/// The kernel library's function for a name of the model; spellings without an ordinal included.
fn kernel_function(func: ActivationFunction) -> Result<kernel::ActivationFunctionType> {
    use birsim_kernels::Named;
    kernel::ActivationFunctionType::from_name(func.name()).ok_or_else(|| {
        Error::new(Code::U002, format!("the activation function {func} has no documented form"))
            .received(func)
            .operand("func")
    })
}

/// The accumulate epilogue of an instruction; `None` when it does not accumulate.
pub(super) fn epilogue<'a>(
    state: &'a Accumulator,
    profile: &'a Profile,
    kind: EngineAccumulation,
    op: AluOp,
    init: Option<Input<'a>>,
) -> Option<Epilogue<'a>> {
    (kind != EngineAccumulation::Idle).then_some(Epilogue { kind, op, init, state, profile })
}

/// Writes the accumulator to the second output, when the instruction accumulates and has one.
pub(super) fn drain_second(cx: &mut Cx, kind: EngineAccumulation, negated: bool) -> Result<()> {
    if kind == EngineAccumulation::Idle || cx.n_outs() < 2 {
        return Ok(());
    }
    drain(cx, 1, negated)
}

fn drain(cx: &mut Cx, k: usize, negated: bool) -> Result<()> {
    let mut io = cx.open(&[Out(k)])?;
    read_accumulator(io.accumulator, negated, &mut io.outs.dst(k)?, io.profile)
}

/// ReadActivationAccumulator (5), ActivationReadAccumulator (101).
pub fn read(cx: &mut Cx) -> Result<()> {
    drain(cx, 0, false)
}

/// DveReadAccumulator (102).
pub fn dve_read(cx: &mut Cx, own: &params::DveReadAccumulator) -> Result<()> {
    let negated = own.negated;
    drain(cx, 0, negated)
}

/// Reciprocal (21).
pub fn reciprocal(cx: &mut Cx) -> Result<()> {
    let mut io = cx.open(&[InPlace(0), Out(0)])?;
    kernel::reciprocal(&io.ins.source(0)?, &mut io.outs.dst(0)?, io.profile)
}

/// Exponential (103).
pub fn exponential(cx: &mut Cx, own: &params::Exponential) -> Result<()> {
    let kind = own.reduce_cmd;
    let mut io = cx.open(&[Maybe(1), Maybe(2), InPlace(0), Out(0)])?;
    let row_max = io.ins.input_opt(1)?.unwrap_or(Input::Imm(Imm::f32(0.0)));
    let fold = epilogue(io.accumulator, io.profile, kind, AluOp::Add, io.ins.input_opt(2)?);
    kernel::exponential(&io.ins.source(0)?, &row_max, &mut io.outs.dst(0)?, fold.as_ref(), io.profile)?;
    drop(io);
    drain_second(cx, kind, false)
}
