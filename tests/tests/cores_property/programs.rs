//! The modules of a generated run.

use crate::events::{CELLS, Event};
use birsim_benches::programs::{cell, module, step, tensor, wait};
use birsim_engine::ir::{
    AddressSpace, CollectiveKind, Engine, Expr, Extra, Instruction, MemoryType, Module, Opcode, Storage, SyncKind,
    TensorKind, UpdateMode, UpdateRef, Value,
};
use std::collections::BTreeMap;

fn shared(elements: u64) -> Storage {
    let mut s = tensor("both", MemoryType::Dram, TensorKind::Internal, 1, elements);
    if let Storage::Set(set) = &mut s {
        set.addr_space = AddressSpace::Shared;
    }
    s
}

fn copy(name: String, from: (&str, usize), to: (&str, usize)) -> Instruction {
    step(name, Engine::Pool, cell(from.0, from.1 as i64), cell(to.0, to.1 as i64), 0.5)
}

fn collective(name: String, kind: CollectiveKind, from: usize, to: usize) -> Instruction {
    let mut cc = Instruction::new(name, Opcode::CollectiveCompute, Engine::Pool).with("kind", Value::named(kind));
    cc.ins.push(cell("own", from as i64));
    cc.outs.push(cell("own", to as i64));
    cc
}

fn ranks(list: &[usize]) -> Vec<i64> {
    list.iter().map(|r| *r as i64).collect()
}

/// The module of every core. Everything runs on one engine, in the order of the events. The shared tensor has `shared_len`
/// elements, of which the events use the first.
pub fn modules(events: &[Event], cores: usize, shared_len: u64) -> Vec<Module> {
    let mut lists: Vec<Vec<Instruction>> = vec![Vec::new(); cores];
    let mut signals: BTreeMap<(usize, usize), u32> = BTreeMap::new();
    for (n, e) in events.iter().enumerate() {
        let name = |what: &str, core: usize| format!("{what}-{n}-{core}");
        match e {
            Event::Local { core, from, to } => {
                lists[*core].push(copy(name("local", *core), ("own", *from), ("own", *to)));
            }
            Event::Store { core, from, shared } => {
                lists[*core].push(copy(name("store", *core), ("own", *from), ("both", *shared)));
            }
            Event::Load { core, shared, to } => {
                lists[*core].push(copy(name("load", *core), ("both", *shared), ("own", *to)));
            }
            Event::Barrier => {
                for (core, list) in lists.iter_mut().enumerate() {
                    list.push(
                        Instruction::new(name("barrier", core), Opcode::CoreBarrier, Engine::Pool).with("id", 1i64),
                    );
                }
            }
            Event::Reduce { group, op, from, to } => {
                for core in group {
                    let cc = collective(name("reduce", *core), CollectiveKind::AllReduce, *from, *to);
                    let groups = Value::Groups(vec![ranks(group)]);
                    lists[*core].push(cc.with("op", Value::named(*op)).with("replica_groups", groups));
                }
            }
            Event::Ring { group, from, to } => {
                for core in group {
                    let cc = collective(name("ring", *core), CollectiveKind::PermuteImplicit, *from, *to);
                    lists[*core].push(cc.with("replica_groups", Value::Groups(vec![ranks(group)])));
                }
            }
            Event::Pairs { pairs, from, to } => {
                let list: Vec<Vec<i64>> = pairs.iter().map(|(a, b)| ranks(&[*a, *b])).collect();
                // Who is in no pair takes no part, and may meet the instruction or not.
                for (core, instructions) in lists.iter_mut().enumerate() {
                    let cc = collective(name("pairs", core), CollectiveKind::Permute, *from, *to);
                    instructions.push(cc.with("src_target_pairs", Value::Groups(list.clone())));
                }
            }
            Event::Swap { cores: [a, b], from, to } => {
                for (core, other) in [(*a, *b), (*b, *a)] {
                    let cc = collective(name("swap", core), CollectiveKind::SendRecv, *from, *to);
                    let peer = Value::Ints(vec![Expr::Const(other as i64)]);
                    lists[core].push(cc.with("send_to_rank", Value::Int(other as i64)).with("recv_from_rank", peer));
                }
            }
            Event::Message { sender, receiver, from, to } => {
                let mut send = Instruction::new(name("send", *sender), Opcode::CollectiveSend, Engine::Pool)
                    .with("peer_id", *receiver as i64);
                send.ins.push(cell("own", *from as i64));
                lists[*sender].push(send);
                let mut receive = Instruction::new(name("receive", *receiver), Opcode::CollectiveRecv, Engine::Pool)
                    .with("peer_id", *sender as i64);
                receive.outs.push(cell("own", *to as i64));
                lists[*receiver].push(receive);
            }
            Event::Signal { sender, receiver, from, shared, to } => {
                let count = signals.entry((*sender, *receiver)).or_default();
                *count += 1;
                let id = *sender as u32;
                let mut store = copy(name("tell", *sender), ("own", *from), ("both", *shared));
                store.sync.on_update.push(UpdateRef {
                    kind: SyncKind::Semaphore,
                    id,
                    mode: UpdateMode::SemInc,
                    value: 1,
                    target_core: Some(*receiver as u32),
                    extra: Extra::new(),
                });
                lists[*sender].push(store);
                let mut load = copy(name("hear", *receiver), ("both", *shared), ("own", *to));
                load.sync.on_wait.push(wait(id, *count));
                lists[*receiver].push(load);
            }
        }
    }
    let storage = || vec![tensor("own", MemoryType::Sb, TensorKind::Internal, 1, CELLS as u64), shared(shared_len)];
    lists.into_iter().map(|list| module(storage(), list)).collect()
}
