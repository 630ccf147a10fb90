//! Parallel loops.

use crate::ir::{Block, Instruction, Steer, ThinVec, Trait, Value};
use crate::{Code, Error, Result};
use birsim_kernels::profile::ParallelLoops;
use std::borrow::Cow;

/// Parallel loops run instruction-major (ruling D43): every instruction of the body gets the loop to itself.
pub(super) fn expand_parallel(list: &[Instruction], order: ParallelLoops) -> Result<Vec<Cow<'_, Instruction>>> {
    let mut out = Vec::with_capacity(list.len());
    for i in list {
        let apart = order == ParallelLoops::InstructionMajor && i.field("isParallel") == Some(Value::Bool(true));
        if !i.opcode.steers(Steer::Loop) || !apart {
            out.push(Cow::Borrowed(i));
            continue;
        }
        // The loop waits before its first instruction and signals after its last one.
        let mut inside = Vec::new();
        for b in &i.blocks {
            for inner in expand_parallel(&b.instructions, order)? {
                if inner.opcode.is(Trait::Terminator) {
                    return Err(Error::new(Code::U002, "a branch inside a parallel loop is not modelled")
                        .received(inner.opcode)
                        .at(|p| p.instruction = Some(inner.name.clone())));
                }
                inside.push((b.name.as_str(), Some(inner.into_owned())));
            }
        }
        if inside.is_empty() {
            inside.push(("", None));
        }
        let last = inside.len() - 1;
        let mut bare = Instruction { blocks: ThinVec::new(), ..i.clone() };
        bare.set("isParallel", Value::Bool(false));
        for (k, (name, inner)) in inside.into_iter().enumerate() {
            let mut shell = bare.clone();
            if k > 0 {
                shell.sync.on_wait.clear();
            }
            if k < last {
                shell.sync.on_update.clear();
                shell.sync.second_update.clear();
            }
            let instructions: Vec<Instruction> = inner.into_iter().collect();
            let arguments = Vec::new();
            shell.blocks =
                [Block { name: name.to_string(), arguments, instructions, extra: Default::default() }].into();
            out.push(Cow::Owned(shell));
        }
    }
    Ok(out)
}
