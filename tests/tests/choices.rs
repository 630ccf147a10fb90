//! Profile fields of control flow, registers and addresses: each value of each field shows in a run.

use birsim_benches::programs::{block, cell, signal, step};
use birsim_engine::ir::{
    BranchCompare, Engine, Expr, Extra, Function, Instruction, Module, Opcode, Operand, Storage, Value,
};
use birsim_engine::{Code, Error, IssueOrder, Remark, Simulator};
use birsim_kernels::{Dtype, Profile};
use birsim_tests::build::*;
use birsim_tests::machine::*;

fn with(field: &str, value: &str) -> Profile {
    let mut p = Profile::reference();
    p.set(field, value).unwrap();
    p
}

/// The cells after a run under one changed field, the same under two schedules.
#[track_caller]
fn cells_with(m: &Module, field: &str, value: &str) -> Vec<f32> {
    let all = [IssueOrder::Window, IssueOrder::Seeded(7)].map(|s| {
        let mut done = Done::under(m, s, with(field, value));
        if let Err(e) = &done.outcome {
            panic!("{field}={value}: {e}");
        }
        done.cells()
    });
    assert_eq!(all[0], all[1]);
    all[0].clone()
}

#[track_caller]
fn error_with(m: &Module, field: &str, value: &str) -> Error {
    Done::under(m, IssueOrder::Window, with(field, value)).outcome.expect_err("the run fails")
}

fn counted(ub: i64, stride: i64, list: Vec<Instruction>) -> Instruction {
    let mut l = looped("L".into(), Opcode::Loop, "i", Expr::Const(0), Expr::Const(ub), Expr::Const(stride));
    l.blocks = vec![block("body", list)].into();
    l
}

#[test]
fn d35_loops_without_bounds_and_strides_of_zero() {
    let bare = program(vec![], vec![counted(0, 0, vec![count("A", 0)])]);
    let mut none = plain("L", Opcode::Loop);
    none.blocks = vec![block("body", vec![count("A", 0)])].into();
    for m in [bare, program(vec![], vec![none])] {
        assert_eq!(cells_with(&m, "loop_without_bounds", "once")[0], 1.0);
        assert_eq!(cells_with(&m, "loop_without_bounds", "never")[0], 0.0);
    }
    let zero = program(vec![], vec![counted(4, 0, vec![count("A", 0)])]);
    assert_eq!(cells_with(&zero, "loop_stride_zero", "one")[0], 4.0);
    assert_eq!(error_with(&zero, "loop_stride_zero", "refuse").code(), Code::J011);
    let degenerate = program(vec![], vec![counted(0, 0, vec![count("A", 0)])]);
    assert_eq!(cells_with(&degenerate, "loop_stride_zero", "refuse")[0], 1.0);
}

#[test]
fn d43_parallel_loops_by_instruction_or_by_trip() {
    let to = symbolic("cells", vec![Expr::Const(0), plus(Expr::Axis("i".into()), 1)], 64, 1, 1);
    let a = copy("A".into(), Opcode::TensorCopy, Engine::Dve, cell("cells", 0), to);
    let m = program(vec![], vec![counted(3, 1, vec![a, count("B", 0)]).with("isParallel", true)]);
    assert_eq!(cells_with(&m, "parallel_loops", "instruction_major")[..4], [3.0, 0.0, 0.0, 0.0]);
    assert_eq!(cells_with(&m, "parallel_loops", "iteration_major")[..4], [3.0, 0.0, 1.0, 2.0]);
}

#[test]
fn d19_after_a_break_comes_what_follows_the_loop_or_the_next_block() {
    let mut l = counted(3, 1, vec![count("A", 0), plain("X", Opcode::Break)]);
    l.blocks.push(block("second", vec![count("B", 1)]));
    let m = program(vec![], vec![l, count("C", 2)]);
    assert_eq!(cells_with(&m, "break_goes", "after_loop")[..3], [1.0, 0.0, 1.0]);
    assert_eq!(cells_with(&m, "break_goes", "next_block")[..3], [3.0, 3.0, 1.0]);
}

