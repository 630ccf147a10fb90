//! Selections, fills and generators.

use super::call::{Call, named};
use super::{CHIP, Kind::*, NAME, Row, SB, d, p};
use crate::op::{Op, Opnd};
use birsim_engine::ir::opcodes::field as f;
use birsim_engine::ir::{Engine, EngineAccumulation, MemsetMode, Opcode, Value};
use birsim_kernels::alu::AluOp;
use birsim_kernels::cast::{Fp8Config, encode_f32};
use pyo3::prelude::*;
use pyo3::types::PyFloat;

pub const ROWS: &[Row] = &[
    Row {
        name: "memset",
        doc: "Fills a tensor with a number.",
        since: 2,
        params: &[p("dst", Out(CHIP)), d("value", Number, "0"), d("engine", Enum("engine"), "engine.unknown"), NAME],
        lower: memset,
    },
    Row {
        name: "iota",
        doc: "dst[p, ..] = offset + p * channel_multiplier + the walk of the pattern.",
        since: 2,
        params: &[
            p("dst", Out(SB)),
            p("pattern", Pairs),
            d("offset", Int, "0"),
            d("channel_multiplier", Int, "0"),
            NAME,
        ],
        lower: iota,
    },
    Row {
        name: "affine_select",
        doc: "dst = on_true_tile where (offset + p * channel_multiplier + the walk of the pattern) cmp_op 0, else on_false_value.",
        since: 2,
        params: &[
            p("dst", Out(SB)),
            p("pattern", Pairs),
            p("channel_multiplier", Int),
            p("on_true_tile", Src(SB)),
            p("on_false_value", Number),
            d("cmp_op", Alu, "'equal'"),
            d("offset", Int, "0"),
            NAME,
        ],
        lower: affine_select,
    },
    Row {
        name: "range_select",
        doc: "dst = on_true_tile where range_start + index meets both bounds, else on_false_value; reduce_res takes the maximum.",
        since: 3,
        params: &[
            p("dst", Out(CHIP)),
            p("on_true_tile", Src(CHIP)),
            p("comp_op0", Alu),
            p("comp_op1", Alu),
            p("bound0", Scalar(CHIP)),
            p("bound1", Scalar(CHIP)),
            d("reduce_cmd", Enum("reduce_cmd"), "reduce_cmd.reset_reduce"),
            d("reduce_res", Out(CHIP), "None"),
            d("reduce_op", Alu, "'maximum'"),
            d("range_start", Int, "0"),
            d("on_false_value", Number, "-3.4028235e38"),
            NAME,
        ],
        lower: range_select,
    },
    Row {
        name: "tensor_copy_predicated",
        doc: "dst = src where the predicate is not zero; dst stays as it is elsewhere.",
        since: 2,
        params: &[
            p("dst", Out(CHIP)),
            p("src", Value(CHIP)),
            p("predicate", Src(CHIP)),
            d("reverse_pred", Flag, "False"),
            NAME,
        ],
        lower: copy_predicated,
    },
    Row {
        name: "select_reduce",
        doc: "dst = on_true where the predicate is not zero, else on_false; reduce_res takes the maximum.",
        since: 2,
        params: &[
            p("dst", Out(CHIP)),
            p("predicate", Src(CHIP)),
            p("on_true", Src(CHIP)),
            p("on_false", Scalar(CHIP)),
            d("reduce_res", Out(CHIP), "None"),
            d("reduce_cmd", Enum("reduce_cmd"), "reduce_cmd.idle"),
            d("reduce_op", Alu, "'maximum'"),
            d("reverse_pred", Flag, "False"),
            NAME,
        ],
        lower: select_reduce,
    },
    Row {
        name: "sequence_bounds",
        doc: "The start and the end of the segment of every element.",
        since: 3,
        params: &[p("dst", Out(SB)), p("segment_ids", Src(SB)), NAME],
        lower: |c| c.emit(Op::new(Opcode::GetSequenceBounds, Engine::Pool).input(c.input(1)?).output(c.output(0)?)),
    },
];

fn memset(c: &mut Call<'_, '_>) -> PyResult<()> {
    let dst = c.t(0)?;
    let dt = dst.get().dt;
    let dtype = c.session.stored(dt.bir());
    let size = dtype.size();
    let mut bytes = [0u8; 8];
    if dtype.is_packed() {
        let n = c.int(1, 0)?;
        if n != 0 {
            return Err(c.refuse(format!("a tensor of {} is filled with 0 only, not with {n}", dt.name())));
        }
    } else if dtype.is_integer() {
        let given = c.args[1].as_ref();
        let n = match given {
            Some(v) if v.cast::<PyFloat>().is_ok() => {
                let x: f64 = v.extract()?;
                if x.fract() != 0.0 || !x.is_finite() {
                    return Err(c.refuse(format!("the value {x} is no {}", dt.name())));
                }
                x as i64
            }
            _ => c.int(1, 0)?,
        };
        let n = if dt.name() == "bool" { i64::from(n != 0) } else { n };
        bytes[..size].copy_from_slice(&n.to_le_bytes()[..size]);
    } else {
        encode_f32(dtype, Fp8Config::DEFAULT, &[c.number(1, 0.0)? as f32], &mut bytes[..size]);
    }
    let engine = c.engine(2, &[Engine::Dve, Engine::Pool, Engine::Activation])?;
    let op = Op::new(Opcode::Memset, engine.filter(|e| *e != Engine::Activation).unwrap_or(Engine::Dve))
        .with(f::Memset::mode, named(MemsetMode::Const))
        .with(f::Memset::constant, i64::from_le_bytes(bytes));
    c.emit(op.output(c.output(0)?))
}

