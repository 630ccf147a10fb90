//! Rules about instructions that several stages ask for.

use super::expr::Env;
use super::{CompiledPredicate, Inst, Program};
use crate::ir::{Engine, Opcode, PredicateOp, Trait};
use crate::{Code, Error, Result};

/// Updates of instructions that own blocks act when the blocks are done.
pub fn owns_updates(op: Opcode) -> bool {
    op.is(Trait::RunsBlocks)
}

/// Whether all predicates of an instruction hold in the current environment.
pub fn predicates_hold(predicates: &[CompiledPredicate], env: &impl Env) -> Result<bool> {
    for p in predicates {
        let v = p.ex.eval(env)?;
        let holds = match p.op {
            PredicateOp::Ge => v >= 0,
            PredicateOp::Eq => v == 0,
            PredicateOp::Lt => v < 0,
            PredicateOp::Le => v <= 0,
            PredicateOp::Gt => v > 0,
            PredicateOp::Ne => v != 0,
        };
        if !holds {
            return Ok(false);
        }
    }
    Ok(true)
}

/// An engine that may execute: the queue scheduler refuses instructions without one; program order needs none
/// (`klr.md` 8.2).
pub fn check_engine(program: &Program, inst: &Inst) -> Result<()> {
    let queued = program.blocks.get(inst.block as usize).is_some_and(|b| b.by_sync);
    if queued && inst.engine == Engine::Unassigned && !inst.opcode.is(Trait::Terminator) && !owns_updates(inst.opcode) {
        return Err(Error::new(Code::S016, "the instruction has no engine"));
    }
    Ok(())
}
