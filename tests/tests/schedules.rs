//! Generated programs: every schedule and a plain interpreter agree in memory, registers, semaphores and faults.

use birsim_engine::ir::Module;
use birsim_engine::{Check, IssueOrder, MemMode, Remark, Simulator};
use birsim_tests::generate::{Fault, generate, without};
use birsim_tests::outcome::{difference, engine, finished, plain, sets, start, started};
use std::collections::BTreeMap;

/// Checks one program under every schedule.
#[track_caller]
fn agree(seed: u64, physical: bool, fault: Fault, seeds: u64, coverage: &mut BTreeMap<String, u64>) {
    let g = generate(seed, physical, fault);
    let want = plain(&g.module, physical, coverage);
    assert_eq!(want.is_err(), fault != Fault::None, "program {seed}");
    let schedules = [IssueOrder::Window, IssueOrder::Reference].into_iter().chain((0..seeds).map(IssueOrder::Seeded));
    for schedule in schedules {
        let got = engine(&g.module, physical, schedule);
        if let Some(what) = difference(&want, &got) {
            panic!("program {seed} (physical: {physical}) under {schedule:?}: {what}");
        }
    }
}

/// Runs the work on both cores of a small machine.
fn each(seeds: std::ops::Range<u64>, f: impl Fn(u64, &mut BTreeMap<String, u64>) + Sync) -> BTreeMap<String, u64> {
    let next = std::sync::atomic::AtomicU64::new(seeds.start);
    let mut all = BTreeMap::new();
    std::thread::scope(|s| {
        let work = || {
            let mut coverage = BTreeMap::new();
            loop {
                let seed = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                if seed >= seeds.end {
                    return coverage;
                }
                f(seed, &mut coverage);
            }
        };
        let threads = [s.spawn(work), s.spawn(work)];
        for t in threads {
            let part = t.join().unwrap_or_else(|e| std::panic::resume_unwind(e));
            part.into_iter().for_each(|(k, n)| *all.entry(k).or_default() += n);
        }
    });
    all
}

/// Everything that the programs must have executed.
const FEATURES: &[&str] = &[
    "wait semaphore sem-ge-imm",
    "wait semaphore sem-ge-reg",
    "wait event evt-set-clear",
    "update semaphore sem-add-imm",
    "update semaphore sem-sub-imm",
    "update semaphore sem-inc",
    "update semaphore sem-dec",
    "update semaphore sem-wr-imm",
    "update event evt-set",
    "op GroupResetSemaphores",
    "op AllEngineBarrier",
    "op NoOp",
    "op EventSemaphore",
    "op Drain",
    "op Call",
    "op NKIKernel",
    "block argument",
    "second update",
    "op Return",
    "op Exit",
    "op Break",
    "op Loop",
    "op DynamicForLoop",
    "op DoWhile",
    "op UnconditionalBranch",
    "op CompareAndBranch",
    "op RegisterMove",
    "op RegisterAlu",
    "op TensorLoad",
    "op TensorSave",
    "op TensorScalar",
    "op TensorTensor",
    "op TensorCopy",
    "op Memset",
    "op DMACopy",
    "op Load",
    "op Save",
    "op Matmult",
    "op DMATrigger",
    "op DMADescriptorCopy",
    "op SwitchQueueInstance",
    "op ResetQueueInstance",
    "plain loop",
    "parallel loop",
    "zero trips",
    "depth 2",
    "branch taken",
    "branch not taken",
    "predicate holds",
    "predicate fails",
    "matmult flag 0",
    "matmult flag 1",
    "matmult flag 4",
    "matmult flag 6",
    "matmult adds",
    "operand physical_ap",
    "operand symbolic_ap",
    "operand register_ap",
    "reads through an overlap",
    "reads across engines",
];

#[test]
fn every_schedule_agrees_with_a_plain_interpreter() {
    let coverage = each(1..61, |seed, c| agree(seed, seed % 2 == 0, Fault::None, 200, c));
    println!("{coverage:#?}");
    for f in FEATURES {
        assert!(coverage.get(*f).is_some_and(|n| *n >= 3), "{f} is executed less than three times");
    }
}

