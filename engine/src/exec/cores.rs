//! What an instruction does at a rendezvous of several cores.

use super::{Cx, Want};
use crate::ir::opcodes::params;
use crate::ir::{CollectiveKind, Opcode, Params};
use crate::world::{Inst, Mail, Meeting, Program, Settings, group_of};
use crate::{Code, Error, Result};
use birsim_kernels::access::Src;
use birsim_kernels::collective::{self as kernel, permute_source};

/// The rendezvous that a row waits at.
pub fn meeting(program: &Program, settings: &Settings, mail: &Mail, row: u32) -> Result<Meeting> {
    let inst = &program.insts[row as usize];
    let peer = |rank: Option<i64>, key: &str| {
        let v = rank.and_then(|v| u32::try_from(v).ok());
        v.filter(|v| *v < settings.cores).ok_or_else(|| {
            Error::new(Code::S008, format!("{key} must name a core")).received(format!("{rank:?}")).operand(key)
        })
    };
    match inst.opcode {
        Opcode::CoreBarrier => {
            let own = record::<params::CoreBarrier>(inst)?;
            let cores = own.cores.iter().flatten().filter_map(|v| u32::try_from(*v).ok()).collect();
            Ok(Meeting::Barrier { id: i64::from(own.id), cores })
        }
        Opcode::CollectiveRecv => {
            let own = record::<params::CollectiveRecv>(inst)?;
            let from = peer(Some(i64::from(own.peer_id)), "peer_id")?;
            Ok(Meeting::Message { from, arrived: mail.messages.iter().any(|m| m.from == from) })
        }
        Opcode::GPSIMDSB2SB => {
            // The partner of a core in a logical core of two.
            let other = settings.core ^ 1;
            Ok(Meeting::Exchange { to: other, from: other, pipe: -1 })
        }
        Opcode::CollectiveCompute => {
            let own = record::<params::CollectiveCompute>(inst)?;
            if own.kind == CollectiveKind::SendRecv {
                let from = own.recv_from_rank.as_deref().and_then(|list| list.first().copied());
                return Ok(Meeting::Exchange {
                    to: peer(own.send_to_rank, "send_to_rank")?,
                    from: peer(from, "recv_from_rank")?,
                    pipe: i64::from(own.pipe_id),
                });
            }
            let ranks = group_of(own.replica_groups.as_deref(), settings.core, settings.cores);
            Ok(Meeting::Group { kind: own.kind, ranks })
        }
        other => Err(Error::new(Code::B001, format!("{other} meets no other core"))),
    }
}

/// The record of an instruction at which cores meet: who takes part is known before it runs.
fn record<P: Params>(inst: &Inst) -> Result<&P> {
    inst.own.get().ok_or_else(|| {
        Error::new(Code::S008, format!("the ranks of {} must not depend on registers or loop axes", inst.opcode))
    })
}

/// Writes what the partner of an exchange sent to the output. False when the instruction runs on one core.
pub fn receive(cx: &mut Cx) -> Result<bool> {
    if cx.m.settings.cores < 2 {
        return Ok(false);
    }
    let Some(received) = cx.m.mail.received.take() else { return Ok(false) };
    let mut io = cx.open(&[Want::Out(0)])?;
    let mut dst = io.outs.dst(0)?;
    let bytes = received.buffers.first().and_then(|b| b.first()).map_or(&[][..], Vec::as_slice);
    let sent = bytes.len() / dst.dtype().size();
    if sent != dst.len() || bytes.len() != dst.len() * dst.dtype().size() {
        return Err(Error::new(Code::S002, "the partner core sends another number of bytes than this core receives")
            .received(format!("{} bytes for {}", bytes.len(), dst.len() * dst.dtype().size()))
            .operand("outs[0]"));
    }
    let dense = dst.pattern().like_dense()?;
    birsim_kernels::copy::copy(&Src::new(bytes, &dense)?, &mut dst, io.profile)?;
    Ok(true)
}

