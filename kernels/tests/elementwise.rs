//! TensorScalar, TensorScalarPtr and TensorTensor.

mod util;

use birsim_kernels::access::{Dst, Imm, Input, Pair, Pattern, Source, Src};
use birsim_kernels::accumulate::{Accumulator, EngineAccumulationType, Epilogue};
use birsim_kernels::alu::AluOp;
use birsim_kernels::elementwise::{
    NumericPath, TensorScalar, TensorScalarPtr, TensorTensor, scalar_tensor_tensor, tensor_reduce_path, tensor_scalar,
    tensor_scalar_ptr, tensor_tensor, tensor_tensor_path,
};
use birsim_kernels::{Code, Dtype, Profile};
use util::{Rng, Tensor, keep};

const R: Profile = Profile::reference();

fn ts(op0: AluOp, const0: f64, op1: AluOp, const1: f64) -> TensorScalar {
    TensorScalar { op0, const0, reverse0: false, op1, const1, reverse1: false }
}

fn ptr(op0: AluOp, op1: AluOp) -> TensorScalarPtr {
    TensorScalarPtr { op0, reverse0: false, op1, reverse1: false, address: false }
}

fn tt(op: AluOp) -> TensorTensor {
    TensorTensor { op, on_pool: false }
}

#[test]
fn two_stages_round_separately() {
    let x = Tensor::f32(&[1, 1], &[f32::from_bits(0x3F80_0800)]);
    let mut y = Tensor::zeros(Dtype::Float32, &[1, 1]);
    let p = ts(AluOp::Mult, f64::from(f32::from_bits(0x3F80_0800)), AluOp::Subtract, 1.0);
    y.write(|d| tensor_scalar(&p, &Source::Apart(x.src()), d, &R)).unwrap();
    assert_eq!(y.bits(), [0x3A00_0000], "a fused multiply-add would give 3A000400");
}

#[test]
fn reverse_flags_swap_each_stage() {
    let x = Tensor::f32(&[2, 2], &[1.0, 2.0, 4.0, 8.0]);
    for (reverse0, reverse1, expected) in [
        (false, false, [-0.5, 0.0, 1.0, 3.0]),
        (true, false, [0.5, 0.0, -1.0, -3.0]),
        (false, true, [-2.0, f32::INFINITY, 1.0, 1.0 / 3.0]),
        (true, true, [2.0, f32::INFINITY, -1.0, -1.0 / 3.0]),
    ] {
        let p = TensorScalar { reverse0, reverse1, ..ts(AluOp::Subtract, 2.0, AluOp::Divide, 2.0) };
        let mut y = Tensor::zeros(Dtype::Float32, &[2, 2]);
        y.write(|d| tensor_scalar(&p, &Source::Apart(x.src()), d, &R)).unwrap();
        assert_eq!(y.values(), expected);
    }
}

#[test]
fn bypass_hands_its_left_operand_on() {
    let x = Tensor::of(Dtype::Bfloat16, &[1, 3], &[1.0, -2.5, 3.0]);
    let mut p = ts(AluOp::Bypass, 7.0, AluOp::Bypass, 9.0);
    let mut y = Tensor::zeros(Dtype::Int8, &[1, 3]);
    y.write(|d| tensor_scalar(&p, &Source::Apart(x.src()), d, &R)).unwrap();
    assert_eq!(y.values(), [1.0, -2.0, 3.0]);
    p.reverse1 = true;
    y.write(|d| tensor_scalar(&p, &Source::Apart(x.src()), d, &R)).unwrap();
    assert_eq!(y.values(), [9.0; 3], "reversed, the scalar is the left operand");
}

#[test]
fn int32_tensors_pass_through_float32_on_the_scalar_path() {
    let x = Tensor::i32(&[1, 1], &[0x0100_0001]);
    let mut y = Tensor::zeros(Dtype::Int32, &[1, 1]);
    y.write(|d| tensor_scalar(&ts(AluOp::Add, 1.0, AluOp::Bypass, 0.0), &Source::Apart(x.src()), d, &R)).unwrap();
    assert_eq!(y.ints(), [0x0100_0000]);
}

