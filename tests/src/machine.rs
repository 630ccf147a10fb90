//! Small programs over one row of cells, run under several schedules at once.

use crate::build::{imm, looped, reg, register};
use birsim_benches::programs::{block, cell, module, step, tensor};
use birsim_engine::ir::{
    Block, Engine, Expr, Instruction, MemoryType, Module, Opcode, Predicate, PredicateOp, Storage, TensorKind,
    UpdateRef, Value, WaitRef,
};
use birsim_engine::world::read_register;
use birsim_engine::world::{Program, RegisterFile};
use birsim_engine::{Error, IssueOrder, Limits, Simulator};
use birsim_kernels::alu::AluOp;
use birsim_kernels::{Dtype, Profile};

/// A row of 64 float32 cells that start as 0.
pub fn cells() -> Storage {
    tensor("cells", MemoryType::Sb, TensorKind::Internal, 1, 64)
}

/// Adds 1 to a cell.
pub fn count(name: &str, at: i64) -> Instruction {
    on(name, Engine::Dve, at)
}

/// Adds 1 to a cell, on an engine.
pub fn on(name: &str, engine: Engine, at: i64) -> Instruction {
    step(name.into(), engine, cell("cells", at), cell("cells", at), 1.0)
}

/// The same instruction with a wait.
#[must_use]
pub fn waiting(mut i: Instruction, w: WaitRef) -> Instruction {
    i.sync.on_wait.push(w);
    i
}

/// The same instruction with an update.
#[must_use]
pub fn signalling(mut i: Instruction, u: UpdateRef) -> Instruction {
    i.sync.on_update.push(u);
    i
}

/// An instruction of engine ALL without operands.
pub fn plain(name: &str, opcode: Opcode) -> Instruction {
    Instruction::new(name, opcode, Engine::All)
}

/// A program of one block over the cells and some registers.
pub fn program(registers: Vec<Storage>, list: Vec<Instruction>) -> Module {
    module([vec![cells()], registers].concat(), list)
}

/// The same with several blocks.
pub fn blocks(registers: Vec<Storage>, list: Vec<Block>) -> Module {
    let mut m = program(registers, Vec::new());
    m.functions[0].blocks = list;
    m
}

/// A machine after its run.
pub struct Done {
    /// The machine.
    pub sim: Simulator,
    /// How the run ended.
    pub outcome: Result<(), Error>,
}

impl Done {
    /// Runs a program under one schedule, with limits that end what would not end by itself.
    pub fn with(m: &Module, schedule: IssueOrder) -> Self {
        Done::under(m, schedule, Profile::reference())
    }

    /// As [`Done::with`], under the choices of a profile.
    pub fn under(m: &Module, schedule: IssueOrder, profile: Profile) -> Self {
        let limits = Limits { max_instructions: Some(100_000), ..Limits::default() };
        let mut sim = Simulator::builder()
            .threads(1)
            .schedule(schedule)
            .limits(limits)
            .profile(profile)
            .build()
            .expect("a simulator");
        let mut outcome = sim.load(m);
        if outcome.is_ok() && sim.tensors().iter().any(|t| t.name == "cells") {
            outcome = sim.bind("cells", &[0; 256]);
        }
        let outcome = outcome.and_then(|()| sim.run().map(|_| ()));
        Done { sim, outcome }
    }

    /// Values of the cells.
    pub fn cells(&mut self) -> Vec<f32> {
        let bytes = self.sim.output("cells").expect("the cells are there");
        bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    }

    /// Value of a register, extended by its type.
    pub fn register(&mut self, name: &str) -> i64 {
        let world = self.sim.world_mut().expect("a program is loaded");
        let files: Vec<RegisterFile> = world.query::<&RegisterFile>().iter(world).cloned().collect();
        let all = &world.resource::<Program>().registers;
        let (_, r) = all.iter().find(|(n, _)| n.as_ref() == name).expect("the register is declared");
        read_register(&files, *r)
    }
}

const SCHEDULES: [IssueOrder; 4] =
    [IssueOrder::Window, IssueOrder::Reference, IssueOrder::Seeded(1), IssueOrder::Seeded(2)];

/// The cells after a run, which every schedule agrees on.
#[track_caller]
pub fn run(m: &Module) -> Vec<f32> {
    let all = SCHEDULES.map(|s| {
        let mut done = Done::with(m, s);
        if let Err(e) = &done.outcome {
            panic!("{s:?}: {e}");
        }
        done.cells()
    });
    assert!(all.iter().all(|c| *c == all[0]), "{all:?}");
    all[0].clone()
}

/// The error of a run, the same code and instruction under every schedule.
#[track_caller]
pub fn fails(m: &Module) -> Error {
    let all = SCHEDULES.map(|s| match Done::with(m, s).outcome {
        Err(e) => e,
        Ok(()) => panic!("{s:?}: the run succeeds"),
    });
    let key = |e: &Error| (e.code(), e.place().instruction.clone());
    assert!(all.iter().all(|e| key(e) == key(&all[0])), "{all:?}");
    all[0].clone()
}

/// A register after a run under the default schedule.
#[track_caller]
pub fn register_after(m: &Module, name: &str) -> i64 {
    let mut done = Done::with(m, IssueOrder::Window);
    if let Err(e) = &done.outcome {
        panic!("{e}");
    }
    done.register(name)
}

/// An operand of another element type at the same place.
#[must_use]
pub fn typed(mut o: birsim_engine::ir::Operand, dtype: Dtype) -> birsim_engine::ir::Operand {
    if let birsim_engine::ir::Operand::Physical(a) = &mut o {
        a.dtype = dtype;
    }
    o
}

/// Moves a number into a register, on every engine.
pub fn set(name: &str, register: &str, value: i128) -> Instruction {
    let mut i = plain(name, Opcode::RegisterMove);
    i.ins = vec![imm(value)];
    i.outs = vec![reg(register)];
    i
}

/// Adds a number to a register, on every engine.
pub fn add(name: &str, register: &str, value: i128) -> Instruction {
    let mut i = plain(name, Opcode::RegisterAlu).with("op", Value::named(AluOp::Add));
    i.ins = vec![reg(register), imm(value)];
    i.outs = vec![reg(register)];
    i
}

/// A static loop over a list.
pub fn counted(axis: &str, lb: i64, ub: i64, stride: i64, list: Vec<Instruction>) -> Instruction {
    let [lb, ub, stride] = [lb, ub, stride].map(Expr::Const);
    let mut l = looped(format!("L-{axis}"), Opcode::Loop, axis, lb, ub, stride);
    l.blocks = vec![block(&format!("{axis}-body"), list)].into();
    l
}

/// The same instruction, executed only when `expr op 0`.
#[must_use]
pub fn when(mut i: Instruction, expr: Expr, op: PredicateOp) -> Instruction {
    i.predicates.push(Predicate { expr, op });
    i
}

/// Two registers, `r` and `t`.
pub fn r() -> Vec<Storage> {
    vec![register("r", Engine::All, -1), register("t", Engine::All, -1)]
}
