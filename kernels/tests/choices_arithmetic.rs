//! Profile fields of conversions, arithmetic and folds: each value of each field shows in a result.

mod views;
use birsim_kernels::access::{Imm, Input, Source};
use birsim_kernels::accumulate::{Accumulator, EngineAccumulationType as Acc, Epilogue};
use birsim_kernels::activation::{Activation, ActivationFunctionType, Front, activation};
use birsim_kernels::alu::{AluOp, Operation, float_op};
use birsim_kernels::cast::cast;
use birsim_kernels::elementwise::*;
use birsim_kernels::pool::{PoolFunctionType, pool};
use birsim_kernels::reduce::{AxisListType, TensorReduce, tensor_reduce};
use birsim_kernels::scan::{TSCMode, TensorScalarCache, tensor_scalar_cache};
use birsim_kernels::{Code, Dtype, Profile};
use views::Tensor;

fn with(field: &str, value: &str) -> Profile {
    let mut p = Profile::reference();
    p.set(field, value).unwrap();
    p
}

/// The first byte of each value cast to `to`.
fn narrowed(values: &[f32], to: Dtype, p: &Profile) -> Vec<u8> {
    let mut out = vec![0; values.len() * to.size()];
    cast(Dtype::Float32, to, p.fp8(), bytemuck::cast_slice(values), &mut out).unwrap();
    out.chunks(to.size()).map(|b| b[0]).collect()
}

#[test]
fn fp8_round_past_max_saturates_or_carries() {
    let (documented, carry) = (Profile::reference(), with("fp8_round_past_max", "carry"));
    for (to, inside, past, largest, next) in [
        (Dtype::Float8E4m3fn, 465.0, 512.0, 0x7E, 0x7F),
        (Dtype::Float8e5, 61440.0, 65536.0, 0x7B, 0x7C),
        (Dtype::Float8e4, 248.0, 256.0, 0x77, 0x78),
        (Dtype::Float8e3, 15.75, 16.0, 0x6F, 0x70),
    ] {
        let values = [inside, past, f32::INFINITY, 1.0];
        assert_eq!(narrowed(&values, to, &documented)[..3], [largest; 3], "{to}");
        assert_eq!(narrowed(&values, to, &carry)[..3], [next, largest, largest], "{to}");
        assert_eq!(narrowed(&values, to, &documented)[3], narrowed(&values, to, &carry)[3]);
        assert_eq!(narrowed(&[f32::NAN], to, &documented), narrowed(&[f32::NAN], to, &carry));
    }
}

#[test]
fn fp8_e5m2_nan_is_a_nan_or_an_overflow() {
    let values = [f32::NAN, -f32::NAN, f32::INFINITY];
    assert_eq!(narrowed(&values, Dtype::Float8e5, &Profile::reference()), [0x7E, 0x7E, 0x7B]);
    let mut p = with("fp8_e5m2_nan_overflows", "true");
    assert_eq!(narrowed(&values, Dtype::Float8e5, &p), [0x7B, 0xFB, 0x7B]);
    assert_eq!(narrowed(&values, Dtype::Float8E4m3fn, &p)[0], 0x7F, "only float8e5");
    p.fp8_saturate = false;
    assert_eq!(narrowed(&values, Dtype::Float8e5, &p), [0x7E, 0x7E, 0x7C]);
}

#[test]
fn float_to_int_saturates_or_goes_by_way_of_int32() {
    let (documented, by_way) = (Profile::reference(), with("float_to_int", "via_int32"));
    let values = [1e9, 1e10, -1e10, 2_147_483_648.0, f32::INFINITY, f32::NEG_INFINITY, 0.5, -0.5, 126.5, 300.0];
    let int8 = |v: [i8; 10]| v.map(|v| v as u8).to_vec();
    assert_eq!(narrowed(&values, Dtype::Int8, &documented), int8([127, 127, -128, 127, 127, -128, 0, 0, 126, 127]));
    assert_eq!(narrowed(&values, Dtype::Int8, &by_way), int8([127, -128, -128, -128, 127, -128, 0, 0, 126, 127]));
    assert_eq!(narrowed(&values[..3], Dtype::Uint8, &documented), [255, 255, 0]);
    assert_eq!(narrowed(&values[..3], Dtype::Uint8, &by_way), [255, 0, 0]);
    for to in [Dtype::Int16, Dtype::Uint16, Dtype::Int32, Dtype::Uint32] {
        let (a, b) = (narrowed(&values[6..], to, &documented), narrowed(&values[6..], to, &by_way));
        assert_eq!(a, b, "{to}: small values do not care");
    }
    for v in [f32::NAN, -f32::NAN] {
        assert_eq!(narrowed(&[v], Dtype::Int16, &documented), narrowed(&[v], Dtype::Int16, &by_way));
    }
}

