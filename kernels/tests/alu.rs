//! The functor maps against the tables and vectors of `alu.md`.

use birsim_kernels::alu::{AluOp, Operation, address_op, compare_op, float_op, int_op, register_op};
use birsim_kernels::{Code, Named, Profile};

fn f(op: AluOp, a: f32, b: f32) -> f32 {
    float_op(op, &Profile::reference()).unwrap().call(a, b)
}

fn i(op: AluOp, a: i32, b: i32) -> i32 {
    int_op(op).unwrap().call(a, b)
}

#[test]
fn the_float_map_has_exactly_21_members() {
    let members = [0, 4, 5, 6, 7, 8, 9, 13, 14, 15, 18, 19, 20, 21, 22, 23, 26, 28, 29, 30, 31];
    for op in AluOp::ALL {
        let found = float_op(*op, &Profile::reference());
        assert_eq!(found.is_ok(), members.contains(&op.ordinal()), "{op}");
        if let Err(e) = found {
            assert_eq!(e.code(), Code::S006);
            assert!(e.what().contains(op.name()) && e.what().contains("is not supported yet"), "{}", e.what());
        }
    }
}

#[test]
fn the_integer_maps_have_the_documented_members() {
    for op in AluOp::ALL {
        let arithmetic = matches!(op, AluOp::Add | AluOp::Subtract | AluOp::Mult | AluOp::Max | AluOp::Min);
        if op.is_bitvec() || arithmetic || *op == AluOp::Bypass {
            int_op(*op).unwrap();
            address_op(*op).unwrap();
        }
        if matches!(op, AluOp::Pow | AluOp::Rsqrt | AluOp::Average | AluOp::ElemwiseMul | AluOp::AbsMax | AluOp::AbsMin)
        {
            assert_eq!(int_op(*op).unwrap_err().code(), Code::S006);
            assert_eq!(address_op(*op).unwrap_err().code(), Code::S006);
        }
        assert_eq!(compare_op(*op).is_ok(), (18..=23).contains(&op.ordinal()), "{op}");
    }
    assert_eq!(AluOp::ALL.iter().filter(|o| o.is_bitvec()).count(), 8);
}

#[test]
fn float_vectors() {
    let bits = f32::from_bits;
    let table = [
        (AluOp::Add, 0x4B80_0000, 0x3F80_0000, 0x4B80_0000),
        (AluOp::Subtract, 0x3F80_0000, 0x4000_0000, 0xBF80_0000),
        (AluOp::Divide, 0x3F80_0000, 0x0000_0000, 0x7F80_0000),
        (AluOp::IsEqual, 0x7FC0_0000, 0x7FC0_0000, 0x0000_0000),
        (AluOp::NotEqual, 0x7FC0_0000, 0x7FC0_0000, 0x3F80_0000),
        (AluOp::IsEqual, 0x8000_0000, 0x0000_0000, 0x3F80_0000),
        (AluOp::IsGe, 0x4000_0000, 0x4000_0000, 0x3F80_0000),
        (AluOp::LogicalAnd, 0x3F00_0000, 0x8000_0000, 0x0000_0000),
        (AluOp::LogicalXor, 0x40A0_0000, 0x0000_0000, 0x3F80_0000),
        (AluOp::LogicalOr, 0x7FC0_0000, 0x0000_0000, 0x3F80_0000),
        (AluOp::Pow, 0x4000_0000, 0x4120_0000, 0x4480_0000),
        (AluOp::Pow, 0x4120_0000, 0x4000_0000, 0x42C8_0000),
        (AluOp::Rsqrt, 0x4080_0000, 0x0000_0000, 0x3F00_0000),
        (AluOp::Rsqrt, 0x8000_0000, 0x0000_0000, 0xFF80_0000),
        (AluOp::Abs, 0xC049_0FDB, 0x0000_0000, 0x4049_0FDB),
        (AluOp::AbsMax, 0xC0A0_0000, 0x4040_0000, 0x40A0_0000),
        (AluOp::AbsMin, 0xC0A0_0000, 0xC040_0000, 0x4040_0000),
    ];
    for (op, a, b, expected) in table {
        assert_eq!(f(op, bits(a), bits(b)).to_bits(), expected, "{op} {a:08x} {b:08x}");
    }
    assert!(f(AluOp::Divide, 0.0, 0.0).is_nan());
    assert!(f(AluOp::Rsqrt, -1.0, 0.0).is_nan());
    let device = float_op(AluOp::AbsMax, &Profile::device()).unwrap();
    assert_eq!(device.call(-5.0, 3.0), -5.0);
    assert_eq!(device.call(-5.0, 5.0), 5.0, "a tie gives the second");
}

