//! Semaphores, events, barriers, DMA queues (`bir-json.md` 8 and 10; rulings D21, D36).

use birsim_benches::programs::{block, cell, signal, step, wait};
use birsim_engine::ir::{
    Engine, Expr, Extra, Instruction, Module, Opcode, Predicate, PredicateOp, Queue, QueueType, SyncKind, UpdateMode,
    UpdateRef, Value, WaitMode, WaitRef,
};
use birsim_engine::world::SemValue;
use birsim_engine::{Code, IssueOrder, Remark, Simulator};
use birsim_tests::build::*;
use birsim_tests::machine::*;

fn update(kind: SyncKind, id: u32, mode: UpdateMode, value: u32) -> UpdateRef {
    UpdateRef { kind, id, mode, value, target_core: None, extra: Extra::new() }
}

fn semaphore(mode: UpdateMode, value: u32) -> UpdateRef {
    update(SyncKind::Semaphore, 9, mode, value)
}

fn event(id: u32) -> UpdateRef {
    update(SyncKind::Event, id, UpdateMode::EvtSet, 0)
}

fn on_event(id: u32) -> WaitRef {
    WaitRef { kind: SyncKind::Event, mode: WaitMode::EvtSetClear, ..wait(id, 0) }
}

fn on_register(id: u32, register: &str) -> WaitRef {
    WaitRef { mode: WaitMode::SemGeReg, regref: Some(register.into()), ..wait(id, 0) }
}

fn nop(name: &str, engine: Engine) -> Instruction {
    Instruction::new(name, Opcode::NoOp, engine)
}

fn reset(name: &str, engine: Engine, ids: &[i64]) -> Instruction {
    let mut i = Instruction::new(name, Opcode::GroupResetSemaphores, engine);
    i.set("sema_group", Value::Ints(ids.iter().map(|id| Expr::Const(*id)).collect()));
    i
}

fn barrier(name: &str, engine: Engine) -> Instruction {
    Instruction::new(name, Opcode::AllEngineBarrier, engine)
}

/// Semaphores after a run that every schedule ends with.
fn semaphores(m: &Module) -> Vec<u32> {
    run(m);
    let mut done = Done::with(m, IssueOrder::Window);
    let world = done.sim.world_mut().unwrap();
    world.query::<&SemValue>().iter(world).map(|s| s.0).collect()
}

#[test]
fn update_modes_are_modular() {
    use UpdateMode::*;
    let after = |list: &[UpdateRef]| {
        let mut i = nop("N", Engine::Sp);
        i.sync.on_update = list.to_vec().into();
        semaphores(&program(vec![], vec![i, count("A", 0)]))[9]
    };
    assert_eq!(after(&[semaphore(SemAddImm, 7), semaphore(SemSubImm, 2)]), 5);
    assert_eq!(after(&[semaphore(SemInc, 1), semaphore(SemInc, 1), semaphore(SemDec, 1)]), 1);
    assert_eq!(after(&[semaphore(SemAddImm, 7), semaphore(SemWrImm, 3)]), 3);
    assert_eq!(after(&[semaphore(SemDec, 1)]), u32::MAX);
    assert_eq!(after(&[semaphore(SemSubImm, 5)]), u32::MAX - 4);
    assert_eq!(after(&[semaphore(SemWrImm, u32::MAX), semaphore(SemAddImm, 3)]), 2);
    assert_eq!(after(&[semaphore(SemWrImm, u32::MAX), semaphore(SemInc, 1)]), 0);
}

#[test]
fn inc_and_dec_carry_the_value_1() {
    for mode in [UpdateMode::SemInc, UpdateMode::SemDec] {
        for value in [0, 2, u32::MAX] {
            let e = fails(&program(vec![], vec![signalling(count("A", 0), semaphore(mode, value))]));
            assert_eq!((e.code(), e.place().instruction.as_deref()), (Code::S005, Some("A")), "{mode} {value}");
        }
    }
}

