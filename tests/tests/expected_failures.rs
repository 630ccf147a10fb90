//! Programs that must fail: each with the code, the text, the place and the value that a reader of the message needs.
//!
//! The programs are generated here; what they must say is reviewed text in `data/expected_failures.txt`, one line per
//! program. `BIRSIM_BLESS=1 cargo test -p birsim-tests --test expected_failures` writes that file anew for review.

#[path = "../../engine/tests/common/mod.rs"]
mod common;

use birsim_engine::{Builder, Check, Code, Error, Limits, Order, Simulator};
use common::*;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, HashSet};

const X: T = T("x", "ExternalInput", "DRAM", "float32", 4, 8);
const N: T = T("n", "ExternalInput", "DRAM", "int32", 4, 8);
const U: T = T("u", "ExternalInput", "DRAM", "uint32", 4, 8);
const S: T = T("s", "Internal", "SB", "float32", 4, 8);
const R: T = T("r", "Internal", "SB", "float32", 4, 8);
const W: T = T("w", "Internal", "SB", "float32", 4, 4);
const B: T = T("b", "Internal", "SB", "bfloat16", 4, 8);
const P: T = T("p", "Internal", "PSUM", "float32", 4, 8);
const O: T = T("o", "ExternalOutput", "DRAM", "float32", 4, 8);
const C: T = T("c", "ExternalInput", "SB", "float32", 4, 1);
const TENSORS: [&T; 10] = [&X, &N, &U, &S, &R, &W, &B, &P, &O, &C];

fn storage() -> Vec<Json> {
    TENSORS.iter().map(|t| t.record()).chain([register("k"), register("i")]).collect()
}

fn program(list: Vec<Json>) -> Json {
    module(storage(), list)
}

/// One failing program.
struct Row {
    id: String,
    module: Json,
    builder: Builder,
}

fn row(id: impl Into<String>, module: Json) -> Row {
    Row { id: id.into(), module, builder: Simulator::builder() }
}

fn with(id: &str, module: Json, builder: Builder) -> Row {
    Row { id: id.into(), module, builder }
}

fn imm(value: f64) -> Json {
    json!({"kind": "imm_value", "dtype": "float32", "value": value})
}

fn int(value: i64) -> Json {
    json!({"kind": "imm_value", "dtype": "int32", "value": value})
}

/// (opcode, engine, ins, outs, fields).
type Sample = (&'static str, &'static str, Vec<Json>, Vec<Json>, Json);

