//! Registers and the addresses made of them (`alu.md` 6.12, `bir-json.md` 6.3 and 6.4; rulings D22, D46-D48).

use birsim_benches::programs::{cell, step};
use birsim_engine::ir::{Engine, ImmValue, Instruction, Module, Opcode, Operand, RegisterAp, Storage, Value};
use birsim_engine::{Code, IssueOrder};
use birsim_kernels::Dtype;
use birsim_kernels::alu::AluOp;
use birsim_tests::build::*;
use birsim_tests::machine::*;

fn immediate(dtype: Dtype, value: i128) -> Operand {
    Operand::Imm { dtype, value: ImmValue::Int(value), extra: Default::default() }
}

fn access(dtype: Dtype, register: &str) -> Operand {
    Operand::Register { dtype, regref: register.into(), extra: Default::default() }
}

fn moved(to: Operand, from: Operand) -> Instruction {
    let mut i = plain("M", Opcode::RegisterMove);
    i.ins = vec![from];
    i.outs = vec![to];
    i
}

fn alu(op: AluOp, wide: bool, to: Operand, a: Operand, b: Operand) -> Instruction {
    let mut i = plain("R", Opcode::RegisterAlu).with("op", Value::named(op)).with("is_64bit", wide);
    i.ins = vec![a, b];
    i.outs = vec![to];
    i
}

/// r is 32 bits wide, x 64 bits, both signed; u is unsigned.
fn files() -> Vec<Storage> {
    vec![register("r", Engine::All, -1), wide(register("x", Engine::All, -1)), unsigned(register("u", Engine::All, -1))]
}

#[test]
fn d48_physical_registers_start_as_all_ones() {
    let m = program(
        vec![
            register("p", Engine::All, 63),
            unsigned(register("u", Engine::Sp, 0)),
            wide(register("x", Engine::Pe, 4)),
        ],
        vec![],
    );
    assert_eq!(register_after(&m, "p"), -1);
    assert_eq!(register_after(&m, "u"), 0xFFFF_FFFF);
    assert_eq!(register_after(&m, "x"), -1);
}

#[test]
fn engines_have_files_of_their_own() {
    let list = vec![moved(reg("a"), imm(1)), moved(reg("b"), imm(2))];
    let m = program(vec![register("a", Engine::Dve, 3), register("b", Engine::Pool, 3)], list);
    assert_eq!((register_after(&m, "a"), register_after(&m, "b")), (1, 2));
    let symbolic =
        program(vec![register("a", Engine::Dve, -1), register("b", Engine::Dve, -1)], vec![moved(reg("a"), imm(1))]);
    assert_eq!((register_after(&symbolic, "a"), register_after(&symbolic, "b")), (1, 0));
}

#[test]
fn a_register_without_an_engine_lies_with_all_engines() {
    let registers = vec![
        register("a", Engine::Unassigned, 3),
        register("b", Engine::All, 3),
        register("c", Engine::Unassigned, -1),
    ];
    let m = program(registers, vec![moved(reg("a"), imm(7)), moved(reg("c"), imm(8))]);
    assert_eq!((register_after(&m, "b"), register_after(&m, "c")), (7, 8));
}

#[test]
fn a_64_bit_register_is_two_physical_ones_low_half_first() {
    let registers = vec![
        wide(register("x", Engine::All, 10)),
        register("lo", Engine::All, 10),
        unsigned(register("uhi", Engine::All, 11)),
    ];
    let value = 0x8000_0001_FFFF_FFFEu64 as i64;
    let m = program(registers.clone(), vec![moved(reg("x"), immediate(Dtype::Int64, i128::from(value)))]);
    assert_eq!(
        (register_after(&m, "x"), register_after(&m, "lo"), register_after(&m, "uhi")),
        (value, -2, 0x8000_0001)
    );
    let m = program(registers, vec![moved(reg("lo"), imm(5)), moved(access(Dtype::Uint32, "uhi"), imm(3))]);
    assert_eq!(register_after(&m, "x"), 3 << 32 | 5);
}

#[test]
fn moves_cut_and_extend_by_the_types() {
    let after = |from: Operand, name: &str| register_after(&program(files(), vec![moved(reg(name), from)]), name);
    assert_eq!(after(immediate(Dtype::Int64, 0x1_2345_6789), "r"), 0x2345_6789);
    assert_eq!(after(imm(-5), "x"), -5);
    assert_eq!(after(imm(-5), "u"), 0xFFFF_FFFB);
    assert_eq!(after(immediate(Dtype::Uint8, 200), "r"), 200);
    assert_eq!(after(immediate(Dtype::Int8, -56), "r"), -56);
}

