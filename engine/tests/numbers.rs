//! Random state, table addresses, calls and dtypes of branches through whole programs.

mod common;

use birsim_engine::{Code, Simulator};
use common::*;
use serde_json::{Value as Json, json};

const SIX: T = T("six", "ExternalOutput", "SB", "uint32", 128, 6);
const MANY: T = T("many", "ExternalOutput", "SB", "uint32", 128, 24);
const RNG: T = T("generator", "Internal", "RNGSTATE", "uint32", 128, 6);
const DRAWS: T = T("draws", "ExternalOutput", "SB", "float32", 2, 4);

fn imm(dtype: &str, value: i64) -> Json {
    json!({"kind": "imm_value", "dtype": dtype, "value": value})
}

fn array(values: &[u32]) -> Json {
    json!({"kind": "imm_array", "dtype": "uint32", "value_array": values})
}

fn set(engine: &str, ins: Json, outs: Json) -> Json {
    inst("set", "SetRandState", engine, json!([ins]), outs, json!({}))
}

fn get(engine: &str, ins: Json, to: &T) -> Json {
    inst("get", "GetRandState", engine, ins, json!([all(to)]), json!({}))
}

/// The first partition's words after the instructions.
fn words(list: Vec<Json>, of: &T) -> Result<Vec<i32>, birsim_engine::Error> {
    let (mut sim, _) = run(&module(vec![RNG.record(), of.record()], list))?;
    Ok(ints(&mut sim, of.0)[..of.5 as usize].to_vec())
}

