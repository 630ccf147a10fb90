//! `birsim batch`: isolation, results, resuming, sharding. Items crash, hang and eat memory for real, by external kernels
//! that send signals to their worker.
#![cfg(unix)]

mod common;

use common::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Items of the large tests. The default suits a debug build; the benchmark of the folder `benches/batch` runs more.
fn many() -> usize {
    std::env::var("BIRSIM_BATCH_ITEMS").ok().and_then(|n| n.parse().ok()).unwrap_or(600)
}

/// Programs, inputs and goldens of all tests; `m.jsonl` is written by each.
fn batch() -> Sandbox {
    let s = ready();
    s.write("good.npy", square([1.0, 2.0, 3.0, 4.0]));
    s.write("bad.npy", square([1.0, 2.0, 3.5, 4.0]));
    let op = format!(
        r#"{{"name": "I-0", "opcode": "CustomOp", "engine": "Pool", "ins": [{}], "outs": [{}], "opFunctionName": "relu",
            "srcsShape": [[4]], "dstsShape": [[2, 2]]}}"#,
        ap("x", "float32", 0),
        ap("o", "float32", 0)
    );
    let allocations =
        [dram("x", "ExternalInput", "float32", [2, 2], 4, ""), dram("o", "ExternalOutput", "float32", [2, 2], 4, "")];
    s.write("external.json", module(&allocations, &[op]));
    for (name, body) in [("kill", "kill -KILL $PPID"), ("stop", "kill -STOP $PPID"), ("sleep", "exec sleep 60")] {
        let path = s.write(name, format!("#!/bin/sh\n{body}\n"));
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    s
}

fn item(id: impl std::fmt::Display, golden: &str) -> Value {
    json!({"id": id.to_string(), "program": "p.json", "inputs": {"x": "x.npy"}, "goldens": {"o": golden}})
}

fn external(id: &str, kernel: &str) -> Value {
    json!({"id": id, "program": "external.json", "inputs": {"x": "x.npy"}, "timeout": 0.3,
        "args": ["--allow-external-kernels", format!("./{kernel}")]})
}

fn with(mut item: Value, more: Value) -> Value {
    item.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    item
}

fn manifest(s: &Sandbox, items: &[Value]) {
    s.write("m.jsonl", items.iter().map(|i| format!("{i}\n")).collect::<String>());
}

/// Results by id, without what may differ.
fn results(path: &Path) -> BTreeMap<String, Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|l| {
        let mut line: Value = serde_json::from_str(l).unwrap();
        line.as_object_mut().unwrap().remove("stats").unwrap();
        (line["id"].as_str().unwrap().to_string(), line)
    });
    let all: BTreeMap<String, Value> = lines.collect();
    assert_eq!(all.len(), text.lines().count(), "no id twice");
    all
}

fn of(s: &Sandbox) -> BTreeMap<String, Value> {
    results(&s.path("birsim-out/results.jsonl"))
}

