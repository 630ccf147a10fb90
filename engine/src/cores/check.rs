//! What is wrong with the modules of a run before it starts: barriers, peers and groups that the ranks and cores do not fit.

use super::ranks::seats;
use crate::ir::{Block, CollectiveKind, Expr, Instruction, Module, Opcode, Value};
use crate::sim::Builder;
use crate::world::Seat;
use crate::{Class, Code, Error};
use hashbrown::HashSet;

/// All findings, in the order of the modules. `full` adds what a run only finds when it comes to the instruction: ranks that
/// are not in the run.
pub(super) fn all(builder: &Builder, modules: &[Module], full: bool) -> Vec<Error> {
    let seats = match seats(builder, modules) {
        Ok(seats) => seats,
        Err(e) => return vec![e],
    };
    let (mut out, mut told) = (Vec::new(), HashSet::new());
    for (seat, module) in seats {
        let mut found = Vec::new();
        let module = &modules[module];
        for f in module.functions.iter().chain(&module.nki_functions) {
            walk(&f.blocks, &mut |block, i| {
                let before = found.len();
                instruction(&seat, i, &mut found);
                if full && !builder.stands_in() {
                    absent(&seat, i, &mut found);
                }
                for e in &mut found[before..] {
                    *e = e.clone().at(|p| {
                        p.function = Some(f.name.clone());
                        p.block = Some(block.name.clone());
                        p.instruction = Some(i.name.clone());
                        p.opcode = Some(i.opcode.name().to_string());
                        (p.rank, p.core) = (seat.rank_field(), seat.core_field());
                    });
                }
            });
        }
        // One module on many ranks is wrong once.
        out.extend(found.into_iter().filter(|e| told.insert(told_as(e))));
    }
    // Malformed input is reported before what is not modelled.
    out.sort_by_key(|e| e.class() == Class::Unsupported);
    out
}

/// The text of a finding, without its place: it is reported once however many cores have it.
fn told_as(e: &Error) -> String {
    let p = e.place();
    format!("{} {:?} {:?} {:?} {:?} {:?}", e.what(), e.received_value(), p.function, p.block, p.instruction, p.operand)
}

fn walk<'m>(blocks: &'m [Block], f: &mut impl FnMut(&'m Block, &'m Instruction)) {
    for block in blocks {
        for i in &block.instructions {
            f(block, i);
            walk(&i.blocks, f);
        }
    }
}

/// A field's integers, as far as they are constants.
fn constants(i: &Instruction, key: &str) -> Vec<i64> {
    let one = |e: &Expr| match e {
        Expr::Const(c) => Some(*c),
        _ => None,
    };
    match i.field(key) {
        Some(Value::Int(v)) => vec![v],
        Some(Value::Expr(e)) => one(&e).into_iter().collect(),
        Some(Value::Ints(list)) => list.iter().filter_map(one).collect(),
        _ => Vec::new(),
    }
}

fn bad(what: impl Into<String>, got: impl std::fmt::Display, key: &str) -> Error {
    Error::new(Code::J016, what).received(got).advice("correct the list, or run the module on other cores").operand(key)
}

fn flag(i: &Instruction, key: &str) -> bool {
    matches!(i.field(key), Some(Value::Bool(true)))
}

/// Whether the instruction exchanges data with single peers.
fn kind(i: &Instruction) -> Option<CollectiveKind> {
    if i.opcode != Opcode::CollectiveCompute {
        return None;
    }
    match i.field("kind") {
        Some(Value::Enum(o)) => birsim_kernels::Named::from_ordinal(o),
        _ => None,
    }
}

