//! Generated programs of several cores: collectives, barriers, messages, remote semaphores and shared writes give what a
//! plain sequential interpreter gives, whatever the threads and the schedule.
//!
//! `BIRSIM_REPEATS=100` runs every combination that often instead of once.

mod events;
mod programs;

use birsim_engine::ir::Module;
use birsim_engine::{Check, Code, Cores, Error, IssueOrder, RunSummary, Simulator, TraceSink};
use events::{CELLS, Event, Random, events, interpret, start};
use programs::modules;
use std::borrow::Cow;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Elements of a shared tensor of 1 MiB.
const LARGE: u64 = 1 << 18;

/// What a run leaves.
struct Outcome {
    own: Vec<Vec<u8>>,
    both: Vec<u8>,
    collectives: String,
    /// Counters and remarks of every core.
    report: String,
    trace: Vec<String>,
}

#[derive(Clone, Copy, Debug)]
struct How {
    threads: usize,
    order: IssueOrder,
    traced: bool,
}

fn run(modules: &[Module], how: How, checks: &[Check]) -> Result<Outcome, Error> {
    let mut builder = Simulator::builder().threads(how.threads).schedule(how.order).checks(checks.iter().copied());
    let rows = Arc::new(Mutex::new(Vec::new()));
    if how.traced {
        let rows = Arc::clone(&rows);
        builder = builder.trace(TraceSink::new(move |row| rows.lock().unwrap().push(format!("{row:?}"))));
    }
    let mut cores = Cores::load(&builder, modules)?;
    for core in 0..modules.len() {
        cores.bind_core(core, "own", &bytes(&(0..CELLS).map(|k| start(core, k)).collect::<Vec<_>>()))?;
    }
    cores.bind("both", &[0; 4 * CELLS])?;
    let summaries: Vec<RunSummary> =
        cores.run()?.into_iter().map(|s| RunSummary { wall: Duration::ZERO, ..s }).collect();
    Ok(Outcome {
        own: (0..modules.len())
            .map(|core| cores.cores()[core].output("own").map(Cow::into_owned))
            .collect::<Result<_, _>>()?,
        both: cores.output("both")?[..4 * CELLS].to_vec(),
        collectives: format!("{:?}", cores.collectives()),
        report: format!("{summaries:?}"),
        trace: std::mem::take(&mut *rows.lock().unwrap()),
    })
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn repeats() -> usize {
    std::env::var("BIRSIM_REPEATS").ok().map_or(1, |n| n.parse().expect("BIRSIM_REPEATS is a number"))
}

#[test]
fn generated_programs_give_what_a_sequential_interpreter_gives() {
    let mut seen = [0usize; 10];
    for seed in 0..50 {
        let mut r = Random(seed * 7919 + 1);
        let cores = 2 + r.below(4);
        let list = events(&mut r, cores, 60);
        list.iter().for_each(|e| seen[kind(e)] += 1);
        let (own, both) = interpret(&list, cores);
        let (own, both) = (own.iter().map(|v| bytes(v)).collect::<Vec<_>>(), bytes(&both));
        // A large shared tensor has one storage, a small one a copy per core.
        let modules = modules(&list, cores, if seed % 2 == 0 { CELLS as u64 } else { LARGE });
        let mut collectives = None;
        for order in [IssueOrder::Window, IssueOrder::Reference, IssueOrder::Seeded(seed)] {
            for traced in [false, true] {
                let mut first: Option<Outcome> = None;
                for threads in (0..repeats()).flat_map(|_| [1, 2, 4]) {
                    let how = How { threads, order, traced };
                    let got = run(&modules, how, &[]).unwrap_or_else(|e| panic!("seed {seed}, {how:?}: {e}\n{list:?}"));
                    assert!(got.own == own && got.both == both, "bits, seed {seed}, {how:?}\n{list:?}");
                    assert_eq!(got.trace.is_empty(), !traced);
                    assert_eq!(*collectives.get_or_insert_with(|| got.collectives.clone()), got.collectives);
                    match &first {
                        None => first = Some(got),
                        Some(first) => {
                            assert_eq!(first.report, got.report, "seed {seed}, {how:?}");
                            assert_eq!(first.trace, got.trace, "seed {seed}, {how:?}");
                        }
                    }
                }
            }
        }
        let how = How { threads: 2, order: IssueOrder::Reference, traced: false };
        let checked = run(&modules, how, &[Check::Race]);
        assert!(checked.is_ok(), "seed {seed}: {}", checked.err().unwrap());
    }
    assert!(seen.iter().all(|n| *n > 50), "what was generated: {seen:?}");
}

fn kind(e: &Event) -> usize {
    match e {
        Event::Local { .. } => 0,
        Event::Store { .. } => 1,
        Event::Load { .. } => 2,
        Event::Barrier => 3,
        Event::Reduce { .. } => 4,
        Event::Ring { .. } => 5,
        Event::Pairs { .. } => 6,
        Event::Swap { .. } => 7,
        Event::Message { .. } => 8,
        Event::Signal { .. } => 9,
    }
}

#[test]
fn dropping_a_barrier_makes_the_race_checker_speak() {
    let how = How { threads: 2, order: IssueOrder::Window, traced: false };
    for cores in [2, 3, 5] {
        for last in 0..cores {
            // Core 0 writes, all meet, another reads, all meet, that core writes.
            let reader = (last + 1) % cores;
            let list = [
                Event::Store { core: last, from: 0, shared: 3 },
                Event::Barrier,
                Event::Load { core: reader, shared: 3, to: 1 },
                Event::Barrier,
                Event::Store { core: last, from: 2, shared: 3 },
            ];
            let whole = run(&modules(&list, cores, CELLS as u64), how, &[Check::Race]);
            assert!(whole.is_ok(), "{}", whole.err().unwrap());
            for dropped in [1, 3] {
                let mut less = list.to_vec();
                less.remove(dropped);
                let e = run(&modules(&less, cores, LARGE), how, &[Check::Race]).err().unwrap();
                assert_eq!(e.code(), Code::S017, "{e}");
                for core in [last, reader] {
                    assert!(e.what().contains(&format!("core {core}")), "{e}");
                }
            }
        }
    }
}
