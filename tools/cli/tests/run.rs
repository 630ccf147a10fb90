//! `birsim run`: bindings, goldens, outputs, reports and exit codes.

mod common;

use common::*;

const RUN: &[&str] = &["run", "p.json", "--input", "x=x.npy"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    RUN.iter().copied().chain(more.iter().copied()).collect()
}

#[test]
fn a_run_writes_its_output_and_says_what_it_did() {
    let s = ready();
    let ran = s.birsim(RUN);
    ran.exits(0);
    assert_eq!(ran.stderr, "");
    for part in
        ["p.json", "1 instruction ", "trn2", "DMACopy 1", "float32 2 x 2", "birsim-out/o-birsim.npy", "no golden"]
    {
        assert!(ran.stdout.contains(part), "'{part}' in\n{}", ran.stdout);
    }
    let written = std::fs::read(s.path("birsim-out/o-birsim.npy")).unwrap();
    assert_eq!(written[128..], f32s(&[1.0, 2.0, 3.0, 4.0]));
    assert_eq!(s.list("birsim-out"), ["o-birsim.npy"]);
    let quiet = s.birsim(&with(&["-q"]));
    let verdict = "ran: 1 output written, no golden to check against\n";
    assert_eq!((quiet.code, quiet.stdout.as_str(), quiet.stderr.as_str()), (0, verdict, ""));
}

#[test]
fn every_way_to_bind_an_input_and_a_golden_works() {
    let s = ready();
    s.write("in/x.npy", square([1.0, 2.0, 3.0, 4.0]));
    s.write("gold/o.npy", square([1.0, 2.0, 3.0, 4.0]));
    for inputs in [
        &["--input", "x=x.npy"][..],
        &["--input", "x_set=x.npy"],
        &["--input-files", "x.npy"],
        &["--inputs", "in"],
        &["--input=x=x.npy", "--inputs", "in"],
    ] {
        for goldens in [&["--golden", "o=gold/o.npy"][..], &["--output-files", "gold/o.npy"], &["--goldens", "gold"]] {
            let args: Vec<&str> = ["run", "p.json"].iter().chain(inputs).chain(goldens).copied().collect();
            let ran = s.birsim(&args);
            ran.exits(0);
            assert!(ran.stdout.contains("ok: 1 output, all match"), "{args:?}\n{}", ran.stdout);
        }
    }
    let first = s.birsim(&["run", "p.json", "--random-inputs", "7", "--out", "a"]);
    first.exits(0);
    s.birsim(&["run", "p.json", "--random-inputs", "7", "--out", "b"]).exits(0);
    s.birsim(&["run", "p.json", "--random-inputs", "8", "--out", "c"]).exits(0);
    let read = |d: &str| std::fs::read(s.path(d).join("o-birsim.npy")).unwrap();
    assert_eq!(read("a"), read("b"));
    assert_ne!(read("a"), read("c"));
}

#[test]
fn the_file_a_program_names_is_found_next_to_it_and_the_command_line_wins() {
    let s = Sandbox::new();
    let allocations = [
        dram("x", "ExternalInput", "float32", [2, 2], 4, "data/x.npy"),
        dram("o", "ExternalOutput", "float32", [2, 2], 4, ""),
    ];
    s.write("sub/p.json", module(&allocations, &[copy("I-0", "x", "o", "float32")]));
    s.birsim(&["run", "sub/p.json"]).exits(2).says("BIR-F001", "cannot read the tensor file");
    s.write("sub/data/x.npy", square([1.0; 4]));
    s.write("two.npy", square([2.0; 4]));
    s.birsim(&["run", "sub/p.json", "--golden", "o=sub/data/x.npy"]).exits(0);
    s.birsim(&["run", "sub/p.json", "--input", "x=two.npy", "--golden", "o=two.npy"]).exits(0);
}

#[test]
fn a_program_may_come_from_standard_input() {
    let s = ready();
    let program = std::fs::read(s.path("p.json")).unwrap();
    s.birsim_with(&["run", "-", "--input", "x=x.npy"], &program).exits(0);
}

