//! What the report of a deadlock contains: conditions, producers and where they are, circles, hints.

use birsim_benches::programs::{repeat, signal, wait};
use birsim_engine::Code;
use birsim_engine::ir::{
    Engine, Expr, Extra, Instruction, Opcode, SyncKind, UpdateMode, UpdateRef, Value, WaitMode, WaitRef,
};
use birsim_tests::build::*;
use birsim_tests::machine::*;

fn nop(name: &str, engine: Engine) -> Instruction {
    Instruction::new(name, Opcode::NoOp, engine)
}

fn update(id: u32, mode: UpdateMode, value: u32) -> UpdateRef {
    let kind = if mode == UpdateMode::EvtSet { SyncKind::Event } else { SyncKind::Semaphore };
    UpdateRef { kind, id, mode, value, target_core: None, extra: Extra::new() }
}

fn on_event(id: u32) -> WaitRef {
    WaitRef { kind: SyncKind::Event, mode: WaitMode::EvtSetClear, ..wait(id, 0) }
}

/// The lines about engines in the report of a run that gets stuck under every schedule.
#[track_caller]
fn lines(list: Vec<Instruction>) -> Vec<String> {
    let e = fails(&program(vec![register("r0", Engine::All, -1)], list));
    assert_eq!(e.code(), Code::S003);
    e.what().lines().skip(1).map(|l| l.trim().to_string()).collect()
}

/// Two posts, then what lowers the semaphore, then a waiter that comes too late.
fn overshoot(lower: Option<Instruction>) -> Vec<Instruction> {
    let mut list = vec![signalling(nop("P1", Engine::Pool), signal(3)), signalling(nop("P2", Engine::Pool), signal(3))];
    list.extend(lower);
    list.push(signalling(nop("P3", Engine::Pool), signal(4)));
    list.push(waiting(nop("late", Engine::Dve), wait(4, 1)));
    list.push(waiting(count("W", 0), wait(3, 1)));
    list
}

#[test]
fn fault_68_a_value_that_passed_the_awaited_one_is_told() {
    // Waits are for >=, so posting twice passes.
    assert_eq!(run(&program(vec![], overshoot(None)))[0], 1.0);
    let lowered = |i: Instruction| lines(overshoot(Some(i)));
    assert_eq!(
        lowered(signalling(nop("L", Engine::Pool), update(3, UpdateMode::SemSubImm, 2))),
        ["DVE: W (TensorScalar) waits for semaphore 3 >= 1, it is 0; no instruction still to come updates it; it was \
          updated before by P1 on Pool, P2 on Pool; value 2 passed the awaited 1 and was lowered, as by L on Pool"]
    );
    let mut reset = Instruction::new("R", Opcode::GroupResetSemaphores, Engine::Pool);
    reset.set("sema_group", Value::Ints(vec![Expr::Const(3)]));
    assert!(lowered(reset)[0].ends_with("; value 2 passed the awaited 1 and was lowered, as by R on Pool"));
    let write = signalling(nop("Z", Engine::Pool), update(3, UpdateMode::SemWrImm, 0));
    assert!(lowered(write)[0].ends_with("; value 2 passed the awaited 1 and was lowered, as by Z on Pool"));
}

#[test]
fn updates_that_do_not_suffice_are_added_up() {
    let list = vec![
        waiting(nop("A", Engine::Pool), wait(3, 4)),
        waiting(signalling(nop("B", Engine::Pool), update(3, UpdateMode::SemAddImm, 2)), wait(9, 1)),
        waiting(signalling(nop("C", Engine::Dve), signal(3)), wait(9, 1)),
    ];
    let told = lines(list);
    assert_eq!(
        told[0],
        "Pool: A (NoOp) waits for semaphore 3 >= 4, it is 0; updated by C on DVE (itself waiting), B on Pool (behind A); \
         together they add 3 of the 4 that are missing"
    );
    assert_eq!(told[1], "DVE: C (NoOp) waits for semaphore 9 >= 1, it is 0; no instruction still to come updates it");
    assert_eq!(told[2], "circle: A -> A");
}

