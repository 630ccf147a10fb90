//! Generated programs of several cores: collectives, barriers, messages, remote semaphores and shared writes give what a
//! plain sequential interpreter gives, whatever the threads and the schedule.
//!
//! The generator makes one order of events for the whole run and gives each core its part of it, so that nothing can
//! deadlock; between writes and reads of a shared cell by different cores it puts a barrier, so that nothing can race. The
//! interpreter goes through the events in that order.

use birsim_benches::programs::{cell, module, step, tensor, wait};
use birsim_engine::ir::{
    AddressSpace, CollectiveKind, Engine, Expr, Extra, Instruction, MemoryType, Module, Opcode, Storage, SyncKind,
    TensorKind, UpdateMode, UpdateRef, Value,
};
use birsim_engine::{Check, Code, Cores, IssueOrder, Simulator};
use birsim_kernels::alu::AluOp;
use std::collections::BTreeMap;

/// Private and shared cells.
const CELLS: usize = 8;

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

/// What happens, in the order of the run. Cells are numbers of private or shared cells.
#[derive(Clone, Debug)]
enum Event {
    Local {
        core: usize,
        from: usize,
        to: usize,
    },
    Store {
        core: usize,
        from: usize,
        shared: usize,
    },
    Load {
        core: usize,
        shared: usize,
        to: usize,
    },
    Barrier,
    Reduce {
        group: Vec<usize>,
        op: AluOp,
        from: usize,
        to: usize,
    },
    Ring {
        group: Vec<usize>,
        from: usize,
        to: usize,
    },
    Pairs {
        pairs: Vec<(usize, usize)>,
        from: usize,
        to: usize,
    },
    Swap {
        cores: [usize; 2],
        from: usize,
        to: usize,
    },
    Message {
        sender: usize,
        receiver: usize,
        from: usize,
        to: usize,
    },
    /// The second core waits for the first, then reads the shared cell that the first wrote.
    Signal {
        sender: usize,
        receiver: usize,
        from: usize,
        shared: usize,
        to: usize,
    },
}

/// Who touched a shared cell since the last barrier.
#[derive(Clone, Default)]
struct Use {
    writer: Option<usize>,
    readers: Vec<usize>,
}

impl Use {
    fn may_write(&self, core: usize) -> bool {
        self.writer.is_none_or(|w| w == core) && self.readers.iter().all(|r| *r == core)
    }

    fn may_read(&self, core: usize) -> bool {
        self.writer.is_none_or(|w| w == core)
    }
}

fn group(r: &mut Random, cores: usize) -> Vec<usize> {
    let mut all: Vec<usize> = (0..cores).collect();
    for k in (1..cores).rev() {
        all.swap(k, r.below(k + 1));
    }
    all.truncate(2 + r.below(cores - 1));
    all
}

fn events(r: &mut Random, cores: usize, count: usize) -> Vec<Event> {
    let mut out = Vec::new();
    let mut uses = vec![Use::default(); CELLS];
    while out.len() < count {
        let core = r.below(cores);
        let (from, to, shared) = (r.below(CELLS), r.below(CELLS), r.below(CELLS));
        let other = (core + 1 + r.below(cores - 1)) % cores;
        let event = match r.below(12) {
            0 | 1 => Event::Local { core, from, to },
            2 | 3 if uses[shared].may_write(core) => {
                uses[shared].writer = Some(core);
                Event::Store { core, from, shared }
            }
            4 | 5 if uses[shared].may_read(core) => {
                uses[shared].readers.push(core);
                Event::Load { core, shared, to }
            }
            6 => {
                uses.fill(Use::default());
                Event::Barrier
            }
            7 => {
                let op = [AluOp::Add, AluOp::Max, AluOp::Min][r.below(3)];
                Event::Reduce { group: group(r, cores), op, from, to }
            }
            8 => Event::Ring { group: group(r, cores), from, to },
            9 => {
                let g = group(r, cores);
                // A chain: the first has no source.
                Event::Pairs { pairs: g.windows(2).map(|p| (p[0], p[1])).collect(), from, to }
            }
            10 if r.below(2) == 0 => Event::Swap { cores: [core, other], from, to },
            10 => Event::Message { sender: core, receiver: other, from, to },
            11 if uses[shared].may_write(core) && uses[shared].writer.is_none() && uses[shared].readers.is_empty() => {
                uses[shared] = Use { writer: Some(core), readers: vec![other, core] };
                Event::Signal { sender: core, receiver: other, from, shared, to }
            }
            _ => continue,
        };
        out.push(event);
    }
    out
}

/// The plain interpreter.
fn interpret(events: &[Event], cores: usize) -> (Vec<Vec<f32>>, Vec<f32>) {
    let mut own: Vec<Vec<f32>> = (0..cores).map(|c| (0..CELLS).map(|k| start(c, k)).collect()).collect();
    let mut both = vec![0.0f32; CELLS];
    // An instruction copies as `step` by 0.5 does.
    let copied = |x: f32| x * 0.5 + 1.0;
    for e in events {
        match e {
            Event::Local { core, from, to } => own[*core][*to] = copied(own[*core][*from]),
            Event::Store { core, from, shared } => both[*shared] = copied(own[*core][*from]),
            Event::Load { core, shared, to } => own[*core][*to] = copied(both[*shared]),
            Event::Barrier => {}
            Event::Reduce { group, op, from, to } => {
                let mut values = group.iter().map(|c| own[*c][*from]);
                let first = values.next().unwrap();
                let all = values.fold(first, |acc, x| match op {
                    AluOp::Add => acc + x,
                    AluOp::Max => {
                        if x > acc {
                            x
                        } else {
                            acc
                        }
                    }
                    _ => {
                        if x < acc {
                            x
                        } else {
                            acc
                        }
                    }
                });
                group.iter().for_each(|c| own[*c][*to] = all);
            }
            Event::Ring { group, from, to } => {
                let sent: Vec<f32> = group.iter().map(|c| own[*c][*from]).collect();
                for (p, c) in group.iter().enumerate() {
                    own[*c][*to] = sent[(p + group.len() - 1) % group.len()];
                }
            }
            Event::Pairs { pairs, from, to } => {
                let sent: Vec<f32> = pairs.iter().map(|(source, _)| own[*source][*from]).collect();
                pairs.iter().zip(sent).for_each(|((_, target), x)| own[*target][*to] = x);
            }
            Event::Swap { cores: [a, b], from, to } => {
                let sent = [own[*a][*from], own[*b][*from]];
                (own[*a][*to], own[*b][*to]) = (sent[1], sent[0]);
            }
            Event::Message { sender, receiver, from, to } => own[*receiver][*to] = own[*sender][*from],
            Event::Signal { sender, receiver, from, shared, to } => {
                both[*shared] = copied(own[*sender][*from]);
                own[*receiver][*to] = copied(both[*shared]);
            }
        }
    }
    (own, both)
}