#[test]
fn a_wait_for_0_is_satisfied_and_a_wait_consumes_nothing() {
    let list = vec![
        waiting(on("A", Engine::Pool, 0), wait(9, 0)),
        signalling(on("B", Engine::Dve, 1), semaphore(UpdateMode::SemAddImm, 2)),
        waiting(on("C", Engine::Pool, 2), wait(9, 2)),
        waiting(on("D", Engine::Pool, 3), wait(9, 1)),
    ];
    assert_eq!(semaphores(&program(vec![], list))[9], 2);
}

#[test]
fn an_instruction_waits_for_all_of_its_waits() {
    let both = waiting(
        waiting(step("C".into(), Engine::Pool, cell("cells", 1), cell("cells", 2), 1.0), wait(1, 1)),
        wait(2, 1),
    );
    let list =
        vec![both, signalling(on("A", Engine::Dve, 1), signal(1)), signalling(on("B", Engine::Dve, 1), signal(2))];
    assert_eq!(run(&program(vec![], list))[2], 3.0);
}

#[test]
fn d36_a_wait_for_a_register_is_looked_at_again_at_every_poll() {
    // The register holds 100 when the waiter is first polled and 2 later.
    let mut lower = Instruction::new("L", Opcode::RegisterMove, Engine::Sp);
    lower.ins = vec![imm(2)];
    lower.outs = vec![reg("r")];
    let mut first = lower.clone();
    first.name = "F".into();
    first.engine = Engine::All;
    first.ins = vec![imm(100)];
    let list = vec![
        first,
        waiting(step("W".into(), Engine::Pool, cell("cells", 0), cell("cells", 1), 1.0), on_register(9, "r")),
        signalling(on("A", Engine::Dve, 0), semaphore(UpdateMode::SemAddImm, 2)),
        waiting(lower, wait(9, 2)),
    ];
    assert_eq!(run(&program(vec![register("r", Engine::All, -1)], list))[1], 2.0);
}

#[test]
fn d36_a_register_is_compared_as_an_unsigned_number() {
    let mut m = Instruction::new("M", Opcode::RegisterMove, Engine::All);
    m.ins = vec![imm(-1)];
    m.outs = vec![reg("r")];
    let w = waiting(count("W", 0), on_register(9, "r"));
    let stuck = program(vec![register("r", Engine::All, -1)], vec![m.clone(), w.clone(), nop("N", Engine::Sp)]);
    assert_eq!(fails(&stuck).code(), Code::S003);
    let down = signalling(nop("N", Engine::Sp), semaphore(UpdateMode::SemDec, 1));
    assert_eq!(run(&program(vec![register("r", Engine::All, -1)], vec![m, w, down]))[0], 1.0);
}

#[test]
fn an_event_is_consumed_by_its_waiter() {
    let list = vec![
        signalling(on("A", Engine::Dve, 0), event(3)),
        signalling(
            waiting(step("B".into(), Engine::Pool, cell("cells", 0), cell("cells", 1), 1.0), on_event(3)),
            event(4),
        ),
        signalling(waiting(on("C", Engine::Dve, 0), on_event(4)), event(3)),
        waiting(step("D".into(), Engine::Pool, cell("cells", 0), cell("cells", 2), 1.0), on_event(3)),
    ];
    assert_eq!(run(&program(vec![], list))[..3], [2.0, 2.0, 3.0]);
}

#[test]
fn an_event_set_twice_is_a_fault() {
    let list = vec![signalling(count("A", 0), event(3)), signalling(count("B", 0), event(3))];
    let e = fails(&program(vec![], list));
    assert_eq!((e.code(), e.place().instruction.as_deref()), (Code::S004, Some("B")));
}

#[test]
fn an_event_waited_for_twice_by_one_instruction_is_cleared_before_it_is_set() {
    let twice = waiting(waiting(on("B", Engine::Pool, 1), on_event(3)), on_event(3));
    let e = fails(&program(vec![], vec![signalling(count("A", 0), event(3)), twice]));
    assert_eq!((e.code(), e.place().instruction.as_deref()), (Code::S004, Some("B")));
}

