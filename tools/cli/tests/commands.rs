//! Damaged programs, and the commands beside `run`.

mod common;

use common::*;

#[test]
fn damaged_programs_exit_2_with_one_message() {
    let s = ready();
    let good = std::fs::read(s.path("p.json")).unwrap();
    let mut noise = Vec::new();
    let mut state = 1u64;
    for _ in 0..512 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
        noise.push((state >> 56) as u8);
    }
    let text = String::from_utf8(good.clone()).unwrap();
    for (name, bytes, code, message) in [
        ("empty", Vec::new(), "BIR-F002", "empty"),
        ("blank", b"  \n".to_vec(), "BIR-F002", "empty"),
        ("noise", noise, "BIR-F002", "neither BIR-JSON nor KLR"),
        ("null", b"null".to_vec(), "BIR-J00", "null"),
        ("list", b"[]".to_vec(), "BIR-J00", "list"),
        ("number", b"17".to_vec(), "BIR-J00", "number"),
        ("cut", good[..good.len() / 2].to_vec(), "BIR-J001", "cut"),
        ("opcode", text.replace("DMACopy", "DMACoppy").into_bytes(), "BIR-J004", "DMACoppy"),
        (
            "dangling",
            text.replace(
                "\"memref\": \"x\", \"memsetref\": \"x_set\"",
                "\"memref\": \"zz\", \"memsetref\": \"zz_set\"",
            )
            .into_bytes(),
            "BIR-J006",
            "zz",
        ),
        ("klr_cut", b"\xd9\xd9\xf7\x83\x00".to_vec(), "BIR-K001", "klr_cut"),
        ("klr_head", b"\xd9\xd9\xf7".to_vec(), "BIR-K001", "klr_head"),
    ] {
        s.write(name, bytes);
        for command in ["run", "validate"] {
            s.birsim(&[command, name]).exits(2).says(code, message);
        }
    }
    s.birsim(&["run", "nowhere.json"]).exits(2).says("BIR-F001", "nowhere.json");
    s.birsim(&["run", "."]).exits(2).says("BIR-F001", "cannot read the program");
    assert!(!s.path("birsim-out").exists());
}

#[test]
fn every_cut_of_a_program_is_a_typed_error() {
    let s = ready();
    let good = std::fs::read(s.path("p.json")).unwrap();
    for cut in (1..good.len()).step_by(97) {
        s.birsim_with(&["validate", "-"], &good[..cut]).exits(2).says("BIR-J00", "");
    }
    s.birsim_with(&["validate", "-"], &good).exits(0);
}

#[test]
fn an_error_report_is_written_even_for_a_program_that_cannot_be_read() {
    let s = Sandbox::new();
    s.write("p.json", "null");
    s.birsim(&["run", "p.json", "--report", "r.json"]).exits(2);
    let report = s.report("r.json");
    assert_eq!(
        (&report["status"], &report["exit_code"], &report["outputs"]),
        (&"invalid".into(), &2.into(), &serde_json::json!([]))
    );
}

#[test]
fn usage_errors_have_a_code_and_advice() {
    let s = Sandbox::new();
    s.birsim(&[]).exits(2).says("BIR-F008", "no command");
    s.birsim(&["frobnicate"]).exits(2).says("BIR-F008", "frobnicate");
    s.birsim(&["run"]).exits(2).says("BIR-F008", "PROGRAM");
    s.birsim(&["run", "p", "--no-such-option"]).exits(2).says("BIR-F008", "--no-such-option");
    s.birsim(&["run", "p", "--input", "x"]).exits(2).says("BIR-F008", "NAME=FILE");
    s.birsim(&["run", "p", "--target", "trn9"]).exits(2).says("BIR-F008", "trn2 (gen3, cayman)");
    s.birsim(&["run", "p", "--rtol", "-1"]).exits(2);
    s.birsim(&["run", "p", "--threads", "0"]).exits(2).says("BIR-F008", "threads");
    let help = s.birsim(&["--help"]);
    help.exits(0);
    for command in ["run", "validate", "inspect", "compare", "ops", "explain"] {
        assert!(help.stdout.contains(command), "{command}");
    }
    s.birsim(&["--version"]).exits(0);
}