/// Every operation of RegisterAlu on numbers: the plain definition, in 128 bits and cut afterwards.
fn defined(op: AluOp, a: i64, b: i64, bits: u32) -> i64 {
    use AluOp::*;
    let mask = if bits == 32 { 0xFFFF_FFFFu64 } else { u64::MAX };
    let (ua, ub) = (a as u64 & mask, b as u64 & mask);
    let over = ub >= u64::from(bits);
    let truth = i64::from;
    let v = match op {
        Add => a.wrapping_add(b),
        Subtract => a.wrapping_sub(b),
        Mult => a.wrapping_mul(b),
        Divide => {
            if b == 0 {
                0
            } else {
                a.wrapping_div(b)
            }
        }
        Mod => {
            if b == 0 {
                0
            } else {
                a.wrapping_sub(b.wrapping_mul((a as f64 / b as f64).floor() as i64))
            }
        }
        ModInt => {
            if b == 0 {
                0
            } else {
                a.wrapping_rem(b)
            }
        }
        Max => a.max(b),
        Min => a.min(b),
        BitwiseAnd => a & b,
        BitwiseOr => a | b,
        BitwiseXor => a ^ b,
        BitwiseNot => !a,
        Bypass => a,
        LogicalAnd => truth(a != 0 && b != 0),
        LogicalOr => truth(a != 0 || b != 0),
        LogicalXor => truth((a != 0) != (b != 0)),
        LogicalShiftLeft | ArithShiftLeft => {
            if over {
                0
            } else {
                (ua << ub) as i64
            }
        }
        LogicalShiftRight => {
            if over {
                0
            } else {
                (ua >> ub) as i64
            }
        }
        ArithShiftRight => {
            if over {
                if a < 0 { -1 } else { 0 }
            } else {
                a >> ub
            }
        }
        IsEqual => truth(a == b),
        NotEqual => truth(a != b),
        IsGt => truth(a > b),
        IsGe => truth(a >= b),
        IsLt => truth(a < b),
        IsLe => truth(a <= b),
        other => unreachable!("{other}"),
    };
    if bits == 32 { i64::from(v as i32) } else { v }
}

#[test]
fn register_alu_computes_every_operation_in_both_widths() {
    use AluOp::*;
    let ops = [
        Add,
        Subtract,
        Mult,
        Divide,
        Mod,
        ModInt,
        Max,
        Min,
        BitwiseAnd,
        BitwiseOr,
        BitwiseXor,
        BitwiseNot,
        Bypass,
        LogicalAnd,
        LogicalOr,
        LogicalXor,
        LogicalShiftLeft,
        ArithShiftLeft,
        LogicalShiftRight,
        ArithShiftRight,
        IsEqual,
        NotEqual,
        IsGt,
        IsGe,
        IsLt,
        IsLe,
    ];
    let pairs = [(7, 2), (-7, 2), (7, -2), (-7, -2), (5, 0), (0, 5), (-1, 31), (3, 32), (i32::MAX, 1), (i32::MIN, 3)];
    for (bits, name, dtype) in [(32, "r", Dtype::Int32), (64, "x", Dtype::Int64)] {
        // All results at once: one program per width.
        let mut registers = files();
        let mut list = Vec::new();
        let mut want = Vec::new();
        for op in ops {
            for (a, b) in pairs {
                let (a, b) = (i64::from(a), i64::from(b));
                let target = format!("{name}{}", want.len());
                let r = register(&target, Engine::All, -1);
                registers.push(if bits == 64 { wide(r) } else { r });
                let (ia, ib) = (immediate(dtype, i128::from(a)), immediate(dtype, i128::from(b)));
                list.push(alu(op, bits == 64, reg(&target), ia, ib));
                want.push((op, a, b, defined(op, a, b, bits)));
            }
        }
        let mut done = Done::with(&program(registers, list), IssueOrder::Window);
        done.outcome.clone().unwrap();
        for (k, (op, a, b, v)) in want.into_iter().enumerate() {
            assert_eq!(done.register(&format!("{name}{k}")), v, "{op} of {a} and {b} in {bits} bits");
        }
    }
}

#[test]
fn register_alu_compares_and_shifts_by_the_sign_of_its_first_operand() {
    let one = |op, a: Operand, b: Operand| register_after(&program(files(), vec![alu(op, false, reg("r"), a, b)]), "r");
    let unsigned = |v| immediate(Dtype::Uint32, v);
    assert_eq!(one(AluOp::IsLt, imm(-1), imm(1)), 1);
    assert_eq!(one(AluOp::IsLt, unsigned(0xFFFF_FFFF), unsigned(1)), 0);
    assert_eq!(one(AluOp::Divide, unsigned(0xFFFF_FFFF), unsigned(2)), 0x7FFF_FFFF);
    assert_eq!(one(AluOp::Max, unsigned(0xFFFF_FFFF), unsigned(1)), -1);
}

