//! Single values through whole programs: PSUM groups, overlapping windows, views, loops.

mod common;

use birsim_engine::{Code, Simulator};
use common::*;
use serde_json::{Value as Json, json};

const ONES: T = T("ones", "ExternalInput", "SB", "float32", 128, 500);
const W: T = T("w", "ExternalInput", "SB", "float32", 128, 1);
const PS: T = T("ps", "ExternalOutput", "PSUM", "float32", 1, 512);
const WIDE: T = T("wide", "ExternalOutput", "PSUM", "float32", 1, 1024);

fn matmul(name: &str, ifmap: Json, weights: Json, to: Json, flag: u8) -> Json {
    inst(name, "Matmult", "PE", json!([ifmap, weights]), json!([to]), json!({"accumulation_flag": flag}))
}

fn conv(target: &T, shifts: [i64; 3], flags: [u8; 3]) -> Result<Vec<f32>, birsim_engine::Error> {
    let pitch = target.5 as i64;
    let list = (0..3)
        .map(|k| {
            let to = part(target, shifts[k], &[[pitch, 1], [1, 500]]);
            matmul(&format!("m{k}"), all(&ONES), all(&W), to, flags[k])
        })
        .collect();
    let mut sim = loaded(Simulator::builder(), &module(vec![ONES.record(), W.record(), target.record()], list))?;
    bind(&mut sim, "ones", &vec![1.0; 128 * 500]);
    bind(&mut sim, "w", &[1.0; 128]);
    sim.run()?;
    Ok(floats(&mut sim, target.0))
}

#[test]
fn fault_07_three_matmuls_into_overlapping_windows_add_up() {
    let want: Vec<f32> = (0..502).map(|c: i32| 128.0 * (c + 1).min(3).min(502 - c) as f32).collect();
    // Every one accumulates, or the first one overwrites, or heads a group.
    for flags in [[4, 4, 4], [0, 4, 4], [1, 4, 6]] {
        let got = conv(&PS, [0, 1, 2], flags).unwrap();
        assert_eq!(got[..502], want, "{flags:?}");
        assert!(got[502..].iter().all(|v| v.is_nan()), "the rest is untouched");
    }
    // The last window would reach column 513: refused, as it crosses the bank.
    assert_eq!(conv(&WIDE, [0, 1, 14], [1, 4, 6]).unwrap_err().code(), Code::S015);
    assert!(conv(&WIDE, [0, 1, 12], [1, 4, 6]).is_ok());
}

#[test]
fn a_group_of_2_to_24_and_two_ones_ends_at_16777218() {
    const A: T = T("a", "ExternalInput", "SB", "float32", 1, 1);
    const B: T = T("b", "ExternalInput", "SB", "float32", 2, 1);
    const O: T = T("o", "ExternalOutput", "PSUM", "float32", 1, 1);
    let list = vec![matmul("head", all(&A), all(&A), all(&O), 1), matmul("tail", all(&B), all(&B), all(&O), 6)];
    let mut sim = loaded(Simulator::builder(), &module(vec![A.record(), B.record(), O.record()], list)).unwrap();
    bind(&mut sim, "a", &[4096.0]);
    bind(&mut sim, "b", &[1.0, 1.0]);
    sim.run().unwrap();
    assert_eq!(floats(&mut sim, "o"), [16_777_218.0]);
}

#[test]
fn d18_interleaved_groups_in_one_bank_do_not_disturb_each_other() {
    const A: T = T("a", "ExternalInput", "SB", "float32", 1, 4);
    const B: T = T("b", "ExternalInput", "SB", "float32", 1, 1);
    const O: T = T("o", "ExternalOutput", "PSUM", "float32", 1, 16);
    let to = |at: i64| part(&O, at, &[[16, 1], [2, 4]]);
    // Even and odd columns, their heads and bodies in turns.
    let step = |n: &str, at, flag| matmul(n, all(&A), all(&B), to(at), flag);
    let list = vec![step("h0", 0, 1), step("h1", 1, 1), step("b0", 0, 4), step("b1", 1, 4), step("t0", 0, 6)];
    let mut sim = loaded(Simulator::builder(), &module(vec![A.record(), B.record(), O.record()], list)).unwrap();
    bind(&mut sim, "a", &[1.0, 2.0, 3.0, 4.0]);
    bind(&mut sim, "b", &[10.0]);
    sim.run().unwrap();
    assert_eq!(floats(&mut sim, "o")[..8], [30.0, 20.0, 60.0, 40.0, 90.0, 60.0, 120.0, 80.0]);
}