#[test]
fn ops_lists_the_whole_table() {
    let s = Sandbox::new();
    let ran = s.birsim(&["ops", "--json"]);
    ran.exits(0);
    let rows: Vec<serde_json::Value> = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(rows.len(), 110);
    for (i, row) in rows.iter().enumerate() {
        assert_eq!(row["ordinal"], i);
        let keys: Vec<&String> = row.as_object().unwrap().keys().collect();
        assert_eq!(keys.len(), 8, "{row}");
        let within = |key: &str, words: &[&str]| words.iter().any(|w| row[key] == *w);
        assert!(within("class", &["kernel", "control-flow", "no-op", "abstract", "skipped"]), "{row}");
        assert!(within("fidelity", &["exact", "approximate", "extension", "skipped", "unsupported"]), "{row}");
        assert!(row["implemented"].is_boolean() || row["implemented"] == "partial", "{row}");
        if row["implemented"] == false {
            assert!(within("fidelity", &["skipped", "unsupported"]), "{row}");
        }
        assert!(row["name"].is_string() && row["spec"].is_string(), "{row}");
    }
    let text = s.birsim(&["ops", "--fidelity"]);
    text.exits(0);
    assert!(text.stdout.contains("TensorScalarPtr") && text.stdout.contains("fp8_saturate = true"));
}

#[test]
fn ops_names_what_is_missing_of_every_kernel() {
    use birsim_engine::ir::Opcode;
    use birsim_engine::ir::table::RouteClass;
    let s = Sandbox::new();
    let text = s.birsim(&["ops"]).stdout;
    let lines: Vec<&str> = text.lines().collect();
    for row in Opcode::all().map(Opcode::row).filter(|r| r.class == RouteClass::Kernel) {
        let start = format!("{:>3}  {} ", row.opcode.ordinal(), row.name);
        let at = lines.iter().position(|l| l.starts_with(&start)).unwrap();
        let says = lines.get(at + 1).is_some_and(|l| l.contains("not executed: "));
        assert!(lines[at].contains(if row.partial.is_some() { " partial " } else { " yes " }), "{}", lines[at]);
        assert_eq!(row.partial.is_some(), says, "{}", row.name);
    }
    // Every note whose answer is a refusal belongs to rows that say what is missing.
    for note in birsim_kernels::profile::NOTES.iter().filter(|n| n.answer == "refuse") {
        for op in note.opcodes {
            assert!(Opcode::from_name(op).unwrap().row().partial.is_some(), "{}: {op}", note.name);
        }
    }
}

#[test]
fn an_instruction_type_is_described_in_full() {
    let s = Sandbox::new();
    let ran = s.birsim(&["ops", "TensorScalarPtr", "32"]);
    ran.exits(0);
    for line in [
        "TensorScalarPtr: InstructionType 29, kernel; executed in part, exact",
        "  ins       in0: an access pattern",
        "            scalar1, optional: an access pattern or an immediate or a register",
        "  outs      out: an access pattern",
        "DMACopy: InstructionType 32, kernel; executed in part, exact",
        "            more, any number: an access pattern",
        "  required: one of bypass, bitwise_not, ",
        "  default false: true or false",
        "default \"Idle\": one of ",
    ] {
        assert!(ran.stdout.contains(line), "{line} is missing in\n{}", ran.stdout);
    }
    let described: serde_json::Value = serde_json::from_str(&s.birsim(&["ops", "Memset", "--json"]).stdout).unwrap();
    assert_eq!(described[0]["keys"][0]["key"], "mode");
    assert_eq!(described[0]["keys"][0]["required"], true);
    assert_eq!(described[0]["outs"][0]["kinds"][0], "an access pattern");
    s.birsim(&["ops", "TensorScaler"]).exits(2).says("BIR-F008", "perhaps TensorScalar");
    s.birsim(&["ops", "110"]).exits(2).says("BIR-F008", "there is no such instruction type");
}

