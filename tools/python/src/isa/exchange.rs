//! What several cores do together.

use super::call::{Call, named};
use super::{ANY, Kind::*, NAME, Row, SB, d, p};
use crate::op::{Op, Region};
use crate::tensor::NkiTensor;
use birsim_engine::ir::opcodes::field as f;
use birsim_engine::ir::{CollectiveDimension, CollectiveKind, Engine, Expr, Opcode, Value};
use birsim_kernels::alu::AluOp;
use pyo3::prelude::*;
use pyo3::types::PyBool;

pub const ROWS: &[Row] = &[
    Row {
        name: "sendrecv",
        doc: "dst = what the other core sends with the call that stands at the same place.",
        since: 3,
        params: &[
            p("src", Src(SB)),
            p("dst", Out(SB)),
            p("send_to_rank", Int),
            p("recv_from_rank", Int),
            p("pipe_id", Int),
            d("dma_engine", Enum("dma_engine"), "dma_engine.dma"),
            NAME,
        ],
        lower: sendrecv,
    },
    Row {
        name: "core_barrier",
        doc: "Waits for the other cores.",
        since: 3,
        params: &[p("data", Src(ANY)), p("cores", Ints), d("engine", Enum("engine"), "engine.gpsimd"), NAME],
        lower: core_barrier,
    },
];

const PRIORITY: super::Param = d("priority", Ignored, "None");
const CHANNELS: super::Param = d("channel_ids", Ints, "None");

pub const COLLECTIVES: &[Row] = &[
    Row {
        name: "all_reduce",
        doc: "dsts[i] = op over the ranks of srcs[i].",
        since: 2,
        params: &[p("srcs", Tensors), p("dsts", Tensors), p("replica_group", Ignored), p("op", Alu), PRIORITY, NAME],
        lower: |c| {
            let op = c.alu(3)?;
            collective(c, CollectiveKind::AllReduce, op, None)
        },
    },
    Row {
        name: "all_gather",
        doc: "dsts[i] = srcs[i] of all ranks, one after the other along a dimension.",
        since: 2,
        params: &[
            p("srcs", Tensors),
            p("dsts", Tensors),
            p("replica_group", Ignored),
            d("collective_dim", Int, "0"),
            PRIORITY,
            NAME,
        ],
        lower: |c| collective(c, CollectiveKind::AllGather, AluOp::Bypass, Some(3)),
    },
    Row {
        name: "reduce_scatter",
        doc: "dsts[i] = this rank's slice of op over the ranks of srcs[i].",
        since: 2,
        params: &[
            p("srcs", Tensors),
            p("dsts", Tensors),
            p("replica_group", Ignored),
            p("collective_dim", Int),
            p("op", Alu),
            PRIORITY,
            NAME,
        ],
        lower: |c| {
            let op = c.alu(4)?;
            collective(c, CollectiveKind::ReduceScatter, op, Some(3))
        },
    },
    Row {
        name: "all_to_all",
        doc: "Rank r receives slice r of every rank's srcs.",
        since: 2,
        params: &[
            p("srcs", Tensors),
            p("dsts", Tensors),
            p("replica_group", Ignored),
            d("collective_dim", Int, "0"),
            PRIORITY,
            NAME,
        ],
        lower: |c| collective(c, CollectiveKind::AllToAll, AluOp::Bypass, Some(3)),
    },
    Row {
        name: "collective_permute",
        doc: "dsts of every target = srcs of its source.",
        since: 2,
        params: &[p("srcs", Tensors), p("dsts", Tensors), p("source_target_pairs", Pairs), PRIORITY, NAME],
        lower: permute,
    },
    Row {
        name: "collective_permute_implicit",
        doc: "Sends to the next rank of the ring and receives from the one before.",
        since: 2,
        params: &[
            p("srcs_by_channel", Ignored),
            p("dsts_by_channel", Ignored),
            p("replica_group", Ignored),
            CHANNELS,
            PRIORITY,
            NAME,
        ],
        lower: |c| ring(c, CollectiveKind::PermuteImplicit, &[0], 1, AluOp::Bypass),
    },
    Row {
        name: "collective_permute_implicit_reduce",
        doc: "Sends op of both sources to the next rank of the ring and receives from the one before.",
        since: 2,
        params: &[
            p("srcs0_by_channel", Ignored),
            p("srcs1_by_channel", Ignored),
            p("dsts_by_channel", Ignored),
            p("replica_group", Ignored),
            p("op", Alu),
            CHANNELS,
            PRIORITY,
            NAME,
        ],
        lower: |c| {
            let op = c.alu(4)?;
            ring(c, CollectiveKind::PermuteReduceImplicit, &[0, 1], 2, op)
        },
    },
    Row {
        name: "all_to_all_v",
        doc: "Chunks of any size to every rank: rows of metadata_tensor count and place what is sent and received.",
        since: 2,
        params: VARIABLE,
        lower: all_to_all_v,
    },
    Row {
        name: "all_gather_v",
        doc: "A chunk of any size to all ranks: the first numbers of rows 0 and 1 of metadata_tensor count and place it.",
        since: 2,
        params: VARIABLE,
        lower: all_gather_v,
    },
];

