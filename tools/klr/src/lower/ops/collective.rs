//! Collectives, exchange between cores, barriers (`klr.md` 5.9).

use crate::ast::{CollectiveOp, CoreBarrier, ReplicaGroup, SendRecv};
use crate::lower::context::{Core, need_int};
use crate::lower::maps;
use birsim_ir::{CollectiveDimension, CollectiveKind, Engine, Expr, Instruction, Opcode, Value};
use birsim_kernels::{Code, Error, Named, Result};

fn bad(what: &str) -> Error {
    Error::new(Code::K005, what)
}

/// Operands, kind and the fixed stream of a collective.
fn start(cx: &mut Core<'_>, p: &CollectiveOp, prefix: &str, kind: CollectiveKind) -> Result<Instruction> {
    let mut inst = cx.collective(prefix, Opcode::CollectiveCompute, Engine::Pool);
    for src in &p.srcs {
        inst.ins.push(cx.ap(src)?);
    }
    for dst in &p.dsts {
        inst.outs.push(cx.ap(dst)?);
    }
    Ok(inst.with("kind", Value::named(kind)).with("stream_id", -1i64))
}

/// As many sources as destinations, at least one.
fn paired(p: &CollectiveOp) -> Result<()> {
    if p.srcs.is_empty() || p.srcs.len() != p.dsts.len() {
        let found = format!("{} sources, {} destinations", p.srcs.len(), p.dsts.len());
        return Err(bad("a collective needs as many sources as destinations, at least one").received(found));
    }
    Ok(())
}

fn counts(p: &CollectiveOp, srcs: usize, dsts: usize) -> Result<()> {
    if (p.srcs.len(), p.dsts.len()) != (srcs, dsts) {
        let found = format!("{} and {}, not {srcs} and {dsts}", p.srcs.len(), p.dsts.len());
        return Err(bad("a permute has a fixed number of sources and destinations").received(found));
    }
    Ok(())
}

/// Literal groups, and those whose ranks the caller gives.
fn groups(cx: &Core<'_>, inst: Instruction, p: &CollectiveOp) -> Result<Instruction> {
    let given = &cx.options.replica_groups;
    let found = match (&p.replica_group, given.as_slice()) {
        (ReplicaGroup::Literal(groups), _) => Some(groups),
        (ReplicaGroup::Named(name), _) => given.iter().find(|(n, _)| n == name).map(|(_, g)| g),
        (ReplicaGroup::Unspecified, [(_, only)]) => Some(only),
        (ReplicaGroup::Unspecified, _) => given.iter().find(|(n, _)| n == "unspecified").map(|(_, g)| g),
    };
    match (found, &p.replica_group) {
        (Some(groups), _) => Ok(inst.with("replica_groups", Value::Groups(groups.clone()))),
        (None, ReplicaGroup::Named(name)) => Err(Error::new(Code::K004, "a replica group must be literal")
            .received(format!("named '{name}'"))
            .advice(format!("give its ranks: --replica-group {name}=[[0,1,..],..]"))),
        (None, other) => Err(Error::new(Code::K004, "a replica group must be literal")
            .received(other.constructor())
            .advice("give its ranks: --replica-group unspecified=[[0,1,..],..]")),
    }
}

fn op(inst: Instruction, p: &CollectiveOp) -> Result<Instruction> {
    let op = p.op.ok_or_else(|| bad("the collective has no reduction"))?;
    Ok(inst.with("op", Value::named(maps::alu(op)?)))
}

fn dimension(inst: Instruction, p: &CollectiveOp) -> Result<Instruction> {
    let dim = p.concat_dim.ok_or_else(|| bad("the collective has no concatDim"))?;
    let dim = u8::try_from(dim)
        .ok()
        .and_then(CollectiveDimension::from_ordinal)
        .ok_or_else(|| Error::new(Code::K004, "concatDim must be 0 or 1").received(dim))?;
    Ok(inst.with("cc_dim", Value::named(dim)))
}

fn channel(inst: Instruction, p: &CollectiveOp) -> Result<Instruction> {
    let id = p.channel_id.ok_or_else(|| bad("the collective has no channel_id"))?;
    Ok(inst.with("cc_channel", Value::Expr(Expr::Const(id))))
}

/// Kind 52.
pub fn all_reduce(cx: &mut Core<'_>, p: &CollectiveOp) -> Result<Instruction> {
    paired(p)?;
    let inst = start(cx, p, "AllReduce-", CollectiveKind::AllReduce)?;
    op(groups(cx, inst, p)?, p)
}

/// Kind 53.
pub fn all_gather(cx: &mut Core<'_>, p: &CollectiveOp) -> Result<Instruction> {
    paired(p)?;
    let inst = start(cx, p, "AllGather-", CollectiveKind::AllGather)?;
    dimension(groups(cx, inst, p)?, p)
}

