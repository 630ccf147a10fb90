//! Collectives, messages and ranks (11, 33, 47 to 50, 66; `opcodes.md` 10): what an instruction makes of what it received
//! at its meeting.

use super::cores::{lists, peer};
use super::fields::own;
use super::registers::store_scalar;
use super::{Cx, Want};
use crate::ir::CollectiveKind;
use crate::ir::opcodes::params;
use crate::world::{Alone, Contribution, Diagnostic, Extent, Gathered, Message, Parcel, Received, Remark};
use crate::{Code, Error, Result};
use birsim_kernels::access::{Dst, Pattern, Src};
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

/// Bytes that the messages of a core may hold until they are received.
const MAX_IN_FLIGHT: usize = 1 << 30;

/// CollectiveCompute (48).
pub fn compute(cx: &mut Cx, own: &params::CollectiveCompute) -> Result<()> {
    match cx.m.mail.take(cx.row)? {
        Received::Alone(Alone::Outside) | Received::Passed | Received::Landed => Ok(()),
        Received::Alone(Alone::StandIn(n)) => stand_in(cx, own.op, n),
        Received::Inputs(sent) => exchange(cx, &sent),
        Received::Group(gathered, position) => group(cx, own, &gathered, position),
        Received::Message(_) => Err(Error::new(Code::B001, "a collective received a message")),
    }
}

/// What the documented simulator computes on a worker that sees only its own data: the sum of n equal replicas; their
/// maximum and minimum are themselves.
fn stand_in(cx: &mut Cx, op: AluOp, n: u32) -> Result<()> {
    for k in 0..cx.n_outs() {
        let mut io = cx.open(&[Want::In(k), Want::Out(k)])?;
        let (src, dst, profile) = (&io.ins.src(k)?, &mut io.outs.dst(k)?, io.profile);
        match op {
            AluOp::Add => kernel::scaled(n as f32, src, dst, profile)?,
            _ => kernel::all_reduce(op, std::slice::from_ref(src), dst, profile)?,
        }
    }
    let message = format!("the other {} ranks are taken to hold the same data as this one", n - 1);
    cx.m.findings.note(Diagnostic::note(Remark::CollectiveAlone, message).at(cx.row));
    Ok(())
}

/// The elements of an operand, in order.
pub(crate) fn dense_bytes(src: &Src) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    dense_into(src, &mut out).map(|()| out)
}

/// The same, in a buffer that may hold others. A pattern can name an element many times, so they may be more than all memory.
pub(crate) fn dense_into(src: &Src, out: &mut Vec<u8>) -> Result<()> {
    let size = src.len() * src.dtype().size();
    out.try_reserve_exact(size.saturating_sub(out.len())).map_err(|_| {
        Error::new(Code::S009, "what a core sends needs more memory than there is").received(format!("{size} bytes"))
    })?;
    out.resize(size, 0);
    src.copy_dense(out);
    Ok(())
}

/// Writes what output `k` receives: the elements of a buffer of this extent, by the cast rules of a copy.
pub(crate) fn land(cx: &mut Cx, k: usize, extent: &Extent, bytes: &[u8]) -> Result<()> {
    let dense = extent.dense()?;
    write(cx, k, |dst, profile| copy(&Src::new(bytes, &dense)?, dst, profile))
        .map_err(|e| e.operand(format!("outs[{k}]")))
}

/// Opens output `k` for writing.
fn write(cx: &mut Cx, k: usize, f: impl FnOnce(&mut Dst, &birsim_kernels::Profile) -> Result<()>) -> Result<()> {
    let mut io = cx.open(&[Want::Out(k)])?;
    let (dst, profile) = (&mut io.outs.dst(k)?, io.profile);
    f(dst, profile)
}

/// Every input of the sender becomes the output of the same number, by the cast rules of a copy.
fn exchange(cx: &mut Cx, sent: &Contribution) -> Result<()> {
    for k in 0..cx.n_outs() {
        let (Some(extent), Some(bytes)) = (sent.ins.get(k), sent.inputs.get(k)) else {
            return Err(Error::new(Code::B001, "an exchange lacks an input"));
        };
        land(cx, k, extent, bytes)?;
    }
    Ok(())
}

