//! Several cores: barriers, exchanges, collectives, shared tensors.

use birsim_benches::programs::{cell, module, step, tensor};
use birsim_engine::ir::{
    AddressSpace, CollectiveKind, Engine, Expr, Instruction, MemoryType, Module, Opcode, Storage, TensorKind, Value,
};
use birsim_engine::{Check, Code, Cores, Simulator};
use birsim_kernels::alu::AluOp;

fn shared(name: &str) -> Storage {
    shared_of(name, 8)
}

fn shared_of(name: &str, elements: u64) -> Storage {
    let mut s = tensor(name, MemoryType::Dram, TensorKind::Internal, 1, elements);
    if let Storage::Set(set) = &mut s {
        set.addr_space = AddressSpace::Shared;
    }
    s
}

fn barrier(name: &str, id: i64) -> Instruction {
    let mut b = Instruction::new(name, Opcode::CoreBarrier, Engine::Pool).with("id", id);
    b.set("cores", Value::Ints(vec![Expr::Const(0), Expr::Const(1)]));
    b
}

/// Core k writes its cell, waits, reads the other core's cell, waits, and leaves the sum in its own cell again.
fn two(ids: [[i64; 2]; 2]) -> Vec<Module> {
    two_beside(ids, 8)
}

/// The same with so many cells.
fn two_beside(ids: [[i64; 2]; 2], cells: u64) -> Vec<Module> {
    (0..2i64)
        .map(|k| {
            let mine = step(format!("write{k}"), Engine::Dve, cell("local", k), cell("both", k), 2.0);
            let read = step(format!("read{k}"), Engine::Dve, cell("both", 1 - k), cell("local", 4 + k), 1.0);
            let back = step(format!("back{k}"), Engine::Dve, cell("local", 4 + k), cell("both", 2 + k), 10.0);
            let local = tensor("local", MemoryType::Sb, TensorKind::Internal, 1, 8);
            let body =
                vec![mine, barrier("first", ids[k as usize][0]), read, barrier("second", ids[k as usize][1]), back];
            module(vec![local, shared_of("both", cells)], body)
        })
        .collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

fn run(modules: &[Module], threads: usize) -> Result<Vec<f32>, birsim_engine::Error> {
    let mut cores = Cores::load(&Simulator::builder().threads(threads), modules)?;
    let local: Vec<u8> = [3.0f32, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    cores.bind("local", &local)?;
    cores.bind("both", &[0; 32])?;
    cores.run()?;
    Ok(floats(&cores.output("both")?))
}

#[test]
fn two_barriers_order_two_cores_the_same_way_every_time() {
    // write: 2 * local + 1; read: + 1; back: 10 * that + 1.
    let want = [7.0, 11.0, 121.0, 81.0, 0.0, 0.0, 0.0, 0.0];
    for round in 0..100 {
        assert_eq!(run(&two([[1, 2], [1, 2]]), 1 + round % 2).unwrap(), want, "round {round}");
    }
}

#[test]
fn a_large_shared_tensor_has_one_storage() {
    // 64 MiB, of which the cores use the first page.
    let modules = two_beside([[1, 2], [1, 2]], 16 << 20);
    for check in [None, Some(Check::Uninit)] {
        let mut cores = Cores::load(&Simulator::builder().threads(2).checks(check), &modules).unwrap();
        let local: Vec<u8> = [3.0f32, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        cores.bind("local", &local).unwrap();
        let summaries = cores.run().unwrap();
        let all = floats(&cores.output("both").unwrap());
        assert_eq!((&all[..4], all.len()), ([7.0, 11.0, 121.0, 81.0].as_slice(), 16 << 20));
        assert_eq!(all[4].to_bits(), u32::MAX, "never written");
        let touched: u64 = summaries.iter().map(|s| s.stats.touched).sum();
        assert_eq!(touched, 3 * 4096 + 2 * 32, "a page for both, and what each has for itself");
    }
    // Without the other core's write before the barrier the read is one of memory that nothing wrote.
    let mut modules = modules;
    modules[0].functions[0].blocks[0].instructions.remove(0);
    let mut cores = Cores::load(&Simulator::builder().checks([Check::Uninit]), &modules).unwrap();
    cores.bind("local", &[0; 32]).unwrap();
    assert_eq!(cores.run().unwrap_err().code(), Code::S017);
}

#[test]
fn a_large_shared_tensor_that_was_bound_keeps_what_nobody_writes() {
    let modules = two_beside([[1, 2], [1, 2]], 1 << 20);
    let mut cores = Cores::load(&Simulator::builder().threads(2), &modules).unwrap();
    let bound: Vec<u8> = (0..1 << 20).flat_map(|k| (k as f32).to_le_bytes()).collect();
    cores.bind("both", &bound).unwrap();
    cores.bind("local", &[0; 32]).unwrap();
    cores.run().unwrap();
    let all = floats(&cores.output("both").unwrap());
    assert_eq!(all[..4], [1.0, 1.0, 21.0, 21.0]);
    assert!(all[4..].iter().zip(4..).all(|(v, k)| *v == k as f32));
}

#[test]
fn a_wrong_barrier_id_names_both_cores_ids_and_instructions() {
    let e = run(&two([[1, 2], [1, 3]]), 2).unwrap_err();
    assert_eq!(e.code(), Code::S003);
    assert_eq!(
        e.what(),
        "no core can go on\n  \
         core 0: second (CoreBarrier) waits for barrier 2 of cores [0, 1]; absent: core 1 (waits at second); they met last \
         at first (CoreBarrier)\n  \
         core 1: second (CoreBarrier) waits for barrier 3 of cores [0, 1]; absent: core 0 (waits at second); they met last \
         at first (CoreBarrier)\n  \
         circle: second of core 0 -> second of core 1 -> second of core 0"
    );
}

#[test]
fn a_barrier_with_a_finished_core_is_a_deadlock() {
    let mut modules = two([[1, 2], [1, 2]]);
    modules[1].functions[0].blocks[0].instructions.truncate(2);
    let e = run(&modules, 2).unwrap_err();
    assert_eq!(
        e.what(),
        "no core can go on\n  \
         core 0: second (CoreBarrier) waits for barrier 2 of cores [0, 1]; absent: core 1 (has finished); they met last at \
         first (CoreBarrier)\n  \
         core 1: has finished"
    );
}

fn collective(kind: CollectiveKind, cores: i64) -> Vec<Module> {
    (0..cores)
        .map(|k| {
            let fill = step("fill".into(), Engine::Dve, cell("local", k), cell("local", 6), 1.0);
            let mut cc = Instruction::new("cc", Opcode::CollectiveCompute, Engine::Pool)
                .with("kind", Value::named(kind))
                .with("op", Value::named(AluOp::Add));
            if kind == CollectiveKind::SendRecv {
                cc.set("send_to_rank", Value::Int((k + 1) % cores));
                cc.set("recv_from_rank", Value::Ints(vec![Expr::Const((k + cores - 1) % cores)]));
            }
            cc.ins.push(cell("local", 6));
            cc.outs.push(cell("local", 7));
            let out = step("out".into(), Engine::Dve, cell("local", 7), cell("both", k), 1.0);
            let local = tensor("local", MemoryType::Sb, TensorKind::Internal, 1, 8);
            module(vec![local, shared("both")], vec![fill, cc, out])
        })
        .collect()
}

#[test]
fn an_exchange_in_a_ring_moves_every_value_one_core_on() {
    // fill: local + 1 = 4, 6, 1; each core gets its predecessor's value; out adds 1.
    let got = run(&collective(CollectiveKind::SendRecv, 3), 2).unwrap();
    assert_eq!(got[..3], [2.0, 5.0, 7.0]);
}

#[test]
fn an_all_reduce_adds_the_values_of_all_cores() {
    let got = run(&collective(CollectiveKind::AllReduce, 64), 2);
    assert_eq!(got.unwrap_err().code(), Code::S001, "64 cores have no 64 cells");
    let got = run(&collective(CollectiveKind::AllReduce, 3), 2).unwrap();
    assert_eq!(got[..3], [12.0, 12.0, 12.0]);
}

#[test]
fn a_message_reaches_the_core_that_waits_for_it() {
    let program = |k: i64| {
        let fill = step("fill".into(), Engine::Dve, cell("local", k), cell("local", 6), 1.0);
        let mut send = Instruction::new("send", Opcode::CollectiveSend, Engine::Pool).with("peer_id", 1 - k);
        send.ins.push(cell("local", 6));
        let mut recv = Instruction::new("recv", Opcode::CollectiveRecv, Engine::Pool).with("peer_id", 1 - k);
        recv.outs.push(cell("local", 7));
        let out = step("out".into(), Engine::Dve, cell("local", 7), cell("both", k), 1.0);
        let local = tensor("local", MemoryType::Sb, TensorKind::Internal, 1, 8);
        module(vec![local, shared("both")], vec![fill, send, recv, out])
    };
    let got = run(&[program(0), program(1)], 2).unwrap();
    assert_eq!(got[..2], [7.0, 5.0]);

    let mut silent = [program(0), program(1)];
    silent[1].functions[0].blocks[0].instructions.remove(1);
    let e = run(&silent, 2).unwrap_err();
    assert!(e.what().contains("core 0: recv (CollectiveRecv) waits for a message of rank 1"), "{}", e.what());
}

#[test]
fn a_finding_on_one_core_does_not_end_the_others() {
    // Core 0 reads what nothing wrote and ends in the first round; the others meet before they write.
    let own = tensor("own", MemoryType::Sb, TensorKind::Internal, 1, 8);
    let mut modules = vec![module(
        vec![own, shared("both")],
        vec![step("reads".into(), Engine::Dve, cell("own", 0), cell("own", 1), 1.0)],
    )];
    for k in 1..3 {
        let local = tensor("local", MemoryType::Sb, TensorKind::Internal, 1, 8);
        let mut meet = barrier("meet", 1);
        meet.set("cores", Value::Ints(vec![Expr::Const(1), Expr::Const(2)]));
        let write = step(format!("write{k}"), Engine::Dve, cell("local", k), cell("both", k), 2.0);
        modules.push(module(vec![local, shared("both")], vec![meet, write]));
    }
    let mut cores = Cores::load(&Simulator::builder().threads(2).checks([Check::Uninit]), &modules).unwrap();
    let local: Vec<u8> = [0.0f32, 3.0, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    cores.bind("local", &local).unwrap();
    cores.bind("both", &[0; 32]).unwrap();
    let e = cores.run().unwrap_err();
    assert_eq!((e.code(), e.place().instruction.as_deref()), (Code::S017, Some("reads")));
    assert_eq!(floats(&cores.output("both").unwrap())[..3], [0.0, 7.0, 11.0]);
}
