//! Stage 4: runs the issue list in issue order, each call read -> compute -> write.

use super::dispatch::Calls;
use super::{column, slice, table};
use crate::control::advance::{check_engine, predicates_hold};
use crate::exec::{Cx, Machine, Scalars};
use crate::ir::table::RouteClass;
use crate::memory::ArenaMem;
use crate::world::*;
use crate::{Code, Error, Result};
use bevy_ecs::prelude::*;

type EngineState<'a> = (&'a mut RegisterFile, &'a mut Accumulators, &'a mut EngineRng);

#[expect(clippy::too_many_arguments, reason = "one parameter per kind of component the stage touches")]
pub(super) fn memory(
    program: Res<Program>,
    settings: Res<Settings>,
    mut calls: ResMut<Calls>,
    mut issue: ResMut<IssueList>,
    mut run: ResMut<Run>,
    mut arenas: Query<(&mut ArenaMem, &mut InitShadow, &mut AccumShadow)>,
    mut locations: Query<(&Placement, &mut LocationState)>,
    mut engines: Query<EngineState>,
    axes: Query<&Induction>,
    mut triggers: Query<&mut FireCount>,
) {
    if calls.0.is_empty() {
        return;
    }
    let mut arenas = table!(arenas);
    let mut locations = table!(locations);
    let Some((mut registers, mut accumulators, mut rngs)) = table!(engines) else { return };
    let (mem, inits, accums): (&mut [ArenaMem], &mut [InitShadow], &mut [AccumShadow]) = match &mut arenas {
        Some((a, i, s)) => (a.bypass_change_detection(), i.bypass_change_detection(), s.bypass_change_detection()),
        None => (&mut [], &mut [], &mut []),
    };
    let (places, states): (&[Placement], &mut [LocationState]) = match &mut locations {
        Some((p, s)) => (p, s.bypass_change_detection()),
        None => (&[], &mut []),
    };
    let mut triggers = table!(triggers);
    let mut machine = Machine {
        program: &program,
        arenas: mem,
        inits,
        accums,
        places,
        states,
        registers: registers.bypass_change_detection(),
        accumulators: accumulators.bypass_change_detection(),
        rngs: rngs.bypass_change_detection(),
        induction: slice!(axes),
        fires: column!(triggers),
        settings: &settings,
        run: &mut run,
    };
    let mut done = 0;
    for call in calls.0.drain(..) {
        let outcome = match call.execute {
            Some(execute) => execute_one(&mut machine, call.row, execute),
            None => note_unmodelled(&mut machine, call.row),
        };
        if let Err(e) = outcome {
            machine.run.fault = Some(program.locate(e, call.row));
            break;
        }
        machine.run.count(call.opcode);
        done += 1;
    }
    issue.rows.truncate(done);
}

/// Executes one row, unless a predicate says no.
fn execute_one(m: &mut Machine, row: u32, execute: crate::exec::Execute) -> Result<()> {
    let inst = &m.program.insts[row as usize];
    check_engine(m.program, inst)?;
    if !inst.predicates.is_empty() {
        let env = Scalars { registers: m.registers, induction: m.induction, core: m.settings.core };
        if !predicates_hold(&inst.predicates, &env)? {
            return Ok(());
        }
    }
    execute(&mut Cx::new(m, row)?)
}

/// A row without a kernel: sync-only, control, skip-and-note, or not modelled.
fn note_unmodelled(m: &mut Machine, row: u32) -> Result<()> {
    let inst = &m.program.insts[row as usize];
    check_engine(m.program, inst)?;
    match inst.opcode.row().class {
        RouteClass::NoOp | RouteClass::ControlFlow => Ok(()),
        RouteClass::Skipped if !m.settings.unsupported_is_error => {
            m.run.stats.skipped[inst.opcode.ordinal() as usize] += 1;
            m.run.note(Diagnostic {
                class: "warning",
                code: "skipped",
                message: format!("{} is skipped, as the reference simulator does", inst.opcode),
                payload: Some(row),
                tensor: None,
            });
            Ok(())
        }
        _ if !matches!(inst.control, Control::None) => Ok(()),
        _ => Err(Error::new(Code::U001, format!("{} is not modelled", inst.opcode))),
    }
}