fn function(name: &str, list: Vec<Instruction>) -> Function {
    Function {
        name: name.into(),
        attributes: Extra::new(),
        allocations: vec![],
        blocks: vec![block(&format!("{name}-block"), list)],
        arguments: vec![],
        extra: Extra::new(),
    }
}

fn call(name: &str, target: &str) -> Instruction {
    plain(name, Opcode::Call).with("target", target)
}

#[test]
fn d45_calls_inside_called_functions() {
    let mut m = program(vec![], vec![call("C1", "g"), count("A", 0)]);
    m.functions.push(function("g", vec![call("C2", "h")]));
    m.functions.push(function("h", vec![]));
    assert_eq!(error_with(&m, "nested_calls", "refuse").code(), Code::S013);
    assert_eq!(cells_with(&m, "nested_calls", "allow")[0], 1.0);
    // A function that calls itself ends with the same error, not without memory.
    let mut m = program(vec![], vec![call("C1", "g")]);
    m.functions.push(function("g", vec![call("C2", "g")]));
    assert_eq!(error_with(&m, "nested_calls", "allow").code(), Code::S013);
}

/// Value of semaphore 9 after a call whose body sets it and returns.
fn semaphore_after_return(value: &str) -> u32 {
    let mut m = program(vec![], vec![signalling(count("A", 0), signal(9)), call("C1", "g")]);
    m.functions.push(function("g", vec![plain("R", Opcode::Return)]));
    let mut done = Done::under(&m, IssueOrder::Window, with("return_semaphores", value));
    done.outcome.as_ref().unwrap();
    let world = done.sim.world_mut().unwrap();
    world.query::<&birsim_engine::world::SemValue>().iter(world).nth(9).unwrap().0
}

#[test]
fn d41_return_wipes_the_semaphores_or_keeps_them() {
    assert_eq!([semaphore_after_return("wipe"), semaphore_after_return("keep")], [0, 1]);
}

#[test]
fn d21_semaphores_left_over_warn_fail_or_go_unnoticed() {
    let m = program(vec![], vec![signalling(count("A", 0), signal(9))]);
    let run = |value: &str, strict: bool| {
        let builder = Simulator::builder().threads(1).strict(strict).profile(with("leftover_semaphores", value));
        let mut sim = builder.build().unwrap();
        sim.load(&m).unwrap();
        sim.bind("cells", &[0; 256]).unwrap();
        sim.run().map(|s| s.diagnostics.iter().filter(|d| d.code == Remark::SemaphoreLeft).count())
    };
    assert_eq!(run("warn", false).unwrap(), 1);
    assert_eq!(run("ignore", false).unwrap(), 0);
    assert_eq!(run("fault", false).unwrap_err().code(), Code::S005);
    for value in ["warn", "ignore", "fault"] {
        assert_eq!(run(value, true).unwrap_err().code(), Code::S005, "strict overrides {value}");
    }
}

#[test]
fn d44_branches_on_wide_dtypes() {
    let typed = |dtype| Operand::Register { dtype, regref: "x".into(), extra: Extra::new() };
    let branch = |dtype, op, right: i128| {
        let mut set = plain("S", Opcode::RegisterMove);
        set.ins = vec![imm_for("x", -2)];
        set.outs = vec![reg("x")];
        let right = Operand::Imm { dtype, value: birsim_engine::ir::ImmValue::Int(right), extra: Extra::new() };
        let list = vec![
            block("A", vec![set, compare("X".into(), Engine::All, op, typed(dtype), right, "Y", "E")]),
            block("Y", vec![count("yes", 0)]),
            block("E", vec![count("end", 1)]),
        ];
        blocks(vec![wide(register("x", Engine::All, -1))], list)
    };
    for (dtype, op, right, taken) in [
        (Dtype::Int64, BranchCompare::LtImm, 3, 1.0),
        (Dtype::Uint64, BranchCompare::LtImm, 3, 0.0),
        (Dtype::Int64, BranchCompare::EqImm, -2, 1.0),
    ] {
        let m = branch(dtype, op, right);
        assert_eq!(error_with(&m, "branch_dtypes", "documented").code(), Code::S007);
        assert_eq!(cells_with(&m, "branch_dtypes", "all")[..2], [taken, 1.0], "{dtype} {op}");
    }
}

