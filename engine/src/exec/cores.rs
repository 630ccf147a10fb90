//! What an instruction meets other cores for (47 to 50, 33, 87; `opcodes.md` 10).

use super::Cx;
use crate::ir::opcodes::params;
use crate::ir::{CollectiveKind, Opcode, Params};
use crate::world::{Alone, Group, Meeting, Seat};
use crate::{Code, Error, Result};
use std::borrow::Cow;
use std::sync::Arc;

/// The own keys of the instruction. Those that depend on the run are evaluated with the present registers and axes.
fn record<'w, P: Params + Clone>(cx: &Cx<'_, 'w>) -> Result<Cow<'w, P>> {
    let inst = cx.inst;
    inst.own.get::<P>().map_or_else(|| P::decode(&cx.draft()).map(Cow::Owned), |p| Ok(Cow::Borrowed(p)))
}

/// Which cores the instruction meets. Expressions are evaluated with the present registers and axes.
pub fn meeting(cx: &Cx) -> Result<Meeting> {
    match cx.inst.opcode {
        Opcode::CoreBarrier => barrier(cx),
        Opcode::CollectiveRecv => {
            let (from, name) = peer(cx, record::<params::CollectiveRecv>(cx)?.peer_id, "sending")?;
            Ok(Meeting::Message { from, name })
        }
        Opcode::GPSIMDSB2SB => partner(cx),
        Opcode::CollectiveCompute => {
            let own = record::<params::CollectiveCompute>(cx)?;
            paired(cx, own.kind)?;
            match own.kind {
                CollectiveKind::SendRecv => exchange(cx, &own),
                _ => group(cx, &own),
            }
        }
        other => Err(Error::new(Code::B001, format!("{other} meets no other core"))),
    }
}

fn barrier(cx: &Cx) -> Result<Meeting> {
    let seat = cx.m.settings.seat;
    let own = record::<params::CoreBarrier>(cx)?;
    let listed = own.cores.as_deref().unwrap_or_default();
    let mut names = Vec::new();
    for core in listed {
        let core = u32::try_from(*core).ok().filter(|c| *c < seat.cores || *c == seat.core);
        names.push(core.ok_or_else(|| {
            Error::new(Code::S008, "a barrier names a core that the rank has not")
                .received(format!("{listed:?} of {} cores", seat.cores))
                .operand("cores")
        })?);
    }
    names.sort_unstable();
    names.dedup();
    if !names.is_empty() && !names.contains(&seat.core) {
        return Err(Error::new(Code::S008, "a core comes to a barrier that does not list it")
            .received(format!("core {} at a barrier of cores {names:?}", seat.core))
            .operand("cores"));
    }
    let members = match names.as_slice() {
        [] if seat.cores == 1 => vec![seat.id],
        [] => (0..seat.cores).filter_map(|c| seat.of_core_named(c)).collect(),
        some => some.iter().filter_map(|c| seat.of_core_named(*c)).collect(),
    };
    Ok(Meeting::Barrier { id: i64::from(own.id), members: members.into(), names: names.into() })
}

/// GPSIMDSB2SB: the partner of core k is core k + 1 mod 2 of the rank.
fn partner(cx: &Cx) -> Result<Meeting> {
    let seat = cx.m.settings.seat;
    let name = (seat.core + 1) % 2;
    match (seat.cores, seat.of_core_named(name)) {
        (2, Some(other)) => Ok(Meeting::Swap { other, name }),
        (1, _) => Err(Error::new(Code::U002, "the exchange with the partner core needs a second core")
            .advice("the rank has one core; GPSIMDSB2SB is defined for two cores used as one")),
        _ => Err(Error::new(Code::S008, "GPSIMDSB2SB exchanges between the cores of a rank of two")
            .received(format!("{} cores", seat.cores))),
    }
}

/// The core of the run that a collective names, by rank or by core of the rank.
fn named(seat: &Seat, local: bool, name: u32) -> Option<u32> {
    if local { seat.of_core_named(name) } else { seat.of_rank_named(name) }
}