#[test]
fn ops_fidelity_tells_class_section_and_choices_of_every_opcode() {
    use birsim_engine::ir::Opcode;
    use birsim_kernels::Profile;
    use birsim_kernels::profile::NOTES;
    let s = Sandbox::new();
    let ran = s.birsim(&["ops", "--fidelity"]);
    ran.exits(0);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let ran = s.birsim(&["ops", "--json", "--fidelity"]);
    let rows: Vec<serde_json::Value> = serde_json::from_str(&ran.stdout).unwrap();
    for row in &rows {
        let text = |key: &str| row[key].as_str().unwrap();
        let head = format!("{}: {}; {}", text("name"), text("fidelity"), text("spec"));
        let at = lines.iter().position(|l| l.trim_start().ends_with(&head)).expect(&head);
        let own = lines[at + 1..].iter().copied().take_while(|l| l.starts_with("       "));
        let (notes, own): (Vec<&str>, Vec<&str>) = own.partition(|l| l.trim_start().starts_with("note "));
        let known: Vec<_> = NOTES.iter().filter(|n| n.opcodes != ["*"] && n.touches(text("name"))).collect();
        assert_eq!(notes.len(), known.len(), "{head}");
        for (line, note) in notes.iter().zip(&known) {
            assert!(line.ends_with(&format!("note {} = {}", note.name, note.answer)), "{line}");
        }
        let listed = row["notes"].as_array().unwrap();
        assert_eq!(listed.len(), NOTES.iter().filter(|n| n.touches(text("name"))).count(), "{head}");
        let expected: Vec<_> =
            Profile::accepted().into_iter().filter(|(f, _)| f.opcodes != ["*"] && f.touches(text("name"))).collect();
        assert_eq!(own.len(), expected.len(), "{head}");
        for (line, (field, accepted)) in own.iter().zip(&expected) {
            assert!(line.contains(field.name), "{line}");
            assert!(accepted.iter().all(|a| line.contains(a)), "{line}: {accepted:?}");
        }
        let listed = row["choices"].as_array().unwrap();
        assert_eq!(listed.len(), Profile::FIELDS.iter().filter(|f| f.touches(text("name"))).count(), "{head}");
        assert!(listed.iter().all(|c| !c["accepted"].as_array().unwrap().is_empty() && c["value"].is_string()));
    }
    for field in Profile::FIELDS {
        for op in field.opcodes.iter().filter(|o| **o != "*") {
            assert!(Opcode::from_name(op).is_some(), "{}: {op} is no opcode", field.name);
        }
        assert!(ran.stdout.contains(field.name) || field.opcodes.is_empty(), "{}", field.name);
        assert!(lines.iter().any(|l| l.contains(&format!("{} = ", field.name))), "{}", field.name);
    }
    for note in NOTES {
        for op in note.opcodes.iter().filter(|o| **o != "*") {
            assert!(Opcode::from_name(op).is_some(), "{}: {op} is no opcode", note.name);
        }
        assert!(lines.iter().any(|l| *l == format!("  {} = {}", note.name, note.answer)), "{}", note.name);
    }
    for n in 1..=75 {
        assert!(lines.iter().any(|l| l.trim_start().starts_with(&format!("D{n} "))), "D{n}");
    }
}

#[test]
fn explain_knows_every_code() {
    let s = Sandbox::new();
    let all = s.birsim(&["explain"]);
    all.exits(0);
    assert!(all.stdout.lines().count() > 30);
    for line in all.stdout.lines() {
        let code = line.split_whitespace().next().unwrap();
        s.birsim(&["explain", code]).exits(0);
    }
    let one = s.birsim(&["explain", "s001"]);
    one.exits(0);
    assert!(one.stdout.starts_with("BIR-S001: ") && one.stdout.contains("exit code 3"), "{}", one.stdout);
    s.birsim(&["explain", "X999"]).exits(2).says("BIR-F008", "X999");
}

#[test]
fn compare_is_the_golden_check_alone() {
    let s = Sandbox::new();
    s.write("a.npy", square([1.0, 2.0, 3.0, 4.0]));
    s.write("b.npy", square([1.0, 2.0, 3.0, 4.5]));
    s.write("c.npy", npy("<f4", false, "(4,)", &f32s(&[1.0, 2.0, 3.0, 4.0])));
    s.birsim(&["compare", "a.npy", "a.npy"]).exits(0);
    let ran = s.birsim(&["compare", "a.npy", "b.npy"]);
    ran.exits(1);
    assert!(ran.stdout.contains("[1, 1]: got 4.0, golden 4.5"), "{}", ran.stdout);
    s.birsim(&["compare", "a.npy", "b.npy", "--atol", "0.5"]).exits(0);
    s.birsim(&["compare", "a.npy", "c.npy"]).exits(1);
    s.birsim(&["compare", "a.npy", "c.npy", "--flatten"]).exits(0);
    s.birsim(&["compare", "a.npy", "none.npy"]).exits(2).says("BIR-F001", "none.npy");
}

#[test]
fn inspect_shows_tensors_opcodes_and_engines() {
    let s = ready();
    let text = s.birsim(&["inspect", "p.json"]);
    text.exits(0);
    for part in ["tensor x ExternalInput float32 [2, 2]", "DMACopy", "block Block1", "I-0"] {
        assert!(text.stdout.contains(part), "'{part}' in\n{}", text.stdout);
    }
    let json: serde_json::Value = serde_json::from_str(&s.birsim(&["inspect", "p.json", "--json"]).stdout).unwrap();
    assert_eq!((&json["instructions"], &json["opcodes"]["DMACopy"]), (&1.into(), &1.into()));
}

#[test]
fn convert_writes_a_normalised_module_that_runs_the_same() {
    let s = ready();
    s.birsim(&["convert", "p.json", "-o", "q.json"]).exits(0);
    s.birsim(&["run", "q.json", "--input", "x=x.npy", "--golden", "o=x.npy"]).exits(0);
    let again = s.birsim(&["convert", "q.json", "-o", "-"]);
    again.exits(0);
    assert_eq!(again.stdout, std::fs::read_to_string(s.path("q.json")).unwrap());
    s.birsim(&["convert", "p.json", "-o", "none/q.json"]).exits(2).says("BIR-F007", "none/q.json");
}

