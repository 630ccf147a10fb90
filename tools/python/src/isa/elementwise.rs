//! Element-wise arithmetic and scans.

use super::call::{Call, named};
use super::{CHIP, Kind::*, NAME, Row, d, p};
use crate::dtype::Dt;
use crate::op::{Op, Opnd, Region};
use birsim_engine::ir::opcodes::field as f;
use birsim_engine::ir::{ActivationFunction, Engine, Opcode};
use birsim_kernels::Dtype;
use birsim_kernels::alu::AluOp;
use pyo3::prelude::*;

pub const ROWS: &[Row] = &[
    Row {
        name: "tensor_tensor",
        doc: "dst = data1 op data2, element by element.",
        since: 2,
        params: &[
            p("dst", Out(CHIP)),
            p("data1", Src(CHIP)),
            p("data2", Src(CHIP)),
            p("op", Alu),
            d("engine", Enum("engine"), "engine.unknown"),
            NAME,
        ],
        lower: tensor_tensor,
    },
    Row {
        name: "tensor_scalar",
        doc: "dst = (data op0 operand0) op1 operand1; operands are numbers or vectors with one element in each partition.",
        since: 2,
        params: &[
            p("dst", Out(CHIP)),
            p("data", Src(CHIP)),
            p("op0", Alu),
            d("operand0", Scalar(CHIP), "None"),
            d("reverse0", Flag, "False"),
            d("op1", Alu, "None"),
            d("operand1", Scalar(CHIP), "None"),
            d("reverse1", Flag, "False"),
            d("engine", Enum("engine"), "engine.unknown"),
            NAME,
        ],
        lower: tensor_scalar,
    },
    Row {
        name: "scalar_tensor_tensor",
        doc: "dst = (data op0 operand0) op1 operand1, where operand1 is a tile.",
        since: 2,
        params: &[
            p("dst", Out(CHIP)),
            p("data", Src(CHIP)),
            p("op0", Alu),
            p("operand0", Scalar(CHIP)),
            p("op1", Alu),
            p("operand1", Src(CHIP)),
            d("reverse0", Flag, "False"),
            d("reverse1", Flag, "False"),
            NAME,
        ],
        lower: scalar_tensor_tensor,
    },
    Row {
        name: "tensor_tensor_scan",
        doc: "state = (data0 op0 state) op1 data1, along the free dimensions; dst holds every state.",
        since: 2,
        params: &[
            p("dst", Out(CHIP)),
            p("data0", Src(CHIP)),
            p("data1", Src(CHIP)),
            p("initial", Scalar(CHIP)),
            p("op0", Alu),
            p("op1", Alu),
            d("reverse0", Flag, "False"),
            d("reverse1", Flag, "False"),
            NAME,
        ],
        lower: scan,
    },
    Row {
        name: "reciprocal",
        doc: "dst = 1 / data.",
        since: 2,
        params: &[p("dst", Out(CHIP)), p("data", Src(CHIP)), NAME],
        lower: |c| {
            c.same(0, 1)?;
            c.emit(Op::new(Opcode::Reciprocal, Engine::Dve).input(c.input(1)?).output(c.output(0)?))
        },
    },
];

/// 32-bit integers.
fn wide_int(dt: Dt) -> bool {
    matches!(dt.bir(), Dtype::Int32 | Dtype::Uint32)
}

/// Bit operations take integers only.
pub fn bits(c: &Call<'_, '_>, op: AluOp, operands: &[usize]) -> PyResult<()> {
    if !op.is_bitvec() {
        return Ok(());
    }
    for k in operands {
        let t = c.t(*k)?;
        if !t.get().dt.is_integer() {
            let name = c.row.params[*k].name;
            return Err(c.refuse(format!("{name} has the type {}; {op} takes integers", t.get().dt.name())));
        }
    }
    Ok(())
}

fn tensor_tensor(c: &mut Call<'_, '_>) -> PyResult<()> {
    c.same(0, 1)?;
    c.same(0, 2)?;
    c.one_psum(1, 2)?;
    let op = c.alu(3)?;
    bits(c, op, &[0, 1, 2])?;
    let chosen = c.engine(4, &[Engine::Dve, Engine::Pool])?;
    let mut ints = true;
    for k in 0..3 {
        let t = c.t(k)?;
        ints &= wide_int(t.get().dt) && t.get().storage.region == Region::Sbuf;
    }
    let natural = if (ints && !op.is_bitvec()) || op == AluOp::Pow { Engine::Pool } else { Engine::Dve };
    let op = Op::new(Opcode::TensorTensor, chosen.unwrap_or(natural)).with(f::TensorTensor::op, named(op));
    c.emit(op.input(c.input(1)?).input(c.input(2)?).output(c.output(0)?))
}

