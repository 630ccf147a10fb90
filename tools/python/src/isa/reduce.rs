//! Reductions, running combinations and batch statistics.

use super::call::{Call, named};
use super::{CHIP, Kind::*, NAME, Row, SB, d, p};
use crate::dtype::Dt;
use crate::op::{Op, Opnd, Region};
use crate::tensor::NkiTensor;
use birsim_engine::ir::opcodes::field as f;
use birsim_engine::ir::{AxisList, Engine, EngineAccumulation, Opcode, TscMode};
use birsim_kernels::alu::AluOp;
use birsim_kernels::{Dtype, Named};
use pyo3::prelude::*;

pub const ROWS: &[Row] = &[
    Row {
        name: "tensor_reduce",
        doc: "The reduction of the last free dimensions of data.",
        since: 2,
        params: &[
            p("dst", Out(CHIP)),
            p("op", Alu),
            p("data", Src(CHIP)),
            p("axis", Ints),
            d("negate", Flag, "False"),
            d("keepdims", Flag, "False"),
            NAME,
        ],
        lower: tensor_reduce,
    },
    Row {
        name: "tensor_partition_reduce",
        doc: "The reduction over partitions, into one partition.",
        since: 2,
        params: &[p("dst", Out(SB)), p("op", Alu), p("data", Src(SB)), NAME],
        lower: |c| {
            let op = Op::new(Opcode::TensorReduce, Engine::Pool)
                .with(f::TensorReduce::op, named(c.alu(1)?))
                .with(f::TensorReduce::axis, named(AxisList::C));
            c.emit(op.input(c.input(2)?).output(c.output(0)?))
        },
    },
    Row {
        name: "tensor_scalar_reduce",
        doc: "dst = data op0 operand0, and reduce_res = the reduction of the results.",
        since: 2,
        params: &[
            p("dst", Out(CHIP)),
            p("data", Src(CHIP)),
            p("op0", Alu),
            p("operand0", Scalar(CHIP)),
            p("reduce_op", Alu),
            d("reduce_res", Out(CHIP), "None"),
            d("reverse0", Flag, "False"),
            d("reduce_cmd", Enum("reduce_cmd"), "reduce_cmd.reset_reduce"),
            d("reduce_init", Scalar(CHIP), "None"),
            d("reduce_res_negate", Flag, "False"),
            NAME,
        ],
        lower: tensor_scalar_reduce,
    },
    Row {
        name: "tensor_scalar_cumulative",
        doc: "A running combination: state = (src op0 imm0) op1 state; dst holds every state.",
        since: 2,
        params: &[
            p("dst", Out(CHIP)),
            p("src", Src(CHIP)),
            p("op0", Alu),
            p("op1", Alu),
            p("imm0", Scalar(CHIP)),
            d("imm1", Scalar(CHIP), "None"),
            d("reduce_cmd", Enum("reduce_cmd"), "reduce_cmd.reset_reduce"),
            NAME,
        ],
        lower: cumulative,
    },
    Row {
        name: "bn_stats",
        doc: "Count, mean and squared deviation of the even and the odd elements of every partition.",
        since: 2,
        params: &[p("dst", Out(CHIP)), p("data", Src(CHIP)), NAME],
        lower: |c| {
            let n = c.t(1)?.get().free();
            if n > 512 {
                return Err(c.refuse(format!("data has {n} elements per partition; at most 512 ({})", c.target())));
            }
            c.emit(Op::new(Opcode::BNStats, Engine::Dve).input(c.input(1)?).output(c.output(0)?))
        },
    },
    Row {
        name: "bn_aggr",
        doc: "Mean and variance out of what bn_stats gave.",
        since: 2,
        params: &[p("dst", Out(CHIP)), p("data", Src(CHIP)), NAME],
        lower: |c| {
            let n = c.t(1)?.get().free();
            if n % 3 != 0 {
                return Err(c.refuse(format!("data has {n} elements per partition; they come in threes")));
            }
            c.emit(Op::new(Opcode::BNStatsAggregate, Engine::Dve).input(c.input(1)?).output(c.output(0)?))
        },
    },
];

