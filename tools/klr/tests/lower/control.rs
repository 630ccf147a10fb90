//! Registers, branches, blocks, names, edges, accumulation groups.

use crate::build::*;
use birsim_ir::{EdgeKind, Function, Storage};
use birsim_klr::ast::*;

fn load(reg: &str) -> Operator {
    Operator::TensorLoad(Box::new(TensorLoad { dst: reg.into(), src: sb("n", Dtype::Int32, &[1, 1]) }))
}

fn set(reg: &str, imm: i32) -> Operator {
    Operator::RegisterMove(Box::new(RegisterMove { dst: reg.into(), imm }))
}

fn add(reg: &str, imm: i32) -> Operator {
    Operator::RegisterAluOp(Box::new(RegisterAluOp { dst: reg.into(), src: reg.into(), imm, op: AluOp::Add }))
}

fn branch(op: BrCmpOp, reg1: &str, reg2: &str, yes: &str, no: &str) -> Operator {
    let p =
        CmpBranch { reg1: reg1.into(), reg2: reg2.into(), imm: 5, op, true_label: yes.into(), false_label: no.into() };
    Operator::CmpBranch(Box::new(p))
}

fn jump(label: &str) -> Operator {
    branch(BrCmpOp::Always, "", "", label, "")
}

fn matmul(dst: &str) -> Operator {
    Operator::NcMatMul(Box::new(NcMatMul {
        dst: ps(dst, &[16, 8]),
        stationary: sb("w", Dtype::Float32, &[32, 16]),
        moving: f("x"),
        is_stationary_one_zero: false,
        is_moving_zero: false,
        is_transpose: false,
        tile_position: vec![],
        tile_size: vec![],
        perf_mode: MatmulPerfMode::None,
    }))
}

fn clear(dst: &str) -> Operator {
    let p = MemSet { dst: ps(dst, &[16, 8]), value: Immediate::Float(0.0), dtype: Dtype::Float32, engine: Engine::Dve };
    Operator::MemSet(Box::new(p))
}

fn function(k: LncKernel) -> Function {
    module(k).functions.remove(0)
}

/// `block: name text; ..` of every block.
fn layout(function: &Function) -> Vec<String> {
    let line = |b: &birsim_ir::Block| {
        let list: Vec<&str> = b.instructions.iter().map(|i| i.name.as_str()).collect();
        format!("{}: {}", b.name, list.join(" "))
    };
    function.blocks.iter().map(line).collect()
}

fn flags(function: &Function) -> Vec<(String, i64)> {
    let all = function.blocks.iter().flat_map(|b| &b.instructions);
    all.filter(|i| i.opcode.is_matmul())
        .map(|i| match i.field("accumulation_flag") {
            Some(birsim_ir::Value::Int(n)) => (i.name.clone(), n),
            other => panic!("{other:?}"),
        })
        .collect()
}

fn body(list: Vec<(&str, Operator)>) -> Vec<Stmt> {
    list.into_iter().map(|(name, op)| stmt(name, op)).collect()
}

#[test]
fn kind_44_tensor_load() {
    assert_eq!(one(load("r")), "TensorLoad ALL (n[1:1,1:1]) -> (%r)");
    let many = Operator::TensorLoad(Box::new(TensorLoad { dst: "r".into(), src: f("n") }));
    assert_eq!(refused(many), "K005 a register is loaded from and stored to one element");
}

#[test]
fn kind_45_tensor_store() {
    let store = TensorStore { dst: sb("n", Dtype::Int32, &[1, 1]), src: "r".into() };
    let list = all(Operator::TensorStore(Box::new(store)));
    // Nothing has written the register, so it starts at 0.
    assert_eq!(text(&list[0]), "RegisterMove ALL (int32 Int(0)) -> (%r)");
    assert_eq!(text(&list[1]), "TensorSave ALL (%r) -> (n[1:1,1:1])");
}