#[test]
fn pow_follows_c99() {
    for (a, b, expected) in [
        (f32::NAN, 0.0, 1.0),
        (1.0, f32::NAN, 1.0),
        (-8.0, 3.0, -512.0),
        (-0.0, -1.0, f32::NEG_INFINITY),
        (-0.0, 16_777_215.0, -0.0),
        (-0.0, 2.0, 0.0),
        (0.0, -2.0, f32::INFINITY),
        (f32::NEG_INFINITY, 3.0, f32::NEG_INFINITY),
        (0.5, f32::INFINITY, 0.0),
        (-1.0, f32::INFINITY, 1.0),
        (2.0, -149.0, f32::from_bits(1)),
        (2.0, 128.0, f32::INFINITY),
        (4.0, 0.5, 2.0),
    ] {
        assert_eq!(f(AluOp::Pow, a, b).to_bits(), f32::to_bits(expected), "{a} ^ {b}");
    }
    assert!(f(AluOp::Pow, -8.0, 1.0 / 3.0).is_nan());
    // Within half an ulp of the double result over a grid.
    for k in 1..400 {
        let (a, b) = (k as f32 * 0.137, (k % 37) as f32 * 0.31 - 5.0);
        let exact = f64::from(a).powf(f64::from(b));
        assert_eq!(f(AluOp::Pow, a, b), exact as f32, "{a} ^ {b}");
    }
}

#[test]
fn d5_float_max_min_follow_the_sse_rule() {
    assert_eq!(f(AluOp::Max, f32::NAN, 1.0), 1.0);
    assert!(f(AluOp::Max, 1.0, f32::NAN).is_nan());
    assert_eq!(f(AluOp::Min, f32::NAN, 1.0), 1.0);
    assert!(f(AluOp::Min, 1.0, f32::NAN).is_nan());
    assert_eq!(f(AluOp::Max, 0.0, -0.0).to_bits(), 0x8000_0000);
    assert_eq!(f(AluOp::Min, -0.0, 0.0).to_bits(), 0);
}

#[test]
fn d46_mod_is_a_float_op_of_the_device_only() {
    for op in [AluOp::Mod, AluOp::ModInt] {
        assert_eq!(float_op(op, &Profile::reference()).unwrap_err().code(), Code::S006);
    }
    let device = |op, a: f32, b: f32| float_op(op, &Profile::device()).unwrap().call(a, b);
    for (a, b, floored, truncated) in [
        (-5.0, 3.0, 1.0, -2.0),
        (5.0, -3.0, -1.0, 2.0),
        (5.0, 3.0, 2.0, 2.0),
        (-6.0, 3.0, 0.0, -0.0),
        (7.5, 2.0, 1.5, 1.5),
    ] {
        assert_eq!(device(AluOp::Mod, a, b).to_bits(), f32::to_bits(floored), "{a} mod {b}");
        assert_eq!(device(AluOp::ModInt, a, b).to_bits(), f32::to_bits(truncated), "{a} mod_int {b}");
    }
}

