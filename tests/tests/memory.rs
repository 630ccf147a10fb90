//! Storage is lazy: declared bytes cost nothing, touched ones are counted and can be limited.
#![cfg(target_os = "linux")]

use birsim_engine::ir::{MemoryType, Module, Opcode, Storage, TensorKind};
use birsim_engine::{Code, Limits, Simulator};
use birsim_tests::build::*;

/// Set in the child process that runs the program.
const CHILD: &str = "BIRSIM_TEST_CHILD";
const MIB: u64 = 1 << 20;

/// 64 GiB of DRAM, an output too, of which ten pieces of 1 MiB are written far from each other.
fn sparse() -> Module {
    let big = |name, kind| {
        let mut s = birsim_benches::programs::tensor(name, MemoryType::Dram, kind, 1 << 19, 1 << 14);
        if let Storage::Set(set) = &mut s {
            assert_eq!(set.locations[0].dims.iter().product::<u64>(), 32 << 30);
        }
        s
    };
    let tensors = vec![
        big("big", TensorKind::Internal),
        big("out", TensorKind::ExternalOutput),
        birsim_benches::programs::tensor("s", MemoryType::Sb, TensorKind::Internal, 128, 2048),
    ];
    let s = || whole("s", 128, 2048);
    let mut list = vec![memset("fill".into(), birsim_engine::ir::Engine::Dve, s(), 3.0)];
    for k in 0..10i64 {
        let to = if k % 2 == 0 { "big" } else { "out" };
        let to = block_of(to, 2048, k * 700_000_000 + 5, 128, 2048);
        list.push(copy(format!("write-{k}"), Opcode::DMACopy, birsim_engine::ir::Engine::Dma, s(), to));
    }
    birsim_benches::programs::module(tensors, list)
}

fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn a_module_of_64_gib_that_touches_10_mib_stays_under_64_mib() {
    if std::env::var_os(CHILD).is_some() {
        let mut sim = Simulator::builder().threads(1).build().unwrap();
        sim.load(&sparse()).unwrap();
        let summary = sim.run().unwrap();
        println!("\ntouched {} peak {}", summary.stats.touched, peak());
        return;
    }
    let out = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_module_of_64_gib_that_touches_10_mib_stays_under_64_mib", "--nocapture"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(out.status.success(), "{text}\n{}", String::from_utf8_lossy(&out.stderr));
    let line = text.lines().find(|l| l.starts_with("touched ")).unwrap_or_else(|| panic!("{text}"));
    let numbers: Vec<u64> = line.split_whitespace().filter_map(|w| w.parse().ok()).collect();
    assert!((11 * MIB..13 * MIB).contains(&numbers[0]), "{line}");
    assert!(numbers[1] < 64 * MIB, "{line}");
}

#[test]
fn max_memory_limits_touched_bytes_not_declared_ones() {
    let run = |max: u64| {
        let limits = Limits { max_memory: Some(max), ..Limits::default() };
        let mut sim = Simulator::builder().threads(1).limits(limits).build().unwrap();
        sim.load(&sparse()).unwrap();
        sim.run().map(|s| s.stats.touched)
    };
    let touched = run(13 * MIB).unwrap();
    assert_eq!(run(touched).unwrap(), touched);
    let e = run(touched - 1).unwrap_err();
    assert_eq!(e.code(), Code::S009);
    assert_eq!(e.place().instruction.as_deref(), Some("write-9"));
    assert_eq!(e.received_value(), Some(format!("{touched} of {} bytes", touched - 1).as_str()));
}

#[test]
fn binding_counts_as_touching() {
    let limits = Limits { max_memory: Some(MIB / 2), ..Limits::default() };
    let mut sim = Simulator::builder().threads(1).limits(limits).build().unwrap();
    sim.load(&sparse()).unwrap();
    assert_eq!(sim.bind("s", &vec![0; MIB as usize]).unwrap_err().code(), Code::S009);
}
