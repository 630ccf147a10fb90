//! Programs that once ran to a wrong result or stopped the simulator: each must be refused, or be right.

mod common;

use birsim_engine::{Code, Error, Limits, Simulator};
use common::*;
use serde_json::{Value as Json, json};

const X: T = T("x", "ExternalInput", "DRAM", "float32", 4, 8);
const A: T = T("a", "Internal", "DRAM", "float32", 4, 8);
const B: T = T("b", "Internal", "DRAM", "float32", 4, 8);
const C: T = T("c", "Internal", "DRAM", "float32", 4, 8);
const S: T = T("s", "Internal", "SB", "float32", 4, 8);
const W: T = T("w", "Internal", "SB", "float32", 1, 32);
const O: T = T("o", "ExternalOutput", "DRAM", "float32", 4, 8);
const F: T = T("f", "Internal", "SB", "float32", 4, 8);

fn copy(name: &str, from: Json, to: Json) -> Json {
    inst(name, "DMACopy", "DMA", json!([from]), json!([to]), json!({"mode": "Copy"}))
}

fn aliased(t: &T, targets: &[&str]) -> Json {
    let mut r = t.record();
    r["memorylocations"][0]["alias"] = targets.iter().map(|n| json!([n, 3])).collect();
    r
}

fn outcome(module: &Json) -> Result<Vec<f32>, Error> {
    let mut sim = loaded(Simulator::builder(), module)?;
    bind(&mut sim, "x", &[1.5; 32]);
    sim.run()?;
    Ok(floats(&mut sim, "o"))
}

fn refused(module: &Json, code: Code, what: &str, got: &str) {
    let e = outcome(module).unwrap_err();
    assert_eq!((e.code(), e.what(), e.received_value().unwrap_or("")), (code, what, got));
}

#[test]
fn chains_of_aliases_are_one_memory_in_any_order_of_declaration() {
    let chain = [aliased(&A, &["b"]), aliased(&B, &["c"]), C.record()];
    let program = |from: &T| vec![copy("w", all(&X), all(from)), copy("r", all(&A), all(&O))];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let list = [X.record(), O.record()].into_iter().chain(order.map(|k| chain[k].clone())).collect();
        assert_eq!(outcome(&module(list, program(&C))).unwrap(), [1.5; 32], "{order:?}");
    }
    let mutual = vec![X.record(), aliased(&A, &["b"]), aliased(&B, &["a"]), O.record()];
    assert_eq!(outcome(&module(mutual, program(&B))).unwrap(), [1.5; 32]);
}

#[test]
fn aliases_that_do_not_fit_or_contradict_each_other_are_refused() {
    let program = || vec![copy("w", all(&X), all(&O))];
    let with = |list: Vec<Json>| module([vec![X.record(), O.record()], list].concat(), program());
    let fit = "an alias does not fit into the memory it names";
    refused(&with(vec![aliased(&S, &["w"]), W.record()]), Code::J013, fit, "SB 4 x 32 bytes onto SB 1 x 128 bytes");
    refused(&with(vec![aliased(&A, &["s"]), S.record()]), Code::J013, fit, "DRAM 4 x 32 bytes onto SB 4 x 32 bytes");
    let two = "an alias names two different memories";
    refused(&with(vec![aliased(&A, &["b", "x"]), B.record()]), Code::J013, two, "b and x");
}

#[test]
fn a_call_binds_every_formal_argument() {
    let fields = json!({"target": "callee", "argumments": {"f_set": "s_set"}});
    let call = inst("call", "Call", "ALL", json!([]), json!([]), fields);
    let mut m = module(vec![X.record(), O.record(), S.record()], vec![copy("in", all(&X), all(&S)), call]);
    let body = inst("twice", "TensorTensor", "DVE", json!([all(&F), all(&F)]), json!([all(&F)]), json!({"op": "add"}));
    m["functions"].as_array_mut().unwrap().push(json!({"name": "callee", "attributes": {}, "arguments": ["f_set"],
        "allocations": [F.record()], "blocks": [{"name": "Block1", "instructions": [body]}]}));
    refused(&m, Code::J009, "the call of callee leaves formal arguments unbound", "f_set");
}