#[test]
fn item_3_eight_immediate_words_seed_the_first_generation() {
    let seed = array(&[0xFF00_0007, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(
        words(vec![set("Pool", seed, json!([])), get("Pool", json!([]), &SIX)], &SIX).unwrap(),
        [7, 1, 2, 3, 4, 5]
    );
    let e = words(vec![set("Pool", array(&[1, 2]), json!([])), get("Pool", json!([]), &SIX)], &SIX).unwrap_err();
    assert_eq!(e.code(), Code::S008);
}

#[test]
fn item_3_one_number_seeds_the_host_generator() {
    let random = inst("fill", "Memset", "DVE", json!([]), json!([all(&SIX)]), json!({"mode": "Random", "constant": 0}));
    let after = |seed: Option<Json>| {
        let first = seed.map(|s| set("DVE", s, json!([])));
        words(first.into_iter().chain([random.clone()]).collect(), &SIX).unwrap()
    };
    let seven = after(Some(imm("uint32", 7)));
    assert_eq!(seven, after(Some(array(&[7]))), "a number and an array of one");
    assert_ne!(seven, after(None));
    assert_ne!(seven, after(Some(imm("uint32", 8))));
    let refused = |engine, seed| words(vec![set(engine, seed, json!([]))], &SIX).unwrap_err().code();
    assert_eq!(refused("Pool", imm("uint32", 7)), Code::S008);
    assert_eq!(refused("DVE", array(&[1; 8])), Code::S008);
}

#[test]
fn item_3_locations_of_generator_state_are_read_and_written() {
    let seed = array(&[9, 1, 2, 3, 4, 5, 6, 7]);
    // The output of the setting instruction and the input of the reading one name the generator.
    let list = vec![set("Pool", seed, json!([all(&RNG)])), get("Pool", json!([all(&RNG)]), &SIX)];
    assert_eq!(words(list.clone(), &SIX).unwrap(), [9, 1, 2, 3, 4, 5]);
    let copy = inst("copy", "TensorCopy", "Pool", json!([all(&RNG)]), json!([all(&SIX)]), json!({}));
    assert_eq!(words(vec![list[0].clone(), copy], &SIX).unwrap(), [9, 1, 2, 3, 4, 5]);
    let elsewhere = vec![get("Pool", json!([all(&SIX)]), &SIX)];
    assert_eq!(words(elsewhere, &SIX).unwrap_err().code(), Code::S008);
}

#[test]
fn item_3_state_tensors_hold_words() {
    const FLOATS: T = T("floats", "ExternalInput", "SB", "float32", 128, 24);
    let list = vec![inst("set", "RandSetState", "DVE", json!([all(&FLOATS)]), json!([]), json!({}))];
    let mut sim = loaded(Simulator::builder(), &module(vec![FLOATS.record(), MANY.record()], list)).unwrap();
    bind(&mut sim, "floats", &[1.0; 128 * 24]);
    assert_eq!(sim.run().unwrap_err().code(), Code::S007);
}

#[test]
fn item_3_rand2_draws_between_0_and_1_unless_told_otherwise() {
    let draws = |ins: Json| {
        let list = vec![inst("draw", "Rand2", "DVE", ins, json!([all(&DRAWS)]), json!({}))];
        let (mut sim, _) = run(&module(vec![DRAWS.record()], list)).unwrap();
        floats(&mut sim, "draws")
    };
    let (zero, one) = (imm("float32", 0), imm("float32", 1));
    assert_eq!(draws(json!([])), draws(json!([zero, one])));
    assert_eq!(draws(json!([zero])), draws(json!([])));
    assert!(draws(json!([])).iter().all(|v| (0.0..1.0).contains(v)));
}

#[test]
fn item_2_a_base_address_in_a_register_or_a_tensor_finds_the_table() {
    const TABLE: T = T("table", "ExternalOutput", "DRAM", "float32", 4, 2);
    const VALUES: T = T("values", "ExternalInput", "DRAM", "float32", 2, 2);
    const INDEX: T = T("index", "ExternalInput", "DRAM", "int32", 2, 1);
    const BASE: T = T("base", "Internal", "DRAM", "uint64", 1, 1);
    let zero = inst("zero", "Memset", "DVE", json!([]), json!([all(&TABLE)]), json!({"mode": "Const", "constant": 0}));
    let second_row = part(&TABLE, 2, &[[2, 1], [1, 1]]);
    let run = |address: Json, storage: Json| {
        let list = vec![
            zero.clone(),
            inst("address", "ReadVarAddr", "DMA", json!([second_row.clone()]), json!([address.clone()]), json!({})),
            inst(
                "add",
                "IndirectSaveAccumulate",
                "DMA",
                json!([all(&INDEX), all(&VALUES), address]),
                json!([all(&TABLE)]),
                json!({"num_indices": 2, "entry_step_elements": 2, "op": "add"}),
            ),
        ];
        let m = module(vec![TABLE.record(), VALUES.record(), INDEX.record(), BASE.record(), storage], list);
        let mut sim = loaded(Simulator::builder(), &m).unwrap();
        bind(&mut sim, "values", &[1.0, 2.0, 3.0, 4.0]);
        sim.bind("index", &[0, 0, 0, 0, 1, 0, 0, 0]).unwrap();
        sim.run().unwrap();
        floats(&mut sim, "table")
    };
    let mut wide = register("r");
    wide["dtype"] = json!("uint64");
    wide["numPhysicalRegs"] = json!(2);
    let mut named = reg("r");
    named["dtype"] = json!("uint64");
    let want = [0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 0.0];
    assert_eq!(run(all(&BASE), register("unused")), want);
    assert_eq!(run(named, wide), want);
}

#[test]
fn item_5_a_call_without_a_target_does_nothing() {
    let one = inst("one", "Memset", "DVE", json!([]), json!([all(&DRAWS)]), json!({"mode": "Const", "constant": 1}));
    let call = inst("call", "Call", "ALL", json!([]), json!([]), json!({}));
    let (mut sim, _) = run(&module(vec![DRAWS.record()], vec![call, one])).unwrap();
    assert_eq!(sim.output("draws").unwrap().len(), 32);
}

#[test]
fn item_5_an_nki_kernel_without_a_function_reports_250() {
    let kernel = inst("k", "NKIKernel", "ALL", json!([]), json!([]), json!({}));
    let e = run(&module(vec![DRAWS.record()], vec![kernel])).map(|_| ()).unwrap_err();
    assert!(e.code() == Code::J003 && e.what().contains("250"), "{}", e.what());
}

#[test]
fn item_5_messages_say_what_is_true() {
    const A: T = T("a", "ExternalInput", "SB", "float32", 40, 32);
    const B: T = T("b", "ExternalOutput", "SB", "float32", 40, 32);
    const C: T = T("c", "ExternalOutput", "SB", "float32", 40, 31);
    let error = |opcode: &str, engine: &str, to: &T| {
        let list = vec![inst("i", opcode, engine, json!([all(&A)]), json!([all(to)]), json!({}))];
        let mut sim = loaded(Simulator::builder(), &module(vec![A.record(), to.record()], list)).unwrap();
        bind(&mut sim, "a", &[1.0; 40 * 32]);
        sim.run().unwrap_err()
    };
    let e = error("StreamTranspose", "DVE", &B);
    assert_eq!(
        (e.code(), e.what()),
        (Code::S002, "StreamTranspose turns tiles of 32 x 32, and turned ones leave the result")
    );
    assert_eq!(e.received_value(), Some("tiles of 40 x 32 reach 64 x 32, the result has 40 x 32"));
    assert_eq!(error("TensorCopy", "DVE", &C).what(), "a copy writes as many elements as it reads");
    assert_eq!(error("DMACopy", "DMA", &C).what(), "DMA Copy in/out shape must match: the element counts differ");
}
