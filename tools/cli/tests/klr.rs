//! KLR kernels on the command line: conversion of several cores, embedded kernels, printing, the reference tool's exits.

mod common;

use common::*;
use std::path::PathBuf;
use std::process::Command;

fn corpus(name: &str) -> PathBuf {
    root().join("tests/data/klr-corpus/lnc").join(name)
}

fn kernel(name: &str) -> Vec<u8> {
    std::fs::read(corpus(name).join("kernel.klr")).unwrap()
}

fn klr_sim(s: &Sandbox, args: &[&str]) -> Ran {
    let out = Command::new(env!("CARGO_BIN_EXE_nki_klr_sim")).args(args).current_dir(s.0.path()).output().unwrap();
    let text = |b: Vec<u8>| String::from_utf8(b).unwrap();
    Ran { code: out.status.code().unwrap_or(-1), stdout: text(out.stdout), stderr: text(out.stderr) }
}

/// A float32 `.npy` file of rows x columns, counting up from `first`.
fn counting(rows: usize, columns: usize, first: usize) -> Vec<u8> {
    let values: Vec<f32> = (0..rows * columns).map(|n| (first + n) as f32).collect();
    npy("<f4", false, &format!("({rows}, {columns})"), &f32s(&values))
}

#[test]
fn a_kernel_of_several_cores_converts_core_by_core() {
    let s = Sandbox::new();
    s.write("k.klr", kernel("lnc2_sendrecv"));
    s.birsim(&["convert", "k.klr", "-o", "m.json"]).exits(4).says("BIR-U002", "--core K");
    s.birsim(&["convert", "k.klr", "-o", "m.json", "--core", "2"]).exits(2).says("BIR-F008", "--core 2 of 2");
    assert!(!s.path("m.json").exists());
    for core in ["0", "1"] {
        let file = format!("m{core}.json");
        s.birsim(&["convert", "k.klr", "-o", &file, "--core", core]).exits(0);
        let module = s.report(&file);
        assert_eq!(module["attributes"]["neuron_core_id"].to_string(), core);
        s.birsim(&["validate", &file]).exits(0);
    }
}

/// A module that calls an embedded kernel from x to o.
fn embedding(file: &str, format: &str, shape: [usize; 2], arguments: &str) -> String {
    let allocations =
        [dram("x", "ExternalInput", "float32", shape, 4, ""), dram("o", "ExternalOutput", "float32", shape, 4, "")];
    let call = format!(
        r#"{{"name": "I-7", "opcode": "NKIKLIRKernel", "engine": "Pool", "ins": [], "outs": [], "klir_binary": "{file}",
            "kernel_format": "{format}", {arguments}}}"#
    );
    module(&allocations, &[call])
}

const NAMED: &str = r#""func_args": {"x": "x_set"}, "func_outs": {"y": "o_set"}"#;

fn output(s: &Sandbox, program: &str, x: &str, name: &str) -> Vec<u8> {
    let input = format!("x={x}");
    s.birsim(&["run", program, "--input", &input, "--out", "out", "-q"]).exits(0);
    std::fs::read(s.path("out").join(format!("{name}-birsim.npy"))).unwrap()
}

#[test]
fn an_embedded_kernel_is_expanded_into_a_call() {
    let add = root().join("tests/data/klr_add_scalar");
    let s = Sandbox::new();
    s.write("k.klr", std::fs::read(add.join("kernel.klr")).unwrap());
    s.write("x.npy", std::fs::read(add.join("in_x.npy")).unwrap());
    let golden = std::fs::read(add.join("out_y.npy")).unwrap();
    let lists = r#""func_args": ["x_set"], "func_outs": ["o_set"]"#;
    for (file, arguments) in [("k.klr", NAMED), ("/build/artifacts/k.klr", NAMED), ("k.klr", lists)] {
        s.write("m.json", embedding(file, "klir", [32, 64], arguments));
        // As it stands the kernel is skipped.
        let ran = s.birsim(&["run", "m.json", "--input", "x=x.npy"]);
        ran.exits(0);
        assert!(ran.stderr.contains("never written"), "{}", ran.stderr);
        s.birsim(&["convert", "m.json", "-o", "e.json", "--expand-klir"]).exits(0);
        assert_eq!(output(&s, "e.json", "x.npy", "o"), golden, "{file} {arguments}");
        let call = &s.report("e.json")["functions"][0]["blocks"][0]["instructions"][0];
        assert_eq!((call["name"].as_str(), call["opcode"].as_str()), (Some("I-7"), Some("NKIKernel")));
        assert_eq!(call["kernel_source_val"].as_str(), Some("Beta2"));
    }

    // The same kernel as BIR-JSON.
    s.birsim(&["convert", "k.klr", "-o", "k.json"]).exits(0);
    s.write("m.json", embedding("k.json", "bir", [32, 64], NAMED));
    s.birsim(&["convert", "m.json", "-o", "e.json", "--expand-klir"]).exits(0);
    assert_eq!(output(&s, "e.json", "x.npy", "o"), golden);
}

#[test]
fn shared_constants_of_an_embedded_kernel_are_bound() {
    let folder = corpus("shared_constant_edges");
    let s = Sandbox::new();
    s.write("k.klr", kernel("shared_constant_edges"));
    s.write("x.npy", std::fs::read(folder.join("in_x.npy")).unwrap());
    for file in std::fs::read_dir(folder.join("shared_constants")).unwrap() {
        let file = file.unwrap().path();
        let name = format!("shared_constants/{}", file.file_name().unwrap().to_str().unwrap());
        s.write(&name, std::fs::read(&file).unwrap());
    }
    s.write("m.json", embedding("k.klr", "klir", [32, 16], NAMED));
    s.birsim(&["convert", "m.json", "-o", "e.json", "--expand-klir"]).exits(0);
    assert_eq!(output(&s, "e.json", "x.npy", "o"), output(&s, "k.klr", "x.npy", "y"));
}

