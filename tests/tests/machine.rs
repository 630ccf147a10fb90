//! The machine as a world: entities, growing programs, deadlock reports.

use birsim_benches::programs::{block, cell, module, repeat, signal, step, synchronised, tensor, wait};
use birsim_engine::ir::{Engine, Instruction, MemoryType, Module, Opcode, TensorKind};
use birsim_engine::world::*;
use birsim_engine::{Code, IssueOrder, Simulator};

fn simulator(m: &Module) -> Simulator {
    let mut sim = Simulator::builder().build().unwrap();
    sim.load(m).unwrap();
    fill(&mut sim);
    sim
}

/// Numbers that make every lost or reordered step visible; never-written cells would be NaN throughout.
fn fill(sim: &mut Simulator) {
    let n = sim.tensors()[0].bytes / 4;
    let bytes: Vec<u8> = (0..n).flat_map(|i| (i as f32 * 0.75 - 3.0).to_le_bytes()).collect();
    sim.bind("cells", &bytes).unwrap();
}

/// Compared by hash so that a failure stays readable.
fn digest(sim: &mut Simulator) -> u64 {
    let bytes = sim.output("cells").unwrap();
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01B3))
}

fn two_engines() -> Module {
    let cells = tensor("cells", MemoryType::Sb, TensorKind::Internal, 1, 8);
    let mut a = step("A".into(), Engine::Pool, cell("cells", 0), cell("cells", 1), 0.0);
    a.sync.on_wait.push(wait(7, 1));
    let mut b = step("B".into(), Engine::Dve, cell("cells", 1), cell("cells", 2), 2.0);
    b.sync.on_wait.push(wait(3, 1));
    a.sync.on_update.push(signal(3));
    module(vec![cells], vec![b, a])
}

fn value(sim: &mut Simulator, at: usize) -> f32 {
    let bytes = sim.output("cells").unwrap();
    f32::from_le_bytes(bytes[at * 4..at * 4 + 4].try_into().unwrap())
}

#[test]
fn every_kind_of_entity_answers_a_query() {
    let cells = tensor("cells", MemoryType::Sb, TensorKind::Internal, 1, 8);
    let body = vec![step("I".into(), Engine::Dve, cell("cells", 0), cell("cells", 0), 1.0)];
    let trigger = Instruction::new("T-0", Opcode::DMATrigger, Engine::Dma);
    let mut m = module(vec![cells], vec![repeat("i", 3, body), trigger]);
    m.queues.push(birsim_engine::ir::Queue {
        name: "q".into(),
        ty: birsim_engine::ir::QueueType::Data,
        blocks: Vec::new(),
        semaphores: Vec::new(),
        use_special_sema: Vec::new(),
        extra: Default::default(),
    });
    let mut sim = simulator(&m);
    sim.run().unwrap();
    let world = sim.world_mut().unwrap();
    // TensorScalar, Loop, DMATrigger: what fires a queue ends the issue window.
    let instructions: Vec<bool> = world.query::<&SyncSet>().iter(world).map(|s| s.ends_window).collect();
    assert_eq!(instructions, [false, false, true]);
    let engines = world
        .query::<(&EngineId, &Cursor, &Status, &RegisterFile, &Accumulators, &EngineRng)>()
        .iter(world)
        .map(|(id, ..)| id.0)
        .collect::<Vec<_>>();
    assert_eq!(engines.len(), 7);
    assert_eq!(world.query::<(&SemValue, &Touched)>().iter(world).count(), 256);
    assert_eq!(world.query::<(&EventBit, &EventTouched)>().iter(world).count(), 256);
    assert_eq!(world.query::<(&Placement, &LocationState)>().iter(world).count(), 1);
    let arenas: Vec<usize> = world.query::<&birsim_engine::memory::ArenaMem>().iter(world).map(|a| a.len()).collect();
    assert_eq!(arenas, [32]);
    assert_eq!(world.query::<&Induction>().iter(world).map(|i| i.value).collect::<Vec<_>>(), [2]);
    assert_eq!(world.query::<&FireCount>().iter(world).map(|f| f.0).collect::<Vec<_>>(), [1]);
}