#[test]
fn fault_57_every_trip_writes_its_own_slice_once() {
    for trips in [1u64, 2, 3, 4, 5] {
        let x = T("x", "ExternalOutput", "SB", "float32", 2, 8 * trips);
        let clear = inst("z", "Memset", "DVE", json!([]), json!([all(&x)]), json!({"mode": "Const", "constant": 0}));
        let pitch = 8 * trips as i64;
        let zero = json!({"kind": "AffExprKind", "terms": [], "c": 0});
        let offset =
            json!({"kind": "AffExprKind", "terms": [{"idx": {"kind": "AffIVKind", "axis": "i"}, "coeff": 8}], "c": 0});
        let slice = json!({"kind": "symbolic_ap", "dtype": "float32", "memsetref": "x_set", "addrs": [zero, offset],
            "ap": [[pitch, 2], [1, 8]], "access_shape": [2, 8]});
        let add = inst(
            "a",
            "TensorScalar",
            "DVE",
            json!([slice]),
            json!([slice]),
            json!({"op0": "add", "const0": 1.0, "reverse0": false, "op1": "bypass", "const1": 0.0, "reverse1": false}),
        );
        let l = json!({"name": "l", "opcode": "Loop", "engine": "ALL", "ins": [], "outs": [],
            "LoopAxis": {"name": "i", "lb": 0, "ub": trips, "stride": 1},
            "blocks": [{"name": "body", "instructions": [add]}]});
        let (mut sim, _) = run(&module(vec![x.record()], vec![clear, l])).unwrap();
        assert_eq!(floats(&mut sim, "x"), vec![1.0; 16 * trips as usize], "{trips} trips");
    }
}

#[test]
fn fault_77_a_single_element_moves_between_views_of_any_rank() {
    const A: T = T("a", "ExternalInput", "DRAM", "float32", 1, 1);
    const S: T = T("s", "Internal", "SB", "float32", 1, 1);
    const O: T = T("o", "ExternalOutput", "DRAM", "float32", 1, 1);
    let shapes: [&[[i64; 2]]; 4] = [&[[1, 1]], &[[1, 1], [1, 1]], &[[0, 1], [5, 1]], &[[1, 1], [1, 1], [1, 1], [1, 1]]];
    for (from, to) in shapes.iter().flat_map(|a| shapes.map(|b| (*a, b))) {
        // The semaphore is set before the destination's tensor is first used.
        let mut first = inst("c", "DMACopy", "DMA", json!([part(&A, 0, from)]), json!([part(&S, 0, to)]), json!({}));
        first["sync_info"] = json!({"on_update": [{"id": 3, "value": 16}]});
        let mut second =
            inst("d", "TensorCopy", "DVE", json!([part(&S, 0, to)]), json!([part(&O, 0, from)]), json!({}));
        second["sync_info"] = json!({"on_wait": [{"id": 3, "value": 16}]});
        let m = module(vec![A.record(), S.record(), O.record()], vec![first, second]);
        let mut sim = loaded(Simulator::builder(), &m).unwrap();
        bind(&mut sim, "a", &[1.0]);
        sim.run().unwrap();
        assert_eq!(floats(&mut sim, "o"), [1.0], "{from:?} to {to:?}");
    }
}

#[test]
fn int32_0x01000001_survives_every_copying_opcode() {
    const A: T = T("a", "ExternalInput", "DRAM", "int32", 32, 32);
    const S: T = T("s", "Internal", "SB", "int32", 32, 32);
    const R: T = T("r", "Internal", "SB", "int32", 32, 32);
    const O: T = T("o", "ExternalOutput", "DRAM", "int32", 32, 32);
    let one = |opcode: &str, engine: &str, fields: Json| {
        let list = vec![
            inst("in", "Load", "DMA", json!([all(&A)]), json!([all(&S)]), json!({})),
            inst("x", opcode, engine, json!([all(&S)]), json!([all(&R)]), fields),
            inst("out", "Save", "DMA", json!([all(&R)]), json!([all(&O)]), json!({})),
        ];
        let m = module(vec![A.record(), S.record(), R.record(), O.record()], list);
        let mut sim = loaded(Simulator::builder(), &m).unwrap();
        let bytes: Vec<u8> = [0x0100_0001i32; 1024].iter().flat_map(|v| v.to_le_bytes()).collect();
        sim.bind("a", &bytes).unwrap();
        sim.run().unwrap();
        assert_eq!(ints(&mut sim, "o"), [0x0100_0001; 1024], "{opcode}");
    };
    for opcode in ["TensorCopy", "GenericCopy", "AbstractCopy", "StreamTranspose"] {
        one(opcode, "DVE", json!({}));
    }
    one("StreamShuffle", "DVE", json!({"mask": (0..32).collect::<Vec<u32>>()}));
    one("DMACopy", "DMA", json!({}));
    one("Load", "DMA", json!({}));
    one("Save", "DMA", json!({}));
}
