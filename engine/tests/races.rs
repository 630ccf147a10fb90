//! `--check race`: programs whose engines touch the same bytes without order, and near misses that are ordered.

mod common;

use birsim_engine::{Check, Code, IssueOrder, Remark, Simulator};
use common::*;
use serde_json::{Value as Json, json};

const X: T = T("x", "ExternalInput", "DRAM", "float32", 2, 4);
const S: T = T("s", "Internal", "SB", "float32", 2, 4);
const R: T = T("r", "Internal", "SB", "float32", 2, 4);
const O: T = T("o", "ExternalOutput", "DRAM", "float32", 2, 4);

fn sem(id: u32) -> Json {
    json!({"id": id, "wait_value": 1})
}

/// An instruction that waits for the semaphores `waits` and adds 1 to those of `posts`.
fn synced(mut i: Json, waits: &[u32], posts: &[u32]) -> Json {
    i["sync_info"] = json!({"on_wait": waits.iter().map(|id| sem(*id)).collect::<Vec<_>>(),
        "on_update": posts.iter().map(|id| json!({"id": id})).collect::<Vec<_>>()});
    i
}

fn copy(name: &str, engine: &str, from: Json, to: Json) -> Json {
    let opcode = if engine == "DMA" { "DMACopy" } else { "TensorCopy" };
    inst(name, opcode, engine, json!([from]), json!([to]), json!({}))
}

fn nop(name: &str, engine: &str) -> Json {
    inst(name, "NoOp", engine, json!([]), json!([]), json!({}))
}

fn repeat(name: &str, body: Vec<Json>) -> Json {
    json!({"name": name, "opcode": "Loop", "engine": "ALL", "ins": [], "outs": [],
        "LoopAxis": {"name": "i", "lb": 0, "ub": 2, "stride": 1}, "blocks": [{"name": "body", "instructions": body}]})
}

/// Something unrelated that makes the program run by queues.
fn queued(mut list: Vec<Json>) -> Json {
    list.push(synced(nop("last", "SP"), &[], &[200]));
    module([X, S, R, O].iter().map(T::record).collect(), list)
}

/// Messages of the checker, as many under the schedules that issue many instructions and one at a time.
#[track_caller]
fn races(m: &Json) -> Vec<String> {
    let all = [IssueOrder::Window, IssueOrder::Reference].map(|schedule| {
        let mut sim = loaded(Simulator::builder().checks([Check::Race]).schedule(schedule), m).unwrap();
        bind(&mut sim, "x", &[1.0; 8]);
        let verdict = sim.run().err().map(|e| e.code());
        let found = sim.summary().unwrap().diagnostics.into_iter().filter(|d| d.code == Remark::Race);
        let found: Vec<String> = found.map(|d| d.message).collect();
        assert_eq!(verdict, (!found.is_empty()).then_some(Code::S017));
        found
    });
    let [window, reference] = all;
    // Which of two accesses comes second depends on the schedule.
    assert_eq!(window.len(), reference.len(), "{window:?} {reference:?}");
    window
}

#[test]
fn fault_23_a_loop_does_not_wait_for_a_dma_before_it() {
    let program = |waits: &[u32], posts: &[u32]| {
        queued(vec![
            synced(copy("d", "DMA", all(&X), all(&S)), &[], posts),
            repeat("l", vec![synced(copy("e", "DVE", all(&S), all(&R)), waits, &[])]),
        ])
    };
    assert_eq!(
        races(&program(&[], &[])),
        ["e on DVE reads s (partition 0, bytes 0..32), which d on DMA writes, and nothing orders the two"]
    );
    assert_eq!(races(&program(&[3], &[3])), Vec::<String>::new());
    // A barrier of all engines orders too.
    let m = queued(vec![
        copy("d", "DMA", all(&X), all(&S)),
        inst("b", "AllEngineBarrier", "ALL", json!([]), json!([]), json!({})),
        repeat("l", vec![copy("e", "DVE", all(&S), all(&R))]),
    ]);
    assert_eq!(races(&m), Vec::<String>::new());
}

#[test]
fn a_read_before_a_write_and_two_writes_race_too() {
    let found = |a: Json, b: Json| races(&queued(vec![a, b]));
    let read = || copy("a", "DVE", all(&S), all(&R));
    let write = |e: &str| copy("w", e, all(&X), all(&S));
    assert_eq!(found(read(), write("DMA")).len(), 1);
    assert_eq!(
        found(copy("a", "Pool", all(&R), all(&S)), write("DMA")),
        ["w on DMA writes s (partition 0, bytes 0..32), which a on Pool writes, and nothing orders the two"]
    );
    // Two reads, one engine, other bytes.
    assert_eq!(found(read(), copy("b", "Pool", all(&S), all(&O))).len(), 0);
    assert_eq!(found(copy("a", "DMA", all(&S), all(&O)), write("DMA")).len(), 0);
    let half = |t: &T, at: i64| part(t, at, &[[4, 2], [1, 2]]);
    assert_eq!(found(copy("a", "DVE", half(&S, 0), half(&R, 0)), copy("w", "DMA", half(&X, 2), half(&S, 2))).len(), 0);
    assert_eq!(
        found(
            copy("a", "DVE", half(&S, 0), half(&R, 0)),
            copy("w", "DMA", part(&X, 1, &[[4, 2], [1, 2]]), part(&S, 1, &[[4, 2], [1, 2]]))
        ),
        ["a on DVE reads s (partition 0, bytes 4..8), which w on DMA writes, and nothing orders the two"]
    );
}