#[test]
fn kind_46_register_move() {
    assert_eq!(one(set("r", -7)), "RegisterMove ALL (int32 Int(-7)) -> (%r)");
}

#[test]
fn kind_48_register_alu_op() {
    let list = all(add("r", 2));
    assert_eq!(text(list.last().unwrap()), "RegisterAlu ALL (%r int32 Int(2)) -> (%r) op=add");
}

#[test]
fn kind_47_cmp_branch() {
    let names = [
        (BrCmpOp::LtImm, "IS_LTIMM"),
        (BrCmpOp::LeImm, "IS_LEIMM"),
        (BrCmpOp::EqImm, "IS_EQIMM"),
        (BrCmpOp::NeImm, "IS_NEIMM"),
        (BrCmpOp::GeImm, "IS_GEIMM"),
        (BrCmpOp::GtImm, "IS_GTIMM"),
        (BrCmpOp::LtReg, "IS_LTREG"),
        (BrCmpOp::LeReg, "IS_LEREG"),
        (BrCmpOp::EqReg, "IS_EQREG"),
        (BrCmpOp::NeReg, "IS_NEREG"),
        (BrCmpOp::GeReg, "IS_GEREG"),
        (BrCmpOp::GtReg, "IS_GTREG"),
    ];
    for (k, (op, name)) in names.into_iter().enumerate() {
        let first = body(vec![("a", set("r", 0)), ("b", set("q", 1)), ("c", branch(op, "r", "q", "yes", "no"))]);
        let done = |n: &str| block(n, body(vec![("e", set("r", 1))]));
        let fun = function(kernel(vec![block("main.1", first), done("yes"), done("no")]));
        let right = if k < 6 { "int32 Int(5)" } else { "%q" };
        assert_eq!(
            text(fun.blocks[0].instructions.last().unwrap()),
            format!("CompareAndBranch Unassigned (%r {right}) -> () comp_op={name} on_true=yes on_false=no")
        );
    }
    let fun = function(kernel(vec![block("main.1", body(vec![("j", jump("end"))])), block("end", vec![])]));
    assert_eq!(text(&fun.blocks[0].instructions[0]), "UnconditionalBranch Unassigned () -> () target=end");
    let unknown = kernel(vec![block("main.1", body(vec![("j", branch(BrCmpOp::NeImm, "r", "", "main.1", ""))]))]);
    let errors = run(unknown).expect_err("nothing wrote r");
    assert!(errors[0].what().contains("a register that nothing has written"), "{errors:?}");
}

#[test]
fn no_reorder_blocks_take_the_place_of_their_branch() {
    let mut inner = block("inner", body(vec![("b", set("r", 1)), ("j2", jump("last"))]));
    inner.no_reorder = true;
    let first = block("main.1", body(vec![("a", set("r", 0)), ("j1", jump("inner"))]));
    let last = block("last", body(vec![("c", set("r", 2))]));
    let fun = function(kernel(vec![first.clone(), inner.clone(), last.clone()]));
    assert_eq!(layout(&fun), ["main.1: a b j2", "last: c"]);

    // Reached twice, it stays a block of its own.
    let second = block("other", body(vec![("d", set("r", 2)), ("j3", jump("inner"))]));
    let fun = function(kernel(vec![first.clone(), second, inner.clone(), last.clone()]));
    assert_eq!(layout(&fun), ["main.1: a j1", "other: d j3", "inner: b j2", "last: c"]);

    inner.body.pop();
    let errors = run(kernel(vec![first, inner, last])).expect_err("no final branch");
    assert!(errors[0].what().contains("must end in an unconditional branch"), "{errors:?}");
}