fn scalar(op0: AluOp, const0: f64, x: &Tensor, to: Dtype, p: &Profile) -> Tensor {
    let form = TensorScalar { op0, const0, reverse0: false, op1: AluOp::Bypass, const1: 0.0, reverse1: false };
    let mut y = Tensor::filled(to, &x.shape, 0);
    tensor_scalar(&form, &Source::Apart(x.src()), &mut y.dst(), p).unwrap();
    y
}

#[test]
fn d3_integer_operands_keep_bits_or_pass_through_float32() {
    let x = Tensor::of(Dtype::Uint32, &[1, 3], &[0x8000_0001u32, 5, 0x0100_0001]);
    let (bits, hub) = (Profile::reference(), with("integer_operands", "hub"));
    let out = |p: &Profile| scalar(AluOp::BitwiseOr, 0.0, &x, Dtype::Uint32, p).values::<u32>();
    assert_eq!(out(&bits), [0x8000_0001, 5, 0x0100_0001]);
    // 2^31 + 1 rounds to 2^31, clamps to 2^31 - 1, and rounds to 2^31 again on its way out; 2^24 + 1 loses its last bit.
    assert_eq!(out(&hub), [0x8000_0000, 5, 0x0100_0000]);
    let tensors = |p: &Profile| {
        let mut y = Tensor::filled(Dtype::Uint32, &[1, 3], 0);
        let form = TensorTensor { op: AluOp::BitwiseAnd, on_pool: true };
        tensor_tensor(&form, &Source::Apart(x.src()), &Source::Apart(x.src()), &mut y.dst(), None, p).unwrap();
        let mut z = Tensor::filled(Dtype::Uint32, &[1, 3], 0);
        let form = TensorScalarPtr {
            op0: AluOp::BitwiseXor,
            reverse0: false,
            op1: AluOp::Bypass,
            reverse1: false,
            address: false,
        };
        let zero = Tensor::of(Dtype::Uint32, &[1, 1], &[0u32]);
        tensor_scalar_ptr(&form, &Source::Apart(x.src()), Some(&Input::View(zero.src())), None, &mut z.dst(), None, p)
            .unwrap();
        assert_eq!(y, z);
        y.values::<u32>()
    };
    assert_eq!(tensors(&bits), [0x8000_0001, 5, 0x0100_0001]);
    assert_eq!(tensors(&hub), [0x8000_0000, 5, 0x0100_0000]);
    let reduced = |p: &Profile| {
        let mut y = Tensor::filled(Dtype::Uint32, &[1, 1], 0);
        tensor_reduce(&fold(AluOp::BitwiseOr), &x.src(), &mut y.dst(), p).unwrap();
        y.values::<u32>()[0]
    };
    assert_eq!([reduced(&bits), reduced(&hub)], [0x8100_0005, 0x8000_0000]);
}

fn fold(op: AluOp) -> TensorReduce {
    TensorReduce { op, axis: AxisListType::X, negate: false, apply_transpose: false, accumulate: None, on_pool: false }
}

#[test]
fn d2_immediates_are_integers_or_float_bits() {
    let x = Tensor::i32(&[1, 1], &[6]);
    let bits = with("bitvec_immediate", "float_bits");
    assert_eq!(scalar(AluOp::BitwiseXor, 1.0, &x, Dtype::Int32, &Profile::reference()).values::<i32>(), [7]);
    assert_eq!(scalar(AluOp::BitwiseXor, 1.0, &x, Dtype::Int32, &bits).values::<i32>(), [0x3F80_0006]);
    assert_eq!(scalar(AluOp::BitwiseAnd, 0.75, &x, Dtype::Int32, &bits).values::<i32>(), [0]);
    let ptr = |p: &Profile, imm: Imm| {
        let mut y = Tensor::i32(&[1, 1], &[0]);
        let form = TensorScalarPtr {
            op0: AluOp::BitwiseXor,
            reverse0: false,
            op1: AluOp::Bypass,
            reverse1: false,
            address: false,
        };
        tensor_scalar_ptr(&form, &Source::Apart(x.src()), Some(&Input::Imm(imm)), None, &mut y.dst(), None, p)
            .map(|()| y.values::<i32>()[0])
    };
    assert_eq!(ptr(&Profile::reference(), Imm::f32(1.0)).unwrap(), 7);
    assert_eq!(ptr(&bits, Imm::f32(1.0)).unwrap(), 0x3F80_0006);
    assert_eq!(ptr(&bits, Imm::i32(1)).unwrap(), 7, "an integer is taken as it is");
    assert_eq!(ptr(&Profile::reference(), Imm::f32(0.5)).unwrap_err().code(), Code::J011);
}

