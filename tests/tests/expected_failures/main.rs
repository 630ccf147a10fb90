//! Programs and command lines that must fail: each with the code, the text, the place and the value that a reader of the
//! message needs. Every error code is reached.
//!
//! What fails is generated here; what it must say is reviewed text in `data/expected_failures.txt`, one line each.
//! `BIRSIM_BLESS=1 cargo test -p birsim-tests --test expected_failures` writes that file anew for review.

#[path = "../../../engine/tests/common/mod.rs"]
mod common;
mod contracts;
mod files;
mod kernels;
mod meetings;
mod operands;
mod protocol;
mod text;

use birsim_engine::format::read;
use birsim_engine::{Builder, Check, Class, Code, Cores, Error, Limits, Order, Simulator};
use common::*;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, HashSet};

const X: T = T("x", "ExternalInput", "DRAM", "float32", 4, 8);
const N: T = T("n", "ExternalInput", "DRAM", "int32", 4, 8);
const U: T = T("u", "ExternalInput", "DRAM", "uint32", 4, 8);
const S: T = T("s", "Internal", "SB", "float32", 4, 8);
const R: T = T("r", "Internal", "SB", "float32", 4, 8);
const W: T = T("w", "Internal", "SB", "float32", 4, 4);
const B: T = T("b", "Internal", "SB", "bfloat16", 4, 8);
const P: T = T("p", "Internal", "PSUM", "float32", 4, 8);
const O: T = T("o", "ExternalOutput", "DRAM", "float32", 4, 8);
const C: T = T("c", "ExternalInput", "SB", "float32", 4, 1);
const TENSORS: [&T; 10] = [&X, &N, &U, &S, &R, &W, &B, &P, &O, &C];

fn storage() -> Vec<Json> {
    TENSORS.iter().map(|t| t.record()).chain([register("k"), register("i")]).collect()
}

fn program(list: Vec<Json>) -> Json {
    module(storage(), list)
}

/// Something that fails.
struct Row {
    id: String,
    action: Box<dyn FnOnce() -> Result<(), Error>>,
    /// What the action runs, when it is a module.
    program: Option<(Json, Builder)>,
}

fn action(id: impl Into<String>, f: impl FnOnce() -> Result<(), Error> + 'static) -> Row {
    Row { id: id.into(), action: Box::new(f), program: None }
}

fn row(id: impl Into<String>, module: Json) -> Row {
    with(id, module, Simulator::builder())
}

fn with(id: impl Into<String>, module: Json, builder: Builder) -> Row {
    let program = Some((module.clone(), builder.clone()));
    Row { program, ..action(id, move || execute(&module, builder)) }
}

fn imm(value: f64) -> Json {
    json!({"kind": "imm_value", "dtype": "float32", "value": value})
}

fn int(value: i64) -> Json {
    json!({"kind": "imm_value", "dtype": "int32", "value": value})
}

/// Runs a program: in list order unless it is about synchronisation.
fn execute(module: &Json, builder: Builder) -> Result<(), Error> {
    let mut sim = loaded(builder.order(Order::Auto), module)?;
    // Everything is 1, except for indices, which are too large.
    for (name, value) in [("x", 1.0f32.to_bits()), ("u", 1), ("n", 99)] {
        if sim.tensors().iter().any(|t| t.name == name) {
            let bytes: Vec<u8> = (0..32).flat_map(|_| value.to_le_bytes()).collect();
            sim.bind(name, &bytes)?;
        }
    }
    sim.run().map(|_| ())
}

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    operands::out_of_bounds(&mut rows);
    operands::shapes(&mut rows);
    protocol::protocol(&mut rows);
    protocol::devices(&mut rows);
    protocol::control(&mut rows);
    contracts::contracts(&mut rows);
    protocol::memory(&mut rows);
    text::rows(&mut rows);
    files::rows(&mut rows);
    kernels::rows(&mut rows);
    meetings::rows(&mut rows);
    rows
}

fn summary(e: &Error) -> String {
    format!("{}: {} | {} | {}", e.code().id(), e.what(), e.place(), e.received_value().unwrap_or("-"))
        .replace('\n', " ")
}

