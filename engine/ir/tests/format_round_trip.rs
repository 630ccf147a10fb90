//! Everything a module can hold, written and read back.

use birsim_ir::format::{parse, read, write};
use birsim_ir::table::{Absence, Field};
use birsim_ir::*;
use birsim_kernels::Dtype;
use serde_json::json;

fn extra() -> Extra {
    json!({"zz_unknown": {"nested": [1, "two", null]}}).as_object().cloned().unwrap().into()
}

fn axis_term(name: &str, k: i64) -> Expr {
    Expr::Affine { terms: vec![(Expr::Axis(name.to_string()), k)], c: -3 }
}

/// One expression of every kind.
fn expressions() -> Vec<Expr> {
    let reg = || Expr::Register("r0".to_string());
    vec![
        Expr::Const(-7),
        axis_term("i", 5),
        Expr::Axis("i".to_string()),
        reg(),
        Expr::ShardId { ub: 2 },
        Expr::Sum(vec![Expr::Const(1), reg()]),
        Expr::Mult(Box::new(reg()), -4),
        Expr::FloorDiv(Box::new(axis_term("i", 1)), Box::new(Expr::Const(3))),
        Expr::Modulo(Box::new(reg()), Box::new(Expr::Const(8))),
        Expr::CcDiv { numer: Box::new(reg()), denom: Box::new(Expr::Const(2)), replica_groups_id: 1 },
        Expr::CcGetRank { iteration_id: 3, channel_id: 4 },
        Expr::IndirectArg { arg_id: 1 },
    ]
}

/// A value of the field's type that is not its default.
fn sample(f: &Field, n: usize) -> Value {
    let other = |values: &[(u8, &str)], d: Option<u8>| values.iter().map(|v| v.0).find(|o| Some(*o) != d).unwrap();
    match f.ty {
        FieldType::Bool => Value::Bool(!matches!(f.default, Absence::Bool(true))),
        FieldType::Int(_, hi) => Value::Int(if n.is_multiple_of(2) { hi } else { 17 }),
        FieldType::Bits => Value::Int(if n.is_multiple_of(2) { -1 } else { 0x3fc0_0000 }),
        FieldType::Float => Value::Float([f64::NEG_INFINITY, -3.4028234663852886e38, 0.1, -0.0][n % 4]),
        FieldType::Str => Value::Str("a \"name\"\n\u{e9}".to_string()),
        FieldType::Enum(def) => {
            let default = if let Absence::Enum(d) = f.default { Some(d) } else { None };
            Value::Enum(other(def.values, default))
        }
        FieldType::Ints | FieldType::Exprs => Value::Ints(vec![Expr::Const(255), axis_term("i", 2), Expr::Const(-1)]),
        FieldType::Floats => Value::Floats(vec![1.5, f64::INFINITY, -0.25]),
        FieldType::Strs | FieldType::Axes => Value::Strs(vec!["b0".to_string(), "b1".to_string()]),
        FieldType::Enums(def) => Value::Enums(def.values.iter().map(|v| v.0).rev().collect()),
        FieldType::Pairs => Value::Pairs(vec![(-1, 4), (i64::MAX, 1)]),
        FieldType::Groups => Value::Groups(vec![vec![0, 1], vec![], vec![2]]),
        FieldType::Map => Value::Map(vec![("a".to_string(), "x".to_string()), ("b".to_string(), "y".to_string())]),
        FieldType::Expr => Value::Expr(expressions()[n % 12].clone()),
        FieldType::Axis => Value::Axis(Box::new(Axis {
            name: "i".to_string(),
            lb: Expr::Const(1),
            ub: axis_term("j", 2),
            stride: Expr::Const(3),
        })),
        FieldType::Json => Value::Json(json!([1, {"k": "v"}, "text"])),
    }
}

fn pair(step: i64, num: i64) -> ApPair {
    ApPair { step, num }
}

/// One operand of every kind, all keys set.
fn operands() -> Vec<Operand> {
    let ap = || vec![pair(64, 128), pair(-1, 64)];
    let text = |s: &str| s.to_string();
    vec![
        Operand::Physical(PhysicalAp {
            dtype: Dtype::Bfloat16,
            memref: "x".into(),
            memsetref: "x_set".into(),
            offset: 7,
            ap: ap().into(),
            dynamic: Some(Box::new(DynamicAp {
                offset_expr: Some(Expr::Register(text("r0"))),
                actual_ap: vec![pair(1, 2)],
                c: Some(3),
                aff_expr: vec![(Expr::Axis(text("i")), 4)],
                indirect_dim: Some(IndirectDim::Z),
                indirect_dim_max_index: Some(5),
                num_indirect_args: Some(6),
                indirect_arg_id: Some(7),
                extra: extra(),
            })),
            extra: extra(),
        }),
        Operand::Symbolic(Box::new(SymbolicAp {
            dtype: Dtype::Float32,
            pwap: true,
            memsetref: "x_set".into(),
            memref: "x".into(),
            ap: ap().into(),
            addrs: expressions(),
            tensor_indirect_arg_id: 2,
            num_tensor_indirect_indices: Some(9),
            extra: extra(),
        })),
        Operand::RegisterAp(Box::new(RegisterAp {
            dtype: Dtype::Float8E4m3fnX4,
            memsetref: "x_set".into(),
            memref: "x".into(),
            ap: ap().into(),
            regref: Some(text("r1")),
            is_regloc_offset: true,
            reg_ap_offset: Some(text("r0")),
            const_ap_offset: 12,
            reg_sub_tensor_id: Some(text("r2")),
            const_sub_tensor_id: 1,
            extra: extra(),
        })),
        Operand::Register { dtype: Dtype::Int32, regref: text("r0"), extra: extra() },
    ]
}

