//! Copies, transposes and shuffles.

use super::call::{Call, named};
use super::{CHIP, DMA, Kind::*, NAME, Row, d, p};
use crate::op::{Op, Opnd, Region};
use crate::tensor::{Moves, NkiTensor};
use birsim_engine::ir::opcodes::field as f;
use birsim_engine::ir::{CopyMode, DgeType, Engine, Expr, Opcode, TransposeOp, Value};
use birsim_kernels::Dtype;
use birsim_kernels::alu::AluOp;
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub const ROWS: &[Row] = &[
    Row {
        name: "dma_copy",
        doc: "dst = src by DMA, between device memory and SBUF; types are converted through float32.",
        since: 2,
        params: &[
            p("dst", Out(DMA)),
            p("src", Src(DMA)),
            d("priority", Ignored, "None"),
            d("oob_mode", Enum("oob_mode"), "oob_mode.error"),
            d("dge_mode", Enum("dge_mode"), "dge_mode.unknown"),
            d("engine", Enum("engine"), "engine.unknown"),
            NAME,
            d("dst_rmw_op", Alu, "None"),
            d("unique_indices", Flag, "True"),
        ],
        lower: dma_copy,
    },
    Row {
        name: "dma_transpose",
        doc: "dst = src with its dimensions permuted, by DMA: (1, 0), (2, 1, 0) or (3, 1, 2, 0).",
        since: 2,
        params: &[
            p("dst", Out(DMA)),
            p("src", Src(DMA)),
            d("axes", Ints, "None"),
            d("priority", Ignored, "None"),
            d("dge_mode", Enum("dge_mode"), "dge_mode.unknown"),
            d("oob_mode", Enum("oob_mode"), "oob_mode.error"),
            NAME,
        ],
        lower: dma_transpose,
    },
    Row {
        name: "dma_compute",
        doc: "dst = the sum of the sources, in float32.",
        since: 2,
        params: &[
            p("dst", Out(DMA)),
            p("srcs", Tensors),
            d("reduce_op", Alu, "None"),
            d("scales", Ignored, "None"),
            d("unique_indices", Flag, "True"),
            d("oob_mode", Enum("oob_mode"), "oob_mode.error"),
            NAME,
        ],
        lower: dma_compute,
    },
    Row {
        name: "tensor_copy",
        doc: "dst = src on chip; bits are kept when the types are equal.",
        since: 2,
        params: &[p("dst", Out(CHIP)), p("src", Src(CHIP)), d("engine", Enum("engine"), "engine.unknown"), NAME],
        lower: tensor_copy,
    },
    Row {
        name: "nc_stream_shuffle",
        doc: "Moves partitions inside of groups of 32: dst[g + i] = src[g + shuffle_mask[i]]; 255 leaves a partition as it is.",
        since: 2,
        params: &[p("dst", Out(CHIP)), p("src", Src(CHIP)), p("shuffle_mask", Ints), NAME],
        lower: shuffle,
    },
];

const OOB: &[(&str, i64)] = &[("error", 0), ("skip", 1)];
const DGE: &[(&str, i64)] = &[("unknown", 0), ("swdge", 1), ("hwdge", 2), ("none", 3)];

fn vector(t: &NkiTensor) -> bool {
    matches!(t.moves.as_deref(), Some(Moves::Vector { .. }))
}

/// Patterns of both sides of a copy. Packed elements move as bits, whatever type the other side has.
fn sides(c: &Call<'_, '_>, dst: &NkiTensor, src: &NkiTensor) -> PyResult<(Opnd, Opnd)> {
    let (mut to, mut from) = (c.access(dst)?, c.access(src)?);
    if to.dtype != from.dtype && (to.dtype.is_packed() || from.dtype.is_packed()) {
        if to.dtype.size() != from.dtype.size() {
            return Err(c.refuse(format!(
                "src has the type {} and dst {}: packed elements are copied as they are",
                src.dt.name(),
                dst.dt.name()
            )));
        }
        let carrier = if to.dtype.size() == 2 { Dtype::Uint16 } else { Dtype::Uint32 };
        (to.dtype, from.dtype) = (carrier, carrier);
    }
    dst.storage.written.store(true, Ordering::Relaxed);
    Ok((Opnd::Access(to), Opnd::Access(from)))
}

