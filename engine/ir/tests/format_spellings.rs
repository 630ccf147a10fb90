//! Everything that readers accept in more than one form (`bir-json.md`).

use birsim_ir::format::{parse, read, write};
use birsim_ir::*;
use birsim_kernels::Dtype;

fn module_with(instruction: &str) -> Module {
    let text = format!(
        r#"{{"version": 2, "functions": [{{"name": "f", "blocks": [{{"name": "B", "instructions": [{instruction}]}}]}}]}}"#
    );
    parse(text.as_bytes()).unwrap_or_else(|e| panic!("{e}"))
}

fn one(instruction: &str) -> Instruction {
    let mut module = module_with(instruction);
    module.functions[0].blocks[0].instructions.remove(0)
}

/// An instruction from its keys without the header.
fn with_keys(opcode: &str, keys: &str) -> Instruction {
    one(&format!(r#"{{{keys}, "name": "I", "opcode": "{opcode}", "engine": "DVE", "ins": [], "outs": []}}"#))
}

fn field(opcode: &str, json: &str, key: &str) -> Value {
    with_keys(opcode, &format!(r#""{key}": {json}"#)).field(key).unwrap_or_else(|| panic!("{key} is absent"))
}

#[test]
fn module_keys() {
    let plain = br#"{"version": 1, "arch": "trn2", "revision": "v1", "functions": [], "queues": [{"name": "q"}]}"#;
    let other =
        br#"{"module": {"version": 1, "arch": 30, "archRev": "v1", "functions": [], "dma_queues": [{"name": "q"}]}}"#;
    let module = parse(plain).unwrap();
    assert_eq!(module, parse(other).unwrap());
    assert_eq!(module.arch, Some(Arch::Gen3));
    let marked = [b"\xef\xbb\xbf".as_slice(), plain].concat();
    assert_eq!(module, parse(&marked).unwrap());
    // Writers write version 2.
    assert!(write(&module).contains("\"version\": 2"));
}

#[test]
fn attributes_as_names() {
    let text = br#"{"version": 2, "functions": [{"name": "f", "attributes": ["need_dce", "need_unroll"]}]}"#;
    let f = &parse(text).unwrap().functions[0];
    assert_eq!(f.attributes.keys().collect::<Vec<_>>(), ["need_dce", "need_unroll"]);
    assert!(f.attributes.values().all(|v| v == true));
}

#[test]
fn storage_forms() {
    let text = br#"{"version": 2, "functions": [{"name": "f", "allocations": [
        {"name": "a_set", "dtype": 16, "tensor_shape": [4, 8], "do_not_spill": true, "memorylocations": [
            {"name": "a", "type": 16, "dims": [4, 32], "kind": "Internal", "alias": [["b", 1], ["s", "b", 3]]}]},
        {"Skind": "memory_location", "name": "b", "type": "DRAM", "dims": [4, 32], "kind": "Input", "dtype": "int8"},
        {"Skind": "register", "name": "r"}]}]}"#;
    let f = &parse(text).unwrap().functions[0];
    let [Storage::Set(a), Storage::Set(b), Storage::Register(r)] = f.allocations.as_slice() else { panic!("{f:?}") };
    assert_eq!((a.dtype, a.kind), (Dtype::Float32, TensorKind::Internal));
    assert!(a.extra.contains_key("no_spill") && !a.extra.contains_key("do_not_spill"));
    assert_eq!((a.locations[0].ty, a.locations[0].kind), (MemoryType::Sb, None));
    assert_eq!(a.locations[0].alias[0], (String::new(), "b".to_string(), 1));
    // A location without a set gets one.
    assert_eq!((b.name.as_str(), b.kind, b.dtype), ("b_set", TensorKind::Input, Dtype::Int8));
    assert_eq!(b.locations.len(), 1);
    assert_eq!((r.num_physical_regs, r.engine, r.dtype, r.reg_id), (1, Engine::All, Dtype::Uint32, -1));
}

