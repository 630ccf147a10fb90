//! What devices ask of a program (`machine.md` 12): remarks as a rule, faults with `strict`.

mod common;

use birsim_engine::ir::Arch;
use birsim_engine::ir::validate::check_for;
use birsim_engine::{Code, Remark, Severity, Simulator, format};
use birsim_kernels::Named;
use common::*;
use serde_json::{Value as Json, json};

const X: T = T("x", "ExternalInput", "DRAM", "float32", 4, 8);
const S: T = T("s", "Internal", "SB", "float32", 4, 8);
const R: T = T("r", "Internal", "SB", "float32", 4, 8);
const BIG: T = T("big", "Internal", "SB", "float32", 96, 8);
const P: T = T("p", "Internal", "PSUM", "float32", 4, 8);
const Q: T = T("q", "Internal", "PSUM", "float32", 4, 8);

/// A program over these tensors, some of them placed at a partition.
fn program(placed: &[(&str, u64)], list: Vec<Json>) -> Json {
    let storage = [X, S, R, BIG, P, Q].iter().map(|t| {
        let mut record = t.record();
        if let Some((_, base)) = placed.iter().find(|(name, _)| *name == t.0) {
            let l = &mut record["memorylocations"][0];
            (l["allocated"], l["base"]) = (json!(true), json!(base));
        }
        record
    });
    module(storage.collect(), list)
}

fn copy(engine: &str, from: Json, to: Json) -> Json {
    let opcode = if engine == "DMA" { "DMACopy" } else { "TensorCopy" };
    inst("c", opcode, engine, json!([from]), json!([to]), json!({}))
}

/// What is said about a program: nothing, or rule, text and value; a note without `strict`, the fault with it.
fn said(m: &Json) -> Option<(&'static str, String, String)> {
    let notes = |strict: bool| {
        let mut sim = loaded(Simulator::builder().strict(strict), m)?;
        Ok::<_, birsim_engine::Error>(sim.summary().unwrap().diagnostics)
    };
    let all = notes(false).unwrap();
    assert!(all.iter().all(|d| d.severity == Severity::Note), "{all:?}");
    let fault = notes(true).err();
    let Some(note) = all.first() else {
        assert!(fault.is_none(), "{fault:?}");
        return None;
    };
    let fault = fault.unwrap();
    let (code, received) = (fault.code(), fault.received_value().unwrap().to_string());
    let codes = [
        (Remark::StartPartition, Code::S020),
        (Remark::PartitionStep, Code::S021),
        (Remark::EngineMemory, Code::S022),
        (Remark::SyncLimit, Code::S023),
        (Remark::ArchitectureGate, Code::S024),
    ];
    assert!(codes.contains(&(note.code, code)), "{note:?} {code:?}");
    assert!(note.message.starts_with(&format!("{}: {received}", fault.what())), "{}", note.message);
    assert_eq!(note.place.as_deref().unwrap().instruction, fault.place().instruction);
    Some((note.code.name(), fault.what().to_string(), received))
}

#[test]
fn d64_operands_start_at_a_quadrant() {
    let at = |base: u64, engine: &str| said(&program(&[("s", base)], vec![copy(engine, all(&S), all(&R))]));
    let (rule, text, value) = at(8, "DVE").unwrap();
    assert_eq!((rule, text.as_str()), ("start-partition", "an operand starts at partition 0, 32, 64 or 96"));
    assert_eq!(value, "partition 8, 4 partitions");
    assert_eq!([0, 32, 64, 96].map(|base| at(base, "DVE")), [None, None, None, None]);
    // An offset of whole rows moves the start.
    let row = |k: i64| part(&S, 8 * k, &[[8, 1], [1, 8]]);
    let first = |k: i64| copy("DVE", row(k), part(&R, 0, &[[8, 1], [1, 8]]));
    assert!(said(&program(&[("s", 31)], vec![first(0)])).is_some());
    // Nobody knows yet where the others will be.
    assert!(said(&program(&[], vec![first(1)])).is_none());
    let big = |base: u64, rows: i64| {
        let some = || part(&BIG, 0, &[[8, rows], [1, 8]]);
        said(&program(&[("big", base)], vec![copy("DVE", some(), some())])).map(|(_, text, _)| text)
    };
    assert_eq!(big(0, 96), None);
    assert_eq!(big(32, 96).unwrap(), "an operand of more than 64 partitions starts at partition 0");
    assert_eq!(big(32, 64).unwrap(), "an operand of more than 32 partitions starts at partition 0 or 64");
    assert_eq!(big(32, 32), None);
}