fn group(cx: &mut Cx, own: &params::CollectiveCompute, g: &Gathered, me: usize) -> Result<()> {
    use CollectiveKind::*;
    let (kind, op, dim) = (g.group.kind, g.group.op, g.group.dim);
    if kind == AllToAllV {
        return all_to_all_v(cx, g, me);
    }
    let names = &g.group.names;
    let chosen: Vec<usize> = match kind {
        SendRecvCce => listed(own, g)?,
        Permute => {
            let source = kernel::permute_source(&g.group.pairs, names[me]);
            names.iter().enumerate().filter(|(_, n)| Some(**n) == source).map(|(k, _)| k).collect()
        }
        PermuteImplicit | PermuteReduceImplicit => vec![(me + names.len() - 1) % names.len()],
        PermuteReduce => vec![me],
        _ => (0..names.len()).collect(),
    };
    // A rank that receives from no rank keeps the bytes of its outputs.
    if chosen.is_empty() {
        return Ok(());
    }
    for k in 0..cx.n_outs() {
        if let Some(bytes) = shared_result(cx, g, k)? {
            write(cx, k, |dst, profile| {
                let dense = dst.pattern().like_dense()?;
                copy(&Src::new(bytes, &dense)?, dst, profile)
            })?;
            continue;
        }
        let inputs: &[usize] = if kind == PermuteReduceImplicit { &[2 * k, 2 * k + 1] } else { &[k] };
        // The own shape serves for all buffers, because the members agree on the number of elements.
        let dense = g.members[me].ins[inputs[0]].dense()?;
        let mut sources = Vec::with_capacity(chosen.len() * inputs.len());
        for member in &chosen {
            for input in inputs {
                sources.push(Src::new(&g.members[*member].inputs[*input], &dense)?);
            }
        }
        write(cx, k, |dst, profile| match kind {
            AllReduce | SendRecvCce | PermuteReduceImplicit => kernel::all_reduce(op, &sources, dst, profile),
            ReduceScatter => kernel::reduce_scatter(op, dim, &sources, me, dst, profile),
            AllGather => kernel::all_gather(dim, &sources, dst, profile),
            AllToAll => kernel::all_to_all(&sources, me, dst, profile),
            _ => copy(&sources[0], dst, profile),
        })?;
    }
    Ok(())
}

/// A result that is the same for all members and was therefore computed once.
fn shared_result<'a>(cx: &Cx, g: &'a Gathered, k: usize) -> Result<Option<&'a [u8]>> {
    let Some(found) = g.folded.get(k) else { return Ok(None) };
    let dtype = cx.out_dtype(k)?;
    Ok(found.iter().find(|(d, _)| *d == dtype).map(|(_, bytes)| bytes.as_slice()))
}

/// Positions of the ranks in `recv_from_rank`, in that order.
fn listed(own: &params::CollectiveCompute, g: &Gathered) -> Result<Vec<usize>> {
    let position = |from: i64| {
        let at = g.group.names.iter().position(|n| i64::from(*n) == from);
        at.ok_or_else(|| {
            Error::new(Code::S008, "recv_from_rank names a rank that is not in the group")
                .received(format!("rank {from}, group {:?}", g.group.names))
                .operand("recv_from_rank")
        })
    };
    own.recv_from_rank.iter().flatten().copied().map(position).collect()
}

/// AllToAllV: data and metadata; a second output gets the received counts in row 2.
fn all_to_all_v(cx: &mut Cx, g: &Gathered, me: usize) -> Result<()> {
    let names = &g.group.names;
    let n = names.len();
    let mut tables = Vec::with_capacity(n);
    for m in &g.members {
        let dense = m.ins[1].dense()?;
        tables.push(kernel::ChunkTable::new(&Src::new(&m.inputs[1], &dense)?, n)?);
    }
    let lens: Vec<usize> = g.members.iter().map(|m| m.ins[0].len()).collect();
    let dense = g.members.iter().map(|m| m.ins[0].dense()).collect::<Result<Vec<Pattern>>>()?;
    let mut data = Vec::with_capacity(n);
    for (m, dense) in g.members.iter().zip(&dense) {
        data.push(Src::new(&m.inputs[0], dense)?);
    }
    write(cx, 0, |dst, profile| {
        let segments = kernel::received_chunks(&tables, names, &lens, me, dst.len())?;
        kernel::route(&segments, &data, dst, profile)
    })?;
    if cx.n_outs() < 2 {
        return Ok(());
    }
    let counts: Vec<u8> = tables.iter().flat_map(|t| (t.counts[me] as u32).to_le_bytes()).collect();
    let row = Extent { dtype: birsim_kernels::Dtype::Uint32, lanes: 1, lane_len: n as u32 }.dense()?;
    write(cx, 1, |dst, profile| {
        if dst.len() < 3 * n || !dst.len().is_multiple_of(n) {
            return Err(Error::new(Code::S002, format!("the metadata of AllToAllV has 3 or 4 rows of {n} elements"))
                .received(format!("{} x {}", dst.lanes(), dst.lane_len()))
                .operand("outs[1]"));
        }
        let segment = kernel::Segment { source: 0, from: 0, to: 2 * n, count: n };
        kernel::route(&[segment], &[Src::new(&counts, &row)?], dst, profile)
    })
}