/// Valid instructions.
fn samples() -> Vec<Sample> {
    let alu = json!({"op0": "mult", "const0": 2.0, "reverse0": false, "op1": "add", "const1": 1.0, "reverse1": false});
    let ptr = json!({"op0": "mult", "reverse0": false, "op1": "bypass", "reverse1": false});
    let act = json!({"func": "Relu", "scale": 1.0, "alpha": 0.0, "acc": "Idle", "op0": "bypass", "op1": "bypass", "reduce_op": "add"});
    let row = |t: &T| part(t, 0, &[[8, 4], [1, 8]]);
    let one = |t: &T| part(t, 0, &[[8, 1], [1, 1]]);
    vec![
        ("Load", "DMA", vec![row(&X)], vec![row(&S)], json!({})),
        ("Save", "DMA", vec![row(&S)], vec![row(&O)], json!({})),
        ("DMACopy", "DMA", vec![row(&X)], vec![row(&O)], json!({})),
        ("TensorCopy", "DVE", vec![row(&S)], vec![row(&R)], json!({})),
        ("GenericCopy", "Pool", vec![row(&S)], vec![row(&R)], json!({})),
        ("AbstractCopy", "Activation", vec![row(&S)], vec![row(&R)], json!({})),
        ("Memset", "DVE", vec![], vec![row(&S)], json!({"mode": "Const", "constant": 0})),
        ("Iota", "Pool", vec![], vec![row(&S)], json!({"base": 0, "pattern": [[1, 8]]})),
        ("TensorScalar", "DVE", vec![row(&S)], vec![row(&R)], alu),
        ("TensorScalarPtr", "DVE", vec![row(&S), all(&C)], vec![row(&R)], ptr),
        ("TensorTensor", "DVE", vec![row(&S), row(&R)], vec![row(&S)], json!({"op": "add"})),
        ("Reciprocal", "DVE", vec![row(&S)], vec![row(&R)], json!({})),
        ("Activation", "Activation", vec![row(&S)], vec![row(&R)], act),
        ("Select", "DVE", vec![row(&U), row(&S), row(&R)], vec![row(&S)], json!({})),
        ("CopyPredicated", "DVE", vec![row(&U), row(&S)], vec![row(&R)], json!({})),
        (
            "TensorScalarAffineSelect",
            "Pool",
            vec![row(&S)],
            vec![row(&R)],
            json!({"base": 0, "pattern": [[1, 8]], "compare_op": "is_gt"}),
        ),
        ("Max", "DVE", vec![row(&S)], vec![row(&R)], json!({})),
        ("MatchReplace", "DVE", vec![row(&S), row(&R)], vec![row(&S)], json!({"imm_value": 0.0})),
        ("Matmult", "PE", vec![row(&S), all(&W)], vec![row(&P)], json!({"accumulation_flag": 1})),
        ("TensorLoad", "ALL", vec![one(&N)], vec![reg("k")], json!({})),
        ("TensorSave", "ALL", vec![reg("k")], vec![one(&N)], json!({})),
        (
            "CollectiveCompute",
            "Pool",
            vec![row(&X)],
            vec![row(&O)],
            json!({"kind": "AllReduce", "op": "add", "replica_groups": [[0]]}),
        ),
        ("CollectiveSend", "DMA", vec![row(&X)], vec![], json!({"peer_id": 0})),
        ("DevicePrint", "Pool", vec![row(&X)], vec![], json!({})),
        ("Gather", "Pool", vec![row(&S), row(&U)], vec![row(&R)], json!({})),
        ("TongaReduceMacroSymbolic", "DVE", vec![row(&S)], vec![row(&R)], json!({"op": "add"})),
        ("ReadVarAddr", "DMA", vec![row(&X)], vec![reg("k")], json!({})),
        ("TensorReduce", "DVE", vec![row(&S)], vec![all(&C)], json!({"op": "add", "axis": "X"})),
        ("Exponential", "Activation", vec![row(&S)], vec![row(&R)], json!({"reduce_cmd": "Idle"})),
        ("MaxIndex", "DVE", vec![row(&R), row(&S)], vec![row(&U)], json!({})),
        (
            "RangeSelect",
            "DVE",
            vec![row(&S), all(&C), all(&C)],
            vec![row(&R)],
            json!({"compare_op0": "is_ge", "compare_op1": "is_lt"}),
        ),
        ("IndirectLoad", "DMA", vec![row(&X), part(&U, 0, &[[8, 4], [1, 1]])], vec![row(&S)], json!({})),
        ("IndirectSave", "DMA", vec![row(&S), part(&U, 0, &[[8, 4], [1, 1]])], vec![row(&O)], json!({})),
        ("StreamTranspose", "DVE", vec![row(&S)], vec![row(&R)], json!({})),
        ("TensorCopyDynamicSrc", "Pool", vec![row(&S), reg("k")], vec![row(&R)], json!({"scale": 1})),
    ]
}

/// Every tensor operand of every sample, one element too far.
fn out_of_bounds(rows: &mut Vec<Row>) {
    for (opcode, engine, ins, outs, fields) in samples() {
        for (role, n) in [("ins", ins.len()), ("outs", outs.len())] {
            for k in 0..n {
                let (mut a, mut b) = (ins.clone(), outs.clone());
                let operand = if role == "ins" { &mut a[k] } else { &mut b[k] };
                if operand["kind"] != "physical_ap" {
                    continue;
                }
                operand["offset"] = json!(32);
                let i = inst("bad", opcode, engine, json!(a), json!(b), fields.clone());
                rows.push(row(format!("bounds {opcode} {role}[{k}]"), program(vec![i])));
            }
        }
    }
}

/// An output of half the elements.
fn shapes(rows: &mut Vec<Row>) {
    // Tables and sums take other counts; the register form writes one element.
    let takes_any = ["TensorSave", "IndirectLoad", "IndirectSave", "TensorReduce"];
    for (opcode, engine, ins, mut outs, fields) in samples() {
        if ins.is_empty() || outs.is_empty() || outs[0]["kind"] != "physical_ap" || takes_any.contains(&opcode) {
            continue;
        }
        outs[0]["ap"] = json!([[8, 4], [1, 3]]);
        rows.push(row(
            format!("shape {opcode}"),
            program(vec![inst("bad", opcode, engine, json!(ins), json!(outs), fields)]),
        ));
    }
}