fn same_count(c: &Call<'_, '_>, dst: &NkiTensor, src: &NkiTensor) -> PyResult<()> {
    if dst.len() == src.len() {
        return Ok(());
    }
    Err(c.refuse(format!(
        "src has {} elements {} and dst {} {}",
        src.len(),
        src.shape_text(),
        dst.len(),
        dst.shape_text()
    )))
}

fn dma_copy(c: &mut Call<'_, '_>) -> PyResult<()> {
    let (dst, src) = (c.t(0)?, c.t(1)?);
    let (dst, src) = (dst.get(), src.get());
    same_count(c, dst, src)?;
    if vector(dst) && vector(src) {
        return Err(c.refuse("takes a vector offset on one side, not on both"));
    }
    let dge = match c.member(4, DGE, 0)? {
        1 => DgeType::Swdge,
        2 => DgeType::Hwdge,
        3 => DgeType::None,
        _ => DgeType::Unassigned,
    };
    if dge == DgeType::None && (dst.moves.is_some() || src.moves.is_some()) {
        return Err(c.refuse("with dge_mode.none takes no run-time offset"));
    }
    let add = match c.alu(7)? {
        AluOp::Bypass => false,
        AluOp::Add => true,
        other => return Err(c.refuse(format!("dst_rmw_op is nl.add, not {other}"))),
    };
    let (to, from) = sides(c, dst, src)?;
    let mut op = Op::new(Opcode::DMACopy, Engine::Dma)
        .with(f::DMACopy::dge_type, named(dge))
        .with(f::DMACopy::oob_is_err, c.member(3, OOB, 0)? == 0);
    if add {
        op = op.with(f::DMACopy::cce_op, named(AluOp::Add));
    }
    c.emit(op.input(from).output(to))
}

/// dst += src.
fn accumulate(c: &Call<'_, '_>, dst: &NkiTensor, src: &NkiTensor) -> PyResult<()> {
    let (to, from) = sides(c, dst, src)?;
    let op = Op::new(Opcode::DMACopy, Engine::Dma)
        .with(f::DMACopy::oob_is_err, c.member(5, OOB, 0)? == 0)
        .with(f::DMACopy::cce_op, named(AluOp::Add));
    c.emit(op.input(from).output(to))
}

fn dma_compute(c: &mut Call<'_, '_>) -> PyResult<()> {
    // The order of NKI 0.2: dst, srcs, scales, reduce_op.
    let listed = |k: usize| c.args[k].as_ref().is_some_and(|v| v.try_iter().is_ok() && super::token(v).is_err());
    if listed(2) || (c.args[2].is_none() && c.args[3].as_ref().is_some_and(|v| super::token(v).is_ok())) {
        c.args.swap(2, 3);
    }
    match c.alu(2)? {
        AluOp::Add | AluOp::Bypass => {}
        other => return Err(c.refuse(format!("reduce_op is nl.add, not {other}"))),
    }
    let dst = c.t(0)?;
    let dst = dst.get();
    let srcs = c.tensors(1, DMA)?;
    let scales: Vec<f64> = match &c.args[3] {
        None => vec![1.0; srcs.len()],
        Some(v) => v.extract()?,
    };
    if srcs.is_empty() || srcs.len() > 16 || scales.len() != srcs.len() {
        return Err(c.refuse(format!(
            "takes 1 to 16 sources and one scale for each, not {} and {}",
            srcs.len(),
            scales.len()
        )));
    }
    for s in &srcs {
        same_count(c, dst, s.get())?;
    }
    let gathers = srcs.iter().any(|s| vector(s.get()));
    if vector(dst) || gathers {
        if srcs.len() != 2 || scales.iter().any(|s| *s != 1.0) {
            return Err(c.refuse("with a vector offset takes two sources and no scales"));
        }
        if vector(dst) {
            // One source is the destination, the other one is added to it.
            let own = |s: &NkiTensor| vector(s) && Arc::ptr_eq(&s.storage, &dst.storage);
            let other = srcs.iter().find(|s| !own(s.get()));
            let Some(other) = other else { return Err(c.refuse("needs a source besides the destination")) };
            return accumulate(c, dst, other.get());
        }
        let plain = srcs.iter().find(|s| !vector(s.get()));
        let gathered = srcs.iter().find(|s| vector(s.get()));
        let (Some(plain), Some(gathered)) = (plain, gathered) else {
            return Err(c.refuse("takes a vector offset on one source, not on both"));
        };
        let (plain, gathered) = (plain.get(), gathered.get());
        let same = Arc::ptr_eq(&plain.storage, &dst.storage) && plain.offset == dst.offset && plain.dims == dst.dims;
        if !same {
            let (to, from) = sides(c, dst, plain)?;
            c.emit(Op::new(Opcode::DMACopy, Engine::Dma).input(from).output(to))?;
        }
        return accumulate(c, dst, gathered);
    }
    let mut op = Op::new(Opcode::DMACopy, Engine::Dma)
        .with(f::DMACopy::mode, named(CopyMode::Cce))
        .with(f::DMACopy::cce_op, named(AluOp::Add))
        .with(f::DMACopy::constants, Value::Floats(scales))
        .with(f::DMACopy::oob_is_err, c.member(5, OOB, 0)? == 0);
    for s in &srcs {
        op = op.input(c.read(s.get())?);
    }
    c.emit(op.output(c.write(dst)?))
}

