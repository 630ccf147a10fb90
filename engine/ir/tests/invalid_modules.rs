//! Broken modules: every row damages one value of a valid module and pins the error's code, text, place and value.

use birsim_ir::format::{read, read_all};
use birsim_ir::validate::validate;
use birsim_kernels::{Code, Error};
use serde_json::Value as Json;

const VALID: &str = include_str!("data/reference_module.json");

/// Replaces the value at a JSON pointer; an empty replacement removes it, and `+` before the pointer adds to a list.
fn damaged(pointer: &str, replacement: &str) -> String {
    let mut module: Json = serde_json::from_str(VALID).unwrap();
    let pointer = resolve_names(&module, pointer);
    if let Some(list) = pointer.strip_prefix('+') {
        let list = module.pointer_mut(list).and_then(Json::as_array_mut).unwrap_or_else(|| panic!("no list {pointer}"));
        list.push(serde_json::from_str(replacement).unwrap());
        return module.to_string();
    }
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = module.pointer_mut(parent).unwrap_or_else(|| panic!("no place {pointer}"));
    match (parent, replacement) {
        (Json::Object(o), "") => assert!(o.remove(key).is_some(), "no key {pointer}"),
        (Json::Object(o), text) => {
            o.insert(key.to_string(), serde_json::from_str(text).unwrap());
        }
        (Json::Array(a), "") => {
            a.remove(key.parse::<usize>().unwrap());
        }
        (Json::Array(a), text) => a[key.parse::<usize>().unwrap()] = serde_json::from_str(text).unwrap(),
        _ => panic!("no place {pointer}"),
    }
    module.to_string()
}

/// `@name` at the start of a pointer is the instruction of that name in the entry function.
fn resolve_names(module: &Json, pointer: &str) -> String {
    let (plus, rest) = pointer.strip_prefix('+').map_or(("", pointer), |r| ("+", r));
    let Some(rest) = rest.strip_prefix('@') else { return pointer.to_string() };
    let (name, tail) = rest.split_once('/').map_or((rest, String::new()), |(n, t)| (n, format!("/{t}")));
    let blocks = module["functions"][0]["blocks"].as_array().unwrap();
    for (b, block) in blocks.iter().enumerate() {
        let list = block["instructions"].as_array().unwrap();
        if let Some(i) = list.iter().position(|i| i["name"] == name) {
            return format!("{plus}/functions/0/blocks/{b}/instructions/{i}{tail}");
        }
    }
    panic!("no instruction {name}");
}

/// First error of reading, or all errors of validation.
fn errors(text: &str) -> Vec<Error> {
    match read(text.as_bytes()) {
        Err(e) => vec![e],
        Ok(module) => validate(&module).err().unwrap_or_default(),
    }
}

/// `code: text | place without the position | value`.
fn summary(e: &Error) -> String {
    let mut place = e.place().clone();
    place.source = None;
    format!("{}: {} | {} | {}", e.code().id(), e.what(), place, e.received_value().unwrap_or("-"))
}

#[test]
fn the_reference_module_is_valid() {
    let module = read(VALID.as_bytes()).unwrap_or_else(|e| panic!("{e}"));
    validate(&module).unwrap_or_else(|e| panic!("{}", e[0]));
}

#[test]
fn errors_are_pinned() {
    let mut seen = std::collections::HashSet::new();
    for (pointer, replacement, expected) in ROWS {
        let found = errors(&damaged(pointer, replacement));
        let first = found.first().unwrap_or_else(|| panic!("{pointer} = {replacement}: no error"));
        assert_eq!(summary(first), *expected, "{pointer} = {replacement}");
        // Every error says what to do.
        assert!(!first.advice_text().is_empty());
        seen.insert((first.code(), first.place().operand.clone(), first.place().instruction.clone()));
    }
    assert!(seen.len() >= 80, "{} distinct codes and places", seen.len());
}

/// The text that a person reads: code, place with the position in the file, rule, value, advice.
#[test]
fn display_is_pinned() {
    let text = "{\"version\": 2,\n \"functions\": [{\"name\": \"main\", \"blocks\": [{\"name\": \"B\", \"instructions\": [\n  \
                {\"ins\": [{\"kind\": \"physical_ap\", \"dtype\": \"fp32\"}], \"name\": \"I-0\", \"opcode\": \"Save\"}]}]}]}";
    let shown = read(text.as_bytes()).unwrap_err().to_string();
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines[0], "BIR-J005: Dtype has no such value");
    assert_eq!(
        lines[1],
        "  where: function main, block B, instruction I-0 (Save), operand ins[0].dtype, at line 3 column 45"
    );
    assert_eq!(
        lines[2],
        "  3 |   {\"ins\": [{\"kind\": \"physical_ap\", \"dtype\": \"fp32\"}], \"name\": \"I-0\", \"opcode\": \"Save\"}]}]}]}"
    );
    assert_eq!(lines[3], "    |                                             ^^^^^^");
    assert_eq!(lines[4], "  rule:  enumerations are written by one of their documented names or by ordinal");
    assert_eq!(lines[5], "  got:   fp32");
    assert!(lines[6].starts_with("  help:  one of: uint8, int8,"), "{}", lines[6]);
}

