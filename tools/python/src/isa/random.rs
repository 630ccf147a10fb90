//! Random numbers and their states.

use super::call::named;
use super::{CHIP, Kind::*, NAME, Row, SB, d, p};
use crate::op::Op;
use birsim_engine::ir::opcodes::field as f;
use birsim_engine::ir::{Engine, MemsetMode, Opcode};

pub const ROWS: &[Row] = &[
    Row {
        name: "rng",
        doc: "Random bits, as many as the integers of dst have.",
        since: 2,
        params: &[p("dst", Out(CHIP)), d("engine", Enum("engine"), "engine.unknown"), NAME],
        lower: |c| {
            let engine = c.engine(1, &[Engine::Dve, Engine::Pool])?.unwrap_or(Engine::Dve);
            let op = Op::new(Opcode::Memset, engine)
                .with(f::Memset::mode, named(MemsetMode::Random))
                .with(f::Memset::constant, 0i64);
            c.emit(op.output(c.output(0)?))
        },
    },
    Row {
        name: "set_rng_seed",
        doc: "Seeds the generator of rng.",
        since: 2,
        params: &[p("src_seeds", Src(CHIP)), NAME],
        lower: |c| c.emit(Op::new(Opcode::SetRandState, Engine::Pool).input(c.input(0)?)),
    },
    Row {
        name: "rand_set_state",
        doc: "Sets the state of an engine's generator.",
        since: 3,
        params: &[p("src_seeds", Src(CHIP)), d("engine", Enum("engine"), "engine.gpsimd"), NAME],
        lower: |c| {
            let engine = c.engine(1, &[Engine::Dve, Engine::Pool])?.unwrap_or(Engine::Pool);
            c.emit(Op::new(Opcode::RandSetState, engine).input(c.input(0)?))
        },
    },
    Row {
        name: "rand_get_state",
        doc: "Reads the state of an engine's generator.",
        since: 3,
        params: &[p("dst", Out(CHIP)), d("engine", Enum("engine"), "engine.gpsimd"), NAME],
        lower: |c| {
            let engine = c.engine(1, &[Engine::Dve, Engine::Pool])?.unwrap_or(Engine::Pool);
            c.emit(Op::new(Opcode::RandGetState, engine).output(c.output(0)?))
        },
    },
    Row {
        name: "rand2",
        doc: "Uniform numbers between two bounds.",
        since: 4,
        params: &[p("dst", Out(CHIP)), d("min", Scalar(CHIP), "0.0"), d("max", Scalar(CHIP), "1.0"), NAME],
        lower: |c| {
            let max = if c.has(2) { c.operand(2, false)? } else { crate::op::Opnd::Float(1.0) };
            c.emit(Op::new(Opcode::Rand2, Engine::Dve).input(c.operand(1, false)?).input(max).output(c.output(0)?))
        },
    },
    Row {
        name: "dropout",
        doc: "dst = data, with each element zero with the probability prob.",
        since: 2,
        params: &[p("dst", Out(SB)), p("data", Src(SB)), p("prob", Scalar(SB)), NAME],
        lower: |c| {
            c.same(0, 1)?;
            let op = Op::new(Opcode::Dropout, Engine::Dve).with(f::Dropout::is_keep_threshold, false);
            c.emit(op.input(c.input(1)?).input(c.operand(2, false)?).output(c.output(0)?))
        },
    },
];
