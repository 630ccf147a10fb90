//! How instructions are routed (`opcodes.md` 1).

#[path = "../../engine/tests/common/mod.rs"]
mod common;

use birsim_engine::ir::Opcode;
use birsim_engine::ir::table::RouteClass;
use birsim_engine::{Code, IssueOrder, Remark, Severity, Simulator, TraceSink};
use common::*;
use serde_json::{Value as Json, json};
use std::sync::{Arc, Mutex};

const S: T = T("s", "Internal", "SB", "float32", 1, 1);
const O: T = T("o", "ExternalOutput", "DRAM", "float32", 1, 1);

fn bare(name: &str, opcode: &str, engine: &str, fields: Json) -> Json {
    inst(name, opcode, engine, json!([]), json!([]), fields)
}

fn fill(name: &str) -> Json {
    inst(name, "Memset", "DVE", json!([]), json!([all(&S)]), json!({"mode": "Const", "constant": 0x3F80_0000}))
}

/// The opcodes that are skipped as the reference skips them, each as small as it can be. NonzeroWithCount, the fifth that
/// the reference skips, is executed (fidelity `extension`).
fn skipped() -> Vec<Json> {
    let (s, o) = (json!([all(&S)]), json!([all(&S)]));
    vec![
        inst("a", "GenericRelu", "Pool", s, o.clone(), json!({})),
        bare("b", "NKIKLIRKernel", "ALL", json!({"klir_binary": "k.klr"})),
        bare("c", "InlineASMBytes", "Pool", json!({"asm_bytes": "00"})),
        inst("d", "Rng", "Pool", json!([]), o, json!({})),
    ]
}

#[test]
fn what_the_reference_skips_is_a_warning_in_the_report() {
    let all: Vec<&str> = Opcode::all().filter(|o| o.row().class == RouteClass::Skipped).map(Opcode::name).collect();
    let own = ["GenericRelu", "NKIKLIRKernel", "InlineASMBytes", "Rng"];
    assert_eq!(all, [&own[..], &["NonzeroWithCount"]].concat());
    let mut list = skipped();
    list.push(skipped().remove(2));
    list[4]["name"] = json!("e");
    let m = module(vec![S.record(), O.record()], [vec![fill("fill")], list].concat());
    for schedule in [IssueOrder::Window, IssueOrder::Reference] {
        let mut sim = loaded(Simulator::builder().schedule(schedule), &m).unwrap();
        let summary = sim.run().unwrap();
        let counts: Vec<(&str, u64)> = summary.skipped().into_iter().map(|(o, n)| (o.name(), n)).collect();
        assert_eq!(counts, own.map(|n| (n, if n == "InlineASMBytes" { 2 } else { 1 })));
        let told: Vec<_> = summary.diagnostics.iter().filter(|d| d.code == Remark::Skipped).collect();
        assert_eq!(told.len(), 5);
        assert!(told.iter().all(|d| d.severity == Severity::Warning));
        assert_eq!(told[0].message, "GenericRelu is skipped, as the reference simulator does");
        // Nothing was done to its output.
        assert_eq!(floats(&mut sim, "s"), [1.0]);
    }
}

#[test]
fn what_the_reference_skips_is_an_error_when_asked_for() {
    for i in skipped() {
        let m = module(vec![S.record()], vec![fill("fill"), i.clone()]);
        let mut sim = loaded(Simulator::builder().unsupported_is_error(true), &m).unwrap();
        let e = sim.run().unwrap_err();
        assert_eq!(e.code(), Code::U001, "{e}");
        assert_eq!(e.class().exit_code(), 4);
        assert_eq!(e.place().instruction.as_deref(), i["name"].as_str());
    }
}

#[test]
fn abstract_types_are_invalid_input() {
    let all: Vec<Opcode> = Opcode::all().filter(|o| o.row().class == RouteClass::Abstract).collect();
    assert_eq!(all.len(), 6);
    for opcode in all {
        let e = loaded(Simulator::builder(), &module(vec![], vec![bare("a", opcode.name(), "Pool", json!({}))]));
        let e = e.err().unwrap();
        assert_eq!((e.code(), e.class().exit_code()), (Code::J010, 2), "{opcode}");
    }
}

#[test]
fn control_flow_comes_before_the_hooks_and_kernels_between_them() {
    let rows = Arc::new(Mutex::new(Vec::new()));
    let to = Arc::clone(&rows);
    let sink = TraceSink::new(move |r| to.lock().unwrap().push(r.instruction.to_string()));
    let axis = json!({"name": "i", "lb": 0, "ub": 2, "stride": 1});
    let l = json!({"name": "loop", "opcode": "Loop", "engine": "ALL", "ins": [], "outs": [], "LoopAxis": axis,
        "blocks": [{"name": "body", "instructions": [fill("inner")]}]});
    let list = vec![fill("first"), l, fill("last")];
    let m = module(vec![S.record()], list);
    let mut sim = loaded(Simulator::builder().trace(sink).dump("s", "inner#2"), &m).unwrap();
    let summary = sim.run().unwrap();
    // The loop itself is counted but never seen by an observer; its body is, once per trip.
    assert_eq!(*rows.lock().unwrap(), ["first", "inner", "inner", "last"]);
    assert_eq!(summary.stats.instructions, 5);
    // A dump is taken after its instruction.
    assert_eq!(sim.dumps()[0].bytes, 1.0f32.to_le_bytes());
}
