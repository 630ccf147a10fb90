//! Damaged modules: read, validated, listed, written, loaded and run.

use arbitrary::{Result, Unstructured};
use birsim_engine::format::{parse, read, write};
use birsim_engine::ir::{listing::listing, validate::validate};
use birsim_engine::{Limits, Simulator};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

const TEXTS: [&str; 7] = [
    include_str!("../../data/softmax_matmul/module.json"),
    include_str!("../../data/bir_add_one/kernel.bir.json"),
    include_str!("../../data/bir_tiles/kernel.bir.json"),
    include_str!("../../data/bir_two_inputs/kernel.bir.json"),
    include_str!("../../../engine/ir/tests/data/examples/ex2_matmul_psum.json"),
    include_str!("../../../engine/ir/tests/data/examples/ex3_loop_symbolic.json"),
    include_str!("../../../engine/ir/tests/data/examples/ex4_two_engine_semaphore.json"),
];

static MODULES: LazyLock<Vec<Value>> =
    LazyLock::new(|| TEXTS.iter().map(|t| serde_json::from_str(t).expect("the samples are JSON")).collect());

/// Numbers that break careless arithmetic.
const INTEGERS: [i64; 16] =
    [0, -1, 1, 2, 4, 64, 127, 128, 255, 256, 65536, 1 << 31, 1 << 40, i64::MAX, i64::MIN, -(1 << 31)];

/// Words that mean something somewhere in a module.
const WORDS: [&str; 20] = [
    "", "x", "nan", "inf", "float8e4", "uint64", "float32", "int32", "PSUM", "SB", "DRAM", "Matmult", "DMACopy",
    "Loop", "Call", "ALL", "Pool", "r0", "i", "main",
];

/// Uses one input.
pub fn run(bytes: &[u8]) {
    let mut u = Unstructured::new(bytes);
    if let Ok(text) = text(&mut u) {
        exercise(&text);
    }
}

fn text(u: &mut Unstructured) -> Result<Vec<u8>> {
    let sample = u.choose_index(TEXTS.len())?;
    if u.ratio(1, 4)? {
        return edited(u, TEXTS[sample].as_bytes());
    }
    let mut module = MODULES[sample].clone();
    for _ in 0..=u.int_in_range(0..=3)? {
        damage(&mut module, u)?;
    }
    Ok(module.to_string().into_bytes())
}

/// The bytes with some of them replaced, removed or doubled.
pub(super) fn edited(u: &mut Unstructured, sample: &[u8]) -> Result<Vec<u8>> {
    let mut out = sample.to_vec();
    for _ in 0..=u.int_in_range(0..=6)? {
        if out.is_empty() {
            break;
        }
        let at = u.choose_index(out.len())?;
        match u.int_in_range(0..=5)? {
            0 => out[at] = u.arbitrary()?,
            1 => out[at] ^= 1 << u.int_in_range(0..=7)?,
            2 => drop(out.remove(at)),
            3 => out.insert(at, u.arbitrary()?),
            4 => out.truncate(at),
            _ => {
                let end = (at + u.int_in_range(1..=64)?).min(out.len());
                let piece = out[at..end].to_vec();
                out.splice(at..at, piece);
            }
        }
    }
    Ok(out)
}

/// Replaces, removes, doubles or moves one node.
fn damage(node: &mut Value, u: &mut Unstructured) -> Result<()> {
    match node {
        Value::Object(o) if !o.is_empty() => {
            let keys: Vec<String> = o.keys().cloned().collect();
            let key = u.choose(&keys)?.clone();
            match u.int_in_range(0..=11)? {
                0 => drop(o.remove(&key)),
                1 => drop(o.insert(key, nasty(u)?)),
                2 => {
                    let value = o.remove(&key).unwrap_or_default();
                    o.insert(format!("{key}x"), value);
                }
                _ => damage(&mut o[&key], u)?,
            }
        }
        Value::Array(a) if !a.is_empty() => {
            let n = u.choose_index(a.len())?;
            match u.int_in_range(0..=13)? {
                0 => drop(a.remove(n)),
                1 => a[n] = nasty(u)?,
                2 => a.push(a[n].clone()),
                3 => a.swap(0, n),
                _ => damage(&mut a[n], u)?,
            }
        }
        other => *other = nasty(u)?,
    }
    Ok(())
}

fn nasty(u: &mut Unstructured) -> Result<Value> {
    Ok(match u.int_in_range(0..=9)? {
        0..=2 => json!(*u.choose(&INTEGERS)?),
        3 => json!(u.arbitrary::<i64>()?),
        4 => json!(u.arbitrary::<f64>()?),
        5 | 6 => json!(*u.choose(&WORDS)?),
        7 => json!([[*u.choose(&INTEGERS)?, *u.choose(&INTEGERS)?], [1, *u.choose(&INTEGERS)?]]),
        8 => json!({"kind": "AffIVKind", "axis": "i"}),
        _ => u.choose(&[Value::Null, json!(true), json!([]), Value::Object(Map::new())])?.clone(),
    })
}

/// Reads a text and goes as far with it as it allows.
fn exercise(text: &[u8]) {
    let Ok(module) = read(text) else {
        // What cannot be resolved can still be listed.
        if let Ok(module) = parse(text) {
            listing(&module);
        }
        return;
    };
    if validate(&module).is_err() {
        return;
    }
    let written = write(&module);
    let again = read(written.as_bytes()).unwrap_or_else(|e| panic!("what was written does not read: {e}\n{written}"));
    assert_eq!(write(&again), written, "a second round trip changes the text");
    let limits = Limits { max_memory: Some(1 << 24), max_instructions: Some(2000), ..Limits::default() };
    let Ok(mut sim) = Simulator::builder().threads(1).limits(limits).build() else { return };
    if sim.load(&module).is_ok() {
        // A fault is an answer.
        let _ = sim.run();
    }
}
