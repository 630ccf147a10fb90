//! Selects (`klr.md` 5.6).

use crate::ast::{CopyPredicated, Immediate, NcAffineSelect, NcRangeSelect, SelectReduce};
use crate::lower::context::Core;
use crate::lower::maps;
use crate::lower::ops::fill::generator;
use birsim_ir::{Engine, Instruction, Opcode, Value};
use birsim_kernels::{Code, Error, Result, alu};

fn number(value: &Immediate) -> Result<f64> {
    match value {
        Immediate::Int(n) => Ok(f64::from(*n)),
        Immediate::Float(x) => Ok(f64::from(*x)),
        other => Err(Error::new(Code::K004, "unsupported immediate type").received(other.constructor())),
    }
}

/// (generated value cmp 0) ? in : fill.
pub fn affine_select(cx: &mut Core<'_>, p: &NcAffineSelect) -> Result<Instruction> {
    let mut inst = cx.inst("AffineSelect-", Opcode::TensorScalarAffineSelect, Engine::Pool);
    inst.ins.push(cx.ap(&p.on_true_tile)?);
    inst.outs.push(cx.ap(&p.dst)?);
    Ok(generator(inst, &p.pred)?
        .with("compare_op", Value::named(maps::alu(p.cmp_op)?))
        .with("fill_value", number(&p.on_false_value)?))
}

/// Keeps the elements whose index is between two bounds.
pub fn range_select(cx: &mut Core<'_>, p: &NcRangeSelect) -> Result<Instruction> {
    let start = number(&p.range_start)?;
    if start.fract() != 0.0 || !(-9e15..=9e15).contains(&start) {
        return Err(Error::new(Code::K004, "the range start of range_select must be a whole number").received(start));
    }
    let mut inst = cx.inst("RangeSelect-", Opcode::RangeSelect, Engine::Dve);
    inst.ins.push(cx.ap(&p.on_true_tile)?);
    inst.ins.push(cx.ap(&p.bound0)?);
    inst.ins.push(cx.ap(&p.bound1)?);
    inst.outs.push(cx.ap(&p.dst)?);
    if let Some(result) = &p.reduce_res {
        inst.outs.push(cx.ap(result)?);
    }
    let reduce_op = p.reduce_op.map_or(Ok(alu::AluOp::Max), maps::alu)?;
    Ok(inst
        .with("base", start as i64)
        .with("compare_op0", Value::named(maps::alu(p.comp_op0)?))
        .with("compare_op1", Value::named(maps::alu(p.comp_op1)?))
        .with("reduce_op", Value::named(reduce_op))
        .with("reduce_cmd", Value::named(maps::accumulate(p.reduce_command)?))
        .with("fill_value", number(&p.on_false_value)?))
}

/// Copy where the predicate holds. `reversePred` is honoured; the reference's code generator ignores it.
pub fn copy_predicated(cx: &mut Core<'_>, p: &CopyPredicated) -> Result<Instruction> {
    let mut inst = cx.inst("CopyPredicated-", Opcode::CopyPredicated, Engine::Dve);
    inst.ins.push(cx.ap(&p.predicate)?);
    inst.ins.push(cx.ap(&p.src)?);
    inst.outs.push(cx.ap(&p.dst)?);
    Ok(inst.with("reverse_pred", p.reverse_pred))
}

/// Select with a reduction of the result.
pub fn select_reduce(cx: &mut Core<'_>, p: &SelectReduce) -> Result<Instruction> {
    let mut inst = cx.inst("SelectReduce-", Opcode::CopyPredicated, Engine::Dve);
    inst.ins.push(cx.ap(&p.predicate)?);
    inst.ins.push(cx.ap(&p.on_true)?);
    inst.ins.push(cx.opnd(&p.on_false)?);
    inst.outs.push(cx.ap(&p.dst)?);
    if let Some(result) = &p.reduce_res {
        inst.outs.push(cx.ap(result)?);
    }
    Ok(inst
        .with("reverse_pred", p.reverse_pred)
        .with("reduce_op", Value::named(maps::alu(p.reduce_op)?))
        .with("accumulator_cmd", Value::named(maps::accumulate(p.reduce_cmd)?)))
}