/// The ranks among these that are not in the run.
fn absent(seat: &Seat, local: bool, names: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut out: Vec<u32> = names.filter(|n| named(seat, local, *n).is_none()).collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// The error of ranks that the run does not have.
fn missing(seat: &Seat, what: &str, names: &[u32], key: &str) -> Error {
    Error::new(Code::U002, what)
        .received(format!("{} {names:?}, {} in the run", if names.len() == 1 { "rank" } else { "ranks" }, seat.ranks))
        .advice("run the module on more ranks: give a module per rank, or --ranks N")
        .operand(key)
}

/// Core of the run and rank of the peer of a message.
pub fn peer(cx: &Cx, name: u32, role: &str) -> Result<(u32, u32)> {
    let seat = cx.m.settings.seat;
    let found = seat.of_rank_named(name);
    let core =
        found.ok_or_else(|| missing(&seat, &format!("the {role} rank is not part of the run"), &[name], "peer_id"))?;
    Ok((core, name))
}

/// Inputs and outputs of a collective come in pairs.
fn paired(cx: &Cx, kind: CollectiveKind) -> Result<()> {
    let (ins, outs) = (cx.n_ins(), cx.n_outs());
    let (fits, rule) = match kind {
        CollectiveKind::AllToAllV => (
            ins == 2 && (1..=2).contains(&outs),
            "AllToAllV has data and metadata, and as outputs data and perhaps metadata",
        ),
        CollectiveKind::PermuteReduceImplicit => {
            (ins == 2 * outs && outs > 0, "PermuteReduceImplicit has two inputs per output")
        }
        _ => (ins == outs && outs > 0, "a collective pairs every input with an output"),
    };
    if fits {
        return Ok(());
    }
    Err(Error::new(Code::J009, rule).received(format!("{ins} inputs, {outs} outputs")))
}

fn exchange(cx: &Cx, keys: &params::CollectiveCompute) -> Result<Meeting> {
    let (seat, local) = (cx.m.settings.seat, keys.is_local);
    let own = if local { seat.core } else { seat.rank };
    let to = keys
        .send_to_rank
        .ok_or_else(|| Error::new(Code::J003, "the key send_to_rank is missing").operand("send_to_rank"))?;
    let from = match keys.recv_from_rank.as_deref().unwrap_or_default() {
        [one] => *one,
        several => {
            return Err(Error::new(Code::S008, "a SendRecv receives from one rank")
                .received(format!("{several:?}"))
                .operand("recv_from_rank"));
        }
    };
    let one = |value: i64, key: &str| {
        let what = if local { "core" } else { "rank" };
        let name = u32::try_from(value)
            .map_err(|_| Error::new(Code::S008, format!("{key} must name a {what}")).received(value).operand(key))?;
        if name == own {
            return Err(Error::new(Code::S008, format!("a SendRecv with the own {what}")).received(name).operand(key));
        }
        let found = named(&seat, local, name);
        let core = found.ok_or_else(|| match local && seat.apart {
            true => Error::new(Code::S008, format!("{key} names a core that the rank has not"))
                .received(format!("core {name} of {}", seat.cores))
                .operand(key),
            false => missing(&seat, &format!("{key} names a rank that is not part of the run"), &[name], key),
        })?;
        Ok((core, name))
    };
    let (from, to) = (one(from, "recv_from_rank")?, one(to, "send_to_rank")?);
    Ok(Meeting::Exchange {
        to: to.0,
        from: from.0,
        pipe: i64::from(keys.pipe_id),
        names: [to.1, from.1],
        local: local || !seat.apart,
    })
}

/// Lists of ranks as the module has them. Validation has checked that they are 32-bit numbers.
pub fn lists(all: Option<&[Vec<i64>]>) -> Vec<Vec<u32>> {
    let all = all.unwrap_or_default().iter();
    all.map(|g| g.iter().filter_map(|r| u32::try_from(*r).ok()).collect()).collect()
}

fn group(cx: &Cx, keys: &params::CollectiveCompute) -> Result<Meeting> {
    let (seat, kind, local) = (cx.m.settings.seat, keys.kind, keys.is_local);
    let (own, all) = if local { (seat.core, seat.cores) } else { (seat.rank, seat.ranks) };
    let mut groups = lists(keys.replica_groups.as_deref());
    groups.retain(|g| !g.is_empty());
    let pairs: Vec<(u32, u32)> = match kind {
        CollectiveKind::Permute => {
            let pair = |p: &Vec<u32>| Some((*p.first()?, *p.get(1)?));
            lists(keys.src_target_pairs.as_deref()).iter().filter_map(pair).collect()
        }
        _ => Vec::new(),
    };
    let mut names = match groups.iter().find(|g| g.contains(&own)) {
        Some(group) => group.clone(),
        None if groups.is_empty() && all == 1 => vec![own],
        None if groups.is_empty() => (0..all).collect(),
        None => Vec::new(),
    };
    let from = match kind {
        CollectiveKind::SendRecvCce => keys.recv_from_rank.as_deref().unwrap_or_default(),
        _ => &[],
    };
    let of_pairs = || pairs.iter().flat_map(|(a, b)| [*a, *b]);
    for (lost, key, what) in [
        (
            absent(&seat, local, groups.iter().flatten().copied()),
            "replica_groups",
            "a group names ranks that are not part of the run",
        ),
        (absent(&seat, local, of_pairs()), "src_target_pairs", "a pair names ranks that are not part of the run"),
        (
            absent(&seat, local, from.iter().filter_map(|r| u32::try_from(*r).ok())),
            "recv_from_rank",
            "the collective receives from ranks that are not part of the run",
        ),
    ] {
        if lost.is_empty() {
            continue;
        }
        if local && seat.apart {
            return Err(Error::new(Code::S008, "a local collective names cores that the rank has not")
                .received(format!("{lost:?} of {} cores", seat.cores))
                .operand(key));
        }
        let stands_in = cx.m.settings.stand_in && kind == CollectiveKind::AllReduce;
        match names.len() {
            _ if !stands_in => return Err(missing(&seat, what, &lost, key)),
            0 => return Ok(Meeting::None(Alone::Outside)),
            n => return Ok(Meeting::None(Alone::StandIn(n as u32))),
        }
    }
    if kind == CollectiveKind::Permute {
        // A rank in no pair takes no part; the others meet in the order of the group.
        if let Some(pair) = pairs.iter().find(|(a, b)| names.contains(a) != names.contains(b)) {
            return Err(Error::new(Code::S008, "a pair of ranks leaves the group")
                .received(format!("[{}, {}] and the group {names:?}", pair.0, pair.1))
                .operand("src_target_pairs"));
        }
        names.retain(|n| of_pairs().any(|p| p == *n));
    }
    if !names.contains(&own) {
        return Ok(Meeting::None(Alone::Outside));
    }
    let members = names.iter().filter_map(|n| named(&seat, local, *n)).collect();
    Ok(Meeting::Group(Arc::new(Group {
        kind,
        op: keys.op,
        dim: keys.cc_dim,
        members,
        names: names.into(),
        pairs,
        stream: keys.stream_id,
        channel: keys.cc_channel.unwrap_or(0),
        local,
    })))
}