fn wait(id: u32, mode: &str, value: u32) -> Json {
    let kind = if mode.starts_with("evt") { "event" } else { "semaphore" };
    json!({"type": kind, "id": id, "wait_mode": mode, "wait_value": value})
}

fn update(id: u32, mode: &str, value: u32) -> Json {
    let kind = if mode.starts_with("evt") { "event" } else { "semaphore" };
    json!({"type": kind, "id": id, "update_mode": mode, "update_value": value})
}

fn synced(name: &str, engine: &str, waits: Vec<Json>, updates: Vec<Json>) -> Json {
    inst(name, "NoOp", engine, json!([]), json!([]), json!({"sync_info": {"on_wait": waits, "on_update": updates}}))
}

fn protocol(rows: &mut Vec<Row>) {
    rows.push(row("deadlock", program(vec![synced("a", "PE", vec![wait(3, "sem-ge-imm", 1)], vec![])])));
    rows.push(row(
        "deadlock circle",
        program(vec![
            synced("a", "PE", vec![wait(3, "sem-ge-imm", 1)], vec![update(4, "sem-inc", 1)]),
            synced("b", "DVE", vec![wait(4, "sem-ge-imm", 1)], vec![update(3, "sem-inc", 1)]),
        ]),
    ));
    let set = || vec![update(7, "evt-set", 1)];
    rows.push(row(
        "event set twice",
        program(vec![synced("a", "PE", vec![], set()), synced("b", "PE", vec![], set())]),
    ));
    rows.push(row("event left set", program(vec![synced("a", "PE", vec![], set())])));
    rows.push(with(
        "semaphore left",
        program(vec![synced("a", "PE", vec![], vec![update(9, "sem-add-imm", 2)])]),
        Simulator::builder().strict(true),
    ));
    rows.push(row("semaphore inc by two", program(vec![synced("a", "PE", vec![], vec![update(9, "sem-inc", 2)])])));
    rows.push(row("semaphore waits like an event", {
        let mut w = wait(9, "evt-set-clear", 1);
        w["type"] = json!("semaphore");
        program(vec![synced("a", "PE", vec![w], vec![])])
    }));
    let mut unassigned = synced("a", "Unassigned", vec![], vec![update(9, "sem-inc", 1)]);
    unassigned["engine"] = json!("Unassigned");
    rows.push(row("no engine", program(vec![unassigned])));
}

fn loop_over(name: &str, opcode: &str, axis: Json, body: Vec<Json>) -> Json {
    let key = if opcode == "Loop" { "LoopAxis" } else { "DynamicForLoopAxis" };
    json!({"name": name, "opcode": opcode, "engine": "ALL", "ins": [], "outs": [], key: axis,
        "blocks": [{"name": format!("{name}-body"), "instructions": body}]})
}

fn register_value(name: &str) -> Json {
    json!({"kind": "IntRuntimeValueKind", "regref": name})
}

fn control(rows: &mut Vec<Row>) {
    let axis = |ub: Json| json!({"name": "i", "lb": 0, "ub": ub, "stride": 1});
    let write = inst("w", "RegisterMove", "ALL", json!([int(5)]), json!([reg("i")]), json!({}));
    rows.push(row("induction written", program(vec![loop_over("l", "Loop", axis(json!(2)), vec![write])])));
    let two = json!({"kind": "AffExprKind", "c": 0, "terms": [{"idx": register_value("k"), "coeff": 1}, {"idx": register_value("i"), "coeff": 1}]});
    rows.push(row("bound of two registers", program(vec![loop_over("l", "DynamicForLoop", axis(two), vec![])])));
    let one = inst("one", "RegisterMove", "ALL", json!([int(1)]), json!([reg("k")]), json!({}));
    let forever = json!({"name": "d", "opcode": "DoWhile", "engine": "ALL", "ins": [], "outs": [],
        "cond": register_value("k"), "blocks": [{"name": "body", "instructions": []}]});
    let limits = Limits { max_instructions: Some(1000), ..Limits::default() };
    rows.push(with("loop that never ends", program(vec![one, forever]), Simulator::builder().limits(limits)));
    let limits = Limits { max_memory: Some(16), ..Limits::default() };
    let copy = inst("c", "DMACopy", "DMA", json!([all(&X)]), json!([all(&O)]), json!({}));
    rows.push(with("memory limit", program(vec![copy.clone()]), Simulator::builder().limits(limits)));

    let call = |name: &str, target: &str| inst(name, "Call", "ALL", json!([]), json!([]), json!({"target": target}));
    let mut nested = program(vec![call("outer", "f")]);
    let function = |name: &str, list: Vec<Json>| json!({"name": name, "attributes": {}, "allocations": [], "blocks": [{"name": "B", "instructions": list}]});
    nested["functions"]
        .as_array_mut()
        .unwrap()
        .extend([function("f", vec![call("inner", "g")]), function("g", vec![])]);
    rows.push(row("call in a call", nested));
    let mut wrong = reg("k");
    wrong["dtype"] = json!("int64");
    let branch = |a: Json, op: &str| {
        inst(
            "br",
            "CompareAndBranch",
            "ALL",
            json!([a, int(1)]),
            json!([]),
            json!({"comp_op": op, "on_true": "Block1", "on_false": "Block1"}),
        )
    };
    rows.push(row("branch on a wide register", program(vec![branch(wrong, "IS_LTIMM")])));
    rows.push(row("branch comparison unsupported", program(vec![branch(reg("k"), "Unsupported")])));
    let stray = inst("t", "InlineASMBytes", "Pool", json!([]), json!([]), json!({}));
    rows.push(with(
        "skipped opcode is an error",
        program(vec![stray]),
        Simulator::builder().unsupported_is_error(true),
    ));
    let mut v5 = program(vec![]);
    v5["arch"] = json!("core_v5");
    rows.push(row("architecture without sizes", v5));
}