#[test]
fn order_is_handed_on_over_several_engines() {
    let chain = |middle: Vec<Json>| {
        let mut list = vec![synced(copy("d", "DMA", all(&X), all(&S)), &[], &[3])];
        list.extend(middle);
        list.push(synced(copy("e", "DVE", all(&S), all(&R)), &[4], &[]));
        races(&queued(list)).len()
    };
    assert_eq!(chain(vec![synced(nop("m", "Pool"), &[3], &[4])]), 0);
    // The same semaphores, but no instruction in between waits for the write.
    assert_eq!(chain(vec![synced(nop("m", "Pool"), &[], &[4])]), 1);
    // A wait after the access comes too late.
    let late = vec![
        synced(copy("d", "DMA", all(&X), all(&S)), &[], &[3]),
        copy("e", "DVE", all(&S), all(&R)),
        synced(nop("n", "DVE"), &[3], &[]),
    ];
    assert_eq!(races(&queued(late)).len(), 1);
}

#[test]
fn a_wait_follows_the_updates_it_needs_and_no_others() {
    let program = |value: u32| {
        let mut wait = synced(copy("e", "DVE", all(&S), all(&R)), &[3], &[]);
        wait["sync_info"]["on_wait"][0]["wait_value"] = json!(value);
        races(&queued(vec![
            synced(nop("a", "DMA"), &[], &[3]),
            synced(copy("d", "DMA", all(&X), all(&S)), &[], &[3]),
            wait,
        ]))
        .len()
    };
    assert_eq!((program(1), program(2)), (1, 0));
    // Either of two posters may be the one that a wait for 1 saw; a wait for 2 follows both.
    let two = |value: u32| {
        let mut wait = synced(copy("e", "DVE", all(&S), all(&R)), &[3], &[]);
        wait["sync_info"]["on_wait"][0]["wait_value"] = json!(value);
        let other = synced(nop("a", "Pool"), &[], &[3]);
        races(&queued(vec![synced(copy("d", "DMA", all(&X), all(&S)), &[], &[3]), other, wait])).len()
    };
    assert_eq!(two(2), 0);
}

#[test]
fn an_event_orders() {
    let event = |on: bool| {
        let mut d = copy("d", "DMA", all(&X), all(&S));
        let mut e = copy("e", "DVE", all(&S), all(&R));
        if on {
            d["sync_info"] = json!({"on_update": [{"type": "event", "id": 7}]});
            e["sync_info"] = json!({"on_wait": [{"type": "event", "id": 7}]});
        }
        races(&queued(vec![d, e])).len()
    };
    assert_eq!((event(true), event(false)), (0, 1));
}

#[test]
fn descriptors_of_a_queue_are_waited_for_by_the_semaphore_of_their_block() {
    let program = |waits: bool| {
        let mut m = queued(vec![
            inst("t", "DMATrigger", "DMA", json!([]), json!([]), json!({"queue": "q0", "dma_blocks": ["b0"]})),
            synced(copy("e", "DMA", all(&S), all(&O)), if waits { &[9] } else { &[] }, &[]),
        ]);
        let d = inst("d", "DMADescriptorCopy", "DMA", json!([all(&X)]), json!([all(&S)]), json!({}));
        m["queues"] = json!([{"name": "q0", "type": "DATA", "blocks": [{"name": "qb", "instructions": [
            {"name": "b0", "opcode": "DMABlock", "engine": "DMA", "ins": [], "outs": [], "dma_trigger": "t",
             "sync_info": {"on_update": [{"id": 9}]}, "blocks": [{"name": "db", "instructions": [d]}]}]}]}]);
        races(&m)
    };
    assert_eq!(
        program(false),
        ["e on DMA reads s (partition 0, bytes 0..32), which d of a DMA queue writes, and nothing orders the two"]
    );
    assert_eq!(program(true), Vec::<String>::new());
}

#[test]
fn a_program_in_list_order_has_no_races() {
    let list = vec![copy("d", "DMA", all(&X), all(&S)), copy("e", "DVE", all(&S), all(&R))];
    assert_eq!(races(&module([X, S, R, O].iter().map(T::record).collect(), list)), Vec::<String>::new());
}