fn sum(a: i32, b: i32, on_pool: bool, p: &Profile) -> i32 {
    let (a, b, mut y) = (Tensor::i32(&[1, 1], &[a]), Tensor::i32(&[1, 1], &[b]), Tensor::i32(&[1, 1], &[0]));
    tensor_tensor(
        &TensorTensor { op: AluOp::Add, on_pool },
        &Source::Apart(a.src()),
        &Source::Apart(b.src()),
        &mut y.dst(),
        None,
        p,
    )
    .unwrap();
    y.values::<i32>()[0]
}

#[test]
fn d4_the_paths_of_integer_arithmetic() {
    let documented = Profile::reference();
    assert_eq!(sum(i32::MAX, 1, true, &documented), i32::MIN, "Pool wraps");
    assert_eq!(sum(i32::MAX, 1, true, &with("pool_integer", "false")), i32::MAX, "as on any other engine");
    assert_eq!(sum(i32::MAX, 1, false, &documented), i32::MAX, "the int map saturates");
    assert_eq!(sum(i32::MAX, 1, false, &with("integer_overflow", "wrap")), i32::MIN);
    let float = with("integer_arithmetic", "false");
    assert_eq!([sum(16_777_217, 1, false, &documented), sum(16_777_217, 1, false, &float)], [16_777_218, 16_777_216]);
    for (op, a, b, wrapped) in [(AluOp::Subtract, i32::MIN, 1, i32::MAX), (AluOp::Mult, 1 << 20, 1 << 12, 0)] {
        let (a, b) = (Tensor::i32(&[1, 1], &[a]), Tensor::i32(&[1, 1], &[b]));
        let mut y = Tensor::i32(&[1, 1], &[0]);
        let form = TensorTensor { op, on_pool: false };
        tensor_tensor(
            &form,
            &Source::Apart(a.src()),
            &Source::Apart(b.src()),
            &mut y.dst(),
            None,
            &with("integer_overflow", "wrap"),
        )
        .unwrap();
        assert_eq!(y.values::<i32>(), [wrapped], "{op}");
    }
}

#[test]
fn shift_amounts_shift_out_or_are_masked() {
    let x = Tensor::i32(&[1, 1], &[-8]);
    let masked = with("shift_range", "masked");
    for (op, by, out, kept) in [
        (AluOp::LogicalShiftLeft, 33.0, 0, -16),
        (AluOp::ArithShiftRight, 33.0, -1, -4),
        (AluOp::LogicalShiftRight, 33.0, 0, 0x7FFF_FFFC),
        (AluOp::ArithShiftRight, -1.0, -1, -1),
        (AluOp::LogicalShiftRight, -31.0, 0, 0x7FFF_FFFC),
        (AluOp::ArithShiftRight, 3.0, -1, -1),
    ] {
        assert_eq!(scalar(op, by, &x, Dtype::Int32, &Profile::reference()).values::<i32>(), [out], "{op} {by}");
        assert_eq!(scalar(op, by, &x, Dtype::Int32, &masked).values::<i32>(), [kept], "{op} {by} masked");
    }
}

#[test]
fn d5_max_and_min_follow_sse_or_ieee() {
    let (sse, ieee) = (Profile::reference(), with("float_max_min", "ieee"));
    let call = |op, p: &Profile, a: f32, b: f32| float_op(op, p).unwrap().call(a, b).to_bits();
    let nan = f32::NAN;
    for (op, a, b, by_sse, by_ieee) in [
        (AluOp::Max, nan, 1.0, 1.0, 1.0),
        (AluOp::Max, 1.0, nan, nan, 1.0),
        (AluOp::Min, 1.0, nan, nan, 1.0),
        (AluOp::Max, 0.0, -0.0, -0.0, 0.0),
        (AluOp::Max, -0.0, 0.0, 0.0, 0.0),
        (AluOp::Min, -0.0, 0.0, 0.0, -0.0),
        (AluOp::Min, 0.0, -0.0, -0.0, -0.0),
        (AluOp::Max, 2.0, 3.0, 3.0, 3.0),
        (AluOp::Min, f32::NEG_INFINITY, 3.0, f32::NEG_INFINITY, f32::NEG_INFINITY),
    ] {
        assert_eq!(call(op, &sse, a, b), by_sse.to_bits(), "{op} {a} {b}");
        assert_eq!(call(op, &ieee, a, b), by_ieee.to_bits(), "{op} {a} {b} ieee");
    }
    // Block loops and folds as single calls.
    let x = Tensor::f32(&[1, 40], &std::array::from_fn::<f32, 40, _>(|k| if k == 39 { nan } else { -(k as f32) }));
    for (p, want) in [(&sse, nan), (&ieee, 0.0)] {
        let mut y = Tensor::f32(&[1, 1], &[7.0]);
        tensor_reduce(&fold(AluOp::Max), &x.src(), &mut y.dst(), p).unwrap();
        assert_eq!(y.values::<f32>()[0].is_nan(), want.is_nan());
        let y = scalar(AluOp::Max, -3.0, &x, Dtype::Float32, p).values::<f32>();
        assert_eq!((y[0], y[10], y[39]), (0.0, -3.0, -3.0));
    }
}