#[test]
fn wrong_pairs_of_kind_and_mode_are_protocol_faults() {
    use UpdateMode::*;
    let updated = |u| fails(&program(vec![], vec![signalling(count("A", 0), u)])).code();
    assert_eq!(updated(update(SyncKind::Event, 3, SemAddImm, 1)), Code::S004);
    assert_eq!(updated(semaphore(EvtSet, 1)), Code::S005);
    let waited = |w| {
        let first = signalling(nop("N", Engine::Sp), event(3));
        fails(&program(vec![], vec![first, waiting(count("A", 0), w)])).code()
    };
    assert_eq!(waited(WaitRef { kind: SyncKind::Event, ..wait(3, 1) }), Code::S004);
    assert_eq!(waited(WaitRef { mode: WaitMode::EvtSetClear, ..wait(3, 1) }), Code::S005);
}

#[test]
fn d21_events_are_clear_at_the_end_of_every_block() {
    let e = fails(&blocks(vec![], vec![block("P", vec![signalling(count("A", 0), event(3))]), block("Q", vec![])]));
    assert_eq!((e.code(), e.place().block.as_deref()), (Code::S004, Some("P")));
    let mut l = looped("L".into(), Opcode::Loop, "i", Expr::Const(0), Expr::Const(2), Expr::Const(1));
    l.blocks = vec![block("body", vec![signalling(count("A", 0), event(3))])].into();
    assert_eq!(fails(&program(vec![], vec![l])).code(), Code::S004);
}

#[test]
fn d21_a_semaphore_left_behind_is_a_warning_and_with_strict_a_fault() {
    let m = program(vec![], vec![signalling(count("A", 0), semaphore(UpdateMode::SemAddImm, 2))]);
    let run = |strict| {
        let mut sim = Simulator::builder().threads(1).strict(strict).build().unwrap();
        sim.load(&m).unwrap();
        sim.run()
    };
    let left = run(false).unwrap();
    let warning = left.diagnostics.iter().find(|d| d.code == Remark::SemaphoreLeft).unwrap();
    assert!(warning.message.ends_with("9 = 2"), "{}", warning.message);
    assert_eq!(run(true).unwrap_err().code(), Code::S005);
}

#[test]
fn group_reset_clears_what_it_lists_in_every_mode() {
    use UpdateMode::SemAddImm;
    for mode in [0, 1] {
        let mut i = nop("N", Engine::Sp);
        i.sync.on_update = (20..24).map(|id| update(SyncKind::Semaphore, id, SemAddImm, id)).collect();
        let mut r = reset("R", Engine::Sp, &[20, 22]);
        r.set("mode", Value::Enum(mode));
        let got = semaphores(&program(vec![], vec![i, r, count("A", 0)]));
        assert_eq!(got[20..24], [0, 21, 0, 23]);
    }
}

#[test]
fn semaphores_count_on_across_blocks() {
    let a = block("P", vec![signalling(on("A", Engine::Dve, 0), signal(9))]);
    let b = block("Q", vec![waiting(on("B", Engine::Pool, 0), wait(9, 1))]);
    assert_eq!(run(&blocks(vec![], vec![a, b]))[0], 2.0);
}

#[test]
fn a_barrier_of_engine_all_orders_what_stands_before_and_behind() {
    // Without the barrier nothing orders these two engines; the update makes the function run by queues.
    let list = vec![
        signalling(on("A", Engine::Dve, 0), signal(9)),
        barrier("M", Engine::All),
        step("B".into(), Engine::Pool, cell("cells", 0), cell("cells", 1), 1.0),
        barrier("N", Engine::All),
        on("C", Engine::Dve, 1),
    ];
    assert_eq!(run(&program(vec![], list))[1], 3.0);
}

#[test]
fn barriers_in_the_queues_meet_when_every_engine_with_work_has_arrived() {
    let list = vec![
        barrier("M-Pool", Engine::Pool),
        signalling(on("A", Engine::Dve, 0), signal(9)),
        barrier("M-DVE", Engine::Dve),
        step("B".into(), Engine::Pool, cell("cells", 0), cell("cells", 1), 1.0),
        barrier("N-Pool", Engine::Pool),
        barrier("N-DVE", Engine::Dve),
        on("C", Engine::Dve, 1),
    ];
    assert_eq!(run(&program(vec![], list))[1], 3.0);
}