#[test]
fn enumerations_by_name_alias_or_ordinal() {
    for spelling in ["\"mult\"", "6"] {
        assert_eq!(field("TensorTensor", spelling, "op"), Value::Enum(6));
    }
    for (engine, expected) in [("\"Vector\"", Engine::Dve), ("\"GPSIMD\"", Engine::Pool), ("3", Engine::Pe)] {
        let i = one(&format!(r#"{{"name": "I", "opcode": 12, "engine": {engine}}}"#));
        assert_eq!((i.engine, i.opcode), (expected, Opcode::NoOp));
    }
    assert_eq!(field("InlineASMBytes", "\"SequencerType\"", "sync_type"), Value::Enum(1));
}

#[test]
fn scalars_may_be_affine_in_either_version() {
    let term = Expr::Affine { terms: vec![(Expr::Axis("i".to_string()), 5)], c: 1 };
    let v2 = r#"{"kind": "AffExprKind", "terms": [{"idx": {"kind": "AffIVKind", "axis": "i"}, "coeff": 5}], "c": 1}"#;
    let v1 = r#"{"terms": [{"AxisLabel": "i", "coef": 5}], "c": 1}"#;
    for text in [v2, v1] {
        assert_eq!(field("Memset", text, "constant"), Value::Expr(term.clone()));
        assert_eq!(field("TensorScalar", text, "const0"), Value::Expr(term.clone()));
        assert_eq!(field("TensorReduce", text, "negate"), Value::Expr(term.clone()));
        assert_eq!(field("Iota", text, "base"), Value::Expr(term.clone()));
    }
    // Constants fold to the type of the key.
    let constant = r#"{"kind": "AffExprKind", "terms": [], "c": 3}"#;
    assert_eq!(field("Memset", constant, "constant"), Value::Int(3));
    assert_eq!(field("TensorScalar", constant, "const0"), Value::Float(3.0));
    assert_eq!(field("TensorReduce", constant, "negate"), Value::Bool(true));
}

#[test]
fn version_1_operations() {
    let cases = [
        (r#"{"terms": [{"AxisLabel": "i", "coef": 2}], "c": 0, "op": "Mod", "op_param": 4}"#, "((2*i) mod (4))"),
        (r#"{"terms": [{"AxisLabel": "i", "coef": 1}], "c": 7, "op": "Div", "op_param": 4}"#, "((i + 7) div (4))"),
        (r#"{"terms": [{"AxisLabel": "i", "coef": 1}], "op": "CCGetRank", "op_param": 2}"#, "(rank (i) div (2))"),
        (r#"{"terms": [], "c": 0, "op": "IndirectArgId", "op_param": 1}"#, "index(1)"),
        (r#"{"c": 9}"#, "9"),
    ];
    for (text, expected) in cases {
        let Value::Expr(e) = field("DoWhile", text, "cond") else { panic!("{text}") };
        assert_eq!(e.to_string(), expected, "{text}");
    }
}

#[test]
fn version_2_kinds() {
    let i = r#"{"kind": "AffIVKind", "axis": "i"}"#;
    let cases = [
        (i.to_string(), "i"),
        (r#"{"kind": "IntRuntimeValueKind", "regref": "r0"}"#.to_string(), "r0"),
        (r#"{"kind": "ShardIDKind", "ub": 2}"#.to_string(), "shard_id(2)"),
        (format!(r#"{{"kind": "SumKind", "n_terms": 2, "terms": [{i}, 4]}}"#), "(i + 4)"),
        (format!(r#"{{"scale": -3, "var": {i}, "kind": "MultKind"}}"#), "-3*i"),
        (format!(r#"{{"kind": "FloorDivKind", "numer": {i}, "denom": 3}}"#), "((i) div (3))"),
        (format!(r#"{{"kind": "CCModKind", "numer": {i}, "denom": 3}}"#), "((i) mod (3))"),
        (format!(r#"{{"kind": "ModuloKind", "numer": 10, "denom": {i}}}"#), "((10) mod (i))"),
        (r#"{"kind": "CCGetRankKind", "iteration_id": 1, "channel_id": 2}"#.to_string(), "rank(1, 2)"),
        (r#"{"kind": "IndirectArgId", "arg_id": 1}"#.to_string(), "index(1)"),
        (r#"{"kind": "AffExprKind"}"#.to_string(), "0"),
        ("-5".to_string(), "-5"),
    ];
    for (text, expected) in cases {
        let Value::Expr(e) = field("DoWhile", &text, "cond") else { panic!("{text}") };
        assert_eq!(e.to_string(), expected, "{text}");
    }
}

#[test]
fn non_finite_floats_and_integers_in_their_place() {
    assert_eq!(field("MatchReplace", "\"-inf\"", "imm_value"), Value::Float(f64::NEG_INFINITY));
    assert_eq!(field("MatchReplace", "1", "imm_value"), Value::Float(1.0));
    // Fault row 9: the most negative float is an ordinary fill value.
    let Value::Float(x) = field("RangeSelect", "-3.4028234663852886e38", "fill_value") else { panic!() };
    assert_eq!((x as f32).to_bits(), 0xff7f_ffff);
    assert_eq!(field("Memset", "18446744073709551615", "constant"), Value::Int(-1));
}

#[test]
fn pairs_and_names_in_both_forms() {
    for pattern in ["[[1, 64], [0, 2]]", r#"[{"step": 1, "num": 64}, {"num": 2, "step": 0}]"#] {
        assert_eq!(field("Iota", pattern, "pattern"), Value::Pairs(vec![(1, 64), (0, 2)]));
    }
    let names = |keys| with_keys("SwitchQueueInstance", keys).field("instance");
    assert_eq!(names(r#""instance_name": "b""#), Some(Value::Strs(vec!["b".to_string()])));
    assert_eq!(names(r#""instance": ["b"]"#), Some(Value::Strs(vec!["b".to_string()])));
    let pairs = Value::Map(vec![("a".to_string(), "x".to_string())]);
    assert_eq!(field("Call", r#"{"a": "x"}"#, "arguments"), pairs);
    assert_eq!(field("NKIKernel", r#"[["a", "x"]]"#, "func_args"), pairs);
    assert_eq!(field("NKIKernel", r#"["a", "x"]"#, "func_args"), Value::Strs(vec!["a".to_string(), "x".to_string()]));
}

#[test]
fn accumulation_flags_of_the_older_record() {
    let flag = |start, stop| {
        let keys = format!(r#""start_tensor_calc": {start}, "stop_tensor_calc": {stop}"#);
        with_keys("Matmult", &keys).field("accumulation_flag")
    };
    assert_eq!(flag(true, false), Some(Value::Int(1)));
    assert_eq!(flag(true, true), Some(Value::Int(3)));
    assert_eq!(flag(false, false), Some(Value::Int(4)));
    assert_eq!(flag(false, true), Some(Value::Int(6)));
    // The newer key wins.
    let both = with_keys("Matmult", r#""start_tensor_calc": true, "accumulation_flag": 4"#);
    assert_eq!(both.field("accumulation_flag"), Some(Value::Int(4)));
}

#[test]
fn loops_without_name_or_engine() {
    let i = one(r#"{"opcode": "Loop", "LoopAxis": {"name": "i0", "lb": 0, "ub": 4}, "blocks": []}"#);
    assert_eq!((i.name.as_str(), i.engine), ("i0", Engine::All));
    let Some(Value::Axis(axis)) = i.field("LoopAxis") else { panic!() };
    assert_eq!((axis.lb, axis.ub, axis.stride), (Expr::Const(0), Expr::Const(4), Expr::Const(1)));
}

#[test]
fn dynamic_loops_with_flat_keys() {
    let ub =
        r#"{"kind": "AffExprKind", "terms": [{"idx": {"kind": "IntRuntimeValueKind", "regref": "r"}, "coeff": 2}]}"#;
    let nested = format!(
        r#"{{"name": "j", "opcode": "DynamicForLoop", "engine": "ALL",
            "DynamicForLoopAxis": {{"name": "j", "lb": 1, "ub": {ub}, "stride": 1}}}}"#
    );
    let flat =
        format!(r#"{{"name": "j", "opcode": "DynamicForLoop", "engine": "ALL", "lb": 1, "ub": {ub}, "stride": 1}}"#);
    assert_eq!(one(&nested), one(&flat));
}

#[test]
fn nested_collective_channel() {
    let nested = with_keys(
        "CollectiveCompute",
        r#""cc_channel": {"kind": "AllGather", "replica_groups": [[0, 1]], "op": "add", "later": 1}, "op": "max""#,
    );
    assert_eq!(nested.field("kind"), Some(Value::Enum(4)));
    assert_eq!(nested.field("op"), Some(Value::Enum(4)), "the nested object wins");
    assert_eq!(nested.field("replica_groups"), Some(Value::Groups(vec![vec![0, 1]])));
    assert!(nested.extra.contains_key("later"));
    let flat = with_keys("CollectiveCompute", r#""cc_channel": {"kind": "AffExprKind", "c": 2}"#);
    assert_eq!(flat.field("cc_channel"), Some(Value::Expr(Expr::Const(2))));
}

#[test]
fn sync_records_default_and_respell() {
    let sync = r#"{"on_wait": [{"id": 3}, {"id": 4, "mode": 2, "reg": "r0", "type": 1}, {"id": 5, "type": "event"}],
                   "on_update": [{"id": 3}, {"id": 4, "mode": "sem-dec"}, {"id": 5, "type": 0}]}"#;
    let i = with_keys("NoOp", &format!(r#""sync_info": {sync}"#));
    let waits: Vec<_> = i.sync.on_wait.iter().map(|w| (w.kind, w.mode, w.value, w.regref.as_deref())).collect();
    assert_eq!(waits[0], (SyncKind::Semaphore, WaitMode::SemGeImm, 1, None));
    assert_eq!(waits[1], (SyncKind::Semaphore, WaitMode::SemGeReg, 1, Some("r0")));
    assert_eq!(waits[2], (SyncKind::Event, WaitMode::EvtSetClear, 1, None));
    let updates: Vec<_> = i.sync.on_update.iter().map(|u| (u.kind, u.mode, u.value)).collect();
    assert_eq!(updates[0], (SyncKind::Semaphore, UpdateMode::SemAddImm, 1));
    assert_eq!(updates[1], (SyncKind::Semaphore, UpdateMode::SemDec, 1));
    assert_eq!(updates[2], (SyncKind::Event, UpdateMode::EvtSet, 1));
    // A DMABlock may hold the two lists itself.
    let block = with_keys("DMABlock", r#""on_wait": [{"id": 3}], "on_update": [{"id": 3}]"#);
    assert_eq!((block.sync.on_wait.len(), block.sync.on_update.len()), (1, 1));
}

#[test]
fn immediates_belong_to_the_inputs() {
    let i = one(r#"{"name": "I", "opcode": "NoOp", "engine": "SP", "ins": [],
            "outs": [{"kind": "register_access", "dtype": "int32", "regref": "r"},
                     {"kind": "imm_value", "dtype": "float32", "value": "nan"}]}"#);
    assert_eq!(i.outs.len(), 1);
    assert!(matches!(i.ins[0], Operand::Imm { value: ImmValue::Float(x), .. } if x.is_nan()));
}

#[test]
fn dependencies_predicates_and_unknown_keys() {
    let i = with_keys(
        "NoOp",
        r#""dependencies": ["a", ["b", "Anti"], ["c"]], "predicates": [{"kind": "AffIVKind", "axis": "i"}, 1],
           "unroll_dependencies": [["a", "Flow", [], []]], "optin_passes": [], "brand_new": {"k": null}, "debug": null"#,
    );
    let kinds: Vec<EdgeKind> = i.dependencies.iter().map(|d| d.kind).collect();
    assert_eq!(kinds, [EdgeKind::Flow, EdgeKind::Anti, EdgeKind::Flow]);
    assert!(i.predicates.iter().all(|p| p.op == PredicateOp::Ge));
    let kept: Vec<&String> = i.extra.keys().collect();
    assert_eq!(kept, ["brand_new", "optin_passes", "unroll_dependencies"]);
    assert_eq!(i.debug, None);
}

#[test]
fn a_register_pattern_ignores_key_order_and_escapes() {
    let i = one(
        r#"{"\u0069ns": [{"reg_ap_offset": "r\u0030", "regref": "r1", "dtype": "bool", "memsetref": "s", "kind": "register_ap",
             "ap": [[1, 1]]}], "engine": "DMA", "name": "I", "opcode": "Load"}"#,
    );
    let Operand::RegisterAp(a) = &i.ins[0] else { panic!() };
    assert_eq!((a.reg_ap_offset.as_deref(), a.dtype), (Some("r0"), Dtype::Uint8));
    assert_eq!((a.const_ap_offset, a.const_sub_tensor_id, a.is_regloc_offset), (0, -1, false));
}

#[test]
fn references_are_resolved_by_read_only() {
    let text = br#"{"version": 2, "functions": [{"name": "f", "blocks": [{"name": "B", "instructions": [
        {"name": "I", "opcode": "UnconditionalBranch", "engine": "ALL", "target": "elsewhere"}]}]}]}"#;
    assert!(parse(text).is_ok());
    assert_eq!(read(text).unwrap_err().code().id(), "J006");
}