fn contracts(rows: &mut Vec<Row>) {
    let mut add = |id: &str, opcode: &str, engine: &str, ins: Json, outs: Json, fields: Json| {
        rows.push(row(id, program(vec![inst("bad", opcode, engine, ins, outs, fields)])));
    };
    let scalar = |op0: &str, op1: &str| json!({"op0": op0, "const0": 1.0, "reverse0": false, "op1": op1, "const1": 1.0, "reverse1": false});
    for op in ["mod", "mod_int"] {
        add(
            &format!("float map lacks {op}"),
            "TensorScalar",
            "DVE",
            json!([all(&S)]),
            json!([all(&R)]),
            scalar(op, "bypass"),
        );
    }
    let fraction = json!({"op0": "bitwise_and", "const0": 1.5, "reverse0": false, "op1": "bypass", "const1": 0.0, "reverse1": false});
    add("fraction on the bit path", "TensorScalar", "DVE", json!([all(&N)]), json!([all(&N)]), fraction);
    add("bits of floats", "TensorTensor", "DVE", json!([all(&S), all(&R)]), json!([all(&R)]), json!({"op": "mod"}));
    add(
        "reduce with mod",
        "TensorReduce",
        "DVE",
        json!([all(&S)]),
        json!([all(&C)]),
        json!({"op": "mod", "axis": "X"}),
    );
    add(
        "collective reduces by product",
        "CollectiveCompute",
        "Pool",
        json!([all(&X)]),
        json!([all(&O)]),
        json!({"kind": "AllReduce", "op": "mult"}),
    );
    add("copy accumulates by maximum", "DMACopy", "DMA", json!([all(&X)]), json!([all(&O)]), json!({"cce_op": "max"}));
    add("register power", "RegisterAlu", "ALL", json!([reg("k"), int(2)]), json!([reg("k")]), json!({"op": "pow"}));
    let mm = |flag: i64| json!({"accumulation_flag": flag});
    add("accumulation flag 5", "Matmult", "PE", json!([all(&S), all(&W)]), json!([all(&P)]), mm(5));
    add("matmul to SBUF", "Matmult", "PE", json!([all(&S), all(&W)]), json!([all(&R)]), mm(1));
    add("matmul of integers", "Matmult", "PE", json!([all(&N), all(&W)]), json!([all(&P)]), mm(1));
    add(
        "matmul of different partitions",
        "Matmult",
        "PE",
        json!([part(&S, 0, &[[8, 3], [1, 8]]), all(&W)]),
        json!([all(&P)]),
        mm(1),
    );
    add(
        "zero region of 16 banks",
        "Matmult",
        "PE",
        json!([all(&S), all(&W)]),
        json!([all(&P)]),
        json!({"accumulation_flag": 1, "psum_zero_region": 4}),
    );
    add(
        "sparse matmul",
        "MatmultSparse",
        "PE",
        json!([all(&S), all(&W), all(&U)]),
        json!([all(&P)]),
        json!({"accumulation_flag": 1, "compress_ratio": 4}),
    );
    add(
        "partition broadcast",
        "TensorTensor",
        "DVE",
        json!([part(&S, 0, &[[8, 1], [1, 8]]), all(&R)]),
        json!([all(&R)]),
        json!({"op": "add"}),
    );
    add(
        "two elements into a register",
        "TensorLoad",
        "ALL",
        json!([part(&N, 0, &[[8, 1], [1, 2]])]),
        json!([reg("k")]),
        json!({}),
    );
    add(
        "register into two elements",
        "TensorSave",
        "ALL",
        json!([reg("k")]),
        json!([part(&N, 0, &[[8, 1], [1, 2]])]),
        json!({}),
    );
    add("negative function set", "LoadActFuncSet", "Activation", json!([]), json!([]), json!({"act_func_set_id": -1}));
    add("eight of six", "Max", "DVE", json!([part(&S, 0, &[[8, 4], [1, 6]])]), json!([all(&R)]), json!({}));
    add("nothing was sent", "CollectiveRecv", "DMA", json!([]), json!([all(&O)]), json!({"peer_id": 0}));
    add("no peer to send to", "CollectiveSend", "DMA", json!([all(&X)]), json!([]), json!({"peer_id": 3}));
    add("no partner core", "GPSIMDSB2SB", "Pool", json!([all(&S)]), json!([all(&R)]), json!({}));
    add(
        "gather of ranks",
        "CollectiveCompute",
        "Pool",
        json!([all(&X)]),
        json!([all(&O)]),
        json!({"kind": "AllGather", "replica_groups": [[0, 1]]}),
    );
    add(
        "rank in no group",
        "GetCurProcessingRankID",
        "ALL",
        json!([]),
        json!([reg("k")]),
        json!({"channel_id": 0, "replica_groups": [[4]]}),
    );
    add("external kernel", "CustomOp", "Pool", json!([all(&S)]), json!([all(&R)]), json!({"opFunctionName": "relu"}));
    add(
        "external BIR kernel",
        "BIRKernel",
        "ALL",
        json!([all(&S)]),
        json!([all(&R)]),
        json!({"kernel_name": "attention"}),
    );
    add(
        "random state of two words",
        "SetRandState",
        "Pool",
        json!([part(&U, 0, &[[8, 4], [1, 2]])]),
        json!([]),
        json!({}),
    );
    add(
        "random state of floats",
        "GetRandState",
        "Pool",
        json!([]),
        json!([part(&B, 0, &[[8, 4], [1, 6]])]),
        json!({}),
    );
    add(
        "shuffle of four partitions",
        "StreamShuffle",
        "DVE",
        json!([all(&S)]),
        json!([all(&R)]),
        json!({"mask": [0, 1]}),
    );
    add(
        "dropout of nothing",
        "Dropout",
        "DVE",
        json!([all(&S), imm(2.0), part(&U, 0, &[[8, 4], [1, 3]])]),
        json!([all(&R)]),
        json!({}),
    );
    add(
        "index past the table",
        "IndirectLoad",
        "DMA",
        json!([all(&X), part(&N, 0, &[[8, 4], [1, 1]])]),
        json!([all(&S)]),
        json!({}),
    );
    add(
        "float indices",
        "IndirectLoad",
        "DMA",
        json!([all(&X), part(&S, 0, &[[8, 4], [1, 1]])]),
        json!([all(&R)]),
        json!({}),
    );
    add("index past the row", "Gather", "Pool", json!([all(&S), all(&N)]), json!([all(&R)]), json!({}));
    add("stream transpose casts", "StreamTranspose", "DVE", json!([all(&S)]), json!([all(&B)]), json!({}));
    add(
        "indices that do not divide the data",
        "IndirectSave",
        "DMA",
        json!([all(&S), part(&U, 0, &[[8, 4], [1, 3]])]),
        json!([all(&O)]),
        json!({}),
    );
    add(
        "activation stage without the op",
        "Activation",
        "Activation",
        json!([all(&S)]),
        json!([all(&R)]),
        json!({"func": "Relu", "scale": 1.0, "alpha": 0.0, "acc": "Idle", "op0": "mod", "op1": "bypass", "reduce_op": "add", "is_activate2": true}),
    );
}

