//! Control flow: loops, branches, ends of runs (`bir-json.md` 9; rulings D19, D20, D35, D41, D43, D44).

use birsim_benches::programs::{block, cell, signal, step, wait};
use birsim_engine::ir::{
    BlockArgument, BranchCompare, Engine, Expr, Extra, Instruction, Opcode, Operand, PredicateOp, Value,
};
use birsim_engine::{Code, IssueOrder, Order, Simulator};
use birsim_kernels::{Dtype, Named};
use birsim_tests::build::*;
use birsim_tests::machine::*;

fn do_while(register: &str, list: Vec<Instruction>) -> Instruction {
    let mut w = plain("W", Opcode::DoWhile).with("cond", Value::Expr(Expr::Register(register.into())));
    w.blocks = vec![block("W-body", list)].into();
    w
}

fn axis(name: &str) -> Expr {
    Expr::Axis(name.into())
}

#[test]
fn do_while_over_3_2_1_0_makes_4_trips() {
    // The register holds 3 after the first pass, then 2, 1 and 0: it is tested after the body.
    let body = vec![count("C", 0), add("down", "r", -1)];
    assert_eq!(run(&program(r(), vec![set("S", "r", 4), do_while("r", body)]))[0], 4.0);
}

#[test]
fn do_while_runs_at_least_once() {
    assert_eq!(run(&program(r(), vec![set("S", "r", 0), do_while("r", vec![count("C", 0)])]))[0], 1.0);
}

#[test]
fn do_while_goes_on_for_every_value_but_0() {
    let body = vec![count("C", 0), add("up", "r", 1)];
    assert_eq!(run(&program(r(), vec![set("S", "r", -3), do_while("r", body)]))[0], 3.0);
}

#[test]
fn loops_that_never_end_stop_at_the_limit() {
    let ends = |m: &birsim_engine::ir::Module| {
        let e = fails(m);
        assert_eq!((e.code(), e.class().exit_code()), (Code::S009, 3), "{e}");
    };
    ends(&program(r(), vec![set("S", "r", 1), do_while("r", vec![count("C", 0)])]));
    ends(&program(r(), vec![set("S", "r", 1), do_while("r", vec![])]));
    let mut bare = do_while("r", vec![]);
    bare.blocks.clear();
    ends(&program(r(), vec![set("S", "r", 1), bare]));
    ends(&program(r(), vec![counted("i", 0, i64::MAX, 1, vec![])]));
    let jump = plain("J", Opcode::UnconditionalBranch).with("target", "A");
    ends(&blocks(r(), vec![block("A", vec![jump])]));
}

#[test]
fn a_time_limit_ends_a_loop() {
    let m = program(r(), vec![set("S", "r", 1), do_while("r", vec![])]);
    let limits = birsim_engine::Limits { deadline: Some(std::time::Instant::now()), ..Default::default() };
    let mut sim = Simulator::builder().threads(1).limits(limits).build().unwrap();
    sim.load(&m).unwrap();
    assert_eq!(sim.run().unwrap_err().code(), Code::S009);
}

#[test]
fn zero_trips_touch_nothing() {
    // The body would fault, read unwritten memory and signal.
    let beyond = step("beyond".into(), Engine::Dve, cell("cells", 900), cell("cells", 0), 1.0);
    let body = || vec![beyond.clone(), signalling(count("C", 0), signal(3))];
    for (lb, ub) in [(0, 0), (3, 3), (5, 2), (-1, -4)] {
        // A stride makes an axis of equal bounds a real one (ruling D35).
        assert_eq!(run(&program(r(), vec![counted("i", lb, ub, 1, body())]))[0], 0.0);
    }
    let mut dynamic =
        looped("D".into(), Opcode::DynamicForLoop, "i", Expr::Const(0), affine("r", 1, 0), Expr::Const(1));
    dynamic.blocks = vec![block("B", body())].into();
    for trips in [0, -7] {
        assert_eq!(run(&program(r(), vec![set("S", "r", trips), dynamic.clone()]))[0], 0.0);
    }
}