#[test]
fn a_different_output_exits_1_and_shows_the_first_difference() {
    let s = ready();
    s.write("g.npy", square([1.0, 2.0, 3.5, 4.0]));
    let ran = s.birsim(&with(&["--golden", "o=g.npy", "--report", "r.json"]));
    ran.exits(1);
    assert!(ran.stdout.contains("differs from its golden in 1 of 4 elements"), "{}", ran.stdout);
    assert!(ran.stdout.contains("[1, 0]: got 3.0, golden 3.5"), "{}", ran.stdout);
    let report = s.report("r.json");
    assert_eq!((&report["status"], &report["exit_code"]), (&"mismatch".into(), &1.into()));
    let golden = &report["outputs"][0]["golden"];
    assert_eq!((&golden["equal"], &golden["mismatches"], &golden["max_abs"]), (&false.into(), &1.into(), &0.5.into()));
    assert_eq!(golden["first_mismatch"]["index"], serde_json::json!([1, 0]));
    s.birsim(&with(&["--golden", "o=g.npy", "--ignore-mismatch"])).exits(0);
    s.birsim(&with(&["--golden", "o=g.npy", "--rtol", "0.2", "--atol", "0"])).exits(0);
    s.birsim(&with(&["--golden", "o=g.npy", "--birsim-output-tolerance", "20,0"])).exits(0);
    s.birsim(&with(&["--golden", "o=g.npy", "--birsim-output-tolerance", "0.2,0"])).exits(1);
}

#[test]
fn a_readable_golden_of_another_shape_or_type_is_a_difference() {
    let s = ready();
    s.write("flat.npy", npy("<f4", false, "(4,)", &f32s(&[1.0, 2.0, 3.0, 4.0])));
    s.write("ints.npy", npy("<i4", false, "(2, 2)", &[0; 16]));
    let shape = s.birsim(&with(&["--golden", "o=flat.npy"]));
    shape.exits(1);
    assert!(shape.stdout.contains("Matrix dimension mismatch: golden is 4, output is 2 x 2"), "{}", shape.stdout);
    s.birsim(&with(&["--golden", "o=flat.npy", "--flatten"])).exits(0);
    let dtype = s.birsim(&with(&["--golden", "o=ints.npy"]));
    dtype.exits(1);
    assert!(dtype.stdout.contains("should have same Dtype"), "{}", dtype.stdout);
}

#[test]
fn an_unreadable_golden_exits_2_before_anything_is_written() {
    let s = ready();
    s.write("bad.npy", b"not a tensor");
    s.write("cut.npy", &square([1.0; 4])[..80]);
    s.birsim(&with(&["--golden", "o=none.npy"])).exits(2).says("BIR-F001", "none.npy");
    s.birsim(&with(&["--golden", "o=bad.npy"])).exits(2).says("BIR-F003", "bad.npy");
    s.birsim(&with(&["--golden", "o=cut.npy"])).exits(2).says("BIR-F003", "shorter than its header says");
    s.birsim(&with(&["--goldens", "nowhere"])).exits(2).says("BIR-F001", "nowhere");
    s.birsim(&with(&["--golden", "x=x.npy"])).exits(2).says("BIR-F006", "not an output");
    assert_eq!(s.list("birsim-out"), Vec::<String>::new());
}