/// A collective of several cores: combines what every rank of the group sent. False when the instruction runs on one
/// core.
pub fn collective(cx: &mut Cx, own: &params::CollectiveCompute) -> Result<bool> {
    let (kind, op) = (own.kind, own.op);
    if cx.m.settings.cores < 2 {
        return Ok(false);
    }
    if kind == CollectiveKind::SendRecv {
        return receive(cx);
    }
    let Some(received) = cx.m.mail.received.take() else { return Ok(false) };
    let me = cx.m.settings.core;
    let rank = received.ranks.iter().position(|r| *r == me).unwrap_or(0);
    let dim = own.cc_dim;
    for k in 0..cx.n_ins() {
        let Some((_, pattern)) = cx.location_and_pattern(k)? else { return Err(cx.missing("ins", k)) };
        let (dense, size) = (pattern.like_dense()?, pattern.len() * pattern.dtype().size());
        let mut buffers = Vec::with_capacity(received.ranks.len());
        for (id, inputs) in received.ranks.iter().zip(&received.buffers) {
            let bytes = inputs.get(k).map_or(&[][..], Vec::as_slice);
            if bytes.len() != size {
                return Err(Error::new(Code::S002, "the ranks of a collective send different numbers of bytes")
                    .received(format!("{} from rank {id}, {size} from rank {me}", bytes.len()))
                    .operand(format!("ins[{k}]")));
            }
            buffers.push(Src::new(bytes, &dense)?);
        }
        let source = match kind {
            CollectiveKind::Permute => permute_source(&pairs(own), me),
            CollectiveKind::PermuteImplicit => kernel::ring_source(&received.ranks, me),
            _ => Some(me),
        };
        // A rank that receives from no rank keeps the bytes of its destination.
        let Some(source) = source else { continue };
        let source = received.ranks.iter().position(|r| *r == source).ok_or_else(|| {
            Error::new(Code::S008, "the sending rank is not in the group").received(format!("rank {source}"))
        })?;
        let chosen = match kind {
            CollectiveKind::SendRecvCce => listed(own, &received.ranks, &buffers)?,
            _ => Vec::new(),
        };
        let mut io = cx.open(&[Want::Out(k)])?;
        let (dst, profile) = (&mut io.outs.dst(k)?, io.profile);
        match kind {
            CollectiveKind::AllReduce => kernel::all_reduce(op, &buffers, dst, profile)?,
            CollectiveKind::ReduceScatter => kernel::reduce_scatter(op, dim, &buffers, rank, dst, profile)?,
            CollectiveKind::AllGather => kernel::all_gather(dim, &buffers, dst, profile)?,
            CollectiveKind::SendRecvCce => kernel::all_reduce(op, &chosen, dst, profile)?,
            CollectiveKind::AllToAll => kernel::all_to_all(&buffers, rank, dst, profile)?,
            CollectiveKind::Permute | CollectiveKind::PermuteImplicit => {
                birsim_kernels::copy::copy(&buffers[source], dst, profile)?;
            }
            other => {
                return Err(Error::new(Code::U002, format!("{other} over several cores is not described")));
            }
        }
    }
    Ok(true)
}

/// What the ranks of `recv_from_rank` sent, in that order (`opcodes.md` 10).
fn listed<'a>(own: &params::CollectiveCompute, ranks: &[u32], buffers: &[Src<'a>]) -> Result<Vec<Src<'a>>> {
    let buffer = |from: i64| {
        let at = ranks.iter().position(|r| i64::from(*r) == from);
        at.and_then(|k| buffers.get(k)).copied().ok_or_else(|| {
            Error::new(Code::S008, "recv_from_rank must name cores of the run")
                .received(format!("rank {from}"))
                .operand("recv_from_rank")
        })
    };
    own.recv_from_rank.iter().flatten().copied().map(buffer).collect()
}

fn pairs(own: &params::CollectiveCompute) -> Vec<(u32, u32)> {
    let pair = |p: &Vec<i64>| Some((u32::try_from(*p.first()?).ok()?, u32::try_from(*p.get(1)?).ok()?));
    own.src_target_pairs.iter().flatten().filter_map(pair).collect()
}