/// Kind 54.
pub fn reduce_scatter(cx: &mut Core<'_>, p: &CollectiveOp) -> Result<Instruction> {
    paired(p)?;
    let inst = start(cx, p, "ReduceScatter-", CollectiveKind::ReduceScatter)?;
    dimension(op(groups(cx, inst, p)?, p)?, p)
}

/// Kind 59.
pub fn all_to_all(cx: &mut Core<'_>, p: &CollectiveOp) -> Result<Instruction> {
    paired(p)?;
    let inst = start(cx, p, "AllToAll-", CollectiveKind::AllToAll)?;
    groups(cx, inst, p)
}

/// Kind 55.
pub fn permute(cx: &mut Core<'_>, p: &CollectiveOp) -> Result<Instruction> {
    counts(p, 1, 1)?;
    let pairs = p.source_target_pairs.as_ref().ok_or_else(|| bad("the permute has no sourceTargetPairs"))?;
    if let Some(pair) = pairs.iter().find(|pair| pair.len() != 2) {
        return Err(bad("a source-target pair has two ranks").received(format!("{pair:?}")));
    }
    let inst = start(cx, p, "CollectivePermute-", CollectiveKind::Permute)?;
    Ok(inst.with("src_target_pairs", Value::Groups(pairs.clone())))
}

/// Kind 56.
pub fn permute_implicit(cx: &mut Core<'_>, p: &CollectiveOp) -> Result<Instruction> {
    counts(p, 1, 1)?;
    let inst = start(cx, p, "CollectivePermuteImplicit-", CollectiveKind::PermuteImplicit)?;
    channel(groups(cx, inst, p)?, p)
}

/// Kind 57: the peer's value, then the local accumulator.
pub fn permute_implicit_reduce(cx: &mut Core<'_>, p: &CollectiveOp) -> Result<Instruction> {
    counts(p, 2, 1)?;
    let inst = start(cx, p, "CollectivePermuteImplicitReduce-", CollectiveKind::PermuteReduceImplicit)?;
    channel(op(groups(cx, inst, p)?, p)?, p)
}

/// Exchange with another core of the same kernel.
pub fn send_recv(cx: &mut Core<'_>, p: &SendRecv) -> Result<Instruction> {
    let to = need_int(&p.send_to_rank, "The sendToRank must be a integer")?;
    let from = need_int(&p.recv_from_rank, "The recvFromRank must be a integer")?;
    let pipe = need_int(&p.pipe_id, "The pipeId must be a integer")?;
    let core = cx.core as i64;
    if from == core {
        let what = format!("SendRecv instruction on core {core} is receiving from itself!");
        return Err(Error::new(Code::K004, what));
    }
    if to == core {
        let what = format!("SendRecv instruction on core {core} is sending to itself!");
        return Err(Error::new(Code::K004, what));
    }
    let cores = cx.kernel.bodies.len() as i64;
    for rank in [to, from] {
        if !(0..cores).contains(&rank) {
            return Err(bad("a SendRecv names a core that the kernel has not").received(format!("{rank} of {cores}")));
        }
    }
    if !(0..=i64::from(u32::MAX)).contains(&pipe) {
        return Err(bad("a pipe id is in 0..2^32").received(pipe));
    }
    let mut inst = cx.collective("LocalSendRecv-", Opcode::CollectiveCompute, Engine::Pool);
    inst.ins.push(cx.ap(&p.src)?);
    inst.outs.push(cx.ap(&p.dst)?);
    // As in the reference, the author's GpSimd flag is dropped.
    Ok(inst
        .with("kind", Value::named(CollectiveKind::SendRecv))
        .with("stream_id", -1i64)
        .with("is_local", true)
        .with("pipe_id", pipe)
        .with("send_to_rank", Value::Expr(Expr::Const(to)))
        .with("recv_from_rank", Value::Ints(vec![Expr::Const(from)]))
        .with("initial_corebarrier", true)
        .with("use_gpsimd_dma", false))
}

/// A barrier between cores. The file has no ids, so the k-th barrier of a set of cores matches the k-th barrier of the
/// same set on the other cores (`klr.md` 8.3).
pub fn core_barrier(cx: &mut Core<'_>, p: &CoreBarrier) -> Result<Instruction> {
    let engine = cx.engine(p.engine);
    let data = cx.ap(&p.data)?;
    if let Some(core) = p.cores.iter().find(|c| u32::try_from(**c).is_err()) {
        return Err(bad("a core id is in 0..2^32").received(core));
    }
    let mut inst = cx.inst("CoreBarrier-", Opcode::CoreBarrier, engine);
    inst.ins.push(data.clone());
    inst.outs.push(data);
    Ok(inst
        .with("id", cx.barrier(&p.cores))
        .with("cores", Value::Ints(p.cores.iter().copied().map(Expr::Const).collect())))
}
