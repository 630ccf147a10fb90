//! Kinds 43, 62 and 63: exchange between cores.

use super::unclear;
use crate::ast::{AluOp, Immediate, Recv, Send, SendRecvCompute, TensorRef};
use crate::lower::context::{Core, need_int};
use crate::lower::maps;
use birsim_ir::{CollectiveKind, Engine, Expr, Instruction, Opcode, Value};
use birsim_kernels::{Code, Error, Result};

/// A rank as a core of the kernel.
fn core(cx: &Core<'_>, rank: i64) -> Result<i64> {
    let cores = cx.kernel.bodies.len() as i64;
    if (0..cores).contains(&rank) {
        return Ok(rank);
    }
    Err(Error::new(Code::K005, "an exchange names a core that the kernel has not")
        .received(format!("{rank} of {cores}")))
}

/// The one tensor of a side.
fn single(kind: u8, list: &[TensorRef]) -> Result<&TensorRef> {
    match list {
        [one] => Ok(one),
        _ => Err(unclear(kind, "how several tensors pair up with the peers is not described")),
    }
}

/// Each core receives the values of some others, combined by an ALU operation (`opcodes.md` 10).
pub fn send_recv_compute(cx: &mut Core<'_>, p: &SendRecvCompute) -> Result<Instruction> {
    let ranks = |cx: &Core<'_>, list: &[Immediate], what: &str| -> Result<Vec<i64>> {
        list.iter().map(|r| core(cx, need_int(r, what)?)).collect()
    };
    let to = ranks(cx, &p.send_to_ranks, "The sendToRank must be a integer")?;
    let from = ranks(cx, &p.recv_from_ranks, "The recvFromRank must be a integer")?;
    let pipe = need_int(&p.pipe_id, "The pipeId must be a integer")?;
    if !matches!(p.op, AluOp::Add | AluOp::Max | AluOp::Min) {
        return Err(unclear(43, "the exchange combines by add, max and min only"));
    }
    let (src, dst) = (single(43, &p.srcs)?, single(43, &p.dsts)?);
    let [to] = to[..] else {
        return Err(unclear(43, "the BIR form sends to one core"));
    };
    if from.is_empty() {
        return Err(unclear(43, "it receives from no core, and its result is then not documented"));
    }
    if !(0..=i64::from(u32::MAX)).contains(&pipe) {
        return Err(Error::new(Code::K005, "a pipe id is in 0..2^32").received(pipe));
    }
    let mut inst = cx.collective("LocalSendRecvCompute-", Opcode::CollectiveCompute, Engine::Pool);
    inst.ins.push(cx.ap(src)?);
    inst.outs.push(cx.ap(dst)?);
    Ok(inst
        .with("kind", Value::named(CollectiveKind::SendRecvCce))
        .with("op", Value::named(maps::alu(p.op)?))
        .with("stream_id", -1i64)
        .with("is_local", true)
        .with("pipe_id", pipe)
        .with("send_to_rank", Value::Expr(Expr::Const(to)))
        .with("recv_from_rank", Value::Ints(from.into_iter().map(Expr::Const).collect()))
        .with("initial_corebarrier", true)
        .with("use_gpsimd_dma", false))
}

/// A message to another core.
pub fn send(cx: &mut Core<'_>, p: &Send) -> Result<Instruction> {
    let peer = peer(cx, 62, p.op, p.peer_id)?;
    let mut inst = cx.inst("Send-", Opcode::CollectiveSend, Engine::Pool);
    inst.ins.push(cx.ap(single(62, &p.srcs)?)?);
    Ok(inst.with("peer_id", peer))
}

/// The message of another core.
pub fn recv(cx: &mut Core<'_>, p: &Recv) -> Result<Instruction> {
    let peer = peer(cx, 63, p.op, p.peer_id)?;
    let mut inst = cx.inst("Recv-", Opcode::CollectiveRecv, Engine::Pool);
    inst.outs.push(cx.ap(single(63, &p.dsts)?)?);
    Ok(inst.with("peer_id", peer))
}

/// The other side, for an exchange that leaves the values as they are.
fn peer(cx: &Core<'_>, kind: u8, op: AluOp, peer: i64) -> Result<i64> {
    if op != AluOp::Bypass {
        return Err(unclear(kind, "the BIR form has no operation to combine the message by"));
    }
    let peer = core(cx, peer)?;
    if peer == cx.core as i64 {
        return Err(unclear(kind, "a core that is its own peer is not described"));
    }
    Ok(peer)
}