/// Values of the wrong kind in four records, and a dangling name that only shows once they are right.
#[test]
fn item_14_all_errors_of_a_module_come_at_once_with_their_lines() {
    let text = "{\"version\": 2, \"functions\": [{\"name\": \"main\",\n\
                \"allocations\": [{\"Skind\": \"register\", \"name\": 5}],\n\
                \"blocks\": [{\"name\": \"B\", \"instructions\": [\n\
                {\"name\": \"a\", \"opcode\": \"Drain\", \"engine\": \"Pooll\"},\n\
                {\"name\": \"b\", \"opcode\": \"Drain\", \"engine\": \"Pool\"},\n\
                {\"name\": \"l\", \"opcode\": \"Loop\", \"engine\": \"ALL\", \"blocks\": [{\"name\": \"C\", \"instructions\": [\n\
                {\"name\": \"c\", \"opcode\": \"Drian\", \"engine\": \"Pool\"}]}]},\n\
                {\"name\": \"d\", \"opcode\": \"Drain\", \"engine_id\": -1, \"engine\": \"Pool\"}]}]}]}";
    let found = read_all(text.as_bytes(), 1).unwrap_err();
    let told: Vec<String> = found.iter().map(|e| format!("{}: {} | {}", e.code().id(), e.what(), e.place())).collect();
    assert_eq!(
        told,
        [
            "J002: expected a text | function main, operand name, tensor #0, at line 2 column 47",
            "J005: Engine has no such value | function main, block B, instruction a (Drain), operand engine, at line 4 column 44",
            "J004: no InstructionType has this name | function main, block C, instruction c (Drian), operand opcode, at line 7 column 25",
            "J002: expected an unsigned 32-bit integer | function main, block B, instruction d (Drain), operand engine_id, at line 8 column 47",
        ]
    );
    // Once the values are right, references are looked at.
    let text = text.replace("Pooll", "Pool").replace("Drian", "Drain").replace("-1", "1").replace("5}", "\"r\"}");
    let text =
        text.replace("\"opcode\": \"Drain\", \"engine_id\"", "\"opcode\": \"Call\", \"target\": \"f\", \"engine_id\"");
    let found = read_all(text.as_bytes(), 1).unwrap_err();
    assert!(
        found.iter().any(|e| e.place().source.as_deref().is_some_and(|s| s.starts_with("line 8 column"))),
        "{found:?}"
    );
}

/// The key is named, with both values, at the second.
#[test]
fn d61_a_key_that_is_written_twice_is_an_error() {
    let rows = [
        (r#"{"version": 2, "version": 1, "functions": []}"#, "version", "2 and 1", "line 1 column 27"),
        (
            r#"{"version": 2, "functions": [{"name": "main", "blocks": [{"name": "B", "instructions": [
{"name": "a", "opcode": "Drain", "engine": "Pool", "sync_info": {"on_wait": [{"id": 1, "id": 2}]}}]}]}]}"#,
            "id",
            "1 and 2",
            "line 2 column 94",
        ),
        (
            r#"{"version": 2, "functions": [{"name": "main", "blocks": [{"name": "B", "instructions": [
{"name": "a", "opcode": "Drain", "engine": "Pool", "whatever": {"x": [{"y": 1, "y": "two"}]}}]}]}]}"#,
            "y",
            "1 and \"two\"",
            "line 2 column 85",
        ),
    ];
    for (text, key, values, position) in rows {
        let e = read(text.as_bytes()).unwrap_err();
        assert_eq!(summary(&e).split(" | ").next().unwrap(), format!("J015: the key `{key}` is written twice"));
        assert_eq!((e.received_value(), e.place().source.as_deref()), (Some(values), Some(position)), "{text}");
    }
}

#[test]
fn bare_floats_of_python_are_named_with_their_spelling() {
    for (word, at) in [("-Infinity", "-Infinity"), ("NaN", "NaN"), ("Infinity", "Infinity")] {
        let text = format!("{{\"version\": 2, \"scale\": {word}, \"functions\": []}}");
        let e = read(text.as_bytes()).unwrap_err();
        assert_eq!((e.code(), e.received_value()), (Code::J001, Some(at)));
        assert!(e.advice_text().contains("\"-inf\""), "{e}");
    }
}

#[test]
fn text_that_is_no_module() {
    let cases: [(&[u8], &str); 12] = [
        (b"", "J001: the text ends before the document does |  | -"),
        (b"null", "J002: expected a BIR module, an object |  | null"),
        (b"[]", "J002: expected a BIR module, an object |  | sequence"),
        (b"7", "J002: expected a BIR module, an object |  | integer `7`"),
        (b"{", "J001: the text ends before the document does |  | -"),
        (b"{}", "J003: a module has no key `version` | operand version | -"),
        (b"{\"version\": 2,}", "J001: trailing comma |  | -"),
        (b"{\"version\": 2, \"functions\": []} x", "J001: trailing characters |  | -"),
        (b"{\"version\": 2, \"functions\": [}", "J001: expected value | function #0 | -"),
        (b"\x00\x01\x02", "J001: expected value |  | -"),
        (
            b"{\"version\": 2, \"functions\": [{\"name\": \"\xff\"}]}",
            "J001: invalid unicode code point | function #0 | -",
        ),
        (b"{\"version\": 1e400}", "J001: number out of range |  | -"),
    ];
    for (text, expected) in cases {
        let e = read(text).unwrap_err();
        assert_eq!(summary(&e), expected, "{}", String::from_utf8_lossy(text));
    }
}

#[test]
fn every_truncation_is_an_error_without_panic() {
    for end in (0..VALID.trim_end().len()).step_by(7) {
        let e = read(&VALID.as_bytes()[..end]).unwrap_err();
        assert_eq!(e.class().exit_code(), 2, "cut at {end}: {e}");
    }
}

#[test]
fn deep_nesting_is_refused() {
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(100_000), close.repeat(100_000));
    for text in [
        deep("[", "]"),
        deep("{\"module\": ", "}"),
        format!("{{\"version\": 2, \"functions\": [], \"x\": {}}}", deep("[", "]")),
        format!(
            "{{\"version\": 2, \"functions\": [{{\"blocks\": [{{\"instructions\": [{}]}}]}}]}}",
            deep("{\"blocks\": [{\"instructions\": [", "]}]}")
        ),
    ] {
        let code = read(text.as_bytes()).unwrap_err().code().id();
        assert!(matches!(code, "J014" | "J002"), "{code}");
    }
}