/// The permutation of a rank.
fn order(rank: usize) -> Option<&'static [usize]> {
    match rank {
        2 => Some(&[1, 0]),
        3 => Some(&[2, 1, 0]),
        4 => Some(&[3, 1, 2, 0]),
        _ => None,
    }
}

fn dma_transpose(c: &mut Call<'_, '_>) -> PyResult<()> {
    let (dst, src) = (c.t(0)?, c.t(1)?);
    let (dst, src) = (dst.get(), src.get());
    let rank = src.dims.len();
    let Some(order) = order(rank) else {
        return Err(c.refuse(format!("src has {rank} dimensions; 2, 3 or 4 are transposed")));
    };
    if c.has(2) {
        let axes = c.ints(2)?;
        if !axes.iter().map(|a| *a as usize).eq(order.iter().copied()) {
            return Err(c.refuse(format!("of {rank} dimensions permutes by {order:?}, not {axes:?}")));
        }
    }
    same_count(c, dst, src)?;
    if src.dt.size() != dst.dt.size() {
        return Err(c.refuse(format!("src has the type {} and dst {}", src.dt.name(), dst.dt.name())));
    }
    let skip = c.member(5, OOB, 0)? == 1;
    if vector(src) {
        return gathered_transpose(c, dst, src, order, skip);
    }
    let (to, from) = sides(c, dst, src)?;
    let (Opnd::Access(to), Opnd::Access(mut from)) = (to, from) else { return Ok(()) };
    let op = Op::new(Opcode::DMACopy, Engine::Pool)
        .with(f::DMACopy::mode, named(CopyMode::Transpose))
        .with(f::DMACopy::transpose_op, named(TransposeOp::Xzyw))
        .with(f::DMACopy::oob_is_err, !skip);
    // The instruction knows four dimensions: (3, 1, 2, 0).
    let one = |at: usize, from: &mut crate::op::Access| from.dims.insert(at, (0, 1));
    match rank {
        2 => {
            one(1, &mut from);
            one(1, &mut from);
        }
        3 => one(2, &mut from),
        _ => {}
    }
    c.emit(op.input(Opnd::Access(from)).output(Opnd::Access(to)))
}