fn memory(rows: &mut Vec<Row>) {
    let wide = T("q", "Internal", "PSUM", "float32", 4, 1024);
    let mut list = storage();
    list.push(wide.record());
    let copy = inst("bad", "DMACopy", "DMA", json!([all(&wide)]), json!([all(&wide)]), json!({}));
    rows.push(row("two banks of PSUM", module(list, vec![copy])));
    let by_register = json!({"kind": "register_ap", "dtype": "float32", "memsetref": "x_set", "memref": "x", "ap": [[8, 4], [1, 8]],
        "reg_ap_offset": "k", "const_ap_offset": 0, "is_regloc_offset": false, "const_sub_tensor_id": -1});
    let i = inst("bad", "TensorCopy", "DVE", json!([by_register]), json!([all(&S)]), json!({}));
    rows.push(row("DRAM through a register", program(vec![i])));
    let mut big = T("big", "Internal", "SB", "uint8", 128, 300_000).record();
    big["memorylocations"][0]["allocated"] = json!(true);
    rows.push(row("SBUF overflow", module(vec![big], vec![])));
    let read = inst("bad", "DMACopy", "DMA", json!([all(&S)]), json!([all(&O)]), json!({}));
    rows.push(with("unwritten memory is read", program(vec![read]), Simulator::builder().checks([Check::Uninit])));
    let kernel = inst("bad", "CustomOp", "Pool", json!([all(&S)]), json!([all(&R)]), json!({"opFunctionName": "relu"}));
    let builder = Simulator::builder().external_kernels("/nonexistent/kernel_sim");
    rows.push(with("external kernel without a program", program(vec![kernel]), builder));
    rows.push(with("unknown dump", program(vec![]), Simulator::builder().dump("nobody", "bad")));
}

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    out_of_bounds(&mut rows);
    shapes(&mut rows);
    protocol(&mut rows);
    control(&mut rows);
    contracts(&mut rows);
    memory(&mut rows);
    rows
}