#[test]
fn chains_of_inlined_blocks_and_cycles_end() {
    let quiet = |label: &str, name: &str, to: &str| Block {
        label: label.into(),
        no_reorder: true,
        body: body(vec![(name, set("r", 1)), (&format!("j{name}"), jump(to))]),
    };
    let first = block("main.1", body(vec![("a", set("r", 0)), ("j1", jump("p"))]));
    let last = block("last", body(vec![("z", set("r", 2))]));
    let fun = function(kernel(vec![first.clone(), quiet("p", "b", "q"), quiet("q", "c", "last"), last.clone()]));
    assert_eq!(layout(&fun), ["main.1: a b c jc", "last: z"]);
    // Two blocks that only lead to each other are unreachable.
    let alone = block("main.1", body(vec![("a", set("r", 0)), ("j1", jump("last"))]));
    let fun = function(kernel(vec![alone, quiet("p", "b", "q"), quiet("q", "c", "p"), last]));
    assert_eq!(layout(&fun), ["main.1: a j1", "last: z"]);
}

#[test]
fn labels_are_checked() {
    let errors = run(kernel(vec![block("main.1", body(vec![("j", jump("nowhere"))]))])).expect_err("dangling");
    assert_eq!(errors[0].what(), "a branch leads to a label that does not exist");
    let errors = run(kernel(vec![block("a", vec![]), block("a", vec![])])).expect_err("twice");
    assert_eq!(errors[0].what(), "two blocks have one label");
    let middle = block("main.1", body(vec![("j", jump("main.1")), ("a", set("r", 1))]));
    let errors = run(kernel(vec![middle])).expect_err("not last");
    assert_eq!(errors[0].what(), "a branch is not the last statement of its block");
}

#[test]
fn an_empty_last_block_resumes() {
    let fun = function(kernel(vec![block("main.1", body(vec![("j", jump("end"))])), block("end", vec![])]));
    assert_eq!(layout(&fun), ["main.1: j", "end: UnconditionalBranch-RESUME", "k-RESUME-Block-compiler-inserted: ",]);
}

#[test]
fn d48_initial_register_moves() {
    // r is written first, s is read first, q is written in another block.
    let first = body(vec![("a", set("r", 1)), ("b", add("s", 1)), ("c", branch(BrCmpOp::NeImm, "r", "", "x", "y"))]);
    let x = block("x", body(vec![("d", set("q", 1))]));
    let fun =
        function(kernel(vec![block("main.1", first.clone()), x.clone(), block("y", body(vec![("e", set("q", 2))]))]));
    assert_eq!(layout(&fun)[0], "main.1: RegisterMove-initial-s RegisterMove-initial-q a b c");
    // A first block that is a loop gets its moves in front.
    let back = block("y", body(vec![("e", jump("main.1"))]));
    let fun = function(kernel(vec![block("main.1", first), x, back]));
    assert_eq!(
        layout(&fun)[..2],
        ["COMPILER-GENERATED-entry: RegisterMove-initial-s RegisterMove-initial-q", "main.1: a b c",]
    );
    let registers = fun.allocations.iter().filter(|s| matches!(s, Storage::Register(_))).count();
    assert_eq!(registers, 3);
}

#[test]
fn names_and_debug_information() {
    let mut unnamed = stmt("", set("r", 1));
    unnamed.name = None;
    let list = vec![stmt("same", set("r", 1)), stmt("same", set("r", 2)), unnamed];
    let fun = function(kernel(vec![block("main.1", list)]));
    let insts = &fun.blocks[0].instructions;
    let names: Vec<&str> = insts.iter().map(|i| i.name.as_str()).collect();
    assert_eq!(names, ["same", "same_1", "RegisterMove-3"]);
    let debug = insts[2].debug.as_ref().unwrap();
    assert_eq!((debug.lineno, debug.filename.as_deref()), (Some(7), Some("k.py")));
    assert_eq!(debug.op_name.as_deref(), Some("nki-op"));
}