#[test]
fn expressions_and_loops_built_too_deep_are_refused() {
    use birsim_ir::*;
    let mut expr = Expr::Const(1);
    for _ in 0..200 {
        expr = Expr::Mult(Box::new(expr), 1);
    }
    let mut inner = Instruction::new("I", Opcode::LoadActFuncSet, Engine::Activation).with("act_func_set_id", expr);
    let function = |i: &Instruction| {
        let block = |i: &Instruction| Block {
            name: "B".into(),
            arguments: vec![],
            instructions: vec![i.clone()],
            extra: Extra::new(),
        };
        let mut module = Module::new(None);
        module.functions.push(Function {
            name: "main".into(),
            attributes: Extra::new(),
            allocations: vec![],
            blocks: vec![block(i)],
            arguments: vec![],
            extra: Extra::new(),
        });
        module
    };
    let errors = validate::validate(&function(&inner)).unwrap_err();
    assert_eq!(errors[0].code().id(), "J014");
    inner = Instruction::new("I", Opcode::NoOp, Engine::Sp);
    for n in 0..200 {
        let mut outer = Instruction::new(format!("L{n}"), Opcode::Loop, Engine::All);
        outer.blocks =
            vec![Block { name: "B".into(), arguments: vec![], instructions: vec![inner], extra: Extra::new() }].into();
        inner = outer;
    }
    let errors = validate::validate(&function(&inner)).unwrap_err();
    assert!(errors.iter().any(|e| e.code().id() == "J014"), "{}", errors[0]);
}

#[test]
fn d1_a_pattern_dtype_must_divide_the_row() {
    let text = damaged("@load/ins/0/dtype", "\"uint64\"");
    assert!(errors(&text).is_empty(), "8 bytes divide a row of 32");
    let text = text.replacen("[4,32]", "[4,36]", 1);
    let found = errors(&text);
    assert_eq!(
        summary(&found[0]),
        "J008: uint64 elements of 8 bytes do not divide a row of 36 bytes | function main, block Block1, \
         instruction load (Load), operand ins[0], tensor x | uint64"
    );
}

#[test]
fn an_appended_block_is_checked_but_for_its_names() {
    use birsim_ir::{Engine, Instruction, Opcode, validate::check_piece};
    let module = read(VALID.as_bytes()).unwrap();
    let mut block = module.functions[0].blocks[1].clone();
    assert!(check_piece(&[], &block).is_ok(), "names of the program are not known here");
    block.instructions.push(Instruction::new("lonely", Opcode::Max, Engine::Dve));
    let e = check_piece(&module.functions[0].allocations, &block).unwrap_err();
    assert_eq!(
        summary(&e),
        "J009: Max takes 1 operand in `ins` (in) | block Block2, instruction lonely (Max), operand ins | 0"
    );
}

#[test]
fn near_misses_are_suggested() {
    for (pointer, replacement, expected) in [
        ("@load/opcode", "\"load\"", "did you mean Load? `birsim ops` lists all"),
        ("@load/ins/0/memsetref", "\"y_set\"", "did you mean b_set?"),
        ("@save/ins/0/memref", "\"b_sub\"", "did you mean b_sub0?"),
        ("@branch/ins/0/regref", "\"R0\"", "did you mean r0?"),
        ("@save/ins/0/memref", "\"something_else\"", "declare the object or correct the name"),
    ] {
        let e = errors(&damaged(pointer, replacement)).remove(0);
        assert_eq!(e.advice_text(), expected, "{e}");
    }
}

#[test]
fn d35_degenerate_loops_are_valid() {
    for (pointer, replacement) in
        [("@loop/LoopAxis/stride", "0"), ("@loop/LoopAxis/ub", "0"), ("@loop/LoopAxis/lb", "9")]
    {
        assert!(errors(&damaged(pointer, replacement)).is_empty(), "{pointer}");
    }
}

#[test]
fn all_errors_are_reported_up_to_a_limit() {
    let text = VALID.replace("\"float32\", \"ap\"", "\"uint8\", \"ap\"").replace("[1, 8]]", "[1, -8]]");
    let found = errors(&text);
    assert!(found.len() > 10, "{}", found.len());
    assert!(found.iter().all(|e| e.class().exit_code() == 2));
}

