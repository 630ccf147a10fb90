//! Rules about instructions that several stages ask for.

use super::expr::Env;
use super::{CompiledPredicate, FunctionId, Inst, Opnd, Program};
use crate::ir::{BranchCompare, Engine, Opcode, PredicateOp, Trait};
use crate::{Code, Error, Result};
use birsim_kernels::Dtype;
use birsim_kernels::profile::BranchDtypes;

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

/// Checks that an instruction has an engine: queues need one, program order does not
/// (`klr.md` 8.2).
pub fn check_engine(program: &Program, inst: &Inst) -> Result<()> {
    let queued = program.blocks.get(inst.block.at()).is_some_and(|b| b.by_sync);
    if queued && inst.engine == Engine::Unassigned && !inst.opcode.is(Trait::Terminator) && !owns_updates(inst.opcode) {
        return Err(Error::new(Code::S016, "the instruction has no engine"));
    }
    Ok(())
}

/// The dtypes a branch compares (ruling D58).
const COMPARED: [Dtype; 7] =
    [Dtype::Uint8, Dtype::Int8, Dtype::Uint16, Dtype::Int16, Dtype::Uint32, Dtype::Int32, Dtype::Float32];

/// The dtype that a branch with these inputs compares.
pub fn compared(ins: &[Opnd], op: BranchCompare, dtypes: BranchDtypes) -> Result<Dtype> {
    let [lhs, _, ..] = ins else {
        return Err(Error::new(Code::J009, "a branch compares two operands").received(ins.len()));
    };
    let dtype = match lhs {
        Opnd::Register(_, d) => *d,
        Opnd::Imm { imm, .. } => imm.dtype,
        _ => return Err(Error::new(Code::J009, "a branch compares a register").operand("ins[0]")),
    };
    if dtypes == BranchDtypes::Documented && !COMPARED.contains(&dtype) {
        return Err(Error::new(Code::S007, "a branch compares integers of up to 32 bits and float32")
            .received(dtype)
            .operand("ins[0]"));
    }
    if op == BranchCompare::Unsupported {
        return Err(Error::new(Code::S008, "the branch comparison is Unsupported").operand("comp_op"));
    }
    Ok(dtype)
}

/// The error of a call in a called function.
pub fn nested_call(program: &Program, callee: FunctionId) -> Error {
    Error::new(Code::S013, "a called function calls another one").received(&program.functions[callee].name)
}
