//! The scalar engine: Activation, accumulator drains, Exponential, Reciprocal (`activation.md`).

use super::Cx;
use crate::ir::opcodes::activation::field as f;
use crate::ir::{ActivationFunction, EngineAccumulation};
use crate::{Code, Error, Result};
use birsim_kernels::access::{Imm, Input};
use birsim_kernels::accumulate::{Epilogue, read_accumulator};
use birsim_kernels::activation::{self as kernel, Front};
use birsim_kernels::alu::AluOp;

bind! {
    Activation => activation,
    ReadActivationAccumulator => read,
    ActivationReadAccumulator => read,
    DveReadAccumulator => dve_read,
    Exponential => exponential,
    Reciprocal => reciprocal,
}

/// Activation (4), Activate2 included.
pub fn activation(cx: &mut Cx) -> Result<()> {
    let func = cx.named::<ActivationFunction>(f::Activation::func)?;
    let func = kernel_function(func)?;
    let kind = cx.named_opt::<EngineAccumulation>(f::Activation::acc)?.unwrap_or(EngineAccumulation::Idle);
    let reduce = cx.named_opt::<AluOp>(f::Activation::reduce_op)?.unwrap_or(AluOp::Add);
    let (bias, scale, alpha) = (cx.input_opt(1)?, cx.input_opt(2)?, cx.input_opt(3)?);
    // LoadAccumulate starts from an immediate, which must be there (`activation.md` 1.4).
    let init = cx.input_opt(4)?;
    let front = if cx.flag(f::Activation::is_activate2)? {
        let op0 = cx.named::<AluOp>(f::Activation::op0)?;
        let op1 = cx.named::<AluOp>(f::Activation::op1)?;
        let (r0, r1) = (cx.flag(f::Activation::reverse0)?, cx.flag(f::Activation::reverse1)?);
        Front::Ops { stages: [(op0, bias, r0), (op1, scale, r1)] }
    } else {
        let constant = |x: f64| Input::Imm(Imm::f32(x as f32));
        Front::Affine {
            scale: match scale {
                Some(s) => s,
                None => constant(cx.float(f::Activation::scale)?),
            },
            bias: bias.unwrap_or_else(|| constant(0.0)),
        }
    };
    let alpha = match alpha {
        Some(a) => a,
        None => Input::Imm(Imm::f32(cx.float(f::Activation::alpha)? as f32)),
    };
    let (src, dst) = (cx.src(0)?, cx.dst(0)?);
    let epilogue = epilogue(cx, kind, reduce, init);
    let tables = cx.m.settings.tables.as_deref();
    kernel::activation(&kernel::Activation { func, front, alpha, epilogue, tables }, &src, &dst, cx.profile())?;
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
    cx: &'a Cx,
    kind: EngineAccumulation,
    op: AluOp,
    init: Option<Input<'a>>,
) -> Option<Epilogue<'a>> {
    (kind != EngineAccumulation::Idle).then(|| Epilogue {
        kind,
        op,
        init,
        state: cx.accumulator(),
        profile: cx.profile(),
    })
}

/// Writes the accumulator to the second output, when the instruction accumulates and has one.
pub(super) fn drain_second(cx: &mut Cx, kind: EngineAccumulation, negated: bool) -> Result<()> {
    if kind == EngineAccumulation::Idle || cx.n_outs() < 2 {
        return Ok(());
    }
    let dst = cx.dst(1)?;
    read_accumulator(cx.accumulator(), negated, &dst, cx.profile())
}

/// ReadActivationAccumulator (5), ActivationReadAccumulator (101).
pub fn read(cx: &mut Cx) -> Result<()> {
    let dst = cx.dst(0)?;
    read_accumulator(cx.accumulator(), false, &dst, cx.profile())
}

/// DveReadAccumulator (102).
pub fn dve_read(cx: &mut Cx) -> Result<()> {
    let negated = cx.flag(f::DveReadAccumulator::negated)?;
    let dst = cx.dst(0)?;
    read_accumulator(cx.accumulator(), negated, &dst, cx.profile())
}

/// Reciprocal (21).
pub fn reciprocal(cx: &mut Cx) -> Result<()> {
    kernel::reciprocal(&cx.src(0)?, &cx.dst(0)?, cx.profile())
}

/// Exponential (103).
pub fn exponential(cx: &mut Cx) -> Result<()> {
    let kind = cx.named::<EngineAccumulation>(f::Exponential::reduce_cmd)?;
    let row_max = cx.input_opt(1)?.unwrap_or(Input::Imm(Imm::f32(0.0)));
    let init = cx.input_opt(2)?;
    let (src, dst) = (cx.src(0)?, cx.dst(0)?);
    let fold = epilogue(cx, kind, AluOp::Add, init);
    kernel::exponential(&src, &row_max, &dst, fold.as_ref(), cx.profile())?;
    drain_second(cx, kind, false)
}