fn execute(r: &Row) -> Result<(), Error> {
    // List order unless the program is about synchronisation.
    let mut sim = loaded(r.builder.clone().order(Order::Auto), &r.module)?;
    // Everything is 1, except for indices, which are too large.
    for (name, value) in [("x", 1.0f32.to_bits()), ("u", 1), ("n", 99)] {
        if sim.tensors().iter().any(|t| t.name == name) {
            let bytes: Vec<u8> = (0..32).flat_map(|_| value.to_le_bytes()).collect();
            sim.bind(name, &bytes)?;
        }
    }
    sim.run().map(|_| ())
}

fn summary(e: &Error) -> String {
    format!("{}: {} | {} | {}", e.code().id(), e.what(), e.place(), e.received_value().unwrap_or("-"))
        .replace('\n', " ")
}

#[test]
fn failures_say_what_is_reviewed() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/data/expected_failures.txt");
    let mut lines = Vec::new();
    let (mut pairs, mut ids, mut codes) = (HashSet::new(), HashSet::new(), HashSet::new());
    let mut wrong = Vec::new();
    for r in rows() {
        assert!(ids.insert(r.id.clone()), "{} is listed twice", r.id);
        match execute(&r) {
            Ok(()) => wrong.push(format!("{}: no error", r.id)),
            Err(e) => {
                let p = e.place();
                let place = (p.opcode.clone(), p.operand.clone(), p.tensor.clone(), e.what().to_string());
                if !pairs.insert((e.code(), place)) {
                    wrong.push(format!("{}: says the same as another: {}", r.id, summary(&e)));
                }
                if e.class() == birsim_engine::Class::Bug {
                    wrong.push(format!("{}: {e}", r.id));
                }
                codes.insert(e.code());
                lines.push(format!("{} => {}", r.id, summary(&e)));
            }
        }
    }
    if std::env::var_os("BIRSIM_BLESS").is_some() {
        std::fs::write(path, lines.join("\n") + "\n").unwrap();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let text = std::fs::read_to_string(path).unwrap();
    let reviewed: BTreeMap<&str, &str> = text.lines().filter_map(|l| l.split_once(" => ")).collect();
    for line in &lines {
        let (id, said) = line.split_once(" => ").unwrap();
        assert_eq!(Some(&said), reviewed.get(id), "{id}");
    }
    assert_eq!(lines.len(), reviewed.len(), "the reviewed file has lines of programs that are gone");
    // Every fault and every unsupported case of the machine; S011 is reserved, the text codes are tested by the readers.
    let machine = Code::ALL.iter().filter(|c| matches!(c.id().as_bytes()[0], b'S' | b'U'));
    let missing: Vec<_> = machine.filter(|c| **c != Code::S011 && !codes.contains(*c)).collect();
    assert!(missing.is_empty(), "no program reaches {missing:?}");
}
