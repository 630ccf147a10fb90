//! What a run promises at its end: quiet runs, skipped instructions, checks that have nothing to look at, options.

mod common;

use common::*;

const RUN: &[&str] = &["run", "p.json", "--input", "x=x.npy"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    RUN.iter().copied().chain(more.iter().copied()).collect()
}

#[test]
fn item_9_a_quiet_run_keeps_verdict_and_mismatches() {
    let s = ready();
    s.write("g.npy", square([1.0, 2.0, 3.5, 4.0]));
    let ok = s.birsim(&with(&["-q", "--golden", "o=x.npy", "--progress", "always"]));
    assert_eq!((ok.code, ok.stderr.as_str()), (0, ""));
    assert_eq!(ok.stdout, "ok: 1 output, all match (rtol 1e-2, atol 1e-5)\n");
    let bad = s.birsim(&with(&["-q", "--golden", "o=g.npy"]));
    bad.exits(1);
    for part in ["mismatch: 1 of 1 checked output differs", "got 3.0, golden 3.5"] {
        assert!(bad.stdout.contains(part), "{}", bad.stdout);
    }
    assert!(!bad.stdout.contains("engines") && !bad.stdout.contains("instruction"), "{}", bad.stdout);
}

/// x is copied to o, and an instruction that the documented simulator skips is to write `o` too.
fn skipping() -> Sandbox {
    let s = ready();
    let (from, to) = (ap("x", "float32", 0), ap("o", "float32", 0));
    let skipped =
        format!(r#"{{"name": "I-1", "opcode": "SKIPPED", "engine": "Pool", "ins": [{from}], "outs": [{to}]}}"#);
    let skipped = skipped.replace("SKIPPED", &skipped_opcode());
    let allocations =
        [dram("x", "ExternalInput", "float32", [2, 2], 4, ""), dram("o", "ExternalOutput", "float32", [2, 2], 4, "")];
    s.write("p.json", module(&allocations, &[copy("I-0", "x", "o", "float32"), skipped]));
    s
}

/// The first opcode that the table itself calls skipped.
fn skipped_opcode() -> String {
    use birsim_engine::ir::Opcode;
    use birsim_engine::ir::table::RouteClass;
    let mut all = Opcode::all().map(Opcode::row);
    all.find(|r| r.class == RouteClass::Skipped && r.opcode != Opcode::DMABlock).unwrap().name.to_string()
}

#[test]
fn d60_a_result_that_lacks_an_instruction_is_no_result() {
    let s = skipping();
    let opcode = skipped_opcode();
    let ran = s.birsim(&with(&["--report", "r.json", "--junit", "j.xml"]));
    ran.exits(4).says("BIR-U001", &format!("1 instruction with outputs was skipped ({opcode} 1)"));
    assert!(ran.stdout.contains("unsupported: 1 instruction with outputs was skipped"), "{}", ran.stdout);
    let report = s.report("r.json");
    assert_eq!((&report["exit_code"], &report["status"]), (&4.into(), &"unsupported".into()));
    assert_eq!(report["outputs"][0]["name"], "o", "outputs are written all the same");
    assert!(std::fs::read_to_string(s.path("j.xml")).unwrap().contains("type=\"BIR-U001\""));
    // Goldens that match, or the word that skipping is meant, make it a result.
    s.birsim(&with(&["--golden", "o=x.npy"])).exits(0);
    s.birsim(&with(&["--unsupported", "skip"])).exits(0);
    s.birsim(&with(&["--unsupported", "error"])).exits(4);
    s.write("g.npy", square([9.0; 4]));
    s.birsim(&with(&["--golden", "o=g.npy"])).exits(4);
}

#[test]
fn item_9_a_check_that_has_nothing_to_look_at_says_so() {
    let s = ready();
    for option in [&["--check", "race"][..], &["--schedule-seed", "7"]] {
        let args = [option, &["--order", "program", "-q"]].concat();
        let ran = s.birsim(&with(&args));
        let text = format!("{} says nothing here: the program runs in list order", option.join(" "));
        assert!(ran.exits(0).stderr.contains(&text), "{}", ran.stderr);
    }
    let ran = s.birsim(&with(&["--check", "race", "--order", "sync"]));
    assert!(!ran.exits(0).stderr.contains("says nothing"), "{}", ran.stderr);
}

#[test]
fn item_14_negative_numbers_are_values_and_refused_as_such() {
    let s = ready();
    for (option, value, text) in [
        ("--rtol", "-1", "at least 0"),
        ("--atol", "-0.5", "at least 0"),
        ("--birsim-output-tolerance", "-1,0", "at least 0"),
        ("--random-inputs", "-3", "-3"),
        ("--schedule-seed", "-3", "-3"),
        ("--seed", "-1", "-1"),
        ("--threads", "-1", "-1"),
        ("--max-memory", "-5G", "write a number of bytes"),
        ("--max-instructions", "-5", "-5"),
        ("--timeout", "-1", "write a number of seconds"),
        ("--fill", "-1", "write a byte"),
    ] {
        let ran = s.birsim(&with(&[option, value]));
        ran.exits(2).says("BIR-F008", text);
        assert!(ran.stderr.contains(&format!("invalid value '{value}' for '{option}")), "{}", ran.stderr);
    }
}

#[test]
fn item_14_hints_lead_somewhere() {
    let s = ready();
    let help = s.birsim(&["run", "--help"]);
    let checks = help.stdout.split("\nChecks:\n").nth(1).expect("a heading of its own");
    assert!(checks.contains("--check <C,C,..>") && checks.contains("--fill"), "{}", help.stdout);
    let codes = s.birsim(&["explain"]);
    for code in codes.stdout.lines().filter_map(|l| l.split_whitespace().next()) {
        let text = s.birsim(&["explain", code]).stdout;
        for nowhere in ["BIR-JSON description", "rule in the message", "help:  see `birsim ops`", "engine/docs"] {
            assert!(!text.contains(nowhere), "{text}");
        }
    }
    s.birsim(&["explain", "K003"]).exits(0);
}