#[test]
fn the_updates_of_a_barrier_act_when_all_have_arrived() {
    let list = vec![
        signalling(barrier("M-Pool", Engine::Pool), signal(9)),
        on("A", Engine::Dve, 0),
        signalling(barrier("M-DVE", Engine::Dve), signal(9)),
        waiting(step("B".into(), Engine::Pool, cell("cells", 0), cell("cells", 1), 1.0), wait(9, 2)),
    ];
    let m = program(vec![], list);
    assert_eq!(run(&m)[1], 2.0);
    assert_eq!(semaphores(&m)[9], 2);
}

#[test]
fn the_second_update_of_a_barrier_follows_everybodys_first() {
    // The first lists write 5 and then 6 by queue order; all second lists act after both.
    let with_second = |name: &str, engine, first: u32, second: Vec<UpdateRef>| {
        let mut b = signalling(barrier(name, engine), semaphore(UpdateMode::SemWrImm, first));
        b.sync.second_update = second.into();
        b
    };
    let list = vec![
        with_second("M-Pool", Engine::Pool, 5, vec![semaphore(UpdateMode::SemAddImm, 10)]),
        on("A", Engine::Dve, 0),
        with_second("M-DVE", Engine::Dve, 6, vec![]),
        waiting(step("B".into(), Engine::Pool, cell("cells", 0), cell("cells", 1), 1.0), wait(9, 16)),
    ];
    let m = program(vec![], list);
    assert_eq!(run(&m)[1], 2.0);
    assert_eq!(semaphores(&m)[9], 16);
    // A barrier of engine ALL has both lists of its own.
    let all = with_second("M", Engine::All, 3, vec![semaphore(UpdateMode::SemSubImm, 1)]);
    assert_eq!(semaphores(&program(vec![], vec![all]))[9], 2);
}

#[test]
fn the_second_update_stands_beside_sync_info() {
    let one = |n: u32| format!(r#"[{{"id": 9, "update_mode": "sem-wr-imm", "update_value": {n}}}]"#);
    let text = |opcode: &str| {
        format!(
            r#"{{"version": 2, "arch": "gen3", "functions": [{{"name": "main", "allocations": [], "blocks": [
                {{"name": "B", "instructions": [{{"name": "M", "opcode": "{opcode}", "engine": "ALL", "ins": [], "outs": [],
                "on_update": {}, "sync_info": {{"on_update": {}}}}}]}}]}}]}}"#,
            one(7),
            one(8)
        )
    };
    let read = |opcode: &str| birsim_engine::format::read(text(opcode).as_bytes()).unwrap();
    let values = |list: &[UpdateRef]| list.iter().map(|u| u.value).collect::<Vec<_>>();
    let mut m = read("AllEngineBarrier");
    m.functions[0].allocations.push(cells());
    let sync = &m.functions[0].blocks[0].instructions[0].sync;
    assert_eq!((values(&sync.on_update), values(&sync.second_update)), (vec![8], vec![7]));
    assert_eq!(semaphores(&m)[9], 7);
    let again = birsim_engine::format::read(birsim_engine::format::write(&m).as_bytes()).unwrap();
    assert_eq!(again.functions, m.functions);
    // Elsewhere the two lists are one.
    let sync = &read("NoOp").functions[0].blocks[0].instructions[0].sync;
    assert_eq!((values(&sync.on_update), values(&sync.second_update)), (vec![8, 7], vec![]));
}

#[test]
fn a_barrier_that_others_never_reach_is_a_deadlock() {
    let list = vec![barrier("M", Engine::Pool), waiting(count("A", 0), wait(9, 1))];
    let e = fails(&program(vec![], list));
    assert_eq!(e.code(), Code::S003);
    assert!(e.what().contains("Pool: M (AllEngineBarrier) waits for every other engine"), "{e}");
    assert!(e.what().contains("DVE: A (TensorScalar) waits for semaphore 9 >= 1, it is 0"), "{e}");
    assert!(e.what().contains("no instruction still to come updates it"), "{e}");
}

