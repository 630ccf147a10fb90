//! Programs that other compilers wrote: BIR-JSON of a public compiler, and KLR kernels.

mod common;

use common::*;
use std::path::PathBuf;

fn data(folder: &str) -> PathBuf {
    root().join("tests/data").join(folder)
}

/// `--flag name=folder/prefix_name.npy` for every name.
fn files(flag: &str, folder: &str, prefix: &str, names: &[&str]) -> Vec<String> {
    let one =
        |n: &&str| [flag.to_string(), format!("{n}={}", data(folder).join(format!("{prefix}_{n}.npy")).display())];
    names.iter().flat_map(one).collect()
}

fn run(folder: &str, program: &str, inputs: &[&str], outputs: &[&str], more: &[&str]) -> Ran {
    let s = Sandbox::new();
    let mut args = vec!["run".to_string(), data(folder).join(program).display().to_string()];
    args.extend(files("--input", folder, "in", inputs));
    args.extend(files("--golden", folder, "out", outputs));
    args.extend(more.iter().map(|m| m.to_string()));
    s.birsim(&args.iter().map(String::as_str).collect::<Vec<_>>())
}

const EXACT: &[&str] = &["--rtol", "0", "--atol", "0"];

#[test]
fn modules_of_a_public_compiler_run() {
    run("bir_add_one", "kernel.bir.json", &["a"], &["b.2"], EXACT).exits(0);
    run("bir_tiles", "kernel.bir.json", &["a"], &["b.2"], EXACT).exits(0);
    run("bir_two_inputs", "kernel.bir.json", &["a", "c"], &["b.3", "d.4"], EXACT).exits(0);
}

#[test]
fn klr_kernels_run() {
    run("klr_add_scalar", "kernel.klr", &["x"], &["y"], EXACT).exits(0);
    run("klr_matmul", "kernel.klr", &["lhsT", "rhs"], &["y"], &["--rtol", "1e-4", "--atol", "1e-4"]).exits(0);
}

#[test]
fn a_kernel_for_two_cores_runs_on_two_cores() {
    for threads in ["1", "2"] {
        let more = ["--rtol", "0", "--atol", "0", "--threads", threads];
        let ran = run("klr_two_cores", "kernel.klr", &["x"], &["y"], &more);
        ran.exits(0);
        assert!(ran.stdout.contains("of 2 cores"), "{}", ran.stdout);
    }
    let s = Sandbox::new();
    let kernel = data("klr_two_cores").join("kernel.klr").display().to_string();
    s.birsim(&["validate", &kernel]).exits(0);
    let ran = s.birsim(&["convert", &kernel, "-o", "m.json"]);
    assert!(ran.exits(0).stdout.starts_with("2 cores"), "{}", ran.stdout);
    assert_eq!(s.list("."), ["m.core0.json", "m.core1.json"]);
}

#[test]
fn a_converted_kernel_runs_like_the_kernel() {
    let s = Sandbox::new();
    let kernel = data("klr_matmul").join("kernel.klr");
    s.birsim(&["convert", kernel.to_str().unwrap(), "-o", "m.json"]).exits(0);
    let output = |program: &str, out: &str| {
        let inputs = files("--input", "klr_matmul", "in", &["lhsT", "rhs"]);
        let mut args = vec!["run", program, "--out", out, "-q", "--mem-mode", "symbolic"];
        args.extend(inputs.iter().map(String::as_str));
        s.birsim(&args).exits(0);
        std::fs::read(s.path(out).join("y-birsim.npy")).unwrap()
    };
    assert_eq!(output("m.json", "a"), output(kernel.to_str().unwrap(), "b"));
}

#[test]
fn nki_klr_sim_takes_the_reference_tools_flags() {
    let s = Sandbox::new();
    let path = |f: &str| data("klr_add_scalar").join(f).display().to_string();
    let (kernel, x, y) = (path("kernel.klr"), path("in_x.npy"), path("out_y.npy"));
    let (inputs, goldens) = (format!("--input-files={x}"), format!("--output-files={y}"));
    klr_sim(&s, &[&kernel, &inputs, &goldens, "--target=gen3", "--birsim-output-tolerance=0,0"]).exits(0);
    assert_eq!(s.list("."), ["y-birsim.npy"], "outputs lie in the current folder");

    // The input is not the golden.
    let wrong = format!("-output-files={x}");
    let ran = klr_sim(&s, &[&inputs, &wrong, &kernel]);
    ran.exits(1);
    assert!(ran.stderr.contains("1454"), "{}", ran.stderr);
    let two = |f: &str| data("klr_two_cores").join(f).display().to_string();
    let x2 = two("in_x.npy");
    let ran = klr_sim(&s, &["--input-files", &x2, "--output-files", &x2, &two("kernel.klr")]);
    ran.exits(1);
    assert!(ran.stderr.contains("1455"), "{}", ran.stderr);
    klr_sim(&s, &[&inputs, &wrong, &kernel, "--ignore-mismatch-error"]).exits(0);
    klr_sim(&s, &[&inputs, &wrong, &kernel, "--enable-check-outputs=false"]).exits(0);

    klr_sim(&s, &[]).exits(2).says("BIR-F008", "no KLR file");
    klr_sim(&s, &[&kernel, "--frobnicate=1"]).exits(2).says("BIR-F008", "frobnicate");
    klr_sim(&s, &[&kernel, "--target=trn9"]).exits(2).says("BIR-F008", "trn9");
    klr_sim(&s, &[&kernel, "--tensor-map=m.json"]).exits(2).says("BIR-F001", "m.json");
    let module = data("bir_tiles").join("kernel.bir.json").display().to_string();
    klr_sim(&s, &[&module]).exits(2).says("BIR-F002", "KLR files only");
    klr_sim(&s, &["--help"]).exits(0);
}
