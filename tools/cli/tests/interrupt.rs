//! Interrupts: a run that is stopped ends with a partial report.
#![cfg(unix)]

mod common;

use common::*;
use std::process::{Command, Stdio};

/// A loop over a register that nothing writes: fresh registers are not zero (ruling D48).
const ENDLESS: &str = r#"{"version": 2, "arch": "gen3", "attributes": {}, "queues": [], "functions": [{"name": "main",
    "attributes": {}, "allocations": [{"Skind": "register", "name": "r", "num_physical_regs": 1, "engine": "SP",
    "dtype": "int32", "reg_id": 0}], "blocks": [{"name": "Block1", "instructions": [{"name": "W", "opcode": "DoWhile",
    "engine": "ALL", "ins": [], "outs": [], "cond": {"kind": "IntRuntimeValueKind", "regref": "r"}, "blocks": [{"name":
    "body", "instructions": [{"name": "N", "opcode": "NoOp", "engine": "SP", "ins": [], "outs": []}]}]}]}]}]}"#;

#[test]
fn an_interrupt_ends_the_run_with_a_partial_report() {
    let s = Sandbox::new();
    s.write("p.json", ENDLESS);
    for signal in ["-INT", "-TERM"] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_birsim"))
            .args(["run", "p.json", "--report", "r.json", "--out", "out"])
            .current_dir(s.0.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The folder of the outputs appears right before the run starts, when the handler is in place.
        while !s.path("out").exists() {
            assert!(child.try_wait().unwrap().is_none(), "the run ended by itself");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let out = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(130), "{signal}: {stderr}");
        assert!(stderr.contains("the run was interrupted"), "{stderr}");
        let report = s.report("r.json");
        assert_eq!((&report["exit_code"], &report["status"]), (&130.into(), &"interrupted".into()), "{report}");
        assert!(report["stats"]["ticks"].as_u64().unwrap() > 0, "{report}");
        assert!(!s.path("out").exists(), "nothing was written, so the folder goes again");
        std::fs::remove_file(s.path("r.json")).unwrap();
    }
}