fn tensor_scalar(c: &mut Call<'_, '_>) -> PyResult<()> {
    c.same(0, 1)?;
    c.vector(3, 1)?;
    c.vector(6, 1)?;
    // Unary functions that the arithmetic of older targets lacks.
    if let Some(t) = c.token(2)?
        && t.alu.is_none()
        && matches!(t.name, "square" | "relu" | "reciprocal")
    {
        return unary_first(c, t.name);
    }
    let (a, b) = (c.alu(2)?, c.alu(5)?);
    bits(c, a, &[0, 1])?;
    bits(c, b, &[0, 1])?;
    if c.has(5) && a.is_bitvec() != b.is_bitvec() && a != AluOp::Bypass && b != AluOp::Bypass {
        return Err(
            c.refuse(format!("op0 {a} and op1 {b} are of different classes: both are arithmetic or both act on bits"))
        );
    }
    let chosen = c.engine(8, &[Engine::Dve, Engine::Pool, Engine::Activation])?;
    let exact = wide_int(c.t(0)?.get().dt)
        && wide_int(c.t(1)?.get().dt)
        && [a, b].iter().all(|op| matches!(op, AluOp::Add | AluOp::Subtract | AluOp::Mult | AluOp::Bypass))
        && a != AluOp::Bypass
        && c.exact(3).is_some()
        && c.exact(6).is_some();
    let operand = |k: usize, bits: bool| match c.exact(k) {
        Some(n) if exact => Ok(Opnd::Int(n, Dtype::Int32)),
        _ => c.operand(k, bits),
    };
    let pool = |op: AluOp| matches!(op, AluOp::Pow | AluOp::Rsqrt);
    let natural = if pool(a) || pool(b) { Engine::Pool } else { Engine::Dve };
    // The scalar engine computes the same as the vector engine here.
    let engine = chosen.filter(|e| *e != Engine::Activation).unwrap_or(natural);
    let mut op = Op::new(Opcode::TensorScalarPtr, engine)
        .with(f::TensorScalarPtr::op0, named(a))
        .with(f::TensorScalarPtr::reverse0, c.flag(4)?)
        .with(f::TensorScalarPtr::op1, named(b))
        .with(f::TensorScalarPtr::reverse1, c.flag(7)?)
        .with(f::TensorScalarPtr::is_tensor_scalar_addr, exact)
        .input(c.input(1)?)
        .input(operand(3, a.is_bitvec())?);
    if c.has(5) {
        op = op.input(operand(6, b.is_bitvec())?);
    }
    c.emit(op.output(c.output(0)?))
}

/// A unary function as first operation: on the scalar engine, then the second operation.
fn unary_first(c: &mut Call<'_, '_>, name: &str) -> PyResult<()> {
    let func = match name {
        "square" => ActivationFunction::Square,
        "relu" => ActivationFunction::Relu,
        _ => ActivationFunction::Reciprocal,
    };
    let dst = c.t(0)?;
    let stage = match c.has(5) {
        false => None,
        true => {
            let shape: Vec<i64> = dst.get().dims.iter().map(|d| d.1).collect();
            let float = Dt::named("float32").unwrap_or(dst.get().dt);
            Some(c.scratch(&shape, float, Region::Sbuf))
        }
    };
    let first = match &stage {
        None => c.output(0)?,
        Some(s) => c.read(s)?,
    };
    let op = super::activation::plain(func).input(c.input(1)?).input(Opnd::Float(0.0)).input(Opnd::Float(1.0));
    c.emit(op.input(Opnd::Float(0.0)).output(first))?;
    let Some(stage) = stage else { return Ok(()) };
    let op = Op::new(Opcode::TensorScalarPtr, Engine::Dve)
        .with(f::TensorScalarPtr::op0, named(c.alu(5)?))
        .with(f::TensorScalarPtr::reverse0, c.flag(7)?)
        .with(f::TensorScalarPtr::op1, named(AluOp::Bypass))
        .with(f::TensorScalarPtr::reverse1, false)
        .input(c.read(&stage)?)
        .input(c.operand(6, false)?);
    c.emit(op.output(c.output(0)?))
}

fn scalar_tensor_tensor(c: &mut Call<'_, '_>) -> PyResult<()> {
    c.same(0, 1)?;
    c.same(0, 5)?;
    c.vector(3, 1)?;
    c.one_psum(1, 5)?;
    let (a, b) = (c.alu(2)?, c.alu(4)?);
    let op = Op::new(Opcode::TensorScalarPtr, Engine::Dve)
        .with(f::TensorScalarPtr::op0, named(a))
        .with(f::TensorScalarPtr::reverse0, c.flag(6)?)
        .with(f::TensorScalarPtr::op1, named(b))
        .with(f::TensorScalarPtr::reverse1, c.flag(7)?)
        .with(f::TensorScalarPtr::is_scalar_tensor_tensor, true);
    let op = op.input(c.input(1)?).input(c.operand(3, a.is_bitvec())?).input(c.input(5)?);
    c.emit(op.output(c.output(0)?))
}

fn scan(c: &mut Call<'_, '_>) -> PyResult<()> {
    c.same(0, 1)?;
    c.same(0, 2)?;
    c.vector(3, 1)?;
    c.one_psum(1, 2)?;
    let op = Op::new(Opcode::TensorScalarPtr, Engine::Dve)
        .with(f::TensorScalarPtr::op0, named(c.alu(4)?))
        .with(f::TensorScalarPtr::reverse0, c.flag(6)?)
        .with(f::TensorScalarPtr::op1, named(c.alu(5)?))
        .with(f::TensorScalarPtr::reverse1, c.flag(7)?)
        .with(f::TensorScalarPtr::is_tensor_tensor_scan, true);
    let op = op.input(c.input(1)?).input(c.operand(3, false)?).input(c.input(2)?);
    c.emit(op.output(c.output(0)?))
}
