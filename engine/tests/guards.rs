//! Rules of the memories: PSUM banks, capacity, accumulation groups, tensor maps.

mod common;

use birsim_engine::{Code, MemMode, Remark, Simulator, TensorMap};
use birsim_kernels::Profile;
use common::*;
use serde_json::{Value as Json, json};

const A: T = T("a", "ExternalInput", "DRAM", "float32", 1, 1);
const W: T = T("w", "Internal", "PSUM", "float32", 1, 1024);
const O: T = T("o", "ExternalOutput", "DRAM", "float32", 1, 1024);

fn copy(name: &str, from: Json, to: Json) -> Json {
    inst(name, "DMACopy", "DMA", json!([from]), json!([to]), json!({}))
}

#[test]
fn d47_a_pattern_stays_in_one_psum_bank() {
    let window =
        |at: i64, n: i64| vec![copy("c", part(&W, at, &[[1024, 1], [1, n]]), part(&O, at, &[[1024, 1], [1, n]]))];
    let storage = || vec![W.record(), O.record()];
    for (at, n) in [(0, 512), (512, 512), (511, 1)] {
        assert!(run(&module(storage(), window(at, n))).is_ok(), "{at} {n}");
    }
    for (at, n, bytes) in [(0, 513, "bytes 0..2052"), (511, 2, "bytes 2044..2052"), (0, 1024, "bytes 0..4096")] {
        let e = run(&module(storage(), window(at, n))).err().unwrap();
        assert_eq!(e.code(), Code::S015);
        assert_eq!(e.received_value(), Some(format!("{bytes} of a partition").as_str()));
        assert_eq!((e.place().operand.as_deref(), e.place().tensor.as_deref()), (Some("ins[0]"), Some("w")));
    }
    // A placed tensor that starts inside a bank ends with it.
    let mut placed = W.record();
    placed["tensor_shape"] = json!([1, 512]);
    placed["memorylocations"][0] = json!({"Skind": "memory_location", "name": "w", "type": "PSUM", "dims": [1, 2048],
        "addr": 1024, "base": 0, "bank": 0, "allocated": true, "tensor_id": 0});
    for (n, fits) in [(256, true), (257, false)] {
        let list = vec![copy("c", part(&W, 0, &[[512, 1], [1, n]]), part(&O, 0, &[[1024, 1], [1, n]]))];
        for mode in [MemMode::Symbolic, MemMode::Physical] {
            let m = module(vec![placed.clone(), O.record()], list.clone());
            let outcome = loaded(Simulator::builder().mem_mode(mode), &m).and_then(|mut s| s.run());
            assert_eq!(outcome.is_ok(), fits, "{n} {mode:?}");
        }
    }
}

#[test]
fn fault_34_a_capacity_error_lists_the_live_tensors() {
    let tensor = |name: &'static str, addr: u64, bytes: u64| {
        let mut r = T(name, "Internal", "SB", "uint8", 128, bytes).record();
        r["memorylocations"][0]["addr"] = json!(addr);
        r["memorylocations"][0]["allocated"] = json!(true);
        r
    };
    let program = |last: u64| {
        let mut m = module(vec![tensor("x", 0, 1024), tensor("y", 1024, 2048), tensor("z", 3072, last)], vec![]);
        // 192 KiB per partition.
        m["arch"] = json!("sunda");
        m
    };
    assert!(run(&program(196_608 - 3072)).is_ok());
    let e = run(&program(196_608 - 3072 + 1)).err().unwrap();
    assert_eq!((e.code(), e.place().tensor.as_deref()), (Code::S018, Some("z")));
    assert_eq!(
        e.received_value(),
        Some(
            "partitions 0..128, bytes 3072..196609; live tensors (3072 bytes per partition): y 2048 bytes at 1024, \
             x 1024 bytes at 0"
        )
    );
}

