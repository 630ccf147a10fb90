//! Element-wise arithmetic and scans (`klr.md` 5.4).

use crate::ast::{
    AccumCmd, NcScalarTensorTensor, TensorScalar, TensorScalarCumulative, TensorScalarReduce, TensorTensor,
    TensorTensorScan,
};
use crate::lower::context::Core;
use crate::lower::maps;
use birsim_ir::{Engine, Instruction, Name, Opcode, Operand, TscMode, Value};
use birsim_kernels::{Code, Dtype, Error, Result, alu};

/// The fields of two ALU stages.
pub fn stages(inst: Instruction, op0: alu::AluOp, op1: alu::AluOp, reverse: (bool, bool)) -> Instruction {
    inst.with("op0", Value::named(op0))
        .with("reverse0", reverse.0)
        .with("op1", Value::named(op1))
        .with("reverse1", reverse.1)
}

/// op1(op0(in, s0), s1).
pub fn tensor_scalar(cx: &mut Core<'_>, p: &TensorScalar) -> Result<Instruction> {
    let engine = cx.engine(p.engine);
    let mut inst = cx.inst("TensorScalarPtr-", Opcode::TensorScalarPtr, engine);
    inst.ins.push(cx.ap(&p.src)?);
    inst.ins.push(cx.opnd(&p.imm0)?);
    if let Some(imm1) = &p.imm1 {
        inst.ins.push(cx.opnd(imm1)?);
    }
    inst.outs.push(cx.ap(&p.dst)?);
    let op1 = p.op1.map_or(Ok(alu::AluOp::Bypass), maps::alu)?;
    // 64-bit operands are addresses.
    let wide = |o: &Operand| matches!(o.dtype(), Dtype::Uint64 | Dtype::Int64);
    let addresses = inst.outs.iter().all(wide) && wide(&inst.ins[0]);
    Ok(stages(inst, maps::alu(p.op0)?, op1, maps::reverse(p.reverse)).with("is_tensor_scalar_addr", addresses))
}

/// The same with one stage, and a reduction of the result by the second operation.
pub fn tensor_scalar_reduce(cx: &mut Core<'_>, p: &TensorScalarReduce) -> Result<Instruction> {
    if p.reduce_init.is_some() {
        return Err(Error::new(Code::K004, "LoadAccumulate is not supported").operand("reduceInit"));
    }
    let Some(reduce_op) = p.reduce_op else {
        return Err(Error::new(Code::K005, "tensorScalarReduce has no reduceOp"));
    };
    let mut inst = cx.inst("TensorScalarPtr-", Opcode::TensorScalarPtr, Engine::Dve);
    inst.ins.push(cx.ap(&p.src)?);
    inst.ins.push(cx.opnd(&p.operand0)?);
    inst.outs.push(cx.ap(&p.dst)?);
    inst.outs.push(cx.ap(&p.reduce_res)?);
    Ok(stages(inst, maps::alu(p.op0)?, maps::alu(reduce_op)?, (p.reverse0, false))
        .with("acc", Value::named(maps::accumulate(p.reduce_cmd)?)))
}

/// op1(op0(tensor, scalar), tensor).
pub fn scalar_tensor_tensor(cx: &mut Core<'_>, p: &NcScalarTensorTensor) -> Result<Instruction> {
    let mut inst = cx.inst("ScalarTensorTensor-", Opcode::TensorScalarPtr, Engine::Dve);
    inst.ins.push(cx.ap(&p.data)?);
    inst.ins.push(cx.opnd(&p.src0)?);
    inst.ins.push(cx.opnd(&p.src1)?);
    inst.outs.push(cx.ap(&p.dst)?);
    Ok(stages(inst, maps::alu(p.op0)?, maps::alu(p.op1)?, maps::reverse(p.reverse_operands))
        .with("is_scalar_tensor_tensor", true))
}

/// state = op1(op0(a, state), b).
pub fn tensor_tensor_scan(cx: &mut Core<'_>, p: &TensorTensorScan) -> Result<Instruction> {
    let mut inst = cx.inst("TensorTensorScan-", Opcode::TensorScalarPtr, Engine::Dve);
    inst.ins.push(cx.ap(&p.src0)?);
    inst.ins.push(cx.opnd(&p.imm0)?);
    inst.ins.push(cx.ap(&p.src1)?);
    inst.outs.push(cx.ap(&p.dst)?);
    Ok(stages(inst, maps::alu(p.op0)?, maps::alu(p.op1)?, maps::reverse(p.reverse_operands))
        .with("acc", Value::named(maps::accumulate(p.accumulator_cmd)?))
        .with("is_tensor_tensor_scan", true)
        .with("is_scalar_tensor_tensor", true))
}

/// Running reduction that writes every value.
pub fn tensor_scalar_cumulative(cx: &mut Core<'_>, p: &TensorScalarCumulative) -> Result<Instruction> {
    if p.imm1.is_some() && p.reduce_cmd != AccumCmd::LoadAccumulate {
        let what = "a second immediate of tensorScalarCumulative needs LoadAccumulate";
        return Err(Error::new(Code::K004, what).received(p.reduce_cmd));
    }
    let mut inst = cx.inst("TensorScalarCumulative-", Opcode::TensorScalarCache, Engine::Dve);
    inst.ins.push(cx.ap(&p.src)?);
    inst.ins.push(cx.opnd(&p.imm0)?);
    if let Some(imm1) = &p.imm1 {
        inst.ins.push(cx.opnd(imm1)?);
    }
    inst.outs.push(cx.ap(&p.dst)?);
    Ok(stages(inst, maps::alu(p.op0)?, maps::alu(p.op1)?, maps::reverse(p.reverse))
        .with("mode", Value::named(TscMode::Cumulative))
        .with("acc", Value::named(maps::accumulate(p.reduce_cmd)?)))
}

/// a op b.
pub fn tensor_tensor(cx: &mut Core<'_>, p: &TensorTensor) -> Result<Instruction> {
    let engine = cx.engine(p.engine);
    let (a, b, out) = (cx.ap(&p.src0)?, cx.ap(&p.src1)?, cx.ap(&p.dst)?);
    let name = |o: &Operand| match o {
        Operand::Physical(ap) => ap.memref.clone(),
        _ => Name::default(),
    };
    let prefix = format!("{}=TensorTensor_{}({}, {})-", name(&out), p.op, name(&a), name(&b));
    let mut inst = cx.inst(&prefix, Opcode::TensorTensor, engine);
    inst.ins.extend([a, b]);
    inst.outs.push(out);
    Ok(inst.with("op", Value::named(maps::alu(p.op)?)))
}
