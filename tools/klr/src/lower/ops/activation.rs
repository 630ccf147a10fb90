//! Activations (`klr.md` 5.3).

use crate::ast::{AccumCmd, Activate2, AluOp, Exponential, Immediate, NcActivate, Operand, Reciprocal};
use crate::lower::context::{Core, float_imm};
use crate::lower::maps;
use birsim_ir::{Engine, Instruction, Opcode, Value};
use birsim_kernels::{Code, Error, Result, alu};

/// func(in * scale + bias), optionally summed along the row.
pub fn nc_activate(cx: &mut Core<'_>, p: &NcActivate) -> Result<Instruction> {
    if let Some(op) = p.reduce_op.filter(|op| *op != AluOp::Add) {
        return Err(Error::new(Code::K004, "Accumulation is the only supported op on activation_reduce").received(op));
    }
    let (scale, scale_field) = match &p.scale {
        Operand::Imm(Immediate::Float(x)) => (float_imm(*x), f64::from(*x)),
        Operand::Imm(other) => {
            return Err(Error::new(Code::K004, "scale for activation must be a float32").received(format!("{other:?}")));
        }
        Operand::Tile(tile) => (cx.ap(tile)?, 1.0),
    };
    let mut inst = cx.inst("Activation-", Opcode::Activation, Engine::Activation);
    inst.ins.push(cx.ap(&p.src)?);
    // The reference makes a zeroed tensor for a missing bias; the value is the same.
    inst.ins.push(match &p.bias {
        Some(bias) => cx.ap(bias)?,
        None => float_imm(0.0),
    });
    inst.ins.push(scale);
    inst.ins.push(float_imm(0.0));
    inst.outs.push(cx.ap(&p.dst)?);
    if let Some(result) = &p.reduce_res {
        inst.outs.push(cx.ap(result)?);
    }
    let reduces = p.reduce_op.is_some() || p.reduce_res.is_some() || p.accumulator_cmd != AccumCmd::Idle;
    let reduce_op = if reduces { alu::AluOp::Add } else { alu::AluOp::Bypass };
    Ok(inst
        .with("func", Value::named(maps::activation(p.activation_func)))
        .with("scale", scale_field)
        .with("alpha", 0.0)
        .with("acc", Value::named(maps::accumulate(p.accumulator_cmd)?))
        .with("op0", Value::named(alu::AluOp::Bypass))
        .with("op1", Value::named(alu::AluOp::Bypass))
        .with("reduce_op", Value::named(reduce_op)))
}

/// The form with two ALU stages before the function.
pub fn activate2(cx: &mut Core<'_>, p: &Activate2) -> Result<Instruction> {
    let mut inst = cx.inst("Activate2-", Opcode::Activation, Engine::Activation);
    inst.ins.push(cx.ap(&p.src)?);
    for operand in [&p.imm0, &p.imm1, &p.relu_param] {
        inst.ins.push(cx.opnd(operand)?);
    }
    inst.outs.push(cx.ap(&p.dst)?);
    if let Some(result) = &p.reduce_res {
        inst.outs.push(cx.ap(result)?);
    }
    Ok(inst
        .with("func", Value::named(maps::activation(p.activation_func)))
        .with("scale", 1.0)
        .with("alpha", 0.0)
        .with("acc", Value::named(maps::accumulate(p.reduce_cmd)?))
        .with("op0", Value::named(maps::alu(p.op0)?))
        .with("op1", Value::named(maps::alu(p.op1)?))
        .with("reduce_op", Value::named(maps::alu(p.reduce_op)?))
        .with("reverse0", p.reverse0)
        .with("reverse1", p.reverse1)
        .with("is_activate2", true))
}

/// exp(in - max); the row sum is drained by a second instruction.
pub fn exponential(cx: &mut Core<'_>, p: &Exponential) -> Result<Instruction> {
    let mut inst = cx.inst("Exponential-", Opcode::Exponential, Engine::Dve);
    inst.ins.push(cx.ap(&p.src)?);
    inst.ins.push(cx.opnd(&p.max_value)?);
    inst.ins.push(cx.opnd(&p.reduce_init)?);
    inst.outs.push(cx.ap(&p.dst)?);
    if let Some(result) = &p.reduce_res {
        let mut drain = cx.inst("DveReadAccumulator-", Opcode::DveReadAccumulator, Engine::Dve);
        drain.outs.push(cx.ap(result)?);
        cx.after.push(drain);
    }
    Ok(inst.with("reduce_cmd", Value::named(maps::accumulate(p.reducecmd)?)))
}

/// 1 / x.
pub fn reciprocal(cx: &mut Core<'_>, p: &Reciprocal) -> Result<Instruction> {
    let mut inst = cx.inst("Reciprocal-", Opcode::Reciprocal, Engine::Dve);
    inst.ins.push(cx.ap(&p.src)?);
    inst.outs.push(cx.ap(&p.dst)?);
    Ok(inst)
}
