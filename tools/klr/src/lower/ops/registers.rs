//! Registers, branches, ranks (`klr.md` 5.8).

use crate::ast::{
    CmpBranch, CurrentProcessingRankId, RankId, RegisterAluOp, RegisterMove, TensorLoad, TensorRef, TensorStore,
};
use crate::lower::context::{Core, int_imm};
use crate::lower::maps;
use birsim_ir::{Engine, Instruction, Opcode, Operand, Value};
use birsim_kernels::{Code, Dtype, Error, Named, Result};

/// An access that must be one element.
fn one_element(cx: &mut Core<'_>, reference: &TensorRef) -> Result<Operand> {
    let operand = cx.ap(reference)?;
    if operand.ap().is_some_and(|pairs| pairs.iter().all(|p| p.num == 1)) {
        return Ok(operand);
    }
    Err(Error::new(Code::K005, "a register is loaded from and stored to one element"))
}

/// Element to register.
pub fn tensor_load(cx: &mut Core<'_>, p: &TensorLoad) -> Result<Instruction> {
    let mut inst = cx.inst("TensorLoad-", Opcode::TensorLoad, Engine::All);
    inst.ins.push(one_element(cx, &p.src)?);
    inst.outs.push(cx.register(&p.dst, Dtype::Int32)?);
    Ok(inst)
}

/// Register to element.
pub fn tensor_store(cx: &mut Core<'_>, p: &TensorStore) -> Result<Instruction> {
    let mut inst = cx.inst("TensorStore-", Opcode::TensorSave, Engine::All);
    inst.ins.push(cx.register(&p.src, Dtype::Int32)?);
    inst.outs.push(one_element(cx, &p.dst)?);
    Ok(inst)
}

/// Constant to register.
pub fn register_move(cx: &mut Core<'_>, p: &RegisterMove) -> Result<Instruction> {
    let mut inst = cx.inst("RegisterMove-", Opcode::RegisterMove, Engine::All);
    inst.ins.push(int_imm(p.imm.into()));
    inst.outs.push(cx.register(&p.dst, Dtype::Int32)?);
    Ok(inst)
}

/// dst = src op imm.
pub fn register_alu(cx: &mut Core<'_>, p: &RegisterAluOp) -> Result<Instruction> {
    let mut inst = cx.inst("RegisterAlu-", Opcode::RegisterAlu, Engine::All);
    inst.ins.push(cx.register(&p.src, Dtype::Int32)?);
    inst.ins.push(int_imm(p.imm.into()));
    inst.outs.push(cx.register(&p.dst, Dtype::Int32)?);
    Ok(inst.with("op", Value::named(maps::alu(p.op)?)))
}

/// Branch to a block.
pub fn cmp_branch(cx: &mut Core<'_>, p: &CmpBranch) -> Result<Instruction> {
    let Some(compare) = maps::compare(p.op) else {
        let inst = cx.inst("UnconditionalBranch-", Opcode::UnconditionalBranch, Engine::Unassigned);
        return Ok(inst.with("target", p.true_label.as_str()));
    };
    let existing = |cx: &mut Core<'_>, name: &str| {
        if cx.has_register(name) {
            return cx.register(name, Dtype::Int32);
        }
        Err(Error::new(Code::K005, "a branch reads a register that nothing has written").received(format!("{name:?}")))
    };
    let mut inst = cx.inst("CmpAndBranch-", Opcode::CompareAndBranch, Engine::Unassigned);
    inst.ins.push(existing(cx, &p.reg1)?);
    // The first six comparisons take the immediate, the others a second register.
    inst.ins.push(if compare.ordinal() < 6 { int_imm(p.imm.into()) } else { existing(cx, &p.reg2)? });
    inst = inst.with("comp_op", Value::named(compare)).with("on_true", p.true_label.as_str());
    if !p.false_label.is_empty() {
        inst = inst.with("on_false", p.false_label.as_str());
    }
    Ok(inst)
}

/// Global rank to register.
pub fn rank_id(cx: &mut Core<'_>, p: &RankId) -> Result<Instruction> {
    let mut inst = cx.inst("GetGlobalRankId-", Opcode::GetGlobalRankId, Engine::All);
    inst.outs.push(cx.register(&p.dst, Dtype::Uint32)?);
    // The reference leaves this required key out. A kernel by itself has one rank.
    Ok(inst.with("world_size", cx.kernel.bodies.len() as i64))
}

/// Rank whose data an implicit permute works on.
pub fn current_processing_rank_id(cx: &mut Core<'_>, p: &CurrentProcessingRankId) -> Result<Instruction> {
    let unsigned = |value: i64, what: &str| {
        u32::try_from(value).map(i64::from).map_err(|_| Error::new(Code::K005, what).received(value))
    };
    let iteration = unsigned(p.iteration_id, "an iteration id is in 0..2^32")?;
    let channel = unsigned(p.channel_id, "a channel id is in 0..2^32")?;
    let mut inst = cx.inst("GetCurProcessingRankID-", Opcode::GetCurProcessingRankID, Engine::All);
    inst.outs.push(cx.register(&p.dst, Dtype::Uint32)?);
    Ok(inst
        .with("iter_id", iteration)
        .with("channel_id", channel)
        .with("replica_groups", Value::Groups(p.replica_group.clone())))
}