#[test]
fn register_alu_refuses_what_is_no_integer_operation() {
    for op in [AluOp::Pow, AluOp::Rsqrt, AluOp::Average] {
        assert_eq!(fails(&program(files(), vec![alu(op, false, reg("r"), imm(1), imm(1))])).code(), Code::S006, "{op}");
    }
    let float = Operand::Imm { dtype: Dtype::Float32, value: ImmValue::Float(1.0), extra: Default::default() };
    assert_eq!(fails(&program(files(), vec![alu(AluOp::Add, false, reg("r"), float, imm(1))])).code(), Code::U002);
}

fn bytes(list: Vec<Instruction>) -> Module {
    let mut words = integers(sbuf("n", 1, 4, 0, 0));
    if let Storage::Set(s) = &mut words {
        s.locations[0].allocated = false;
    }
    program([files(), vec![words]].concat(), list)
}

fn word(value: i128, at: i64) -> Instruction {
    let mut i = plain("S", Opcode::TensorSave);
    i.ins = vec![imm(value)];
    i.outs = vec![element("n", at)];
    i
}

#[test]
fn tensor_load_extends_by_the_type_of_the_element() {
    for (dtype, at, want) in [
        (Dtype::Int8, 3, -128),
        (Dtype::Uint8, 3, 128),
        (Dtype::Int16, 1, -32513),
        (Dtype::Uint16, 1, 33023),
        (Dtype::Int32, 0, 0x80FF_0201u32 as i32 as i64),
    ] {
        let mut l = plain("L", Opcode::TensorLoad);
        l.ins = vec![typed(element("n", at), dtype)];
        l.outs = vec![reg("x")];
        assert_eq!(register_after(&bytes(vec![word(i128::from(0x80FF_0201u32 as i32), 0), l]), "x"), want, "{dtype}");
    }
}

#[test]
fn tensor_save_stores_the_low_bytes() {
    let mut s = plain("B", Opcode::TensorSave);
    s.ins = vec![reg("r")];
    s.outs = vec![typed(element("n", 5), Dtype::Uint8)];
    let m = bytes(vec![word(-1, 1), moved(reg("r"), imm(0x1234_5678)), s]);
    let mut done = Done::with(&m, IssueOrder::Window);
    done.outcome.clone().unwrap();
    assert_eq!(done.sim.output("n").unwrap()[4..8], [0xFF, 0x78, 0xFF, 0xFF]);
}

#[test]
fn tensor_load_and_save_move_one_element() {
    let mut l = plain("L", Opcode::TensorLoad);
    l.ins = vec![block_of("cells", 64, 0, 1, 2)];
    l.outs = vec![reg("r")];
    assert_eq!(fails(&program(files(), vec![l])).code(), Code::S008);
    let mut s = plain("S", Opcode::TensorSave);
    s.ins = vec![reg("r")];
    s.outs = vec![block_of("cells", 64, 0, 1, 2)];
    assert_eq!(fails(&program(files(), vec![s])).code(), Code::S008);
}

fn tensors() -> Vec<Storage> {
    [files(), vec![dram("d", 1, 8), register("i", Engine::All, -1)]].concat()
}

fn fill_d() -> Vec<Instruction> {
    (0..8).map(|k| copy_imm(k, k as f32 + 1.0)).collect()
}

fn copy_imm(k: i64, v: f32) -> Instruction {
    let mut s = plain("F", Opcode::TensorSave);
    s.ins = vec![imm(i128::from(v.to_bits()))];
    s.outs = vec![typed(cell("d", k), Dtype::Int32)];
    s
}

fn at(offset: i128, list: Vec<Instruction>) -> Module {
    program(tensors(), [fill_d(), vec![moved(reg("i"), imm(offset))], list].concat())
}

fn dma(from: Operand, to: Operand) -> Instruction {
    copy("D".into(), Opcode::DMACopy, Engine::Dma, from, to)
}

#[test]
fn a_register_moves_an_address() {
    let list = vec![
        dma(by_register("d", "i", 2), block_of("cells", 64, 0, 1, 2)),
        dma(by_offset("d", "i", 1), cell("cells", 4)),
    ];
    assert_eq!(run(&at(5, list))[..5], [6.0, 7.0, 0.0, 0.0, 6.0]);
}