#[test]
fn klr_kernels_are_recognised_by_content() {
    let s = Sandbox::new();
    let data = root().join("tools/klr/tests/data");
    for entry in std::fs::read_dir(data).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "klr") {
            // The name says nothing.
            s.write("k.json", std::fs::read(&path).unwrap());
            let ran = s.birsim(&["inspect", "k.json"]);
            ran.exits(0);
            assert!(ran.stdout.starts_with("KLR 0.0.12"), "{}", ran.stdout);
        }
    }
}

#[test]
fn every_cut_of_a_klr_kernel_is_a_typed_error() {
    let s = Sandbox::new();
    let good = std::fs::read(root().join("tests/data/klr_add_scalar/kernel.klr")).unwrap();
    for cut in (3..good.len()).step_by(37) {
        s.birsim_with(&["run", "-", "--random-inputs", "1"], &good[..cut]).exits(2).says("BIR-K001", "standard input");
    }
}

#[test]
fn klr_contents_without_a_kernel_are_inspected_but_not_run() {
    let s = Sandbox::new();
    // Header, metadata "KLR", contents 4 (hlo) with a call-site name.
    let mut hlo = b"\xd9\xd9\xf7\x83\x00\x00\x0c\xd9\xeb\x00\x81\x63KLR\xd9\xec\x04\x81\x64site".to_vec();
    s.write("h.klr", &hlo);
    let seen = s.birsim(&["inspect", "h.klr"]);
    seen.exits(0);
    assert!(seen.stdout.contains("contents hlo"), "{}", seen.stdout);
    s.birsim(&["run", "h.klr"]).exits(4).says("BIR-K003", "contents hlo");
    s.birsim(&["validate", "h.klr"]).exits(4).says("BIR-K003", "contents hlo");
    let samples = root().join("tools/klr/tests/data");
    for (file, kind) in [("wheel_python.klr", "python"), ("wheel_nki.klr", "nki"), ("wheel_hlo.klr", "hlo")] {
        let path = samples.join(file).display().to_string();
        let seen = s.birsim(&["inspect", &path]);
        seen.exits(0);
        assert!(seen.stdout.contains(&format!("contents {kind}")), "{}", seen.stdout);
        s.birsim(&["run", &path]).exits(4).says("BIR-K003", &format!("contents {kind}"));
    }
    hlo[6] = 13;
    s.write("v.klr", &hlo);
    s.birsim(&["run", "v.klr"]).exits(2).says("BIR-K002", "0.0.13");
}

#[test]
fn colours_are_for_terminals_unless_asked_for() {
    let s = Sandbox::new();
    assert!(!s.birsim(&["explain", "X1"]).stderr.contains('\x1b'));
    assert!(s.birsim(&["--color", "always", "explain", "X1"]).stderr.contains("\x1b[1;31merror"));
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let shell = format!("{} ops --json | head -n 1", env!("CARGO_BIN_EXE_birsim"));
    let out = std::process::Command::new("sh").args(["-c", &shell]).output().unwrap();
    assert_eq!(String::from_utf8(out.stdout).unwrap(), "[\n");
    assert_eq!(String::from_utf8(out.stderr).unwrap(), "");
}

#[test]
fn d64_rules_of_the_devices_are_notes_and_with_strict_all_of_them_faults() {
    let s = Sandbox::new();
    let wait = |id: u32| format!(r#"{{"id": {id}, "wait_value": 0}}"#);
    let waits = (0..3).map(wait).collect::<Vec<_>>().join(", ");
    let nop = |name: &str| {
        format!(
            r#"{{"name": "{name}", "opcode": "NoOp", "engine": "SP", "ins": [], "outs": [],
                "sync_info": {{"on_wait": [{waits}], "on_update": []}}}}"#
        )
    };
    let module = format!(
        r#"{{"version": 2, "arch": "gen3", "attributes": {{}}, "functions": [{{"name": "main", "attributes": {{}},
            "allocations": [], "blocks": [{{"name": "B", "instructions": [{}, {}]}}]}}]}}"#,
        nop("a"),
        nop("b")
    );
    s.write("m.json", module);
    let ran = s.birsim(&["validate", "m.json"]);
    ran.exits(0);
    assert!(
        ran.stdout.contains("note: sync-limit: an instruction has at most 2 waits: 3; 2 places in all"),
        "{}",
        ran.stdout
    );
    for command in ["validate", "run"] {
        let ran = s.birsim(&[command, "m.json", "--strict"]);
        ran.exits(3);
        assert_eq!(ran.stderr.matches("error: BIR-S023").count(), 2, "{}", ran.stderr);
    }
    s.birsim(&["run", "m.json"]).exits(0);
}