#[test]
fn alignment_rules_hold_when_asked_for() {
    let program = |ty: &'static str, base: u64, addr: u64| {
        let mut r = T("x", "Internal", ty, "float32", 4, 8).record();
        let l = &mut r["memorylocations"][0];
        (l["base"], l["addr"], l["allocated"]) = (json!(base), json!(addr), json!(true));
        module(vec![r], vec![])
    };
    let load = |strict: bool, m: &Json| loaded(Simulator::builder().strict(strict), m).err();
    for (ty, base, addr, text, value) in [
        ("SB", 33, 0, "an on-chip tensor starts in a partition that is a multiple of 32", "partition 33"),
        ("PSUM", 8, 0, "an on-chip tensor starts in a partition that is a multiple of 32", "partition 8"),
        ("SB", 32, 6, "a tensor of float32 starts at a multiple of 4 bytes", "byte 6"),
        ("DRAM", 0, 2, "a tensor of float32 starts at a multiple of 4 bytes", "byte 2"),
    ] {
        let m = program(ty, base, addr);
        assert!(load(false, &m).is_none(), "{ty} {base} {addr}");
        let e = load(true, &m).unwrap();
        assert_eq!((e.code(), e.what(), e.place().tensor.as_deref()), (Code::S018, text, Some("x")));
        assert_eq!(e.received_value(), Some(format!("{value}; live tensors (0 bytes per partition): none").as_str()));
    }
    for (ty, base, addr) in [("SB", 96, 4), ("PSUM", 64, 2048), ("DRAM", 0, 12)] {
        assert!(load(true, &program(ty, base, addr)).is_none(), "{ty} {base} {addr}");
    }
}

#[test]
fn aliases_and_pointers_are_other_names_of_a_memory() {
    const A: T = T("a", "Internal", "DRAM", "float32", 1, 4);
    const B: T = T("b", "Internal", "DRAM", "float32", 1, 2);
    const O: T = T("o", "ExternalOutput", "DRAM", "float32", 1, 4);
    let fill = |t: &T, bits: u32| {
        inst(t.0, "Memset", "DVE", json!([]), json!([all(t)]), json!({"mode": "Const", "constant": bits}))
    };
    // All of `a` is 1, then `b` is 2; `o` is what `a` holds in the end.
    let result = |key: &str, value: Json| {
        let mut b = B.record();
        b["memorylocations"][0][key] = value;
        let list = vec![fill(&A, 0x3F80_0000), fill(&B, 0x4000_0000), copy("c", all(&A), all(&O))];
        let (mut sim, _) = run(&module(vec![A.record(), b, O.record()], list)).unwrap();
        floats(&mut sim, "o")
    };
    let (one, both) = ([1.0; 4], [2.0, 2.0, 1.0, 1.0]);
    // Bit 1 of the kind says "may", which leaves two memories; 3 says "must".
    assert_eq!(result("alias", json!([["a_set", "a", 3]])), both);
    assert_eq!(result("alias", json!([["a", 3]])), both);
    assert_eq!(result("alias", json!([["a", 1]])), one);
    assert_eq!(result("pointer_ref_memloc", json!("a")), both);
    let mut wide = A.record();
    wide["memorylocations"][0]["alias"] = json!([["b", 3]]);
    let e = run(&module(vec![wide, B.record()], vec![])).err().unwrap();
    assert_eq!((e.code(), e.what()), (Code::J013, "an alias does not fit into the memory it names"));
}

#[test]
fn overlaps_are_real_in_physical_memory_only() {
    const A: T = T("a", "Internal", "SB", "float32", 1, 4);
    const B: T = T("b", "Internal", "SB", "float32", 1, 4);
    const O: T = T("o", "ExternalOutput", "DRAM", "float32", 1, 4);
    let at = |t: &T, addr: u64| {
        let mut r = t.record();
        (r["memorylocations"][0]["addr"], r["memorylocations"][0]["allocated"]) = (json!(addr), json!(true));
        r
    };
    let fill = |t: &T, bits: u32| {
        inst(t.0, "Memset", "DVE", json!([]), json!([all(t)]), json!({"mode": "Const", "constant": bits}))
    };
    let result = |mode: MemMode| {
        let list = vec![fill(&A, 0x3F80_0000), fill(&B, 0x4000_0000), copy("c", all(&A), all(&O))];
        let m = module(vec![at(&A, 0), at(&B, 8), O.record()], list);
        let mut sim = loaded(Simulator::builder().mem_mode(mode), &m).unwrap();
        sim.run().unwrap();
        floats(&mut sim, "o")
    };
    assert_eq!(result(MemMode::Physical), [1.0, 1.0, 2.0, 2.0]);
    assert_eq!(result(MemMode::Auto), [1.0, 1.0, 2.0, 2.0], "every on-chip location is placed");
    assert_eq!(result(MemMode::Symbolic), [1.0; 4]);
}

const I1: T = T("i1", "ExternalInput", "SB", "float32", 1, 2);
const W1: T = T("w1", "ExternalInput", "SB", "float32", 1, 1);
const PS: T = T("ps", "ExternalOutput", "PSUM", "float32", 1, 8);

