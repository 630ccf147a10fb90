//! Limits that hold inside one instruction: interrupts, time, memory.

mod common;

use birsim_engine::{Code, Limits, MemMode, Simulator};
use common::*;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const X: T = T("x", "ExternalInput", "SB", "float32", 1, 64);
const N: T = T("n", "ExternalInput", "SB", "int32", 1, 64);
const Y: T = T("y", "ExternalOutput", "SB", "float32", 1, 64);
const MASK: T = T("mask", "ExternalInput", "SB", "uint8", 1, 64);

/// 2^39 elements, all of them the same one: more work than anyone waits for.
fn endless(t: &T) -> Json {
    part(t, 0, &[[64, 1], [0, 1 << 20], [0, 1 << 19]])
}

fn long_instructions() -> Vec<Json> {
    let y = json!([endless(&Y)]);
    let x = || json!([endless(&X)]);
    vec![
        inst("memset", "Memset", "DVE", json!([]), y.clone(), json!({"mode": "Const", "constant": 1})),
        inst("random", "Memset", "DVE", json!([]), y.clone(), json!({"mode": "Random", "constant": 0})),
        inst("copy", "TensorCopy", "DVE", x(), y.clone(), json!({})),
        inst("cast", "TensorCopy", "DVE", json!([endless(&N)]), y.clone(), json!({})),
        inst("add", "TensorTensor", "DVE", json!([endless(&X), endless(&X)]), y.clone(), json!({"op": "add"})),
        inst(
            "exp",
            "Activation",
            "Activation",
            x(),
            y.clone(),
            json!({"func": "Exp", "scale": 1.0, "alpha": 0.0, "acc": "Idle"}),
        ),
        inst(
            "sum",
            "TensorReduce",
            "DVE",
            x(),
            json!([part(&Y, 0, &[[64, 1], [1, 1]])]),
            json!({"op": "add", "axis": "XY", "negate": false}),
        ),
        inst("select", "Select", "DVE", json!([endless(&MASK), endless(&X), endless(&X)]), y, json!({})),
    ]
}

fn outcome(i: Json, limits: Limits) -> (Code, String) {
    let m = module([X, N, Y, MASK].iter().map(T::record).collect(), vec![i]);
    let mut sim = loaded(Simulator::builder().limits(limits), &m).unwrap();
    bind(&mut sim, "x", &[0.5; 64]);
    sim.bind("n", &[0; 256]).unwrap();
    sim.bind("mask", &[1; 64]).unwrap();
    let e = sim.run().unwrap_err();
    (e.code(), e.what().to_string())
}

#[test]
fn item_11_an_interrupt_ends_a_running_instruction() {
    for i in long_instructions() {
        let cancel = Arc::new(AtomicBool::new(false));
        let name = i["name"].clone();
        let got = std::thread::scope(|s| {
            s.spawn(|| {
                std::thread::sleep(Duration::from_millis(30));
                cancel.store(true, Ordering::Relaxed);
            });
            outcome(i, Limits { cancel: Some(Arc::clone(&cancel)), ..Limits::default() })
        });
        assert_eq!(got, (Code::S009, "the run was interrupted".into()), "{name}");
    }
}

#[test]
fn item_11_the_end_of_the_time_ends_a_running_instruction() {
    for i in long_instructions() {
        let name = i["name"].clone();
        let deadline = Some(Instant::now() + Duration::from_millis(30));
        let got = outcome(i, Limits { deadline, ..Limits::default() });
        assert_eq!(got, (Code::S009, "the run takes longer than --timeout allows".into()), "{name}");
    }
}

/// Touches `tile` on a core with the memories of the target.
fn touch(t: &T, pattern: Json, limits: Limits) -> Result<u64, birsim_engine::Error> {
    let i = inst("fill", "Memset", "DVE", json!([]), json!([pattern]), json!({"mode": "Const", "constant": 0}));
    let mut record = t.record();
    record["memorylocations"][0]["allocated"] = json!(true);
    let m = module(vec![record], vec![i]);
    let mut sim = loaded(Simulator::builder().mem_mode(MemMode::Physical).limits(limits), &m)?;
    Ok(sim.run()?.stats.touched)
}

#[test]
fn item_12_a_tile_costs_its_pages_and_not_all_between_its_ends() {
    const TILE: T = T("tile", "Internal", "SB", "float32", 128, 512);
    let touched = touch(&TILE, all(&TILE), Limits::default()).unwrap();
    let page = 4096;
    assert!(
        (128 * page..=2 * 128 * page).contains(&touched),
        "half a page of data in each of 128 partitions: {touched}"
    );
    const FAR: T = T("far", "Internal", "DRAM", "float32", 1, 1 << 30);
    let two = part(&FAR, 0, &[[1 << 30, 1], [(1 << 30) - 1, 2]]);
    assert_eq!(touch(&FAR, two, Limits::default()).unwrap(), 2 * 4096);
}

#[test]
fn item_12_memory_is_refused_before_it_is_touched() {
    const BIG: T = T("big", "Internal", "DRAM", "float32", 1, 1 << 30);
    let limits = Limits { max_memory: Some(1 << 20), ..Limits::default() };
    let e = touch(&BIG, all(&BIG), limits.clone()).unwrap_err();
    assert_eq!(e.code(), Code::S009);
    assert_eq!(limits.used.bytes(), 0, "what was refused is not in use");
    // One limit for everything that shares it.
    limits.take(1 << 19).unwrap();
    const TILE: T = T("tile", "Internal", "SB", "float32", 128, 2048);
    assert_eq!(touch(&TILE, all(&TILE), limits.clone()).unwrap_err().code(), Code::S009);
    limits.give_back(1 << 19);
    const SMALL: T = T("small", "Internal", "SB", "float32", 64, 16);
    let touched = touch(&SMALL, all(&SMALL), limits.clone()).unwrap();
    assert!(touched > 0);
    assert_eq!(limits.used.bytes(), 0, "a machine gives back what it has touched");
}