#[test]
fn fault_69_a_race_far_behind_is_found_in_bounded_memory() {
    // Many more posts and pieces than are kept; the accesses that race come at both ends.
    let turn = |name: &str| {
        vec![
            synced(copy(&format!("d{name}"), "DMA", all(&X), all(&R)), &[], &[3]),
            synced(
                inst("r", "GroupResetSemaphores", "ALL", json!([]), json!([]), json!({"sema_group": [3]})),
                &[],
                &[],
            ),
        ]
    };
    let mut l = repeat("l", turn("x"));
    l["LoopAxis"]["ub"] = json!(20_000);
    let m = queued(vec![copy("w", "Pool", all(&X), all(&S)), l, copy("e", "DVE", all(&S), all(&O))]);
    // The resets are of engine ALL, so they order everything.
    assert_eq!(races(&m), Vec::<String>::new());
    let mut l = repeat("l", vec![synced(copy("d", "DMA", all(&X), all(&O)), &[], &[3])]);
    l["LoopAxis"]["ub"] = json!(20_000);
    let m =
        queued(vec![copy("w", "Pool", all(&R), all(&S)), l, copy("e", "DVE", all(&S), part(&R, 0, &[[4, 2], [1, 4]]))]);
    let found = races(&m);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("e on DVE reads s"), "{found:?}");
}

fn post(id: u32, mode: &str, value: u32) -> Json {
    json!({"id": id, "update_mode": mode, "update_value": value})
}

#[test]
fn item_10_engines_that_share_a_register_without_order_race() {
    let move_to = |name: &str, engine: &str, to: &str, from: Json| {
        inst(name, "RegisterMove", engine, json!([from]), json!([reg(to)]), json!({}))
    };
    let number = || json!({"kind": "imm_value", "dtype": "int32", "value": 1});
    let found = |list: Vec<Json>| {
        let mut m = queued(list);
        let storage = m["functions"][0]["allocations"].as_array_mut().unwrap();
        storage.extend([register("r"), register("q")]);
        races(&m)
    };
    assert_eq!(
        found(vec![move_to("a", "Pool", "r", number()), move_to("b", "SP", "r", number())]),
        ["b on SP writes register r, which a on Pool writes, and nothing orders the two"]
    );
    assert_eq!(
        found(vec![move_to("a", "Pool", "r", number()), move_to("b", "SP", "q", reg("r"))]),
        ["b on SP reads register r, which a on Pool writes, and nothing orders the two"]
    );
    // One engine, other registers, two reads, an order.
    assert_eq!(found(vec![move_to("a", "SP", "r", number()), move_to("b", "SP", "r", number())]).len(), 0);
    assert_eq!(found(vec![move_to("a", "Pool", "r", number()), move_to("b", "SP", "q", number())]).len(), 0);
    let ordered = vec![
        synced(move_to("a", "Pool", "r", number()), &[], &[3]),
        synced(move_to("b", "SP", "q", reg("r")), &[3], &[]),
    ];
    assert_eq!(found(ordered).len(), 0);
    // An address that a register gives is a read of it.
    let by_register = json!({"kind": "register_ap", "dtype": "float32", "memref": "s", "memsetref": "s_set",
        "ap": [[4, 1], [1, 1]], "reg_ap_offset": "r", "const_ap_offset": 0, "const_sub_tensor_id": -1});
    let indirect = copy("c", "DVE", by_register, part(&R, 0, &[[4, 1], [1, 1]]));
    assert_eq!(
        found(vec![move_to("a", "Pool", "r", number()), indirect]),
        ["c on DVE reads register r, which a on Pool writes, and nothing orders the two"]
    );
}

#[test]
fn item_10_semaphore_operations_that_do_not_commute_race() {
    // Two are posted; one engine waits for one, the other waits for one and takes one away.
    let program = |ordered: bool| {
        let mut p = nop("p", "DMA");
        p["sync_info"] = json!({"on_update": [post(3, "sem-add-imm", 2)]});
        let w = synced(nop("w", "DVE"), &[3], if ordered { &[4] } else { &[] });
        let mut l = synced(nop("l", "SP"), if ordered { &[3, 4] } else { &[3] }, &[]);
        l["sync_info"]["on_update"] = json!([post(3, "sem-sub-imm", 1)]);
        races(&queued(vec![p, w, l]))
    };
    assert_eq!(program(false), ["l on SP lowers semaphore 3, which w on DVE waits for, and nothing orders the two"]);
    assert_eq!(program(true), Vec::<String>::new());
    // Setting goes with nothing; raising and lowering go with each other.
    let two = |a: &str, b: &str| {
        let update = |name: &str, engine: &str, mode: &str| {
            let mut i = nop(name, engine);
            i["sync_info"] = json!({"on_update": [post(3, "sem-add-imm", 7), post(3, mode, 1)]});
            i
        };
        races(&queued(vec![update("a", "DVE", a), update("b", "SP", b)]))
    };
    assert_eq!(
        two("sem-add-imm", "sem-wr-imm"),
        ["b on SP sets semaphore 3, which a on DVE raises, and nothing orders the two"]
    );
    assert_eq!(two("sem-wr-imm", "sem-wr-imm").len(), 1);
    assert_eq!(two("sem-sub-imm", "sem-wr-imm").len(), 1);
    assert_eq!(two("sem-add-imm", "sem-sub-imm").len(), 0);
    assert_eq!(two("sem-sub-imm", "sem-dec").len(), 0);
    assert_eq!(two("sem-inc", "sem-inc").len(), 0);
}