#[test]
fn failures_say_what_is_reviewed() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/data/expected_failures.txt");
    let mut lines = Vec::new();
    let (mut pairs, mut ids, mut codes) = (HashSet::new(), HashSet::new(), HashSet::new());
    let mut wrong = Vec::new();
    for Row { id, action, .. } in rows() {
        assert!(ids.insert(id.clone()), "{id} is listed twice");
        let e = match action() {
            Ok(()) => {
                wrong.push(format!("{id}: no error"));
                continue;
            }
            Err(e) => e,
        };
        // The rule is what the text says, the place is where it is broken.
        let p = e.place();
        let place = (p.opcode.clone(), p.operand.clone(), p.tensor.clone(), p.file.clone());
        if !pairs.insert((e.code(), e.what().to_string(), place)) {
            wrong.push(format!("{id}: says the same as another: {}", summary(&e)));
        }
        if e.class() == Class::Bug && id != "a machine without a shadow" {
            wrong.push(format!("{id}: {e}"));
        }
        if e.advice_text().is_empty() {
            wrong.push(format!("{id}: says not what to do"));
        }
        codes.insert(e.code());
        lines.push(format!("{id} => {}", summary(&e)));
    }
    if std::env::var_os("BIRSIM_BLESS").is_some() {
        std::fs::write(path, lines.join("\n") + "\n").unwrap();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let text = std::fs::read_to_string(path).unwrap();
    let reviewed: BTreeMap<&str, &str> = text.lines().filter_map(|l| l.split_once(" => ")).collect();
    for line in &lines {
        let (id, said) = line.split_once(" => ").unwrap();
        assert_eq!(Some(&said), reviewed.get(id), "{id}");
    }
    assert_eq!(lines.len(), reviewed.len(), "the reviewed file has lines of programs that are gone");
    assert_eq!(text.lines().count(), reviewed.len(), "the reviewed file lists something twice");
    assert!(pairs.len() >= 150, "{} distinct pairs of rule and place", pairs.len());
    let missing: Vec<_> = Code::ALL.iter().filter(|c| !codes.contains(*c)).collect();
    assert!(missing.is_empty(), "nothing reaches {missing:?}");
}

/// Programs whose fault depends on data, on the state of the machine or on the order of events, so that only a run finds it.
const RUN_ONLY: &[&str] = &[
    "deadlock",
    "deadlock circle",
    "event set twice",
    "event left set",
    "semaphore left",
    "semaphore below zero",
    "loop that never ends",
    "memory limit",
    "nothing was sent",
    "rank in no group",
    // What moves the address comes from an operand.
    "bounds TensorCopyDynamicSrc ins[0]",
    "shape TensorCopyDynamicSrc",
    "external kernel",
    "external BIR kernel",
    "external kernel without a program",
    "index past the table",
    "index past the row",
    "unwritten memory is read",
];

/// Programs whose fault depends on which cores and ranks take part, and on what they bring: it is judged where they meet, so
/// `validate` knows it only when it gets the modules of all of them.
const AT_MEETINGS: &[&str] = &["shape CollectiveCompute", "collective reduces by product", "no partner core"];

/// What `validate` says of a module: what loading refuses, else what the ranks of the run lack and what instructions refuse
/// whatever their inputs are.
fn validated(module: &Json, builder: Builder) -> Vec<Error> {
    let builder = builder.order(Order::Auto);
    let mut sim = match loaded(builder.clone(), module) {
        Err(e) => return vec![e],
        Ok(sim) => sim,
    };
    let module = read(module.to_string().as_bytes()).unwrap();
    let mut errors = Cores::check(&builder, std::slice::from_ref(&module));
    errors.extend(sim.refusals().unwrap().into_iter().map(|r| r.error));
    errors
}

#[test]
fn d66_what_a_run_refuses_whatever_its_inputs_are_is_reported_by_validate_in_the_same_words() {
    let mut wrong = Vec::new();
    for Row { id, action, program } in rows() {
        let (Some((module, builder)), Err(e)) = (program, action()) else { continue };
        let said = validated(&module, builder).iter().any(|v| summary(v) == summary(&e));
        match (said, RUN_ONLY.iter().chain(AT_MEETINGS).any(|listed| *listed == id)) {
            (false, false) => wrong.push(format!("{id}: validate does not say {}", summary(&e))),
            (true, true) => wrong.push(format!("{id}: validate says it: take it out of the list")),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