/// CollectiveSend (49): publishes a copy of its input for the peer.
pub fn send(cx: &mut Cx, own: &params::CollectiveSend) -> Result<()> {
    let (to, _) = peer(cx, own.peer_id, "receiving")?;
    let queued = cx.m.post.in_flight;
    let limits = &cx.m.settings.limits;
    let io = cx.open(&[Want::In(0)])?;
    let src = io.ins.src(0)?;
    let size = src.len() * src.dtype().size();
    if queued.saturating_add(size) > MAX_IN_FLIGHT {
        return Err(Error::new(Code::S008, "messages of more than 1 GiB wait for their receivers")
            .received(format!("{} bytes", queued.saturating_add(size))));
    }
    limits.take(size as u64)?;
    let message = Message { extent: Extent::of(src.pattern())?, bytes: dense_bytes(&src)? };
    drop(io);
    cx.m.post.send(to, Parcel::Message(Box::new(message)));
    Ok(())
}

/// CollectiveRecv (50): the k-th receive from a peer takes the k-th message that peer sent.
pub fn receive(cx: &mut Cx, _: &params::CollectiveRecv) -> Result<()> {
    let Received::Message(message) = cx.m.mail.take(cx.row)? else {
        return Err(Error::new(Code::B001, "a receive got no message"));
    };
    let dense = message.extent.dense()?;
    write(cx, 0, |dst, profile| copy(&Src::new(&message.bytes, &dense)?, dst, profile))
}

/// GPSIMDSB2SB (33): exchanges with the partner core of a rank of two.
pub fn partner_exchange(cx: &mut Cx) -> Result<()> {
    match cx.m.mail.take(cx.row)? {
        Received::Inputs(sent) => exchange(cx, &sent),
        Received::Landed => Ok(()),
        _ => Err(Error::new(Code::B001, "an exchange received nothing")),
    }
}

/// GetGlobalRankId (11).
pub fn global_rank(cx: &mut Cx, own: &params::GetGlobalRankId) -> Result<()> {
    let (rank, world) = (cx.m.settings.seat.rank, own.world_size);
    if rank >= world.max(1) {
        return Err(Error::new(Code::S008, "the rank is not below world_size")
            .received(format!("rank {rank} of {world}"))
            .operand("world_size"));
    }
    store_scalar(cx, 0, u64::from(rank))
}

/// GetCurProcessingRankID (66): own rank at iteration 0, then its predecessors in the ring.
pub fn processing_rank(cx: &mut Cx, own: &params::GetCurProcessingRankID) -> Result<()> {
    let rank = cx.m.settings.seat.rank;
    let all = lists(Some(&own.replica_groups));
    let everyone: Vec<u32>;
    let group = match all.iter().find(|g| g.contains(&rank)) {
        Some(group) => Some(group),
        None if all.iter().all(Vec::is_empty) => {
            everyone = (0..cx.m.settings.seat.ranks.max(rank + 1)).collect();
            Some(&everyone)
        }
        None => None,
    };
    let found = group.and_then(|g| kernel::ring_rank(g, rank, u64::from(own.iter_id))).ok_or_else(|| {
        Error::new(Code::S008, "this rank is in no replica group")
            .received(format!("rank {rank}"))
            .operand("replica_groups")
    })?;
    store_scalar(cx, 0, u64::from(found))
}