#[test]
fn trips_are_the_range_over_the_stride_rounded_up() {
    for (lb, ub, stride, trips) in [(0, 7, 3, 3.0), (0, 6, 3, 2.0), (-5, 1, 4, 2.0), (2, 3, 100, 1.0)] {
        assert_eq!(run(&program(r(), vec![counted("i", lb, ub, stride, vec![count("C", 0)])]))[0], trips);
    }
}

#[test]
fn d35_degenerate_loops_run_once_and_stride_0_is_1() {
    let body = || vec![count("C", 0)];
    assert_eq!(run(&program(r(), vec![counted("i", 0, 0, 0, body())]))[0], 1.0);
    let mut none = plain("L", Opcode::Loop);
    none.blocks = vec![block("B", body())].into();
    assert_eq!(run(&program(r(), vec![none]))[0], 1.0);
    assert_eq!(run(&program(r(), vec![counted("i", 0, 4, 0, body())]))[0], 4.0);
    let mut negative =
        looped("D".into(), Opcode::DynamicForLoop, "i", Expr::Const(0), affine("r", 1, 0), affine("t", 1, 0));
    negative.blocks = vec![block("B", body())].into();
    let e = fails(&program(r(), vec![set("S", "r", 3), set("T", "t", -1), negative]));
    assert_eq!((e.code(), e.place().instruction.as_deref()), (Code::J011, Some("D")));
}

#[test]
fn dynamic_bounds_follow_outer_axes_and_registers() {
    // Inner loop: from i to 2 * r + 1 in steps of i + 1, for i in 0..3 and r = 2.
    let mut inner = looped("D".into(), Opcode::DynamicForLoop, "j", axis("i"), affine("r", 2, 1), plus(axis("i"), 1));
    inner.blocks = vec![block("B", vec![count("C", 0)])].into();
    let m = program(r(), vec![set("S", "r", 2), counted("i", 0, 3, 1, vec![inner])]);
    assert_eq!(run(&m)[0], 5.0 + 2.0 + 1.0);
}

#[test]
fn a_dynamic_bound_is_read_when_the_loop_starts() {
    let mut l = looped("D".into(), Opcode::DynamicForLoop, "i", Expr::Const(0), affine("r", 1, 0), Expr::Const(1));
    l.blocks = vec![block("B", vec![count("C", 0), add("more", "r", 1)])].into();
    assert_eq!(run(&program(r(), vec![set("S", "r", 3), l]))[0], 3.0);
}

#[test]
fn a_dynamic_bound_has_one_register_term() {
    let two = Expr::Affine { terms: vec![(Expr::Register("r".into()), 1), (Expr::Register("t".into()), 1)], c: 0 };
    for ub in [two, Expr::Const(3), Expr::Affine { terms: Vec::new(), c: 4 }] {
        let l = looped("D".into(), Opcode::DynamicForLoop, "i", Expr::Const(0), ub, Expr::Const(1));
        assert_eq!(fails(&program(r(), vec![l])).code(), Code::S010);
    }
}

#[test]
fn loops_nest_to_the_documented_depth() {
    let nest = |depth: usize| {
        let mut list = vec![count("C", 0)];
        for k in 0..depth {
            list = vec![counted(&format!("i{k}"), 0, 1 + i64::from(k < 6), 1, list)];
        }
        program(r(), list)
    };
    assert_eq!(run(&nest(60))[0], 64.0);
    assert_eq!(fails(&nest(70)).code(), Code::J014);
}

#[test]
fn addresses_and_immediates_follow_the_axes() {
    // cells[i * 4 + j] = cells[i * 4 + j] + 1, and the value of i * j through a list of immediates.
    let at = |c| {
        symbolic(
            "cells",
            vec![Expr::Const(0), Expr::Affine { terms: vec![(axis("i"), 4), (axis("j"), 1)], c }],
            64,
            1,
            1,
        )
    };
    let one = scale("I".into(), Engine::Dve, at(0), at(0), 1.0, 1.0);
    let m = program(r(), vec![counted("i", 0, 3, 1, vec![counted("j", 0, 2, 1, vec![one])])]);
    let got = run(&m);
    let want: Vec<f32> = (0..64).map(|k| f32::from(u8::from(k < 12 && k % 4 < 2))).collect();
    assert_eq!(got, want);
}

