//! Stage 3: from issued rows to calls.
//!
//! Operands with a static address were resolved when the program was loaded; those that depend on registers or loop
//! axes are resolved by the memory stage right before the call, because an earlier call of the same list may write them.

use crate::exec::{Execute, kernel};
use crate::ir::Opcode;
use crate::world::{IssueList, Program, RowId};
use bevy_ecs::prelude::*;

/// What happens for one issued row.
#[derive(Clone, Copy)]
pub struct Call {
    /// Row.
    pub row: RowId,
    /// Opcode.
    pub opcode: Opcode,
    /// Kernel; `None` where only sync or control acts, or where nothing is modelled.
    pub execute: Option<Execute>,
}

pub(super) fn dispatch(issue: Res<IssueList>, mut calls: ResMut<Calls>, program: Res<Program>) {
    run(&program, &issue, &mut calls);
}

/// The stage itself.
pub(super) fn run(program: &Program, issue: &IssueList, calls: &mut Calls) {
    calls.0.clear();
    calls.0.extend(issue.rows.iter().map(|row| {
        let opcode = program.insts[*row].opcode;
        Call { row: *row, opcode, execute: kernel(opcode) }
    }));
}

/// The rows of the issue list with the code that runs them.
#[derive(Resource, Default)]
pub struct Calls(pub Vec<Call>);