#[test]
fn an_input_that_is_missing_or_does_not_fit_exits_2() {
    let s = ready();
    s.write("ints.npy", npy("<i4", false, "(2, 2)", &[0; 16]));
    s.write("more.npy", npy("<f4", false, "(2, 3)", &[0; 24]));
    s.birsim(&["run", "p.json"])
        .exits(2)
        .says("BIR-F005", "reads x")
        .says("--random-inputs", "ExternalInput float32 2 x 2");
    s.birsim(&["run", "p.json", "--input", "x=none.npy"]).exits(2).says("BIR-F001", "none.npy");
    let kind = s.birsim(&["run", "p.json", "--input", "x=ints.npy"]);
    kind.exits(2).says("BIR-F004", "float32").says("<i4", "tensor x");
    s.birsim(&["run", "p.json", "--input", "x=more.npy"]).exits(2).says("BIR-F004", "2 x 3");
    s.birsim(&["run", "p.json", "--input", "y=x.npy"]).exits(2).says("BIR-F006", "inputs and outputs are x, o");
    s.birsim(&["run", "p.json", "--input", "X=x.npy"]).exits(2).says("BIR-F006", "did you mean 'x'?");
    s.birsim(&["run", "p.json", "--input-files", "x.npy,x.npy"]).exits(2).says("BIR-F008", "more input files");
    s.birsim(&["run", "p.json", "--input", "x=x.npy", "--input", "x=x.npy"]).exits(2).says("BIR-F008", "two files");
    s.write("empty/o.npy", square([0.0; 4]));
    s.birsim(&["run", "p.json", "--inputs", "empty"]).exits(2).says("BIR-F001", "x.npy");
    s.birsim(&["run", "p.json", "--inputs", "x.npy"]).exits(2).says("BIR-F003", ".npz");
    assert_eq!(s.list("birsim-out"), Vec::<String>::new());
}

#[test]
fn an_output_folder_that_cannot_be_used_is_found_before_the_run() {
    let s = ready();
    s.birsim(&with(&["--out", "x.npy/deeper"])).exits(2).says("BIR-F007", "x.npy/deeper");
    s.birsim(&with(&["--out", "x.npy"])).exits(2).says("BIR-F007", "x.npy");
    s.birsim(&with(&["--report", "none/r.json"])).exits(2).says("BIR-F007", "none/r.json");
}

#[test]
fn a_tensor_larger_than_the_machine_is_an_error() {
    let s = ready();
    let huge = dram("o", "ExternalOutput", "uint8", [1 << 20, 1 << 20], 1, "");
    let small = dram("x", "ExternalInput", "float32", [2, 2], 4, "");
    let copied = dram("t", "Internal", "float32", [2, 2], 4, "");
    s.write("p.json", module(&[huge, small, copied], &[copy("I-0", "x", "t", "float32")]));
    s.birsim(&["run", "p.json", "--input", "x=x.npy"]).exits(3).says("BIR-S018", "tensor o");
    assert!(!s.path("birsim-out").exists());
}

#[test]
fn an_output_cannot_leave_its_folder() {
    let s = ready();
    for (name, file) in [("../x", "%2E.%2Fx-birsim.npy"), ("/abs", "%2Fabs-birsim.npy"), ("a b", "a%20b-birsim.npy")] {
        s.write("q.json", identity("float32", 4, name));
        s.birsim(&["run", "q.json", "--input", "x=x.npy", "--out", "deep/out", "--golden", &format!("{name}=x.npy")])
            .exits(0);
        assert!(s.list("deep/out").contains(&file.to_string()), "{:?}", s.list("deep/out"));
        std::fs::remove_dir_all(s.path("deep")).unwrap();
    }
    assert_eq!(
        s.list("."),
        ["birsim-out", "p.json", "q.json", "x.npy"].iter().filter(|n| s.path(n).exists()).copied().collect::<Vec<_>>()
    );
}

#[test]
fn raw_bit_types_round_trip_with_their_side_file() {
    let s = Sandbox::new();
    s.write("p.json", identity("bfloat16", 2, "o"));
    s.write("x.npy", npy("<V2", false, "(2, 2)", &[1, 2, 3, 4, 5, 6, 7, 8]));
    s.birsim(&["run", "p.json", "--input", "x=x.npy", "--golden", "o=x.npy"]).exits(0);
    assert_eq!(s.list("birsim-out"), ["o-birsim.npy", "o-birsim.npy.meta"]);
    s.birsim(&["compare", "birsim-out/o-birsim.npy", "x.npy"]).exits(0);
    s.birsim(&["compare", "x.npy", "x.npy"]).exits(2).says("BIR-F004", "--dtype");
    s.birsim(&["compare", "x.npy", "x.npy", "--dtype", "bfloat16"]).exits(0);
}

