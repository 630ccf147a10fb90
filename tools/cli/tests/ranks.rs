//! Ranks on the command line: whose data a file is, where outputs go, what the report says.

mod common;

use common::*;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/cores-cases").join(name)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A module whose only instruction adds `x` up over all ranks.
fn sum(groups: Value) -> String {
    let cc = json!({"name": "cc", "opcode": "CollectiveCompute", "engine": "Pool", "kind": "AllReduce", "op": "add",
        "replica_groups": groups, "ins": [serde_json::from_str::<Value>(&ap("x", "float32", 0)).unwrap()],
        "outs": [serde_json::from_str::<Value>(&ap("y", "float32", 0)).unwrap()]});
    let tensors = [("x", "ExternalInput"), ("y", "ExternalOutput")];
    module(&tensors.map(|(n, kind)| dram(n, kind, "float32", [2, 2], 4, "")), &[cc.to_string()])
}

fn values(s: &Sandbox, name: &str) -> Vec<f32> {
    let bytes = std::fs::read(s.path(name)).unwrap();
    let data = &bytes[bytes.len() - 16..];
    data.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

#[test]
fn d73_folders_of_ranks_bind_inputs_and_goldens_and_take_outputs() {
    let s = Sandbox::new();
    let c = case("spmd_n2_AllGather");
    let (program, inputs, goldens) = (c.join("core0.json"), c.join("inputs"), c.join("golden"));
    let args = ["run", text(&program), "--ranks", "2", "--inputs", text(&inputs), "--goldens", text(&goldens)];
    let ran = s.birsim(&[&args[..], &["--rtol", "0", "--atol", "0", "--report", "r.json"]].concat());
    assert!(ran.exits(0).stdout.contains("of 2 ranks"), "{}", ran.stdout);
    assert_eq!(s.list("birsim-out"), ["rank0", "rank1"]);
    assert_eq!(s.list("birsim-out/rank1"), ["g-birsim.npy", "o-birsim.npy"]);
    let report = s.report("r.json");
    assert_eq!((&report["ranks"], &report["lnc"]), (&json!(2), &json!(1)));
    let ranks: Vec<&Value> = report["outputs"].as_array().unwrap().iter().map(|o| &o["rank"]).collect();
    assert_eq!(ranks, [0, 0, 1, 1]);
    let collectives = report["collectives"].as_array().unwrap();
    assert_eq!((&collectives[0]["kind"], &collectives[0]["group"]), (&json!("AllGather"), &json!([0, 1])));
    assert_eq!(collectives[0]["count"], 1);
}

#[test]
fn d73_a_plain_name_serves_every_rank_and_one_with_a_rank_goes_before_it() {
    let s = Sandbox::new();
    s.write("m.json", sum(json!([])));
    s.write("x.npy", square([1.0, 2.0, 3.0, 4.0]));
    s.write("other.npy", square([10.0, 0.0, 0.0, 0.5]));
    let run = |more: &[&str]| s.birsim(&[&["run", "m.json", "--ranks", "3", "-q"], more].concat());
    run(&["--input", "x=x.npy"]).exits(0);
    assert_eq!(values(&s, "birsim-out/rank2/y-birsim.npy"), [3.0, 6.0, 9.0, 12.0]);
    for order in [["x=x.npy", "rank1/x=other.npy"], ["rank1/x=other.npy", "x=x.npy"]] {
        run(&["--input", order[0], "--input", order[1]]).exits(0);
        assert_eq!(values(&s, "birsim-out/rank0/y-birsim.npy"), [12.0, 4.0, 6.0, 8.5]);
    }
    run(&["--input", "x=x.npy", "--input", "rank3/x=x.npy"]).exits(2).says("BIR-F006", "no rank of this number");
    run(&["--input", "rank1/x=x.npy", "--input", "rank1/x=x.npy"]).exits(2).says("BIR-F008", "rank1/x");
    run(&["--input", "rank1/x=x.npy"]).exits(2).says("BIR-F005", "nothing binds");
    // A golden of one rank is checked there only.
    s.write("y.npy", square([3.0, 6.0, 9.0, 12.5]));
    run(&["--input", "x=x.npy", "--golden", "rank1/y=y.npy"]).exits(1);
}

#[test]
fn random_inputs_differ_from_rank_to_rank() {
    let s = Sandbox::new();
    s.write("m.json", sum(json!([[0], [1]])));
    s.birsim(&["run", "m.json", "--ranks", "2", "--random-inputs", "5", "-q"]).exits(0);
    let [a, b] = [0, 1].map(|r| values(&s, &format!("birsim-out/rank{r}/y-birsim.npy")));
    assert_ne!(a, b);
}

#[test]
fn d74_missing_ranks_are_listed_by_run_and_validate() {
    let s = Sandbox::new();
    s.write("m.json", sum(json!([[0, 1, 5], [2, 7]])));
    s.write("x.npy", square([1.0, 2.0, 3.0, 4.0]));
    let told = "ranks [5, 7], 3 in the run";
    s.birsim(&["run", "m.json", "--ranks", "3", "--input", "x=x.npy"]).exits(4).says("BIR-U002", told);
    let validated = s.birsim(&["validate", "m.json", "--ranks", "3"]);
    assert!(validated.exits(4).stderr.contains(told), "{}", validated.stderr);
    s.birsim(&["validate", "m.json", "--ranks", "8"]).exits(0);
    let reference = ["--multi-worker", "reference"];
    let alone = ["run", "m.json", "--input", "x=x.npy", "-q"];
    s.birsim(&[&alone[..], &reference].concat()).exits(0);
    assert_eq!(values(&s, "birsim-out/y-birsim.npy"), [3.0, 6.0, 9.0, 12.0]);
    s.birsim(&[&["validate", "m.json"], &reference[..]].concat()).exits(0);
}

#[test]
fn d66_run_tells_all_that_validate_tells_about_cores_and_groups() {
    let s = Sandbox::new();
    let barrier = |name: &str, cores: Value| {
        let fields = json!({"name": name, "opcode": "CoreBarrier", "engine": "Pool", "ins": [], "outs": [], "id": 1,
            "cores": cores});
        fields.to_string()
    };
    let tensors = [dram("x", "Internal", "float32", [2, 2], 4, "")];
    s.write("a.json", module(&tensors, &[barrier("far", json!([0, 5])), barrier("others", json!([1]))]));
    let second = module(&tensors, &[barrier("wrong", json!([0]))]);
    s.write("b.json", second.replace(r#""neuron_core_id": 0"#, r#""neuron_core_id": 1"#));
    let told = |command: &str| {
        let ran = s.birsim(&[command, "a.json", "b.json"]);
        let findings = ran.exits(2).stderr.lines().filter(|l| l.contains("BIR-")).map(str::to_owned);
        (findings.collect::<Vec<_>>(), ran.stderr.clone())
    };
    let (run, text) = told("run");
    for found in ["core 5 of 2, in [0, 5]", "core 0 at a barrier of cores [1]", "core 1 at a barrier of cores [0]"] {
        assert!(text.contains(found), "{text}");
    }
    assert_eq!((run.len(), &run), (3, &told("validate").0));
}

#[test]
fn a_trace_of_several_cores_is_the_same_for_any_threads() {
    let s = Sandbox::new();
    let c = case("lnc_w4_l2");
    let inputs = c.join("inputs");
    let modules: Vec<PathBuf> = (0..8).map(|k| c.join(format!("core{k}.json"))).collect();
    let trace = |threads: &str, file: &str| {
        let mut args = vec!["run"];
        args.extend(modules.iter().map(|m| text(m)));
        args.extend(["--lnc", "2", "--inputs", text(&inputs), "--trace", file, "--threads", threads, "-q"]);
        s.birsim(&args).exits(0);
        std::fs::read_to_string(s.path(file)).unwrap()
    };
    let one = trace("1", "a.jsonl");
    for threads in ["2", "4"] {
        assert_eq!(trace(threads, "b.jsonl"), one);
    }
    let rows: Vec<Value> = one.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert!(rows.iter().any(|r| r["rank"] == 3 && r["core"] == 1), "{one}");
}

#[test]
fn the_shape_of_a_run_is_checked() {
    let s = Sandbox::new();
    s.write("m.json", sum(json!([])));
    s.birsim(&["run", "m.json", "--lnc", "2"]).exits(2).says("BIR-F008", "does not fit the ranks");
    s.birsim(&["run", "m.json", "--ranks", "0"]).exits(2);
    s.birsim(&["run", "m.json", "--ranks", "5000"]).exits(2);
}
