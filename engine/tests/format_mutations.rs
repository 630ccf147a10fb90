//! Random damage: reading, validating, loading and running never panic, and what validates survives the writer.

use birsim_engine::format::{parse, read, write};
use birsim_engine::ir::validate::validate;
use birsim_engine::{Limits, Simulator};
use serde_json::{Value as Json, json};

/// A small generator with a fixed seed: the same damage on every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % sides.max(1)
    }
}

const TEXTS: [&str; 5] = [
    include_str!("../ir/tests/data/reference_module.json"),
    include_str!("../ir/tests/data/examples/ex1_memset_tensorscalar_save.json"),
    include_str!("../ir/tests/data/examples/ex2_matmul_psum.json"),
    include_str!("../ir/tests/data/examples/ex3_loop_symbolic.json"),
    include_str!("../ir/tests/data/examples/ex4_two_engine_semaphore.json"),
];

/// Values that break careless arithmetic.
fn nasty(dice: &mut Dice) -> Json {
    let all = [
        json!(0),
        json!(-1),
        json!(1),
        json!(2),
        json!(127),
        json!(128),
        json!(255),
        json!(256),
        json!(65536),
        json!(i64::MAX),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(1e308),
        json!(-0.5),
        json!("nan"),
        json!("inf"),
        json!(""),
        json!("x"),
        json!("t"),
        json!("x_set"),
        json!("r0"),
        json!("i"),
        json!("float8e4"),
        json!("uint64"),
        json!("PSUM"),
        json!("Matmult"),
        json!("DMACopy"),
        json!("Activation"),
        json!("Loop"),
        json!("ALL"),
        json!(null),
        json!(true),
        json!([]),
        json!({}),
        json!([[1, 1]]),
        json!([[0, 1048576], [0, 1048576]]),
        json!([-1, -1]),
        json!([4, 32]),
        json!({"kind": "AffIVKind", "axis": "i"}),
        json!({"kind": "IntRuntimeValueKind", "regref": "r0"}),
    ];
    all[dice.roll(all.len())].clone()
}

/// Replaces, removes or doubles one node.
fn damage(v: &mut Json, dice: &mut Dice) {
    match v {
        Json::Object(o) if !o.is_empty() => {
            let key = o.keys().nth(dice.roll(o.len())).cloned().unwrap_or_default();
            match dice.roll(12) {
                0 => {
                    o.remove(&key);
                }
                1 => {
                    o.insert(key, nasty(dice));
                }
                _ => damage(&mut o[&key], dice),
            }
        }
        Json::Array(a) if !a.is_empty() => {
            let n = dice.roll(a.len());
            match dice.roll(14) {
                0 => {
                    a.remove(n);
                }
                1 => a[n] = nasty(dice),
                2 => {
                    let twin = a[n].clone();
                    a.push(twin);
                }
                _ => damage(&mut a[n], dice),
            }
        }
        other => *other = nasty(dice),
    }
}

fn follow_through(text: &[u8]) -> bool {
    let Ok(module) = read(text) else {
        // What cannot be resolved can still be listed.
        if let Ok(module) = parse(text) {
            birsim_engine::ir::listing::listing(&module);
        }
        return false;
    };
    if validate(&module).is_err() {
        return false;
    }
    let written = write(&module);
    let again = read(written.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{written}"));
    assert_eq!(write(&again), written);
    let limits = Limits { max_memory: Some(1 << 24), max_instructions: Some(2000), ..Limits::default() };
    let Ok(mut sim) = Simulator::builder().threads(1).limits(limits).build() else { return false };
    if sim.load(&module).is_ok() {
        // A fault is fine; only a panic is not.
        let _ = sim.run();
    }
    true
}

#[test]
fn damaged_values_never_panic() {
    let mut dice = Dice(20260101);
    let mut survived = 0;
    for round in 0..ROUNDS {
        let mut module: Json = serde_json::from_str(TEXTS[round % TEXTS.len()]).unwrap();
        for _ in 0..=dice.roll(3) {
            damage(&mut module, &mut dice);
        }
        survived += usize::from(follow_through(module.to_string().as_bytes()));
    }
    assert!(survived > ROUNDS / 50, "only {survived} modules stayed valid");
}

#[test]
fn damaged_bytes_never_panic() {
    let mut dice = Dice(7);
    for round in 0..ROUNDS {
        let mut text = TEXTS[round % TEXTS.len()].as_bytes().to_vec();
        for _ in 0..=dice.roll(4) {
            let at = dice.roll(text.len());
            match dice.roll(4) {
                0 => text[at] = dice.roll(256) as u8,
                1 => {
                    text.remove(at);
                }
                2 => text.insert(at, b"{}[]\",:0-e."[dice.roll(11)]),
                _ => {
                    let from = dice.roll(text.len());
                    let piece: Vec<u8> = text[from..(from + 20).min(text.len())].to_vec();
                    text.splice(at..at, piece);
                }
            }
        }
        follow_through(&text);
    }
}

/// Modules per test.
const ROUNDS: usize = 1500;