#[test]
fn fault_51_integer_division_remainder_and_shifts() {
    for (a, b, quotient, floored, truncated) in
        [(-7, 2, -3, 1, -1), (-7, -2, 3, -1, -1), (7, 2, 3, 1, 1), (7, -2, -3, -1, 1)]
    {
        assert_eq!(i(AluOp::Divide, a, b), quotient, "division truncates");
        assert_eq!(i(AluOp::Mod, a, b), floored, "mod takes the sign of the divisor");
        assert_eq!(i(AluOp::ModInt, a, b), truncated, "mod_int takes the sign of the dividend");
        assert_eq!(address_op(AluOp::Divide).unwrap().call(a.into(), b.into()), i64::from(quotient));
        assert_eq!(f(AluOp::Divide, a as f32, b as f32), a as f32 / b as f32);
    }
    for op in [AluOp::Divide, AluOp::Mod, AluOp::ModInt] {
        assert_eq!(i(op, 5, 0), 0);
    }
    assert_eq!(i(AluOp::Divide, i32::MIN, -1), i32::MAX);
    assert_eq!(address_op(AluOp::Divide).unwrap().call(i64::MIN, -1), i64::MIN);
    assert_eq!(i(AluOp::Mod, i32::MIN, -1), 0);
    for amount in [32, 33, 100, -1, i32::MIN] {
        assert_eq!(i(AluOp::LogicalShiftLeft, -1, amount), 0);
        assert_eq!(i(AluOp::ArithShiftLeft, -1, amount), 0);
        assert_eq!(i(AluOp::LogicalShiftRight, -1, amount), 0);
        assert_eq!(i(AluOp::ArithShiftRight, -9, amount), -1);
        assert_eq!(i(AluOp::ArithShiftRight, 9, amount), 0);
    }
    let wide = |op, a, b| address_op(op).unwrap().call(a, b);
    assert_eq!(wide(AluOp::LogicalShiftLeft, 1, 63), i64::MIN);
    assert_eq!(wide(AluOp::LogicalShiftLeft, 1, 64), 0);
    assert_eq!(wide(AluOp::LogicalShiftRight, -1, 32), 0xFFFF_FFFF);
    assert_eq!(wide(AluOp::ArithShiftRight, i64::MIN, 70), -1);
}

#[test]
fn integer_vectors() {
    let hex = |v: u32| v as i32;
    assert_eq!(i(AluOp::BitwiseAnd, hex(0xF0F0_F0F0), 0x0FF0_0FF0), 0x00F0_00F0);
    assert_eq!(i(AluOp::ArithShiftRight, hex(0x8000_0000), 4), hex(0xF800_0000));
    assert_eq!(i(AluOp::LogicalShiftRight, hex(0x8000_0000), 4), 0x0800_0000);
    assert_eq!(i(AluOp::BitwiseNot, 0, 7), -1);
    assert_eq!(i(AluOp::LogicalShiftLeft, 3, 31), i32::MIN);
    assert_eq!(i(AluOp::Add, i32::MAX, 1), i32::MAX, "the int map saturates");
    assert_eq!(i(AluOp::Subtract, i32::MIN, 1), i32::MIN);
    assert_eq!(i(AluOp::Mult, 1 << 20, 1 << 20), i32::MAX);
    assert_eq!(i(AluOp::Mult, 1 << 20, -(1 << 20)), i32::MIN);
    assert_eq!(i(AluOp::Abs, i32::MIN, 0), i32::MAX);
    assert_eq!(address_op(AluOp::Add).unwrap().call(i64::MAX, 1), i64::MIN, "the address map wraps");
    assert_eq!(i(AluOp::LogicalXor, 5, 0), 1);
    assert_eq!(i(AluOp::IsGt, -1, 1), 0, "comparisons are signed");
    let gt = compare_op(AluOp::IsGt).unwrap();
    assert!(!gt.call(-1, 1) && gt.call(-1i32 as u32, 1));
    assert!(!gt.call(f32::NAN, 1.0) && compare_op(AluOp::NotEqual).unwrap().call(f32::NAN, f32::NAN));
}

