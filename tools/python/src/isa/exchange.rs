//! What several cores do together.

use super::call::{Call, named};
use super::{ANY, Kind::*, NAME, Row, SB, d, p};
use crate::op::Op;
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
        lower: ring,
    },
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

fn ring(c: &mut Call<'_, '_>) -> PyResult<()> {
    let by_channel = |k: usize| -> PyResult<Vec<Py<crate::tensor::NkiTensor>>> {
        let mut out = Vec::new();
        if let Some(v) = &c.args[k] {
            for channel in v.try_iter()? {
                let channel = channel?;
                match channel.cast::<crate::tensor::NkiTensor>() {
                    Ok(t) => out.push(t.clone().unbind()),
                    Err(_) => {
                        for t in channel.try_iter()? {
                            out.push(t?.cast_into::<crate::tensor::NkiTensor>()?.unbind());
                        }
                    }
                }
            }
        }
        Ok(out)
    };
    let (srcs, dsts) = (by_channel(0)?, by_channel(1)?);
    let mut made =
        base(CollectiveKind::PermuteImplicit).with(f::CollectiveCompute::replica_groups, Value::Groups(groups(c, 2)?));
    for t in &srcs {
        made = made.input(c.read(t.get())?);
    }
    for t in &dsts {
        made = made.output(c.write(t.get())?);
    }
    c.emit(made)
}
