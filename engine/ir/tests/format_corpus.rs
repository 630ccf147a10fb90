//! Files that a public compiler wrote, and the examples of the format's description.

use birsim_ir::format::{parse, read, write};
use birsim_ir::validate::validate;
use birsim_ir::{Expr, ImmValue, Opcode, Operand, Value};
use birsim_kernels::Code;
use serde_json::{Value as Json, json};

const ALL_OPCODES: &str = include_str!("data/bir/all_opcodes.json");
const NORMALIZED: &str = include_str!("data/bir/all_opcodes.normalized.json");

/// Opcodes of that compiler that are not an InstructionType.
const FOREIGN: [&str; 10] = [
    "Shuffle",
    "CalcVarAddr",
    "MatmultSymbolic",
    "RangeSelectSymbolic",
    "ShuffleSymbolic",
    "StreamShuffleSymbolic",
    "TensorScalarSymbolic",
    "CalcVarAddrSymbolic",
    "IotaSymbolic",
    "TensorScalarAffineSelectSymbolic",
];

fn instructions_mut(module: &mut Json) -> &mut Vec<Json> {
    module["functions"][0]["blocks"][0]["instructions"].as_array_mut().unwrap()
}

fn without_foreign(text: &str) -> (Json, usize) {
    let mut module: Json = serde_json::from_str(text).unwrap();
    let list = instructions_mut(&mut module);
    let before = list.len();
    list.retain(|i| !FOREIGN.contains(&i["opcode"].as_str().unwrap()));
    let removed = before - list.len();
    (module, removed)
}

/// The differences between what that compiler writes and what birsim writes, applied to its text.
fn normalise(v: &mut Json) {
    match v {
        Json::Array(items) => items.iter_mut().for_each(normalise),
        Json::Object(o) => {
            // Both parts of an affine expression are written out.
            if o.get("kind") == Some(&json!("AffExprKind")) {
                o.entry("terms").or_insert(json!([]));
                o.entry("c").or_insert(json!(0));
            }
            // Pairs are lists everywhere.
            if let Some(Json::Array(pairs)) = o.get_mut("pattern") {
                pairs.iter_mut().for_each(|p| *p = json!([p["step"], p["num"]]));
            }
            // Elements of a value list are records.
            if let Some(Json::Array(values)) = o.get_mut("value_list") {
                values.iter_mut().for_each(|v| *v = json!({ "value": v.clone() }));
            }
            // Attributes are an object.
            if o.get("attributes") == Some(&json!([])) {
                o.insert("attributes".to_string(), json!({}));
            }
            // Left out at their defaults: storage keys, and absent queues.
            for (key, default) in [("file", json!("")), ("pinned", json!(false)), ("queue", Json::Null)] {
                if o.get(key) == Some(&default) {
                    o.remove(key);
                }
            }
            if o.contains_key("opcode") {
                normalise_instruction(o);
            }
            o.values_mut().for_each(normalise);
        }
        _ => {}
    }
}

fn normalise_instruction(o: &mut serde_json::Map<String, Json>) {
    let opcode = Opcode::from_name(o["opcode"].as_str().unwrap()).unwrap();
    // The newer spelling of a queue instance, which is a list.
    if let Some(instance) = o.remove("instance_name") {
        o.insert("instance".to_string(), json!([instance]));
    }
    // Enumerations by name, in the canonical spelling.
    if o.contains_key("indirect_dims") {
        o.insert("indirect_dims".to_string(), json!(["Z"]));
    }
    if o.contains_key("sync_type") {
        // `DataPathType` is the value 0.
        o.insert("sync_type".to_string(), json!("datapath"));
    }
    // The older pair of accumulation keys: neither start nor stop means accumulate.
    if opcode.is_matmul() {
        assert_eq!(o.remove("start_tensor_calc"), Some(json!(false)));
        assert_eq!(o.remove("stop_tensor_calc"), Some(json!(false)));
        o.insert("accumulation_flag".to_string(), json!(4));
        o.insert("psum_zero_region".to_string(), json!(0));
    } else if opcode == Opcode::Activation {
        // Keys of the newer record, which is written whole.
        for key in ["op0", "op1", "reduce_op"] {
            o.entry(key).or_insert(json!("bypass"));
        }
        for key in ["reverse0", "reverse1", "is_activate2"] {
            o.entry(key).or_insert(json!(false));
        }
    } else {
        // Own keys at their defaults are left out, outside the matmul record.
        for f in opcode.row().fields {
            let default = match f.default.value() {
                Some(Value::Bool(b)) => json!(b),
                Some(Value::Int(i)) => json!(i),
                Some(Value::Float(x)) => json!(x),
                Some(Value::Str(s)) => json!(s),
                Some(Value::Enum(n)) => match f.ty {
                    birsim_ir::FieldType::Enum(def) => json!(def.name_of(n).unwrap()),
                    _ => continue,
                },
                _ => continue,
            };
            if o.get(f.key) == Some(&default) {
                o.remove(f.key);
            }
        }
    }
    // A loop is called like its axis and runs on all engines.
    if opcode == Opcode::Loop {
        let name = o["LoopAxis"]["name"].clone();
        o.entry("name").or_insert(name);
        o.entry("engine").or_insert(json!("ALL"));
        o.entry("ins").or_insert(json!([]));
        o.entry("outs").or_insert(json!([]));
    }
}

