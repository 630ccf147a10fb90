//! What looks at a run without judging it: trace, dumps, effects, fills.

mod common;

use birsim_engine::{Access, Check, Code, Simulator, TraceSink};
use common::*;
use serde_json::{Value as Json, json};
use std::sync::{Arc, Mutex};

const X: T = T("x", "ExternalInput", "DRAM", "float32", 2, 4);
const S: T = T("s", "Internal", "SB", "float32", 2, 4);
const R: T = T("r", "Internal", "SB", "float32", 2, 4);
const O: T = T("o", "ExternalOutput", "DRAM", "float32", 2, 4);

fn storage() -> Vec<Json> {
    [X, S, R, O].iter().map(T::record).collect()
}

fn copy(name: &str, from: Json, to: Json) -> Json {
    inst(name, "DMACopy", "DMA", json!([from]), json!([to]), json!({}))
}

#[test]
fn observers_are_absent_unless_asked_for() {
    use birsim_engine::check::Hooks;
    let m = module(storage(), vec![copy("a", all(&X), all(&O))]);
    let observed = |builder: birsim_engine::Builder| {
        let mut sim = loaded(builder, &m).unwrap();
        bind(&mut sim, "x", &[1.0; 8]);
        sim.run().unwrap();
        sim.world_mut().unwrap().get_resource::<Hooks>().is_some()
    };
    assert!(!observed(Simulator::builder()));
    assert!(!observed(Simulator::builder().checks([])));
    assert!(observed(Simulator::builder().checks([Check::Pinned])));
    assert!(observed(Simulator::builder().dump("o", "a")));
    assert!(observed(Simulator::builder().trace(TraceSink::new(|_| {}))));
}

#[test]
fn fault_61_a_result_that_depends_on_unwritten_memory_changes_with_the_fill() {
    let result = |fill: u8, list: Vec<Json>| {
        let mut sim = loaded(Simulator::builder().fill(fill), &module(storage(), list)).unwrap();
        bind(&mut sim, "x", &[1.0; 8]);
        sim.run().unwrap();
        sim.output("o").unwrap()
    };
    let clean = || vec![copy("a", all(&X), all(&S)), copy("b", all(&S), all(&O))];
    // Half of s is never written.
    let half = |t: &T| part(t, 0, &[[4, 2], [1, 2]]);
    let dirty = || vec![copy("a", half(&X), half(&S)), copy("b", all(&S), all(&O))];
    for fill in [0x00, 0xA5, 0x7F] {
        assert_eq!(result(fill, clean()), result(0xFF, clean()), "{fill:#x}");
        assert_ne!(result(fill, dirty()), result(0xFF, dirty()), "{fill:#x}");
    }
    assert_eq!(result(0xA5, dirty())[8..16], [0xA5; 8]);
}

/// acc = a row of x times a column of ones, one k per trip.
fn partial_sums() -> Json {
    const A: T = T("a", "Internal", "SB", "float32", 1, 4);
    const W: T = T("w", "Internal", "SB", "float32", 1, 1);
    const ACC: T = T("acc", "Internal", "PSUM", "float32", 1, 1);
    let one =
        inst("one", "Memset", "DVE", json!([]), json!([all(&W)]), json!({"mode": "Const", "constant": 0x3F80_0000}));
    let zero = inst("zero", "Memset", "DVE", json!([]), json!([all(&ACC)]), json!({"mode": "Const", "constant": 0}));
    let k = json!({"kind": "symbolic_ap", "dtype": "float32", "memsetref": "a_set", "ap": [[4, 1], [1, 1]],
        "addrs": [0, {"kind": "AffIVKind", "axis": "k"}]});
    let mm = inst("mm", "Matmult", "PE", json!([k, all(&W)]), json!([all(&ACC)]), json!({"accumulation_flag": 4}));
    let start = inst(
        "start",
        "Matmult",
        "PE",
        json!([part(&A, 0, &[[4, 1], [1, 1]]), all(&W)]),
        json!([all(&ACC)]),
        json!({"accumulation_flag": 1}),
    );
    let l = json!({"name": "l", "opcode": "Loop", "engine": "ALL", "ins": [], "outs": [],
        "LoopAxis": {"name": "k", "lb": 1, "ub": 4, "stride": 1}, "blocks": [{"name": "body", "instructions": [mm]}]});
    let load = copy("load", part(&X, 0, &[[4, 1], [1, 4]]), all(&A));
    let mut records = storage();
    records.extend([A.record(), W.record(), ACC.record()]);
    module(records, vec![load, one, zero, start, l])
}