#[test]
fn outputs_never_written_and_inputs_modified_are_always_reported() {
    let s = Sandbox::new();
    let allocations = [
        dram("x", "ExternalInput", "float32", [2, 2], 4, ""),
        dram("y", "ExternalInput", "float32", [2, 2], 4, ""),
        dram("o", "ExternalOutput", "float32", [2, 2], 4, ""),
    ];
    s.write("p.json", module(&allocations, &[copy("I-7", "x", "y", "float32")]));
    s.write("x.npy", square([1.0; 4]));
    let ran = s.birsim(&["run", "p.json", "--inputs", ".", "--report", "r.json"]);
    ran.exits(0);
    assert!(ran.stderr.contains("warning: output o was never written"), "{}", ran.stderr);
    assert!(ran.stderr.contains("warning: input y was modified, first by I-7"), "{}", ran.stderr);
    let report = s.report("r.json");
    let codes: Vec<&str> =
        report["diagnostics"].as_array().unwrap().iter().map(|d| d["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["input-modified", "output-never-written"]);
}

#[test]
fn fault_38_an_output_that_nothing_fills_is_no_success() {
    let s = ready();
    let f = "float32";
    s.write("golden.npy", square([1.0, 2.0, 3.0, 4.0]));
    let allocations = [
        dram("x", "ExternalInput", f, [2, 2], 4, ""),
        dram("t", "Internal", f, [2, 2], 4, ""),
        dram("o", "ExternalOutput", f, [2, 2], 4, ""),
    ];
    let run = ["run", "p.json", "--input", "x=x.npy", "--golden", "o=golden.npy", "--report", "r.json"];
    // Untouched: the note says so, with and without a golden.
    s.write("p.json", module(&allocations, &[copy("I-0", "x", "t", f)]));
    let ran = s.birsim(&run);
    ran.exits(1);
    assert!(ran.stderr.contains("output o was never written"), "{}", ran.stderr);
    assert_eq!(s.report("r.json")["status"], "mismatch");
    assert!(s.birsim(&run[..4]).exits(0).stderr.contains("output o was never written"));
    // All zero: a mismatch like any other.
    s.write("p.json", identity(f, 4, "o"));
    s.write("x.npy", square([0.0; 4]));
    let ran = s.birsim(&run);
    ran.exits(1);
    assert!(!ran.stderr.contains("never written"), "{}", ran.stderr);
}

#[test]
fn a_fault_is_reported_with_its_place_and_leaves_no_output() {
    let s = ready();
    let (from, to) = (ap("x", "float32", 1), ap("o", "float32", 0));
    let bad = format!(
        r#"{{"name": "I-3", "opcode": "DMACopy", "engine": "DMA", "ins": [{from}], "outs": [{to}], "mode": "Copy"}}"#
    );
    let allocations =
        [dram("x", "ExternalInput", "float32", [2, 2], 4, ""), dram("o", "ExternalOutput", "float32", [2, 2], 4, "")];
    s.write("p.json", module(&allocations, &[bad]));
    let ran = s.birsim(&with(&["--report", "r.json"]));
    ran.exits(3).says("BIR-S001", "instruction I-3 (DMACopy)").says("function main", "block Block1");
    let report = s.report("r.json");
    assert_eq!((&report["status"], &report["exit_code"], &report["schema"]), (&"fault".into(), &3.into(), &1.into()));
    let d = &report["diagnostics"][0];
    assert_eq!((&d["class"], &d["code"], &d["instruction"]), (&"fault".into(), &"BIR-S001".into(), &"I-3".into()));
    assert!(!s.path("birsim-out").exists(), "nothing is left behind");
}

#[test]
fn nan_in_an_output_is_a_fault_only_when_asked() {
    let s = ready();
    s.write("x.npy", square([1.0, f32::NAN, 3.0, 4.0]));
    s.birsim(RUN).exits(0);
    s.birsim(&with(&["--check-nan"])).exits(3).says("BIR-S017", "NaN at element 1");
}

#[test]
fn the_report_says_the_same_for_every_schedule_and_thread_count() {
    let s = ready();
    let mut reports = Vec::new();
    for (k, more) in [&["--threads", "1"][..], &["--threads", "3"], &["--schedule", "reference"]].iter().enumerate() {
        let name = format!("r{k}.json");
        let mut args = with(&["--golden", "o=x.npy", "--report", &name]);
        args.extend(*more);
        s.birsim(&args).exits(0);
        let mut report = s.report(&name);
        let report = report.as_object_mut().unwrap();
        for key in ["stats", "schedule"] {
            report.remove(key).unwrap();
        }
        reports.push(report.clone());
    }
    assert_eq!(reports[0], reports[1]);
    assert_eq!(reports[0], reports[2]);
    let keys: Vec<&str> = reports[0].keys().map(String::as_str).collect();
    for key in [
        "schema",
        "birsim",
        "status",
        "exit_code",
        "program",
        "target",
        "order",
        "mem_mode",
        "profile",
        "seed",
        "instructions",
        "outputs",
        "skipped",
        "diagnostics",
        "fidelity",
        "opcodes",
    ] {
        assert!(keys.contains(&key), "{key} in {keys:?}");
    }
}

#[test]
fn limits_and_choices_are_taken() {
    let s = ready();
    s.birsim(&with(&["--max-memory", "8"])).exits(3).says("BIR-S009", "--max-memory");
    s.birsim(&with(&["--max-instructions", "0"])).exits(3).says("BIR-S009", "more than 0");
    s.birsim(&with(&["--set", "no_such_field=1"])).exits(2).says("BIR-F008", "no_such_field");
    s.birsim(&with(&["--set", "fp8_saturate=maybe"])).exits(2).says("BIR-F008", "fp8_saturate");
    s.birsim(&with(&["--set", "bn_count=even"])).exits(2).says("BIR-F008", "bn_count is not a choice");
    let ran = s.birsim(&with(&["--set", "fp8_saturate=false", "--report", "r.json"]));
    ran.exits(0);
    assert!(ran.stdout.contains("fp8_saturate = false"), "{}", ran.stdout);
    let changed = &s.report("r.json")["profile"]["changed"][0];
    assert_eq!(
        (&changed["field"], &changed["value"], &changed["opcodes"][0]),
        (&"fp8_saturate".into(), &"false".into(), &"*".into())
    );
}

#[test]
fn junit_counts_the_run_and_its_goldens() {
    let s = ready();
    s.write("g.npy", square([1.0, 2.0, 3.5, 4.0]));
    let read = || std::fs::read_to_string(s.path("j.xml")).unwrap();
    let counts = || {
        let report = quick_junit::Report::deserialize_from_str(&read()).unwrap();
        (report.tests, report.failures, report.errors)
    };
    s.birsim(&with(&["--golden", "o=x.npy", "--junit", "j.xml"])).exits(0);
    assert_eq!(counts(), (2, 0, 0));
    s.birsim(&with(&["--golden", "o=g.npy", "--junit", "j.xml"])).exits(1);
    assert_eq!(counts(), (2, 1, 0));
    assert!(read().contains("got 3.0, golden 3.5"), "{}", read());
    s.birsim(&["run", "p.json", "--junit", "j.xml"]).exits(2);
    assert_eq!(counts(), (1, 0, 1));
    assert!(read().contains("type=\"BIR-F005\""), "{}", read());
}

#[test]
fn a_deadlock_names_engines_semaphores_and_values() {
    let s = Sandbox::new();
    let waiting = |name: &str, engine: &str, awaited: u32, updated: u32| {
        let out = ap("o", "float32", 0);
        format!(
            r#"{{"name": "{name}", "opcode": "Memset", "engine": "{engine}", "ins": [], "outs": [{out}], "mode": "Const",
                "constant": 0, "sync_info": {{
                "on_wait": [{{"type": "semaphore", "id": {awaited}, "wait_mode": "sem-ge-imm", "wait_value": 3}}],
                "on_update": [{{"type": "semaphore", "id": {updated}, "update_mode": "sem-add-imm", "update_value": 1}}]}}}}"#
        )
    };
    let allocations = [dram("o", "ExternalOutput", "float32", [2, 2], 4, "")];
    s.write("p.json", module(&allocations, &[waiting("first", "Pool", 5, 6), waiting("second", "DVE", 6, 5)]));
    let ran = s.birsim(&["run", "p.json"]);
    ran.exits(3).says("BIR-S003", "Block1");
    for part in ["Pool: first", "semaphore 5 >= 3, it is 0", "DVE: second", "semaphore 6 >= 3, it is 0"] {
        assert!(ran.stderr.contains(part), "'{part}' in\n{}", ran.stderr);
    }
}

