//! Options that look at a run: `--check`, `--trace`, `--dump`, `--tensor-map`.

mod common;

use common::*;

const RUN: &[&str] = &["run", "p.json", "--input", "x=x.npy"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    RUN.iter().copied().chain(more.iter().copied()).collect()
}

#[test]
fn item_9_findings_of_checkers_end_the_run_with_3() {
    let s = ready();
    s.write("p.json", by_way_of_t(("x", "o"), &[("t", "o"), ("x", "t")]));
    s.birsim(RUN).exits(0);
    let ran = s.birsim(&with(&["--check", "uninit,nan-write", "--report", "r.json"]));
    ran.exits(3).says("BIR-S017", "uninit: I-0 reads memory of t (DRAM) that nothing wrote");
    assert!(ran.stderr.contains("nan-write: I-0 writes NaN in o"), "{}", ran.stderr);
    let report = s.report("r.json");
    let codes: Vec<&str> =
        report["diagnostics"].as_array().unwrap().iter().map(|d| d["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["uninit", "nan-write", "BIR-S017"]);
    assert_eq!(report["outputs"][0]["name"], "o", "a finding leaves the outputs");
    assert_eq!(s.list("birsim-out"), ["o-birsim.npy"]);
    let checked = s.birsim(&with(&["--check", "uninit", "--golden", "o=x.npy", "-q"]));
    checked.exits(3);
    assert!(checked.stdout.contains("fault: uninit: I-0 reads"), "{}", checked.stdout);
    assert!(checked.stdout.contains("1 output written, 1 of 1 checked differ"), "{}", checked.stdout);
    s.birsim(&with(&["--check", "write-only,pinned"])).exits(0);
    let usage = s.birsim(&with(&["--check", "everything"]));
    usage.exits(2);
    assert!(usage.stderr.contains("checkers are uninit, nan, nan-write, write-only, pinned"), "{}", usage.stderr);
}

#[test]
fn the_trace_has_one_line_per_instruction() {
    let s = staged();
    s.birsim(&with(&["--trace", "t.jsonl"])).exits(0);
    let text = std::fs::read_to_string(s.path("t.jsonl")).unwrap();
    let rows: Vec<serde_json::Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let names: Vec<&str> = rows.iter().map(|r| r["instruction"].as_str().unwrap()).collect();
    assert_eq!(names, ["I-0", "I-1"]);
    assert_eq!((&rows[0]["engine"], &rows[0]["opcode"]), (&"DMA".into(), &"DMACopy".into()));
    assert_eq!(rows[0]["output_hash"], rows[1]["output_hash"], "the same bytes");
    s.birsim(&with(&["--trace", "nowhere/t.jsonl"])).exits(2).says("BIR-F007", "cannot write the trace");
}

#[test]
fn fault_29_the_first_instruction_that_differs_from_a_golden_trace_is_named() {
    let s = staged();
    s.birsim(&with(&["--trace", "t.jsonl"])).exits(0);
    let same = s.birsim(&with(&["--golden-trace", "t.jsonl", "--trace", "again.jsonl"]));
    same.exits(0);
    assert!(!same.stderr.contains("trace"), "{}", same.stderr);
    let read = |name: &str| std::fs::read_to_string(s.path(name)).unwrap();
    assert_eq!(read("t.jsonl"), read("again.jsonl"));
    // Other values show at once, a missing instruction where it is missing.
    s.write("y.npy", square([1.0, 2.0, 3.0, 5.0]));
    let other = s.birsim(&["run", "p.json", "--input", "x=y.npy", "--golden-trace", "t.jsonl"]);
    let text = "I-0 on DMA is the first instruction whose outputs differ from line 1 of t.jsonl";
    assert!(other.exits(1).stdout.contains(&format!("mismatch: the trace: {text}")), "{}", other.stdout);
    let lines: Vec<String> = read("t.jsonl").lines().map(str::to_string).collect();
    s.write("short.jsonl", format!("{}\n", lines[0]));
    let short = s.birsim(&with(&["--golden-trace", "short.jsonl", "--report", "r.json"]));
    assert!(short.exits(1).stdout.contains("I-1 on DMA runs where short.jsonl ends"), "{}", short.stdout);
    assert_eq!(s.report("r.json")["diagnostics"][0]["code"], "trace-differs");
    s.write("long.jsonl", [lines.clone(), lines].concat().join("\n"));
    let long = s.birsim(&with(&["--golden-trace", "long.jsonl"]));
    assert!(long.exits(1).stdout.contains("the run ends where long.jsonl goes on with I-0"), "{}", long.stdout);
    let quiet = s.birsim(&with(&["--golden-trace", "long.jsonl", "-q", "--junit", "j.xml"]));
    assert!(quiet.exits(1).stdout.starts_with("mismatch: the trace: "), "{}", quiet.stdout);
    assert!(read("j.xml").contains("name=\"golden trace\"") && read("j.xml").contains("failures=\"1\""));
    s.birsim(&with(&["--golden-trace", "long.jsonl", "--ignore-mismatch"])).exits(0);
    s.write("bad.jsonl", "{}");
    s.birsim(&with(&["--golden-trace", "bad.jsonl"]))
        .exits(2)
        .says("BIR-J001", "line 1 of the trace file is not a row");
    s.birsim(&with(&["--golden-trace", "none.jsonl"])).exits(2).says("BIR-F001", "cannot read the trace");
}

#[test]
fn fault_61_a_result_that_changes_with_the_fill_depends_on_uninitialised_memory() {
    let s = staged();
    s.birsim(&with(&["--fill", "0x00,0xFF,0xA5"])).exits(0);
    s.write("p.json", by_way_of_t(("x", "o"), &[("t", "o"), ("x", "t")]));
    s.birsim(&with(&["--fill", "165"])).exits(0);
    assert_eq!(std::fs::read(s.path("birsim-out/o-birsim.npy")).unwrap()[128..], [0xA5; 16]);
    let ran = s.birsim(&with(&["--fill", "0x00,0xA5"]));
    ran.exits(3).says("BIR-S017", "output o depends on uninitialised memory");
    assert!(ran.stderr.contains("byte 0 is 0x00 over a fill of 0x00 and 0xa5 over 0xa5"), "{}", ran.stderr);
    s.birsim(&with(&["--fill", "300"])).exits(2).says("BIR-F008", "write a byte");
}

#[test]
fn dumps_show_a_tensor_at_a_point() {
    let s = staged();
    s.birsim(&with(&["--dump", "o@I-0", "--dump", "t", "--dump", "t@I-0=here.npy"])).exits(0);
    assert_eq!(s.list("birsim-out"), ["o-birsim.npy", "o@I-0-dump.npy", "t-dump.npy"]);
    let tail = |name: &str| std::fs::read(s.path(name)).unwrap()[128..].to_vec();
    assert_eq!(tail("birsim-out/o@I-0-dump.npy"), [0xFF; 16], "o was not written yet");
    assert_eq!(tail("birsim-out/t-dump.npy"), f32s(&[1.0, 2.0, 3.0, 4.0]));
    assert_eq!(tail("here.npy"), tail("birsim-out/t-dump.npy"));
    s.birsim(&with(&["--dump", "t@I-9"])).exits(2).says("BIR-F006", "no instruction named I-9");
    s.birsim(&with(&["--dump", "zz"])).exits(2).says("BIR-F006", "zz");
    s.birsim(&with(&["--dump", "t@"])).exits(2);
}

#[test]
fn a_tensor_map_is_read_and_checked() {
    let s = staged();
    s.write("m.json", "{}");
    s.birsim(&with(&["--tensor-map", "m.json"])).exits(0);
    s.write("m.json", r#"{"q": {"partition_offset": 0, "free_offset": 0}}"#);
    s.birsim(&with(&["--tensor-map", "m.json"])).exits(2).says("BIR-F006", "places q");
    s.write("m.json", r#"{"t_st": {"partition_offset": 0, "free_offset": 0}}"#);
    s.birsim(&with(&["--tensor-map", "m.json"])).exits(2).says("BIR-F006", "did you mean 't_set'?");
    s.write("m.json", r#"{"t": {"partition_offset": 0, "fre_offset": 0}}"#);
    s.birsim(&with(&["--tensor-map", "m.json"])).exits(2).says("BIR-J006", "did you mean 'free_offset'?");
    s.birsim(&with(&["--tensor-map", "none.json"])).exits(2).says("BIR-F001", "tensor map");
}