#[test]
fn predicates_are_tested_for_every_trip_and_all_must_hold() {
    use PredicateOp::*;
    for (op, trips) in [(Ge, 3.0), (Eq, 1.0), (Lt, 2.0), (Le, 3.0), (Gt, 2.0), (Ne, 4.0)] {
        let body = vec![when(count("C", 0), plus(axis("i"), -2), op)];
        assert_eq!(run(&program(r(), vec![counted("i", 0, 5, 1, body)]))[0], trips, "{op}");
    }
    let both = when(when(count("C", 0), plus(axis("i"), -1), Ge), plus(axis("i"), -3), Lt);
    assert_eq!(run(&program(r(), vec![counted("i", 0, 5, 1, vec![both])]))[0], 2.0);
}

#[test]
fn a_predicate_that_fails_leaves_the_sync_alone() {
    let off = |i| when(i, Expr::Const(1), PredicateOp::Eq);
    let a = off(signalling(count("A", 0), signal(3)));
    let b = waiting(on("B", Engine::Pool, 1), wait(3, 1));
    let l = off(signalling(counted("i", 0, 3, 1, vec![count("C", 2)]), signal(4)));
    let d = waiting(on("D", Engine::Pool, 3), wait(4, 1));
    assert_eq!(run(&program(r(), vec![a, b, l, d]))[..4], [0.0, 1.0, 0.0, 1.0]);
}

#[test]
fn d19_break_ends_the_innermost_loop() {
    let leave = when(plain("X", Opcode::Break), plus(axis("j"), -1), PredicateOp::Eq);
    // The block goes on to its end; the loop does not.
    let inner = counted("j", 0, 9, 1, vec![count("A", 0), leave, count("B", 1)]);
    let m = program(r(), vec![counted("i", 0, 3, 1, vec![inner, count("C", 2)])]);
    assert_eq!(run(&m)[..3], [6.0, 6.0, 3.0]);
    let body = vec![count("A", 0), plain("X", Opcode::Break)];
    assert_eq!(run(&program(r(), vec![set("S", "r", 5), do_while("r", body), count("B", 1)]))[..2], [1.0, 1.0]);
    // Outside of loops the next block follows.
    let m = blocks(r(), vec![block("A", vec![plain("X", Opcode::Break)]), block("B", vec![count("C", 0)])]);
    assert_eq!(run(&m)[0], 1.0);
}

#[test]
fn d20_exit_in_list_order_ends_the_run_at_once() {
    let inner = counted("j", 0, 3, 1, vec![count("A", 0), plain("X", Opcode::Exit), count("B", 1)]);
    let m = blocks(r(), vec![block("P", vec![inner, count("C", 2)]), block("Q", vec![count("D", 3)])]);
    assert_eq!(run(&m)[..4], [1.0, 0.0, 0.0, 0.0]);
}

#[test]
fn d20_engines_finish_what_precedes_their_own_exit() {
    let exit = |e: Engine| Instruction::new(format!("X-{e}"), Opcode::Exit, e);
    let list = vec![
        exit(Engine::Pool),
        signalling(on("A", Engine::Dve, 0), signal(1)),
        waiting(on("B", Engine::Dve, 0), wait(1, 1)),
        exit(Engine::Dve),
        on("never", Engine::Dve, 1),
        on("nor", Engine::Pool, 2),
    ];
    let m = blocks(r(), vec![block("P", list), block("Q", vec![count("C", 3)])]);
    assert_eq!(run(&m)[..4], [2.0, 0.0, 0.0, 0.0]);
}

#[test]
fn d20_an_exit_of_all_engines_waits_for_them() {
    let list = vec![signalling(on("A", Engine::Dve, 0), signal(1)), plain("X", Opcode::Exit), on("B", Engine::Pool, 1)];
    assert_eq!(run(&blocks(r(), vec![block("P", list), block("Q", vec![count("C", 2)])]))[..3], [1.0, 0.0, 0.0]);
}

#[test]
fn d41_return_of_the_entry_function_ends_the_run() {
    let l = counted("i", 0, 5, 1, vec![count("A", 0), plain("R", Opcode::Return)]);
    assert_eq!(
        run(&blocks(r(), vec![block("P", vec![l, count("B", 1)]), block("Q", vec![count("C", 1)])]))[..2],
        [1.0, 0.0]
    );
}

