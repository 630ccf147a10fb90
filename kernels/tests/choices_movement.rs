//! Profile fields of selection, movement and random numbers: each value of each field shows in a result.

mod views;
use birsim_kernels::access::{Imm, Input};
use birsim_kernels::alu::AluOp;
use birsim_kernels::collective::all_reduce;
use birsim_kernels::dma::{Cce, cce, replicate};
use birsim_kernels::indirect::*;
use birsim_kernels::iota::{Affine, iota};
use birsim_kernels::range::{RangeSelect, range_select};
use birsim_kernels::rng::*;
use birsim_kernels::search::max8;
use birsim_kernels::select::{CopyPredicated, copy_predicated};
use birsim_kernels::{Code, Dtype, Profile};
use views::Tensor;

fn with(field: &str, value: &str) -> Profile {
    let mut p = Profile::reference();
    p.set(field, value).unwrap();
    p
}

#[test]
fn range_select_compares_positions_or_values() {
    let x = Tensor::f32(&[1, 4], &[5.0, 0.0, 1.0, f32::NAN]);
    let p = RangeSelect {
        base: 0,
        compare_op0: AluOp::IsGe,
        compare_op1: AluOp::IsLt,
        fill_value: -9.0,
        num_active_channels: 0,
        epilogue: None,
    };
    let (lo, hi) = (Input::Imm(Imm::f32(1.0)), Input::Imm(Imm::f32(3.0)));
    for (profile, want) in [
        (Profile::reference(), [-9.0, 0.0, 1.0, -9.0]),
        (with("range_select_compares", "value"), [-9.0, -9.0, 1.0, -9.0]),
    ] {
        let mut y = Tensor::f32(&[1, 4], &[0.0; 4]);
        range_select(&p, &x.src(), &lo, &hi, &mut y.dst(), &profile).unwrap();
        assert_eq!(y.values::<f32>(), want);
    }
}

#[test]
fn d23_a_predicate_is_cast_or_taken_by_value() {
    let pred = Tensor::f32(&[1, 6], &[0.5, -1.0, 1.5, -0.0, f32::NAN, -f32::NAN]);
    for (profile, want) in
        [(Profile::reference(), [0, 0, 1, 0, 1, 0]), (with("predicate_test", "value"), [1, 1, 1, 0, 1, 1])]
    {
        let mut y = Tensor::i32(&[1, 6], &[0; 6]);
        let form = CopyPredicated { reverse_pred: false, on_false: None, epilogue: None };
        copy_predicated(&form, &pred.src(), &Input::Imm(Imm::i32(1)), &mut y.dst(), &profile).unwrap();
        assert_eq!(y.values::<i32>(), want);
    }
}

#[test]
fn d32_iota_nests_z_y_or_y_z() {
    let form = Affine { base: 0, pattern: &[(100, 2), (10, 3), (1, 2)], channel_multiplier: 0 };
    let values = |p: &Profile| {
        let mut t = Tensor::i32(&[1, 12], &[0; 12]);
        iota(&form, &mut t.dst(), p).unwrap();
        t.values::<i32>()
    };
    assert_eq!(values(&Profile::reference()), [0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121]);
    assert_eq!(values(&with("iota_order", "wyzx")), [0, 1, 100, 101, 10, 11, 110, 111, 20, 21, 120, 121]);
}

#[test]
fn d30_an_equal_value_waits_or_displaces() {
    let x = Tensor::f32(&[1, 9], &[-0.0, 0.0, -0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.0]);
    let signs = |p: &Profile| {
        let mut y = Tensor::f32(&[1, 8], &[1.0; 8]);
        max8(&x.src(), &mut y.dst(), p).unwrap();
        y.values::<u32>().iter().map(|b| b >> 31).collect::<Vec<_>>()
    };
    assert_eq!(signs(&Profile::reference()), [1, 0, 1, 0, 0, 0, 0, 0], "order of arrival");
    assert_eq!(signs(&with("max_ties", "displace")), [1, 0, 0, 0, 0, 0, 1, 0], "the last one is in front");
    let x = Tensor::f32(&[1, 10], &[3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 5.0, 3.0]);
    for p in [Profile::reference(), with("max_ties", "displace")] {
        let mut y = Tensor::f32(&[1, 8], &[0.0; 8]);
        max8(&x.src(), &mut y.dst(), &p).unwrap();
        assert_eq!(y.values::<f32>(), [9.0, 6.0, 5.0, 5.0, 4.0, 3.0, 3.0, 2.0]);
    }
}