fn start(core: usize, k: usize) -> f32 {
    (core * CELLS + k) as f32 * 0.25 - 3.0
}

fn shared() -> Storage {
    let mut s = tensor("both", MemoryType::Dram, TensorKind::Internal, 1, CELLS as u64);
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

/// The module of every core. Everything runs on one engine, in the order of the events.
fn modules(events: &[Event], cores: usize) -> Vec<Module> {
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
    let storage = || vec![tensor("own", MemoryType::Sb, TensorKind::Internal, 1, CELLS as u64), shared()];
    lists.into_iter().map(|list| module(storage(), list)).collect()
}

type Outcome = (Vec<Vec<u8>>, Vec<u8>, Vec<String>);

fn run(
    modules: &[Module],
    threads: usize,
    order: IssueOrder,
    checks: &[Check],
) -> Result<Outcome, birsim_engine::Error> {
    let builder = Simulator::builder().threads(threads).schedule(order).checks(checks.iter().copied());
    let mut cores = Cores::load(&builder, modules)?;
    for core in 0..modules.len() {
        cores.bind_core(core, "own", &bytes(&(0..CELLS).map(|k| start(core, k)).collect::<Vec<_>>()))?;
    }
    cores.bind("both", &[0; 4 * CELLS])?;
    cores.run()?;
    let own = (0..modules.len())
        .map(|core| cores.cores()[core].output("own").map(std::borrow::Cow::into_owned))
        .collect::<Result<Vec<_>, _>>()?;
    let counts = cores.collectives().iter().map(|c| format!("{c:?}")).collect();
    Ok((own, cores.output("both")?, counts))
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

#[test]
fn generated_programs_give_what_a_sequential_interpreter_gives() {
    let mut seen = [0usize; 10];
    for seed in 0..50 {
        let mut r = Random(seed * 7919 + 1);
        let cores = 2 + r.below(4);
        let list = events(&mut r, cores, 60);
        for e in &list {
            seen[match e {
                Event::Local { .. } => 0,
                Event::Store { .. } => 1,
                Event::Load { .. } => 2,
                Event::Barrier => 3,
                Event::Reduce { .. } => 4,
                Event::Ring { .. } => 5,
                Event::Pairs { .. } => 6,
                Event::Swap { .. } => 7,
                Event::Message { .. } => 8,
                Event::Signal { .. } => 9,
            }] += 1;
        }
        let (own, both) = interpret(&list, cores);
        let modules = modules(&list, cores);
        let mut counts = None;
        let orders = [IssueOrder::Window, IssueOrder::Reference, IssueOrder::Seeded(seed)];
        for (threads, order) in [(1, orders[0]), (2, orders[0]), (4, orders[0]), (2, orders[1]), (1, orders[2])] {
            let got = run(&modules, threads, order, &[]).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{list:?}"));
            for (core, (got, want)) in got.0.iter().zip(&own).enumerate() {
                assert_eq!(*got, bytes(want), "seed {seed}, core {core}, {threads} threads, {order:?}");
            }
            assert_eq!(got.1, bytes(&both), "seed {seed}, {threads} threads, {order:?}");
            assert_eq!(*counts.get_or_insert_with(|| got.2.clone()), got.2, "seed {seed}");
        }
        let checked = run(&modules, 2, IssueOrder::Reference, &[Check::Race]);
        assert!(checked.is_ok(), "seed {seed}: {}", checked.unwrap_err());
    }
    assert!(seen.iter().all(|n| *n > 50), "what was generated: {seen:?}");
}

#[test]
fn dropping_a_barrier_makes_the_race_checker_speak() {
    for cores in [2, 3, 5] {
        for last in 0..cores {
            // Core 0 writes, all meet, another reads, all meet, that core writes.
            let reader = (last + 1) % cores;
            let list = [
                Event::Store { core: last, from: 0, shared: 3 },
                Event::Barrier,
                Event::Load { core: reader, shared: 3, to: 1 },
                Event::Barrier,
                Event::Store { core: last, from: 2, shared: 3 },
            ];
            let whole = run(&modules(&list, cores), 2, IssueOrder::Window, &[Check::Race]);
            assert!(whole.is_ok(), "{}", whole.unwrap_err());
            for dropped in [1, 3] {
                let mut less = list.to_vec();
                less.remove(dropped);
                let e = run(&modules(&less, cores), 2, IssueOrder::Window, &[Check::Race]).unwrap_err();
                assert_eq!(e.code(), Code::S017, "{e}");
                for core in [last, reader] {
                    assert!(e.what().contains(&format!("core {core}")), "{e}");
                }
            }
        }
    }
}