fn instruction(seat: &Seat, i: &Instruction, out: &mut Vec<Error>) {
    let beyond = |c: &&i64| !(0..i64::from(seat.cores)).contains(*c) && **c != i64::from(seat.core);
    for u in i.sync.on_update.iter().chain(&i.sync.second_update) {
        if let Some(core) = u.target_core.filter(|c| beyond(&&i64::from(*c))) {
            let got = format!("core {core} of {}", seat.cores);
            out.push(bad("a semaphore update names a core that the rank has not", got, "target_core"));
        }
    }
    match i.opcode {
        Opcode::CoreBarrier => {
            let cores = constants(i, "cores");
            if let Some(core) = cores.iter().find(beyond) {
                let got = format!("core {core} of {}, in {cores:?}", seat.cores);
                out.push(bad("a barrier names a core that the rank has not", got, "cores"));
            } else if !cores.is_empty() && !cores.contains(&i64::from(seat.core)) {
                let got = format!("core {} at a barrier of cores {cores:?}", seat.core);
                out.push(bad("a core comes to a barrier that does not list it", got, "cores"));
            }
        }
        Opcode::GPSIMDSB2SB if seat.cores > 2 => {
            out.push(bad("GPSIMDSB2SB exchanges between the cores of a rank of two", seat.cores, "ins[0]"));
        }
        _ => {}
    }
    let Some(kind) = kind(i) else { return };
    let local = flag(i, "is_local");
    let (own, what) = if local { (seat.core, "core") } else { (seat.rank, "rank") };
    let keys: &[&str] = match kind {
        CollectiveKind::SendRecv => &["send_to_rank", "recv_from_rank"],
        CollectiveKind::SendRecvCce => &["recv_from_rank"],
        _ => &[],
    };
    for key in keys {
        for peer in constants(i, key) {
            if kind == CollectiveKind::SendRecv && peer == i64::from(own) {
                out.push(bad(format!("a SendRecv with the own {what}"), format!("{what} {peer}"), key));
            } else if local && seat.apart && beyond(&&peer) {
                let got = format!("core {peer} of {}", seat.cores);
                out.push(bad(format!("{key} names a core that the rank has not"), got, key));
            }
        }
    }
    if local && seat.apart {
        for key in ["replica_groups", "src_target_pairs"] {
            let Some(Value::Groups(lists)) = i.field(key) else { continue };
            if let Some(core) = lists.iter().flatten().find(beyond) {
                let got = format!("core {core} of {}, in {lists:?}", seat.cores);
                out.push(bad("a local collective names a core that the rank has not", got, key));
            }
        }
    }
}

/// Ranks that the instruction names and the run does not have.
fn absent(seat: &Seat, i: &Instruction, out: &mut Vec<Error>) {
    let missing = |names: Vec<i64>| -> Vec<i64> {
        let there = |n: &i64| u32::try_from(*n).is_ok_and(|n| seat.of_rank_named(n).is_some());
        let mut lost: Vec<i64> = names.into_iter().filter(|n| !there(n)).collect();
        lost.sort_unstable();
        lost.dedup();
        lost
    };
    let mut told = |names: Vec<i64>, what: &str, key: &str| {
        let lost = missing(names);
        if !lost.is_empty() {
            out.push(
                Error::new(Code::U002, what)
                    .received(format!(
                        "{} {lost:?}, {} in the run",
                        if lost.len() == 1 { "rank" } else { "ranks" },
                        seat.ranks
                    ))
                    .advice("run the module on more ranks: give a module per rank, or --ranks N")
                    .operand(key),
            );
        }
    };
    match i.opcode {
        Opcode::CollectiveSend => told(constants(i, "peer_id"), "the receiving rank is not part of the run", "peer_id"),
        Opcode::CollectiveRecv => told(constants(i, "peer_id"), "the sending rank is not part of the run", "peer_id"),
        Opcode::CollectiveCompute if !(seat.apart && flag(i, "is_local")) => {
            let lists = |key: &str| match i.field(key) {
                Some(Value::Groups(lists)) => lists.concat(),
                _ => Vec::new(),
            };
            told(lists("replica_groups"), "a group names ranks that are not part of the run", "replica_groups");
            told(lists("src_target_pairs"), "a pair names ranks that are not part of the run", "src_target_pairs");
            for key in ["send_to_rank", "recv_from_rank"] {
                told(constants(i, key), &format!("{key} names a rank that is not part of the run"), key);
            }
        }
        _ => {}
    }
}