fn cached(op0: AluOp, op1: AluOp, second: Option<f32>, p: &Profile) -> Vec<f32> {
    let x = Tensor::f32(&[1, 3], &[2.0, 3.0, 4.0]);
    let mut y = Tensor::f32(&[1, 3], &[0.0; 3]);
    let form = TensorScalarCache {
        op0,
        reverse0: false,
        op1,
        reverse1: false,
        mode: TSCMode::Cumulative,
        acc: Acc::ZeroAccumulate,
    };
    let second = second.map(|s| Input::Imm(Imm::f32(s)));
    tensor_scalar_cache(&form, &x.src(), second.as_ref(), None, &mut y.dst(), p).unwrap();
    y.values()
}

#[test]
fn d6_the_stage_that_meets_the_cache_and_its_start() {
    let (documented, first) = (Profile::reference(), with("cache_stage", "first"));
    // v = in * 10, cache = v + cache; the other page: v = in * cache, cache = v + 10.
    assert_eq!(cached(AluOp::Mult, AluOp::Add, Some(10.0), &documented), [20.0, 50.0, 90.0]);
    assert_eq!(cached(AluOp::Mult, AluOp::Add, Some(10.0), &first), [10.0, 40.0, 170.0]);
    assert_eq!(cached(AluOp::Mult, AluOp::Add, None, &documented), cached(AluOp::Mult, AluOp::Add, None, &first));
    let zero = with("cache_start", "zero");
    assert_eq!(cached(AluOp::Mult, AluOp::Max, Some(-1.0), &documented), [-2.0, -2.0, -2.0], "starts at -inf");
    assert_eq!(cached(AluOp::Mult, AluOp::Max, Some(-1.0), &zero), [0.0; 3]);
    assert_eq!(cached(AluOp::Mult, AluOp::Mult, Some(1.0), &documented), [2.0, 6.0, 24.0]);
    assert_eq!(cached(AluOp::Mult, AluOp::Mult, Some(1.0), &zero), [0.0; 3]);
}

/// The accumulator after out = in + 0 into `to`, folded by `op`.
fn folded(x: &[f32], to: Dtype, op: AluOp, p: &Profile) -> f32 {
    let (state, zero) = (Accumulator::default(), Tensor::f32(&[1, x.len() as u32], &vec![0.0; x.len()]));
    let x = Tensor::f32(&[1, x.len() as u32], x);
    let mut y = Tensor::filled(to, &x.shape, 0);
    let e = Epilogue { kind: Acc::ZeroAccumulate, op, init: None, state: &state, profile: p };
    let form = TensorTensor { op: AluOp::Add, on_pool: false };
    tensor_tensor(&form, &Source::Apart(x.src()), &Source::Apart(zero.src()), &mut y.dst(), Some(&e), p).unwrap();
    state.get(0)
}

#[test]
fn the_epilogue_starts_and_rounds_by_the_profile() {
    let documented = Profile::reference();
    let (zero, after) = (with("epilogue_seed", "zero"), with("epilogue_rounding", "after"));
    assert_eq!(folded(&[-3.0, -1.0, -2.0], Dtype::Float32, AluOp::Max, &documented), -1.0);
    assert_eq!(folded(&[-3.0, -1.0, -2.0], Dtype::Float32, AluOp::Max, &zero), 0.0);
    assert_eq!(folded(&[3.0, 1.0], Dtype::Float32, AluOp::Min, &zero), 0.0);
    assert_eq!(folded(&[3.0, 1.0], Dtype::Float32, AluOp::Add, &zero), 4.0);
    // 1 + 2^-9 is 1 in bfloat16.
    let x = [1.0 + 2f32.powi(-9); 200];
    assert_eq!(folded(&x, Dtype::Bfloat16, AluOp::Add, &documented), 200.0 * (1.0 + 2f32.powi(-9)));
    assert_eq!(folded(&x, Dtype::Bfloat16, AluOp::Add, &after), 200.0);
    assert_eq!(folded(&x, Dtype::Float32, AluOp::Add, &after), 200.0 * (1.0 + 2f32.powi(-9)));
    assert_eq!(folded(&[300.0, 1.4], Dtype::Int8, AluOp::Add, &after), 128.0);
}