#[test]
fn blocks_agree_with_single_calls() {
    let x: Vec<f32> = (0..203).map(|k| ((k * 37 % 101) as f32 - 50.0) * 0.75).collect();
    let y: Vec<f32> = (0..203).map(|k| ((k * 53 % 89) as f32 - 40.0) * 0.5).collect();
    let same =
        |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan());
    for op in AluOp::ALL {
        let Ok(op) = float_op(*op, &Profile::device()) else { continue };
        let single: Vec<f32> = x.iter().zip(&y).map(|(a, b)| op.call(*a, *b)).collect();
        let (mut zipped, mut into) = (x.clone(), vec![0.0; 203]);
        op.apply(&mut zipped, &y);
        op.apply_into(&mut into, &x, &y);
        assert!(same(&zipped, &single) && same(&into, &single), "{op:?}");
        let mut back = y.clone();
        op.apply_reversed(&mut back, &x);
        assert!(same(&back, &single), "{op:?}");
        for reverse in [false, true] {
            let single: Vec<f32> =
                x.iter().map(|a| if reverse { op.call(1.5, *a) } else { op.call(*a, 1.5) }).collect();
            let mut scaled = x.clone();
            op.apply_scalar(&mut scaled, 1.5, reverse);
            assert!(same(&scaled, &single), "{op:?}");
            op.apply_scalar_into(&mut scaled, &x, 1.5, reverse);
            assert!(same(&scaled, &single), "{op:?}");
        }
        // 29 rows of 7: three full groups and a rest.
        let single: Vec<f32> = (0..29).map(|r| x[r * 7..r * 7 + 7].iter().fold(y[r], |a, v| op.call(a, *v))).collect();
        let mut folded = y[..29].to_vec();
        op.fold_rows(&mut folded, &x, 7, 0);
        assert!(same(&folded, &single), "{op:?}");
        let single: Vec<f32> =
            (0..29).map(|r| x[r * 7 + 1..r * 7 + 7].iter().fold(x[r * 7], |a, v| op.call(a, *v))).collect();
        let mut folded: Vec<f32> = x.iter().step_by(7).copied().collect();
        op.fold_rows(&mut folded, &x, 7, 1);
        assert!(same(&folded, &single), "{op:?}");
        assert!(same(&[op.fold(y[0], &x)], &[x.iter().fold(y[0], |a, v| op.call(a, *v))]));
    }
    let x: Vec<i32> = (0..100).map(|k| (k * 1_103_515_245_i64 % 4_294_967_296) as i32).collect();
    for op in AluOp::ALL {
        let Ok(op) = int_op(*op) else { continue };
        let y: Vec<i32> = x.iter().rev().map(|v| v % 40).collect();
        let single: Vec<i32> = x.iter().zip(&y).map(|(a, b)| op.call(*a, *b)).collect();
        let mut zipped = x.clone();
        op.apply(&mut zipped, &y);
        assert_eq!(zipped, single, "{op:?}");
        let mut folded = y[..20].to_vec();
        op.fold_rows(&mut folded, &x, 5, 0);
        let single: Vec<i32> = (0..20).map(|r| x[r * 5..r * 5 + 5].iter().fold(y[r], |a, v| op.call(a, *v))).collect();
        assert_eq!(folded, single, "{op:?}");
    }
}

#[test]
fn d57_pow_makes_negative_nan_and_keeps_the_sign_of_its_operands() {
    let pow = float_op(AluOp::Pow, &Profile::reference()).unwrap();
    let nan = |bits| f32::from_bits(bits);
    for (a, b) in [(-8.0, 1.0 / 3.0), (-2.0, 0.5), (-1e30, -0.1), (-0.5, 2.5), (-3.0, 1e-20), (-1.5, -7.25)] {
        assert_eq!(pow.call(a, b).to_bits(), 0xFFC0_0000, "pow({a}, {b})");
    }
    for (a, b, want) in [
        (nan(0x7FC0_0001), 2.0, 0x7FC0_0001),
        (nan(0xFFC0_0001), 2.0, 0xFFC0_0001),
        (3.0, nan(0x7F80_0007), 0x7FC0_0007),
        (-3.0, nan(0xFF80_0007), 0xFFC0_0007),
        (nan(0x7FC0_0002), nan(0xFFC0_0003), 0x7FC0_0002),
    ] {
        assert_eq!(pow.call(a, b).to_bits(), want, "pow({a}, {b})");
    }
    assert_eq!((pow.call(1.0, nan(0xFFC0_0000)), pow.call(nan(0x7FC0_0000), 0.0)), (1.0, 1.0));
}