#[test]
fn a_producer_behind_a_join_or_in_another_block_is_found() {
    let list = vec![
        waiting(nop("A", Engine::Pool), wait(3, 1)),
        Instruction::new("M", Opcode::AllEngineBarrier, Engine::All),
        signalling(nop("B", Engine::Dve), signal(3)),
    ];
    assert_eq!(
        lines(list),
        ["Pool: A (NoOp) waits for semaphore 3 >= 1, it is 0; updated by B on DVE (later in the block)"]
    );
    let list = vec![
        waiting(nop("A", Engine::Pool), wait(3, 1)),
        repeat("i", 2, vec![signalling(nop("B", Engine::Dve), signal(3))]),
    ];
    assert_eq!(
        lines(list),
        ["Pool: A (NoOp) waits for semaphore 3 >= 1, it is 0; no instruction still to come in this block updates it; \
          outside the block it is updated by B on DVE (block L-i-body)"]
    );
}

#[test]
fn an_event_that_another_waiter_took_is_told() {
    let list = vec![
        signalling(nop("S", Engine::Pool), update(7, UpdateMode::EvtSet, 0)),
        signalling(waiting(nop("T", Engine::Dve), on_event(7)), signal(1)),
        waiting(waiting(nop("U", Engine::Sp), wait(1, 1)), on_event(7)),
    ];
    assert_eq!(
        lines(list),
        [
            "SP: U (NoOp) waits for event 7 to be set, it is clear; no instruction still to come updates it; it was updated \
          before by S on Pool; it was set before and is also consumed by T on DVE"
        ]
    );
}

#[test]
fn a_wait_on_a_register_shows_both_values() {
    let mut set = Instruction::new("R", Opcode::RegisterMove, Engine::All);
    (set.ins, set.outs) = (vec![imm(5)], vec![reg("r0")]);
    let on_register = WaitRef { mode: WaitMode::SemGeReg, regref: Some("r0".into()), ..wait(3, 0) };
    let list = vec![
        set,
        signalling(nop("P", Engine::Pool), signal(3)),
        waiting(waiting(nop("W", Engine::Dve), wait(3, 1)), on_register),
    ];
    assert_eq!(
        lines(list),
        [
            "DVE: W (NoOp) waits for semaphore 3 >= 5 (from a register), it is 1; no instruction still to come updates it; \
          it was updated before by P on Pool"
        ]
    );
}

#[test]
fn a_circle_of_three_is_told_in_order() {
    let link =
        |name: &str, engine, awaits, posts| signalling(waiting(nop(name, engine), wait(awaits, 1)), signal(posts));
    let list = vec![link("A", Engine::Pool, 1, 2), link("B", Engine::Dve, 3, 1), link("C", Engine::Sp, 2, 3)];
    assert_eq!(lines(list)[3], "circle: A -> B -> C -> A");
}

#[test]
fn fault_66_a_deadlock_is_found_by_state_and_not_by_time() {
    // One engine works for ten thousand ticks before it posts; the other is polled all the while.
    let mut list = vec![waiting(on("W", Engine::Pool, 1), wait(3, 1))];
    list.extend((0..10_000).map(|k| count(&format!("I-{k}"), 0)));
    list.push(signalling(count("P", 0), signal(3)));
    let cells = run(&program(vec![], list));
    assert_eq!((cells[0], cells[1]), (10_001.0, 1.0));
    // And a program that is stuck from the start is reported at once, before any instruction.
    let mut stuck = Done::with(&program(vec![], vec![waiting(count("W", 0), wait(3, 1))]), Default::default());
    assert_eq!(stuck.outcome.as_ref().unwrap_err().code(), Code::S003);
    let stats = stuck.sim.summary().unwrap().stats;
    assert_eq!((stats.instructions, stats.ticks), (0, 1));
}