fn activated(func: ActivationFunctionType, x: &[f32], p: &Profile) -> Vec<f32> {
    let x = Tensor::f32(&[1, x.len() as u32], x);
    let mut y = Tensor::f32(&x.shape.clone(), &vec![0.0; x.shape[1] as usize]);
    let one = |v| Input::Imm(Imm::f32(v));
    let form = Activation {
        func,
        front: Front::Affine { scale: one(1.0), bias: one(0.0) },
        alpha: one(0.0),
        epilogue: None,
        tables: None,
    };
    activation(&form, &Source::Apart(x.src()), &mut y.dst(), p).unwrap();
    y.values()
}

#[test]
fn activation_constants_multiply_in_double_or_float() {
    use ActivationFunctionType as F;
    let float = with("activation_constants", "float");
    let x: Vec<f32> = (-300..300).map(|k| k as f32 * 0.0137).collect();
    let ulps = |a: f32, b: f32| (a.to_bits() as i32).abs_diff(b.to_bits() as i32);
    for func in [F::Lrelu, F::DerivativeGelu] {
        let (a, b) = (activated(func, &x, &Profile::reference()), activated(func, &x, &float));
        assert!(a != b, "{func}");
        // One rounding more; near its zero the derivative of gelu cancels.
        let close = |a: f32, b: f32| ulps(a, b) <= 1 || (a - b).abs() < 2e-8;
        assert!(a.iter().zip(&b).all(|(a, b)| close(*a, *b)), "{func}");
    }
    for (x, y) in x.iter().zip(activated(F::Lrelu, &x, &float)) {
        assert_eq!(y, if *x <= 0.0 { 0.01f32 * x } else { *x });
    }
    for (x, y) in x.iter().zip(activated(F::Lrelu, &x, &Profile::reference())) {
        assert_eq!(y, if *x <= 0.0 { (0.01 * f64::from(*x)) as f32 } else { *x });
    }
    // The constant of Derivative_Erf is a float32 number, so both products round to the same.
    for func in [F::DerivativeErf, F::Tanh] {
        assert!(activated(func, &x, &Profile::reference()) == activated(func, &x, &float), "{func}");
    }
}

fn averaged(x: &[f32], p: &Profile) -> f32 {
    let x = Tensor::f32(&[1, 1, x.len() as u32], x);
    let mut y = Tensor::f32(&[1, 1], &[0.0]);
    let mut pattern = Tensor::f32(&[1, 1, 1, x.shape[2]], &x.values::<f32>());
    pattern.shape = vec![1, 1, 1, x.shape[2]];
    pool(PoolFunctionType::Avg, &pattern.src(), &mut y.dst(), p).unwrap();
    y.values::<f32>()[0]
}

#[test]
fn d25_an_average_pool_divides_in_one_of_three_ways() {
    let profiles = ["reciprocal_f64", "reciprocal_f32", "divide"].map(|v| with("pool_average", v));
    let (mut narrow_differs, mut divide_differs) = (false, false);
    for n in 1..60usize {
        for k in 1..40 {
            let mut x = vec![0.0f32; n];
            x[0] = k as f32 * 0.37;
            let sum = x[0];
            let want = [(f64::from(sum) * (1.0 / n as f64)) as f32, sum * ((1.0 / n as f64) as f32), sum / n as f32];
            let got = [0, 1, 2].map(|i| averaged(&x, &profiles[i]));
            assert_eq!(got.map(f32::to_bits), want.map(f32::to_bits), "{sum} / {n}");
            narrow_differs |= got[0] != got[1];
            divide_differs |= got[1] != got[2];
        }
    }
    assert!(narrow_differs && divide_differs);
    // 2^24 absorbs the 1 it meets first.
    let x = [16_777_216.0, 1.0, -16_777_216.0, 1.0];
    assert_eq!(averaged(&x, &Profile::reference()), 0.5);
    assert_eq!(averaged(&x, &with("pool_order", "pairs")), 0.25);
}
