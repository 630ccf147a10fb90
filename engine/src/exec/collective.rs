//! Collectives and ranks on one core (11, 33, 47 to 50, 66; `opcodes.md` 10).
//!
//! A core that has peers exchanges buffers with them; this core has none, so a group of one rank is an identity, the sum
//! over a larger group is what a worker of the reference computes alone, and everything else names what is missing.

use super::fields::own;
use super::registers::store_scalar;
use super::{Cx, Want};
use crate::ir::CollectiveKind;
use crate::ir::opcodes::params;
use crate::world::{Diagnostic, Message, Parcel, Remark};
use crate::{Code, Error, Result};
use birsim_kernels::access::{Pattern, Src};
use birsim_kernels::alu::AluOp;
use birsim_kernels::collective as kernel;
use birsim_kernels::copy::copy;

bind! {
    GetGlobalRankId(own) => global_rank,
    CollectiveCompute(own) => compute,
    CollectiveSend(own) => send,
    CollectiveRecv(own) => receive,
    GetCurProcessingRankID(own) => processing_rank,
    GPSIMDSB2SB => partner_exchange,
}

/// Bytes that sent but not yet received messages may hold.
const MAX_IN_FLIGHT: usize = 1 << 30;

fn groups(all: &[Vec<i64>]) -> Vec<Vec<u32>> {
    all.iter().map(|g| g.iter().filter_map(|r| u32::try_from(*r).ok()).collect()).collect()
}

fn absent(what: impl Into<String>, peer: u32) -> Error {
    Error::new(Code::U002, what).received(format!("rank {peer}")).advice("a run has one core, which has no peers")
}

/// CollectiveCompute (48): input i is paired with output i.
pub fn compute(cx: &mut Cx, own: &params::CollectiveCompute) -> Result<()> {
    let (kind, op) = (own.kind, own.op);
    if super::cores::collective(cx, own)? {
        return Ok(());
    }
    let rank = cx.m.settings.core;
    let all = groups(own.replica_groups.as_deref().unwrap_or_default());
    // No group means that every rank takes part; a rank outside all groups does not (`opcodes.md` 10).
    let group = match all.iter().find(|g| g.contains(&rank)) {
        Some(g) => g.clone(),
        None if all.iter().all(Vec::is_empty) => vec![rank],
        None => return Ok(()),
    };
    if cx.n_ins() != cx.n_outs() {
        return Err(Error::new(Code::J009, "a collective pairs every input with an output").received(format!(
            "{} inputs, {} outputs",
            cx.n_ins(),
            cx.n_outs()
        )));
    }
    if !receives(own, rank, &group)? {
        return Ok(());
    }
    for k in 0..cx.n_ins() {
        one(cx, kind, op, &group, k)?;
    }
    Ok(())
}

/// Whether this rank receives anything, and from itself; any other sender is missing.
fn receives(own: &params::CollectiveCompute, rank: u32, group: &[u32]) -> Result<bool> {
    let source = match own.kind {
        CollectiveKind::Permute => {
            let pairs: Vec<(u32, u32)> = groups(own.src_target_pairs.as_deref().unwrap_or_default())
                .iter()
                .filter_map(|p| match p.as_slice() {
                    [a, b] => Some((*a, *b)),
                    _ => None,
                })
                .collect();
            if pairs.is_empty() {
                return Ok(true);
            }
            match kernel::permute_source(&pairs, rank) {
                None => return Ok(false),
                Some(source) => source,
            }
        }
        CollectiveKind::PermuteImplicit => kernel::ring_source(group, rank).unwrap_or(rank),
        CollectiveKind::SendRecv | CollectiveKind::SendRecvCce => {
            match own.recv_from_rank.iter().flatten().find(|r| **r != i64::from(rank)) {
                Some(other) => {
                    return Err(absent("the sending rank is not part of the run", *other as u32)
                        .received(format!("rank {other}"))
                        .operand("recv_from_rank"));
                }
                None => rank,
            }
        }
        _ => rank,
    };
    if source == rank { Ok(true) } else { Err(absent("the sending rank is not part of the run", source)) }
}

