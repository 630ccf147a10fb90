//! CustomOp and BIRKernel: an external program computes them.
#![cfg(unix)]

mod common;

use birsim_engine::{Code, Error, Limits, Simulator};
use common::*;
use serde_json::{Value as Json, json};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const X: T = T("x", "ExternalInput", "DRAM", "float32", 2, 3);
const O: T = T("o", "ExternalOutput", "DRAM", "float32", 2, 3);
const VALUES: [f32; 6] = [1.0, -2.0, 3.5, 0.0, 5.0, -6.0];

fn custom() -> Json {
    inst(
        "c",
        "CustomOp",
        "Pool",
        json!([all(&X)]),
        json!([all(&O)]),
        json!({"opFunctionName": "relu", "srcsShape": [[6]], "dstsShape": [[3, 2]]}),
    )
}

fn kernel() -> Json {
    inst("k", "BIRKernel", "ALL", json!([all(&X)]), json!([all(&O)]), json!({"kernel_name": "relu", "is_causal": true}))
}

fn script(folder: &Path, body: &str) -> PathBuf {
    let path = folder.join("kernel_sim");
    std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn go(i: Json, program: Option<&Path>, limits: Limits) -> Result<Vec<f32>, Error> {
    let mut builder = Simulator::builder().limits(limits);
    if let Some(p) = program {
        builder = builder.external_kernels(p);
    }
    let mut sim = loaded(builder, &module(vec![X.record(), O.record()], vec![i]))?;
    bind(&mut sim, "x", &VALUES);
    sim.run()?;
    Ok(floats(&mut sim, "o"))
}

/// A process is gone, or about to be reaped; it may take the system a moment.
fn ends(pid: &str) -> bool {
    let gone = || match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')),
        Err(_) => true,
    };
    (0..2000).any(|_| {
        gone() || {
            std::thread::sleep(Duration::from_millis(5));
            false
        }
    })
}

#[test]
fn without_permission_nothing_is_started() {
    for i in [custom(), kernel()] {
        let e = go(i, None, Limits::default()).unwrap_err();
        assert_eq!((e.code(), e.received_value()), (Code::U004, Some("relu")));
    }
}

/// One test: scripts are written and started one after the other.
#[test]
fn d49_the_program_gets_a_description_in_a_fresh_folder() {
    let home = tempfile::tempdir().unwrap();
    let here = home.path().display();
    let copy = format!("pwd > {here}/where; cp \"$1\" {here}/config.json; cp relu-0-birsim.npy relu-0-simout.npy");
    for i in [custom(), kernel()] {
        let p = script(home.path(), &copy);
        assert_eq!(go(i.clone(), Some(&p), Limits::default()).unwrap(), VALUES);
        let config: Json = serde_json::from_slice(&std::fs::read(home.path().join("config.json")).unwrap()).unwrap();
        assert_eq!(config["kernel_name"], "relu");
        let shape = if i["opcode"] == "CustomOp" { json!([6]) } else { json!([2, 3]) };
        assert_eq!(config["srcs"], json!([{"shape": shape, "dtype": "float32", "npy": "relu-0-birsim.npy"}]));
        assert_eq!(config["dsts"][0]["npy"], "relu-0-simout.npy");
        let place = std::fs::read_to_string(home.path().join("where")).unwrap();
        assert!(!Path::new(place.trim()).exists(), "the folder is removed");
        assert!(!place.contains(&home.path().display().to_string()), "the folder is fresh");
    }
    for (body, text, received) in [
        ("echo no such kernel >&2; exit 3", "kernel_sim failed", "exit status: 3: no such kernel"),
        ("exit 0", "a result is missing: No such file or directory (os error 2)", ""),
        ("echo x > relu-0-simout.npy", "a result cannot be used: the file ends inside the .npy header", ""),
        (
            "head -c 140 relu-0-birsim.npy > relu-0-simout.npy",
            "a result cannot be used: the .npy file is shorter than its header says",
            "12 bytes of data, shape [6] needs 24",
        ),
        (
            "cat relu-0-birsim.npy relu-0-birsim.npy > relu-0-simout.npy",
            "a result of 6 elements of float32 has 24 bytes",
            "176 bytes, shape [6]",
        ),
        (
            "sed 's/<f4/<i4/' relu-0-birsim.npy > relu-0-simout.npy",
            "a result has another element type than float32",
            "NumPy <i4",
        ),
    ] {
        let p = script(home.path(), body);
        let e = go(custom(), Some(&p), Limits::default()).unwrap_err();
        assert_eq!((e.code(), e.what(), e.received_value().unwrap_or("")), (Code::S019, text, received), "{body}");
        assert_eq!(e.place().instruction.as_deref(), Some("c"));
    }
    // The end of the time, and an interrupt, end the program with everything it has started, and clean up.
    let p = script(home.path(), &format!("pwd > {here}/where; sleep 600 & echo $! > {here}/child; wait"));
    for interrupted in [false, true] {
        let _ = std::fs::remove_file(home.path().join("child"));
        let start = Instant::now();
        let stop = Arc::new(AtomicBool::new(false));
        let limits = match interrupted {
            false => Limits { deadline: Some(start + Duration::from_millis(500)), ..Limits::default() },
            true => Limits { cancel: Some(Arc::clone(&stop)), ..Limits::default() },
        };
        let child = home.path().join("child");
        std::thread::scope(|s| {
            if interrupted {
                s.spawn(|| {
                    while !child.exists() && start.elapsed() < Duration::from_secs(60) {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                    stop.store(true, Ordering::Relaxed);
                });
            }
            assert_eq!(go(custom(), Some(&p), limits).unwrap_err().code(), Code::S009);
        });
        assert!(start.elapsed() < Duration::from_secs(100), "the program is ended");
        let place = std::fs::read_to_string(home.path().join("where")).unwrap();
        assert!(!Path::new(place.trim()).exists(), "the folder is removed");
        // On a busy computer the program may not have come as far as its child.
        let pid = std::fs::read_to_string(&child).unwrap_or_default();
        if !pid.trim().is_empty() {
            assert!(ends(pid.trim()), "the child {pid} is ended too");
        }
    }
    // Item 11: what a program leaves running after status 0 is ended, too.
    let left = format!("sleep 600 & echo $! > {here}/child; cp relu-0-birsim.npy relu-0-simout.npy; exit 0");
    let _ = std::fs::remove_file(home.path().join("child"));
    go(custom(), Some(&script(home.path(), &left)), Limits::default()).unwrap();
    let pid = std::fs::read_to_string(home.path().join("child")).unwrap();
    assert!(ends(pid.trim()), "the child {pid} is ended too");
    let e = go(custom(), Some(&home.path().join("nobody")), Limits::default()).unwrap_err();
    assert_eq!(e.code(), Code::S019);
    assert!(e.what().starts_with("kernel_sim cannot be started"), "{}", e.what());
}
