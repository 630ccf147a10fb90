//! What an instruction does at a rendezvous of several cores.

use super::Cx;
use crate::cores::{Meeting, group_of};
use crate::ir::opcodes::collective::field as f;
use crate::ir::{CollectiveKind, Opcode};
use crate::world::expr::Ex;
use crate::world::{FieldValue, Program, Settings};
use crate::{Code, Error, Result};
use birsim_kernels::Named;
use birsim_kernels::access::{Pattern, Src};

/// The rendezvous that a row waits at.
pub fn meeting(program: &Program, settings: &Settings, row: u32) -> Result<Meeting> {
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
        Opcode::GPSIMDSB2SB => {
            // The partner of a core in a logical core of two.
            let other = settings.core ^ 1;
            Ok(Meeting::Exchange { to: other, from: other, pipe: -1 })
        }
        _ => {
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
    }
}

/// Writes what the partner of an exchange sent to the output. False when the instruction runs on one core.
pub fn receive(cx: &mut Cx) -> Result<bool> {
    if cx.m.settings.cores < 2 {
        return Ok(false);
    }
    let Some(received) = cx.m.run.received.take() else { return Ok(false) };
    let dst = cx.dst(0)?;
    let bytes = received.buffers.first().and_then(|b| b.first()).map_or(&[][..], Vec::as_slice);
    let sent = bytes.len() / dst.dtype().size();
    if sent != dst.len() || bytes.len() != dst.len() * dst.dtype().size() {
        return Err(Error::new(Code::S002, "the partner core sends another number of bytes than this core receives")
            .received(format!("{} bytes for {}", bytes.len(), dst.len() * dst.dtype().size()))
            .operand("outs[0]"));
    }
    let nums: arrayvec::ArrayVec<u32, 8> = dst.pattern().pairs().iter().map(|p| p.num).collect();
    let src = Src::new(bytes, Pattern::dense(dst.dtype(), &nums)?)?;
    birsim_kernels::copy::copy(&src, &dst, cx.profile())?;
    Ok(true)
}

/// GPSIMDSB2SB (33): exchanges a tensor with the partner core.
pub fn exchange(cx: &mut Cx) -> Result<()> {
    if receive(cx)? {
        return Ok(());
    }
    Err(Error::new(Code::U002, "GPSIMDSB2SB needs the partner core of a logical core of two"))
}

/// Kinds of CollectiveCompute that only move data between two cores.
pub fn is_exchange(kind: CollectiveKind) -> bool {
    kind == CollectiveKind::SendRecv
}