fn one(cx: &mut Cx, kind: CollectiveKind, op: AluOp, group: &[u32], k: usize) -> Result<()> {
    use CollectiveKind::*;
    let mut io = cx.open(&[Want::In(k), Want::Out(k)])?;
    let (src, dst, profile) = (&io.ins.src(k)?, &mut io.outs.dst(k)?, io.profile);
    let reduces = matches!(kind, AllReduce | ReduceScatter | SendRecvCce | PermuteReduceImplicit);
    if group.len() <= 1 {
        return if reduces {
            kernel::all_reduce(op, std::slice::from_ref(src), dst, profile)
        } else {
            copy(src, dst, profile)
        };
    }
    match (kind, op) {
        // Equal replicas: their sum is N times one of them, their maximum and minimum are themselves.
        (AllReduce, AluOp::Add) => kernel::scaled(group.len() as f32, src, dst, profile)?,
        (AllReduce, _) => kernel::all_reduce(op, std::slice::from_ref(src), dst, profile)?,
        // Kind 8 has no model of its own in the reference (`opcodes.md` 13).
        (PermuteReduce, _) => return copy(src, dst, profile),
        _ => {
            return Err(Error::new(Code::U002, format!("{kind} over several ranks needs all of them in the run"))
                .received(format!("a group of {} ranks", group.len()))
                .operand("replica_groups"));
        }
    }
    drop(io);
    let message = format!("the other {} ranks are taken to hold the same data as this one", group.len() - 1);
    cx.m.findings.note(Diagnostic::note(Remark::CollectiveAlone, message).at(cx.payload));
    Ok(())
}

/// CollectiveSend (49): publishes a copy of its input for the peer.
pub fn send(cx: &mut Cx, own: &params::CollectiveSend) -> Result<()> {
    let to = own.peer_id;
    if to >= cx.m.settings.cores && to != cx.m.settings.core {
        return Err(absent("the receiving rank is not part of the run", to).operand("peer_id"));
    }
    let waiting: usize = cx.m.mail.messages.iter().map(|m| m.bytes.len()).sum();
    let queued = waiting + cx.m.post.in_flight;
    let io = cx.open(&[Want::In(0)])?;
    let src = io.ins.src(0)?;
    let size = src.dtype().size();
    if queued.saturating_add(src.len() * size) > MAX_IN_FLIGHT {
        return Err(Error::new(Code::S008, "messages of more than 1 GiB wait for their receiver").received(queued));
    }
    let bytes = src.to_dense();
    let shape = [src.lanes() as u32, src.lane_len() as u32];
    let pattern = Pattern::dense(src.dtype(), &shape)?;
    drop(io);
    let message = Message { from: cx.m.settings.core, pattern, bytes };
    if to == cx.m.settings.core {
        cx.m.mail.messages.push_back(message);
    } else {
        cx.m.post.send(to, Parcel::Message(Box::new(message)));
    }
    Ok(())
}

/// CollectiveRecv (50): the k-th receive from a peer takes the k-th message that peer sent.
pub fn receive(cx: &mut Cx, own: &params::CollectiveRecv) -> Result<()> {
    let from = own.peer_id;
    if from >= cx.m.settings.cores && from != cx.m.settings.core {
        return Err(absent("the sending rank is not part of the run", from).operand("peer_id"));
    }
    let at = cx.m.mail.messages.iter().position(|m| m.from == from);
    let Some(message) = at.and_then(|k| cx.m.mail.messages.remove(k)) else {
        return Err(Error::new(Code::S008, "nothing was sent to this rank")
            .received(format!("rank {from}"))
            .operand("peer_id"));
    };
    let mut io = cx.open(&[Want::Out(0)])?;
    copy(&Src::new(&message.bytes, &message.pattern)?, &mut io.outs.dst(0)?, io.profile)
}

/// GPSIMDSB2SB (33): exchanges with the partner core of a logical core.
pub fn partner_exchange(cx: &mut Cx) -> Result<()> {
    if super::cores::receive(cx)? {
        return Ok(());
    }
    Err(Error::new(Code::U002, "the exchange with the partner core needs a second core")
        .advice("a run has one core; GPSIMDSB2SB is defined for two cores used as one"))
}

/// GetGlobalRankId (11).
pub fn global_rank(cx: &mut Cx, own: &params::GetGlobalRankId) -> Result<()> {
    let (rank, world) = (cx.m.settings.core, own.world_size);
    if rank >= world.max(1) {
        return Err(Error::new(Code::S008, "the rank is not below world_size")
            .received(format!("rank {rank} of {world}"))
            .operand("world_size"));
    }
    store_scalar(cx, 0, u64::from(rank))
}

/// GetCurProcessingRankID (66): own rank at iteration 0, then its predecessors in the ring.
pub fn processing_rank(cx: &mut Cx, own: &params::GetCurProcessingRankID) -> Result<()> {
    let rank = cx.m.settings.core;
    let all = groups(&own.replica_groups);
    let group = all.iter().find(|g| g.contains(&rank));
    let found = group.and_then(|g| kernel::ring_rank(g, rank, u64::from(own.iter_id))).ok_or_else(|| {
        Error::new(Code::S008, "this rank is in no replica group")
            .received(format!("rank {rank}"))
            .operand("replica_groups")
    })?;
    store_scalar(cx, 0, u64::from(found))
}
