//! Own keys: the parameters that an opcode prepared, and the forms that they decide.

use super::{Cx, Execute, Machine};
use crate::Result;
use crate::ir::{Params, Rule};
use crate::world::*;

/// `prepare` of opcodes whose code takes the record of the row as it is.
pub(super) fn own<P: Params>(draft: &Draft) -> Result<P> {
    P::decode(draft)
}

/// Prepares parameters of the type that `run` takes.
pub(super) fn prepared<P: Send + Sync + 'static>(
    draft: &Draft,
    prepare: impl Fn(&Draft) -> Result<P>,
    _run: impl Fn(&mut Cx, &P) -> Result<()>,
) -> Result<Ready> {
    Ok(Box::new(prepare(draft)?))
}

/// Runs an instruction with the parameters that were prepared at load, or are prepared now.
pub(super) fn run<P: Send + Sync + 'static>(
    cx: &mut Cx,
    prepare: impl Fn(&Draft) -> Result<P>,
    run: impl Fn(&mut Cx, &P) -> Result<()>,
) -> Result<()> {
    let inst = cx.inst;
    match inst.own.get::<P>() {
        Some(p) => run(cx, p),
        None => {
            let p = prepare(&cx.draft())?;
            run(cx, &p)
        }
    }
}

/// The code of one opcode.
#[derive(Clone, Copy)]
pub struct Bound {
    /// Makes its parameters, at load where nothing depends on the run.
    pub prepare: Prepare,
    /// Runs it.
    pub run: Execute,
    /// Rehearsing it changes nothing, and it checks its operands before it looks at their elements.
    pub rehearses: bool,
}

/// An instruction as `prepare` sees it.
pub(super) fn draft<'a>(m: &'a Machine, inst: &'a Inst, now: Option<Now<'a>>) -> Draft<'a> {
    Draft {
        opcode: inst.opcode,
        engine: inst.engine,
        auto_accumulate: inst.auto_accumulate,
        fields: inst.own.keys(),
        operands: inst.operands,
        program: m.program,
        profile: &m.settings.profile,
        target: m.settings.target,
        now,
        waits: Default::default(),
    }
}

impl Cx<'_, '_> {
    /// The instruction as `prepare` sees it now.
    pub(super) fn draft(&self) -> Draft<'_> {
        draft(self.m, self.inst, Some(Now { scalars: self.scalars(), dynamic: &self.m.scratch.dynamic }))
    }

    /// The instruction is only rehearsed: its operands are checked, and nothing is computed.
    pub fn rehearses(&self) -> bool {
        self.m.scratch.rehearsal.is_some()
    }

    /// Whether a form holds. Where the keys did not decide it at load, `rule` picks its rule from the row.
    pub fn is_form(&self, form: Form, rule: impl Fn(&Rule) -> bool) -> Result<bool> {
        match form {
            Form::No => Ok(false),
            Form::Yes => Ok(true),
            Form::Open => self.draft().met(self.inst.opcode.row().rule(rule).unwrap_or_default()),
        }
    }
}