fn matmul(name: &str, at: i64, flag: u8, region: u8) -> Json {
    inst(
        name,
        "Matmult",
        "PE",
        json!([all(&I1), all(&W1)]),
        json!([part(&PS, at, &[[8, 1], [1, 2]])]),
        json!({"accumulation_flag": flag, "psum_zero_region": region}),
    )
}

fn products(list: Vec<Json>, attributes: Json) -> (Vec<f32>, Vec<String>) {
    products_with(list, attributes, Profile::reference()).unwrap()
}

fn products_with(
    list: Vec<Json>,
    attributes: Json,
    profile: Profile,
) -> Result<(Vec<f32>, Vec<String>), birsim_engine::Error> {
    let mut m = module(vec![I1.record(), W1.record(), PS.record()], list);
    m["functions"][0]["attributes"] = attributes;
    let mut sim = loaded(Simulator::builder().profile(profile), &m)?;
    bind(&mut sim, "i1", &[1.0, 2.0]);
    bind(&mut sim, "w1", &[3.0]);
    let s = sim.run()?;
    let notes =
        s.diagnostics.iter().filter(|d| d.code == Remark::AccumulateUnwritten).map(|d| d.message.clone()).collect();
    Ok((floats(&mut sim, "ps"), notes))
}

fn with(field: &str, value: &str) -> Profile {
    let mut p = Profile::reference();
    p.set(field, value).unwrap();
    p
}

#[test]
fn d17_a_group_head_clears_its_own_elements_or_whole_banks() {
    let list = || vec![matmul("a", 0, 1, 0), matmul("b", 4, 1, 0), matmul("c", 0, 4, 0)];
    let (own, _) = products_with(list(), json!({}), with("psum_clear", "elements")).unwrap();
    assert_eq!((&own[..2], &own[4..6]), (&[6.0, 12.0][..], &[3.0, 6.0][..]));
    let (banks, _) = products_with(list(), json!({}), with("psum_clear", "banks")).unwrap();
    assert_eq!(banks, [3.0, 6.0, 0.0, 0.0, 3.0, 6.0, 0.0, 0.0], "the second head wiped the first group");
}

#[test]
fn d39_only_the_matmul_family_sets_the_accumulate_mark() {
    // A Memset writes the elements but leaves no mark, so the product that accumulates is written as it is.
    let fill =
        inst("f", "Memset", "DVE", json!([]), json!([all(&PS)]), json!({"mode": "Const", "constant": 0x4120_0000}));
    let (got, notes) = products(vec![fill.clone(), matmul("m", 0, 4, 0)], json!({}));
    assert_eq!(got, [3.0, 6.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0]);
    assert_eq!(notes.len(), 1);
    // A mark stays when another instruction overwrites the element: the product is added to what it wrote.
    let (got, notes) = products(vec![matmul("a", 0, 1, 0), fill, matmul("m", 0, 4, 0)], json!({}));
    assert_eq!(got[..3], [13.0, 16.0, 10.0]);
    assert!(notes.is_empty());
}

#[test]
fn a_matmul_without_flags_overwrites_or_adds() {
    let list = || vec![matmul("a", 0, 1, 0), matmul("b", 0, 0, 0)];
    assert_eq!(products_with(list(), json!({}), with("psum_idle", "overwrite")).unwrap().0[..2], [3.0, 6.0]);
    assert_eq!(products_with(list(), json!({}), with("psum_idle", "add")).unwrap().0[..2], [6.0, 12.0]);
}

#[test]
fn d33_hints_on_constant_operands_are_ignored_or_refused() {
    for key in ["is_fmap_onezero", "is_weight_onezero"] {
        let mut m = matmul("a", 0, 1, 0);
        m[key] = json!(true);
        let ignored = products_with(vec![m.clone()], json!({}), with("matmul_one_zero", "ignore")).unwrap();
        assert_eq!(ignored.0[..2], [3.0, 6.0]);
        let e = products_with(vec![m], json!({}), with("matmul_one_zero", "refuse")).unwrap_err();
        assert_eq!(e.code(), Code::U002, "{key}");
    }
    assert!(products_with(vec![matmul("a", 0, 1, 0)], json!({}), with("matmul_one_zero", "refuse")).is_ok());
}

#[test]
fn d47_psum_patterns_across_banks_are_refused_or_allowed() {
    let list = vec![copy("c", part(&W, 0, &[[1024, 1], [1, 1024]]), all(&O))];
    let m = module(vec![W.record(), O.record()], list);
    let go = |value: &str| {
        let mut sim = loaded(Simulator::builder().profile(with("psum_multibank", value)), &m)?;
        sim.run().map(|_| ())
    };
    assert_eq!(go("refuse").unwrap_err().code(), Code::S015);
    assert!(go("allow").is_ok());
}