const VARIABLE: &[super::Param] = &[
    p("srcs", Tensors),
    p("dsts", Tensors),
    p("replica_group", Ignored),
    p("metadata_tensor", Src(ANY)),
    d("recv_counts_known", Flag, "False"),
    d("has_rdispls", Flag, "False"),
    PRIORITY,
    NAME,
];

fn sendrecv(c: &mut Call<'_, '_>) -> PyResult<()> {
    let (src, dst) = (c.t(0)?, c.t(1)?);
    if src.get().len() != dst.get().len() || src.get().dt.size() != dst.get().dt.size() {
        return Err(c.refuse(format!(
            "src is {} {} and dst {} {}: both sides exchange the same",
            src.get().dt.name(),
            src.get().shape_text(),
            dst.get().dt.name(),
            dst.get().shape_text()
        )));
    }
    let cores = i64::from(c.session.settings.cores);
    let (to, from) = (c.int(2, 0)?, c.int(3, 0)?);
    if cores != 2 || to != from || to != 1 - i64::from(c.core) {
        return Err(c.refuse(format!(
            "on core {} of {cores} names the ranks {to} and {from}; two cores exchange with each other (kernel[2])",
            c.core
        )));
    }
    // `use_gpsimd_dma=bool` is the spelling of NKI 0.2.
    let gpsimd = match &c.args[5] {
        Some(v) if v.cast::<PyBool>().is_ok() => v.is_truthy()?,
        _ => c.member(5, &[("dma", 1), ("gpsimd_dma", 2)], 1)? == 2,
    };
    let op = Op::new(Opcode::CollectiveCompute, Engine::Pool)
        .with(f::CollectiveCompute::kind, named(CollectiveKind::SendRecv))
        .with(f::CollectiveCompute::is_local, true)
        .with(f::CollectiveCompute::stream_id, -1i64)
        .with(f::CollectiveCompute::pipe_id, c.int(4, 0)?)
        .with(f::CollectiveCompute::send_to_rank, to)
        .with(f::CollectiveCompute::recv_from_rank, Value::Ints(vec![Expr::Const(from)]))
        .with(f::CollectiveCompute::use_gpsimd_dma, gpsimd);
    c.emit(op.input(c.input(0)?).output(c.output(1)?))
}

fn core_barrier(c: &mut Call<'_, '_>) -> PyResult<()> {
    if c.session.settings.cores < 2 {
        return Ok(());
    }
    let cores = c.ints(1)?;
    // The k-th barrier of a core meets the k-th barrier of the others.
    let id = c.session.next_barrier(c.core);
    let op = Op::new(Opcode::CoreBarrier, Engine::Pool)
        .with(f::CoreBarrier::id, id)
        .with(f::CoreBarrier::cores, Value::Ints(cores.into_iter().map(Expr::Const).collect()));
    let data = c.input(0)?;
    c.emit(op.input(data.clone()).output(data))
}

