//! Kernels of several cores as modules, one per core.

mod common;

use birsim_klr::ast::{CoreBarrier, Engine, Operator, Stmt};
use common::*;

/// Output of a run, under the name that a sample gives it.
fn output(s: &Sandbox, programs: &[&str], more: &[&str]) -> Vec<u8> {
    let args = [&["run"], programs, &["--input", "x=x.npy", "--out", "out", "-q"], more].concat();
    s.birsim(&args).exits(0);
    std::fs::read(s.path("out/y-birsim.npy")).unwrap()
}

#[test]
fn modules_of_all_cores_run_to_the_bits_of_the_kernel() {
    for (name, more) in [("lnc2_sendrecv", &[][..]), ("lnc2_sendrecv_compute", &["--accept-abstract"])] {
        let s = Sandbox::new();
        s.write("k.klr", kernel(name));
        s.write("x.npy", sample_file(name, "in_x.npy"));
        let direct = output(&s, &["k.klr"], more);
        let ran = s.birsim(&[&["convert", "k.klr", "-o", "a/m.json"], more].concat());
        ran.exits(2).says("BIR-F007", "a/m.core0.json");
        let ran = s.birsim(&[&["convert", "k.klr", "-o", "m.json"], more].concat());
        assert_eq!(ran.exits(0).stdout, "2 cores, one module each; together: birsim run m.core0.json m.core1.json\n");
        assert!(!s.path("m.json").exists());
        for order in [["m.core0.json", "m.core1.json"], ["m.core1.json", "m.core0.json"]] {
            assert_eq!(output(&s, &order, &[]), direct, "{name} {order:?}");
            assert_eq!(output(&s, &order, &["--threads", "1", "--schedule", "reference"]), direct, "{name}");
        }
        s.birsim(&["validate", "m.core0.json", "m.core1.json"]).exits(0);
    }
}

#[test]
fn the_report_and_the_errors_name_all_modules() {
    let s = Sandbox::new();
    s.write("k.klr", kernel("lnc2_sendrecv"));
    s.write("x.npy", sample_file("lnc2_sendrecv", "in_x.npy"));
    s.birsim(&["convert", "k.klr", "-o", "m"]).exits(0);
    let both = ["run", "m.core0", "m.core1", "--input", "x=x.npy", "--report", "r.json"];
    let ran = s.birsim(&both);
    assert!(ran.exits(0).stdout.starts_with("m.core0, m.core1  8 instructions"), "{}", ran.stdout);
    assert_eq!(s.report("r.json")["program"], "m.core0, m.core1");
    // One core alone lacks its partner.
    s.birsim(&["run", "m.core0", "--input", "x=x.npy"])
        .exits(4)
        .says("BIR-U002", "recv_from_rank names a rank that is not part");
    // A fault names the core it is of: core 1 reads rows that the tensor has not.
    let mut broken = s.report("m.core1");
    broken["functions"][0]["blocks"][0]["instructions"][0]["ins"][0]["offset"] = 1_000_000.into();
    s.write("m.core1", serde_json::to_vec(&broken).unwrap());
    s.birsim(&both).exits(3).says("BIR-S001", ", core 1");
}

#[test]
fn modules_that_are_not_one_program_are_refused() {
    let s = Sandbox::new();
    s.write("k.klr", kernel("lnc2_sendrecv"));
    s.birsim(&["convert", "k.klr", "-o", "m.json"]).exits(0);
    s.birsim(&["run", "m.core0.json", "m.core0.json"]).exits(2).says("BIR-F008", "cores 0, 1, 2");
    s.birsim(&["run", "m.core0.json", "k.klr"]).exits(2).says("BIR-F008", "give it alone");
    s.birsim(&["run", "m.core0.json", "gone.json"]).exits(2).says("BIR-F001", "gone.json");
    s.write("cut.json", "{\"version\": 2");
    s.birsim(&["run", "m.core0.json", "cut.json"]).exits(2).says("BIR-J", "cut.json");
    s.birsim(&["convert", "k.klr", "-o", "-"]).exits(2).says("BIR-F008", "--core K");
}

#[test]
fn one_core_is_written_on_request() {
    let s = Sandbox::new();
    s.write("k.klr", kernel("lnc2_sendrecv"));
    s.birsim(&["convert", "k.klr", "-o", "m.json", "--core", "2"]).exits(2).says("BIR-F008", "--core 2 of 2");
    assert!(!s.path("m.json").exists());
    // Alone, a module is that of the only core: core 0.
    let alone = [("0", 4, "names a rank that is not part of the run"), ("1", 2, "a SendRecv with the own core")];
    for (core, code, text) in alone {
        let file = format!("m{core}.json");
        let ran = s.birsim(&["convert", "k.klr", "-o", &file, "--core", core]);
        assert_eq!(ran.exits(0).stdout, "");
        let module = s.report(&file);
        assert_eq!(module["attributes"]["neuron_core_id"].to_string(), core);
        let ran = s.birsim(&["validate", &file]);
        assert!(ran.exits(code).stderr.contains(text), "{}", ran.stderr);
        let text = s.birsim(&["convert", "k.klr", "-o", "-", "--core", core]);
        assert_eq!(text.exits(0).stdout, std::fs::read_to_string(s.path(&file)).unwrap());
    }
    s.birsim(&["validate", "m0.json", "m1.json"]).exits(0);
}

/// Two barriers around the exchange.
fn with_barriers() -> Vec<u8> {
    changed("lnc2_sendrecv", |k| {
        for body in &mut k.bodies {
            let block = &mut body[0].body;
            let Operator::NcDmaCopy(load) = block[0].op.clone() else { panic!("a load comes first") };
            let barrier = |name: &str| Stmt {
                name: Some(name.to_owned()),
                op: Operator::CoreBarrier(Box::new(CoreBarrier {
                    data: load.src.clone(),
                    cores: vec![0, 1],
                    engine: Engine::Unassigned,
                })),
                ..block[0].clone()
            };
            let (first, second) = (barrier("meet.1"), barrier("meet.2"));
            block.insert(1, first);
            block.push(second);
        }
    })
}

#[test]
fn a_wrong_barrier_id_is_a_deadlock_that_names_both_sides() {
    let s = Sandbox::new();
    s.write("k.klr", with_barriers());
    s.write("x.npy", sample_file("lnc2_sendrecv", "in_x.npy"));
    s.write("y.npy", sample_file("lnc2_sendrecv", "out_y.npy"));
    s.birsim(&["convert", "k.klr", "-o", "m.json"]).exits(0);
    let input = ["--input", "x=x.npy", "--golden", "y=y.npy", "--rtol", "0", "--atol", "0"];
    for programs in [&["k.klr"][..], &["m.core0.json", "m.core1.json"]] {
        s.birsim(&[&["run"], programs, &input[..]].concat()).exits(0);
    }
    let mut other = s.report("m.core1.json");
    let list = other["functions"][0]["blocks"][0]["instructions"].as_array_mut().unwrap();
    let second = list.iter_mut().rfind(|i| i["opcode"] == "CoreBarrier").unwrap();
    assert_eq!(second["id"], 2);
    second["id"] = 9.into();
    s.write("m.core1.json", serde_json::to_vec(&other).unwrap());
    let ran = s.birsim(&[&["run", "m.core0.json", "m.core1.json"], &input[..]].concat());
    ran.exits(3).says("BIR-S003", "core 0: meet.2 (CoreBarrier) waits for barrier 2 of cores [0, 1]");
    assert!(ran.stderr.contains("core 1: meet.2 (CoreBarrier) waits for barrier 9 of cores [0, 1]"), "{}", ran.stderr);
}