fn written(text: &str) -> Json {
    let module = parse(text.as_bytes()).unwrap_or_else(|e| panic!("{e}"));
    serde_json::from_str(&write(&module)).unwrap()
}

#[test]
fn all_opcodes_read_and_write_back_equal() {
    let (mut expected, removed) = without_foreign(ALL_OPCODES);
    assert_eq!(removed, 10);
    let text = expected.to_string();
    normalise(&mut expected);
    expected.as_object_mut().unwrap().insert("queues".to_string(), json!([]));
    let mut ours = written(&text);
    let (a, b) = (instructions_mut(&mut ours).clone(), instructions_mut(&mut expected).clone());
    for (a, b) in a.iter().zip(&b) {
        assert_eq!(a, b);
    }
    assert_eq!(ours, expected);
}

#[test]
fn the_normalised_twin_is_the_same_module() {
    let (a, _) = without_foreign(ALL_OPCODES);
    let (b, _) = without_foreign(NORMALIZED);
    let a = parse(a.to_string().as_bytes()).unwrap();
    let b = parse(b.to_string().as_bytes()).unwrap();
    assert_eq!(a.functions[0].blocks, b.functions[0].blocks);
    let reread = parse(write(&b).as_bytes()).unwrap();
    assert_eq!(b, reread);
}

#[test]
fn foreign_opcodes_are_named() {
    let e = parse(ALL_OPCODES.as_bytes()).unwrap_err();
    assert_eq!(e.code(), Code::J004);
    assert_eq!(e.received_value(), Some("Shuffle"));
    assert_eq!(e.place().instruction.as_deref(), Some("I-13"));
}

#[test]
fn argument_kinds_are_read() {
    let text = include_str!("data/bir/argument_kinds.json");
    let module = parse(text.as_bytes()).unwrap();
    let kinds: Vec<&str> = module.functions[0].blocks[0].instructions.iter().map(|i| i.ins[0].kind()).collect();
    assert_eq!(
        kinds,
        [
            "physical_ap",
            "symbolic_ap",
            "register_ap",
            "register_access",
            "imm_value",
            "imm_array",
            "symbolic_imm_value"
        ]
    );
    let last = &module.functions[0].blocks[0].instructions[6].ins[0];
    assert!(
        matches!(last, Operand::SymbolicImm { values, expr: Expr::Const(0), .. } if values == &[ImmValue::Float(1.5)])
    );
    assert_eq!(module, parse(write(&module).as_bytes()).unwrap());
    let mut expected: Json = serde_json::from_str(text).unwrap();
    normalise(&mut expected);
    expected.as_object_mut().unwrap().insert("queues".to_string(), json!([]));
    assert_eq!(written(text), expected);
}

#[test]
fn compiled_kernels_are_valid_and_survive() {
    for (name, text) in [
        ("add_one", include_str!("data/bir/add_one.json")),
        ("tiles", include_str!("data/bir/tiles.json")),
        ("two_inputs", include_str!("data/bir/two_inputs.json")),
    ] {
        let module = read(text.as_bytes()).unwrap_or_else(|e| panic!("{name}: {e}"));
        validate(&module).unwrap_or_else(|e| panic!("{name}: {}", e[0]));
        assert_eq!(module, read(write(&module).as_bytes()).unwrap(), "{name}");
    }
}

#[test]
fn examples_are_valid_and_survive() {
    for (name, text) in [
        ("ex1", include_str!("data/examples/ex1_memset_tensorscalar_save.json")),
        ("ex2", include_str!("data/examples/ex2_matmul_psum.json")),
        ("ex3", include_str!("data/examples/ex3_loop_symbolic.json")),
        ("ex4", include_str!("data/examples/ex4_two_engine_semaphore.json")),
    ] {
        let module = read(text.as_bytes()).unwrap_or_else(|e| panic!("{name}: {e}"));
        validate(&module).unwrap_or_else(|e| panic!("{name}: {}", e[0]));
        assert_eq!(module, read(write(&module).as_bytes()).unwrap(), "{name}");
    }
}