#[test]
fn d2_immediates_of_the_bit_vector_path() {
    let x = Tensor::i32(&[1, 3], &[-1, 0x0F0F_0F0F, 0]);
    let mut y = Tensor::zeros(Dtype::Int32, &[1, 3]);
    y.write(|d| {
        tensor_scalar(&ts(AluOp::BitwiseAnd, 4_294_967_040.0, AluOp::Bypass, 0.0), &Source::Apart(x.src()), d, &R)
    })
    .unwrap();
    assert_eq!(y.ints(), [-256, 0x0F0F_0F00, 0], "modulo 2^32");
    y.write(|d| tensor_scalar(&ts(AluOp::BitwiseXor, -1.0, AluOp::Bypass, 0.5), &Source::Apart(x.src()), d, &R))
        .unwrap();
    assert_eq!(y.ints(), [0, !0x0F0F_0F0F, -1], "a bypassed immediate does not matter");
    for bad in [0.5, f64::NAN, f64::INFINITY] {
        let e = y
            .write(|d| tensor_scalar(&ts(AluOp::BitwiseOr, bad, AluOp::Bypass, 0.0), &Source::Apart(x.src()), d, &R))
            .err();
        assert_eq!(e.unwrap().code(), Code::J011);
    }
    let half = Input::Imm(Imm::f32(0.5));
    let e = y.write(|d| {
        tensor_scalar_ptr(
            &ptr(AluOp::BitwiseOr, AluOp::Bypass),
            &Source::Apart(x.src()),
            Some(&half),
            None,
            d,
            None,
            &R,
        )
    });
    assert_eq!(e.err().unwrap().code(), Code::J011);
}

#[test]
fn bit_vector_stages_share_the_int_path() {
    let x = Tensor::i32(&[1, 2], &[0x7FFF_FFFF, -8]);
    let mut y = Tensor::zeros(Dtype::Int32, &[1, 2]);
    y.write(|d| tensor_scalar(&ts(AluOp::Add, 1.0, AluOp::ArithShiftRight, 1.0), &Source::Apart(x.src()), d, &R))
        .unwrap();
    assert_eq!(y.ints(), [0x3FFF_FFFF, -4], "add saturates");
    let e = y
        .write(|d| tensor_scalar(&ts(AluOp::BitwiseOr, 1.0, AluOp::Pow, 2.0), &Source::Apart(x.src()), d, &R))
        .err()
        .unwrap();
    assert_eq!(e.code(), Code::S006);
    assert!(e.what().contains("pow") && e.what().contains("1931"), "{}", e.what());
    let e = y
        .write(|d| tensor_scalar(&ts(AluOp::Mod, 1.0, AluOp::Bypass, 2.0), &Source::Apart(x.src()), d, &R))
        .err()
        .unwrap();
    assert!(e.code() == Code::S006 && e.what().contains("mod is not supported yet"), "{}", e.what());
}

#[test]
fn fault_53_not_of_uint8_and_untouched_operands() {
    let x = Tensor { dtype: Dtype::Uint8, nums: vec![1, 3], bytes: vec![0, 255, 0xA5] };
    let before = x.bytes.clone();
    let mut y = Tensor::zeros(Dtype::Uint8, &[1, 3]);
    y.write(|d| tensor_scalar(&ts(AluOp::BitwiseNot, 0.0, AluOp::Bypass, 0.0), &Source::Apart(x.src()), d, &R))
        .unwrap();
    assert_eq!(y.bytes, [255, 0, 0x5A]);
    assert_eq!(x.bytes, before);
    let x = Tensor { dtype: Dtype::Uint8, nums: vec![1, 4], bytes: vec![0, 1, 2, 255] };
    let mut y = Tensor::zeros(Dtype::Uint8, &[1, 4]);
    y.write(|d| tensor_scalar(&ts(AluOp::LogicalAnd, 1.0, AluOp::Bypass, 0.0), &Source::Apart(x.src()), d, &R))
        .unwrap();
    assert_eq!(y.bytes, [0, 1, 1, 1], "any non-zero byte is true");
}