#[test]
fn d64_steps_over_partitions_are_whole_rows() {
    let step = |engine: &str, step: i64| {
        said(&program(&[], vec![copy(engine, part(&S, 0, &[[step, 2], [1, 4]]), part(&R, 0, &[[8, 2], [1, 4]]))]))
    };
    let (rule, _, value) = step("DVE", 4).unwrap();
    assert_eq!((rule, value.as_str()), ("partition-step", "step 4 in rows of 8 elements"));
    assert_eq!([0, 8, 16].map(|s| step("DVE", s)), [None, None, None]);
    assert_eq!(step("DMA", 4), None);
}

#[test]
fn d64_engines_reach_some_memories() {
    let copies = |engine: &str, from: &T, to: &T| {
        said(&program(&[], vec![copy(engine, all(from), all(to))])).map(|(_, text, _)| text)
    };
    assert_eq!(copies("DVE", &P, &S), None);
    assert_eq!(copies("Activation", &S, &P), None);
    assert_eq!(copies("DVE", &X, &S).unwrap(), "engine DVE does not read DRAM");
    assert_eq!(copies("Pool", &P, &S).unwrap(), "engine Pool does not read PSUM");
    assert_eq!(copies("Pool", &S, &P).unwrap(), "engine Pool does not write PSUM");
    assert_eq!(copies("DMA", &P, &S).unwrap(), "engine DMA does not read PSUM");
    assert_eq!(copies("DMA", &X, &S), None);
    let product = |from: &T, to: &T| {
        let i =
            inst("m", "Matmult", "PE", json!([all(from), all(&R)]), json!([part(to, 0, &[[8, 8], [1, 8]])]), json!({}));
        let m = format::read(program(&[], vec![i]).to_string().as_bytes()).unwrap();
        let doubts = check_for(&m, Arch::Gen3).unwrap();
        doubts.errors.into_iter().map(|e| e.what().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(product(&S, &P), Vec::<String>::new());
    assert_eq!(product(&P, &S), ["engine PE does not read PSUM", "engine PE does not write SB"]);
}

#[test]
fn d64_an_instruction_has_two_waits_and_five_updates() {
    let synced = |waits: u32, updates: u32| {
        let mut i = inst("n", "NoOp", "SP", json!([]), json!([]), json!({}));
        let wait = |id: u32| json!({"id": id, "wait_value": 0});
        i["sync_info"] = json!({"on_wait": (0..waits).map(wait).collect::<Vec<_>>(),
            "on_update": (0..updates).map(|id| json!({"id": id})).collect::<Vec<_>>()});
        said(&program(&[], vec![i])).map(|(rule, text, value)| (rule, format!("{text}: {value}")))
    };
    assert_eq!(synced(2, 5), None);
    assert_eq!(synced(3, 5).unwrap(), ("sync-limit", "an instruction has at most 2 waits: 3".to_string()));
    assert_eq!(synced(2, 6).unwrap(), ("sync-limit", "an instruction has at most 5 updates: 6".to_string()));
}

#[test]
fn d64_some_instructions_are_younger_than_the_target() {
    let on = |arch: &str| {
        let mut m = program(&[], vec![inst("r", "Rand2", "DVE", json!([]), json!([all(&S)]), json!({}))]);
        m["arch"] = json!(arch);
        said(&m).map(|(rule, text, value)| (rule, format!("{text}: {value}")))
    };
    let text = "Rand2 is an instruction of core_v4 and later targets: gen3";
    assert_eq!(on("gen3").unwrap(), ("architecture-gate", text.to_string()));
    assert_eq!(on("core_v4"), None);
}

#[test]
fn d64_a_rule_is_said_once_with_the_number_of_places() {
    let many = (0..3).map(|k| {
        let mut i = copy("Pool", all(&P), all(&S));
        i["name"] = json!(format!("c{k}"));
        i
    });
    let mut sim = loaded(Simulator::builder(), &program(&[], many.collect())).unwrap();
    let all = sim.summary().unwrap().diagnostics;
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!(all[0].message, "engine Pool does not read PSUM: PSUM; 3 places in all");
}