/// The groups of a `ReplicaGroup`, or of a list of lists.
fn groups(c: &Call<'_, '_>, k: usize) -> PyResult<Vec<Vec<i64>>> {
    let Some(v) = &c.args[k] else { return Ok(Vec::new()) };
    let list = v.getattr("groups").unwrap_or_else(|_| v.clone());
    list.extract().map_err(|_| c.refuse("replica_group is a ReplicaGroup, or a list of lists of ranks"))
}

fn base(kind: CollectiveKind) -> Op {
    Op::new(Opcode::CollectiveCompute, Engine::Pool)
        .with(f::CollectiveCompute::kind, named(kind))
        .with(f::CollectiveCompute::is_local, false)
}

fn collective(c: &mut Call<'_, '_>, kind: CollectiveKind, op: AluOp, dim: Option<usize>) -> PyResult<()> {
    let (srcs, dsts) = (c.tensors(0, super::ANY)?, c.tensors(1, super::ANY)?);
    if srcs.len() != dsts.len() || srcs.is_empty() {
        return Err(c.refuse(format!("pairs srcs with dsts, {} with {}", srcs.len(), dsts.len())));
    }
    let mut made = base(kind)
        .with(f::CollectiveCompute::op, named(op))
        .with(f::CollectiveCompute::replica_groups, Value::Groups(groups(c, 2)?));
    if let Some(k) = dim {
        let by = if c.int(k, 0)? == 0 { CollectiveDimension::Partition } else { CollectiveDimension::Free };
        made = made.with(f::CollectiveCompute::cc_dim, named(by));
    }
    for t in &srcs {
        made = made.input(c.read(t.get())?);
    }
    for t in &dsts {
        made = made.output(c.write(t.get())?);
    }
    c.emit(made)
}

fn permute(c: &mut Call<'_, '_>) -> PyResult<()> {
    let (srcs, dsts) = (c.tensors(0, super::ANY)?, c.tensors(1, super::ANY)?);
    let pairs = c.pairs(2)?.into_iter().map(|(a, b)| vec![a, b]).collect();
    let mut made = base(CollectiveKind::Permute).with(f::CollectiveCompute::src_target_pairs, Value::Groups(pairs));
    for t in &srcs {
        made = made.input(c.read(t.get())?);
    }
    for t in &dsts {
        made = made.output(c.write(t.get())?);
    }
    c.emit(made)
}

/// The tensors of every channel: a list of lists, or a list of tensors.
fn channels(c: &Call<'_, '_>, k: usize) -> PyResult<Vec<Py<NkiTensor>>> {
    let wrong = || c.refuse(format!("{} is a list with one tensor for each channel", c.row.params[k].name));
    let mut out = Vec::new();
    let Some(list) = &c.args[k] else { return Ok(out) };
    for channel in list.try_iter().map_err(|_| wrong())? {
        let channel = channel?;
        if let Ok(t) = channel.cast::<NkiTensor>() {
            out.push(t.clone().unbind());
            continue;
        }
        for t in channel.try_iter().map_err(|_| wrong())? {
            out.push(t?.cast_into::<NkiTensor>().map_err(|_| wrong())?.unbind());
        }
    }
    Ok(out)
}

/// One step round the ring on every channel; with two sources their combination travels.
fn ring(c: &mut Call<'_, '_>, kind: CollectiveKind, sources: &[usize], dsts: usize, op: AluOp) -> PyResult<()> {
    let groups = groups(c, dsts + 1)?;
    let from = sources.iter().map(|k| channels(c, *k)).collect::<PyResult<Vec<_>>>()?;
    let to = channels(c, dsts)?;
    if to.is_empty() || from.iter().any(|f| f.len() != to.len()) {
        return Err(c.refuse("pairs a source with a destination on every channel"));
    }
    let ids = c.ints(sources.len() + 2 + usize::from(sources.len() > 1))?;
    for (k, dst) in to.iter().enumerate() {
        let channel = ids.get(k).copied().unwrap_or(k as i64);
        let mut made = base(kind)
            .with(f::CollectiveCompute::op, named(op))
            .with(f::CollectiveCompute::cc_channel, Value::Expr(Expr::Const(channel)))
            .with(f::CollectiveCompute::replica_groups, Value::Groups(groups.clone()));
        for list in &from {
            made = made.input(c.read(list[k].get())?);
        }
        c.emit(made.output(c.write(dst.get())?))?;
    }
    Ok(())
}