fn immediates() -> Vec<Operand> {
    vec![
        Operand::Imm { dtype: Dtype::Uint64, value: ImmValue::Int(u64::MAX.into()), extra: extra() },
        Operand::Imm { dtype: Dtype::Float32, value: ImmValue::Float(f64::NEG_INFINITY), extra: Extra::new() },
        Operand::SymbolicImm {
            dtype: Dtype::Int64,
            values: vec![ImmValue::Int(i64::MIN.into()), ImmValue::Int(1)],
            expr: Expr::Axis("i".to_string()),
            extra: extra(),
        },
        Operand::ImmArray { dtype: Dtype::Float32, values: vec![ImmValue::Float(0.1)], extra: extra() },
    ]
}

fn full_instruction(opcode: Opcode, n: usize) -> Instruction {
    let mut i = Instruction::new(format!("I-{n}"), opcode, Engine::Dve);
    for (index, f) in opcode.row().fields.iter().enumerate() {
        i.fields[index] = Some(sample(f, n + index));
    }
    i.engine_id = 3;
    i.ins = operands().into_iter().chain(immediates()).collect();
    i.outs = operands();
    i.indirection_ins = operands().into();
    i.sync = SyncInfo {
        on_wait: WaitMode::ALL
            .iter()
            .map(|m| WaitRef {
                kind: if *m == WaitMode::EvtSetClear { SyncKind::Event } else { SyncKind::Semaphore },
                id: 255,
                mode: *m,
                value: 16,
                regref: Some("r0".into()),
                from: Some("I-0".into()),
                extra: extra(),
            })
            .collect(),
        on_update: UpdateMode::ALL
            .iter()
            .map(|m| UpdateRef {
                kind: if *m == UpdateMode::EvtSet { SyncKind::Event } else { SyncKind::Semaphore },
                id: 4,
                mode: *m,
                value: 16,
                target_core: Some(1),
                extra: extra(),
            })
            .collect(),
        second_update: ThinVec::new(),
        extra: extra(),
    };
    // Only a barrier has a second list.
    if i.opcode == Opcode::AllEngineBarrier {
        i.sync.second_update = i.sync.on_update.clone();
    }
    i.predicates = PredicateOp::ALL.iter().zip(expressions()).map(|(op, expr)| Predicate { expr, op: *op }).collect();
    i.loopnest = ["i".to_string(), "j".to_string()].into();
    i.dependencies = EdgeKind::ALL.iter().map(|k| Dependency { on: "I-0".to_string(), kind: *k }).collect();
    i.loop_carried_dependencies = [Dependency { on: "I-1".to_string(), kind: EdgeKind::Anti }].into();
    i.order = expressions().into();
    i.scheduled_start = -5;
    i.scheduled_end = i64::MAX;
    i.origin = Origin::Nki;
    i.debug = Some(Box::new(SourceLocation {
        lineno: Some(12),
        op_name: Some("add".to_string()),
        filename: Some("kernel.py".to_string()),
        extra: extra(),
    }));
    i.blocks = vec![Block {
        name: format!("I-{n}-body"),
        arguments: vec![BlockArgument {
            name: "r0".to_string(),
            incoming: vec![
                (Operand::Register { dtype: Dtype::Uint32, regref: "r1".to_string(), extra: Extra::new() }, "B".into()),
                (immediates().remove(0), "C".to_string()),
                (Operand::Register { dtype: Dtype::Int32, regref: "r1".to_string(), extra: Extra::new() }, "B".into()),
            ],
            extra: extra(),
        }],
        instructions: vec![Instruction::new("inner", Opcode::NoOp, Engine::Unassigned)],
        extra: extra(),
    }]
    .into();
    i.extra = extra();
    i
}