#[test]
fn d22_an_offset_out_of_bounds_faults_or_skips() {
    let list = |skips: bool| {
        let mut i = dma(by_offset("d", "i", 4), block_of("cells", 64, 0, 1, 4));
        if skips {
            i.set("oob_is_err", Value::Bool(false));
        }
        vec![i]
    };
    for offset in [5, -1, 8, i128::from(i32::MAX)] {
        let e = fails(&at(offset, list(false)));
        assert_eq!((e.code(), e.place().instruction.as_deref()), (Code::S001, Some("D")), "{offset}");
    }
    assert_eq!(run(&at(6, list(true)))[..4], [7.0, 8.0, 0.0, 0.0]);
    assert_eq!(run(&at(-3, list(true)))[..4], [0.0, 0.0, 0.0, 1.0]);
    assert_eq!(run(&at(i128::from(i32::MIN), list(true)))[..4], [0.0; 4]);
}

#[test]
fn d47_only_the_documented_opcodes_reach_dram_by_a_register_pattern() {
    let compute = step("C".into(), Engine::Dve, by_register("d", "i", 1), cell("cells", 0), 1.0);
    let e = fails(&at(2, vec![compute]));
    assert_eq!((e.code(), e.place().instruction.as_deref()), (Code::S015, Some("C")));
    let load = copy("L".into(), Opcode::Load, Engine::Dma, by_register("d", "i", 1), cell("cells", 0));
    assert_eq!(run(&at(2, vec![load]))[0], 3.0);
    let save = copy("S".into(), Opcode::Save, Engine::Dma, cell("cells", 9), by_register("d", "i", 1));
    assert_eq!(run(&at(2, vec![save, dma(cell("d", 2), cell("cells", 0))]))[0], 0.0);
    // On chip every opcode may.
    let inside = step("C".into(), Engine::Dve, by_register("cells", "i", 1), by_register("cells", "i", 1), 1.0);
    assert_eq!(run(&at(2, vec![inside]))[2], 1.0);
}

#[test]
fn a_register_pattern_without_an_offset_holds_the_byte_address() {
    let absolute = |bytes: i128| {
        let Operand::RegisterAp(a) = by_register("d", "i", 1) else { unreachable!("a register pattern") };
        let from = RegisterAp { reg_ap_offset: None, regref: Some("i".into()), ..*a };
        at(bytes, vec![dma(Operand::RegisterAp(Box::new(from)), cell("cells", 0))])
    };
    assert_eq!(run(&absolute(12))[0], 4.0);
    for outside in [13, 32, -4] {
        assert_eq!(fails(&absolute(outside)).code(), Code::S001, "{outside}");
    }
}

#[test]
fn a_register_selects_the_piece_of_a_tensor() {
    let piece = |id: i128| {
        let mut pieces = birsim_benches::programs::tensor(
            "s",
            birsim_engine::ir::MemoryType::Sb,
            birsim_engine::ir::TensorKind::Internal,
            1,
            4,
        );
        if let Storage::Set(set) = &mut pieces {
            let first = set.locations[0].clone();
            set.locations = (0..3)
                .map(|k| birsim_engine::ir::Location { name: format!("s{k}"), tensor_id: 2 - k, ..first.clone() })
                .collect();
        }
        let Operand::RegisterAp(a) = by_register("s", "i", 1) else { unreachable!("a register pattern") };
        let from = RegisterAp { reg_ap_offset: None, const_ap_offset: 1, reg_sub_tensor_id: Some("i".into()), ..*a };
        let fill = (0..3)
            .map(|k| memset(format!("F{k}"), Engine::Dve, block_of(&format!("s{k}"), 4, 0, 1, 4), k as f32 + 1.0));
        let list = fill
            .chain([moved(reg("i"), imm(id)), dma(Operand::RegisterAp(Box::new(from)), cell("cells", 0))])
            .collect();
        program([tensors(), vec![pieces]].concat(), list)
    };
    assert_eq!(run(&piece(0))[0], 3.0);
    assert_eq!(run(&piece(2))[0], 1.0);
    for outside in [3, -1] {
        assert_eq!(fails(&piece(outside)).code(), Code::S001, "{outside}");
    }
}

#[test]
fn an_expression_that_leaves_64_bits_is_a_fault() {
    let mut i = count("C", 0);
    let x = birsim_engine::ir::Expr::Affine {
        terms: vec![(birsim_engine::ir::Expr::Register("x".into()), i64::MAX)],
        c: 0,
    };
    i.predicates.push(birsim_engine::ir::Predicate { expr: x, op: birsim_engine::ir::PredicateOp::Ge });
    let e = fails(&program(files(), vec![moved(reg("x"), immediate(Dtype::Int64, 3)), i]));
    assert_eq!((e.code(), e.place().instruction.as_deref()), (Code::S008, Some("C")));
}