#[test]
fn embedded_kernels_that_do_not_fit_are_refused() {
    let s = Sandbox::new();
    s.write("k.klr", std::fs::read(root().join("tests/data/klr_add_scalar/kernel.klr")).unwrap());
    s.write("two.klr", kernel("lnc2_sendrecv"));
    s.write("hlo.klr", kernel("variant_hlo"));
    let mut old = kernel("transpose_dve");
    old[6] = 11;
    s.write("old.klr", old);
    let expand = |text: String| {
        s.write("m.json", text);
        s.birsim(&["convert", "m.json", "-o", "e.json", "--expand-klir"])
    };
    let case = |file: &str, arguments: &str| expand(embedding(file, "klir", [32, 64], arguments));
    case("gone.klr", NAMED).exits(2).says("BIR-F001", "fail to locate KLIR artifact");
    case("../k.klr", NAMED).exits(2).says("BIR-F001", "leaves the folder");
    case("", NAMED).exits(2).says("BIR-F001", "fail to locate KLIR artifact");
    case("old.klr", NAMED).exits(2).says("BIR-K002", "Wrong KLR version");
    case("hlo.klr", NAMED).exits(4).says("BIR-K003", "Wrong KLIR content type");
    case("k.klr", r#""func_args": {"z": "x_set"}"#).exits(2).says("BIR-K005", "z input cannot be found");
    case("k.klr", r#""func_args": {"x": "x_set"}"#).exits(2).says("BIR-K005", "y output cannot be found");
    let unset = embedding("two.klr", "klir", [128, 32], NAMED).replace(r#""neuron_core_id": 0"#, "");
    expand(unset).exits(2).says("BIR-K005", "NeuronCoreId must be set");
    assert!(!s.path("e.json").exists());
    // A core without a body keeps the placeholder.
    let third =
        embedding("two.klr", "klir", [128, 32], NAMED).replace(r#""neuron_core_id": 0"#, r#""neuron_core_id": 2"#);
    let ran = expand(third);
    ran.exits(0);
    assert!(ran.stderr.contains("no body for this core"), "{}", ran.stderr);
    let kept = &s.report("e.json")["functions"][0]["blocks"][0]["instructions"][0];
    assert_eq!(kept["opcode"].as_str(), Some("NKIKLIRKernel"));
}

#[test]
fn nki_klr_sim_exits_0_1_and_2() {
    let s = Sandbox::new();
    s.write("k.klr", kernel("lnc2_sendrecv"));
    s.write("x.npy", counting(128, 32, 0));
    s.write("wrong.npy", counting(128, 32, 7));
    klr_sim(&s, &["k.klr", "--input-files=x.npy"]).exits(0);
    std::fs::rename(s.path("y-birsim.npy"), s.path("golden.npy")).unwrap();
    klr_sim(&s, &["k.klr", "--input-files=x.npy", "--output-files=golden.npy"]).exits(0);
    let ran = klr_sim(&s, &["k.klr", "--input-files=x.npy", "--output-files=wrong.npy"]);
    ran.exits(1);
    assert!(ran.stderr.contains("1455") && !ran.stderr.contains("1454"), "{}", ran.stderr);

    klr_sim(&s, &["gone.klr"]).exits(2).says("BIR-F001", "cannot read the program");
    klr_sim(&s, &["k.klr", "--input-files=gone.npy"]).exits(2).says("BIR-F001", "gone.npy");
    klr_sim(&s, &["k.klr", "--input-files=x.npy", "--output-files=gone.npy"]).exits(2).says("BIR-F001", "gone.npy");
    s.write("cut.klr", &kernel("lnc2_sendrecv")[..700]);
    klr_sim(&s, &["cut.klr", "--input-files=x.npy"]).exits(2).says("BIR-K001", "cut.klr");
}

#[test]
fn a_device_dump_prints_narrow_tensors_in_short_or_in_full() {
    let s = Sandbox::new();
    s.write("k.klr", kernel("cast_bf16"));
    s.write("x.npy", counting(64, 64, 0));
    let plain = klr_sim(&s, &["k.klr", "--input-files=x.npy"]);
    assert!(!plain.exits(0).stdout.contains("tensor1"), "{}", plain.stdout);
    let dump = klr_sim(&s, &["k.klr", "--input-files=x.npy", "--device-dump"]);
    let lines: Vec<&str> = dump.exits(0).stdout.lines().collect();
    // 4093 is not a bfloat16: the tensor holds what was rounded.
    assert_eq!(lines[..2], ["tensor1 bfloat16 [64 x 64]", "  0 1 2 ... 61 62 63"]);
    assert_eq!(lines[7], "  4032 4032 4032 ... 4096 4096 4096", "{}", dump.stdout);
    let full = klr_sim(&s, &["k.klr", "--input-files=x.npy", "--device-dump", "--device-print-full"]);
    let lines: Vec<&str> = full.exits(0).stdout.lines().collect();
    assert_eq!(lines[0], "tensor1 bfloat16 [64 x 64]");
    assert!(lines[1..65].iter().all(|l| l.split_whitespace().count() == 64), "{}", full.stdout);
}
