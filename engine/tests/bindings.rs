//! Instructions whose kernel needs more of the machine than operands: ranks, messages, addresses, run-time offsets.

mod common;

use birsim_engine::{Code, Simulator};
use birsim_kernels::Named;
use common::*;
use serde_json::json;

const X: T = T("x", "ExternalInput", "DRAM", "float32", 2, 3);
const O: T = T("o", "ExternalOutput", "DRAM", "float32", 2, 3);
const VALUES: [f32; 6] = [1.0, -2.0, 3.5, 0.0, 5.0, -6.0];

type Outcome = Result<(Vec<f32>, Vec<&'static str>), birsim_engine::Error>;

fn collective(fields: serde_json::Value) -> Outcome {
    collective_with(Simulator::builder(), fields)
}

fn collective_with(builder: birsim_engine::Builder, fields: serde_json::Value) -> Outcome {
    let i = inst("cc", "CollectiveCompute", "Pool", json!([all(&X)]), json!([all(&O)]), fields);
    let mut sim = loaded(builder, &module(vec![X.record(), O.record()], vec![i]))?;
    bind(&mut sim, "x", &VALUES);
    let summary = sim.run()?;
    Ok((floats(&mut sim, "o"), summary.diagnostics.iter().map(|d| d.code.name()).collect()))
}

#[test]
fn a_collective_over_one_rank_is_an_identity() {
    for kind in ["AllReduce", "ReduceScatter", "AllGather", "AllToAll", "PermuteReduce", "PermuteImplicit"] {
        let (got, notes) = collective(json!({"kind": kind, "op": "max", "replica_groups": [[0]]})).unwrap();
        assert_eq!(got, VALUES, "{kind}");
        assert!(notes.is_empty(), "{kind}: {notes:?}");
    }
    let e = collective(json!({"kind": "AllReduce", "op": "mult", "replica_groups": [[0]]})).unwrap_err();
    assert_eq!((e.code(), e.received_value()), (Code::S006, Some("mult")));
}

#[test]
fn d74_a_lone_worker_stands_in_for_equal_replicas_when_asked() {
    let alone = |fields| collective_with(Simulator::builder().multi_worker_reference(true), fields);
    let (got, notes) = alone(json!({"kind": "AllReduce", "op": "add", "replica_groups": [[0, 1, 2]]})).unwrap();
    assert_eq!(got, VALUES.map(|v| v * 3.0));
    assert_eq!(notes, ["collective-alone"]);
    let (got, _) = alone(json!({"kind": "AllReduce", "op": "min", "replica_groups": [[0, 1]]})).unwrap();
    assert_eq!(got, VALUES);
    let (got, _) = alone(json!({"kind": "AllReduce", "op": "add", "replica_groups": [[1], [2]]})).unwrap();
    assert!(got.iter().all(|v| v.is_nan()), "a rank outside all groups takes no part");
    for fields in [
        json!({"kind": "AllReduce", "op": "add", "replica_groups": [[0, 1, 2]]}),
        json!({"kind": "AllGather", "replica_groups": [[0, 1, 2]]}),
    ] {
        let e = collective(fields).unwrap_err();
        assert_eq!((e.code(), e.place().operand.as_deref()), (Code::U002, Some("replica_groups")));
        assert_eq!(e.received_value(), Some("ranks [1, 2], 1 in the run"));
    }
}

#[test]
fn d69_who_is_in_no_pair_takes_no_part() {
    let (got, _) = collective(json!({"kind": "Permute"})).unwrap();
    assert!(got.iter().all(|v| v.is_nan()), "the output is untouched");
    let pairs = json!({"kind": "Permute", "replica_groups": [[0]], "src_target_pairs": [[1, 0]]});
    let e = collective(pairs).unwrap_err();
    assert_eq!((e.code(), e.received_value()), (Code::U002, Some("rank [1], 1 in the run")));
}

#[test]
fn messages_to_the_own_rank_arrive_in_order() {
    const Y: T = T("y", "ExternalInput", "DRAM", "float32", 2, 3);
    const P: T = T("p", "ExternalOutput", "DRAM", "float32", 1, 6);
    let send = |n: &str, t: &T, peer: u32| {
        inst(n, "CollectiveSend", "DMA", json!([all(t)]), json!([]), json!({"peer_id": peer}))
    };
    let recv = |n: &str, t: &T, peer: u32| {
        inst(n, "CollectiveRecv", "DMA", json!([]), json!([all(t)]), json!({"peer_id": peer}))
    };
    let storage = || vec![X.record(), Y.record(), O.record(), P.record()];
    let program = module(storage(), vec![send("a", &X, 0), send("b", &Y, 0), recv("c", &O, 0), recv("d", &P, 0)]);
    let mut sim = loaded(Simulator::builder(), &program).unwrap();
    bind(&mut sim, "x", &VALUES);
    bind(&mut sim, "y", &[9.0; 6]);
    sim.run().unwrap();
    assert_eq!(floats(&mut sim, "o"), VALUES);
    assert_eq!(floats(&mut sim, "p"), [9.0; 6]);

    let e = run(&module(storage(), vec![recv("c", &O, 0)])).err().unwrap();
    assert_eq!((e.code(), e.what()), (Code::S003, "c (CollectiveRecv) waits for a message of rank 0"));
    for i in [send("a", &X, 1), recv("c", &O, 1)] {
        let e = run(&module(storage(), vec![i])).err().unwrap();
        assert_eq!(
            (e.code(), e.received_value(), e.place().operand.as_deref()),
            (Code::U002, Some("rank [1], 1 in the run"), Some("peer_id"))
        );
    }
}

#[test]
fn the_partner_exchange_needs_a_second_core() {
    let i = inst("g", "GPSIMDSB2SB", "Pool", json!([all(&X)]), json!([all(&O)]), json!({}));
    assert_eq!(run(&module(vec![X.record(), O.record()], vec![i])).err().unwrap().code(), Code::U002);
}

#[test]
fn ranks_go_to_registers_and_tensors() {
    const R: T = T("r", "ExternalOutput", "DRAM", "int32", 1, 1);
    let storage = || vec![R.record(), register("k")];
    let ring = |core: u32, iteration: u32| {
        let fields = json!({"iter_id": iteration, "channel_id": 0, "replica_groups": [[5, 3, 8]]});
        let list = vec![
            inst("q", "GetCurProcessingRankID", "ALL", json!([]), json!([reg("k")]), fields),
            inst("s", "TensorSave", "ALL", json!([reg("k")]), json!([all(&R)]), json!({})),
        ];
        let mut sim = loaded(Simulator::builder().core(core), &module(storage(), list)).unwrap();
        sim.run()?;
        Ok::<_, birsim_engine::Error>(ints(&mut sim, "r")[0])
    };
    assert_eq!([ring(3, 0).unwrap(), ring(3, 1).unwrap(), ring(3, 2).unwrap(), ring(3, 3).unwrap()], [3, 5, 8, 3]);
    assert_eq!(ring(4, 0).unwrap_err().code(), Code::S008);

    let rank = |core: u32, world: u32| {
        let i = inst("g", "GetGlobalRankId", "ALL", json!([]), json!([all(&R)]), json!({"world_size": world}));
        let mut sim = loaded(Simulator::builder().core(core), &module(storage(), vec![i])).unwrap();
        sim.run()?;
        Ok::<_, birsim_engine::Error>(ints(&mut sim, "r")[0])
    };
    assert_eq!((rank(0, 1).unwrap(), rank(6, 8).unwrap()), (0, 6));
    assert_eq!(rank(8, 8).unwrap_err().received_value(), Some("rank 8 of 8"));
}

#[test]
fn read_var_addr_gives_byte_addresses() {
    const A: T = T("a", "ExternalOutput", "DRAM", "int64", 1, 1);
    let mut x = X.record();
    x["memorylocations"][0]["addr"] = json!(4096);
    let read = |out: &T| {
        inst("v", "ReadVarAddr", "DMA", json!([part(&X, 4, &[[3, 1], [1, 2]])]), json!([all(out)]), json!({}))
    };
    let program = module(vec![x.clone(), A.record()], vec![read(&A)]);
    let (mut sim, _) = run(&program).unwrap();
    assert_eq!(i64::from_le_bytes(sim.output("a").unwrap().try_into().unwrap()), 4096 + 16);

    // An address that an indirect instruction takes carries the bias it will subtract.
    const Y: T = T("y", "ExternalOutput", "DRAM", "float32", 1, 2);
    let load =
        inst("l", "IndirectLoad", "DMA", json!([part(&X, 0, &[[3, 1], [1, 2]]), all(&A)]), json!([all(&Y)]), json!({}));
    let program = module(vec![x, A.record(), Y.record()], vec![read(&A), load]);
    let mut sim = loaded(Simulator::builder(), &program).unwrap();
    bind(&mut sim, "x", &VALUES);
    sim.run().unwrap();
    assert_eq!(i64::from_le_bytes(sim.output("a").unwrap().try_into().unwrap()), 0x1_0000_0000 + 4096 + 16);
    assert_eq!(floats(&mut sim, "y"), VALUES[4..6]);
}

#[test]
fn tensor_copy_dynamic_moves_one_side() {
    const N: T = T("n", "ExternalInput", "DRAM", "int32", 1, 1);
    const Z: T = T("z", "ExternalOutput", "DRAM", "float32", 1, 2);
    let program = |opcode: &str, src, dst, offset: serde_json::Value, scale: i64| {
        let load = inst("n0", "TensorLoad", "ALL", json!([all(&N)]), json!([reg("k")]), json!({}));
        let copy = inst("c", opcode, "Pool", json!([src, offset]), json!([dst]), json!({"scale": scale}));
        module(vec![X.record(), O.record(), N.record(), Z.record(), register("k")], vec![load, copy])
    };
    let go = |m: &serde_json::Value, n: i32| {
        let mut sim = loaded(Simulator::builder(), m)?;
        bind(&mut sim, "x", &VALUES);
        sim.bind("n", &n.to_le_bytes())?;
        sim.run()?;
        Ok::<_, birsim_engine::Error>(sim)
    };
    let two = |t: &T, offset| part(t, offset, &[[2, 1], [1, 2]]);
    for offset in [reg("k"), all(&N)] {
        let m = program("TensorCopyDynamicSrc", two(&X, 1), two(&Z, 0), offset, 3);
        assert_eq!(floats(&mut go(&m, 1).unwrap(), "z"), VALUES[4..6]);
        let e = go(&m, 2).err().unwrap();
        assert_eq!(
            (e.code(), e.place().operand.as_deref(), e.place().tensor.as_deref()),
            (Code::S001, Some("ins[0]"), Some("x"))
        );
    }
    let m = program("TensorCopyDynamicDst", two(&X, 0), two(&O, 0), reg("k"), 2);
    let got = floats(&mut go(&m, 2).unwrap(), "o");
    assert_eq!(got[4..6], VALUES[0..2]);
    assert!(got[..4].iter().all(|v| v.is_nan()));
    let immediate = json!({"kind": "imm_value", "dtype": "int32", "value": -1});
    let m = program("TensorCopyDynamicSrc", two(&X, 4), two(&Z, 0), immediate, 2);
    assert_eq!(floats(&mut go(&m, 0).unwrap(), "z"), VALUES[2..4]);
}

#[test]
fn device_print_is_collected() {
    const W: T = T("w", "ExternalInput", "DRAM", "float32", 40, 50);
    let print = |n: &str, t: &T, fields| inst(n, "DevicePrint", "Pool", json!([all(t)]), json!([]), fields);
    let list = vec![print("a", &X, json!({"prefix": "x is"})), print("b", &W, json!({"output_buffer": "stderr"}))];
    let mut sim = loaded(Simulator::builder(), &module(vec![X.record(), W.record()], list)).unwrap();
    bind(&mut sim, "x", &VALUES);
    bind(&mut sim, "w", &(0..2000).map(|i| i as f32).collect::<Vec<_>>());
    let summary = sim.run().unwrap();
    assert_eq!(summary.prints[0].text, "x is float32 [2 x 3]\n  1 -2 3.5\n  0 5 -6");
    assert!(!summary.prints[0].stderr && summary.prints[1].stderr);
    let lines: Vec<&str> = summary.prints[1].text.lines().collect();
    assert_eq!((lines.len(), lines[1], lines[4]), (8, "  0 1 2 ... 47 48 49", "  ..."));
}

#[test]
fn d10_random_state_of_pool_is_the_first_generation() {
    const S: T = T("s", "ExternalInput", "DRAM", "uint32", 2, 6);
    const G: T = T("g", "ExternalOutput", "DRAM", "uint32", 2, 6);
    let list = |engine: &str| {
        vec![
            inst("a", "RandSetState", engine, json!([all(&S)]), json!([]), json!({})),
            inst("b", "RandGetState", engine, json!([]), json!([all(&G)]), json!({})),
        ]
    };
    let words: Vec<u8> = (1..=12u32).flat_map(u32::to_le_bytes).collect();
    let go = |engine: &str| {
        let mut sim = loaded(Simulator::builder(), &module(vec![S.record(), G.record()], list(engine))).unwrap();
        sim.bind("s", &words).unwrap();
        sim.run().map(|_| sim.output("g").unwrap())
    };
    assert_eq!(go("Pool").unwrap(), words);
    assert_eq!(go("DVE").unwrap_err().code(), Code::S008, "six words are no state of the second generation");
}

#[test]
fn tonga_reduce_overwrites_in_the_first_iteration() {
    let fold = |first: bool| {
        let body = inst(
            "t",
            "TongaReduceMacroSymbolic",
            "DVE",
            json!([all(&X)]),
            json!([all(&O)]),
            json!({"op": "add", "is_first_reduce": first, "reduce_axes": ["i"]}),
        );
        let fill =
            inst("m", "Memset", "DVE", json!([]), json!([all(&O)]), json!({"mode": "Const", "constant": 0x41200000}));
        let l = json!({"name": "l", "opcode": "Loop", "engine": "ALL", "ins": [], "outs": [],
            "LoopAxis": {"name": "i", "lb": 2, "ub": 5, "stride": 1},
            "blocks": [{"name": "body", "instructions": [body]}]});
        let mut sim = loaded(Simulator::builder(), &module(vec![X.record(), O.record()], vec![fill, l])).unwrap();
        bind(&mut sim, "x", &VALUES);
        sim.run().unwrap();
        floats(&mut sim, "o")
    };
    assert_eq!(fold(true), VALUES.map(|v| v * 3.0));
    assert_eq!(fold(false), VALUES.map(|v| 10.0 + v * 3.0));
}

#[test]
fn a_vector_offset_takes_its_coefficient_from_the_index_term() {
    const TABLE: T = T("t", "ExternalInput", "DRAM", "float32", 4, 3);
    const IDX: T = T("i", "ExternalInput", "DRAM", "int32", 2, 1);
    let go = |info: serde_json::Value, ap: &[[i64; 2]]| {
        let mut src = part(&TABLE, 0, ap);
        src["dynamic_ap_info"] = info;
        let mut copy = inst("c", "DMACopy", "DMA", json!([src]), json!([all(&O)]), json!({}));
        copy["indirection_ins"] = json!([all(&IDX)]);
        let storage = vec![TABLE.record(), IDX.record(), O.record()];
        let mut sim = loaded(Simulator::builder(), &module(storage, vec![copy])).unwrap();
        bind(&mut sim, "t", &(0..12).map(|i| i as f32).collect::<Vec<_>>());
        let idx: Vec<u8> = [3i32, 1].iter().flat_map(|i| i.to_le_bytes()).collect();
        sim.bind("i", &idx).unwrap();
        sim.run().map(|_| floats(&mut sim, "o"))
    };
    let arg = json!({"kind": "IndirectArgId", "arg_id": 0});
    let term = json!({"aff_expr": [[arg, 3]], "indirect_dim": "W", "indirect_dim_max_index": 4, "c": 0});
    // The pattern's own step says 1; the term's coefficient rules.
    assert_eq!(go(term.clone(), &[[1, 2], [1, 3]]).unwrap(), [9.0, 10.0, 11.0, 3.0, 4.0, 5.0]);
    let plain = json!({"offset_expr": arg, "indirect_dim": "W", "indirect_dim_max_index": 4, "c": 0});
    assert_eq!(go(plain, &[[3, 2], [1, 3]]).unwrap(), [9.0, 10.0, 11.0, 3.0, 4.0, 5.0]);
    let mut small = term;
    small["indirect_dim_max_index"] = json!(3);
    assert_eq!(go(small, &[[1, 2], [1, 3]]).unwrap_err().code(), Code::S014);
}

#[test]
fn fault_22_a_loop_body_does_not_write_its_induction_variable() {
    let program = |target: &str, registers: serde_json::Value| {
        let one = json!({"kind": "imm_value", "dtype": "int32", "value": 1});
        let write = inst("w", "RegisterMove", "ALL", json!([one]), json!([reg(target)]), json!({}));
        let l = json!({"name": "l", "opcode": "Loop", "engine": "ALL", "ins": [], "outs": [], "registers": registers,
            "LoopAxis": {"name": "i", "lb": 0, "ub": 2, "stride": 1},
            "blocks": [{"name": "body", "instructions": [write]}]});
        module(vec![register("i"), register("k")], vec![l])
    };
    for (target, registers) in [("i", json!([])), ("k", json!(["k"]))] {
        let e = run(&program(target, registers)).err().unwrap();
        assert_eq!((e.code(), e.received_value()), (Code::S012, Some(target)));
        assert_eq!(e.place().instruction.as_deref(), Some("w"));
    }
    assert!(run(&program("k", json!([]))).is_ok());
}

#[test]
fn d10_the_generation_of_a_state_is_named_by_the_key_or_by_the_engine() {
    // Six words fit generation 1, 24 generation 2. rng_engine says DVE, the instruction's own engine is Pool.
    for (value, words, fits) in
        [("rng_engine", 24, true), ("rng_engine", 6, false), ("engine", 6, true), ("engine", 24, false)]
    {
        let s = T("s", "ExternalInput", "SB", "uint32", 1, words);
        let i = inst("i", "SetRandState", "Pool", json!([all(&s)]), json!([]), json!({"rng_engine": "DVE"}));
        let mut p = birsim_kernels::Profile::reference();
        p.set("rand_generation", value).unwrap();
        let mut sim = loaded(Simulator::builder().profile(p), &module(vec![s.record()], vec![i])).unwrap();
        sim.bind("s", &vec![1; words as usize * 4]).unwrap();
        assert_eq!(sim.run().is_ok(), fits, "{value} {words}");
    }
}

#[test]
fn d31_98_restores_a_state_and_99_saves_it() {
    use birsim_engine::ir::Opcode;
    assert_eq!((Opcode::RandSetState.ordinal(), Opcode::RandGetState.ordinal()), (98, 99));
    const S: T = T("s", "ExternalInput", "SB", "uint32", 1, 6);
    const G: T = T("g", "ExternalOutput", "SB", "uint32", 1, 6);
    let list = vec![
        inst("set", "RandSetState", "Pool", json!([all(&S)]), json!([]), json!({})),
        inst("get", "RandGetState", "Pool", json!([]), json!([all(&G)]), json!({})),
    ];
    let mut sim = loaded(Simulator::builder(), &module(vec![S.record(), G.record()], list)).unwrap();
    let bytes: Vec<u8> = (1..=24).collect();
    sim.bind("s", &bytes).unwrap();
    sim.run().unwrap();
    assert_eq!(sim.output("g").unwrap(), bytes);
}