#[test]
fn fault_29_partial_sums_and_the_first_instruction_that_differs() {
    let run = |values: &[f32; 8]| {
        let rows = Arc::new(Mutex::new(Vec::new()));
        let to = Arc::clone(&rows);
        let sink = TraceSink::new(move |r| to.lock().unwrap().push((r.instruction.to_string(), r.output_hash)));
        let builder =
            ["start", "mm#1", "mm#2", "mm#3"].iter().fold(Simulator::builder().trace(sink), |b, i| b.dump("acc", *i));
        let mut sim = loaded(builder, &partial_sums()).unwrap();
        bind(&mut sim, "x", values);
        sim.run().unwrap();
        let sums: Vec<(String, f32)> = sim
            .dumps()
            .into_iter()
            .map(|d| (d.instruction.clone(), f32::from_le_bytes(d.bytes.try_into().unwrap())))
            .collect();
        let rows = rows.lock().unwrap().clone();
        (sums, rows)
    };
    let (sums, golden) = run(&[1.0, 2.0, 4.0, 8.0, 0.0, 0.0, 0.0, 0.0]);
    let named = |n: &str, v: f32| (n.to_string(), v);
    assert_eq!(sums, [named("start", 1.0), named("mm#1", 3.0), named("mm#2", 7.0), named("mm#3", 15.0)]);
    // Another value in the third column shows in what is loaded and in the second trip, not before.
    let (_, other) = run(&[1.0, 2.0, 5.0, 8.0, 0.0, 0.0, 0.0, 0.0]);
    let differs: Vec<usize> = (0..golden.len()).filter(|k| golden[*k] != other[*k]).collect();
    let names: Vec<&str> = golden.iter().map(|(n, _)| n.as_str()).collect();
    assert_eq!(names, ["load", "one", "zero", "start", "mm", "mm", "mm"]);
    assert_eq!(differs, [0, 5, 6]);
    let e = loaded(Simulator::builder().dump("acc", "mm#x"), &partial_sums()).err().unwrap();
    assert_eq!(e.code(), Code::F006);
}

#[test]
fn effects_are_the_resolved_operands() {
    let list = vec![inst(
        "v",
        "TensorTensor",
        "DVE",
        json!([part(&X, 2, &[[4, 2], [1, 2]]), all(&S)]),
        json!([all(&R)]),
        json!({"op": "add"}),
    )];
    let mut sim = loaded(Simulator::builder(), &module(storage(), list)).unwrap();
    let effects = sim.effects("v").unwrap();
    let names: Vec<&str> = effects.iter().map(|e| sim.tensors()[e.location.at()].name.as_str()).collect();
    assert_eq!(names, ["x", "s", "r"]);
    assert_eq!(effects.iter().map(|e| e.access).collect::<Vec<_>>(), [Access::Read, Access::Read, Access::Write]);
    let runs = |k: usize| {
        let mut out = Vec::new();
        effects[k].runs(|lo, hi| out.push((lo, hi)));
        out
    };
    assert_eq!(runs(0), [(8, 16), (24, 32)]);
    assert_eq!(runs(2), [(0, 32)]);
    assert_eq!(sim.effects("nobody").unwrap_err().code(), Code::F006);
}

#[test]
fn the_trace_tells_every_instruction_in_the_reference_order() {
    let rows = Arc::new(Mutex::new(Vec::new()));
    let to = Arc::clone(&rows);
    let sink =
        TraceSink::new(move |r| to.lock().unwrap().push((r.tick, r.instruction.to_string(), r.opcode, r.output_hash)));
    let list = vec![
        copy("a", all(&X), all(&S)),
        copy("b", all(&S), all(&O)),
        inst("n", "NoOp", "SP", json!([]), json!([]), json!({})),
    ];
    let mut sim = loaded(Simulator::builder().trace(sink), &module(storage(), list)).unwrap();
    bind(&mut sim, "x", &[1.0; 8]);
    sim.run().unwrap();
    let rows = rows.lock().unwrap();
    let names: Vec<&str> = rows.iter().map(|r| r.1.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(rows[0].0 < rows[1].0, "one instruction per tick");
    assert_eq!(rows[0].3, rows[1].3, "same bytes, same hash");
    let fnv = [1.0f32; 8]
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    assert_eq!(rows[0].3, fnv);
}

#[test]
fn a_dump_holds_the_value_behind_the_last_execution() {
    let body = inst("acc", "TensorTensor", "DVE", json!([all(&S), all(&X)]), json!([all(&S)]), json!({"op": "add"}));
    let l = json!({"name": "l", "opcode": "Loop", "engine": "ALL", "ins": [], "outs": [],
        "LoopAxis": {"name": "k", "lb": 0, "ub": 3, "stride": 1}, "blocks": [{"name": "body", "instructions": [body]}]});
    let zero = |n: &str| inst(n, "Memset", "DVE", json!([]), json!([all(&S)]), json!({"mode": "Const", "constant": 0}));
    let program = module(storage(), vec![zero("z"), l, zero("end")]);
    let builder = Simulator::builder().dump("s", "acc").dump("s", "z");
    let mut sim = loaded(builder, &program).unwrap();
    bind(&mut sim, "x", &[2.0; 8]);
    sim.run().unwrap();
    let dumps = sim.dumps();
    assert_eq!((dumps[0].executions, dumps[1].executions), (3, 1));
    assert_eq!(dumps[0].bytes, [6.0f32; 8].iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>());
    assert_eq!(dumps[1].bytes, [0; 32]);
    let e = loaded(Simulator::builder().dump("s", "nobody"), &program).err().unwrap();
    assert_eq!((e.code(), e.what()), (Code::F006, "the program has no instruction named nobody"));
}