fn tensor_reduce(c: &mut Call<'_, '_>) -> PyResult<()> {
    let data = c.t(2)?;
    let rank = data.get().dims.len() as i64;
    let given = match c.args[3].as_ref().map(|v| v.extract::<i64>()) {
        Some(Ok(n)) => vec![n],
        _ => c.ints(3)?,
    };
    let mut axes: Vec<i64> = given.iter().map(|a| if *a < 0 { a + rank } else { *a }).collect();
    axes.sort_unstable();
    let n = axes.len() as i64;
    let trailing = n > 0 && axes[0] >= 1 && axes.iter().copied().eq(rank - n..rank);
    if !trailing && axes != [1] {
        return Err(c.refuse(format!(
            "axis {given:?} of a tensor of shape {}: the last dimensions are reduced, without the partitions",
            data.get().shape_text()
        )));
    }
    let k = n as usize;
    let dst = c.t(0)?;
    let kept: i64 = data.get().dims[1..data.get().dims.len() - k].iter().map(|d| d.1).product();
    if dst.get().partitions() != data.get().partitions() || dst.get().free() != kept {
        return Err(c.refuse(format!(
            "dst has the shape {}; reducing {k} dimensions of {} leaves {} partitions of {kept} elements",
            dst.get().shape_text(),
            data.get().shape_text(),
            data.get().partitions()
        )));
    }
    let axis = AxisList::from_ordinal(k as u8 - 1).unwrap_or(AxisList::X);
    let op = Op::new(Opcode::TensorReduce, Engine::Dve)
        .with(f::TensorReduce::op, named(c.alu(1)?))
        .with(f::TensorReduce::axis, named(axis))
        .with(f::TensorReduce::negate, c.flag(4)?);
    c.emit(op.input(c.input(2)?).output(c.output(0)?))
}

fn tensor_scalar_reduce(c: &mut Call<'_, '_>) -> PyResult<()> {
    c.same(0, 1)?;
    c.vector(3, 1)?;
    let mut op = Op::new(Opcode::TensorScalarPtr, Engine::Dve)
        .with(f::TensorScalarPtr::op0, named(c.alu(2)?))
        .with(f::TensorScalarPtr::reverse0, c.flag(6)?)
        .with(f::TensorScalarPtr::op1, named(c.alu(4)?))
        .with(f::TensorScalarPtr::reverse1, false)
        .with(f::TensorScalarPtr::acc, named(c.command(7, 3)?))
        .with(f::TensorScalarPtr::negate_second_output, c.flag(9)?)
        .input(c.input(1)?)
        .input(c.operand(3, false)?);
    if c.has(8) {
        op = op.input(c.operand(8, false)?);
    }
    c.drained(op.output(c.output(0)?), c.opt(5)?.as_ref().map(|t| t.get()))
}

fn cumulative(c: &mut Call<'_, '_>) -> PyResult<()> {
    c.same(0, 1)?;
    c.vector(4, 1)?;
    let op1 = c.alu(3)?;
    if !matches!(op1, AluOp::Add | AluOp::Subtract | AluOp::Mult | AluOp::Max | AluOp::Min) {
        return Err(c.refuse(format!("op1 is add, subtract, multiply, maximum or minimum, not {op1}")));
    }
    let mut acc = c.command(6, 3)?;
    let dst = c.t(0)?;
    let dst = dst.get();
    // The accumulator that a later call continues from: the last state of every partition, in float32.
    let before = c.session.accumulator(c.core);
    let carried = match (acc, &before) {
        (EngineAccumulation::AddAccumulate, Some(state)) if state.shape[0] == dst.partitions() => {
            acc = EngineAccumulation::LoadAccumulate;
            Some(c.read(&NkiTensor::whole(state.clone(), float(dst.dt)))?)
        }
        (EngineAccumulation::AddAccumulate, _) => {
            return Err(c.refuse("with reduce_cmd.reduce continues from an earlier call on as many partitions"));
        }
        _ => None,
    };
    let shape: Vec<i64> = dst.dims.iter().map(|d| d.1).collect();
    let exact = dst.dt.bir() == Dtype::Float32 && dst.moves.is_none();
    let stage = (!exact).then(|| c.scratch(&shape, float(dst.dt), Region::Sbuf));
    let target = stage.as_ref().unwrap_or(dst);
    let mut op = Op::new(Opcode::TensorScalarCache, Engine::Dve)
        .with(f::TensorScalarCache::op0, named(c.alu(2)?))
        .with(f::TensorScalarCache::op1, named(op1))
        .with(f::TensorScalarCache::mode, named(TscMode::Cumulative))
        .with(f::TensorScalarCache::acc, named(acc))
        .input(c.input(1)?)
        .input(c.operand(4, false)?);
    match carried {
        Some(state) => op = op.input(state),
        None if acc == EngineAccumulation::LoadAccumulate => op = op.input(c.operand(5, false)?),
        None => {}
    }
    c.emit(op.output(c.write(target)?))?;
    let copy = |from: Opnd, to: Opnd| c.emit(Op::new(Opcode::TensorCopy, Engine::Dve).input(from).output(to));
    if stage.is_some() {
        copy(c.read(target)?, c.output(0)?)?;
    }
    let state = c.scratch(&[dst.partitions(), 1], float(dst.dt), Region::Sbuf);
    let last: i64 = target.dims.iter().skip(1).map(|d| d.0 * (d.1 - 1)).sum();
    let end = target.with(target.offset + last, [target.dims[0], (1, 1)].into_iter().collect());
    copy(c.read(&end)?, c.read(&state)?)?;
    c.session.keep_accumulator(c.core, Some(state.storage));
    Ok(())
}

fn float(otherwise: Dt) -> Dt {
    Dt::named("float32").unwrap_or(otherwise)
}
