//! A machine that is reset, or made of one that ran another program, runs as a new one does: same bits, counters, remarks.

use birsim_cli::npy;
use birsim_engine::{Cores, Error, IssueOrder, Limits, MemMode, RunSummary, Simulator, format};
use birsim_tests::cases::{self, Case};
use std::path::Path;
use std::time::Duration;

/// Everything a run shows: counters and remarks, or its fault; and the outputs.
type Shown = (Result<String, Error>, Vec<Vec<u8>>);

fn shown(sim: &mut Cores, folder: &Path, case: &Case) -> Shown {
    for name in &case.inputs {
        let Some(info) = sim.tensors().into_iter().find(|t| t.name == *name) else { continue };
        let npy = npy::open(&folder.join("inputs").join(format!("{name}.npy")));
        // Some cases are about inputs that do not fit.
        let Ok(bytes) = npy.and_then(|n| n.into_tensor(info.dtype, &info.shape)) else { continue };
        sim.bind(name, &bytes).unwrap();
    }
    let text = |all: Vec<RunSummary>| {
        let timeless = all.into_iter().map(|s| RunSummary { wall: Duration::ZERO, ..s });
        format!("{:?}", timeless.collect::<Vec<_>>())
    };
    let ran = sim.run().map(text);
    let outputs = case.outputs.iter().filter_map(|name| sim.output(name).ok()).collect();
    (ran, outputs)
}

#[test]
fn a_reset_machine_runs_as_a_new_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/cases");
    let mut compared = 0;
    let mut spare: Option<Cores> = None;
    for folder in cases::find(&root) {
        let case: Case = serde_json::from_slice(&std::fs::read(folder.join("case.json")).unwrap()).unwrap();
        let Ok(module) = format::read(&std::fs::read(folder.join("module.json")).unwrap()) else { continue };
        for (mode, schedule) in [(MemMode::Symbolic, IssueOrder::Window), (MemMode::Auto, IssueOrder::Seeded(3))] {
            let limits = || Limits { max_instructions: Some(1_000_000), ..Limits::default() };
            let builder = Simulator::builder().mem_mode(mode).schedule(schedule).threads(1);
            let new = || Cores::load(&builder.clone().limits(limits()), std::slice::from_ref(&module));
            let Ok(mut sim) = new() else { continue };
            let want = shown(&mut sim, &folder, &case);
            for again in 1..3 {
                assert!(sim.reset(&builder.clone().limits(limits())));
                let got = shown(&mut sim, &folder, &case);
                assert!(got == want, "{}, run {again}:\n{:?}\n{:?}", folder.display(), got.0, want.0);
            }
            // The machine of the case before, whatever it left there.
            if let Some(other) = spare.replace(sim) {
                let mut sim = other.reload(&builder.clone().limits(limits()), std::slice::from_ref(&module)).unwrap();
                let got = shown(&mut sim, &folder, &case);
                assert!(got == want, "{}, on another machine:\n{:?}\n{:?}", folder.display(), got.0, want.0);
                assert!(sim.reset(&builder.clone().limits(limits())));
                assert!(shown(&mut sim, &folder, &case) == want, "{}, reset", folder.display());
            }
            compared += 1;
        }
    }
    assert!(compared > 200, "{compared}");
}

#[test]
fn what_observes_a_run_is_not_reset() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/cases");
    let folder = cases::find(&root).remove(0);
    let module = format::read(&std::fs::read(folder.join("module.json")).unwrap()).unwrap();
    let builder = Simulator::builder().checks([birsim_engine::Check::Uninit]);
    let mut sim = Cores::load(&builder, std::slice::from_ref(&module)).unwrap();
    assert!(!sim.reset(&builder));
}