#[test]
fn d16_replicated_rows_are_cyclic_or_in_blocks() {
    let x = Tensor::i32(&[2, 1], &[10, 20]);
    for (value, want) in [("cyclic", [10, 20, 10, 20, 10]), ("block", [10, 10, 10, 20, 20])] {
        let mut y = Tensor::i32(&[5, 1], &[0; 5]);
        replicate(&x.src(), &mut y.dst(), &with("replicate_rows", value)).unwrap();
        assert_eq!(y.values::<i32>(), want, "{value}");
    }
}

#[test]
fn d15_in_flight_reductions_by_sse_or_fmax_from_zero_or_the_first() {
    let (a, b) = (Tensor::f32(&[1, 3], &[1.0, f32::NAN, -0.0]), Tensor::f32(&[1, 3], &[f32::NAN, 1.0, 0.0]));
    let run = |op, p: &Profile| {
        let mut y = Tensor::f32(&[1, 3], &[0.0; 3]);
        cce(&Cce { op, constants: &[] }, &[a.src(), b.src()], &mut y.dst(), p).unwrap();
        let mut z = Tensor::f32(&[1, 3], &[0.0; 3]);
        all_reduce(op, &[a.src(), b.src()], &mut z.dst(), p).unwrap();
        assert_eq!(y.bytes, z.bytes, "CCE and collective agree");
        y.values::<f32>()
    };
    let (sse, fmax) = (Profile::reference(), with("cce_max_min", "ieee"));
    let y = run(AluOp::Max, &sse);
    assert!(y[0] == 1.0 && y[1].is_nan() && y[2].to_bits() == 1 << 31, "the accumulator wins: {y:?}");
    let y = run(AluOp::Max, &fmax);
    assert!(y[0] == 1.0 && y[1] == 1.0 && y[2].to_bits() == 0, "NaN is ignored: {y:?}");
    let y = run(AluOp::Min, &fmax);
    assert!(y[0] == 1.0 && y[1] == 1.0 && y[2].to_bits() == 1 << 31, "{y:?}");
    // -0 + 0 is 0, so only the start of the sum decides.
    let zeros = Tensor::f32(&[1, 1], &[-0.0]);
    for (value, want) in [("zero", 0u32), ("first", 1 << 31)] {
        for constants in [&[][..], &[1.0, 1.0]] {
            let mut y = Tensor::f32(&[1, 1], &[5.0]);
            let p = with("cce_start", value);
            cce(&Cce { op: AluOp::Add, constants }, &[zeros.src(), zeros.src()], &mut y.dst(), &p).unwrap();
            assert_eq!(y.values::<u32>(), [want], "{value}");
        }
    }
}

#[test]
fn d13_minus_one_skips_in_64_bits_or_in_32_too() {
    let x = Tensor::f32(&[1, 4], &[10.0, 11.0, 12.0, 13.0]);
    let i = Tensor::i32(&[3], &[2, -1, 0]);
    let both = with("minus_one_skips", "32_and_64_bit");
    let mut y = Tensor::f32(&[3], &[7.0; 3]);
    let e = load(&(&x.src()).into(), &i.src(), &mut y.dst(), &Profile::reference()).unwrap_err();
    assert_eq!((e.code(), e.received_value()), (Code::S014, Some("index 4294967295, bound 4")));
    load(&(&x.src()).into(), &i.src(), &mut y.dst(), &both).unwrap();
    assert_eq!(y.values::<f32>(), [12.0, 7.0, 10.0]);
    let data = Tensor::f32(&[3], &[1.0, 2.0, 3.0]);
    let mut t = Tensor::f32(&[1, 4], &[0.0; 4]);
    save(&data.src(), &i.src(), &mut t.dst().into(), &both).unwrap();
    assert_eq!(t.values::<f32>(), [3.0, 0.0, 1.0, 0.0]);
    let form = SaveAccumulate { num_indices: 3, entry_step_elements: 1, op: AluOp::Add, base: None };
    save_accumulate(&form, &data.src(), &i.src(), &mut t.dst().into(), &both).unwrap();
    assert_eq!(t.values::<f32>(), [6.0, 0.0, 2.0, 0.0]);
    let mut y = Tensor::f32(&[3], &[7.0; 3]);
    generic_load(&[IndirectDim::X], &(&x.src()).into(), &[i.src()], &mut y.dst(), &both).unwrap();
    assert_eq!(y.values::<f32>(), [12.0, 7.0, 10.0]);
    // A 64-bit -1 skips under either value, a 16-bit one under none.
    for p in [&Profile::reference(), &both] {
        let wide = Tensor::of(Dtype::Int64, &[1], &[-1i64]);
        let mut y = Tensor::f32(&[1], &[7.0]);
        load(&(&x.src()).into(), &wide.src(), &mut y.dst(), p).unwrap();
        assert_eq!(y.values::<f32>(), [7.0]);
        let short = Tensor::of(Dtype::Uint16, &[1], &[u16::MAX]);
        assert_eq!(load(&(&x.src()).into(), &short.src(), &mut y.dst(), p).unwrap_err().code(), Code::S014);
    }
}

