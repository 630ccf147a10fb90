//! Functions of the scalar engine, and the exponential of the vector engine.

use super::call::{Call, named};
use super::{CHIP, Kind::*, NAME, Row, d, p};
use crate::op::{Op, Opnd};
use birsim_engine::ir::opcodes::field as f;
use birsim_engine::ir::{ActivationFunction, Engine, EngineAccumulation, Opcode};
use birsim_kernels::alu::AluOp;
use pyo3::prelude::*;

pub const ROWS: &[Row] = &[
    Row {
        name: "activation",
        doc: "dst = op(data * scale + bias); a reduction of the results goes through the accumulation registers.",
        since: 2,
        params: &[
            p("dst", Out(CHIP)),
            p("op", Func),
            p("data", Src(CHIP)),
            d("bias", Scalar(CHIP), "None"),
            d("scale", Scalar(CHIP), "1.0"),
            d("reduce_op", Alu, "None"),
            d("reduce_res", Out(CHIP), "None"),
            d("reduce_cmd", Enum("reduce_cmd"), "reduce_cmd.idle"),
            NAME,
        ],
        lower: |c| {
            let acc = c.command(7, 0)?;
            activation(c, [0, 1, 2, 3, 4, 5, 6], acc)
        },
    },
    Row {
        name: "activation_reduce",
        doc: "dst = op(data * scale + bias), and reduce_res = the sum of the results.",
        since: 2,
        params: &[
            p("dst", Out(CHIP)),
            p("op", Func),
            p("data", Src(CHIP)),
            p("reduce_op", Alu),
            p("reduce_res", Out(CHIP)),
            d("bias", Scalar(CHIP), "None"),
            d("scale", Scalar(CHIP), "1.0"),
            NAME,
        ],
        lower: |c| activation(c, [0, 1, 2, 5, 6, 3, 4], EngineAccumulation::ZeroAccumulate),
    },
    Row {
        name: "activate2",
        doc: "dst = op((data op0 imm0) op1 imm1), with a reduction of the results.",
        since: 4,
        params: &[
            p("dst", Out(CHIP)),
            p("op", Func),
            p("data", Src(CHIP)),
            p("imm0", Scalar(CHIP)),
            p("imm1", Scalar(CHIP)),
            p("op0", Alu),
            p("op1", Alu),
            d("relu_param", Scalar(CHIP), "0.0"),
            d("reverse0", Flag, "False"),
            d("reverse1", Flag, "False"),
            d("reduce_op", Alu, "None"),
            d("reduce_res", Out(CHIP), "None"),
            d("reduce_cmd", Enum("reduce_cmd"), "reduce_cmd.idle"),
            NAME,
        ],
        lower: activate2,
    },
    Row {
        name: "exponential",
        doc: "dst = exp(src - max_value), and the sum of the results.",
        since: 4,
        params: &[
            p("dst", Out(CHIP)),
            p("src", Src(CHIP)),
            d("max_value", Scalar(CHIP), "0.0"),
            d("reduce_res", Out(CHIP), "None"),
            d("reduce_cmd", Enum("reduce_cmd"), "reduce_cmd.idle"),
            d("reduce_init", Scalar(CHIP), "0.0"),
            NAME,
        ],
        lower: exponential,
    },
];

/// An activation without accumulation and without operands.
pub fn plain(func: ActivationFunction) -> Op {
    Op::new(Opcode::Activation, Engine::Activation)
        .with(f::Activation::func, named(func))
        .with(f::Activation::scale, 1.0)
        .with(f::Activation::alpha, 0.0)
        .with(f::Activation::acc, named(EngineAccumulation::Idle))
}

/// `at` names the parameters dst, op, data, bias, scale, reduce_op and reduce_res.
fn activation(c: &Call<'_, '_>, at: [usize; 7], acc: EngineAccumulation) -> PyResult<()> {
    let [dst, op, data, bias, scale, reduce_op, reduce_res] = at;
    c.same(dst, data)?;
    c.vector(bias, data)?;
    c.vector(scale, data)?;
    let reduce = match c.alu(reduce_op)? {
        AluOp::Bypass => AluOp::Add,
        AluOp::Add => AluOp::Add,
        other => return Err(c.refuse(format!("reduce_op is nl.add, not {other} ({})", c.target()))),
    };
    let scaled = if c.has(scale) { c.operand(scale, false)? } else { Opnd::Float(1.0) };
    let made = Op::new(Opcode::Activation, Engine::Activation)
        .with(f::Activation::func, named(c.func(op)?))
        .with(f::Activation::scale, 1.0)
        .with(f::Activation::alpha, 0.0)
        .with(f::Activation::acc, named(acc))
        .with(f::Activation::reduce_op, named(reduce))
        .input(c.input(data)?)
        .input(c.operand(bias, false)?)
        .input(scaled)
        .input(Opnd::Float(0.0))
        .output(c.output(dst)?);
    let res = c.opt(reduce_res)?;
    let Some(res) = res else { return c.emit(made) };
    if acc != EngineAccumulation::Idle {
        return c.drained(made, Some(res.get()));
    }
    // The registers are read as they are.
    c.emit(made)?;
    c.drained(Op::new(Opcode::ActivationReadAccumulator, Engine::Activation), Some(res.get()))
}

fn activate2(c: &mut Call<'_, '_>) -> PyResult<()> {
    c.same(0, 2)?;
    let made = Op::new(Opcode::Activation, Engine::Activation)
        .with(f::Activation::func, named(c.func(1)?))
        .with(f::Activation::scale, 1.0)
        .with(f::Activation::alpha, 0.0)
        .with(f::Activation::acc, named(c.command(12, 0)?))
        .with(f::Activation::op0, named(c.alu(5)?))
        .with(f::Activation::op1, named(c.alu(6)?))
        .with(f::Activation::reduce_op, named(c.alu(10)?))
        .with(f::Activation::reverse0, c.flag(8)?)
        .with(f::Activation::reverse1, c.flag(9)?)
        .with(f::Activation::is_activate2, true)
        .input(c.input(2)?)
        .input(c.operand(3, false)?)
        .input(c.operand(4, false)?)
        .input(c.operand(7, false)?)
        .output(c.output(0)?);
    c.drained(made, c.opt(11)?.as_ref().map(|t| t.get()))
}

fn exponential(c: &mut Call<'_, '_>) -> PyResult<()> {
    c.same(0, 1)?;
    c.vector(2, 1)?;
    let acc = c.command(4, 0)?;
    let mut made = Op::new(Opcode::Exponential, Engine::Dve)
        .with(f::Exponential::reduce_cmd, named(acc))
        .input(c.input(1)?)
        .input(c.operand(2, false)?);
    if acc == EngineAccumulation::LoadAccumulate {
        made = made.input(c.operand(5, false)?);
    }
    c.drained(made.output(c.output(0)?), c.opt(3)?.as_ref().map(|t| t.get()))
}