#[test]
fn d48_physical_registers_start_as_ones_or_zero() {
    let m = program(vec![register("p", Engine::Pool, 3)], vec![]);
    for (value, want) in [("ones", -1), ("zero", 0)] {
        assert_eq!(Done::under(&m, IssueOrder::Window, with("register_start", value)).register("p"), want);
    }
}

fn tensors() -> Vec<Storage> {
    vec![dram("d", 1, 8), register("i", Engine::All, -1)]
}

/// d holds 1 to 8 and register i the offset.
fn at(offset: i128, list: Vec<Instruction>) -> Module {
    let fill = (0..8).map(|k| memset(format!("F{k}"), Engine::Dve, cell("d", k), (k + 1) as f32));
    let mut set = plain("S", Opcode::RegisterMove);
    set.ins = vec![imm(offset)];
    set.outs = vec![reg("i")];
    let head: Vec<Instruction> = fill.chain([set]).collect();
    program(tensors(), [head, list].concat())
}

fn dma(from: Operand, to: Operand) -> Instruction {
    copy("D".into(), Opcode::DMACopy, Engine::Dma, from, to)
}

#[test]
fn d22_elements_out_of_bounds_are_skipped_or_a_fault() {
    let tolerant = dma(by_offset("d", "i", 4), block_of("cells", 64, 0, 1, 4)).with("oob_is_err", false);
    let m = at(6, vec![tolerant]);
    assert_eq!(cells_with(&m, "scalar_offset_oob", "skip")[..4], [7.0, 8.0, 0.0, 0.0]);
    assert_eq!(error_with(&m, "scalar_offset_oob", "fault").code(), Code::S001);
}

#[test]
fn run_time_offsets_count_elements_or_bytes() {
    let m = |offset| at(offset, vec![dma(by_offset("d", "i", 1), cell("cells", 0))]);
    assert_eq!(cells_with(&m(4), "offset_unit", "element")[0], 5.0);
    assert_eq!(cells_with(&m(4), "offset_unit", "byte")[0], 2.0);
    let e = error_with(&m(6), "offset_unit", "byte");
    assert_eq!((e.code(), e.received_value()), (Code::S001, Some("6")));
    // TensorCopyDynamicSrc: register times scale.
    let dynamic = |offset| {
        let mut i = copy("T".into(), Opcode::TensorCopyDynamicSrc, Engine::Dve, whole("s", 1, 2), cell("cells", 0));
        i.ins[0] = block_of("s", 8, 0, 1, 1);
        i.ins.push(reg("i"));
        i.set("scale", Value::Int(2));
        let fill = (0..8).map(|k| memset(format!("M{k}"), Engine::Dve, cell("s", k), k as f32)).collect::<Vec<_>>();
        let mut set = plain("S", Opcode::RegisterMove);
        set.ins = vec![imm(offset)];
        set.outs = vec![reg("i")];
        program(vec![sbuf("s", 1, 8, 0, 1024), register("i", Engine::All, -1)], [fill, vec![set, i]].concat())
    };
    assert_eq!(cells_with(&dynamic(2), "offset_unit", "element")[0], 4.0);
    assert_eq!(cells_with(&dynamic(2), "offset_unit", "byte")[0], 1.0);
    assert_eq!(error_with(&dynamic(1), "offset_unit", "byte").code(), Code::S001);
}

#[test]
fn d47_dram_by_register_is_guarded_or_free() {
    let compute = step("C".into(), Engine::Dve, by_register("d", "i", 1), cell("cells", 0), 1.0);
    let m = at(2, vec![compute]);
    assert_eq!(error_with(&m, "dram_by_register", "refuse").code(), Code::S015);
    assert_eq!(cells_with(&m, "dram_by_register", "allow")[0], 4.0);
}

