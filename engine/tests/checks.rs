//! Checkers: programs that trip each of them, and near misses that must not.

mod common;

use birsim_engine::{Check, Code, Error, Remark, RunSummary, Severity, Simulator};
use birsim_kernels::Named;
use common::*;
use serde_json::{Value as Json, json};

const X: T = T("x", "ExternalInput", "DRAM", "float32", 2, 4);
const N: T = T("n", "ExternalInput", "DRAM", "int32", 2, 4);
const S: T = T("s", "Internal", "SB", "float32", 2, 4);
const R: T = T("r", "Internal", "SB", "float32", 2, 4);
const I: T = T("i", "Internal", "SB", "int32", 2, 4);
const P: T = T("p", "Internal", "PSUM", "float32", 2, 4);
const O: T = T("o", "ExternalOutput", "DRAM", "float32", 2, 4);
const Q: T = T("q", "ExternalOutput", "DRAM", "int32", 2, 4);

fn storage() -> Vec<Json> {
    [X, N, S, R, I, P, O, Q].iter().map(T::record).collect()
}

fn copy(name: &str, from: Json, to: Json) -> Json {
    inst(name, "DMACopy", "DMA", json!([from]), json!([to]), json!({}))
}

/// Runs with one checker; the summary, and the verdict.
fn check(check: Check, storage: Vec<Json>, list: Vec<Json>) -> (Option<Error>, RunSummary) {
    let mut sim = loaded(Simulator::builder().checks([check]), &module(storage, list)).unwrap();
    bind(&mut sim, "x", &[1.0, -2.0, 0.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    let verdict = sim.run().err();
    (verdict, sim.summary().unwrap())
}

fn findings(s: &RunSummary) -> Vec<String> {
    s.diagnostics
        .iter()
        .filter(|d| d.severity == Severity::Fault)
        .map(|d| format!("{}: {}", d.code, d.message))
        .collect()
}

#[track_caller]
fn trips(c: Check, list: Vec<Json>, expected: &[&str]) {
    let (e, s) = check(c, storage(), list);
    assert_eq!(findings(&s), expected);
    let e = e.expect("findings fail the run");
    assert_eq!((e.code(), e.what()), (Code::S017, expected[0]));
}

#[track_caller]
fn is_silent(c: Check, list: Vec<Json>) {
    let (e, s) = check(c, storage(), list);
    assert_eq!((e, findings(&s)), (None, vec![]));
}

#[test]
fn fault_41_reads_of_unwritten_memory_are_reported_once_each() {
    let list = vec![
        copy("a", all(&S), all(&O)),
        copy("b", all(&S), all(&O)),
        inst("c", "TensorCopy", "DVE", json!([all(&P)]), json!([all(&R)]), json!({})),
        copy("d", all(&N), all(&Q)),
    ];
    trips(
        Check::Uninit,
        list,
        &[
            "uninit: a reads memory of s (SB) that nothing wrote: partition 0, bytes 0..32",
            "uninit: c reads memory of p (PSUM) that nothing wrote: partition 0, bytes 0..32",
            "uninit: d reads memory of n (DRAM) that nothing wrote: partition 0, bytes 0..32",
        ],
    );
}

#[test]
fn a_partly_written_tensor_names_its_writers() {
    let half = |t: &T, at: i64| part(t, at, &[[4, 2], [1, 2]]);
    let list = vec![copy("left", half(&X, 0), half(&S, 0)), copy("out", all(&S), all(&O))];
    trips(
        Check::Uninit,
        list,
        &[
            "uninit: out reads memory of s (SB) that nothing wrote: partition 0, bytes 8..16; it was written in part by left",
        ],
    );
    is_silent(Check::Uninit, vec![copy("left", half(&X, 0), half(&S, 0)), copy("out", half(&S, 0), half(&O, 0))]);
    is_silent(
        Check::Uninit,
        vec![copy("l", half(&X, 0), half(&S, 0)), copy("r", half(&X, 2), half(&S, 2)), copy("out", all(&S), all(&O))],
    );
}

#[test]
fn an_instruction_may_be_allowed_to_read_unwritten_memory() {
    let mut c = copy("a", all(&S), all(&O));
    c["can_read_uninit"] = json!(true);
    is_silent(Check::Uninit, vec![c]);
    // Adding to unwritten memory reads it.
    let mut add = copy("a", all(&X), all(&S));
    add["cce_op"] = json!("add");
    trips(
        Check::Uninit,
        vec![add],
        &["uninit: a adds to memory of s (SB) that nothing wrote: partition 0, bytes 0..32"],
    );
}

#[test]
fn provenance_is_cleared_per_trip_of_loops_that_count_at_run_time() {
    // Trip 0 writes the left half of s; trip 1 reads all of it.
    let half = |t: &T| part(t, 0, &[[4, 2], [1, 2]]);
    let at = |mut i: Json, trip: i64| {
        i["predicates"] = json!([{"op": "eq", "expr": {"kind": "AffExprKind", "c": -trip,
            "terms": [{"idx": {"kind": "IntRuntimeValueKind", "regref": "t"}, "coeff": 1}]}}]);
        i
    };
    let body = || {
        let count =
            inst("count", "RegisterAlu", "ALL", json!([reg("t"), imm(1)]), json!([reg("t")]), json!({"op": "add"}));
        let less =
            inst("less", "RegisterAlu", "ALL", json!([reg("w"), imm(1)]), json!([reg("w")]), json!({"op": "subtract"}));
        vec![at(copy("left", half(&X), half(&S)), 0), at(copy("out", all(&S), all(&O)), 1), count, less]
    };
    let set =
        |r: &str, v: i64| inst(&format!("set-{r}"), "RegisterMove", "ALL", json!([imm(v)]), json!([reg(r)]), json!({}));
    let run = |l: Json| {
        let mut records = storage();
        records.extend([register("t"), register("w")]);
        let (_, s) = check(Check::Uninit, records, vec![set("t", 0), set("w", 2), l]);
        findings(&s)
    };
    let found = |tail: &str| {
        [format!(
            "uninit: out reads memory of s (SB) that nothing wrote: partition 0, bytes 8..16; it was written in part {tail}"
        )]
    };
    let blocks = || json!([{"name": "body", "instructions": body()}]);
    let w = json!({"kind": "IntRuntimeValueKind", "regref": "w"});
    let while_ = json!({"name": "l", "opcode": "DoWhile", "engine": "ALL", "ins": [], "outs": [], "cond": w, "blocks": blocks()});
    assert_eq!(run(while_), found("in an earlier trip"));
    let ub = json!({"kind": "AffExprKind", "c": 0, "terms": [{"idx": w, "coeff": 1}]});
    let axis = |ub: Json| json!({"name": "k", "lb": 0, "ub": ub, "stride": 1});
    let dynamic = json!({"name": "l", "opcode": "DynamicForLoop", "engine": "ALL", "ins": [], "outs": [],
        "DynamicForLoopAxis": axis(ub), "blocks": blocks()});
    assert_eq!(run(dynamic), found("in an earlier trip"));
    // A static loop keeps it.
    let fixed = json!({"name": "l", "opcode": "Loop", "engine": "ALL", "ins": [], "outs": [], "LoopAxis": axis(json!(2)),
        "blocks": blocks()});
    assert_eq!(run(fixed), found("by left"));
}

fn imm(value: i64) -> Json {
    json!({"kind": "imm_value", "dtype": "int32", "value": value})
}

/// A table in DRAM, and row numbers.
const D: T = T("d", "Internal", "DRAM", "float32", 4, 4);
const U: T = T("u", "ExternalInput", "DRAM", "uint32", 1, 2);

/// Two rows of `d` that indices choose, written from or read into `s`. An index counts elements of the table.
fn indexed(name: &str, opcode: &str) -> Json {
    let (table, at) = (all(&D), part(&U, 0, &[[1, 1], [1, 2]]));
    match opcode {
        "IndirectSave" => inst(name, opcode, "DMA", json!([all(&S), at]), json!([table]), json!({})),
        _ => inst(name, opcode, "DMA", json!([table, at]), json!([all(&R)]), json!({})),
    }
}

#[test]
fn entries_that_indices_choose_are_written_and_read_one_by_one() {
    let run = |list: Vec<Json>| {
        let mut records = storage();
        records.extend([D.record(), U.record()]);
        let mut sim = loaded(Simulator::builder().checks([Check::Uninit]), &module(records, list)).unwrap();
        bind(&mut sim, "x", &[1.0; 8]);
        sim.bind("u", &[8u32, 0].iter().flat_map(|i| i.to_le_bytes()).collect::<Vec<u8>>()).unwrap();
        let _ = sim.run();
        findings(&sim.summary().unwrap())
    };
    let (fill, save, load) =
        (copy("fill", all(&X), all(&S)), indexed("save", "IndirectSave"), indexed("load", "IndirectLoad"));
    // Rows 0 and 2 are written; reading them, or one of them in full, is fine.
    let none: [&str; 0] = [];
    assert_eq!(run(vec![fill.clone(), save.clone(), load.clone()]), none);
    let row = |k: i64| part(&D, 4 * k, &[[4, 1], [1, 4]]);
    let to = || part(&O, 0, &[[4, 1], [1, 4]]);
    assert_eq!(run(vec![fill.clone(), save.clone(), copy("c", row(2), to())]), none);
    assert_eq!(
        run(vec![fill.clone(), save.clone(), copy("c", row(1), to())]),
        [
            "uninit: c reads memory of d (DRAM) that nothing wrote: partition 1, bytes 0..16; it was written in part by save"
        ]
    );
    // Row 0 is written by a copy, row 2 is not.
    let first = copy("first", part(&S, 0, &[[4, 1], [1, 4]]), row(0));
    assert_eq!(
        run(vec![fill, first, load]),
        [
            "uninit: load reads memory of d (DRAM) that nothing wrote: partition 2, bytes 0..16; it was written in part by first"
        ]
    );
}

#[test]
fn write_only_names_tensors_nobody_reads() {
    let write = copy("w", all(&X), all(&S));
    trips(Check::WriteOnly, vec![write.clone()], &["write-only: s is written, first by w, and never read"]);
    is_silent(Check::WriteOnly, vec![write.clone(), copy("r", all(&S), all(&O))]);
    is_silent(Check::WriteOnly, vec![copy("o", all(&X), all(&O))]);
}

#[test]
fn write_only_names_bytes_nobody_reads() {
    let part_of = |t: &T, at: i64, n: i64| part(t, at, &[[4, 2], [1, n]]);
    let reads = |at: i64, n: i64| copy("r", part_of(&S, at, n), part_of(&O, at, n));
    trips(
        Check::WriteOnly,
        vec![
            copy("left", part_of(&X, 0, 2), part_of(&S, 0, 2)),
            copy("right", part_of(&X, 2, 2), part_of(&S, 2, 2)),
            reads(0, 3),
        ],
        &["write-only: s is read in part only: partition 0, bytes 12..16 is written, first by right, and never read"],
    );
    // Near misses: the unread rest was never written; it is read in pieces; it is read before it is written again.
    is_silent(Check::WriteOnly, vec![copy("w", part_of(&X, 0, 3), part_of(&S, 0, 3)), reads(0, 3)]);
    is_silent(Check::WriteOnly, vec![copy("w", all(&X), all(&S)), reads(0, 2), reads(2, 2)]);
}

#[test]
fn an_alias_counts_as_a_reader() {
    let mut list = storage();
    list[3]["memorylocations"][0]["alias"] = json!([["s", 3]]);
    let program = vec![copy("w", all(&X), all(&S)), copy("r", all(&R), all(&O))];
    let (e, s) = check(Check::WriteOnly, list, program);
    assert_eq!((e, findings(&s)), (None, vec![]));
}

fn placed(pinned_at: u64) -> Vec<Json> {
    let mut list = storage();
    for (k, at) in [(2, 0), (3, pinned_at), (4, 4096), (5, 0)] {
        let l = &mut list[k]["memorylocations"][0];
        l["allocated"] = json!(true);
        l["addr"] = json!(at);
    }
    list[3]["memorylocations"][0]["pinned"] = json!(true);
    list
}

#[test]
fn pinned_memory_is_protected_under_every_name() {
    let (e, s) = check(Check::Pinned, placed(64), vec![copy("w", all(&X), all(&R))]);
    assert_eq!(findings(&s), ["pinned: w writes to the pinned r: partition 0, bytes 0..16"]);
    assert_eq!(e.unwrap().place().tensor.as_deref(), Some("r"));
    // s covers bytes 0..16 of every partition; r starts inside it.
    let (_, s) = check(Check::Pinned, placed(12), vec![copy("w", all(&X), all(&S))]);
    assert_eq!(findings(&s), ["pinned: w writes to the pinned r through s: partition 0, bytes 0..4"]);
    // Near misses: a neighbour, a part that does not reach it, a read.
    for (at, i) in [
        (16, copy("w", all(&X), all(&S))),
        (12, copy("w", part(&X, 0, &[[4, 2], [1, 3]]), part(&S, 0, &[[4, 2], [1, 3]]))),
        (12, copy("w", all(&R), all(&O))),
    ] {
        let (e, s) = check(Check::Pinned, placed(at), vec![i]);
        assert_eq!((e, findings(&s)), (None, vec![]), "pinned at {at}");
    }
}

fn reciprocal(name: &str, from: &T, to: &T) -> Json {
    inst(name, "Reciprocal", "DVE", json!([all(from)]), json!([all(to)]), json!({}))
}

#[test]
fn nan_names_the_first_instruction_that_makes_one() {
    let list = vec![
        copy("a", all(&X), all(&S)),
        reciprocal("b", &S, &R),
        reciprocal("c", &R, &S),
        copy("d", all(&S), all(&O)),
    ];
    trips(Check::Nan, list, &["nan: b makes inf in r: partition 0, bytes 8..12"]);
    // Copying what is not finite makes nothing; neither do integers that look like NaN.
    is_silent(Check::Nan, vec![copy("a", all(&S), all(&O))]);
    is_silent(
        Check::Nan,
        vec![inst("m", "Memset", "DVE", json!([]), json!([all(&I)]), json!({"mode": "Const", "constant": -1}))],
    );
}

#[test]
fn d63_infinities_excuse_no_nan_and_neither_does_a_nan_elsewhere_in_the_row() {
    let minus =
        inst("t", "TensorTensor", "DVE", json!([all(&S), all(&S)]), json!([all(&R)]), json!({"op": "subtract"}));
    let list = vec![copy("a", all(&X), all(&S)), minus];
    let run = |values: [f32; 8]| {
        let mut sim = loaded(Simulator::builder().checks([Check::Nan]), &module(storage(), list.clone())).unwrap();
        bind(&mut sim, "x", &values);
        let _ = sim.run();
        findings(&sim.summary().unwrap())
    };
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let made = ["nan: t makes NaN in r: partition 0, bytes 4..8"];
    assert_eq!(run([nan, inf, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), made);
    assert_eq!(run([nan, 1.0, 1.0, nan, 1.0, 1.0, 1.0, 1.0]), [""; 0]);
}

#[test]
fn d14_the_write_guard_reports_every_nan_that_is_written() {
    let inf = vec![copy("a", all(&X), all(&S)), reciprocal("b", &S, &R)];
    is_silent(Check::NanWrite, inf);
    let nan = vec![
        copy("a", all(&S), all(&R)),
        copy("b", all(&R), all(&O)),
        inst("m", "Memset", "DVE", json!([]), json!([all(&I)]), json!({"mode": "Const", "constant": -1})),
    ];
    trips(
        Check::NanWrite,
        nan,
        &[
            "nan-write: a writes NaN in r: partition 0, bytes 0..4",
            "nan-write: b writes NaN in o: partition 0, bytes 0..4",
        ],
    );
    let mut c = copy("a", all(&S), all(&O));
    c["can_read_uninit"] = json!(true);
    is_silent(Check::NanWrite, vec![c]);
}

#[test]
fn d14_nan_is_a_value_unless_the_profile_makes_it_a_fault() {
    let nan = vec![copy("a", all(&S), all(&O))];
    let go = |value: &str| {
        let mut p = birsim_kernels::Profile::reference();
        p.set("nan_write", value).unwrap();
        loaded(Simulator::builder().profile(p), &module(storage(), nan.clone()))?.run().map(|_| ())
    };
    assert!(go("allow").is_ok());
    let e = go("fault").unwrap_err();
    assert_eq!(e.code(), Code::S017);
    assert!(e.to_string().contains("a writes NaN in o"), "{e}");
}

#[test]
fn d51_floating_point_exceptions_do_not_trap() {
    // Division by zero, overflow and invalid operations give their IEEE results; the check names the first one.
    let storage = || vec![X.record(), S.record(), R.record(), O.record(), I.record()];
    let list = || vec![copy("a", all(&X), all(&S)), reciprocal("b", &S, &R), copy("c", all(&R), all(&O))];
    let mut sim = loaded(Simulator::builder(), &module(storage(), list())).unwrap();
    bind(&mut sim, "x", &vec![0.0; (X.4 * X.5) as usize]);
    sim.run().unwrap();
    assert!(floats(&mut sim, "o").iter().all(|v| *v == f32::INFINITY));
    let mut sim = loaded(Simulator::builder().checks([Check::Nan]), &module(storage(), list())).unwrap();
    bind(&mut sim, "x", &vec![0.0; (X.4 * X.5) as usize]);
    let e = sim.run().unwrap_err();
    assert!(e.to_string().contains("b makes inf in r"), "{e}");
}

#[test]
fn descriptors_of_a_trigger_are_observed() {
    let mut m = module(
        storage(),
        vec![inst("t", "DMATrigger", "DMA", json!([]), json!([]), json!({"queue": "q0", "dma_blocks": ["b0"]}))],
    );
    let d = inst("d", "DMADescriptorCopy", "DMA", json!([all(&S)]), json!([all(&O)]), json!({}));
    m["queues"] = json!([{"name": "q0", "type": "DATA", "blocks": [{"name": "qb", "instructions": [
        {"name": "b0", "opcode": "DMABlock", "engine": "DMA", "ins": [], "outs": [], "dma_trigger": "t",
         "blocks": [{"name": "db", "instructions": [d]}]}]}]}]);
    let mut sim = loaded(Simulator::builder().checks([Check::Uninit]), &m).unwrap();
    let e = sim.run().unwrap_err();
    assert_eq!((e.code(), e.place().instruction.as_deref()), (Code::S017, Some("d")));
}

#[test]
fn fault_43_an_input_that_is_modified_is_told_unless_it_is_aliased() {
    let run = |alias: bool, list: Vec<Json>| {
        let mut records = storage();
        if alias {
            records[6]["memorylocations"][0]["alias"] = json!([["x", 1]]);
        }
        let mut sim = loaded(Simulator::builder(), &module(records, list)).unwrap();
        bind(&mut sim, "x", &[1.0; 8]);
        let s = sim.run().unwrap();
        let told = s.diagnostics.iter().filter(|d| d.code == Remark::InputModified);
        told.map(|d| d.message.clone()).collect::<Vec<_>>()
    };
    let keep = || copy("keep", all(&X), all(&S));
    // The same bits written back count: the next run may bind others.
    let list = || vec![keep(), copy("y", all(&S), all(&X)), copy("z", all(&S), all(&X))];
    assert_eq!(run(false, list()), ["input x was modified, first by y"]);
    let none: [&str; 0] = [];
    assert_eq!(run(false, vec![keep()]), none);
    assert_eq!(run(true, vec![keep(), copy("y", all(&S), all(&O))]), none);
}

#[test]
fn outputs_never_written_and_inputs_modified_are_always_told() {
    let mut sim = loaded(
        Simulator::builder(),
        &module(storage(), vec![copy("a", all(&X), all(&O)), copy("b", all(&O), all(&X))]),
    )
    .unwrap();
    bind(&mut sim, "x", &[0.0; 8]);
    let s = sim.run().unwrap();
    let told: Vec<_> = s.diagnostics.iter().map(|d| (d.code.name(), d.tensor.as_deref().unwrap())).collect();
    assert_eq!(told, [("input-modified", "x"), ("output-never-written", "q")]);
    assert_eq!(sim.place_of(&s.diagnostics[0]).instruction.as_deref(), Some("b"));
}
