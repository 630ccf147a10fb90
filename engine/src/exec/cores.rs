//! What an instruction does at a rendezvous of several cores.

use super::{Cx, Want};
use crate::ir::opcodes::collective::field as f;
use crate::ir::{CollectiveDimension, CollectiveKind, Opcode, Value};
use crate::world::expr::Ex;
use crate::world::{FieldValue, Mail, Meeting, Program, Settings, group_of};
use crate::{Code, Error, Result};
use birsim_kernels::Named;
use birsim_kernels::access::Src;
use birsim_kernels::alu::AluOp;
use birsim_kernels::collective::{self as kernel, permute_source};

/// The rendezvous that a row waits at.
pub fn meeting(program: &Program, settings: &Settings, mail: &Mail, row: u32) -> Result<Meeting> {
    let inst = &program.insts[row as usize];
    let constant = |k: usize| match &inst.fields[k] {
        FieldValue::Int(v) => Some(*v),
        FieldValue::Ex(e) => e.as_const(),
        FieldValue::Exs(list) => list.first().and_then(Ex::as_const),
        _ => None,
    };
    let peer = |k: usize, key: &str| {
        let v = constant(k).and_then(|v| u32::try_from(v).ok());
        v.filter(|v| *v < settings.cores).ok_or_else(|| {
            Error::new(Code::S008, format!("{key} must name a core"))
                .received(format!("{:?}", constant(k)))
                .operand(key)
        })
    };
    match inst.opcode {
        Opcode::CoreBarrier => {
            let id = constant(f::CoreBarrier::id).unwrap_or(0);
            let cores = match &inst.fields[f::CoreBarrier::cores] {
                FieldValue::Exs(list) => {
                    list.iter().filter_map(|e| e.as_const().and_then(|v| u32::try_from(v).ok())).collect()
                }
                _ => Vec::new(),
            };
            Ok(Meeting::Barrier { id, cores })
        }
        Opcode::CollectiveRecv => {
            let from = peer(f::CollectiveRecv::peer_id, "peer_id")?;
            Ok(Meeting::Message { from, arrived: mail.messages.iter().any(|m| m.from == from) })
        }
        Opcode::GPSIMDSB2SB => {
            // The partner of a core in a logical core of two.
            let other = settings.core ^ 1;
            Ok(Meeting::Exchange { to: other, from: other, pipe: -1 })
        }
        Opcode::CollectiveCompute => {
            let kind = constant(f::CollectiveCompute::kind).and_then(|k| u8::try_from(k).ok());
            let kind = kind.and_then(CollectiveKind::from_ordinal).unwrap_or(CollectiveKind::AllReduce);
            if kind == CollectiveKind::SendRecv {
                return Ok(Meeting::Exchange {
                    to: peer(f::CollectiveCompute::send_to_rank, "send_to_rank")?,
                    from: peer(f::CollectiveCompute::recv_from_rank, "recv_from_rank")?,
                    pipe: constant(f::CollectiveCompute::pipe_id).unwrap_or(0),
                });
            }
            let groups = match &inst.fields[f::CollectiveCompute::replica_groups] {
                FieldValue::Cold(v) => Some(v.as_ref()),
                _ => None,
            };
            Ok(Meeting::Group { kind, ranks: group_of(groups, settings.core, settings.cores) })
        }
        other => Err(Error::new(Code::B001, format!("{other} meets no other core"))),
    }
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
pub fn collective(cx: &mut Cx, kind: CollectiveKind, op: AluOp) -> Result<bool> {
    if cx.m.settings.cores < 2 {
        return Ok(false);
    }
    if kind == CollectiveKind::SendRecv {
        return receive(cx);
    }
    let Some(received) = cx.m.mail.received.take() else { return Ok(false) };
    let me = cx.m.settings.core;
    let rank = received.ranks.iter().position(|r| *r == me).unwrap_or(0);
    let dim = cx.named_opt::<CollectiveDimension>(f::CollectiveCompute::cc_dim)?.unwrap_or(CollectiveDimension::Free);
    for k in 0..cx.n_ins() {
        let Some((_, own)) = cx.location_and_pattern(k)? else { return Err(cx.missing("ins", k)) };
        let (dense, size) = (own.like_dense()?, own.len() * own.dtype().size());
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
            CollectiveKind::Permute => permute_source(&pairs(cx), me),
            CollectiveKind::PermuteImplicit => kernel::ring_source(&received.ranks, me),
            _ => Some(me),
        };
        // A rank that receives from no rank keeps the bytes of its destination.
        let Some(source) = source else { continue };
        let source = received.ranks.iter().position(|r| *r == source).ok_or_else(|| {
            Error::new(Code::S008, "the sending rank is not in the group").received(format!("rank {source}"))
        })?;
        let chosen = match kind {
            CollectiveKind::SendRecvCce => listed(cx, &received.ranks, &buffers)?,
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
fn listed<'a>(cx: &Cx, ranks: &[u32], buffers: &[Src<'a>]) -> Result<Vec<Src<'a>>> {
    let from = cx.ints(f::CollectiveCompute::recv_from_rank)?;
    let buffer = |from: i64| {
        let at = ranks.iter().position(|r| i64::from(*r) == from);
        at.and_then(|k| buffers.get(k)).copied().ok_or_else(|| {
            Error::new(Code::S008, "recv_from_rank must name cores of the run")
                .received(format!("rank {from}"))
                .operand("recv_from_rank")
        })
    };
    from.into_iter().map(buffer).collect()
}

fn pairs(cx: &Cx) -> Vec<(u32, u32)> {
    let Some(Value::Groups(list)) = cx.cold(f::CollectiveCompute::src_target_pairs) else { return Vec::new() };
    let pair = |p: &Vec<i64>| Some((u32::try_from(*p.first()?).ok()?, u32::try_from(*p.get(1)?).ok()?));
    list.iter().filter_map(pair).collect()
}