/// (pointer, replacement, expected).
#[rustfmt::skip]
const ROWS: &[(&str, &str, &str)] = &[
    ("/version", "",
        "J003: a module has no key `version` | operand version | -"),
    ("/version", "3",
        "J011: the version of BIR-JSON is 1 or 2 | operand version | 3"),
    ("/version", r#""2""#,
        r#"J002: expected an unsigned 32-bit integer | operand version | string "2""#),
    ("/arch", r#""gen9""#,
        "J005: Arch has no such value | operand arch | gen9"),
    ("/functions", "",
        "J003: a module has no key `functions` | operand functions | -"),
    ("/functions", "[]",
        "J003: the module has no function |  | -"),
    ("/functions", "{}",
        "J002: expected a list | operand functions | map"),
    ("/functions/0/name", "",
        "J003: a function has no key `name` | function #0, operand name | -"),
    ("/functions/0/blocks/0/name", "",
        "J003: a block has no key `name` | function main, block #0, operand name | -"),
    ("/functions/0/blocks/1/name", r#""Block1""#,
        "J007: the block Block1 is declared twice | function main | Block1"),
    ("/functions/1/name", r#""main""#,
        "J007: the function main is declared twice |  | main"),
    ("+/queues", r#"{"name": "q0"}"#,
        "J007: the queue q0 is declared twice |  | q0"),
    ("/queues/0/name", "",
        "J003: a queue has no key `name` | function queue #0, operand name | -"),
    ("/queues/0/type", r#""SIDEWAYS""#,
        "J005: QueueType has no such value | function queue q0, operand type | SIDEWAYS"),
    ("/queues/0/semaphores", "[256]",
        "J011: semaphore and event ids are 0..255 | function queue q0, operand semaphores | 256"),
    ("/queues/0/blocks/0/instructions/0/dma_trigger", r#""nobody""#,
        "J006: there is no DMATrigger named nobody | function queue q0, block q0-b, instruction blk0 (DMABlock), operand dma_trigger | nobody"),
    ("/queues/0/blocks/0/instructions/0/blocks/0/instructions/0/ins/0/memref", r#""nope""#,
        "J006: there is no memory location named nope | function queue q0, block blk0-b, instruction d0 (DMADescriptorCopy), operand ins[0] | nope"),
    ("+/queues/0/blocks/0/instructions", r#"{"name": "n", "opcode": "NoOp", "engine": "DMA"}"#,
        "J009: a queue holds DMABlock instructions only | function queue q0, instruction n (NoOp) | -"),
    ("+/queues/0/blocks/0/instructions", r#"{"name": "blk0", "opcode": "DMABlock", "engine": "DMA"}"#,
        "J007: the DMABlock blk0 is declared twice | function queue q0 | blk0"),
    ("/functions/0/allocations/0/Skind", r#""tensor""#,
        "J005: Skind is memory_location_set, memory_location or register | function main, operand Skind, tensor x_set | tensor"),
    ("/functions/0/allocations/0/name", "",
        "J003: a storage record has no key `name` | function main, operand name, tensor #0 | -"),
    ("/functions/0/allocations/0/dtype", r#""float7""#,
        "J005: Dtype has no such value | function main, operand dtype, tensor x_set | float7"),
    ("/functions/0/allocations/0/dtype", "",
        "J003: a memory_location_set has no key `dtype` | function main, operand dtype, tensor x_set | -"),
    ("/functions/0/allocations/0/kind", r#""Exotic""#,
        "J005: TensorKind has no such value | function main, operand kind, tensor x_set | Exotic"),
    ("/functions/0/allocations/0/tensor_shape", "",
        "J003: a memory_location_set has no key `tensor_shape` | function main, operand tensor_shape, tensor x_set | -"),
    ("/functions/0/allocations/0/tensor_shape", "[4, -8]",
        "J002: expected an unsigned integer | function main, operand tensor_shape, tensor x_set | integer `-8`"),
    ("/functions/0/allocations/0/tensor_shape", "[4294967296, 4294967296, 4294967296]",
        "J013: a tensor has at most 16 dimensions and 2^40 bytes | function main, operand tensor_shape, tensor x_set | [4294967296, 4294967296, 4294967296]"),
    ("/functions/0/allocations/0/tensor_shape", "[4, 9]",
        "J013: the tensor's 144 bytes do not fit the 128 bytes of its locations | function main, operand dims, tensor x_set | [4, 9] of float32"),
    ("/functions/0/allocations/0/partition_dim", "2",
        "J011: the partition dimension is one of the 2 dimensions of the shape | function main, operand partition_dim, tensor x_set | 2"),
    ("/functions/0/allocations/0/memorylocations", "",
        "J003: a memory_location_set has no key `memorylocations` | function main, operand memorylocations, tensor x_set | -"),
    ("/functions/0/allocations/0/memorylocations/0/dims", "[]",
        "J013: dims are [partitions, bytes per partition], all positive, 2^40 bytes at most | function main, operand dims, tensor x | []"),
    ("/functions/0/allocations/0/memorylocations/0/dims", "[4, 0]",
        "J013: dims are [partitions, bytes per partition], all positive, 2^40 bytes at most | function main, operand dims, tensor x | [4, 0]"),
    ("/functions/0/allocations/0/memorylocations/0/dims", "[1099511627776, 1099511627776]",
        "J013: dims are [partitions, bytes per partition], all positive, 2^40 bytes at most | function main, operand dims, tensor x | [1099511627776, 1099511627776]"),
    ("/functions/0/allocations/0/memorylocations/0/dims", "[4, 33]",
        "J013: a row of 33 bytes holds no whole number of float32 elements | function main, operand dims, tensor x | [4, 33]"),
    ("/functions/0/allocations/0/memorylocations/0/dims", "",
        "J003: a memory location has no key `dims` | function main, operand dims, tensor x | -"),
    ("/functions/0/allocations/0/memorylocations/0/type", r#""HBM""#,
        "J005: MemoryType has no such value | function main, operand type, tensor x | HBM"),
    ("/functions/0/allocations/0/memorylocations/0/type", "",
        "J003: a memory location has no key `type` | function main, operand type, tensor x | -"),
    ("/functions/0/allocations/0/memorylocations/0/addr", "-1",
        "J002: expected an unsigned integer | function main, operand addr, tensor x | integer `-1`"),
    ("/functions/0/allocations/0/memorylocations/0/addr", "18446744073709551615",
        "J013: the address leaves 64 bits | function main, operand addr, tensor x | 18446744073709551615"),
    ("/functions/0/allocations/0/memorylocations/0/alias", r#"[["only"]]"#,
        r#"J002: an alias entry is [set, location, bits] or [location, bits] | function main, operand alias, tensor x | ["only"]"#),
    ("/functions/0/allocations/0/memorylocations/0/alias", r#"[["nowhere", 1]]"#,
        "J006: there is no memory location named nowhere | function main, operand alias, tensor x | nowhere"),
    ("/functions/0/allocations/0/memorylocations/0/pointer_ref_memloc", r#""nowhere""#,
        "J006: there is no memory location named nowhere | function main, operand pointer_ref_memloc, tensor x | nowhere"),
    ("/functions/0/allocations/1/memorylocations/0/base", "-32",
        "J011: the first partition is not negative | function main, operand base, tensor t | -32"),
    ("/functions/0/allocations/1/memorylocations/0/dims", "[128]",
        "J013: dims are [partitions, bytes per partition], all positive, 2^40 bytes at most | function main, operand dims, tensor t | [128]"),
    ("/functions/0/allocations/2/memorylocations/0/bank", "8",
        "J011: PSUM has the banks 0 to 7 | function main, operand bank, tensor p | 8"),
    ("/functions/0/allocations/3/memorylocations/1/name", r#""b_sub0""#,
        "J007: the memory location b_sub0 is declared twice | function main | b_sub0"),
    ("/functions/0/allocations/1/name", r#""x_set""#,
        "J007: the tensor set x_set is declared twice | function main | x_set"),
    ("/functions/0/allocations/5/numPhysicalRegs", "3",
        "J011: a register takes 1 or 2 physical registers | function main, operand numPhysicalRegs, tensor r0 | 3"),
    ("/functions/0/allocations/5/reg_id", "-2",
        "J011: a physical register id is below 1024, or -1 for none | function main, operand reg_id, tensor r0 | -2"),
    ("/functions/0/allocations/5/engine", r#""CPU""#,
        "J005: Engine has no such value | function main, operand engine, tensor r0 | CPU"),
    ("+/functions/0/allocations", r#"{"Skind": "register", "name": "r0"}"#,
        "J007: the register r0 is declared twice | function main | r0"),
    ("/functions/1/arguments", r#"["g_set"]"#,
        "J006: the formal argument g_set is not a tensor set of the function | function callee, operand arguments | g_set"),
    ("/functions/0/blocks/0/arguments", r#"[{"name": "r9", "incoming_values": []}]"#,
        "J006: the block argument r9 is not a register of the function | function main, block Block1, operand arguments | r9"),
    ("/functions/0/blocks/0/arguments", r#"[{"name": "r0", "incoming_values": [["r0", "Block9"]]}]"#,
        "J006: there is no block named Block9 in this function | function main, block Block1, operand incoming_values | Block9"),
    ("/functions/0/blocks/0/arguments", r#"[{"name": "r0", "incoming_values": [["r0"]]}]"#,
        r#"J002: an incoming value is [value, block] | function main, block Block1, operand incoming_values | ["r0"]"#),
    ("@load/name", "",
        "J003: an instruction has no key `name` | function main, block Block1, instruction #0 (Load), operand name | -"),
    ("@load/opcode", "",
        "J003: an instruction has no key `opcode` | function main, block Block1, instruction load, operand opcode | -"),
    ("@load/opcode", r#""Lode""#,
        "J004: no InstructionType has this name | function main, block Block1, instruction load (Lode), operand opcode | Lode"),
    ("@load/opcode", "110",
        "J004: no InstructionType has this ordinal | function main, block Block1, instruction load, operand opcode | 110"),
    ("@load/opcode", r#""DMA""#,
        "J010: DMA is a base type, not an instruction | function main, block Block1, instruction load (DMA) | DMA"),
    ("@load/engine", "",
        "J003: an instruction has no key `engine` | function main, block Block1, instruction load (Load), operand engine | -"),
    ("@load/engine", r#""TPU""#,
        "J005: Engine has no such value | function main, block Block1, instruction load (Load), operand engine | TPU"),
    ("@load/engine_id", "-1",
        "J002: expected an unsigned 32-bit integer | function main, block Block1, instruction load (Load), operand engine_id | integer `-1`"),
    ("@load/ins", "[]",
        "J009: Load takes 1 operand in `ins` (in) | function main, block Block1, instruction load (Load), operand ins | 0"),
    ("@load/ins", "{}",
        "J002: expected a list | function main, block Block1, instruction load (Load), operand ins | map"),
    ("+@load/ins", r#"{"kind": "physical_ap", "memref": "x", "dtype": "float32", "ap": [[8, 4], [1, 8]]}"#,
        "J009: Load takes 1 operand in `ins` (in) | function main, block Block1, instruction load (Load), operand ins | 2"),
    ("@load/ins/0/kind", r#""abstract_ap""#,
        "J005: an operand's kind is physical_ap, symbolic_ap, symbolic_pwap, register_ap, imm_value, symbolic_imm_value, imm_array or register_access | function main, block Block1, instruction load (Load), operand ins[0].kind | abstract_ap"),
    ("@load/ins/0/kind", "",
        "J003: an operand has no key `kind` | function main, block Block1, instruction load (Load), operand ins[0].kind | -"),
    ("@load/ins/0/dtype", "",
        "J003: an operand of kind physical_ap has no key `dtype` | function main, block Block1, instruction load (Load), operand ins[0].dtype | -"),
    ("@load/ins/0/dtype", r#""complex64""#,
        "J005: Dtype has no such value | function main, block Block1, instruction load (Load), operand ins[0].dtype | complex64"),
    ("@load/ins/0/ap", "",
        "J003: an operand of kind physical_ap has no key `ap` | function main, block Block1, instruction load (Load), operand ins[0].ap | -"),
    ("@load/ins/0/ap", "[]",
        "J008: an access pattern has 1 to 8 pairs | function main, block Block1, instruction load (Load), operand ins[0].ap | 0 pairs"),
    ("@load/ins/0/ap", "[[1, 1], [1, 1], [1, 1], [1, 1], [1, 1], [1, 1], [1, 1], [1, 1], [1, 1]]",
        "J008: an access pattern has 1 to 8 pairs | function main, block Block1, instruction load (Load), operand ins[0].ap | 9 pairs"),
    ("@load/ins/0/ap", "[[8]]",
        "J008: a pair is [step, num] | function main, block Block1, instruction load (Load), operand ins[0].ap | 1 numbers"),
    ("@load/ins/0/ap", "[[8, 4, 1]]",
        "J008: a pair is [step, num] | function main, block Block1, instruction load (Load), operand ins[0].ap | more than 2 numbers"),
    ("@load/ins/0/ap", r#"[{"step": 8}]"#,
        "J008: a pair has `step` and `num` | function main, block Block1, instruction load (Load), operand ins[0].ap | an object without one of them"),
    ("@load/ins/0/ap", "[[8, -4], [1, 8]]",
        "J008: a count of an access pattern is not negative | function main, block Block1, instruction load (Load), operand ins[0].ap | -4"),
    ("@load/ins/0/ap", "[[8, 4.5], [1, 8]]",
        "J002: expected an integer | function main, block Block1, instruction load (Load), operand ins[0].ap | floating point `4.5`"),
    ("@load/ins/0/ap", "[[9223372036854775807, 4], [1, 8]]",
        "J008: an access pattern leaves the 64-bit range | function main, block Block1, instruction load (Load), operand ins[0].ap | offsets 0 to 27670116110564327428"),
    ("@load/ins/0/ap", "[[0, 4294967296], [0, 4294967296]]",
        "J008: an access pattern has at most 2^40 elements | function main, block Block1, instruction load (Load), operand ins[0].ap | [4294967296, 4294967296]"),
    ("@load/ins/0/ap", "[[9223372036854775808, 4]]",
        "J002: expected an integer below 2^63 | function main, block Block1, instruction load (Load), operand ins[0].ap | integer `9223372036854775808`"),
    ("@load/ins/0/offset", r#""zero""#,
        r#"J002: expected an integer | function main, block Block1, instruction load (Load), operand ins[0].offset | string "zero""#),
    ("@load/ins/0/memref", r#""y""#,
        "J006: the tensor set x_set has no memory location named y | function main, block Block1, instruction load (Load), operand ins[0] | y"),
    ("@load/ins/0/memsetref", r#""y_set""#,
        "J006: there is no tensor set named y_set | function main, block Block1, instruction load (Load), operand ins[0] | y_set"),
    ("@load/outs/0", r#"{"kind": "register_access", "dtype": "uint32", "regref": "r0"}"#,
        "J009: the operand `out` is an access pattern | function main, block Block1, instruction load (Load), operand outs[0] | register_access"),
    ("@load/blocks", r#"[{"name": "B", "instructions": []}]"#,
        "J009: only loops and DMABlock own blocks | function main, block Block1, instruction load (Load), operand blocks | 1 blocks"),
    ("@load/dge_type", r#""XDGE""#,
        "J005: DgeType has no such value | function main, block Block1, instruction load (Load), operand dge_type | XDGE"),
    ("@scale/ins/0/memref", "",
        "J006: the operand names no memory location | function main, block Block1, instruction scale (TensorScalar), operand ins[0] | (no name)"),
    ("@scale/outs/0/memsetref", r#""b_set""#,
        "J006: the tensor set b_set has 2 locations and `memref` names none | function main, block Block1, instruction scale (TensorScalar), operand outs[0] | b_set"),
    ("@scale/op0", "",
        "J003: TensorScalar has no key `op0` | function main, block Block1, instruction scale (TensorScalar), operand op0 | -"),
    ("@scale/op0", r#""plus""#,
        "J005: AluOp has no such value | function main, block Block1, instruction scale (TensorScalar), operand op0 | plus"),
    ("@scale/op0", "33",
        "J005: AluOp has no such value | function main, block Block1, instruction scale (TensorScalar), operand op0 | 33"),
    ("@scale/op0", "true",
        "J002: expected a name of AluOp | function main, block Block1, instruction scale (TensorScalar), operand op0 | true"),
    ("@scale/const0", r#""two""#,
        r#"J002: expected a number | function main, block Block1, instruction scale (TensorScalar), operand const0 | "two""#),
    ("@scale/reverse0", "2",
        "J002: expected true or false | function main, block Block1, instruction scale (TensorScalar), operand reverse0 | 2"),
    ("@scale/const1", r#"{"kind": "AffIVKind", "axis": "i"}"#,
        "J006: no enclosing loop has an axis named i | function main, block Block1, instruction scale (TensorScalar), operand const1 | i"),
    ("@scale/const1", r#"{"kind": "MagicKind"}"#,
        "J012: unknown kind of expression | function main, block Block1, instruction scale (TensorScalar), operand const1 | MagicKind"),
    ("@scale/const1", r#"{"kind": "AffIVKind"}"#,
        "J003: an expression of kind AffIVKind has no key `axis` | function main, block Block1, instruction scale (TensorScalar), operand const1 | -"),
    ("@scale/const1", r#"{"kind": "FloorDivKind", "numer": {"kind": "AffIVKind", "axis": "i"}, "denom": 0}"#,
        "J012: an expression divides by zero | function main, block Block1, instruction scale (TensorScalar), operand const1 | 0"),
    ("@scale/const1", r#"{"kind": "ShardIDKind", "ub": 0}"#,
        "J012: a shard id has a positive upper bound | function main, block Block1, instruction scale (TensorScalar), operand const1 | 0"),
    ("@scale/const1", r#"{"terms": [], "c": 1, "op": "Pow", "op_param": 2}"#,
        "J012: unknown operation of an expression | function main, block Block1, instruction scale (TensorScalar), operand const1 | Pow"),
    ("@scale/const1", "{}",
        "J012: an expression has `kind`, or `terms` and `c` | function main, block Block1, instruction scale (TensorScalar), operand const1 | an object without them"),
    ("@scale/dependencies", r#"[["nobody", "Flow"]]"#,
        "J006: there is no instruction named nobody | function main, block Block1, instruction scale (TensorScalar), operand dependencies | nobody"),
    ("@scale/dependencies", r#"[["load", "Weak"]]"#,
        "J005: EdgeKind has no such value | function main, block Block1, instruction scale (TensorScalar), operand dependencies | Weak"),
    ("@product/outs", "[]",
        "J009: Matmult takes 1 operand in `outs` (out) | function main, block Block1, instruction product (Matmult), operand outs | 0"),
    ("@product/accumulation_flag", "5",
        "J011: an accumulation flag is 0, 1, 2, 3, 4 or 6 | function main, block Block1, instruction product (Matmult), operand accumulation_flag | 5"),
    ("@product/accumulation_flag", "256",
        "J011: `accumulation_flag` is 0 to 255 | function main, block Block1, instruction product (Matmult), operand accumulation_flag | 256"),
    ("@product/tile_size", "[1]",
        "J011: `tile_size` is [rows, columns] | function main, block Block1, instruction product (Matmult), operand tile_size | 1 numbers"),
    ("@product/ins/1", r#"{"kind": "imm_value", "dtype": "float32", "value": 1.0}"#,
        "J009: the operand `weights` is an access pattern | function main, block Block1, instruction product (Matmult), operand ins[1] | imm_value"),
    ("@product/perf_mode", r#""Turbo""#,
        "J005: MatmultPerfMode has no such value | function main, block Block1, instruction product (Matmult), operand perf_mode | Turbo"),
    ("@loop/LoopAxis/stride", "-1",
        "J011: the stride of a loop is not negative | function main, block Block1, instruction loop (Loop), operand LoopAxis | -1"),
    ("@loop/LoopAxis/name", "",
        "J003: an axis has no key `name` | function main, block Block1, instruction loop (Loop), operand LoopAxis | -"),
    ("@loop/LoopAxis/ub", "",
        "J003: an axis has no key `ub` | function main, block Block1, instruction loop (Loop), operand LoopAxis | -"),
    ("@loop/LoopAxis", "[0, 4]",
        "J002: expected an axis {name, lb, ub, stride} | function main, block Block1, instruction loop (Loop), operand LoopAxis | [0,4]"),
    ("@loop/blocks/0/instructions/0/outs/0/addrs", "[]",
        "J012: a symbolic pattern has at least one address expression | function main, block loop-body, instruction fill (Memset), operand outs[0].addrs | []"),
    ("@loop/blocks/0/instructions/0/outs/0/addrs", "",
        "J003: an operand of kind symbolic_ap has no key `addrs` | function main, block loop-body, instruction fill (Memset), operand outs[0].addrs | -"),
    ("@loop/blocks/0/instructions/0/outs/0/addrs/0/terms/0/idx/axis", r#""k""#,
        "J006: no enclosing loop has an axis named k | function main, block loop-body, instruction fill (Memset), operand outs[0] | k"),
    ("@loop/blocks/0/instructions/0/outs/0/offset", "4",
        "J002: only a physical_ap has `offset` | function main, block loop-body, instruction fill (Memset), operand outs[0].offset | symbolic_ap"),
    ("@loop/blocks/0/instructions/0/constant", "",
        "J003: Memset has no key `constant` | function main, block loop-body, instruction fill (Memset), operand constant | -"),
    ("@loop/blocks/0/instructions/0/constant", "1.5",
        "J002: expected an integer | function main, block loop-body, instruction fill (Memset), operand constant | 1.5"),
    ("+@loop/blocks/0/instructions", r#"{"name": "inner", "opcode": "Loop", "engine": "ALL", "LoopAxis": {"name": "i", "lb": 0, "ub": 1}, "blocks": [{"name": "n", "instructions": []}]}"#,
        "J007: an enclosing loop has the axis i too | function main, block loop-body, instruction inner (Loop) | i"),
    ("@count/outs/0/regref", r#""r1""#,
        "J006: there is no register named r1 in this function | function main, block Block1, instruction count (RegisterMove), operand outs[0] | r1"),
    ("@count/outs/0/regref", "",
        "J003: an operand of kind register_access has no key `regref` | function main, block Block1, instruction count (RegisterMove), operand outs[0].regref | -"),
    ("@count/ins/0/value", "-1",
        "J011: an immediate does not fit uint32 | function main, block Block1, instruction count (RegisterMove), operand ins[0] | -1"),
    ("@count/ins/0/value", "0.5",
        "J011: an immediate does not fit uint32 | function main, block Block1, instruction count (RegisterMove), operand ins[0] | 0.5"),
    ("@count/ins/0/value", "",
        "J003: an operand of kind imm_value has no key `value` | function main, block Block1, instruction count (RegisterMove), operand ins[0].value | -"),
    ("@count/ins/0/dtype", r#""float8e4""#,
        "J011: an immediate is an integer, float32, float16 or bfloat16 | function main, block Block1, instruction count (RegisterMove), operand ins[0] | float8e4"),
    ("@count/ins/0", r#"{"kind": "imm_array", "dtype": "uint32", "value_array": []}"#,
        "J009: a list of immediates holds at least one value | function main, block Block1, instruction count (RegisterMove), operand ins[0] | -"),
    ("@dynamic/DynamicForLoopAxis", "",
        "J003: DynamicForLoop has no key `DynamicForLoopAxis` | function main, block Block1, instruction dynamic (DynamicForLoop), operand DynamicForLoopAxis | -"),
    ("@dynamic/DynamicForLoopAxis/ub", "4",
        "S010: the upper bound of a DynamicForLoop is a constant plus one register with a coefficient | function main, block Block1, instruction dynamic (DynamicForLoop), operand DynamicForLoopAxis | 4"),
    ("@while/cond", "",
        "J003: DoWhile has no key `cond` | function main, block Block1, instruction while (DoWhile), operand cond | -"),
    ("@while/cond", r#"{"kind": "AffExprKind", "c": 1}"#,
        "J012: the condition of a DoWhile is one register | function main, block Block1, instruction while (DoWhile), operand cond | 1"),
    ("@call/target", r#""nobody""#,
        "J006: there is no function named nobody | function main, block Block1, instruction call (Call), operand target | nobody"),
    ("@call/arguments", r#"{"g_set": "t_set"}"#,
        "J006: the function callee has no tensor set named g_set to bind | function main, block Block1, instruction call (Call), operand arguments | g_set"),
    ("@call/arguments", r#"{"f_set": "u_set"}"#,
        "J006: the calling function has no tensor set named u_set | function main, block Block1, instruction call (Call), operand arguments | u_set"),
    ("@call/arguments", r#"{"f_set": 3}"#,
        r#"J002: expected a map of names, or a list of [name, name] | function main, block Block1, instruction call (Call), operand arguments | {"f_set":3}"#),
    ("@fire/queue", r#""q9""#,
        "J006: there is no queue named q9 | function main, block Block1, instruction fire (DMATrigger), operand queue | q9"),
    ("@fire/dma_blocks", r#"["blk9"]"#,
        "J006: the queue q0 has no DMABlock named blk9 | function main, block Block1, instruction fire (DMATrigger), operand dma_blocks | blk9"),
    ("@shuffle/mask", "[0, 1]",
        "J011: a shuffle mask has 32 entries | function main, block Block1, instruction shuffle (StreamShuffle), operand mask | 2"),
    ("@shuffle/mask/5", "32",
        "J011: an entry of a shuffle mask is 0 to 31, or 255 to keep the destination | function main, block Block1, instruction shuffle (StreamShuffle), operand mask | 32"),
    ("@shuffle/mask", r#""identity""#,
        r#"J002: expected a list | function main, block Block1, instruction shuffle (StreamShuffle), operand mask | "identity""#),
    ("@wait/sync_info/on_wait/0/id", "256",
        "J011: semaphore and event ids are 0..255 | function main, block Block1, instruction wait (NoOp), operand on_wait[0] | 256"),
    ("@wait/sync_info/on_wait/0/id", "",
        "J003: a wait has no key `id` | function main, block Block1, instruction wait (NoOp), operand on_wait[0].id | -"),
    ("@wait/sync_info/on_wait/0/wait_mode", r#""sem-eq-imm""#,
        "J005: WaitMode has no such value | function main, block Block1, instruction wait (NoOp), operand on_wait[0].wait_mode | sem-eq-imm"),
    ("@wait/sync_info/on_wait/0/wait_mode", r#""evt-set-clear""#,
        "S005: the wait mode evt-set-clear does not fit a wait of type semaphore | function main, block Block1, instruction wait (NoOp), operand on_wait[0] | evt-set-clear"),
    ("@wait/sync_info/on_wait/0/wait_mode", r#""sem-ge-reg""#,
        "J003: a sem-ge-reg wait names its register in `regref` | function main, block Block1, instruction wait (NoOp), operand on_wait[0] | -"),
    ("@wait/sync_info/on_wait/0/type", r#""event""#,
        "S004: the wait mode sem-ge-imm does not fit a wait of type event | function main, block Block1, instruction wait (NoOp), operand on_wait[0] | sem-ge-imm"),
    ("@wait/sync_info/on_update/0/update_value", "2",
        "S005: the value of sem-inc is 1 | function main, block Block1, instruction wait (NoOp), operand on_update[0] | 2"),
    ("@wait/sync_info/on_update/0/update_mode", r#""evt-set""#,
        "S005: the update mode evt-set does not fit an update of type semaphore | function main, block Block1, instruction wait (NoOp), operand on_update[0] | evt-set"),
    ("@wait/sync_info/on_update/0/target_core", "5000",
        "J011: a target core is below 1024 | function main, block Block1, instruction wait (NoOp), operand on_update[0] | 5000"),
    ("@wait/sync_info/on_wait/0/wait_value", "-1",
        "J002: expected an unsigned 32-bit integer | function main, block Block1, instruction wait (NoOp), operand on_wait[0].wait_value | integer `-1`"),
    ("@reset/sema_group", "[3, 300]",
        "J011: semaphore and event ids are 0..255 | function main, block Block1, instruction reset (GroupResetSemaphores), operand sema_group | 300"),
    ("@gather/ins/0/reg_ap_offset", r#""r7""#,
        "J006: there is no register named r7 in this function | function main, block Block1, instruction gather (DMACopy), operand ins[0] | r7"),
    ("@gather/ins/0/const_sub_tensor_id", "-2",
        "J011: a sub-tensor index is not negative, or -1 for none | function main, block Block1, instruction gather (DMACopy), operand ins[0].const_sub_tensor_id | -2"),
    ("@gather/oob_is_err", r#""yes""#,
        r#"J002: expected true or false | function main, block Block1, instruction gather (DMACopy), operand oob_is_err | "yes""#),
    ("@scatter/outs/0/dynamic_ap_info/aff_expr", r#"[[{"kind": "IndirectArgId", "arg_id": 1}, 1]]"#,
        "J012: a dynamic address is a register or an index tensor, not both | function main, block Block1, instruction scatter (DMACopy), operand outs[0].dynamic_ap_info | 1 registers, 1 index tensors"),
    ("@scatter/outs/0/dynamic_ap_info/offset_expr", r#"{"kind": "IndirectArgId", "arg_id": 1}"#,
        "J009: a dynamic address names an index operand that the instruction lacks | function main, block Block1, instruction scatter (DMACopy), operand outs[0].dynamic_ap_info | no operand in `indirection_ins`"),
    ("@scatter/outs/0/dynamic_ap_info/indirect_dim", r#""Q""#,
        "J005: IndirectDim has no such value | function main, block Block1, instruction scatter (DMACopy), operand outs[0].indirect_dim | Q"),
    ("@ramp/pattern", "[]",
        "J008: `pattern` has 1 to 8 pairs | function main, block Block1, instruction ramp (Iota), operand pattern | 0 pairs"),
    ("@ramp/pattern", "[[1, -8]]",
        "J008: a count of `pattern` is not negative | function main, block Block1, instruction ramp (Iota), operand pattern | -8"),
    ("@ramp/pattern", "[1, 8]",
        "J008: a pair is [step, num] | function main, block Block1, instruction ramp (Iota), operand pattern | 1"),
    ("@ramp/base", "",
        "J003: Iota has no key `base` | function main, block Block1, instruction ramp (Iota), operand base | -"),
    ("@sum/replica_groups", "[[0, -1]]",
        "J011: `replica_groups` holds global ranks | function main, block Block1, instruction sum (CollectiveCompute), operand replica_groups | -1"),
    ("@sum/replica_groups", "[0, 1]",
        "J002: expected a list | function main, block Block1, instruction sum (CollectiveCompute), operand replica_groups | 0"),
    ("@sum/src_target_pairs", "[[0, 1, 2]]",
        "J011: `src_target_pairs` holds [source, target] pairs | function main, block Block1, instruction sum (CollectiveCompute), operand src_target_pairs | [0, 1, 2]"),
    ("@branch/on_true", r#""Block9""#,
        "J006: there is no block named Block9 in this function | function main, block Block1, instruction branch (CompareAndBranch), operand on_true | Block9"),
    ("@branch/comp_op", r#""IS_GTREG""#,
        "J009: a comparison with a register reads ins[1] as a register | function main, block Block1, instruction branch (CompareAndBranch), operand ins[1] | imm_value"),
    ("@branch/comp_op", r#""Unsupported""#,
        "U002: the comparison of this branch is marked unsupported | function main, block Block1, instruction branch (CompareAndBranch), operand comp_op | Unsupported"),
    ("@branch/ins/0", r#"{"kind": "physical_ap", "memref": "t", "dtype": "float32", "ap": [[8, 4], [1, 8]]}"#,
        "J009: the operand `a` is an immediate or a register | function main, block Block1, instruction branch (CompareAndBranch), operand ins[0] | physical_ap"),
    ("@save/predicates/0/op", r#""almost""#,
        "J012: a predicate's op is ge, eq, lt, le, gt or ne | function main, block Block2, instruction save (Save), operand op | almost"),
    ("@save/predicates/0/expr", r#"{"kind": "IntRuntimeValueKind", "regref": "r5"}"#,
        "J006: there is no register named r5 in this function | function main, block Block2, instruction save (Save), operand predicates | r5"),
];