#[test]
fn every_status_is_told() {
    let s = batch();
    let status = |id: &str| json!({"expect": id.split(' ').next().unwrap()});
    let mut items = vec![
        item("ok", "good.npy"),
        item("mismatch", "bad.npy"),
        json!({"id": "invalid", "program": "p.json"}),
        with(item("fault", "good.npy"), json!({"args": ["--max-instructions", "0"]})),
        json!({"id": "unsupported", "program": "external.json", "inputs": {"x": "x.npy"}}),
        item("bug", "good.npy"),
        external("timeout by the engine", "sleep"),
        external("timeout by the supervisor", "stop"),
        with(item("memory", "good.npy"), json!({"max_memory": 1})),
        external("crash", "kill"),
        item("ok again", "good.npy"),
    ];
    for i in &mut items {
        let expect = status(i["id"].as_str().unwrap());
        *i = with(i.clone(), expect);
    }
    manifest(&s, &items);
    let ran = with_panics(&s, "bug", &["batch", "m.jsonl", "--jobs", "2", "--junit", "j.xml", "--report", "r.json"]);
    ran.exits(0);
    let all = of(&s);
    for (id, line) in &all {
        assert_eq!(line["status"], id.split(' ').next().unwrap(), "{line}");
        assert_eq!(line["as_expected"], true);
        assert_eq!(line["key"].as_str().unwrap().len(), 64, "{line}");
    }
    assert_eq!(all.len(), items.len());
    let code = |id: &str| (all[id]["exit_code"].as_i64().unwrap(), all[id]["error"]["code"].clone());
    assert_eq!(code("ok"), (0, Value::Null));
    assert_eq!(code("mismatch"), (1, Value::Null));
    assert_eq!(code("invalid"), (2, json!("BIR-F005")));
    assert_eq!(code("fault"), (3, json!("BIR-S009")));
    assert_eq!(code("unsupported"), (4, json!("BIR-U004")));
    assert_eq!(code("bug"), (70, json!("BIR-B001")));
    assert_eq!(code("timeout by the engine"), (3, json!("BIR-S009")));
    assert_eq!(code("timeout by the supervisor"), (3, json!("BIR-S009")));
    assert_eq!(code("memory"), (3, json!("BIR-S009")));
    assert_eq!(code("crash"), (137, Value::Null));
    assert_eq!(all["crash"]["error"]["message"], "the worker died of signal 9");
    assert_eq!(s.list("tmp"), [""; 0], "workers that were killed leave no temporary files");
    let output = &all["mismatch"]["outputs"][0];
    assert_eq!((&output["name"], &output["dtype"], &output["shape"]), (&json!("o"), &json!("float32"), &json!([2, 2])));
    assert_eq!(output["file"], "mismatch/o-birsim.npy");
    assert_eq!(
        output["golden"],
        json!({"equal": false, "max_abs": 0.5, "max_rel": 0.14285714285714285, "mismatches": 1})
    );
    assert_eq!(output["hash"], all["ok"]["outputs"][0]["hash"]);
    assert_eq!(s.list("birsim-out/ok"), ["o-birsim.npy"]);
    let report = s.report("r.json");
    assert_eq!(
        (&report["status"]["timeout"], &report["errors"]["BIR-S009"], &report["as_expected"]),
        (&json!(2), &json!(4), &json!(11))
    );
    let junit = quick_junit::Report::deserialize_from_str(&std::fs::read_to_string(s.path("j.xml")).unwrap()).unwrap();
    assert_eq!((junit.tests, junit.failures, junit.errors), (11, 0, 0));
    // Lines stand in manifest order.
    let text = std::fs::read_to_string(s.path("birsim-out/results.jsonl")).unwrap();
    let order: Vec<Value> = text.lines().map(|l| serde_json::from_str::<Value>(l).unwrap()["id"].clone()).collect();
    assert_eq!(order, items.iter().map(|i| i["id"].clone()).collect::<Vec<_>>());
}

/// Runs the command with faults in the worker at these items.
fn with_panics(s: &Sandbox, ids: &str, args: &[&str]) -> Ran {
    std::fs::create_dir_all(s.path("tmp")).unwrap();
    let out = Command::new(env!("CARGO_BIN_EXE_birsim"))
        .args(args)
        .current_dir(s.0.path())
        .env("BIRSIM_TEST_PANIC", ids)
        .env("TMPDIR", s.path("tmp"))
        .output()
        .unwrap();
    let text = |b: Vec<u8>| String::from_utf8(b).unwrap();
    Ran { code: out.status.code().unwrap_or(-1), stdout: text(out.stdout), stderr: text(out.stderr) }
}

