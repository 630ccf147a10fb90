//! What is asked of a core between ticks: which rows wait for other cores, what they meet, and what they bring.

use super::machine::MachineParam;
use crate::exec::collective::{dense_bytes, dense_into};
use crate::exec::{self, Cx, Want};
use crate::world::columns::slice;
use crate::world::*;
use crate::{Code, Error, Result};
use bevy_ecs::prelude::*;
use birsim_kernels::alu::AluOp;
use birsim_kernels::collective::fold_into;

/// A row that waits for other cores, and the rows of other engines that its place in a queue depends on.
pub(crate) struct Standing {
    /// The row.
    pub row: RowId,
    /// Rows that come before it in list order and have not run.
    pub before: Vec<RowId>,
    /// Rows that come after it in list order and were let through already.
    pub after: Vec<RowId>,
}

/// The rows that wait for other cores and were not let through.
pub(crate) fn standing(
    program: Res<Program>,
    settings: Res<Settings>,
    pc: Res<ProgramCounter>,
    rows: Query<&SyncSet>,
    cursors: Query<&Cursor>,
    registers: Query<&RegisterFile>,
    axes: Query<&Induction>,
) -> Vec<Standing> {
    let (syncs, cursors) = (slice!(rows), slice!(cursors));
    let env = Scalars { registers: slice!(registers), induction: slice!(axes), seat: settings.seat };
    let index = |row: RowId| program.insts[row].index;
    let waiting = pc.meetings.iter().filter(|row| !pc.granted.contains(row));
    let one = |row: &RowId| {
        let mut before = Vec::new();
        // The rows of one engine are in list order, so only the other engines can hold earlier ones. A block that runs in
        // list order has one queue, whose head this row is.
        for c in cursors.iter().take(QUEUES).filter(|c| !c.contains(*row)) {
            let earlier = c.rows().take_while(|r| index(*r) < index(*row));
            before.extend(earlier.filter(|r| {
                let runs = || predicates_hold(&program.insts[*r].predicates, &env).unwrap_or(false);
                syncs[*r].meets && !pc.met.contains(r) && runs()
            }));
        }
        let after = pc.met.iter().copied().filter(|r| index(*r) > index(*row)).collect();
        Standing { row: *row, before, after }
    };
    waiting.map(one).collect()
}

/// What a row meets.
pub(crate) fn meeting(In(row): In<RowId>, mut machine: MachineParam) -> Result<Meeting> {
    ask(&mut machine, row, |cx| exec::cores::meeting(cx))
}

/// What a row brings to its meeting, without the bytes of its inputs.
pub(crate) fn contribution(In(row): In<RowId>, mut machine: MachineParam) -> Result<Contribution> {
    ask(&mut machine, row, |cx| {
        let extent = |cx: &Cx, k: usize, role: &str, n: usize| match cx.location_and_pattern(k)? {
            Some((_, pattern)) => Extent::of(pattern),
            None => Err(Error::new(Code::J009, "a collective moves tensors").operand(format!("{role}[{n}]"))),
        };
        let mut out = Contribution { in_place: cx.in_place(), ..Contribution::default() };
        for k in 0..cx.n_ins() {
            out.ins.push(extent(cx, k, "ins", k)?);
        }
        for k in 0..cx.n_outs() {
            out.outs.push(extent(cx, cx.n_ins() + k, "outs", k)?);
        }
        Ok(out)
    })
}

/// The inputs of a row before it executes.
pub(crate) fn inputs(In(row): In<RowId>, mut machine: MachineParam) -> Result<Vec<Vec<u8>>> {
    let one = |cx: &mut Cx, k: usize| dense_bytes(&cx.open(&[Want::In(k)])?.ins.src(k)?);
    ask(&mut machine, row, |cx| (0..cx.n_ins()).map(|k| one(cx, k)).collect())
}

/// Reads an input of a row into a buffer.
pub(crate) fn input(
    (In((row, k)), InMut(buffer)): (In<(RowId, usize)>, InMut<Vec<u8>>),
    mut machine: MachineParam,
) -> Result<()> {
    ask(&mut machine, row, |cx| dense_into(&cx.open(&[Want::In(k)])?.ins.src(k)?, buffer))
}

/// Folds an input of a row into an accumulator, which the first one `seeds`.
pub(crate) fn fold(
    (In((row, k, op, seeds)), InMut(acc)): (In<(RowId, usize, AluOp, bool)>, InMut<[f32]>),
    mut machine: MachineParam,
) -> Result<()> {
    ask(&mut machine, row, |cx| {
        let io = cx.open(&[Want::In(k)])?;
        fold_into(op, &io.ins.src(k)?, acc, seeds, io.profile)
    })
}

/// Writes an output of a row before the row executes.
pub(crate) fn land(
    (In((row, k, extent)), InRef(bytes)): (In<(RowId, usize, Extent)>, InRef<[u8]>),
    mut machine: MachineParam,
) -> Result<()> {
    ask(&mut machine, row, |cx| exec::collective::land(cx, k, &extent, bytes))
}

fn ask<R>(machine: &mut MachineParam, row: RowId, f: impl FnOnce(&mut Cx) -> Result<R>) -> Result<R> {
    let answer = machine.with(|m| {
        let (program, stop) = (m.program, m.settings.stop.clone());
        let answer = birsim_kernels::halt::scope(stop, || Cx::new(m, row).and_then(|mut cx| f(&mut cx)));
        answer.map_err(|e| program.locate(e, row))
    });
    answer.unwrap_or_else(|| Err(Error::new(Code::B001, "the core has no engines")))
}
