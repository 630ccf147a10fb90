//! Batch-norm statistics (`klr.md` 5.5).

use crate::ast::{BatchNormAggregate, BatchNormStats};
use crate::lower::context::Core;
use birsim_ir::{Engine, Instruction, Opcode};
use birsim_kernels::Result;

/// Six statistics per row.
pub fn stats(cx: &mut Core<'_>, p: &BatchNormStats) -> Result<Instruction> {
    let mut inst = cx.inst("BNStats-", Opcode::BNStats, Engine::Dve);
    inst.ins.push(cx.ap(&p.src)?);
    inst.outs.push(cx.ap(&p.dst)?);
    Ok(inst.with("apply_transpose", false))
}

/// Mean and variance of statistics.
pub fn aggregate(cx: &mut Core<'_>, p: &BatchNormAggregate) -> Result<Instruction> {
    let mut inst = cx.inst("BNStatsAggregate-", Opcode::BNStatsAggregate, Engine::Dve);
    inst.ins.push(cx.ap(&p.src)?);
    inst.outs.push(cx.ap(&p.dst)?);
    Ok(inst)
}