#[test]
fn d38_a_draw_that_equals_the_threshold_is_dropped_or_kept() {
    let x = Tensor::f32(&[1, 1], &[3.0]);
    let mut state = DEFAULT_STATE;
    let threshold = uniform(xorwow_next(&mut state));
    for (value, want) in [("drop", 0.0), ("keep", 3.0)] {
        let mut y = Tensor::f32(&[1, 1], &[9.0]);
        let p = Dropout { is_keep_threshold: true, threshold: Input::Imm(Imm::f32(threshold)) };
        dropout(&p, &mut [DEFAULT_STATE], &x.src(), &mut y.dst(), &with("dropout_tie", value)).unwrap();
        assert_eq!(y.values::<f32>(), [want], "{value}");
        let p = Dropout { is_keep_threshold: false, ..p };
        dropout(&p, &mut [DEFAULT_STATE], &x.src(), &mut y.dst(), &with("dropout_tie", value)).unwrap();
        assert_eq!(y.values::<f32>(), [3.0], "a drop rate is not affected");
    }
}

#[test]
fn d7_narrow_elements_take_the_low_or_the_high_half_of_a_draw() {
    let draws = [14_514_284_786_278_117_030u64, 4_620_546_740_167_642_908];
    let fill = |dtype: Dtype, p: &Profile| {
        let mut t = Tensor::filled(dtype, &[1, 2], 0);
        memset_random_host(&mut Mt19937_64::new(5489), &mut t.dst(), p).unwrap();
        t
    };
    let (low, high) = (Profile::reference(), with("memset_random", "high"));
    assert_eq!(fill(Dtype::Uint32, &low).values::<u32>(), draws.map(|d| d as u32));
    assert_eq!(fill(Dtype::Uint32, &high).values::<u32>(), draws.map(|d| (d >> 32) as u32));
    assert_eq!(fill(Dtype::Uint8, &high).values::<u8>(), draws.map(|d| (d >> 32) as u8));
    for p in [&low, &high] {
        assert_eq!(fill(Dtype::Uint64, p).values::<u64>(), draws);
    }
}

#[test]
fn d8_a_dead_shift_register_wakes_or_stays() {
    for (value, dead) in [("one", false), ("stays", true)] {
        let mut states = [[0u32; 6], [5, 0, 0, 0, 0, 0]];
        let mut t = Tensor::filled(Dtype::Uint32, &[2, 2], 0xEE);
        rand(RandomAlgorithmKind::Lfsr, &mut states, &mut t.dst(), &with("lfsr_zero", value)).unwrap();
        let v = t.values::<u32>();
        assert_eq!(v[..2] == [0, 0], dead, "{value}");
        assert_eq!(states[0][0] == 0, dead);
        assert!(v[2] != 0 && v[3] != 0);
    }
}

#[test]
fn d9_columns_of_rand2_take_turns_or_quarters() {
    let start: [State; 4] = std::array::from_fn(|k| [k as u32 + 1, 2, 3, 4, 5, 6]);
    for (value, lane_of) in [("modulo", (|c| c % 4) as fn(usize) -> usize), ("block", |c| c / 2)] {
        let mut states = [start];
        let mut t = Tensor::f32(&[1, 8], &[9.0; 8]);
        rand2(0.0, 1.0, &mut states, &mut t.dst(), &with("rand2_lanes", value)).unwrap();
        let mut own = start;
        let want: Vec<f32> = (0..8).map(|c| uniform(xorwow_next(&mut own[lane_of(c)]))).collect();
        assert_eq!(t.values::<f32>(), want, "{value}");
        assert_eq!(states[0], own);
    }
    assert_ne!(lanes("modulo"), lanes("block"));
}

fn lanes(value: &str) -> Vec<u32> {
    let mut t = Tensor::f32(&[1, 8], &[9.0; 8]);
    let mut states = [std::array::from_fn(|k| [k as u32 + 1, 2, 3, 4, 5, 6])];
    rand2(0.0, 1.0, &mut states, &mut t.dst(), &with("rand2_lanes", value)).unwrap();
    t.values()
}