#[test]
fn scalars_may_be_columns_numbers_or_serve_several_elements() {
    let x = Tensor::f32(&[2, 4], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    let column = Tensor::of(Dtype::Bfloat16, &[2, 1], &[10.0, 20.0]);
    let pairs = Tensor::f32(&[2, 2], &[1.0, -1.0, 2.0, -2.0]);
    let mut y = Tensor::zeros(Dtype::Float32, &[2, 4]);
    let (s0, s1) = (Input::View(column.src()), Input::View(pairs.src()));
    y.write(|d| {
        tensor_scalar_ptr(&ptr(AluOp::Add, AluOp::Mult), &Source::Apart(x.src()), Some(&s0), Some(&s1), d, None, &R)
    })
    .unwrap();
    assert_eq!(y.values(), [11.0, 12.0, -13.0, -14.0, 50.0, 52.0, -54.0, -56.0]);
    let reversed = TensorScalarPtr { reverse1: true, ..ptr(AluOp::Subtract, AluOp::Subtract) };
    y.write(|d| tensor_scalar_ptr(&reversed, &Source::Apart(x.src()), None, Some(&s0), d, None, &R)).unwrap();
    assert_eq!(y.values(), [9.0, 8.0, 7.0, 6.0, 15.0, 14.0, 13.0, 12.0], "a missing scalar skips its stage");
    let three = Tensor::f32(&[2, 3], &[0.0; 6]);
    let bad = Input::View(three.src());
    let e = y
        .write(|d| tensor_scalar_ptr(&reversed, &Source::Apart(x.src()), Some(&bad), None, d, None, &R))
        .err()
        .unwrap();
    assert_eq!(e.code(), Code::S002);
}

#[test]
fn the_address_form_computes_in_64_bits() {
    let x = Tensor::i64(&[1, 2], &[1 << 40, i64::MAX]);
    let mut y = Tensor::zeros(Dtype::Int64, &[1, 2]);
    let p = TensorScalarPtr { address: true, ..ptr(AluOp::Mult, AluOp::Add) };
    let (three, seven) = (Input::Imm(Imm::f32(3.9)), Input::Imm(Imm::i32(-7)));
    y.write(|d| tensor_scalar_ptr(&p, &Source::Apart(x.src()), Some(&three), Some(&seven), d, None, &R)).unwrap();
    assert_eq!(y.longs(), [3 * (1 << 40) - 7, i64::MAX.wrapping_mul(3) - 7], "float immediates truncate, results wrap");
    assert_eq!(Imm::f32(2f32.powi(63)).as_i64(), i64::MIN);
    assert_eq!((Imm::f32(-2.7).as_i64(), Imm::f32(f32::NAN).as_i64()), (-2, i64::MIN));
}

#[test]
fn scalar_tensor_tensor_takes_data_first() {
    let (a, b) = (Tensor::f32(&[1, 3], &[1.0, 2.0, 3.0]), Tensor::f32(&[1, 3], &[10.0, 20.0, 30.0]));
    let mut y = Tensor::zeros(Dtype::Float32, &[1, 3]);
    let (s, t) = (Input::Imm(Imm::f32(2.0)), Source::Apart(b.src()));
    let p = ptr(AluOp::Subtract, AluOp::Mult);
    y.write(|d| scalar_tensor_tensor(&p, &Source::Apart(a.src()), &s, &t, d, None, &R)).unwrap();
    assert_eq!(y.values(), [-10.0, 0.0, 30.0]);
    // Either tensor, or both, may be the destination.
    let mut z = Tensor::f32(&[1, 3], &b.values());
    z.write(|d| scalar_tensor_tensor(&p, &Source::Apart(a.src()), &s, &Source::Same, d, None, &R)).unwrap();
    assert_eq!(z.values(), y.values());
    let mut z = Tensor::f32(&[1, 3], &a.values());
    z.write(|d| scalar_tensor_tensor(&p, &Source::Same, &s, &t, d, None, &R)).unwrap();
    assert_eq!(z.values(), y.values());
    z.write(|d| scalar_tensor_tensor(&p, &Source::Same, &s, &Source::Same, d, None, &R)).unwrap();
    assert_eq!(z.values(), [120.0, 0.0, 840.0], "(x - 2) * x");
}

#[test]
fn tensor_scalar_reduce_folds_the_elementwise_results() {
    let x = Tensor::f32(&[2, 3], &[1.0, 2.0, 3.0, -4.0, 5.0, 0.5]);
    let state = Accumulator::default();
    let epilogue = Epilogue {
        kind: EngineAccumulationType::ZeroAccumulate,
        op: AluOp::Max,
        init: None,
        state: &state,
        profile: &R,
    };
    let mut y = Tensor::zeros(Dtype::Int8, &[2, 3]);
    let two = Input::Imm(Imm::f32(0.75));
    y.write(|d| {
        tensor_scalar_ptr(
            &ptr(AluOp::Mult, AluOp::Max),
            &Source::Apart(x.src()),
            Some(&two),
            None,
            d,
            Some(&epilogue),
            &R,
        )
    })
    .unwrap();
    assert_eq!(y.values(), [1.0, 2.0, 2.0, -3.0, 4.0, 0.0]);
    assert_eq!((state.get(0), state.get(1)), (2.25, 3.75), "folded before the result is rounded to int8");
}

#[test]
fn d4_paths() {
    use AluOp::*;
    use Dtype::*;
    let device = Profile::device();
    let path = |op, pool, a, b, out| tensor_tensor_path(op, pool, [a, b], out, &R);
    assert_eq!(path(BitwiseAnd, false, Float32, Float32, Float32), NumericPath::Int);
    assert_eq!(path(Add, true, Int32, Uint32, Int32), NumericPath::Address);
    assert_eq!(path(Add, true, Int32, Int16, Int32), NumericPath::Int);
    assert_eq!(path(Add, true, Int32, Int32, Float32), NumericPath::Int);
    assert_eq!(path(Max, true, Int32, Int32, Int32), NumericPath::Int);
    assert_eq!(path(Add, false, Int32, Int32, Int32), NumericPath::Int);
    assert_eq!(path(Add, false, Int32, Float32, Int32), NumericPath::Float);
    assert_eq!(path(Pow, false, Int32, Int32, Int32), NumericPath::Float);
    assert_eq!(tensor_tensor_path(Add, false, [Int32, Int32], Int32, &device), NumericPath::Float);
    assert_eq!(tensor_tensor_path(Add, true, [Int32, Int32], Int32, &device), NumericPath::Address);
    assert_eq!(tensor_reduce_path(Add, false, Int32, Int32, &R), NumericPath::Int);
    assert_eq!(tensor_reduce_path(Add, false, Int32, Int16, &R), NumericPath::Float);
    assert_eq!(tensor_reduce_path(BitwiseOr, false, Int16, Int16, &R), NumericPath::Int);
    assert_eq!(tensor_reduce_path(Add, true, Uint32, Uint32, &R), NumericPath::Address);
    assert_eq!(tensor_reduce_path(Average, false, Int32, Int32, &R), NumericPath::Float);
}

#[test]
fn d4_integer_arithmetic_of_tensor_tensor() {
    let a = Tensor::i32(&[1, 3], &[0x0100_0001, i32::MAX, i32::MIN]);
    let b = Tensor::i32(&[1, 3], &[1, 1, -1]);
    let mut y = Tensor::zeros(Dtype::Int32, &[1, 3]);
    y.write(|d| tensor_tensor(&tt(AluOp::Add), &Source::Apart(a.src()), &Source::Apart(b.src()), d, None, &R)).unwrap();
    assert_eq!(y.ints(), [0x0100_0002, i32::MAX, i32::MIN], "saturates");
    let pool = TensorTensor { op: AluOp::Add, on_pool: true };
    y.write(|d| tensor_tensor(&pool, &Source::Apart(a.src()), &Source::Apart(b.src()), d, None, &R)).unwrap();
    assert_eq!(y.ints(), [0x0100_0002, i32::MIN, i32::MAX], "wraps");
    let mut wide = Tensor::zeros(Dtype::Int64, &[1, 3]);
    wide.write(|d| tensor_tensor(&pool, &Source::Apart(a.src()), &Source::Apart(b.src()), d, None, &R)).unwrap();
    assert_eq!(wide.longs(), [0x0100_0002, i64::from(i32::MIN), i64::from(i32::MAX)], "at the operand width");
    y.write(|d| {
        tensor_tensor(&tt(AluOp::Add), &Source::Apart(a.src()), &Source::Apart(b.src()), d, None, &Profile::device())
    })
    .unwrap();
    assert_eq!(y.ints(), [0x0100_0000, i32::MAX, i32::MIN], "float32 on the device");
}

#[test]
fn d53_integer_results_saturate_in_narrower_destinations() {
    let ints = |dtype: Dtype, v: &[i64]| {
        let mut t = Tensor::zeros(dtype, &[1, v.len() as u32]);
        birsim_kernels::cast::encode_i64(dtype, birsim_kernels::cast::Fp8Config::DEFAULT, v, &mut t.bytes);
        t
    };
    let run = |op, on_pool, a: &Tensor, b: &Tensor, out: Dtype| {
        let mut y = Tensor::zeros(out, &a.nums);
        y.write(|d| {
            tensor_tensor(&TensorTensor { op, on_pool }, &Source::Apart(a.src()), &Source::Apart(b.src()), d, None, &R)
        })
        .unwrap();
        let mut got = vec![0i64; a.nums[1] as usize];
        birsim_kernels::cast::decode_i64(out, &y.bytes, &mut got);
        got
    };
    let (a, b) = (ints(Dtype::Uint8, &[200, 3, 255]), ints(Dtype::Uint8, &[100, 5, 255]));
    for on_pool in [false, true] {
        assert_eq!(run(AluOp::Add, on_pool, &a, &b, Dtype::Uint8), [255, 8, 255]);
        assert_eq!(run(AluOp::Subtract, on_pool, &a, &b, Dtype::Uint8), [100, 0, 0]);
        assert_eq!(run(AluOp::Mult, on_pool, &a, &b, Dtype::Int16), [20_000, 15, 32_767]);
        assert_eq!(run(AluOp::LogicalShiftLeft, on_pool, &a, &b, Dtype::Uint8), [0, 96, 0], "low bits");
        assert_eq!(run(AluOp::BitwiseNot, on_pool, &a, &b, Dtype::Uint8), [55, 252, 0]);
    }
    let wide = ints(Dtype::Int32, &[i64::from(i32::MIN), -40_000, 70_000]);
    assert_eq!(run(AluOp::Add, false, &wide, &wide, Dtype::Int16), [-32_768, -32_768, 32_767]);
    assert_eq!(run(AluOp::Max, false, &wide, &wide, Dtype::Uint16), [0, 0, 65_535]);
    // The address map: 64-bit operands into 32 bits saturate, equal widths wrap.
    let (c, d) = (ints(Dtype::Int64, &[1 << 40, -(1 << 40), 7]), ints(Dtype::Int64, &[1, -1, -9]));
    assert_eq!(run(AluOp::Add, true, &c, &d, Dtype::Int32), [i64::from(i32::MAX), i64::from(i32::MIN), -2]);
    assert_eq!(run(AluOp::Add, true, &c, &d, Dtype::Uint32), [u32::MAX.into(), 0, 0]);
    let (e, f) = (ints(Dtype::Uint64, &[-1, 5, 1 << 33]), ints(Dtype::Uint64, &[0, 4, 0]));
    assert_eq!(run(AluOp::Add, true, &e, &f, Dtype::Uint32), [u32::MAX.into(), 9, u32::MAX.into()]);
    assert_eq!(run(AluOp::Add, true, &wide, &wide, Dtype::Int32), [0, -80_000, 140_000], "wraps at equal width");
}

#[test]
fn fault_71_partition_counts_must_agree() {
    let one = Tensor::f32(&[1, 4], &[1.0; 4]);
    let many = Tensor::f32(&[8, 4], &[2.0; 32]);
    let mut y = Tensor::zeros(Dtype::Float32, &[8, 4]);
    for (a, b) in [(&one, &many), (&many, &one)] {
        let e = y
            .write(|d| {
                tensor_tensor(&tt(AluOp::Subtract), &Source::Apart(a.src()), &Source::Apart(b.src()), d, None, &R)
            })
            .err()
            .unwrap();
        assert_eq!(e.code(), Code::S002);
    }
    // A free-dimension broadcast by step 0 is allowed.
    let stretched =
        Pattern::new(Dtype::Float32, 0, &[Pair { stride: 16, num: 8 }, Pair { stride: 0, num: 4 }]).unwrap();
    let b = Src::new(&many.bytes, keep(stretched)).unwrap();
    y.write(|d| tensor_tensor(&tt(AluOp::Subtract), &Source::Apart(many.src()), &Source::Apart(b), d, None, &R))
        .unwrap();
    assert_eq!(y.values(), [0.0; 32]);
}

#[test]
fn packed_and_uint64_operands_are_refused() {
    let x = Tensor::zeros(Dtype::Float8E5m2X4, &[1, 2]);
    let f = Tensor::f32(&[1, 2], &[1.0, 2.0]);
    let mut y = Tensor::zeros(Dtype::Float32, &[1, 2]);
    let add = ts(AluOp::Add, 1.0, AluOp::Bypass, 0.0);
    assert_eq!(y.write(|d| tensor_scalar(&add, &Source::Apart(x.src()), d, &R)).err().unwrap().code(), Code::S007);
    assert_eq!(
        y.write(|d| tensor_tensor(&tt(AluOp::Add), &Source::Apart(f.src()), &Source::Apart(x.src()), d, None, &R))
            .err()
            .unwrap()
            .code(),
        Code::S007
    );
    let mut wide = Tensor::zeros(Dtype::Uint64, &[1, 2]);
    assert_eq!(wide.write(|d| tensor_scalar(&add, &Source::Apart(f.src()), d, &R)).err().unwrap().code(), Code::S007);
}

/// Runs in place: the source is the destination itself.
fn in_place(bytes: &mut [u8], dtype: Dtype, nums: &[u32], f: impl FnOnce(&Source, &mut Dst)) {
    f(&Source::Same, &mut Dst::new(bytes, keep(Pattern::dense(dtype, nums).unwrap())).unwrap());
}

#[test]
fn in_place_operands_give_the_same_bits() {
    let nums = [3, 1500];
    let values = Rng(7).floats(4500);
    for dtype in [Dtype::Float32, Dtype::Float32r, Dtype::Bfloat16, Dtype::Int32, Dtype::Float8e4] {
        let a = Tensor::of(dtype, &nums, &values);
        let b = Tensor::f32(&nums, &Rng(8).floats(4500));
        let p = TensorScalar { reverse1: true, ..ts(AluOp::Mult, 1.5, AluOp::Subtract, 3.25) };
        let mut expected = Tensor::zeros(dtype, &nums);
        expected.write(|d| tensor_scalar(&p, &Source::Apart(a.src()), d, &R)).unwrap();
        let mut bytes = a.bytes.clone();
        in_place(&mut bytes, dtype, &nums, |s, d| tensor_scalar(&p, s, d, &R).unwrap());
        assert_eq!(bytes, expected.bytes, "{dtype}");
        for op in [AluOp::Subtract, AluOp::BitwiseXor] {
            expected
                .write(|d| tensor_tensor(&tt(op), &Source::Apart(a.src()), &Source::Apart(b.src()), d, None, &R))
                .unwrap();
            let mut bytes = a.bytes.clone();
            in_place(&mut bytes, dtype, &nums, |s, d| {
                tensor_tensor(&tt(op), s, &Source::Apart(b.src()), d, None, &R).unwrap()
            });
            assert_eq!(bytes, expected.bytes, "left operand, {dtype}");
            expected
                .write(|d| tensor_tensor(&tt(op), &Source::Apart(b.src()), &Source::Apart(a.src()), d, None, &R))
                .unwrap();
            let mut bytes = a.bytes.clone();
            in_place(&mut bytes, dtype, &nums, |s, d| {
                tensor_tensor(&tt(op), &Source::Apart(b.src()), s, d, None, &R).unwrap()
            });
            assert_eq!(bytes, expected.bytes, "right operand, {dtype}");
            expected
                .write(|d| tensor_tensor(&tt(op), &Source::Apart(a.src()), &Source::Apart(a.src()), d, None, &R))
                .unwrap();
            let mut bytes = a.bytes.clone();
            in_place(&mut bytes, dtype, &nums, |s, d| tensor_tensor(&tt(op), s, s, d, None, &R).unwrap());
            assert_eq!(bytes, expected.bytes, "both, {dtype}");
        }
    }
}

#[test]
fn fault_67_comparisons_with_nan_are_false() {
    let x = Tensor::f32(&[1, 2], &[f32::NAN, 0.0]);
    let mut y = Tensor::zeros(Dtype::Uint8, &[1, 2]);
    for (op, expected) in
        [(AluOp::IsLt, [0, 1]), (AluOp::IsGe, [0, 0]), (AluOp::NotEqual, [1, 1]), (AluOp::IsEqual, [0, 0])]
    {
        y.write(|d| tensor_scalar(&ts(op, 1.0, AluOp::Bypass, 0.0), &Source::Apart(x.src()), d, &R)).unwrap();
        assert_eq!(y.bytes, expected, "{op}");
    }
    // !false: the negation of the comparison.
    y.write(|d| tensor_scalar(&ts(AluOp::IsLt, 1.0, AluOp::IsEqual, 0.0), &Source::Apart(x.src()), d, &R)).unwrap();
    assert_eq!(y.bytes, [1, 0]);
}

#[test]
fn fault_69_byte_offsets_and_the_sum_past_the_largest_fp8() {
    let bytes: Vec<u8> = (0..64).collect();
    for offset in [1, 2, 3, 5, 15] {
        let pattern =
            Pattern::new(Dtype::Uint8, offset, &[Pair { stride: 20, num: 2 }, Pair { stride: 1, num: 16 }]).unwrap();
        let mut y = Tensor::zeros(Dtype::Uint8, &[2, 16]);
        let src = Src::new(&bytes, keep(pattern)).unwrap();
        y.write(|d| tensor_scalar(&ts(AluOp::Add, 100.0, AluOp::Bypass, 0.0), &Source::Apart(src), d, &R)).unwrap();
        let expected: Vec<u8> = (0..32).map(|k| 100 + offset as u8 + 20 * (k / 16) + k % 16).collect();
        assert_eq!(y.bytes, expected);
    }
    let (a, b) =
        (Tensor::of(Dtype::Float8E4m3fn, &[1, 1], &[448.0]), Tensor::of(Dtype::Float8E4m3fn, &[1, 1], &[18.0]));
    let mut y = Tensor::zeros(Dtype::Float8E4m3fn, &[1, 1]);
    y.write(|d| tensor_tensor(&tt(AluOp::Add), &Source::Apart(a.src()), &Source::Apart(b.src()), d, None, &R)).unwrap();
    assert_eq!(y.bytes, [0x7E], "466 rounds past the largest value and saturates");
    let open = Profile { fp8_saturate: false, ..R };
    y.write(|d| tensor_tensor(&tt(AluOp::Add), &Source::Apart(a.src()), &Source::Apart(b.src()), d, None, &open))
        .unwrap();
    assert_eq!(y.bytes, [0x7F], "NaN without saturation");
}

#[test]
fn dense_lanes_that_are_joined_give_the_values_of_a_plain_loop_in_place_too() {
    let mut rng = Rng(9);
    for (lanes, n) in [(32, 3), (64, 40), (128, 512), (48, 1500), (33, 70)] {
        let count = (lanes * n) as usize;
        let (a, b) = (rng.floats(count), rng.floats(count));
        let (x, y) = (Tensor::f32(&[lanes, n], &a), Tensor::f32(&[lanes, n], &b));
        let expected: Vec<u32> = a.iter().zip(&b).map(|(a, b)| (a - b).to_bits()).collect();
        let p = TensorTensor { op: AluOp::Subtract, on_pool: false };
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut z = Tensor::zeros(Dtype::Float32, &[lanes, n]);
            pool.install(|| {
                z.write(|d| tensor_tensor(&p, &Source::Apart(x.src()), &Source::Apart(y.src()), d, None, &R))
                    .map(|_| ())
            })
            .unwrap();
            assert_eq!(z.bits(), expected, "{lanes} x {n}");
            // The destination is the first operand.
            let mut w = Tensor::f32(&[lanes, n], &a);
            pool.install(|| {
                w.write(|d| tensor_tensor(&p, &Source::Same, &Source::Apart(y.src()), d, None, &R)).map(|_| ())
            })
            .unwrap();
            assert_eq!(w.bits(), expected, "{lanes} x {n} in place");
        }
    }
}