#[test]
fn fault_21_accumulating_into_unwritten_psum_is_told() {
    let (got, notes) = products(vec![matmul("m", 2, 4, 0)], json!({}));
    assert_eq!(got[2..4], [3.0, 6.0]);
    assert_eq!(
        notes,
        ["m accumulates into ps where no matmul has written: bank 0, bytes 8..16; the product is written as it is"]
    );
    let (_, notes) = products(vec![matmul("s", 0, 1, 0), matmul("m", 1, 4, 0)], json!({}));
    assert_eq!(notes.len(), 1, "one of two elements is fresh");
    assert!(notes[0].contains("bytes 8..12"), "{}", notes[0]);
    let (_, notes) = products(vec![matmul("s", 0, 1, 0), matmul("m", 0, 4, 0)], json!({}));
    assert!(notes.is_empty());
}

#[test]
fn d40_a_group_head_clears_its_own_elements_or_the_named_banks() {
    let groups =
        |region| products(vec![matmul("a", 0, 1, 0), matmul("b", 4, 1, region), matmul("c", 0, 4, 0)], json!({})).0;
    let own = groups(0);
    assert_eq!((&own[..2], &own[4..6]), (&[6.0, 12.0][..], &[3.0, 6.0][..]));
    assert!(own[2].is_nan() && own[3].is_nan(), "nothing else was touched");
    // The first group is gone, data and marks, so its third product is written as it is.
    assert_eq!(groups(1), [3.0, 6.0, 0.0, 0.0, 3.0, 6.0, 0.0, 0.0]);
}

#[test]
fn the_attribute_auto_psum_accumulate_overrides_the_flags() {
    let list = || vec![matmul("a", 0, 0, 0), matmul("b", 0, 0, 0)];
    assert_eq!(products(list(), json!({})).0[..2], [3.0, 6.0]);
    let (got, notes) = products(list(), json!({"auto_psum_accumulate": true}));
    assert_eq!(got[..2], [6.0, 12.0]);
    assert!(notes.is_empty());
    assert_eq!(products(list(), json!({"auto_psum_accumulate": false})).0[..2], [3.0, 6.0]);
}

#[test]
fn a_tensor_map_places_tensors() {
    const S: T = T("s", "Internal", "SB", "float32", 1, 1);
    const R: T = T("r", "Internal", "SB", "float32", 1, 1);
    const V: T = T("v", "ExternalOutput", "DRAM", "float32", 1, 1);
    let program = module(
        vec![A.record(), S.record(), R.record(), V.record()],
        vec![copy("in", all(&A), all(&S)), copy("out", all(&R), all(&V))],
    );
    let go = |map: &str| {
        let builder = Simulator::builder().tensor_map(TensorMap::from_json(map)?);
        let mut sim = loaded(builder, &program)?;
        bind(&mut sim, "a", &[7.0]);
        let s = sim.run()?;
        Ok::<_, birsim_engine::Error>((floats(&mut sim, "v")[0], s.physical))
    };
    // Both at one place: what is written to s is read from r.
    let map =
        r#"{"s": {"partition_offset": 3, "free_offset": 64}, "r_set": {"partition_offset": 3, "free_offset": 64}}"#;
    assert_eq!(go(map).unwrap(), (7.0, true));
    let (value, physical) = go(r#"{"s": {"partition_offset": 3}}"#).unwrap();
    assert!(value.is_nan() && !physical, "an entry with one key places nothing");
    assert!(go(r#"{"s": {"comment": 1}}"#).is_ok(), "other keys are unknown, not wrong");
    assert!(go(r#"{"s_sett": {}}"#).unwrap_err().advice_text().contains("did you mean 's_set'?"));
    for (map, code) in [
        ("[", Code::J001),
        ("[]", Code::J002),
        (r#"{"s": 3}"#, Code::J002),
        (r#"{"s": {"partition_offset": -1, "free_offset": 0}}"#, Code::J011),
        (r#"{"zz": {"partition_offset": 0, "free_offset": 0}}"#, Code::F006),
        (r#"{"zz": {}}"#, Code::F006),
        (r#"{"s": {"partition_ofset": 0, "free_offset": 0}}"#, Code::J006),
    ] {
        assert_eq!(go(map).unwrap_err().code(), code, "{map}");
    }
}