/// Rows that an index chooses, transposed. Rows that are skipped leave the destination as it is, so it goes to the rows
/// first.
fn gathered_transpose(c: &Call<'_, '_>, dst: &NkiTensor, src: &NkiTensor, order: &[usize], skip: bool) -> PyResult<()> {
    let Some(Moves::Vector { index, coef, rows }) = src.moves.as_deref() else { return Ok(()) };
    let shape: Vec<i64> = src.dims.iter().map(|d| d.1).collect();
    let stage = c.scratch(&shape, src.dt, Region::PrivateHbm);
    let turned = stage.with(0, order.iter().map(|k| stage.dims[*k]).collect());
    let copy = |from: &NkiTensor, to: &NkiTensor| -> PyResult<()> {
        let (to, from) = sides(c, to, from)?;
        c.emit(Op::new(Opcode::DMACopy, Engine::Dma).with(f::DMACopy::oob_is_err, !skip).input(from).output(to))
    };
    if skip {
        copy(dst, &turned)?;
    }
    // Columns of the index follow each other.
    let index = index.get();
    let (per, columns) = (index.partitions(), index.free());
    let mut done = 0;
    for column in 0..columns {
        let n = per.min(shape[0] - done);
        if n <= 0 {
            break;
        }
        let at = index.with(
            index.offset + column * index.dims.get(1).map_or(1, |d| d.0),
            [(index.dims[0].0, n), (1, 1)].into_iter().collect(),
        );
        let mut part = src.with(src.offset, src.dims.clone());
        part.dims[0].1 = n;
        part.moves = Some(Box::new(Moves::Vector { index: Py::new(c.py, at)?, coef: *coef, rows: *rows }));
        let mut rows = stage.with(done * stage.dims[0].0, stage.dims.clone());
        rows.dims[0].1 = n;
        copy(&part, &rows)?;
        done += n;
    }
    copy(&turned, dst)
}

fn tensor_copy(c: &mut Call<'_, '_>) -> PyResult<()> {
    let (dst, src) = (c.t(0)?, c.t(1)?);
    let (dst, src) = (dst.get(), src.get());
    c.same(0, 1)?;
    let engine = c.engine(2, &[Engine::Dve, Engine::Pool, Engine::Activation])?.unwrap_or(Engine::Dve);
    if vector(dst) || vector(src) {
        return Err(c.refuse("takes a scalar offset, not a vector offset; use dma_copy"));
    }
    if matches!(dst.moves.as_deref(), Some(Moves::Indirect { .. })) {
        return Err(c.refuse("writes to no gathered view"));
    }
    if let Some(Moves::Indirect { index, row }) = src.moves.as_deref() {
        let mut whole = c.access(&NkiTensor { moves: None, ..src.with(src.offset, src.dims.clone()) })?;
        whole.dims[1] = (1, *row);
        let valid = src.dims[1].1;
        let op = Op::new(Opcode::IndirectCopy, Engine::Pool).with(f::IndirectCopy::num_valid_indices, valid);
        return c.emit(op.input(Opnd::Access(whole)).input(c.read(index.get())?).output(c.output(0)?));
    }
    let (to, from) = sides(c, dst, src)?;
    c.emit(Op::new(Opcode::TensorCopy, engine).input(from).output(to))
}

fn shuffle(c: &mut Call<'_, '_>) -> PyResult<()> {
    let (dst, src) = (c.t(0)?, c.t(1)?);
    let (dst, src) = (dst.get(), src.get());
    let mask = c.ints(2)?;
    if mask.len() != 32 || mask.iter().any(|m| !(0..32).contains(m) && *m != 255) {
        return Err(c.refuse("shuffle_mask has 32 entries from 0 to 31, or 255"));
    }
    if dst.free() != src.free() {
        return Err(c.refuse(format!(
            "src has the shape {} and dst {}: elements per partition must agree",
            src.shape_text(),
            dst.shape_text()
        )));
    }
    let (to, from) = sides(c, dst, src)?;
    let (Opnd::Access(mut to), Opnd::Access(mut from)) = (to, from) else { return Ok(()) };
    if to.dtype.size() != from.dtype.size() {
        return Err(c.refuse(format!(
            "src has the type {} and dst {}: they must be equal",
            src.dt.name(),
            dst.dt.name()
        )));
    }
    from.dtype = to.dtype;
    // The mask may name partitions of the group behind those of the view.
    let need = (0..dst.partitions()).map(|k| match mask[(k % 32) as usize] {
        255 => 0,
        m => k - k % 32 + m + 1,
    });
    let need = need.max().unwrap_or(0);
    let there = src.storage.shape[0] - src.start_partition();
    if need > src.partitions() && need <= there {
        from.dims[0] = (src.row(), need);
    }
    if dst.partitions() == 1 {
        to.dims[0].0 = dst.row();
    }
    let mask = Value::Ints(mask.into_iter().map(Expr::Const).collect());
    let op = Op::new(Opcode::StreamShuffle, Engine::Dve).with(f::StreamShuffle::mask, mask);
    c.emit(op.input(Opnd::Access(from)).output(Opnd::Access(to)))
}