/// The elements per partition that a pattern walks over.
fn covers(c: &Call<'_, '_>, pairs: &[(i64, i64)], k: usize) -> PyResult<()> {
    let n: i64 = pairs.iter().map(|p| p.1).product();
    let free = c.t(k)?.get().free();
    if n == free {
        return Ok(());
    }
    Err(c.refuse(format!(
        "the pattern {pairs:?} walks over {n} elements; {} has {free} per partition",
        c.row.params[k].name
    )))
}

fn iota(c: &mut Call<'_, '_>) -> PyResult<()> {
    let pairs = c.pairs(1)?;
    covers(c, &pairs, 0)?;
    let op = Op::new(Opcode::Iota, Engine::Pool)
        .with(f::Iota::base, c.int_or_register(2)?)
        .with(f::Iota::pattern, Value::Pairs(pairs))
        .with(f::Iota::channel_multiplier, c.int(3, 0)?);
    c.emit(op.output(c.output(0)?))
}

fn affine_select(c: &mut Call<'_, '_>) -> PyResult<()> {
    // The order of NKI 0.2: dst, pattern, offset, channel_multiplier, on_true_tile, on_false_value.
    let second_tile = c.args[4].as_ref().is_some_and(|v| v.cast::<crate::tensor::NkiTensor>().is_ok());
    if second_tile {
        let offset = c.args[2].take();
        c.args[2] = c.args[3].take();
        c.args[3] = c.args[4].take();
        c.args[4] = c.args[5].take();
        c.args[5] = c.args[6].take();
        c.args[6] = offset;
    }
    c.same(0, 3)?;
    let pairs = c.pairs(1)?;
    covers(c, &pairs, 0)?;
    let compare = if c.has(5) { c.alu(5)? } else { AluOp::IsEqual };
    let op = Op::new(Opcode::TensorScalarAffineSelect, Engine::Pool)
        .with(f::TensorScalarAffineSelect::base, c.int_or_register(6)?)
        .with(f::TensorScalarAffineSelect::pattern, Value::Pairs(pairs))
        .with(f::TensorScalarAffineSelect::channel_multiplier, c.int(2, 0)?)
        .with(f::TensorScalarAffineSelect::compare_op, named(compare))
        .with(f::TensorScalarAffineSelect::fill_value, c.number(4, 0.0)?);
    c.emit(op.input(c.input(3)?).output(c.output(0)?))
}

fn range_select(c: &mut Call<'_, '_>) -> PyResult<()> {
    c.same(0, 1)?;
    c.vector(4, 1)?;
    c.vector(5, 1)?;
    let reduce = if c.has(8) { c.alu(8)? } else { AluOp::Max };
    let op = Op::new(Opcode::RangeSelect, Engine::Dve)
        .with(f::RangeSelect::base, c.int(9, 0)?)
        .with(f::RangeSelect::compare_op0, named(c.alu(2)?))
        .with(f::RangeSelect::compare_op1, named(c.alu(3)?))
        .with(f::RangeSelect::reduce_op, named(reduce))
        .with(f::RangeSelect::reduce_cmd, named(c.command(6, 3)?))
        .with(f::RangeSelect::fill_value, c.number(10, f64::from(f32::MIN))?);
    let op = op.input(c.input(1)?).input(c.operand(4, false)?).input(c.operand(5, false)?);
    c.drained(op.output(c.output(0)?), c.opt(7)?.as_ref().map(|t| t.get()))
}

fn copy_predicated(c: &mut Call<'_, '_>) -> PyResult<()> {
    c.same(0, 2)?;
    c.one_psum(1, 2)?;
    let src = c.operand(1, c.t(0)?.get().dt.is_integer())?;
    if let Opnd::Access(_) = src {
        c.same(0, 1)?;
    }
    let op = Op::new(Opcode::CopyPredicated, Engine::Dve).with(f::CopyPredicated::reverse_pred, c.flag(3)?);
    c.emit(op.input(c.input(2)?).input(src).output(c.output(0)?))
}

fn select_reduce(c: &mut Call<'_, '_>) -> PyResult<()> {
    c.same(0, 1)?;
    c.same(0, 2)?;
    c.vector(3, 2)?;
    let reduce = if c.has(6) { c.alu(6)? } else { AluOp::Max };
    let acc = c.command(5, 0)?;
    let op = Op::new(Opcode::CopyPredicated, Engine::Dve)
        .with(f::CopyPredicated::reverse_pred, c.flag(7)?)
        .with(f::CopyPredicated::reduce_op, named(reduce))
        .with(f::CopyPredicated::accumulator_cmd, named(acc));
    let op = op.input(c.input(1)?).input(c.input(2)?).input(c.operand(3, false)?).output(c.output(0)?);
    match c.opt(4)? {
        Some(res) if acc == EngineAccumulation::Idle => {
            c.emit(op)?;
            c.drained(Op::new(Opcode::DveReadAccumulator, Engine::Dve), Some(res.get()))
        }
        res => c.drained(op, res.as_ref().map(|t| t.get())),
    }
}