#[test]
fn sync_only_instructions_act_by_their_sync() {
    for opcode in [Opcode::NoOp, Opcode::EventSemaphore, Opcode::Drain, Opcode::Halt, Opcode::TensorCompletion] {
        let i = signalling(waiting(Instruction::new("N", opcode, Engine::Sp), wait(1, 1)), signal(2));
        let list = vec![
            i,
            signalling(on("A", Engine::Dve, 0), signal(1)),
            waiting(step("B".into(), Engine::Pool, cell("cells", 0), cell("cells", 1), 1.0), wait(2, 1)),
        ];
        assert_eq!(run(&program(vec![], list))[1], 2.0, "{opcode}");
    }
}

#[test]
fn an_instruction_without_an_engine_cannot_run_by_queues() {
    let list = vec![signalling(count("A", 0), signal(9)), Instruction { engine: Engine::Unassigned, ..count("B", 0) }];
    let e = fails(&program(vec![], list));
    assert_eq!((e.code(), e.place().instruction.as_deref()), (Code::S016, Some("B")));
    let alone = Instruction { engine: Engine::Unassigned, ..count("B", 0) };
    assert_eq!(run(&program(vec![], vec![alone]))[0], 1.0);
}

/// A trigger with three blocks: block k copies cell k to cell 10 and adds 16 to semaphore 30.
fn queued(list: Vec<Instruction>) -> Module {
    let mut blocks = Vec::new();
    for k in 0..3i64 {
        let mut d = Instruction::new(format!("d{k}"), Opcode::DMADescriptorCopy, Engine::Dma);
        d.ins = vec![cell("cells", k)];
        d.outs = vec![cell("cells", 10)];
        let mut b = Instruction::new(format!("b{k}"), Opcode::DMABlock, Engine::Dma).with("dma_trigger", "T");
        b.sync.on_update.push(update(SyncKind::Semaphore, 30, UpdateMode::SemAddImm, 16));
        b.blocks = vec![block(&format!("b{k}-list"), vec![d])].into();
        blocks.push(b);
    }
    let start = (0..3).map(|k| memset(format!("S{k}"), Engine::Dve, cell("cells", k), (k + 1) as f32 * 10.0));
    let mut m = program(vec![], start.chain([barrier("M", Engine::All)]).chain(list).collect());
    m.queues.push(Queue {
        name: "Q".into(),
        ty: QueueType::Data,
        blocks: vec![block("Q-list", blocks)],
        semaphores: vec![30],
        use_special_sema: vec![31],
        extra: Extra::new(),
    });
    m
}

fn trigger() -> Instruction {
    let mut t = Instruction::new("T", Opcode::DMATrigger, Engine::Dma).with("queue", "Q");
    t.set("dma_blocks", Value::Strs(["b0", "b1", "b2"].map(str::to_string).to_vec()));
    t
}

/// Copies cell 10 to another cell, after everything the DMA engine did before.
fn keep(at: i64) -> Instruction {
    copy(format!("K{at}"), Opcode::DMACopy, Engine::Dma, cell("cells", 10), cell("cells", at))
}

fn rewind(opcode: Opcode, instance: &[&str]) -> Instruction {
    let mut i = Instruction::new("R", opcode, Engine::Dma).with("queue", "Q");
    i.set("instance", Value::Strs(instance.iter().map(|s| s.to_string()).collect()));
    i
}

#[test]
fn a_trigger_goes_round_its_blocks() {
    let list = (0..5).flat_map(|k| [trigger(), keep(20 + k)]).collect();
    assert_eq!(run(&queued(list))[20..25], [10.0, 20.0, 30.0, 10.0, 20.0]);
}

#[test]
fn a_block_signals_when_its_descriptors_are_done() {
    let mut list = vec![trigger()];
    list.push(waiting(step("W".into(), Engine::Pool, cell("cells", 10), cell("cells", 11), 1.0), wait(30, 16)));
    let m = queued(list);
    assert_eq!(run(&m)[11], 11.0);
    assert_eq!(semaphores(&m)[30], 16);
}

