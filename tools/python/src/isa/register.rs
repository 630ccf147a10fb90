//! Registers. `register_alloc`, which makes one, is Python: it is no instruction.

use super::call::Call;
use super::{ANY, Kind::*, NAME, Row, p};
use crate::op::{Op, Opnd};
use birsim_engine::ir::{Engine, Opcode};
use pyo3::prelude::*;

pub const ROWS: &[Row] = &[
    Row {
        name: "register_move",
        doc: "dst = src, a number or a register.",
        since: 2,
        params: &[p("dst", Register), p("src", Int), NAME],
        lower: |c| {
            let dst = c.register(0)?;
            let op = Op::new(Opcode::RegisterMove, Engine::All).input(c.word(1)?);
            c.emit(op.output(Opnd::Reg(dst.get().id())))
        },
    },
    Row {
        name: "register_load",
        doc: "dst = the element of a tensor.",
        since: 2,
        params: &[p("dst", Register), p("src", Src(ANY)), NAME],
        lower: |c| {
            let dst = c.register(0)?;
            single(c, 1)?;
            let op = Op::new(Opcode::TensorLoad, Engine::All).input(c.input(1)?);
            c.emit(op.output(Opnd::Reg(dst.get().id())))
        },
    },
    Row {
        name: "register_store",
        doc: "The element of a tensor = src, a number or a register.",
        since: 2,
        params: &[p("dst", Out(ANY)), p("src", Int), NAME],
        lower: |c| {
            single(c, 0)?;
            let op = Op::new(Opcode::TensorSave, Engine::All).input(c.word(1)?);
            c.emit(op.output(c.output(0)?))
        },
    },
];

fn single(c: &Call<'_, '_>, k: usize) -> PyResult<()> {
    let t = c.t(k)?;
    if t.get().len() == 1 {
        return Ok(());
    }
    let name = c.row.params[k].name;
    Err(c.refuse(format!("{name} has the shape {}; a register holds one element", t.get().shape_text())))
}
