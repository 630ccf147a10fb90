//! Random numbers (`klr-to-bir.md` 2.6).

use crate::ast::{Dropout, DropoutThresholdType, Rand2, RandGetState, RandSetState, Rng, SetRngSeed};
use crate::lower::context::Core;
use birsim_engine::ir::{Engine, Instruction, MemsetMode, Opcode, Value};
use birsim_kernels::Result;

/// Zeroes elements at random, without rescaling.
pub fn dropout(cx: &mut Core<'_>, p: &Dropout) -> Result<Instruction> {
    let mut inst = cx.inst("Dropout-", Opcode::Dropout, Engine::Dve);
    inst.ins.push(cx.ap(&p.src)?);
    inst.ins.push(cx.opnd(&p.threshold)?);
    inst.outs.push(cx.ap(&p.dst)?);
    Ok(inst.with("is_keep_threshold", p.threshold_type == DropoutThresholdType::KeepRate))
}

/// Random bits.
pub fn rng(cx: &mut Core<'_>, p: &Rng) -> Result<Instruction> {
    let engine = cx.engine(p.engine);
    let mut inst = cx.inst("Rng-", Opcode::Memset, engine);
    inst.outs.push(cx.ap(&p.dst)?);
    Ok(inst.with("mode", Value::named(MemsetMode::Random)).with("constant", 0i64))
}

/// Uniform values between two bounds.
pub fn rand2(cx: &mut Core<'_>, p: &Rand2) -> Result<Instruction> {
    let mut inst = cx.inst("Rand2-", Opcode::Rand2, Engine::Dve);
    inst.ins.push(cx.opnd(&p.min)?);
    inst.ins.push(cx.opnd(&p.max)?);
    inst.outs.push(cx.ap(&p.dst)?);
    Ok(inst)
}

/// Saves the generator state.
pub fn rand_get_state(cx: &mut Core<'_>, p: &RandGetState) -> Result<Instruction> {
    let engine = cx.engine(p.engine);
    let mut inst = cx.inst("RandGetState-", Opcode::RandGetState, engine);
    inst.outs.push(cx.ap(&p.dst)?);
    Ok(inst)
}

/// Restores the generator state.
pub fn rand_set_state(cx: &mut Core<'_>, p: &RandSetState) -> Result<Instruction> {
    let engine = cx.engine(p.engine);
    let mut inst = cx.inst("RandSetState-", Opcode::RandSetState, engine);
    inst.ins.push(cx.ap(&p.src)?);
    Ok(inst)
}

/// Seeds the generator. Only the older generation, Pool's, knows this operator (ruling D10 needs one named).
pub fn set_rng_seed(cx: &mut Core<'_>, p: &SetRngSeed) -> Result<Instruction> {
    let mut inst = cx.inst("SetRandState-", Opcode::SetRandState, Engine::Unassigned);
    inst.ins.push(cx.ap(&p.src)?);
    Ok(inst.with("rng_engine", Value::named(Engine::Pool)))
}