#[test]
fn d57_every_invalid_operation_makes_the_negative_nan() {
    let inf = f32::INFINITY;
    let mut profile = Profile::reference();
    profile.set("float_mod", "true").unwrap();
    for (op, a, b) in [
        (AluOp::Subtract, inf, inf),
        (AluOp::Add, inf, -inf),
        (AluOp::Mult, 0.0, -inf),
        (AluOp::Divide, 0.0, 0.0),
        (AluOp::Divide, inf, inf),
        (AluOp::Rsqrt, -4.0, 0.0),
        (AluOp::Mod, 1.0, 0.0),
        (AluOp::Mod, inf, 2.0),
        (AluOp::ModInt, -1.0, 0.0),
    ] {
        let mut out = [std::hint::black_box(a)];
        float_op(op, &profile).unwrap().apply(&mut out, &[std::hint::black_box(b)]);
        assert_eq!(out[0].to_bits(), 0xFFC0_0000, "{op}({a}, {b})");
    }
}

#[test]
fn item_5_a_missing_operation_is_told_what_there_is() {
    let p = Profile::reference();
    let advice = float_op(AluOp::BitwiseAnd, &p).unwrap_err().advice_text().to_string();
    let listed = advice.strip_prefix("the float map has ").unwrap().split(';').next().unwrap();
    let listed: Vec<&str> = listed.split(", ").collect();
    let members: Vec<&str> = AluOp::ALL.iter().filter(|o| float_op(**o, &p).is_ok()).map(|o| o.name()).collect();
    let sorted = |mut v: Vec<&str>| {
        v.sort_unstable();
        v.join(" ")
    };
    assert_eq!(sorted(listed), sorted(members));
    let advice = int_op(AluOp::Pow).unwrap_err().advice_text().to_string();
    let missing = advice.strip_prefix("the int map has all operations but ").unwrap();
    let absent: Vec<&str> = AluOp::ALL.iter().filter(|o| int_op(**o).is_err()).map(|o| o.name()).collect();
    assert_eq!(sorted(missing.split(", ").collect()), sorted(absent));
}

#[test]
fn d46_registers_compute_in_both_widths() {
    let run = |op, a: i64, b: i64, wide, signed| register_op(op, a as u64, b as u64, wide, signed).unwrap() as i64;
    assert_eq!(run(AluOp::Add, i64::from(i32::MAX), 1, false, true), i64::from(i32::MIN));
    assert_eq!(run(AluOp::Add, i64::from(u32::MAX), 1, false, false), 0);
    assert_eq!(run(AluOp::Mod, -7, 2, false, true), 1);
    assert_eq!(run(AluOp::ModInt, -7, 2, false, true), -1);
    assert_eq!(run(AluOp::Divide, 7, 0, false, true), 0);
    assert_eq!(run(AluOp::Divide, i64::from(i32::MIN), -1, false, true), i64::from(i32::MIN));
    assert_eq!(run(AluOp::ElemwiseMul, -3, 5, false, true), -15);
    assert_eq!(run(AluOp::ArithShiftRight, -8, 40, false, true), -1);
    assert_eq!(run(AluOp::ArithShiftRight, -8, 1, false, false), 0xFFFF_FFFC, "the highest bit is the sign");
    assert_eq!(run(AluOp::LogicalShiftRight, -1, 4, false, true), 0x0FFF_FFFF);
    assert_eq!(run(AluOp::ArithShiftLeft, 1, 32, false, true), 0);
    assert_eq!(run(AluOp::BitwiseNot, 0, 0, false, false), 0xFFFF_FFFF);
    assert_eq!(run(AluOp::IsLt, -1, 1, true, true), 1);
    assert_eq!(run(AluOp::IsLt, -1, 1, true, false), 0);
    assert_eq!(
        run(AluOp::AbsMax, i64::from(i32::MIN), 5, false, true),
        i64::from(i32::MIN),
        "its magnitude is the largest"
    );
    assert_eq!(run(AluOp::AbsMin, -4, 5, true, true), 4);
    for op in AluOp::ALL {
        let missing = matches!(op, AluOp::Average | AluOp::Pow | AluOp::Rsqrt);
        assert_eq!(
            register_op(*op, 1, 1, false, true).map_err(|e| e.code()).err(),
            missing.then_some(Code::S006),
            "{op}"
        );
    }
}