/// The rows of the metadata that an exchange of any size reads.
fn rows(c: &Call<'_, '_>, metadata: &NkiTensor) -> PyResult<(i64, NkiTensor)> {
    let ranks = metadata.dims.last().map_or(0, |d| d.1);
    let have = if ranks > 0 { metadata.len() / ranks } else { 0 };
    let need = if c.flag(5)? { 4 } else { 3 };
    if have < need {
        return Err(c.refuse(format!(
            "metadata_tensor has the shape {}; it holds {need} rows with a number for each rank",
            metadata.shape_text()
        )));
    }
    let step = metadata.dims.last().map_or(1, |d| d.0);
    let dims = if metadata.on_chip() {
        [(metadata.row(), 1), (ranks * step, need), (step, ranks)].into_iter().collect()
    } else {
        [(ranks * step, need), (step, ranks)].into_iter().collect()
    };
    Ok((ranks, metadata.with(metadata.offset, dims)))
}

fn one(c: &Call<'_, '_>, k: usize) -> PyResult<Py<NkiTensor>> {
    match c.tensors(k, super::ANY)?.as_slice() {
        [t] => Ok(t.clone().unbind()),
        many => Err(c.refuse(format!("{} holds one tensor, not {}", c.row.params[k].name, many.len()))),
    }
}

fn exchange(c: &Call<'_, '_>, metadata: &NkiTensor) -> PyResult<()> {
    let (src, dst) = (one(c, 0)?, one(c, 1)?);
    let made = base(CollectiveKind::AllToAllV)
        .with(f::CollectiveCompute::replica_groups, Value::Groups(groups(c, 2)?))
        .input(c.read(src.get())?)
        .input(c.read(metadata)?)
        .output(c.write(dst.get())?);
    let made = if c.flag(4)? { made } else { made.output(c.write(metadata)?) };
    c.emit(made)
}

fn all_to_all_v(c: &mut Call<'_, '_>) -> PyResult<()> {
    let metadata = c.t(3)?;
    let (_, metadata) = rows(c, metadata.get())?;
    exchange(c, &metadata)
}

/// Every rank sends the same chunk to all: an exchange whose first two rows repeat their first number.
fn all_gather_v(c: &mut Call<'_, '_>) -> PyResult<()> {
    let metadata = c.t(3)?;
    let (ranks, given) = rows(c, metadata.get())?;
    let count = given.len() / ranks;
    let spread = c.scratch(&[count, ranks], given.dt, Region::PrivateHbm);
    let copy = |from: &NkiTensor, to: &NkiTensor| -> PyResult<()> {
        c.emit(Op::new(Opcode::DMACopy, Engine::Dma).input(c.read(from)?).output(c.write(to)?))
    };
    copy(&given, &spread)?;
    for row in 0..2 {
        let at = row * ranks;
        let first = spread.with(at, [(0, 1), (0, ranks)].into_iter().collect());
        copy(&first, &spread.with(at, [(ranks, 1), (1, ranks)].into_iter().collect()))?;
    }
    exchange(c, &spread)?;
    if c.flag(4)? {
        return Ok(());
    }
    let received = |t: &NkiTensor| {
        let mut dims = t.dims.clone();
        let at = dims.len() - 2;
        dims[at].1 = 1;
        t.with(t.offset + 2 * dims[at].0, dims)
    };
    copy(&received(&spread), &received(&given))
}