#[test]
fn many_programs_agree_under_a_few_schedules() {
    each(1000..1400, |seed, c| agree(seed, seed % 2 == 0, Fault::None, 3, c));
}

#[test]
fn a_fault_is_the_same_under_every_schedule() {
    let faults = [Fault::Bounds, Fault::Event, Fault::Increment];
    each(5000..5060, |seed, c| agree(seed, seed % 2 == 0, faults[seed as usize % 3], 10, c));
}

#[test]
fn with_a_wait_taken_away_some_schedule_differs() {
    let found = each(9000..9024, |seed, c| {
        let g = generate(seed, seed % 2 == 0, Fault::None);
        let mut p = started(&g.module, g.physical);
        assert!(p.run().is_ok());
        let want = finished(&g.module, &p);
        let executed = g.waits.iter().filter(|(name, _)| p.executed.contains(name));
        // Some waits are implied by others, or order what is overwritten anyway.
        let mut seen = 0;
        for wait in executed.take(40) {
            let m = without(&g.module, wait);
            let differs = (0..60).any(|s| difference(&want, &engine(&m, g.physical, IssueOrder::Seeded(s))).is_some());
            seen += u64::from(differs);
            *c.entry(if differs { "seen" } else { "unseen" }.into()).or_default() += 1;
        }
        *c.entry(if seen > 0 { "programs seen" } else { "programs unseen" }.into()).or_default() += 1;
    });
    println!("{found:?}");
    // In nine programs of ten at least one wait is needed in a way that 60 orders show.
    assert!(found.get("programs unseen").is_none_or(|n| n * 9 <= found["programs seen"]), "{found:?}");
    assert!(found["seen"] * 4 > found["unseen"], "{found:?}");
}

/// What the race checker says. Generated programs wait for a trigger, not for the descriptors that it starts, so races with
/// these are left out.
fn races(m: &Module, physical: bool) -> Vec<String> {
    let mode = if physical { MemMode::Physical } else { MemMode::Symbolic };
    let builder = Simulator::builder().threads(1).mem_mode(mode).checks([Check::Race]);
    let mut sim = builder.build().expect("a simulator");
    sim.load(m).expect("the program loads");
    for (_, _, name, bytes) in sets(m).iter().filter(|(f, ..)| f == "main") {
        sim.bind(name, &start(name, *bytes)).expect("the tensor is there");
    }
    // A finding is an error of the run; the summary has them all.
    let _ = sim.run();
    let summary = sim.summary().expect("a summary");
    summary
        .diagnostics
        .into_iter()
        .filter(|d| d.code == Remark::Race)
        .map(|d| d.message)
        .filter(|t| !t.contains("of a DMA queue"))
        .collect()
}

#[test]
fn the_race_checker_is_silent_until_a_needed_wait_is_taken_away() {
    let found = each(9000..9080, |seed, c| {
        let g = generate(seed, seed % 2 == 0, Fault::None);
        let mut p = started(&g.module, g.physical);
        assert!(p.run().is_ok());
        // Parallel loops are ordered by control flow alone, which does not order engines of the hardware.
        if p.coverage.contains_key("parallel loop") {
            return;
        }
        let told = races(&g.module, g.physical);
        assert!(told.is_empty(), "program {seed}: {told:#?}");
        *c.entry("silent".into()).or_default() += 1;
        let want = finished(&g.module, &p);
        for wait in g.waits.iter().filter(|(name, _)| p.executed.contains(name)).take(12) {
            let m = without(&g.module, wait);
            if (0..20).any(|s| difference(&want, &engine(&m, g.physical, IssueOrder::Seeded(s))).is_some()) {
                let key = if races(&m, g.physical).is_empty() { "missed" } else { "found" };
                *c.entry(key.into()).or_default() += 1;
            }
        }
    });
    println!("{found:?}");
    // A difference that comes from registers alone is not a race on memory.
    assert!(found["silent"] >= 5 && found["found"] > 4 * found.get("missed").copied().unwrap_or(0), "{found:?}");
}
