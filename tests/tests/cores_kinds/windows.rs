//! A location with `remote_local_target` is a window on a tensor of another core of the rank.

use birsim_benches::programs::{cell, module, step, tensor};
use birsim_engine::ir::{Engine, Instruction, MemoryType, Module, Opcode, Storage, TensorKind};
use birsim_engine::{Cores, Error, Remark, Simulator};

const ELEMENTS: u64 = 4;

fn dram(name: &str) -> Storage {
    tensor(name, MemoryType::Dram, TensorKind::Internal, 1, ELEMENTS)
}

/// A window on a tensor of a core.
fn window(name: &str, on: &str, core: u32) -> Storage {
    let mut s = dram(name);
    if let Storage::Set(set) = &mut s {
        set.locations[0].extra.insert("remote_local_target".into(), serde_json::json!([on, core]));
    }
    s
}

fn barrier(name: &str) -> Instruction {
    Instruction::new(name, Opcode::CoreBarrier, Engine::Pool).with("id", 1i64)
}

/// One element times a half plus one.
fn copy(name: &str, from: (&str, i64), to: (&str, i64)) -> Instruction {
    step(name.into(), Engine::Pool, cell(from.0, from.1), cell(to.0, to.1), 0.5)
}

/// Core 0 owns `t`; core 1 sees it as `w`. Each has `own`.
fn pair(owner: Vec<Instruction>, viewer: Vec<Instruction>) -> [Module; 2] {
    [module(vec![dram("own"), dram("t")], owner), module(vec![dram("own"), window("w", "t", 0)], viewer)]
}

fn bytes(values: [f32; ELEMENTS as usize]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// Two ranks of two cores, with what core k of rank r holds in `own`.
fn loaded(modules: &[Module]) -> Result<Cores, Error> {
    let mut cores = Cores::load(&Simulator::builder().threads(2).lnc(2).ranks(2), modules)?;
    for core in 0..4 {
        cores.bind_core(core, "own", &bytes([10.0 * core as f32, 2.0, 4.0, 6.0]))?;
        cores.bind_core(core, if core % 2 == 0 { "t" } else { "w" }, &bytes([0.0; 4]))?;
    }
    Ok(cores)
}

fn run(modules: &[Module]) -> Result<Cores, Error> {
    let mut cores = loaded(modules)?;
    cores.run()?;
    Ok(cores)
}

fn values(cores: &Cores, core: usize, name: &str) -> Vec<f32> {
    let bytes = cores.cores()[core].output(name).unwrap();
    bytes.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

#[test]
fn what_goes_through_a_window_stays_in_the_rank() {
    let owner = vec![
        copy("before", ("own", 1), ("t", 3)),
        barrier("b0"),
        copy("see", ("t", 0), ("own", 2)),
        copy("more", ("t", 0), ("t", 1)),
        barrier("b1"),
    ];
    let viewer = vec![
        copy("through", ("own", 0), ("w", 0)),
        barrier("b0"),
        copy("back", ("w", 3), ("own", 3)),
        barrier("b1"),
        copy("again", ("w", 1), ("own", 1)),
    ];
    let cores = run(&pair(owner, viewer)).unwrap();
    for (rank, first) in [(0, 6.0), (1, 16.0)] {
        let (owner, viewer) = (2 * rank, 2 * rank + 1);
        // `t`: what the viewer wrote, what the owner made of it, and what the owner wrote before.
        let t = [first, first * 0.5 + 1.0, 0.0, 2.0];
        assert_eq!(values(&cores, owner, "t"), t, "rank {rank}");
        assert_eq!(values(&cores, viewer, "w"), t, "rank {rank}");
        assert_eq!(values(&cores, owner, "own"), [20.0 * rank as f32, 2.0, t[1], 6.0], "rank {rank}");
        let own = [20.0 * rank as f32 + 10.0, t[1] * 0.5 + 1.0, 4.0, 2.0];
        assert_eq!(values(&cores, viewer, "own"), own, "rank {rank}");
    }
}

#[test]
fn d72_of_two_writes_through_a_window_the_higher_core_wins() {
    let list = |to| vec![copy("c", ("own", 0), (to, 2)), barrier("b")];
    let mut cores = loaded(&pair(list("t"), list("w"))).unwrap();
    let summaries = cores.run().unwrap();
    for rank in 0..2 {
        let of_viewer = (20.0 * rank as f32 + 10.0) * 0.5 + 1.0;
        assert_eq!(values(&cores, 2 * rank, "t"), [0.0, 0.0, of_viewer, 0.0]);
        let told = summaries[2 * rank + 1].diagnostics.iter().filter(|d| d.code == Remark::CoreRace);
        let text: Vec<String> = told.map(ToString::to_string).collect();
        assert_eq!(text.len(), 1, "{text:?}");
        assert!(text[0].contains("cores 0 and 1 write byte 8 of t"), "{text:?}");
    }
}

#[test]
fn a_window_needs_a_tensor_of_its_size_on_a_core_of_the_rank() {
    let with = |w: Storage| {
        let modules = [module(vec![dram("own"), dram("t")], vec![]), module(vec![dram("own"), w], vec![])];
        let e = Cores::load(&Simulator::builder().threads(1).lnc(2), &modules).err().unwrap();
        (e.what().to_string(), e.received_value().map(ToString::to_string), e.place().core)
    };
    let told = |what: &str, got: &str| (what.to_string(), Some(got.to_string()), Some(1));
    assert_eq!(with(window("w", "t", 2)), told("a window names a core that the rank has not", "[t, 2]"));
    assert_eq!(with(window("w", "u", 0)), told("a window names a tensor that the core has not", "[u, 0]"));
    let mut wide = window("w", "t", 0);
    if let Storage::Set(set) = &mut wide {
        set.tensor_shape[1] = 8;
        set.locations[0].dims[1] = 32;
    }
    assert_eq!(with(wide), told("a window has another size or element type than its tensor", "[t, 0]"));
}
