//! Kind 1.

use super::{number, unclear};
use crate::ast::{AccumCmd, Activate};
use crate::lower::context::{Core, float_imm};
use crate::lower::maps;
use birsim_ir::{Engine, Instruction, Opcode, Value};
use birsim_kernels::{Result, alu};

/// func(in * scale + bias). No KLR function uses the extra parameter `imm`, so its value has no effect.
pub fn activate(cx: &mut Core<'_>, p: &Activate) -> Result<Instruction> {
    if p.accumulator_cmd == AccumCmd::LoadAccumulate {
        return Err(unclear(1, "LoadAccumulate has no value to load"));
    }
    let (scale, bias) = (number(cx, 1, &p.scale)?, number(cx, 1, &p.bias)?);
    let mut inst = cx.inst("Activation-", Opcode::Activation, Engine::Activation);
    inst.ins.push(cx.ap(&p.src)?);
    inst.ins.extend([float_imm(bias), float_imm(scale), float_imm(0.0)]);
    inst.outs.push(cx.ap(&p.dst)?);
    let reduce_op = if p.accumulator_cmd == AccumCmd::Idle { alu::AluOp::Bypass } else { alu::AluOp::Add };
    Ok(inst
        .with("func", Value::named(maps::activation(p.activation_func)))
        .with("scale", f64::from(scale))
        .with("alpha", 0.0)
        .with("acc", Value::named(maps::accumulate(p.accumulator_cmd)?))
        .with("op0", Value::named(alu::AluOp::Bypass))
        .with("op1", Value::named(alu::AluOp::Bypass))
        .with("reduce_op", Value::named(reduce_op)))
}