#[test]
fn a_large_shared_tensor_fits_into_the_address_space_of_a_worker() {
    let s = batch();
    let both = dram("both", "Internal", "float32", [1, 1 << 28], 4, "").replace("Local", "Shared");
    let x = dram("x", "ExternalInput", "float32", [2, 2], 4, "");
    for core in 0..2 {
        // Each core writes four elements of its own.
        let write = copy("I-0", "x", "both", "float32");
        let (before, after) = write.rsplit_once("\"offset\": 0").unwrap();
        let write = format!("{before}\"offset\": {}{after}", 4 * core);
        let text = module(&[x.clone(), both.clone()], &[write]);
        s.write(&format!("{core}.json"), text.replace("_id\": 0}", &format!("_id\": {core}}}")));
    }
    // 1 GiB on each core and once more for both, of which one page is touched.
    manifest(&s, &[json!({"program": ["0.json", "1.json"], "lnc": 2, "inputs": {"x": "x.npy"}, "max_memory": "1M"})]);
    let ran = s.birsim(&["batch", "m.jsonl"]);
    assert_eq!(
        ran.code,
        0,
        "{}{}{}",
        ran.stdout,
        ran.stderr,
        std::fs::read_to_string(s.path("birsim-out/results.jsonl")).unwrap()
    );
}

#[test]
fn unexpected_results_decide_the_exit_code_and_junit() {
    let s = batch();
    manifest(
        &s,
        &[item("a", "good.npy"), item("b", "bad.npy"), with(item("c", "good.npy"), json!({"expect": "fault"}))],
    );
    let ran = s.birsim(&["batch", "m.jsonl", "--junit", "j.xml", "--no-outputs"]);
    ran.exits(1);
    for part in ["! b: mismatch: o differs", "! c: ok", "failed: 2 of 3 items not as expected"] {
        assert!(ran.stdout.contains(part), "{}", ran.stdout);
    }
    let xml = std::fs::read_to_string(s.path("j.xml")).unwrap();
    let junit = quick_junit::Report::deserialize_from_str(&xml).unwrap();
    assert_eq!((junit.tests, junit.failures, junit.errors), (3, 2, 0));
    assert!(xml.contains("o: 1 mismatches, max abs 0.5"), "{xml}");
    assert_eq!(s.list("birsim-out"), ["results.jsonl"]);
    assert_eq!(of(&s)["a"]["outputs"][0]["file"], Value::Null);
    // A code that is expected has to be the one that comes.
    let code = |c: &str| {
        with(item("a", "good.npy"), json!({"args": ["--max-instructions", "0"], "expect": "fault", "expect_code": c}))
    };
    manifest(&s, &[code("S009")]);
    s.birsim(&["batch", "m.jsonl", "--overwrite"]).exits(0);
    manifest(&s, &[code("S003")]);
    s.birsim(&["batch", "m.jsonl", "--overwrite"]).exits(1);
    // A bug outweighs all else.
    manifest(&s, &[item("a", "good.npy"), item("b", "bad.npy")]);
    with_panics(&s, "a", &["batch", "m.jsonl", "--overwrite"]).exits(70);
}

#[test]
fn items_do_not_affect_each_other() {
    let s = batch();
    let n = many();
    let mut items = Vec::new();
    for k in 0..n {
        items.push(match k % 100 {
            7 | 41 | 83 => item(k, "bad.npy"),
            11 | 53 | 97 => with(item(k, "good.npy"), json!({"args": ["--max-instructions", "0"]})),
            29 => json!({"id": k.to_string(), "program": "p.json"}),
            _ => item(k, "good.npy"),
        });
    }
    let place = |k: usize| k * n / 20;
    let panics: Vec<usize> = (0..5).map(|k| place(3 * k) + 1).collect();
    for k in 0..5 {
        items[place(3 * k + 1) + 2] = external(&format!("kill {k}"), "kill");
    }
    items[place(2) + 3] = external("stop", "stop");
    items[place(4) + 3] = with(item("memory", "good.npy"), json!({"max_memory": 1}));
    let ids: Vec<String> = panics.iter().map(|k| items[*k]["id"].as_str().unwrap().to_string()).collect();
    manifest(&s, &items);
    with_panics(&s, &ids.join(","), &["batch", "m.jsonl", "--jobs", "3", "--no-outputs"]).exits(70);
    let all = of(&s);
    assert_eq!(all.len(), n);
    for i in &items {
        let id = i["id"].as_str().unwrap();
        let want = match id {
            _ if ids.iter().any(|p| p == id) => "bug",
            _ if id.starts_with("kill") => "crash",
            "stop" => "timeout",
            "memory" => "memory",
            _ if i.get("goldens").is_none() => "invalid",
            _ if i["args"].is_array() => "fault",
            _ if i["goldens"]["o"] == "bad.npy" => "mismatch",
            _ => "ok",
        };
        assert_eq!(all[id]["status"], want, "{id}");
    }
}

