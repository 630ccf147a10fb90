//! Calls and kernels in a program: bindings, frames, returns (`bir-json.md` 10; rulings D41, D42, D45).

use birsim_benches::programs::{block, cell, repeat, signal, step};
use birsim_engine::ir::{Block, Engine, Extra, Function, Instruction, Opcode, PredicateOp, Value};
use birsim_engine::{Code, IssueOrder};
use birsim_tests::build::*;
use birsim_tests::machine::*;

fn function(name: &str, list: Vec<Block>) -> Function {
    Function {
        name: name.into(),
        attributes: Extra::new(),
        allocations: vec![formal("f", 1, 64), register("own", Engine::All, -1)],
        blocks: list,
        arguments: vec!["f_set".into()],
        extra: Extra::new(),
    }
}

fn call(name: &str, target: &str, actual: &str) -> Instruction {
    let map = Value::Map(vec![("f_set".into(), format!("{actual}_set"))]);
    plain(name, Opcode::Call).with("target", target).with("arguments", map)
}

fn on_formal(name: &str, at: i64) -> Instruction {
    step(name.into(), Engine::Dve, cell("f", at), cell("f", at), 1.0)
}

#[test]
fn d41_return_leaves_the_function_from_inside_its_loops_and_wipes_the_semaphores() {
    let inner = counted("i", 0, 5, 1, vec![signalling(on_formal("A", 0), signal(9)), plain("R", Opcode::Return)]);
    let mut m = program(r(), vec![call("C1", "g", "cells"), call("C2", "g", "cells"), count("D", 2)]);
    m.functions
        .push(function("g", vec![block("G", vec![inner, on_formal("B", 1)]), block("H", vec![on_formal("E", 1)])]));
    assert_eq!(run(&m)[..3], [2.0, 0.0, 1.0]);
    let mut done = Done::with(&m, IssueOrder::Window);
    let world = done.sim.world_mut().unwrap();
    let semaphores: Vec<u32> = world.query::<&birsim_engine::world::SemValue>().iter(world).map(|s| s.0).collect();
    assert_eq!(semaphores, [0; 256]);
}

#[test]
fn a_call_binds_formals_to_the_callers_tensors() {
    let mut m = program(r(), vec![call("C1", "g", "other"), call("C2", "g", "cells"), call("C3", "g", "cells")]);
    m.functions[0].allocations.push(sbuf("other", 1, 64, 0, 0));
    m.functions.push(function("g", vec![block("G", vec![on_formal("A", 5)])]));
    assert_eq!(run(&m)[5], 2.0);
}

#[test]
fn storage_of_a_callee_is_kept_between_calls() {
    let mut m = program(r(), vec![call("C1", "g", "cells"), call("C2", "g", "cells"), call("C3", "g", "cells")]);
    let init = when(set("init", "own", 0), affine("own", 1, 0), PredicateOp::Lt);
    let keep = when(on_formal("A", 1), affine("own", 1, -2), PredicateOp::Ge);
    let mut g = function("g", vec![block("G", vec![init, add("up", "own", 1), keep])]);
    // A physical register starts as all ones, so only the first call resets it.
    g.allocations[1] = register("own", Engine::All, 7);
    m.functions.push(g);
    assert_eq!(run(&m)[1], 2.0);
}

#[test]
fn d45_a_call_inside_a_called_function_is_refused() {
    let mut m = program(r(), vec![call("C1", "g", "cells")]);
    let mut inner = function("g", vec![block("G", vec![on_formal("A", 0)])]);
    inner.blocks[0].instructions.push(plain("C2", Opcode::Call).with("target", "h"));
    m.functions.push(inner);
    let mut h = function("h", vec![]);
    h.arguments.clear();
    m.functions.push(h);
    let e = fails(&m);
    assert_eq!((e.code(), e.place().instruction.as_deref()), (Code::S013, Some("C2")));
}

#[test]
fn d42_a_called_function_follows_its_branches() {
    let jump = plain("J", Opcode::UnconditionalBranch).with("target", "K");
    let list = vec![
        block("G", vec![on_formal("A", 0), jump]),
        block("H", vec![on_formal("B", 1)]),
        block("K", vec![on_formal("C", 2)]),
    ];
    let mut m = program(r(), vec![repeat("i", 2, vec![call("C1", "g", "cells")])]);
    m.functions.push(function("g", list));
    assert_eq!(run(&m)[..3], [2.0, 0.0, 2.0]);
}

#[test]
fn an_nki_kernel_is_expanded_in_place() {
    let mut k = plain("K", Opcode::NKIKernel).with("func", "g");
    k.set("func_args", Value::Map(vec![("f_set".into(), "cells_set".into())]));
    let mut m = program(r(), vec![repeat("i", 3, vec![k])]);
    m.nki_functions.push(function("g", vec![block("G", vec![on_formal("A", 4), plain("R", Opcode::Return)])]));
    assert_eq!(run(&m)[4], 3.0);
}

#[test]
fn the_end_of_an_nki_kernel_is_a_return() {
    // It wipes the semaphores; the kernel's own updates follow. A call that ends without Return leaves them.
    let after = |mut i: Instruction| {
        i.sync.on_update.push(signal(2));
        let list = vec![signalling(count("P", 0), signal(1)), i];
        let mut m = program(r(), list);
        let g = function("g", vec![block("G", vec![on_formal("A", 4)])]);
        m.nki_functions.push(g);
        let mut done = Done::with(&m, IssueOrder::Window);
        assert!(done.outcome.is_ok());
        let world = done.sim.world_mut().unwrap();
        world.query::<&birsim_engine::world::SemValue>().iter(world).map(|s| s.0).collect::<Vec<_>>()[1..3].to_vec()
    };
    let mut k = plain("K", Opcode::NKIKernel).with("func", "g");
    k.set("func_args", Value::Map(vec![("f_set".into(), "cells_set".into())]));
    assert_eq!(after(k), [0, 1]);
    assert_eq!(after(call("C", "g", "cells")), [1, 1]);
}