#[test]
fn any_tensor_can_be_dumped_also_after_a_fault() {
    let s = ready();
    s.birsim(&with(&["--dump", "x", "--dump", "o=d/o.npy", "--out", "r"])).exits(2).says("BIR-F007", "d/o.npy");
    std::fs::create_dir(s.path("d")).unwrap();
    s.birsim(&with(&["--dump", "x", "--dump", "o=d/o.npy", "--out", "r"])).exits(0);
    s.birsim(&["compare", "r/x-dump.npy", "x.npy", "--rtol", "0", "--atol", "0"]).exits(0);
    s.birsim(&["compare", "d/o.npy", "x.npy", "--rtol", "0", "--atol", "0"]).exits(0);
    s.birsim(&with(&["--dump", "nope"])).exits(2).says("BIR-F006", "nope");
    s.birsim(&with(&["--dump", "o@I-9"])).exits(2).says("BIR-F006", "I-9");

    let allocations =
        [dram("x", "ExternalInput", "float32", [2, 2], 4, ""), dram("o", "ExternalOutput", "float32", [2, 2], 4, "")];
    let (from, to) = (ap("x", "float32", 1), ap("o", "float32", 0));
    let bad = format!(
        r#"{{"name": "I-3", "opcode": "DMACopy", "engine": "DMA", "ins": [{from}], "outs": [{to}], "mode": "Copy"}}"#
    );
    s.write("p.json", module(&allocations, &[copy("I-0", "x", "o", "float32"), bad]));
    s.birsim(&with(&["--dump", "o", "--out", "f"])).exits(3).says("BIR-S001", "I-3");
    s.birsim(&["compare", "f/o-dump.npy", "x.npy", "--rtol", "0", "--atol", "0"]).exits(0);
    assert_eq!(s.list("f"), ["o-dump.npy"]);
}