fn spawn(s: &Sandbox, args: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_birsim"));
    command.args(args).current_dir(s.0.path()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Processes whose parent is, or was, this one.
fn workers(parent: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse::<u32>().ok()) else { continue };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        let rest = stat.rsplit(')').next().unwrap_or("");
        if rest.split_whitespace().nth(1) == Some(parent.to_string().as_str()) {
            found.push(pid);
        }
    }
    found
}

fn alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.trim_start().starts_with('Z') && !rest.trim().is_empty())
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_batch_is_resumed() {
    let s = batch();
    let n = many() / 2;
    let items: Vec<Value> = (0..n).map(|k| item(k, if k % 10 == 3 { "bad.npy" } else { "good.npy" })).collect();
    manifest(&s, &items);
    s.birsim(&["batch", "m.jsonl", "--jobs", "2", "--out", "whole"]).exits(1);
    let undisturbed = results(&s.path("whole/results.jsonl"));
    for round in 0..20u64 {
        let mut child = spawn(&s, &["batch", "m.jsonl", "--jobs", "2", "--resume"]);
        // Moments all over a run; the first ones fall into its start.
        std::thread::sleep(Duration::from_millis(3 + round * round * 7 % 150));
        let crew = workers(child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        let start = Instant::now();
        while crew.iter().any(|p| alive(*p)) {
            assert!(start.elapsed() < Duration::from_secs(20), "workers outlive their supervisor");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    s.birsim(&["batch", "m.jsonl", "--jobs", "2", "--resume"]).exits(1);
    assert_eq!(of(&s), undisturbed);
    // Everything holds: nothing runs again.
    let again = s.birsim(&["batch", "m.jsonl", "--resume"]);
    assert!(again.stdout.contains(&format!("reused {n} results of an earlier batch")), "{}", again.stdout);
    // A changed byte of one input runs that item again, and no other.
    s.write("other.npy", square([1.0, 2.0, 3.0, 4.0]));
    let mut changed = items.clone();
    changed[5]["inputs"]["x"] = json!("other.npy");
    manifest(&s, &changed);
    let same = s.birsim(&["batch", "m.jsonl", "--resume"]);
    assert!(same.stdout.contains(&format!("reused {n} results")), "equal bytes give an equal key: {}", same.stdout);
    s.write("other.npy", square([9.0, 2.0, 3.0, 4.0]));
    let one = s.birsim(&["batch", "m.jsonl", "--resume"]);
    assert!(one.stdout.contains(&format!("reused {} results", n - 1)), "{}", one.stdout);
    assert_eq!(of(&s)["5"]["status"], "mismatch");
    let failed = undisturbed.values().filter(|l| l["as_expected"] == false).count() + 1;
    let rerun = s.birsim(&["batch", "m.jsonl", "--resume", "--rerun", "failed"]);
    assert!(rerun.stdout.contains(&format!("reused {} results", n - failed)), "{}", rerun.stdout);
}

#[test]
fn results_do_not_depend_on_how_they_come_about() {
    let s = batch();
    let mut items: Vec<Value> = (0..60)
        .map(|k| match k % 7 {
            1 => item(k, "bad.npy"),
            2 => json!({"id": k.to_string(), "program": "p.json", "random_inputs": k}),
            3 => with(item(k, "good.npy"), json!({"threads": 2})),
            4 => json!({"id": k.to_string(), "program": "external.json", "inputs": {"x": "x.npy"}}),
            _ => item(k, "good.npy"),
        })
        .collect();
    items.push(json!({"id": "outside", "program": "./p.json", "inputs": {"x": "x.npy"}}));
    manifest(&s, &items);
    s.birsim(&["batch", "m.jsonl", "--jobs", "1", "--out", "one"]).exits(1);
    let want = std::fs::read_to_string(s.path("one/results.jsonl")).unwrap();
    let want = without_stats(&want);
    s.birsim(&["batch", "m.jsonl", "--jobs", "4", "--out", "four"]).exits(1);
    assert_eq!(without_stats(&std::fs::read_to_string(s.path("four/results.jsonl")).unwrap()), want);
    // From another folder, too.
    std::fs::create_dir(s.path("elsewhere")).unwrap();
    let out = Command::new(env!("CARGO_BIN_EXE_birsim"))
        .args(["batch", "../m.jsonl", "--out", "out"])
        .current_dir(s.path("elsewhere"))
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(1));
    assert_eq!(without_stats(&std::fs::read_to_string(s.path("elsewhere/out/results.jsonl")).unwrap()), want);
    // Shards, merged.
    let mut files = Vec::new();
    for part in 1..=3 {
        s.birsim(&["batch", "m.jsonl", "--shard", &format!("{part}/3"), "--out", "parts"]).exits(1);
        files.push(format!("parts/results.{part}-of-3.jsonl"));
    }
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let merge: Vec<&str> = ["batch", "--merge"].into_iter().chain(files.iter().copied()).collect();
    let tail = ["--manifest", "m.jsonl", "--results", "merged.jsonl"];
    s.birsim(&[&merge[..], &tail[..]].concat()).exits(1);
    assert_eq!(without_stats(&std::fs::read_to_string(s.path("merged.jsonl")).unwrap()), want);
    let missing = [&merge[..4], &tail[..], &["--overwrite"]].concat();
    s.birsim(&missing).exits(2).says("BIR-F010", "items have no result");
    // Standard input: every result is a line of standard output.
    let text = std::fs::read(s.path("m.jsonl")).unwrap();
    let ran = s.birsim_with(&["batch", "-", "--out", "stream"], &text);
    ran.exits(1);
    let mut lines: Vec<String> = without_stats(&ran.stdout).lines().map(str::to_owned).collect();
    lines.sort_by_key(|l| serde_json::from_str::<Value>(l).unwrap()["index"].as_u64());
    assert_eq!(lines.join("\n"), want.trim_end());
    assert!(ran.stderr.contains("items not as expected"), "{}", ran.stderr);
}

fn without_stats(text: &str) -> String {
    let lines = text.lines().map(|l| format!("{}\n", l.split(",\"stats\":").next().unwrap().to_owned() + "}"));
    lines.collect()
}

#[test]
fn lines_from_standard_input_fail_singly() {
    let s = batch();
    let text =
        format!("{}\nnot json\n{{\"program\":\"absent.json\"}}\n{}\n", item("a", "good.npy"), item("a", "good.npy"));
    let ran = s.birsim_with(&["batch", "-", "--jobs", "1"], text.as_bytes());
    ran.exits(1);
    let lines: Vec<Value> = ran.stdout.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let find = |id: &str| lines.iter().find(|l| l["id"] == id).unwrap();
    assert_eq!((lines.len(), &find("a")["status"]), (4, &json!("ok")));
    assert_eq!((&find("2")["status"], &find("2")["error"]["code"]), (&json!("invalid"), &json!("BIR-F010")));
    assert_eq!(find("2")["error"]["where"]["file"], "standard input:2");
    assert_eq!(find("3")["error"]["code"], "BIR-F001");
    assert_eq!(find("4")["error"]["message"], "two items have one id (received \"a\")");
}

/// A search loop keeps one process open: each answer comes before the next question.
#[test]
fn answers_come_at_once() {
    use std::io::{BufRead, BufReader, Write};
    let s = batch();
    let mut child = Command::new(env!("CARGO_BIN_EXE_birsim"))
        .args(["batch", "-", "--no-outputs"])
        .current_dir(s.0.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (mut ask, mut hear) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    for k in 0..5 {
        writeln!(ask, "{}", item(k, "good.npy")).unwrap();
        let mut line = String::new();
        hear.read_line(&mut line).unwrap();
        let line: Value = serde_json::from_str(&line).unwrap();
        assert_eq!((line["id"].clone(), &line["status"]), (json!(k.to_string()), &json!("ok")));
    }
    drop(ask);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_crash_that_passes_is_flaky_and_one_that_stays_is_not_tried_for_ever() {
    let s = batch();
    // Kills its worker the first time only.
    let body =
        "#!/bin/sh\n[ -e ../seen ] || { touch ../seen; kill -KILL $PPID; }\ncp relu-0-birsim.npy relu-0-simout.npy\n";
    let seen = s.path("seen");
    let path = s.write("once", body.replace("../seen", &seen.display().to_string()));
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    manifest(&s, &[external("once", "once"), external("always", "kill")]);
    let ran = s.birsim(&["batch", "m.jsonl", "--retries", "2"]);
    ran.exits(1);
    let text = std::fs::read_to_string(s.path("birsim-out/results.jsonl")).unwrap();
    let lines: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(
        (&lines[0]["status"], &lines[0]["stats"]["attempt"], &lines[0]["stats"]["flaky"]),
        (&json!("ok"), &json!(2), &json!(true))
    );
    assert_eq!((&lines[1]["status"], &lines[1]["stats"]["attempt"]), (&json!("crash"), &json!(3)));
    assert!(ran.stdout.contains("flaky once"), "{}", ran.stdout);
}

#[test]
fn everything_wrong_with_a_manifest_is_told_before_anything_runs() {
    let s = batch();
    s.write(
        "m.jsonl",
        "{\"program\":\"p.json\",\"golden\":\"g\"}\n{\"program\":\"absent.json\",\"id\":\"b\"}\n{\"program\":\"p.json\",\"args\":[\"--out\",\"x\"]}\n",
    );
    let ran = s.birsim(&["batch", "m.jsonl"]);
    ran.exits(2).says("BIR-F010", "an item has no such key");
    assert!(
        ran.stderr.contains("m.jsonl:1") && ran.stderr.contains("the nearest key is \"goldens\""),
        "{}",
        ran.stderr
    );
    s.write("m.jsonl", "{\"program\":\"absent.json\"}\n{\"program\":\"p.json\",\"args\":[\"--out\",\"x\"]}\n");
    let ran = s.birsim(&["batch", "m.jsonl"]);
    ran.exits(2);
    for part in ["m.jsonl:1", "there is no such program", "m.jsonl:2", "--out is set by the batch"] {
        assert!(ran.stderr.contains(part), "{}", ran.stderr);
    }
    assert!(!s.path("birsim-out").exists());
    s.birsim(&["batch", "absent.jsonl"]).exits(2).says("BIR-F001", "cannot read the manifest");
    s.birsim(&["batch"]).exits(2).says("BIR-F008", "required");
}

#[test]
fn existing_results_are_kept_unless_something_is_said() {
    let s = batch();
    manifest(&s, &[item("a", "good.npy")]);
    s.birsim(&["batch", "m.jsonl"]).exits(0);
    s.birsim(&["batch", "m.jsonl"]).exits(2).says("BIR-F008", "there are results of an earlier batch");
    s.birsim(&["batch", "m.jsonl", "--overwrite"]).exits(0);
    s.birsim(&["batch", "m.jsonl", "--resume", "--overwrite"]).exits(2);
    s.birsim(&["batch", "m.jsonl", "--rerun", "failed"]).exits(2);
}

#[test]
fn items_are_selected() {
    let s = batch();
    let tagged = |id: &str, tag: &str| with(item(id, "good.npy"), json!({"tags": [tag]}));
    manifest(&s, &[tagged("mlp/1", "slow"), tagged("mlp/2", "fast"), tagged("att/1", "fast")]);
    let listed = |args: &[&str]| s.birsim(&[&["batch", "m.jsonl", "--list"], args].concat()).exits(0).stdout.clone();
    assert_eq!(listed(&[]), "mlp/1\nmlp/2\natt/1\n");
    assert_eq!(listed(&["--filter", "mlp/*"]), "mlp/1\nmlp/2\n");
    assert_eq!(listed(&["--filter", "*/1", "--tag", "fast"]), "att/1\n");
    assert_eq!(listed(&["--shard", "2/2"]), "mlp/2\n");
    assert!(!s.path("birsim-out").exists());
    s.birsim(&["batch", "m.jsonl", "--filter", "["]).exits(2).says("BIR-F008", "--filter takes a glob");
    s.birsim(&["batch", "m.jsonl", "--shard", "3/2"]).exits(2);
    // An id is not a path: its outputs stay in one folder.
    s.birsim(&["batch", "m.jsonl", "--tag", "slow"]).exits(0);
    assert_eq!(s.list("birsim-out"), ["mlp%2F1", "results.jsonl"]);
}

#[test]
fn a_batch_stops_after_enough_failures() {
    let s = batch();
    let items: Vec<Value> = (0..40).map(|k| item(k, "bad.npy")).collect();
    manifest(&s, &items);
    let ran = s.birsim(&["batch", "m.jsonl", "--jobs", "2", "--max-fail", "3"]);
    ran.exits(1);
    let count = of(&s).len();
    assert!((3..=4).contains(&count), "those that ran are finished: {count}");
    assert!(ran.stdout.contains(&format!("{} not run", 40 - count)), "{}", ran.stdout);
}

#[test]
fn an_interrupted_batch_keeps_what_is_finished() {
    let s = batch();
    let mut items: Vec<Value> = (0..3).map(|k| item(k, "good.npy")).collect();
    items.push(with(external("slow", "sleep"), json!({"timeout": 2})));
    items.extend((10..60).map(|k| with(external(&k.to_string(), "sleep"), json!({"timeout": 2}))));
    manifest(&s, &items);
    let child = spawn(&s, &["batch", "m.jsonl", "--jobs", "1"]);
    let path = s.path("birsim-out/results.jsonl");
    let start = Instant::now();
    while std::fs::read_to_string(&path).unwrap_or_default().lines().count() < 3 {
        assert!(start.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(5));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(130));
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(text.contains("interrupted: 4 finished, 50 not run") || text.contains("interrupted: 3 finished"), "{text}");
    assert!(of(&s).len() >= 3);
}

#[test]
fn copies_of_a_run_are_warned() {
    let s = ready();
    let out = Command::new(env!("CARGO_BIN_EXE_birsim"))
        .args(["run", "p.json", "--input", "x=x.npy"])
        .current_dir(s.0.path())
        .env("OMPI_COMM_WORLD_SIZE", "4")
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(0));
    let text = String::from_utf8(out.stderr).unwrap();
    assert!(text.contains("Open MPI has started 4 copies of this command"), "{text}");
}

#[test]
fn shards_come_from_the_scheduler() {
    let s = batch();
    manifest(&s, &(0..4).map(|k| item(k, "good.npy")).collect::<Vec<_>>());
    let out = Command::new(env!("CARGO_BIN_EXE_birsim"))
        .args(["batch", "m.jsonl", "--shard", "auto"])
        .current_dir(s.0.path())
        .env("SLURM_PROCID", "1")
        .env("SLURM_NTASKS", "2")
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(0));
    let all = results(&s.path("birsim-out/results.2-of-2.jsonl"));
    assert_eq!(all.keys().collect::<Vec<_>>(), ["1", "3"]);
    s.birsim(&["batch", "m.jsonl", "--shard", "auto"]).exits(2).says("BIR-F008", "finds no scheduler");
}

/// The block of the README's section on batches in this language.
fn readme_block(language: &str) -> String {
    let text = std::fs::read_to_string(root().join("README.md")).unwrap();
    let section = text.split("## Thousands of programs").nth(1).unwrap();
    let fence = format!("```{language}\n");
    section.split(&fence).nth(1).unwrap().split("```").next().unwrap().to_string()
}

#[test]
fn the_manifest_of_the_readme_is_one() {
    let s = batch();
    for name in ["mlp.json", "core0.json", "core1.json"] {
        s.write(name, identity("float32", 4, "o"));
    }
    s.write("m.jsonl", readme_block("json"));
    assert_eq!(s.birsim(&["batch", "m.jsonl", "--list"]).exits(0).stdout, "mlp\nhang\n");
    assert_eq!(s.birsim(&["batch", "m.jsonl", "--list", "--tag", "fast"]).exits(0).stdout, "mlp\n");
}

#[test]
fn the_search_loop_of_the_readme_runs() {
    if std::env::var_os("BIRSIM_SKIP_PYTHON").is_some() {
        return;
    }
    let s = batch();
    s.write("kernel.json", identity("float32", 4, "o"));
    s.write("in/x.npy", square([1.0, 2.0, 3.0, 4.0]));
    std::fs::create_dir(s.path("golden")).unwrap();
    s.write("golden/o.npy", square([1.0, 2.0, 3.0, 4.0]));
    s.write("loop.py", readme_block("python").replace("golden.npz", "golden"));
    let bin = Path::new(env!("CARGO_BIN_EXE_birsim")).parent().unwrap();
    let path = std::env::join_paths(
        [bin.to_path_buf()].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let out =
        Command::new("python3").arg("loop.py").current_dir(s.0.path()).env("PATH", path.unwrap()).output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(text.starts_with("ok [{'name': 'o'"), "{text}{}", String::from_utf8_lossy(&out.stderr));
}

#[cfg(target_os = "linux")]
#[test]
fn the_largest_limits_do_not_overflow() {
    let s = batch();
    manifest(&s, &[with(item("most", "good.npy"), json!({"max_memory": u64::MAX, "timeout": 999_999_999.0}))]);
    s.birsim(&["batch", "m.jsonl", "--jobs", "1"]).exits(0);
    assert_eq!(of(&s)["most"]["status"], "ok");
}

#[test]
fn the_memory_limit_of_an_item_bounds_its_workers_address_space() {
    let s = batch();
    let body = "#!/bin/sh\nulimit -v > LIMIT\ncp relu-0-birsim.npy relu-0-simout.npy\n";
    let path = s.write("tell", body.replace("LIMIT", &s.path("limit").display().to_string()));
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let limit = || std::fs::read_to_string(s.path("limit")).unwrap().trim().to_string();
    manifest(&s, &[with(external("a", "tell"), json!({"max_memory": "1G", "timeout": 60}))]);
    s.birsim(&["batch", "m.jsonl"]).exits(0);
    let kib: u64 = limit().parse().unwrap();
    assert!(kib > 1 << 20 && kib < 1 << 24, "{kib}");
    manifest(&s, &[with(external("a", "tell"), json!({"timeout": 60}))]);
    s.birsim(&["batch", "m.jsonl", "--overwrite"]).exits(0);
    assert_eq!(limit(), "unlimited");
}