#[test]
fn d43_parallel_loops_run_instruction_major() {
    // A copies cell 0 up by one place, B adds 1 to cell 0: trip by trip every place would get another value.
    let to = symbolic("cells", vec![Expr::Const(0), plus(axis("i"), 1)], 64, 1, 1);
    let body = || {
        let a = copy("A".into(), Opcode::TensorCopy, Engine::Dve, cell("cells", 0), to.clone());
        vec![a, count("B", 0)]
    };
    assert_eq!(run(&program(r(), vec![counted("i", 0, 3, 1, body())]))[..4], [3.0, 0.0, 1.0, 2.0]);
    let parallel = counted("i", 0, 3, 1, body()).with("isParallel", true);
    assert_eq!(run(&program(r(), vec![parallel]))[..4], [3.0, 0.0, 0.0, 0.0]);
}

#[test]
fn d43_a_parallel_loop_waits_and_signals_once() {
    let body = vec![on("A", Engine::Dve, 0), on("B", Engine::Pool, 1)];
    for body in [body, Vec::new()] {
        let l = signalling(counted("i", 0, 3, 1, body).with("isParallel", true), signal(5));
        let after = waiting(on("C", Engine::Pool, 2), wait(5, 1));
        let m = program(r(), vec![l, after]);
        assert_eq!(run(&m)[2], 1.0);
        let mut done = Done::with(&m, IssueOrder::Window);
        let world = done.sim.world_mut().unwrap();
        let fives = world.query::<&birsim_engine::world::SemValue>().iter(world).nth(5).map(|s| s.0);
        assert_eq!(fives, Some(1));
    }
}

fn branch(op: BranchCompare, left: Operand, right: Operand) -> birsim_engine::ir::Module {
    let list = vec![
        block(
            "A",
            vec![set("S", "r", -2), set("T", "t", 3), compare("X".into(), Engine::All, op, left, right, "Y", "N")],
        ),
        block("N", vec![count("no", 0), plain("J", Opcode::UnconditionalBranch).with("target", "E")]),
        block("Y", vec![count("yes", 1)]),
        block("E", vec![count("end", 2)]),
    ];
    blocks(r(), list)
}

#[test]
fn branches_compare_registers_with_immediates_and_registers() {
    use BranchCompare::*;
    for op in BranchCompare::ALL.iter().copied().filter(|o| *o != Unsupported) {
        let taken = matches!(op, LtImm | LtReg | LeImm | LeReg | NeImm | NeReg);
        let right = if op.ordinal() < LtReg.ordinal() { imm(3) } else { reg("t") };
        let got = run(&branch(op, reg("r"), right));
        assert_eq!(got[..3], [f32::from(u8::from(!taken)), f32::from(u8::from(taken)), 1.0], "{op}");
        let same = matches!(op, LeImm | LeReg | EqImm | EqReg | GeImm | GeReg);
        let right = if op.ordinal() < LtReg.ordinal() { imm(-2) } else { reg("r") };
        assert_eq!(run(&branch(op, reg("r"), right))[1], f32::from(u8::from(same)), "{op}");
    }
}

#[test]
fn d44_branches_compare_at_the_type_of_the_left_side() {
    let typed = |dtype| Operand::Register { dtype, regref: "r".into(), extra: Extra::new() };
    // -2 is 254, 65534 or 4294967294 without a sign.
    for (dtype, less) in [
        (Dtype::Uint8, false),
        (Dtype::Int8, true),
        (Dtype::Uint16, false),
        (Dtype::Int16, true),
        (Dtype::Uint32, false),
        (Dtype::Int32, true),
    ] {
        let got = run(&branch(BranchCompare::LtImm, typed(dtype), imm(3)));
        assert_eq!(got[1], f32::from(u8::from(less)), "{dtype}");
    }
    for dtype in [Dtype::Int64, Dtype::Uint64] {
        assert_eq!(fails(&branch(BranchCompare::LtImm, typed(dtype), imm(3))).code(), Code::S007, "{dtype}");
    }
    let e = fails(&branch(BranchCompare::Unsupported, reg("r"), imm(3)));
    assert_eq!(e.code(), Code::U002);
}

