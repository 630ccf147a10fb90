//! Interrupts and the end of the time: a run that is stopped ends with a partial report, also while it waits for files.
#![cfg(unix)]

mod common;

use common::*;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A loop over a register that nothing writes: fresh registers are not zero (ruling D48).
const ENDLESS: &str = r#"{"version": 2, "arch": "gen3", "attributes": {}, "queues": [], "functions": [{"name": "main",
    "attributes": {}, "allocations": [{"Skind": "register", "name": "r", "num_physical_regs": 1, "engine": "SP",
    "dtype": "int32", "reg_id": 0}], "blocks": [{"name": "Block1", "instructions": [{"name": "W", "opcode": "DoWhile",
    "engine": "ALL", "ins": [], "outs": [], "cond": {"kind": "IntRuntimeValueKind", "regref": "r"}, "blocks": [{"name":
    "body", "instructions": [{"name": "N", "opcode": "NoOp", "engine": "SP", "ins": [], "outs": []}]}]}]}]}]}"#;

fn start(s: &Sandbox, args: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_birsim"))
        .args(args)
        .current_dir(s.0.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn send(signal: &str, child: &Child) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

fn fifo(s: &Sandbox, name: &str) -> PathBuf {
    let path = s.path(name);
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

/// Waits for the end, and asserts exit code and status of the report.
fn ends(s: &Sandbox, child: Child, code: i32, status: &str, what: &str) {
    let out = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(code), "{stderr}");
    assert!(stderr.contains(what), "{stderr}");
    let report = s.report("r.json");
    assert_eq!((&report["exit_code"], &report["status"]), (&code.into(), &status.into()), "{report}");
    std::fs::remove_file(s.path("r.json")).unwrap();
}

#[test]
fn an_interrupt_ends_the_run_with_a_partial_report() {
    let s = Sandbox::new();
    s.write("p.json", ENDLESS);
    for signal in ["-INT", "-TERM"] {
        let mut child = start(&s, &["run", "p.json", "--report", "r.json", "--out", "out"]);
        // The folder of the outputs appears right before the run starts, when the handler is in place.
        while !s.path("out").exists() {
            assert!(child.try_wait().unwrap().is_none(), "the run ended by itself");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        send(signal, &child);
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

#[test]
fn item_11_an_interrupt_ends_a_run_that_waits_for_a_file() {
    let s = ready();
    let pipe = fifo(&s, "pipe");
    let runs: [&[&str]; 2] = [
        &["run", "pipe", "--report", "r.json", "--out", "out"],
        &["run", "p.json", "--input", "x=pipe", "--report", "r.json", "--out", "out"],
    ];
    for args in runs {
        for signal in ["-INT", "-TERM"] {
            let child = start(&s, args);
            // Opening waits until birsim has opened the other end; then it waits for the first byte.
            let writer = std::fs::File::options().write(true).open(&pipe).unwrap();
            send(signal, &child);
            ends(&s, child, 130, "interrupted", "the run was interrupted");
            drop(writer);
            assert!(!s.path("out").exists());
        }
    }
}

#[test]
fn item_11_the_timeout_ends_a_run_that_waits_for_a_file() {
    let s = ready();
    fifo(&s, "pipe");
    fifo(&s, "pipe.npz");
    let x = ["--input", "x=x.npy"];
    let inputs: [(&str, &[&str]); 7] = [
        ("pipe", &[]),
        ("p.json", &["--input", "x=pipe"]),
        ("p.json", &["--inputs", "pipe.npz"]),
        ("p.json", &[x[0], x[1], "--golden", "o=pipe"]),
        ("p.json", &[x[0], x[1], "--golden-trace", "pipe"]),
        ("p.json", &[x[0], x[1], "--tensor-map", "pipe"]),
        ("p.json", &[x[0], x[1], "--trace", "pipe"]),
    ];
    for (program, more) in inputs {
        let args: Vec<&str> =
            ["run", program, "--timeout", "0.2", "--report", "r.json"].iter().chain(more).copied().collect();
        ends(&s, start(&s, &args), 3, "fault", "the run takes longer than --timeout allows");
    }
}

#[test]
fn item_11_a_report_that_nobody_reads_does_not_hold_the_process() {
    let s = ready();
    fifo(&s, "pipe");
    let args = ["run", "p.json", "--input", "x=x.npy", "--timeout", "1", "--report", "pipe"];
    let out = start(&s, &args).wait_with_output().unwrap();
    let stderr = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("the run takes longer than --timeout allows"), "{stderr}");
    assert!(is_fifo(&s.path("pipe")));
}

fn is_fifo(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata(path).unwrap().file_type().is_fifo()
}

#[test]
fn item_13_what_cannot_be_a_program_is_refused_by_its_first_bytes() {
    let s = Sandbox::new();
    for device in ["/dev/zero", "/dev/urandom"] {
        let ran = s.birsim(&["run", device]);
        ran.exits(2).says("BIR-F002", "neither BIR-JSON nor KLR");
    }
}
