//! Kind 30.

use super::{number, unclear};
use crate::ast::{AccumCmd, ScalarTensorTensor};
use crate::lower::context::{Core, float_imm};
use crate::lower::maps;
use crate::lower::ops::elementwise::stages;
use birsim_ir::{Engine, Instruction, Opcode, Value};
use birsim_kernels::Result;

/// op1(op0(src0, imm0), src1).
pub fn scalar_tensor_tensor(cx: &mut Core<'_>, p: &ScalarTensorTensor) -> Result<Instruction> {
    if p.accumulator_cmd == AccumCmd::LoadAccumulate {
        return Err(unclear(30, "LoadAccumulate has no value to load"));
    }
    let scalar = number(cx, 30, &p.imm0)?;
    let mut inst = cx.inst("ScalarTensorTensor-", Opcode::TensorScalarPtr, Engine::Dve);
    inst.ins.extend([cx.ap(&p.src0)?, float_imm(scalar), cx.ap(&p.src1)?]);
    inst.outs.push(cx.ap(&p.dst)?);
    Ok(stages(inst, maps::alu(p.op0)?, maps::alu(p.op1)?, maps::reverse(p.reverse_operands))
        .with("acc", Value::named(maps::accumulate(p.accumulator_cmd)?))
        .with("is_scalar_tensor_tensor", true))
}
