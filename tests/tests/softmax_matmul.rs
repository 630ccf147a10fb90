//! The example program: right under every schedule, and wrong as soon as one of its waits is missing.

use birsim_cli::npy::Archive;
use birsim_engine::ir::{Block, Instruction, Module};
use birsim_engine::{IssueOrder, Simulator, format};
use birsim_kernels::Dtype;
use birsim_kernels::compare::{Tolerance, compare};
use std::path::{Path, PathBuf};

const OUTPUT: [u64; 2] = [128, 128];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/softmax_matmul")
}

fn module() -> Module {
    format::read(&std::fs::read(folder().join("module.json")).unwrap()).unwrap()
}

struct Data {
    inputs: Vec<(&'static str, Vec<u8>)>,
    golden: Vec<u8>,
}

fn data() -> Data {
    let array = |file: &str, name: &str, shape: &[u64]| {
        let mut archive = Archive::open(&folder().join(file)).unwrap();
        archive.member(name).unwrap().into_tensor(Dtype::Float32, shape).unwrap()
    };
    let ident = birsim_cli::npy::open(&folder().join("ident.npy")).unwrap();
    Data {
        inputs: vec![
            ("x", array("inputs.npz", "x", &[128, 512])),
            ("w", array("inputs.npz", "w", &[512, 128])),
            ("ident", ident.into_tensor(Dtype::Float32, &[32, 32]).unwrap()),
        ],
        golden: array("golden.npz", "o", &OUTPUT),
    }
}

/// The output's bytes; `None` when the run ends with a fault.
fn run(module: &Module, data: &Data, schedule: IssueOrder) -> Option<Vec<u8>> {
    let mut sim = Simulator::builder().schedule(schedule).threads(1).build().unwrap();
    sim.load(module).unwrap();
    for (name, bytes) in &data.inputs {
        sim.bind(name, bytes).unwrap();
    }
    sim.run().ok()?;
    Some(sim.output("o").unwrap())
}

fn matches(data: &Data, got: &[u8]) -> bool {
    compare(Dtype::Float32, got, &data.golden, &Tolerance { rtol: 1e-5, atol: 1e-6, nan_bits: false }).equal
}

fn blocks(module: &mut Module) -> &mut [Block] {
    &mut module.functions[0].blocks
}

/// Calls `f` for every instruction, nested ones included.
fn visit(blocks: &mut [Block], f: &mut dyn FnMut(&mut Instruction)) {
    for i in blocks.iter_mut().flat_map(|b| &mut b.instructions) {
        f(i);
        visit(&mut i.blocks, f);
    }
}

#[test]
fn every_schedule_gives_the_same_right_bits() {
    let (module, data) = (module(), data());
    let reference = run(&module, &data, IssueOrder::Reference).unwrap();
    assert!(matches(&data, &reference));
    assert_eq!(run(&module, &data, IssueOrder::Window), Some(reference.clone()));
    for seed in 0..5 {
        assert_eq!(run(&module, &data, IssueOrder::Seeded(seed)), Some(reference.clone()), "seed {seed}");
    }
}

#[test]
fn without_any_one_of_its_waits_some_schedule_goes_wrong() {
    let data = data();
    let mut waits = 0;
    visit(blocks(&mut module()), &mut |i| waits += i.sync.on_wait.len());
    assert!(waits >= 20, "{waits} semaphore edges");
    for dropped in 0..waits {
        let mut changed = module();
        let (mut k, mut name) = (0, String::new());
        visit(blocks(&mut changed), &mut |i| {
            let first = k;
            k += i.sync.on_wait.len();
            if (first..k).contains(&dropped) {
                i.sync.on_wait.remove(dropped - first);
                name.clone_from(&i.name);
            }
        });
        let wrong =
            (0..40).any(|seed| run(&changed, &data, IssueOrder::Seeded(seed)).is_none_or(|o| !matches(&data, &o)));
        assert!(wrong, "wait {dropped}, of {name}, is not needed");
    }
}