#[test]
fn reset_queue_instance_rewinds_and_leaves_semaphores() {
    let reset = rewind(Opcode::ResetQueueInstance, &["b1"]);
    let last = waiting(on("W", Engine::Pool, 40), wait(30, 48));
    let m = queued(vec![trigger(), trigger(), reset, trigger(), keep(20), last]);
    assert_eq!(run(&m)[20], 10.0);
    assert_eq!(semaphores(&m)[30], 48);
}

#[test]
fn switch_queue_instance_clears_both_groups_and_rewinds_unless_told_not_to() {
    for (no_rearm, want) in [(false, 10.0), (true, 30.0)] {
        let mut switch = rewind(Opcode::SwitchQueueInstance, &["b0"]);
        switch.set("no_rearm", Value::Bool(no_rearm));
        switch.sync.on_update.push(update(SyncKind::Semaphore, 31, UpdateMode::SemAddImm, 5));
        let other = signalling(nop("N", Engine::Dma), update(SyncKind::Semaphore, 31, UpdateMode::SemAddImm, 7));
        let m = queued(vec![other, trigger(), trigger(), switch, trigger(), keep(20)]);
        assert_eq!(run(&m)[20], want);
        // The groups are cleared first; the instruction's own update follows.
        assert_eq!(semaphores(&m)[30..32], [16, 5]);
    }
}

#[test]
fn a_predicate_that_fails_stops_triggers_and_rewinds() {
    let off = |mut i: Instruction| {
        i.predicates.push(Predicate { expr: Expr::Const(1), op: PredicateOp::Eq });
        i
    };
    for opcode in [Opcode::ResetQueueInstance, Opcode::SwitchQueueInstance] {
        let last = signalling(keep(20), signal(40));
        let m = queued(vec![trigger(), off(rewind(opcode, &["b0"])), off(trigger()), trigger(), last]);
        assert_eq!(run(&m)[20], 20.0, "{opcode}");
        assert_eq!(semaphores(&m)[30], 32, "{opcode}");
    }
}

#[test]
fn an_unknown_block_of_a_queue_is_invalid() {
    let mut t = trigger();
    t.set("dma_blocks", Value::Strs(vec!["b9".into()]));
    assert_eq!(fails(&queued(vec![t])).code(), Code::J006);
}

#[test]
fn d62_a_semaphore_lowered_below_zero_is_said_and_a_fault_with_strict() {
    let m = program(
        vec![],
        vec![signalling(
            signalling(count("A", 0), semaphore(UpdateMode::SemAddImm, 2)),
            semaphore(UpdateMode::SemSubImm, 3),
        )],
    );
    for order in [IssueOrder::Window, IssueOrder::Reference] {
        let mut done = Done::with(&m, order);
        let summary = done.sim.summary().unwrap();
        let said = summary.diagnostics.iter().find(|d| d.code == Remark::SemaphoreBelowZero).unwrap();
        assert_eq!(said.message, "semaphore 9 is lowered below zero, and its counter wraps: 2 - 3 = 4294967295");
        let world = done.sim.world_mut().unwrap();
        assert_eq!(world.query::<&SemValue>().iter(world).nth(9), Some(&SemValue(u32::MAX)));
    }
    let mut sim = Simulator::builder().threads(1).strict(true).build().unwrap();
    sim.load(&m).unwrap();
    let e = sim.run().unwrap_err();
    assert_eq!((e.code(), e.place().instruction.as_deref()), (Code::S005, Some("A")));
    assert_eq!(e.received_value(), Some("2 - 3 = 4294967295"));
    // Down to zero is below nothing.
    let m = program(
        vec![],
        vec![signalling(signalling(count("A", 0), semaphore(UpdateMode::SemInc, 1)), semaphore(UpdateMode::SemDec, 1))],
    );
    let mut done = Done::with(&m, IssueOrder::Window);
    let summary = done.sim.summary().unwrap();
    assert!(summary.diagnostics.iter().all(|d| d.code != Remark::SemaphoreBelowZero));
}
