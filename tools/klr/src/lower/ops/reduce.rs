//! Reductions (`klr.md` 5.5).

use crate::ast::{TensorPartitionReduce, TensorReduce};
use crate::lower::context::Core;
use crate::lower::maps;
use birsim_ir::{AxisList, Engine, Instruction, Opcode, Value};
use birsim_kernels::Result;

/// Along the innermost axes.
pub fn tensor_reduce(cx: &mut Core<'_>, p: &TensorReduce) -> Result<Instruction> {
    let mut inst = cx.inst("TensorReduce-", Opcode::TensorReduce, Engine::Dve);
    inst.ins.push(cx.ap(&p.src)?);
    inst.outs.push(cx.ap(&p.dst)?);
    Ok(inst
        .with("op", Value::named(maps::alu(p.op)?))
        .with("axis", Value::named(maps::axes(p.op_dim)))
        .with("negate", p.negated))
}

/// Across partitions.
pub fn tensor_partition_reduce(cx: &mut Core<'_>, p: &TensorPartitionReduce) -> Result<Instruction> {
    let mut inst = cx.inst("TensorPartitionReduce-", Opcode::TensorReduce, Engine::Pool);
    inst.ins.push(cx.ap(&p.data)?);
    inst.outs.push(cx.ap(&p.dst)?);
    Ok(inst.with("op", Value::named(maps::alu(p.op)?)).with("axis", Value::named(AxisList::C)).with("negate", false))
}
