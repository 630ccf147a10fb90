//! What errors tell: the words of the mistake, and a hint that leads somewhere.

mod common;

use common::*;
use serde_json::{Value, json};

fn tensor(name: &str, ty: &str, kind: &str, [rows, columns]: [i64; 2]) -> Value {
    let location = json!({"Skind": "memory_location", "name": name, "type": ty, "dims": [rows, columns * 4], "addr": 0,
        "base": 0, "bank": 0, "allocated": false, "tensor_id": 0});
    json!({"Skind": "memory_location_set", "name": format!("{name}_set"), "kind": kind, "dtype": "float32",
        "tensor_shape": [rows, columns], "partition_dim": 0, "addr_space": "Local", "memorylocations": [location]})
}

fn pattern(name: &str, [rows, columns]: [i64; 2], pitch: i64) -> Value {
    json!({"kind": "physical_ap", "dtype": "float32", "memref": name, "offset": 0, "ap": [[pitch, rows], [1, columns]]})
}

/// outs[0] = weights^T x moving, with operands in the order given.
fn product(order: [&str; 2], moving: [i64; 2], out: [i64; 2]) -> Value {
    let sizes = |name: &str| if name == "x" { moving } else { [128, 64] };
    let ins: Vec<Value> = order.iter().map(|n| pattern(n, sizes(n), sizes(n)[1])).collect();
    let tensors = [
        tensor("x", "SB", "ExternalInput", moving),
        tensor("w", "SB", "ExternalInput", [128, 64]),
        tensor("p", "PSUM", "ExternalOutput", [64, out[1].min(512)]),
    ];
    let mm = json!({"name": "mm", "opcode": "Matmult", "engine": "PE", "ins": ins,
        "outs": [pattern("p", out, out[1].min(512))]});
    json!({"version": 2, "arch": "gen3", "attributes": {}, "queues": [], "functions": [{"name": "main", "attributes": {},
        "allocations": tensors, "blocks": [{"name": "B", "instructions": [mm]}]}]})
}

#[test]
fn item_15_a_matmul_of_513_columns_says_so() {
    let s = Sandbox::new();
    s.write("p.json", product(["x", "w"], [128, 513], [64, 513]).to_string());
    let ran = s.birsim(&["run", "p.json", "--random-inputs", "1"]);
    ran.exits(3).says("BIR-S008", "a matmul has at most 512 moving columns");
    assert!(ran.stderr.contains("513 (ins[0] 128 x 513, ins[1] 128 x 64, outs[0] 64 x 513)"), "{}", ran.stderr);
}

#[test]
fn item_15_swapped_operands_of_a_matmul_are_called_swapped() {
    let s = Sandbox::new();
    for columns in [100, 256] {
        s.write("p.json", product(["w", "x"], [128, columns], [64, columns]).to_string());
        let ran = s.birsim(&["run", "p.json", "--random-inputs", "1"]);
        ran.exits(3).says("BIR-S002", "the operands of the matmul are swapped: ins[0] is the moving matrix");
        s.write("p.json", product(["x", "w"], [128, columns], [64, columns]).to_string());
        s.birsim(&["run", "p.json", "--random-inputs", "1"]).exits(0);
    }
}

#[test]
fn item_14_a_missing_key_comes_with_what_it_accepts() {
    let s = Sandbox::new();
    let good = product(["x", "w"], [128, 100], [64, 100]);
    let without = |at: &str, key: &str| {
        let mut m = good.clone();
        m.pointer_mut(at).unwrap().as_object_mut().unwrap().remove(key).unwrap();
        s.write("p.json", m.to_string());
        s.birsim(&["validate", "p.json"])
    };
    let i = "/functions/0/blocks/0/instructions/0";
    for (at, key, accepts) in [
        ("", "version", "add `version`: 1 or 2; there is no default"),
        (i, "engine", "add `engine`: one of Unassigned,"),
        (&format!("{i}/ins/0"), "ap", "add `ap`: a list of [step, num] pairs of integers, partitions first"),
        ("/functions/0/allocations/0", "dtype", "float8e4, "),
    ] {
        let ran = without(at, key);
        ran.exits(2).says("BIR-J003", &format!("has no key `{key}`"));
        assert!(ran.stderr.contains(accepts), "{}", ran.stderr);
    }
    let text = identity("float32", 4, "o").replace("DMACopy", "TensorScalar");
    s.write("p.json", text);
    let ran = s.birsim(&["validate", "p.json"]);
    assert!(ran.stderr.contains("add `op0`: one of bypass, "), "{}", ran.stderr);
    assert!(ran.stderr.contains("add `reverse0`: true or false; there is no default"), "{}", ran.stderr);
}

#[test]
fn item_14_negative_numbers_after_flags_are_values() {
    let s = ready();
    for args in [&["run", "p.json", "--threads", "-1"][..], &["convert", "p.json", "-o", "q.json", "--core", "-1"]] {
        let ran = s.birsim(args);
        ran.exits(2).says("BIR-F008", "invalid value '-1'");
    }
}