#[test]
fn a_branch_without_a_target_falls_through() {
    let list = vec![
        block(
            "A",
            vec![set("S", "r", 1), compare("X".into(), Engine::All, BranchCompare::EqImm, reg("r"), imm(1), "", "C")],
        ),
        block("B", vec![count("b", 0)]),
        block("C", vec![count("c", 1)]),
    ];
    assert_eq!(run(&blocks(r(), list))[..2], [1.0, 1.0]);
}

#[test]
fn the_last_terminator_of_a_block_decides() {
    let jump = |name: &str, to: &str| plain(name, Opcode::UnconditionalBranch).with("target", to);
    let list = vec![
        block("A", vec![jump("J1", "B"), count("a", 0), jump("J2", "C")]),
        block("B", vec![count("b", 1)]),
        block("C", vec![count("c", 2)]),
    ];
    assert_eq!(run(&blocks(r(), list))[..3], [1.0, 0.0, 1.0]);
}

#[test]
fn a_branch_may_leave_its_loops() {
    let out = when(plain("J", Opcode::UnconditionalBranch).with("target", "C"), plus(axis("i"), -1), PredicateOp::Eq);
    let l = counted("i", 0, 9, 1, vec![count("a", 0), out]);
    let list = vec![
        block("A", vec![l, count("skipped", 1)]),
        block("B", vec![count("b", 1)]),
        block("C", vec![count("c", 2)]),
    ];
    assert_eq!(run(&blocks(r(), list))[..3], [2.0, 0.0, 1.0]);
}

#[test]
fn a_branch_hint_has_no_effect() {
    assert_eq!(run(&program(r(), vec![plain("H", Opcode::BranchHint), count("a", 0)]))[0], 1.0);
}

#[test]
fn block_arguments_take_the_value_of_the_predecessor() {
    let argument = |incoming| BlockArgument { name: "t".into(), incoming, extra: Extra::new() };
    let list = |value: i128| {
        let mut join = block("E", vec![]);
        join.arguments = vec![argument(vec![(imm(10), "Y".to_string()), (reg("r"), "N".to_string())])];
        vec![
            block(
                "A",
                vec![
                    set("S", "r", value),
                    compare("X".into(), Engine::All, BranchCompare::LtImm, reg("r"), imm(3), "Y", "N"),
                ],
            ),
            block("N", vec![plain("J", Opcode::UnconditionalBranch).with("target", "E")]),
            block("Y", vec![]),
            join,
        ]
    };
    assert_eq!(register_after(&blocks(r(), list(7)), "t"), 7);
    assert_eq!(register_after(&blocks(r(), list(1)), "t"), 10);
}

#[test]
fn block_arguments_are_assigned_together() {
    // A block that follows itself swaps two registers, as phi nodes do.
    let argument = |name: &str, first: i128, other: &str| BlockArgument {
        name: name.into(),
        incoming: vec![(imm(first), "A".to_string()), (reg(other), "B".to_string())],
        extra: Extra::new(),
    };
    let mut swap = block("B", vec![add("n", "n", 1)]);
    swap.instructions.push(compare("X".into(), Engine::All, BranchCompare::LtImm, reg("n"), imm(4), "B", "C"));
    swap.arguments = vec![argument("r", 1, "t"), argument("t", 2, "r")];
    let registers = [r(), vec![register("n", Engine::All, -1)]].concat();
    let m = blocks(registers, vec![block("A", vec![set("S", "n", 0)]), swap, block("C", vec![])]);
    assert_eq!((register_after(&m, "r"), register_after(&m, "t")), (2, 1));
}

#[test]
fn program_order_ignores_waits() {
    let m = program(r(), vec![waiting(count("A", 0), wait(3, 1)), on("B", Engine::Pool, 0)]);
    let mut sim = Simulator::builder().threads(1).order(Order::Program).build().unwrap();
    sim.load(&m).unwrap();
    sim.bind("cells", &[0; 256]).unwrap();
    assert_eq!(sim.run().unwrap().order, "program");
    assert_eq!(sim.output("cells").unwrap()[..4], 2.0f32.to_le_bytes());
    assert_eq!(fails(&m).code(), Code::S003);
}
