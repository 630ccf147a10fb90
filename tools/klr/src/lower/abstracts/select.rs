//! Kinds 4 and 27.

use super::{fresh_register, number, unclear};
use crate::ast::{AffineSelect, AffineSelectCmp, RangeSelect};
use crate::lower::context::{Core, float_imm};
use crate::lower::maps;
use crate::lower::ops::fill::generator;
use birsim_ir::{Engine, Instruction, Opcode, Value};
use birsim_kernels::{Result, alu};

/// (generated value cmp 0) ? in : fill.
pub fn affine_select(cx: &mut Core<'_>, p: &AffineSelect) -> Result<Instruction> {
    let fill = fresh_register(cx, p.fill_reg);
    let mut inst = cx.inst("AffineSelect-", Opcode::TensorScalarAffineSelect, Engine::Pool);
    inst.ins.push(cx.ap(&p.src)?);
    inst.outs.push(cx.ap(&p.dst)?);
    let compare = match p.fill_mode {
        AffineSelectCmp::GreaterThan => alu::AluOp::IsGt,
        AffineSelectCmp::GreaterThanEq => alu::AluOp::IsGe,
        AffineSelectCmp::Eq => alu::AluOp::IsEqual,
        AffineSelectCmp::NotEq => alu::AluOp::NotEqual,
    };
    let inst = generator(inst, &p.mask_pattern)?;
    Ok(inst.with("compare_op", Value::named(compare)).with("fill_value", f64::from(fill)))
}

/// Keeps the elements whose index is between two bounds. The operator names no output for a reduction, so none is made.
pub fn range_select(cx: &mut Core<'_>, p: &RangeSelect) -> Result<Instruction> {
    let base = f64::from(p.base);
    if base.fract() != 0.0 || base.abs() > 9e15 {
        return Err(unclear(27, "the first index is not a whole number, and RangeSelect counts in whole numbers"));
    }
    let (bound0, bound1) = (number(cx, 27, &p.bound0)?, number(cx, 27, &p.bound1)?);
    let mut inst = cx.inst("RangeSelect-", Opcode::RangeSelect, Engine::Dve);
    inst.ins.extend([cx.ap(&p.src)?, float_imm(bound0), float_imm(bound1)]);
    inst.outs.push(cx.ap(&p.dst)?);
    Ok(inst
        .with("base", base as i64)
        .with("compare_op0", Value::named(maps::alu(p.comp_op0)?))
        .with("compare_op1", Value::named(maps::alu(p.comp_op1)?))
        .with("reduce_op", Value::named(maps::alu(p.reduce_op)?))
        .with("reduce_cmd", Value::named(maps::accumulate(p.reduce_command)?))
        .with("fill_value", f64::from(p.fill_value)))
}