#[test]
fn d1_a_pattern_of_another_dtype_reinterprets_or_is_refused() {
    let from = typed(cell("cells", 0), Dtype::Int32);
    let m =
        program(vec![], vec![count("A", 0), copy("B".into(), Opcode::TensorCopy, Engine::Dve, from, cell("cells", 1))]);
    // The bits of 1.0 as an integer.
    assert_eq!(cells_with(&m, "pattern_dtype", "reinterpret")[1], 0x3F80_0000 as f32);
    assert_eq!(error_with(&m, "pattern_dtype", "refuse").code(), Code::S007);
    let mut sim = Simulator::builder().threads(1).strict(true).build().unwrap();
    let outcome = sim.load(&m).and_then(|()| sim.bind("cells", &[0; 256])).and_then(|()| sim.run().map(|_| ()));
    assert_eq!(outcome.unwrap_err().code(), Code::S007, "strict mode refuses it too");
    let plain = program(vec![], vec![count("A", 0)]);
    assert_eq!(cells_with(&plain, "pattern_dtype", "refuse")[0], 1.0);
}

#[test]
fn d26_patterns_of_up_to_eight_pairs_or_four() {
    let many = |pairs: usize| {
        let mut o = cell("cells", 0);
        if let Operand::Physical(a) = &mut o {
            a.ap = (0..pairs).map(|_| birsim_engine::ir::ApPair { step: 1, num: 1 }).collect();
        }
        program(vec![], vec![count("A", 0), copy("B".into(), Opcode::TensorCopy, Engine::Dve, o, cell("cells", 1))])
    };
    for pairs in [1, 4, 5, 8] {
        assert_eq!(cells_with(&many(pairs), "pattern_pairs", "eight")[1], 1.0, "{pairs}");
    }
    assert_eq!(cells_with(&many(4), "pattern_pairs", "four")[1], 1.0);
    for pairs in [5, 8] {
        assert_eq!(error_with(&many(pairs), "pattern_pairs", "four").code(), Code::J008, "{pairs}");
    }
    assert_eq!(Done::with(&many(9), IssueOrder::Window).outcome.unwrap_err().code(), Code::J008);
}

#[test]
fn d24_the_channel_counts_from_the_pattern_or_the_machine() {
    let mut iota = Instruction::new("I", Opcode::Iota, Engine::Pool);
    iota.outs = vec![typed(block_of("t", 1, 2, 2, 1), Dtype::Float32)];
    iota.set("base", Value::Int(0));
    iota.set("pattern", Value::Pairs(vec![(1, 1)]));
    iota.set("channel_multiplier", Value::Int(10));
    let read =
        |at| copy(format!("R{at}"), Opcode::DMACopy, Engine::Dma, block_of("t", 1, at + 2, 1, 1), cell("cells", at));
    let m = program(vec![sbuf("t", 8, 1, 16, 2048)], vec![iota, read(0), read(1)]);
    assert_eq!(cells_with(&m, "channel_base", "pattern")[..2], [0.0, 10.0]);
    assert_eq!(cells_with(&m, "channel_base", "machine")[..2], [180.0, 190.0]);
}

#[test]
fn a_psum_address_contains_its_bank_or_not() {
    // Two tensors of bank 1, one by a small and one by a large address, read back through one that is absolute.
    let small = psum("small", 1, 1, 1, 64);
    let large = psum("large", 1, 1, 1, 2048 + 64);
    let put = |name: &str, v: f32| memset(format!("M-{name}"), Engine::Dve, whole(name, 1, 1), v);
    let list = vec![
        put("small", 1.0),
        put("large", 2.0),
        copy("R".into(), Opcode::TensorCopy, Engine::Dve, whole("small", 1, 1), cell("cells", 0)),
    ];
    let mut m = program(vec![small, large], list);
    for s in &mut m.functions[0].allocations {
        if let Storage::Set(set) = s {
            set.locations.iter_mut().for_each(|l| l.allocated = true);
        }
    }
    assert_eq!(cells_with(&m, "psum_address", "by_size")[0], 2.0, "both are byte 64 of bank 1");
    assert_eq!(cells_with(&m, "psum_address", "absolute")[0], 1.0, "64 lies in bank 0");
    assert_eq!(cells_with(&m, "psum_address", "in_bank")[0], 1.0, "2112 lies in bank 2");
}