#[test]
fn a_semaphore_changed_through_the_world_releases_its_waiter() {
    let mut stuck = simulator(&two_engines());
    assert_eq!(stuck.run().unwrap_err().code(), Code::S003);

    let mut freed = simulator(&two_engines());
    let world = freed.world_mut().unwrap();
    let mut semaphores = world.query::<&mut SemValue>();
    *semaphores.iter_mut(world).nth(7).unwrap() = SemValue(1);
    freed.run().unwrap();
    assert_eq!((value(&mut freed, 1), value(&mut freed, 2)), (1.0, 3.0));
    assert_eq!(value(&mut freed, 3), -0.75);
}

#[test]
fn a_deadlock_names_engine_instruction_condition_and_producer() {
    let cells = tensor("cells", MemoryType::Sb, TensorKind::Internal, 1, 8);
    let mut a = step("A".into(), Engine::Pool, cell("cells", 0), cell("cells", 1), 0.0);
    a.sync.on_wait.push(wait(1, 1));
    a.sync.on_update.push(signal(2));
    let mut b = step("B".into(), Engine::Dve, cell("cells", 1), cell("cells", 2), 2.0);
    b.sync.on_wait.push(wait(2, 1));
    b.sync.on_update.push(signal(1));
    let e = simulator(&module(vec![cells], vec![a, b])).run().unwrap_err();
    assert_eq!(e.code(), Code::S003);
    assert_eq!(
        e.what(),
        "no engine can go on in block Block1\n    \
         Pool: A (TensorScalar) waits for semaphore 1 >= 1, it is 0; updated by B on DVE (itself waiting)\n    \
         DVE: B (TensorScalar) waits for semaphore 2 >= 1, it is 0; updated by A on Pool (itself waiting)\n    \
         circle: A -> B -> A"
    );
}

#[test]
fn a_program_appended_in_pieces_gives_the_same_bits() {
    let whole = synchronised(300);
    let mut one = simulator(&whole);
    one.run().unwrap();
    let want = digest(&mut one);

    // The same instructions in three blocks; each ends with the reset that the original ends with.
    let mut first = whole.clone();
    let blocks = &mut first.functions[0].blocks;
    let all = std::mem::take(&mut blocks[0].instructions);
    blocks.clear();
    let mut sim = simulator(&first);
    for (k, part) in all.chunks(101).enumerate() {
        // Waits count from the start of the program, so nothing is reset between the pieces.
        sim.append_block(&[], &block(&format!("piece{k}"), part.to_vec())).unwrap();
        sim.run().unwrap();
    }
    assert_eq!(digest(&mut sim), want);
}

#[test]
fn released_storage_reads_as_never_written() {
    let m = synchronised(60);
    let mut sim = simulator(&m);
    sim.run().unwrap();
    assert!(sim.output("cells").unwrap().iter().any(|b| *b != 0xFF));
    let touched = sim.summary().unwrap().stats.touched;
    sim.release("cells").unwrap();
    assert!(sim.output("cells").unwrap().iter().all(|b| *b == 0xFF));
    assert!(sim.summary().unwrap().stats.touched < touched);
}

#[test]
fn every_schedule_gives_the_same_bits() {
    let m = synchronised(600);
    let run = |schedule| {
        let mut sim = Simulator::builder().schedule(schedule).build().unwrap();
        sim.load(&m).unwrap();
        fill(&mut sim);
        sim.run().unwrap();
        digest(&mut sim)
    };
    let want = run(IssueOrder::Reference);
    assert_eq!(run(IssueOrder::Window), want);
    for seed in 0..20 {
        assert_eq!(run(IssueOrder::Seeded(seed)), want, "seed {seed}");
    }
}