#[test]
fn edges_become_ordered_dependencies() {
    let mut k = kernel(vec![block("main.1", body(vec![("a", set("r", 1)), ("b", set("q", 2)), ("c", set("s", 3))]))]);
    k.edges = vec![Edges { from_edge: "a".into(), to_edges: vec!["b".into(), "c".into(), "c".into()] }];
    let fun = function(k.clone());
    let insts = &fun.blocks[0].instructions;
    assert!(insts[0].dependencies.is_empty());
    for inst in &insts[1..] {
        assert_eq!(inst.dependencies.len(), 1);
        assert_eq!((inst.dependencies[0].on.as_str(), inst.dependencies[0].kind), ("a", EdgeKind::Ordered));
    }
    k.edges[0].to_edges.push("x".into());
    let errors = run(k).expect_err("x does not exist");
    assert_eq!(errors[0].what(), "x is not found, unable to complete dependency edge insertion");
}

#[test]
fn groups_start_accumulate_and_stop() {
    let list = vec![
        ("a", matmul("p")),
        ("b", matmul("q")),
        ("c", matmul("p")),
        ("z", clear("p")),
        ("d", matmul("p")),
        ("e", matmul("p")),
    ];
    let fun = function(kernel(vec![block("main.1", body(list))]));
    let want = [("a", 1), ("b", 3), ("c", 6), ("d", 1), ("e", 6)];
    assert_eq!(flags(&fun), want.map(|(n, f)| (n.to_owned(), f)));
}

#[test]
fn a_group_inside_a_loop_starts_in_each_trip() {
    let test = |name: &'static str| (name, branch(BrCmpOp::LtReg, "i", "n", "loop", "end"));
    let head = |list: Vec<(&'static str, Operator)>| {
        let mut all = vec![("i", set("i", 0)), ("n", set("n", 3))];
        all.extend(list);
        all.push(test("t"));
        block("main.1", body(all))
    };
    let end = || block("end", body(vec![("e", set("i", 0))]));
    let inside = || block("loop", body(vec![("a", matmul("p")), ("b", matmul("p")), ("s", add("i", 1)), test("u")]));
    let fun = function(kernel(vec![head(vec![]), inside(), end()]));
    assert_eq!(flags(&fun), [("a".to_owned(), 1), ("b".to_owned(), 4)]);
    // A group that is open before the loop goes on in it.
    let fun = function(kernel(vec![head(vec![("o", matmul("p"))]), inside(), end()]));
    assert_eq!(flags(&fun), [("o".to_owned(), 1), ("a".to_owned(), 4), ("b".to_owned(), 4)]);
    // Cleared at the end of each trip, it is not open at the top.
    let mut clearing = inside();
    clearing.body.insert(2, stmt("z", clear("p")));
    let fun = function(kernel(vec![head(vec![("o", matmul("p"))]), clearing, end()]));
    assert_eq!(flags(&fun), [("o".to_owned(), 1), ("a".to_owned(), 1), ("b".to_owned(), 4)]);
}

#[test]
fn a_group_opened_on_one_path_only_starts_again_where_they_meet() {
    let first = body(vec![("r", set("r", 1)), ("t", branch(BrCmpOp::NeImm, "r", "", "yes", "end"))]);
    let yes = body(vec![("a", matmul("p")), ("j", jump("end"))]);
    let end = body(vec![("b", matmul("p"))]);
    let fun = function(kernel(vec![block("main.1", first), block("yes", yes), block("end", end)]));
    assert_eq!(flags(&fun), [("a".to_owned(), 1), ("b".to_owned(), 1)]);
}

#[test]
fn overlapping_destinations_are_noted() {
    let part = |num: u64| match ps("p", &[16, 8]) {
        TensorRef::Abstract(Access::BirPattern(mut p)) => {
            p.pattern[1].num = num;
            access(p)
        }
        other => other,
    };
    let op = |num: u64| match matmul("p") {
        Operator::NcMatMul(p) => Operator::NcMatMul(Box::new(NcMatMul { dst: part(num), ..*p })),
        other => other,
    };
    let lowered = run(kernel(vec![block("main.1", body(vec![("a", op(8)), ("b", op(4))]))])).expect("lowers");
    assert_eq!(lowered.notes, ["matmul b writes a part of the open accumulation group of p with another pattern"]);
}
