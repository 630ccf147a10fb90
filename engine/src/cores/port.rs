//! What passes between a core and the others: messages, semaphore updates, meetings.

use crate::control::state::{help, report, waits};
use crate::exec::collective::{dense_bytes, dense_into};
use crate::exec::{self, Cx, Want};
use crate::ir::SyncKind;
use crate::sim::Core;
use crate::sync::deadlock::{Elsewhere, Helper};
use crate::systems::{self, Standing};
use crate::world::*;
use crate::{Code, Error, Result};
use birsim_kernels::alu::AluOp;
use birsim_kernels::collective::fold_into;
use crossbeam::channel::Sender;

impl Core {
    /// Gives the core its way to the others.
    pub(super) fn connect(&mut self, id: usize, send: &Sender<Sent>) {
        self.world.insert_resource(Post::new(id as u32, send.clone()));
    }

    /// Where the core sits.
    pub(crate) fn seat(&self) -> Seat {
        self.world.resource::<Settings>().seat
    }

    /// Bytes of its messages were received.
    pub(super) fn taken_over(&mut self, bytes: usize) {
        let mut post = self.world.resource_mut::<Post>();
        post.in_flight = post.in_flight.saturating_sub(bytes);
        self.world.resource::<Settings>().limits.give_back(bytes as u64);
    }

    /// Applies an update that another core sent.
    pub(super) fn apply_update(&mut self, update: &Update) -> Result<()> {
        self.world
            .run_system_cached_with(crate::sync::bank::apply, *update)
            .unwrap_or_else(|e| Err(Error::new(Code::B001, format!("an update cannot be applied: {e}"))))
    }

    /// Rows that wait for other cores and were not let through.
    pub(super) fn standing(&mut self) -> Result<Vec<Standing>> {
        match self.world.resource::<ProgramCounter>().meetings.is_empty() {
            true => Ok(Vec::new()),
            false => self.ask(systems::standing),
        }
    }

    /// What a row meets.
    pub(super) fn meeting(&mut self, row: RowId) -> Result<Meeting> {
        self.with_row(row, |cx| exec::cores::meeting(cx))
    }

    /// What a row brings to its meeting, without the bytes of its inputs.
    pub(super) fn contribution(&mut self, row: RowId) -> Result<Contribution> {
        let extent = |cx: &Cx, k: usize, role: &str, n: usize| match cx.location_and_pattern(k)? {
            Some((_, pattern)) => Extent::of(pattern),
            None => Err(Error::new(Code::J009, "a collective moves tensors").operand(format!("{role}[{n}]"))),
        };
        self.with_row(row, |cx| {
            Ok(Contribution {
                inputs: Vec::new(),
                in_place: cx.in_place(),
                ins: (0..cx.n_ins()).map(|k| extent(cx, k, "ins", k)).collect::<Result<_>>()?,
                outs: (0..cx.n_outs()).map(|k| extent(cx, cx.n_ins() + k, "outs", k)).collect::<Result<_>>()?,
            })
        })
    }

    /// The inputs of a row before it executes.
    pub(super) fn inputs(&mut self, row: RowId) -> Result<Vec<Vec<u8>>> {
        let one = |cx: &mut Cx, k: usize| dense_bytes(&cx.open(&[Want::In(k)])?.ins.src(k)?);
        self.with_row(row, |cx| (0..cx.n_ins()).map(|k| one(cx, k)).collect())
    }

    /// Reads an input of a row into a buffer.
    pub(super) fn input(&mut self, row: RowId, k: usize, buffer: &mut Vec<u8>) -> Result<()> {
        self.with_row(row, |cx| dense_into(&cx.open(&[Want::In(k)])?.ins.src(k)?, buffer))
    }

    /// Folds an input of a row into an accumulator, which the first one `seeds`.
    pub(super) fn fold(&mut self, row: RowId, k: usize, op: AluOp, seeds: bool, acc: &mut [f32]) -> Result<()> {
        self.with_row(row, |cx| {
            let io = cx.open(&[Want::In(k)])?;
            fold_into(op, &io.ins.src(k)?, acc, seeds, io.profile)
        })
    }

    /// Writes an output of a row before the row executes.
    pub(super) fn land(&mut self, row: RowId, k: usize, extent: &Extent, bytes: &[u8]) -> Result<()> {
        self.with_row(row, |cx| exec::collective::land(cx, k, extent, bytes))
    }

    /// Lets a row through, with what it takes from its meeting.
    pub(super) fn grant(&mut self, row: RowId, received: Received) {
        let mut pc = self.world.resource_mut::<ProgramCounter>();
        pc.granted.push(row);
        pc.met.push(row);
        // A barrier takes nothing and has no kernel that would ask for it.
        if self.world.resource::<Program>().insts[row].opcode != crate::ir::Opcode::CoreBarrier {
            self.world.resource_mut::<Mail>().received.push((row, received));
        }
    }

    /// Adds a remark.
    pub(super) fn remark(&mut self, d: Diagnostic) {
        self.world.resource_mut::<Findings>().note(d);
    }

    /// Instruction of a row as messages name it.
    pub(super) fn row_text(&self, row: RowId) -> String {
        let program = self.world.resource::<Program>();
        let inst = &program.insts[row];
        format!("{} ({})", program.name_of(inst), inst.opcode)
    }

    /// Name of the instruction of a row.
    pub(super) fn row_name(&self, row: RowId) -> String {
        let program = self.world.resource::<Program>();
        program.name_of(&program.insts[row]).into_owned()
    }

    /// Places an error at a row.
    pub(super) fn locate(&self, e: Error, row: RowId) -> Error {
        self.world.resource::<Program>().locate(e, row)
    }

    /// What the engines wait for, as text, with what other cores could do about it.
    pub(super) fn report(&mut self, elsewhere: Elsewhere) -> String {
        self.world.run_system_cached_with(report, elsewhere).unwrap_or_else(|_| "is blocked".into())
    }

    /// Rows that wait, and for which event or semaphore.
    pub(super) fn waits(&mut self) -> Vec<(RowId, SyncKind, u32)> {
        self.ask(waits).unwrap_or_default()
    }

    /// What the core could do for a wait of core `core` of its rank.
    pub(super) fn help(&mut self, kind: SyncKind, id: u32, core: u32) -> Vec<Helper> {
        self.world.run_system_cached_with(help, (kind, id, core)).unwrap_or_default()
    }
}
