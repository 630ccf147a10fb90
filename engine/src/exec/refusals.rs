//! What an instruction refuses whatever its inputs are: what `validate` reports.
//!
//! Nothing is judged here. Parameters are prepared as they are at load, then the code of the opcode is rehearsed: it opens
//! its operands and its kernel checks them, over memory that nobody looks at. So the errors are those of a run.

use super::fields::draft;
use super::table::code;
use super::{Cx, Machine};
use crate::ir::RouteClass;
use crate::world::*;
use crate::{Code, Error, Result};
use birsim_kernels::profile::Guard;
use birsim_kernels::rehearsal::rehearse;

/// Makes rehearsals possible, where the host has address space for them.
pub fn set_up(m: &mut Machine) {
    let largest = m.arenas.iter().map(|a| a.len()).max().unwrap_or(0);
    m.scratch.rehearsal = Rehearsal::new(largest);
}

/// Errors that executing a row raises on every run, each with its place. The first one is what a run stops at.
pub fn refusals(m: &mut Machine, row: RowId) -> Vec<Error> {
    let program = m.program;
    let inst = &program.insts[row];
    let mut found = Vec::new();
    if let Err(e) = check_engine(program, inst) {
        found.push(e);
    }
    // Functions other than the entry run in a call only.
    if let Control::Call { function, .. } = &inst.control
        && m.settings.profile.nested_calls == Guard::Refuse
        && program.blocks.get(inst.block.at()).is_some_and(|b| b.function != FunctionId::ENTRY)
    {
        found.push(nested_call(program, *function));
    }
    match code(inst.opcode) {
        None => found.extend(unmodelled(inst, m.settings.unsupported_is_error)),
        Some(code) => {
            let first = match own_keys(m, inst, code.prepare) {
                Err(e) => Some(e),
                Ok(true) if code.rehearses && m.scratch.rehearsal.is_some() && is_known(program, inst) => {
                    rehearsal(m, row, code.run)
                }
                Ok(_) => None,
            };
            found.extend(first);
        }
    }
    for operand in all_operands(program, inst) {
        if let Opnd::Faulty(e) = operand
            && !found.contains(e)
        {
            found.push((**e).clone());
        }
    }
    found.into_iter().map(|e| program.locate(e, row)).collect()
}

/// Whether the parameters are prepared; an error when they are refused.
fn own_keys(m: &Machine, inst: &Inst, prepare: Prepare) -> Result<bool> {
    if let Own::Ready(_) = inst.own {
        return Ok(true);
    }
    let draft = draft(m, inst, None);
    match prepare(&draft) {
        Err(e) if !draft.waits.get() => Err(e),
        _ => Ok(false),
    }
}

fn rehearsal(m: &mut Machine, row: RowId, run: super::Execute) -> Option<Error> {
    m.scratch.dynamic.clear();
    m.scratch.open = false;
    rehearse(|| Cx::new(m, row).and_then(|mut cx| run(&mut cx))).err()
}

/// No operand depends on the run.
fn is_known(program: &Program, inst: &Inst) -> bool {
    let fixed = |o: &Opnd| matches!(o, Opnd::Static { .. } | Opnd::Faulty(_) | Opnd::Imm { .. } | Opnd::ImmArray(_));
    all_operands(program, inst).iter().all(fixed)
}

fn all_operands<'p>(program: &'p Program, inst: &Inst) -> &'p [Opnd] {
    let r = inst.operands;
    &program.operands[r.first as usize..][..(r.ins + r.outs + r.indirect) as usize]
}

/// An opcode that nothing models. Whether those that the reference skips are errors is a choice of the run.
fn unmodelled(inst: &Inst, skipped_is_error: bool) -> Option<Error> {
    let known = match inst.opcode.row().class {
        RouteClass::NoOp | RouteClass::ControlFlow => true,
        RouteClass::Skipped => !skipped_is_error,
        RouteClass::Kernel | RouteClass::Abstract => false,
    };
    let acts = !matches!(inst.control, Control::None);
    (!known && !acts).then(|| Error::new(Code::U001, format!("{} is not modelled", inst.opcode)))
}