#[test]
fn a_tensor_of_several_blocks_is_bound_and_written_block_by_block() {
    let s = ready();
    let blocks = |name: &str, kind: &str| {
        let location = |k: usize| {
            format!(
                r#"{{"Skind": "memory_location", "name": "{name}_sub{k}", "type": "DRAM", "dims": [2, 8], "tensor_id": {k}}}"#
            )
        };
        format!(
            r#"{{"Skind": "memory_location_set", "name": "{name}_set", "kind": "{kind}", "dtype": "float32",
                "partition_dim": 1, "tensor_shape": [2, 2, 2], "memorylocations": [{}, {}]}}"#,
            location(0),
            location(1)
        )
    };
    let pattern = |name: &str, k: usize| {
        format!(
            r#"{{"kind": "physical_ap", "memref": "{name}_sub{k}", "memsetref": "{name}_set", "dtype": "float32",
                "offset": 0, "ap": [[2, 2], [1, 2]]}}"#
        )
    };
    // The blocks change places.
    let moves = [0, 1].map(|k| {
        format!(
            r#"{{"name": "I-{k}", "opcode": "DMACopy", "engine": "DMA", "ins": [{}], "outs": [{}], "mode": "Copy"}}"#,
            pattern("x", k),
            pattern("o", 1 - k)
        )
    });
    s.write("p.json", module(&[blocks("x", "ExternalInput"), blocks("o", "ExternalOutput")], &moves));
    s.write("in/x_sub0.npy", square([1.0; 4]));
    s.write("in/x_sub1.npy", square([2.0; 4]));
    let (first, second) = ("o_sub0=in/x_sub1.npy", "o_sub1=in/x_sub0.npy");
    s.birsim(&["run", "p.json", "--inputs", "in", "--golden", first, "--golden", second]).exits(0);
    s.birsim(&["run", "p.json", "--inputs", "in", "--golden", "o=in/x_sub0.npy"])
        .exits(2)
        .says("BIR-F006", "o_sub0, o_sub1");
}