#[test]
fn binary_register_operations_need_both_operands() {
    let program = |op: &str| {
        let alu = inst("alu", "RegisterAlu", "ALL", json!([reg("k")]), json!([reg("k")]), json!({"op": op}));
        module(vec![register("k"), X.record(), O.record()], vec![alu, copy("w", all(&X), all(&O))])
    };
    refused(&program("subtract"), Code::J009, "the operand is a register or an immediate", "");
    outcome(&program("bitwise_not")).unwrap();
}

#[test]
fn patterns_without_elements_do_nothing() {
    let imm = |v: f64| json!({"kind": "imm_value", "dtype": "float32", "value": v});
    let none = part(&S, 0, &[[8, 4], [1, 0]]);
    for (opcode, ins, fields) in [
        ("Rand2", json!([imm(0.0), imm(1.0)]), json!({})),
        ("Memset", json!([]), json!({"mode": "Random", "constant": 0})),
        ("Memset", json!([]), json!({"mode": "Const", "constant": 0})),
    ] {
        let empty = inst("empty", opcode, "Pool", ins, json!([none]), fields);
        let program = vec![copy("s", all(&X), all(&S)), empty, copy("w", all(&S), all(&O))];
        let m = module(vec![X.record(), S.record(), O.record()], program);
        assert_eq!(outcome(&m).unwrap(), [1.5; 32], "{opcode}");
    }
}

#[test]
fn the_private_copy_of_an_operand_counts_against_the_memory_limit() {
    let wide = part(&S, 0, &[[8, 4], [0, 1 << 20], [1, 8]]);
    let repeat = inst("t", "TensorCopy", "DVE", json!([wide]), json!([wide]), json!({}));
    let program = vec![copy("s", all(&X), all(&S)), repeat, copy("w", all(&S), all(&O))];
    let m = module(vec![X.record(), S.record(), O.record()], program);
    let limits = Limits { max_memory: Some(1 << 20), ..Limits::default() };
    let mut sim = loaded(Simulator::builder().limits(limits), &m).unwrap();
    bind(&mut sim, "x", &[1.5; 32]);
    let e = sim.run().unwrap_err();
    assert_eq!((e.code(), e.received_value()), (Code::S009, Some("134217728 bytes")));
}

#[test]
fn flags_of_a_legacy_matmul_are_flags() {
    let k = T("k", "ExternalInput", "SB", "float32", 4, 8);
    let p = T("p", "Internal", "PSUM", "float32", 8, 8);
    for (flag, fine) in [(json!(true), true), (json!(1), true), (json!("true"), false), (json!(2), false)] {
        let fields = json!({"start_tensor_calc": flag, "stop_tensor_calc": true});
        let mm = inst("mm", "Matmult", "PE", json!([all(&k), all(&k)]), json!([all(&p)]), fields);
        let m = module(vec![X.record(), O.record(), k.record(), p.record()], vec![mm]);
        match (loaded(Simulator::builder(), &m), fine) {
            (Ok(_), true) => {}
            (Err(e), false) => {
                let place = e.place().operand.clone();
                assert_eq!(
                    (e.code(), e.what(), place.as_deref()),
                    (Code::J002, "expected true or false", Some("start_tensor_calc"))
                );
            }
            (r, _) => panic!("{flag}: {:?}", r.err()),
        }
    }
}

#[test]
fn keys_that_look_misspelt_are_named() {
    let mut add = inst("add", "TensorTensor", "DVE", json!([all(&S), all(&S)]), json!([all(&S)]), json!({"op": "add"}));
    add["ins"][0]["ofset"] = json!(4);
    add["sync_inof"] = json!({});
    add["sync_info"] = json!({"on_wiat": [], "on_wait": [{"type": "semaphore", "id": 1, "wait_mode": "sem-ge-imm",
        "wait_vlaue": 2}]});
    add["colour_of_the_sky"] = json!("blue");
    let m = module(vec![S.record()], vec![add]);
    let read = birsim_engine::format::read(m.to_string().as_bytes()).unwrap();
    let said = |place: &str, key: &str, meant: &str| {
        format!("add (TensorTensor){place}: the key '{key}' is unknown and ignored; did you mean '{meant}'?")
    };
    let want = [
        said("", "sync_inof", "sync_info"),
        said(", ins[0]", "ofset", "offset"),
        said(", sync_info", "on_wiat", "on_wait"),
        said(", on_wait", "wait_vlaue", "wait_value"),
    ];
    assert_eq!(birsim_engine::ir::spelling::misspelt(&read), want);
}