fn full_module() -> Module {
    let text = |s: &str| s.to_string();
    let location = Location {
        name: text("x"),
        ty: MemoryType::Psum,
        dims: vec![128, 2048],
        addr: 1 << 40,
        base: 32,
        bank: -3,
        allocated: true,
        user_allocated: true,
        pinned: true,
        tensor_id: 4,
        kind: Some(TensorKind::Pointer),
        addr_space: Some(AddressSpace::Debug),
        alias: vec![(text("y_set"), text("y"), 3), (String::new(), text("y"), 1)],
        pointer_ref_memloc: Some(text("y")),
        extra: extra(),
    };
    let set = LocationSet {
        name: text("x_set"),
        kind: TensorKind::ExternalInput,
        dtype: Dtype::Float16,
        tensor_shape: vec![2, 128, 1024],
        partition_dim: 1,
        addr_space: AddressSpace::Shared,
        tensor_class: Some(TensorClass::NeuronPsumTensor),
        locations: vec![location],
        file: text("x.npy"),
        extra: extra(),
    };
    let register = RegisterDecl {
        name: text("r0"),
        num_physical_regs: 2,
        engine: Engine::Pool,
        dtype: Dtype::Int64,
        reg_id: 11,
        extra: extra(),
    };
    let function = Function {
        name: text("main"),
        attributes: extra(),
        allocations: vec![Storage::Set(set), Storage::Register(register)],
        blocks: vec![Block {
            name: text("B"),
            arguments: Vec::new(),
            instructions: Opcode::all().enumerate().map(|(n, o)| full_instruction(o, n)).collect(),
            extra: extra(),
        }],
        arguments: vec![text("x_set")],
        extra: extra(),
    };
    let nki = Function { name: text("callee"), allocations: Vec::new(), blocks: Vec::new(), ..function.clone() };
    let queue = Queue {
        name: text("q0"),
        ty: QueueType::Output,
        blocks: vec![Block {
            name: text("q0-b"),
            arguments: Vec::new(),
            instructions: vec![full_instruction(Opcode::DMABlock, 1000)],
            extra: extra(),
        }],
        semaphores: vec![1, 2],
        use_special_sema: vec![3],
        extra: extra(),
    };
    Module {
        version: 2,
        arch: Some(Arch::CoreV4),
        revision: Some(text("v2")),
        attributes: extra(),
        functions: vec![function],
        nki_functions: vec![nki],
        queues: vec![queue],
        extra: extra(),
    }
}

#[test]
fn every_field_of_every_opcode_survives() {
    let module = full_module();
    let text = write(&module);
    let back = parse(text.as_bytes()).unwrap_or_else(|e| panic!("{e}"));
    // One instruction at a time first, so that a failure names it.
    for (a, b) in module.functions[0].blocks[0].instructions.iter().zip(&back.functions[0].blocks[0].instructions) {
        assert_eq!(a, b, "{}", a.opcode);
    }
    assert_eq!(module, back);
    assert_eq!(write(&back), text);
}

#[test]
fn samples_are_not_defaults() {
    for opcode in Opcode::all() {
        for (n, f) in opcode.row().fields.iter().enumerate() {
            assert!(!f.default.is(&sample(f, n)), "{opcode}.{}", f.key);
        }
    }
}

#[test]
fn not_a_number_survives() {
    let mut module = Module::new(None);
    let i = Instruction::new("I", Opcode::MatchReplace, Engine::Dve).with("imm_value", f64::NAN);
    let block = Block { name: "B".to_string(), arguments: vec![], instructions: vec![i], extra: Extra::new() };
    module.functions.push(Function {
        name: "main".to_string(),
        attributes: Extra::new(),
        allocations: vec![],
        blocks: vec![block],
        arguments: vec![],
        extra: Extra::new(),
    });
    let text = write(&module);
    assert!(text.contains("\"imm_value\": \"nan\""), "{text}");
    let back = parse(text.as_bytes()).unwrap();
    let value = back.functions[0].blocks[0].instructions[0].field("imm_value");
    assert!(matches!(value, Some(Value::Float(x)) if x.is_nan()), "{value:?}");
}

#[test]
fn keys_are_sorted_and_lines_short() {
    let text = write(&full_module());
    let top: Vec<&str> = text.lines().filter(|l| l.starts_with(" \"")).map(|l| l.split('"').nth(1).unwrap()).collect();
    let mut expected = top.clone();
    expected.sort_unstable();
    assert_eq!(top, expected);
    assert!(text.lines().all(|l| l.chars().count() <= 120), "a long line");
}

#[test]
fn defaults_are_left_out_except_in_the_matmul_record() {
    let data = include_bytes!("data/examples/ex2_matmul_psum.json");
    let text = write(&read(data).unwrap());
    assert!(text.contains("\"perf_mode\": \"None\""));
    assert!(!text.contains("\"can_read_uninit\""));
    assert!(!text.contains("\"engine_id\""));
    assert!(!text.contains("\"dge_type\""));
}

#[test]
fn a_written_default_reads_as_absent() {
    let text = r#"{"version":2,"functions":[{"name":"f","blocks":[{"name":"B","instructions":[
        {"name":"I","opcode":"Save","engine":"DMA","ins":[],"outs":[],"queue":null,"can_read_uninit":false,
         "duplicate":true}]}]}]}"#;
    let i = &parse(text.as_bytes()).unwrap().functions[0].blocks[0].instructions[0];
    assert_eq!(i.fields.iter().flatten().count(), 1);
    assert_eq!(i.field("can_read_uninit"), Some(Value::Bool(false)));
    assert_eq!(i.field("duplicate"), Some(Value::Bool(true)));
    assert_eq!(i.field("queue"), None);
}
