//! Instructions whose effect is not a kernel: empty ones, DMA triggers, checks.

use super::Cx;
use super::fields::own;
use crate::ir::opcodes::params;
use crate::world::{Control, Draft, FireCount, compared};
use crate::{Code, Error, Result};

bind! {
    LoadActFuncSet(act_func_set) => accepted,
    CoreBarrier(own) => barrier,
    CompareAndBranch(branch) => accepted,
    UnconditionalBranch => nothing,
    BranchHint => nothing,
    Return => nothing,
    Exit => nothing,
    Break => nothing,
    Call => nothing,
    DMATrigger => dma_trigger,
    NKIKernel => nothing,
    GroupResetSemaphores => nothing,
    Drain => nothing,
    Halt => nothing,
    SwitchQueueInstance => nothing,
    ResetQueueInstance => nothing,
    TensorCompletion => nothing,
}

/// Only the instruction's waits, updates and control effect act.
pub fn nothing(_: &mut Cx) -> Result<()> {
    Ok(())
}

/// CoreBarrier (87): the rendezvous has happened when it runs; [`super::cores::meeting`] reads its record.
pub fn barrier(_: &mut Cx, _: &params::CoreBarrier) -> Result<()> {
    Ok(())
}

/// LoadActFuncSet (6): the id is not negative.
fn act_func_set(draft: &Draft) -> Result<()> {
    let id = own::<params::LoadActFuncSet>(draft)?.act_func_set_id;
    if id < 0 {
        return Err(Error::new(Code::S008, "the id of an activation function set is not negative")
            .received(id)
            .operand("act_func_set_id"));
    }
    Ok(())
}

/// CompareAndBranch (78): what it compares is checked here, where it goes is decided by `control/`.
fn branch(draft: &Draft) -> Result<()> {
    let own = own::<params::CompareAndBranch>(draft)?;
    compared(draft.ins(), own.comp_op, draft.profile.branch_dtypes).map(|_| ())
}

/// An instruction whose parameters are read and which does nothing else.
pub fn accepted(_: &mut Cx, _: &()) -> Result<()> {
    Ok(())
}

/// DMATrigger (67): firing n runs dma_blocks[n mod count], its descriptors in order.
pub fn dma_trigger(cx: &mut Cx) -> Result<()> {
    let Control::Trigger { trigger, blocks } = &cx.inst.control else { return Ok(()) };
    let Some(fires) = cx.m.fires.get_mut(trigger.at()) else { return Ok(()) };
    let n = fires.0;
    *fires = FireCount(n + 1);
    if blocks.is_empty() {
        return Ok(());
    }
    let block = blocks[(n % blocks.len() as u64) as usize];
    let Control::Descriptors(descriptors) = &cx.m.program.insts[block].control else { return Ok(()) };
    for d in descriptors {
        let opcode = cx.m.program.insts[*d].opcode;
        let Some(execute) = super::kernel(opcode) else {
            return Err(Error::new(Code::U001, format!("{opcode} is not modelled")));
        };
        let program = cx.m.program;
        Cx::new(cx.m, *d).and_then(|mut inner| inner.call(execute)).map_err(|e| program.locate(e, *d))?;
        cx.m.stats.count(opcode);
    }
    Ok(())
}
