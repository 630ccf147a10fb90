//! Activation (4) and relatives: values against an f64 reference, equality of paths, operands, epilogue.

use birsim_kernels::access::{Dst, Imm, Input, Pair, Pattern, Source, Src};
use birsim_kernels::accumulate::{Accumulator, EngineAccumulationType, Epilogue, read_accumulator};
use birsim_kernels::activation::ActivationFunctionType as F;
use birsim_kernels::activation::*;
use birsim_kernels::alu::AluOp;
use birsim_kernels::isa::Isa;
use birsim_kernels::profile::PastMax;
use birsim_kernels::{Code, Dtype, Named, Profile, cast};

/// A pattern that lives as long as the test.
fn keep(pattern: Pattern) -> &'static Pattern {
    Box::leak(Box::new(pattern))
}

/// The documented forms in double precision with another library's functions.
fn reference(f: F, x: f32, alpha: f32) -> f64 {
    let d = f64::from(x);
    let sigmoid = |u: f64| 1.0 / (libm::exp(-u) + 1.0);
    let softplus = |d: f64| libm::log1p(libm::exp(-d.abs())) + if d <= 0.0 { 0.0 } else { d };
    let derivative = |u: f64| {
        let e = libm::exp(u);
        (u + e + 1.0) * e / ((e + 1.0) * (e + 1.0))
    };
    match f {
        F::Identity | F::Copy => d,
        F::Square => f64::from(x * x),
        F::Relu => d.max(0.0),
        F::Lrelu => {
            if x <= 0.0 {
                0.01 * d
            } else {
                d
            }
        }
        F::Prelu => {
            if x <= 0.0 {
                f64::from(alpha * x)
            } else {
                d
            }
        }
        F::Sigmoid => sigmoid(d),
        F::Tanh => libm::tanh(d),
        F::Exp => libm::exp(d),
        F::Softplus => softplus(d),
        F::Sqrt => f64::from(x.sqrt()),
        F::Rsqrt => 1.0 / d.sqrt(),
        F::Ln => libm::log(d),
        F::LnPrime | F::Reciprocal => f64::from(1.0 / x),
        F::Erf => libm::erf(d),
        F::Sin => libm::sin(d),
        F::Arctan => libm::atan(d),
        F::Sign => {
            if x > 0.0 {
                1.0
            } else if x < 0.0 {
                -1.0
            } else {
                0.0
            }
        }
        F::Gelu => 0.5 * d * (libm::erf(d / f64::from_bits(0x3FF6_A09E_667F_3BCC)) + 1.0),
        F::Mish => d * libm::tanh(f64::from(softplus(d) as f32)),
        F::GeluApprxTanh => 0.5 * d * (libm::tanh((0.044715 * d * d * d + d) * 0.7978845608028654) + 1.0),
        F::GeluApprxSigmoid => d * f64::from(sigmoid(1.702 * d) as f32),
        F::DerivativeGeluApprxSigmoid => derivative(1.702 * d),
        F::DerivativeGelu => {
            0.5 * (libm::erf(d * std::f64::consts::FRAC_1_SQRT_2) + 1.0)
                + d * f64::from(f32::from_bits(0x3ECC_422A)) * libm::exp(-d * d / 2.0)
        }
        F::DerivativeErf => f64::from(libm::exp(-d * d) as f32) * f64::from(f32::from_bits(0x3F90_6EBB)),
        F::Abs => d.abs(),
        F::AbsReciprocalSqrt => 1.0 / d.abs().sqrt(),
        F::Silu => d / (libm::exp(-d) + 1.0),
        F::DerivativeSilu => derivative(d),
        F::MemsetZero => 0.0,
        F::IsFinite | F::Unknown => f64::NAN,
    }
}

fn functions() -> impl Iterator<Item = F> {
    F::ALL.iter().copied().filter(|f| !matches!(f, F::IsFinite | F::Unknown))
}

/// Position of a float on the line of floats, so that neighbours differ by one.
fn rank(x: f32) -> i64 {
    let b = x.to_bits() as i32;
    i64::from(if b < 0 { i32::MIN - b } else { b })
}

/// Arguments: every 4099th bit pattern, the neighbourhood of zero, one and the range ends, the specials.
fn sweep() -> Vec<f32> {
    let mut out: Vec<f32> = (0..=u32::MAX / 4099).map(|i| f32::from_bits(i * 4099)).collect();
    out.extend((-40_000..40_000).map(|i| i as f32 * 0.0005 + 1e-5));
    for c in [0.0f32, 1.0, -1.0, 0.5, 88.72284, -103.97, -87.33, 2.4142135, 0.41421357, 709.8, 1e-40, 3e-8, 33554432.0]
    {
        out.extend((-50..=50).map(|k| f32::from_bits(c.to_bits().wrapping_add_signed(k))));
    }
    out.extend([f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -0.0, f32::MAX, f32::MIN, f32::MIN_POSITIVE]);
    out
}

/// Largest error of the functions that compute in float32, in units of the last place of the exact value: what all 2^32
/// arguments show, rounded up.
fn single_bound(f: F) -> Option<f64> {
    Some(match f {
        F::Arctan => 0.99,
        F::Exp => 0.80,
        F::Ln => 0.83,
        F::Sigmoid => 0.80,
        F::Silu => 0.81,
        F::Sin => 0.87,
        F::Softplus => 0.82,
        F::Tanh => 1.0,
        _ => return None,
    })
}

/// |y - exact| in units of the last place of the binade of `exact`; an infinite y counts as 2^128.
fn error(y: f32, exact: f64) -> f64 {
    let top = 2f64.powi(128);
    let place = |v: f64| if v.is_infinite() { top.copysign(v) } else { v };
    let exponent = ((exact.to_bits() >> 52) & 0x7FF) as i32 - 1023;
    (place(f64::from(y)) - place(exact).clamp(-top, top)).abs() / 2f64.powi(exponent.clamp(-126, 127) - 23)
}

/// Every function against its form in double precision, on the sweep. `bound` gives the largest error of those that may be off.
fn sweep_against_the_forms(profile: &Profile, bound: impl Fn(F) -> Option<f64>) {
    let xs = sweep();
    let alpha = 0.3;
    for f in functions() {
        let mut got = xs.clone();
        apply(Isa::best(), f, alpha, &mut got, profile).unwrap();
        let mut wrong = 0usize;
        for (x, y) in xs.iter().zip(&got) {
            let exact = reference(f, *x, alpha);
            let want = exact as f32;
            if want.is_nan() || y.is_nan() {
                assert!(want.is_nan() && y.is_nan(), "{f}({x:e}): {y:e}, not {want:e}");
                continue;
            }
            let ulps = (rank(want) - rank(*y)).abs();
            // 1 + erf and 1 + tanh near -1 are multiples of 2^-53 in the form itself: half a step of slack there.
            let cancels = matches!(f, F::Gelu | F::GeluApprxTanh | F::DerivativeGelu) && *x < -1.0;
            let slack = if cancels { x.abs().max(1.0) * 1.2e-16 } else { 0.0 };
            let near = f64::from((y - want).abs()) <= f64::from(slack);
            assert!(ulps <= 1 || near, "{f}({x:e}): {y:e}, not {want:e}");
            if let Some(bound) = bound(f) {
                let off = error(*y, exact);
                assert!(off <= bound || near, "{f}({x:e}): {y:e}, not {exact:e}: {off} units");
                assert!(y.is_sign_negative() == want.is_sign_negative(), "{f}({x:e}): {y:e}, not {want:e}");
            }
            wrong += usize::from(ulps > 0 && !near);
        }
        // Nearly always it is the very same float.
        assert!(bound(f).is_some() || wrong * 20_000 <= xs.len(), "{f}: {wrong} of {} differ", xs.len());
    }
}

#[test]
fn d54_device_functions_are_within_one_ulp_of_their_form_in_double_precision() {
    sweep_against_the_forms(&Profile::device(), single_bound);
}

#[test]
fn d54_reference_functions_are_the_double_form_rounded_once() {
    assert!(Profile::reference().activation_double && !Profile::device().activation_double);
    sweep_against_the_forms(&Profile::reference(), |_| None);
}

/// The forms with correctly rounded functions: of float32 where the form is one function, else of double.
fn correctly_rounded(f: F, x: f32) -> Option<f32> {
    use pxfm::{f_erf, f_exp, f_log1p, f_tanh};
    let d = f64::from(x);
    let c = f64::from(f32::from_bits(0x3ECC_422A));
    let softplus = (f_log1p(f_exp(-d.abs())) + if d <= 0.0 { 0.0 } else { d }) as f32;
    let derivative = |u: f64| {
        let e = f_exp(u);
        ((u + e + 1.0) * e / ((e + 1.0) * (e + 1.0))) as f32
    };
    Some(match f {
        F::Exp => pxfm::f_expf(x),
        F::Ln => pxfm::f_logf(x),
        F::Tanh => pxfm::f_tanhf(x),
        F::Erf => pxfm::f_erff(x),
        F::Arctan => pxfm::f_atanf(x),
        F::Sin => pxfm::f_sinf(x),
        F::Sigmoid => (1.0 / (f_exp(-d) + 1.0)) as f32,
        F::Silu => (d / (f_exp(-d) + 1.0)) as f32,
        F::Softplus => softplus,
        F::Mish => (d * f_tanh(f64::from(softplus))) as f32,
        F::Gelu => (0.5 * d * (f_erf(d / f64::from_bits(0x3FF6_A09E_667F_3BCC)) + 1.0)) as f32,
        F::GeluApprxTanh => (0.5 * d * (f_tanh((0.044715 * (d * d * d) + d) * 0.7978845608028654) + 1.0)) as f32,
        F::GeluApprxSigmoid => (d * f64::from((1.0 / (f_exp(-1.702 * d) + 1.0)) as f32)) as f32,
        F::DerivativeGeluApprxSigmoid => derivative(1.702 * d),
        F::DerivativeSilu => derivative(d),
        F::DerivativeGelu => {
            let density = d * c * f_exp(-(d * d) / 2.0);
            (0.5 * (f_erf(d * std::f64::consts::FRAC_1_SQRT_2) + 1.0) + density) as f32
        }
        F::DerivativeErf => (f64::from(f_exp(-(d * d)) as f32) * f64::from(f32::from_bits(0x3F90_6EBB))) as f32,
        _ => return None,
    })
}

#[test]
fn d54_every_bit_is_that_of_the_correctly_rounded_form() {
    // Every exponent and sign, dense where the functions bend, and where 1 + tanh and 1 + erf cancel.
    let mut xs: Vec<f32> = (0..=u32::MAX / 150_001).map(|i| f32::from_bits(i * 150_001)).collect();
    xs.extend((0..20_000).map(|i| i as f32 * 0.000_99 - 9.9));
    xs.extend((0..2_000).map(|k| f32::from_bits((-6.2f32).to_bits() + 37 * k)));
    for f in functions() {
        for isa in Isa::available().into_iter().filter(|i| *i != Isa::Scalar) {
            let mut got = xs.clone();
            apply(isa, f, 0.0, &mut got, &Profile::reference()).unwrap();
            for (x, y) in xs.iter().zip(&got) {
                let Some(want) = correctly_rounded(f, *x) else { break };
                assert!(
                    y.to_bits() == want.to_bits() || y.is_nan() && want.is_nan(),
                    "{f}({x:e}): {y:e}, not {want:e}"
                );
            }
        }
    }
}

#[test]
fn d54_gelu_by_tanh_takes_the_double_form_on_the_device_too() {
    let xs: Vec<f32> = (0..4_000).map(|k| f32::from_bits((-6.2f32).to_bits() + 11 * k)).collect();
    let of = |profile: &Profile| {
        let mut out = xs.clone();
        apply(Isa::best(), F::GeluApprxTanh, 0.0, &mut out, profile).unwrap();
        out
    };
    assert_eq!(of(&Profile::device()), of(&Profile::reference()));
}

#[test]
fn exact_functions_are_exact() {
    let xs = sweep();
    for f in [F::Identity, F::Copy, F::Square, F::Relu, F::Prelu, F::Sqrt, F::Sign, F::Abs, F::Reciprocal] {
        let mut got = xs.clone();
        apply(Isa::best(), f, -1.5, &mut got, &Profile::reference()).unwrap();
        for (x, y) in xs.iter().zip(&got) {
            let want = reference(f, *x, -1.5) as f32;
            assert!(want == *y || (want.is_nan() && y.is_nan()), "{f}({x:e}): {y:e}, not {want:e}");
        }
    }
}

#[test]
fn all_instruction_sets_give_the_same_bits() {
    for profile in [Profile::reference(), Profile::device()] {
        instruction_sets_agree(&profile);
    }
}

fn instruction_sets_agree(profile: &Profile) {
    let xs: Vec<f32> = sweep().into_iter().step_by(13).collect();
    for f in functions() {
        let mut want = xs.clone();
        apply(Isa::Scalar, f, 0.3, &mut want, profile).unwrap();
        for isa in Isa::available() {
            // Lengths that leave every kind of remainder.
            for piece in [xs.len(), 1, 7, 33] {
                let part = xs.len().min(piece * 500);
                let mut got = xs[..part].to_vec();
                got.chunks_mut(piece).for_each(|c| apply(isa, f, 0.3, c, profile).unwrap());
                for ((x, a), b) in xs.iter().zip(&want).zip(&got) {
                    assert_eq!(a.to_bits(), b.to_bits(), "{f}({x:e}) on {isa:?}");
                }
            }
        }
    }
}

#[test]
fn vectors_of_the_specification() {
    const ONE: u32 = 0x3F80_0000;
    const MINUS_TWO: u32 = 0xC000_0000;
    const HALF: u32 = 0x3F00_0000;
    let common = [
        (F::Lrelu, [0x3F80_0000, 0xBCA3_D70A, 0x3F00_0000u32]),
        (F::Sigmoid, [0x3F3B_26A8, 0x3DF4_20A9, 0x3F1F_597F]),
        (F::Tanh, [0x3F42_F7D6, 0xBF76_CA83, 0x3EEC_9A9F]),
        (F::Exp, [0x402D_F854, 0x3E0A_9555, 0x3FD3_094C]),
        (F::Softplus, [0x3FA8_18F5, 0x3E01_F96B, 0x3F79_5D1C]),
        (F::Erf, [0x3F57_BB3D, 0xBF7E_CD71, 0x3F05_3F7B]),
        (F::Arctan, [0x3F49_0FDB, 0xBF8D_B70D, 0x3EED_6338]),
        (F::Gelu, [0x3F57_625F, 0xBD3A_5E7C, 0x3EB1_03AF]),
        (F::Mish, [0x3F5D_7716, 0xBE81_47E0, 0x3EC0_2024]),
        (F::GeluApprxTanh, [0x3F57_585C, 0xBD39_F7C5, 0x3EB1_016D]),
        (F::GeluApprxSigmoid, [0x3F58_8612, 0xBD83_C569, 0x3EB3_661D]),
        (F::DerivativeGeluApprxSigmoid, [0x3F88_AD01, 0xBD97_2C81, 0x3F61_14B0]),
        (F::DerivativeGelu, [0x3F8A_AA15, 0xBDAE_8E03, 0x3F5E_1429]),
        (F::DerivativeErf, [0x3ED4_88F9, 0x3CA9_4DD0, 0x3F60_F7E6]),
        (F::Silu, [0x3F3B_26A8, 0xBE74_20A9, 0x3E9F_597F]),
        (F::DerivativeSilu, [0x3F6D_7BD1, 0xBDB9_ED18, 0x3F3D_6E19]),
    ];
    let mut rows: Vec<(F, u32, u32)> = Vec::new();
    for (f, want) in common {
        rows.extend([ONE, MINUS_TWO, HALF].into_iter().zip(want).map(|(x, w)| (f, x, w)));
    }
    rows.extend([
        (F::Rsqrt, 0x4000_0000, 0x3F35_04F3),
        (F::Rsqrt, 0x4120_0000, 0x3EA1_E89B),
        (F::Rsqrt, 0x3E80_0000, 0x4000_0000),
        (F::Ln, 0x4000_0000, 0x3F31_7218),
        (F::Ln, 0x4120_0000, 0x4013_5D8E),
        (F::Ln, HALF, 0xBF31_7218),
        (F::Sin, ONE, 0x3F57_6AA4),
        (F::Sin, 0x4040_0000, 0x3E10_81C3),
        (F::Sin, 0x4110_0000, 0x3ED3_0132),
        (F::Reciprocal, 0x4040_0000, 0x3EAA_AAAB),
        (F::Reciprocal, 0xC0E0_0000, 0xBE12_4925),
        (F::Reciprocal, 0x3DCC_CCCD, 0x4120_0000),
        (F::AbsReciprocalSqrt, 0x4000_0000, 0x3F35_04F3),
        (F::AbsReciprocalSqrt, 0xC120_0000, 0x3EA1_E89B),
        (F::AbsReciprocalSqrt, 0x3E80_0000, 0x4000_0000),
    ]);
    for (f, x, want) in rows {
        for isa in Isa::available() {
            let mut v = [f32::from_bits(x)];
            apply(isa, f, 0.0, &mut v, &Profile::reference()).unwrap();
            assert_eq!(v[0].to_bits(), want, "{f}({x:08X})");
        }
    }
}

#[test]
fn specials_follow_the_table_of_forms() {
    let one = |f, x: f32| {
        let mut v = [x];
        apply(Isa::best(), f, 0.5, &mut v, &Profile::reference()).unwrap();
        v[0].to_bits()
    };
    let inf = f32::INFINITY;
    let bits = f32::to_bits;
    assert_eq!(one(F::Relu, f32::NAN), 0);
    assert_eq!(one(F::Relu, -0.0), 0);
    assert_eq!(one(F::Sign, f32::NAN), 0);
    assert_eq!(one(F::Rsqrt, 0.0), bits(inf));
    assert_eq!(one(F::Rsqrt, -0.0), bits(-inf));
    assert_eq!(one(F::Ln, 0.0), bits(-inf));
    assert_eq!(one(F::Ln, -0.0), bits(-inf));
    assert_eq!(one(F::Reciprocal, -0.0), bits(-inf));
    assert_eq!(one(F::Sin, -0.0), bits(-0.0));
    assert_eq!(one(F::Tanh, -0.0), bits(-0.0));
    assert_eq!(one(F::Exp, 89.0), bits(inf));
    assert_eq!(one(F::Exp, -inf), 0);
    assert_eq!(one(F::Exp, inf), bits(inf));
    // Invalid operations make the processor's default NaN; a NaN argument keeps its sign and payload.
    for (f, x) in [(F::Ln, -1.0), (F::Sqrt, -1.0), (F::Rsqrt, -1.0), (F::Sin, inf), (F::Silu, -inf)] {
        assert_eq!(one(f, x), 0xFFC0_0000, "{f}({x})");
    }
    assert_eq!(one(F::Exp, f32::from_bits(0x7F80_1234)), 0x7FC0_1234);
    assert_eq!(one(F::Abs, f32::from_bits(0xFF80_1234)), 0x7F80_1234);
    // The quotient forms of the two sigmoid derivatives overflow to NaN.
    assert_eq!(one(F::DerivativeSilu, 1000.0), 0xFFC0_0000);
    assert_eq!(one(F::DerivativeSilu, 0.0), bits(0.5));
    for f in [F::IsFinite, F::Unknown] {
        assert_eq!(apply(Isa::best(), f, 0.0, &mut [1.0], &Profile::reference()).unwrap_err().code(), Code::S008);
    }
}

#[test]
fn names_follow_the_enumeration() {
    assert_eq!(F::from_name("Derivative_Gelu_apprx_sigmoid"), F::from_ordinal(20));
    assert_eq!(F::from_name("Is_finite"), F::from_ordinal(29));
    assert_eq!(F::from_name("Ln_prime"), Some(F::LnPrime));
    assert_eq!(F::from_name("gelu"), None);
}

// The instruction.

fn encode(dtype: Dtype, values: &[f32]) -> Vec<u8> {
    let mut out = vec![0; values.len() * dtype.size()];
    cast::encode_f32(dtype, cast::Fp8Config::DEFAULT, values, &mut out);
    out
}

fn decode(dtype: Dtype, bytes: &[u8]) -> Vec<f32> {
    let mut out = vec![0.0; bytes.len() / dtype.size()];
    cast::decode_f32(dtype, bytes, &mut out);
    out
}

fn view(dtype: Dtype, values: &[f32], nums: &[u32]) -> Src<'static> {
    Src::new(encode(dtype, values).leak(), keep(Pattern::dense(dtype, nums).unwrap())).unwrap()
}

fn imm(v: f32) -> Input<'static> {
    Input::Imm(Imm::f32(v))
}

fn plain(func: F, scale: Input<'static>, bias: Input<'static>) -> Activation<'static> {
    Activation { func, front: Front::Affine { scale, bias }, alpha: imm(0.0), epilogue: None, tables: None }
}

fn run(p: &Activation, src: &Src, out: Dtype) -> birsim_kernels::Result<Vec<f32>> {
    let mut mem = vec![0u8; src.len() * out.size()];
    let nums = [src.lanes() as u32, src.lane_len() as u32];
    let mut dst = Dst::new(&mut mem, keep(Pattern::dense(out, &nums)?))?;
    activation(p, &Source::Apart(*src), &mut dst, &Profile::reference())?;
    Ok(decode(out, &mem))
}

#[test]
fn scale_and_bias_round_separately() {
    let x = f32::from_bits(0x3F80_0800);
    let got = run(&plain(F::Identity, imm(x), imm(-1.0)), &view(Dtype::Float32, &[x], &[1, 1]), Dtype::Float32);
    assert_eq!(got.unwrap()[0].to_bits(), 0x3A00_0000);
}

#[test]
fn column_operands_give_one_value_per_partition() {
    let x = view(Dtype::Bfloat16, &[1.0, 2.0, 3.0, 4.0], &[2, 2]);
    let scale = Input::View(view(Dtype::Float32, &[10.0, 100.0], &[2, 1]));
    let bias = Input::View(view(Dtype::Int32, &[0.0, 0.0], &[2, 1]));
    assert_eq!(run(&plain(F::Copy, scale, bias), &x, Dtype::Float32).unwrap(), [10.0, 20.0, 300.0, 400.0]);
    let short = || Input::View(view(Dtype::Float32, &[1.0], &[1, 1]));
    let wide = || Input::View(view(Dtype::Float32, &[1.0; 4], &[2, 2]));
    for bad in [short, wide] {
        assert_eq!(run(&plain(F::Copy, bad(), imm(0.0)), &x, Dtype::Float32).unwrap_err().code(), Code::S002);
        assert_eq!(run(&plain(F::Copy, imm(1.0), bad()), &x, Dtype::Float32).unwrap_err().code(), Code::S002);
    }
    let integer = || Input::Imm(Imm::i32(1));
    assert_eq!(run(&plain(F::Copy, imm(1.0), integer()), &x, Dtype::Float32).unwrap_err().code(), Code::S007);
}

#[test]
fn prelu_takes_its_slope_per_partition() {
    let x = view(Dtype::Float32, &[-1.0, 2.0, -3.0, 4.0], &[2, 2]);
    let mut p = plain(F::Prelu, imm(1.0), imm(0.0));
    p.alpha = Input::View(view(Dtype::Float32, &[0.5, 3.0], &[2, 1]));
    assert_eq!(run(&p, &x, Dtype::Float32).unwrap(), [-0.5, 2.0, -9.0, 4.0]);
}

#[test]
fn activate2_applies_its_two_operations() {
    let x = view(Dtype::Float32, &[1.0, -2.0], &[1, 2]);
    let act = |op0, i0, r0, op1, i1: Option<f32>, r1| Activation {
        func: F::Relu,
        front: Front::Ops { stages: [(op0, Some(imm(i0)), r0), (op1, i1.map(imm), r1)] },
        alpha: imm(0.0),
        epilogue: None,
        tables: None,
    };
    let value = |p: &Activation| run(p, &x, Dtype::Float32).unwrap();
    assert_eq!(value(&act(AluOp::Mult, -3.0, false, AluOp::Add, Some(4.0), false)), [1.0, 10.0]);
    assert_eq!(value(&act(AluOp::Subtract, 3.0, true, AluOp::Bypass, None, false)), [2.0, 5.0]);
    assert_eq!(value(&act(AluOp::Mult, 2.0, false, AluOp::Subtract, Some(10.0), true)), [8.0, 14.0]);
    let bad = act(AluOp::BitwiseAnd, 1.0, false, AluOp::Bypass, None, false);
    assert_eq!(run(&bad, &x, Dtype::Float32).unwrap_err().code(), Code::S006);
}

#[test]
fn the_printed_silu_derivative_is_a_choice() {
    let x = view(Dtype::Float32, &[0.0], &[1, 1]);
    let mut mem = [0u8; 4];
    let mut profile = Profile::reference();
    for (value, want) in [("false", 0.5), ("true", 0.25)] {
        profile.set("silu_derivative_printed", value).unwrap();
        let mut dst = Dst::new(&mut mem, keep(Pattern::dense(Dtype::Float32, &[1, 1]).unwrap())).unwrap();
        activation(&plain(F::DerivativeSilu, imm(1.0), imm(0.0)), &Source::Apart(x), &mut dst, &profile).unwrap();
        assert_eq!(decode(Dtype::Float32, &mem), [want]);
    }
}

fn with_epilogue<'a>(
    state: &'a Accumulator,
    profile: &'a Profile,
    kind: EngineAccumulationType,
    op: AluOp,
    init: Option<f32>,
) -> Activation<'a> {
    let mut p: Activation<'a> = plain(F::Square, imm(1.0), imm(0.0));
    p.epilogue = Some(Epilogue { kind, op, init: init.map(imm), state, profile });
    p
}

#[test]
fn the_epilogue_folds_each_lane_in_order() {
    use EngineAccumulationType as E;
    let state = Accumulator::default();
    let profile = Profile::reference();
    let x = view(Dtype::Float32, &[1.0, 2.0, 3.0, 4.0], &[2, 2]);
    let step = |kind, op, init| {
        run(&with_epilogue(&state, &profile, kind, op, init), &x, Dtype::Bfloat16).map(|_| [state.get(0), state.get(1)])
    };
    assert_eq!(step(E::ZeroAccumulate, AluOp::Add, None).unwrap(), [5.0, 25.0]);
    assert_eq!(step(E::AddAccumulate, AluOp::Add, None).unwrap(), [10.0, 50.0]);
    assert_eq!(step(E::Accumulate, AluOp::Max, None).unwrap(), [10.0, 50.0]);
    assert_eq!(step(E::Idle, AluOp::Add, None).unwrap(), [10.0, 50.0]);
    assert_eq!(step(E::LoadAccumulate, AluOp::Add, Some(-1.0)).unwrap(), [4.0, 24.0]);
    assert_eq!(step(E::ZeroAccumulate, AluOp::Min, None).unwrap(), [1.0, 9.0]);
    assert_eq!(step(E::Zero, AluOp::Add, None).unwrap(), [0.0, 0.0]);
    assert_eq!(step(E::LoadAccumulate, AluOp::Add, None).unwrap_err().code(), Code::J009);
    assert_eq!(step(E::ZeroAccumulate, AluOp::BitwiseOr, None).unwrap_err().code(), Code::S006);
}

#[test]
fn fault_65_a_row_sum_runs_from_left_to_right() {
    let state = Accumulator::default();
    let profile = Profile::reference();
    let x = view(Dtype::Float32, &[16777216.0, 1.0, 1.0, -16777216.0], &[1, 4]);
    let mut p = with_epilogue(&state, &profile, EngineAccumulationType::ZeroAccumulate, AluOp::Add, None);
    p.func = F::Identity;
    run(&p, &x, Dtype::Float32).unwrap();
    assert_eq!(state.get(0), 0.0);
}

#[test]
fn the_fold_sees_float32_values_across_pieces() {
    let state = Accumulator::default();
    let profile = Profile::reference();
    let x = view(Dtype::Float32, &vec![1.0 + 1.0 / 1024.0; 5000], &[1, 5000]);
    let mut p = with_epilogue(&state, &profile, EngineAccumulationType::ZeroAccumulate, AluOp::Add, None);
    p.func = F::Identity;
    // Rounded to bfloat16 first, every element would count 1.0.
    run(&p, &x, Dtype::Bfloat16).unwrap();
    let want = (0..5000).fold(0.0f32, |a, _| a + (1.0 + 1.0 / 1024.0));
    assert_eq!(state.get(0), want);
}

#[test]
fn drains_write_one_value_per_lane() {
    let state = Accumulator::default();
    state.set(0, 1.5);
    state.set(1, -2.0);
    let profile = Profile::reference();
    let mut mem = [0u8; 8];
    for (negated, want) in [(false, [1.5, -2.0]), (true, [-1.5, 2.0])] {
        let mut dst = Dst::new(&mut mem, keep(Pattern::dense(Dtype::Float32, &[2, 1]).unwrap())).unwrap();
        read_accumulator(&state, negated, &mut dst, &profile).unwrap();
        assert_eq!(decode(Dtype::Float32, &mem), want);
    }
    let mut bf16 = Dst::new(&mut mem, keep(Pattern::dense(Dtype::Bfloat16, &[2, 1]).unwrap())).unwrap();
    assert_eq!(read_accumulator(&state, false, &mut bf16, &profile).unwrap_err().code(), Code::S007);
    let mut wide = Dst::new(&mut mem, keep(Pattern::dense(Dtype::Float32, &[1, 2]).unwrap())).unwrap();
    assert_eq!(read_accumulator(&state, false, &mut wide, &profile).unwrap_err().code(), Code::S002);
}

#[test]
fn reciprocal_divides_exactly() {
    let values = [3.0, -7.0, 0.0, -0.0, 0.1, f32::INFINITY, 1e-45, -3e38];
    let x = view(Dtype::Float32, &values, &[2, 4]);
    let mut mem = [0u8; 32];
    let mut dst = Dst::new(&mut mem, keep(Pattern::dense(Dtype::Float32, &[2, 4]).unwrap())).unwrap();
    reciprocal(&Source::Apart(x), &mut dst, &Profile::reference()).unwrap();
    for (v, got) in values.iter().zip(decode(Dtype::Float32, &mem)) {
        assert_eq!(got.to_bits(), (1.0 / v).to_bits());
    }
}

#[test]
fn exponential_subtracts_in_float32_and_sums() {
    let x = view(Dtype::Float32, &[1.0, 3.0, -2.0, 0.1], &[2, 2]);
    let row_max = Input::View(view(Dtype::Float32, &[3.0, 0.1], &[2, 1]));
    let state = Accumulator::default();
    let profile = Profile::reference();
    let e = Epilogue {
        kind: EngineAccumulationType::ZeroAccumulate,
        op: AluOp::Add,
        init: None,
        state: &state,
        profile: &profile,
    };
    let mut mem = [0u8; 16];
    let mut dst = Dst::new(&mut mem, keep(Pattern::dense(Dtype::Float32, &[2, 2]).unwrap())).unwrap();
    exponential(&Source::Apart(x), &row_max, &mut dst, Some(&e), &profile).unwrap();
    let want = [-2.0f32, 0.0, -2.0 - 0.1, 0.0].map(|v| libm::exp(f64::from(v)) as f32);
    assert_eq!(decode(Dtype::Float32, &mem), want);
    assert_eq!([state.get(0), state.get(1)], [want[0] + want[1], want[2] + want[3]]);
}

#[test]
fn fault_27_a_slice_of_a_reshape_equals_the_flat_form() {
    for b in 1..=20u32 {
        let n = 128 * b * 64;
        let data: Vec<f32> = (0..n).map(|i| (i % 977) as f32 * 0.01 - 4.0).collect();
        let bytes = encode(Dtype::Float32, &data);
        let mut outs = Vec::new();
        for pairs in [
            vec![
                Pair { stride: i64::from(b) * 256, num: 128 },
                Pair { stride: 256, num: 1 },
                Pair { stride: 4, num: 64 },
            ],
            vec![Pair { stride: i64::from(b) * 256, num: 128 }, Pair { stride: 4, num: 64 }],
        ] {
            let src = Src::new(&bytes, keep(Pattern::new(Dtype::Float32, 0, &pairs).unwrap())).unwrap();
            outs.push(run(&plain(F::Exp, imm(1.0), imm(0.0)), &src, Dtype::Float32).unwrap());
        }
        assert_eq!(outs[0], outs[1]);
    }
}

#[test]
fn a_dump_destination_keeps_the_last_element() {
    let x = view(Dtype::Float32, &[1.0, 2.0, 3.0], &[1, 3]);
    let mut mem = [0u8; 4];
    let pairs = [Pair { stride: 4, num: 1 }, Pair { stride: 0, num: 3 }];
    let mut dst = Dst::new(&mut mem, keep(Pattern::new(Dtype::Float32, 0, &pairs).unwrap())).unwrap();
    activation(&plain(F::Square, imm(1.0), imm(0.0)), &Source::Apart(x), &mut dst, &Profile::reference()).unwrap();
    assert_eq!(decode(Dtype::Float32, &mem), [9.0]);
}

#[test]
fn shapes_must_agree() {
    let x = view(Dtype::Float32, &[0.0; 6], &[2, 3]);
    for nums in [[3u32, 2], [1, 6], [2, 2]] {
        let mut mem = [0u8; 24];
        let mut dst = Dst::new(&mut mem, keep(Pattern::dense(Dtype::Float32, &nums).unwrap())).unwrap();
        let p = plain(F::Copy, imm(1.0), imm(0.0));
        assert_eq!(activation(&p, &Source::Apart(x), &mut dst, &Profile::reference()).unwrap_err().code(), Code::S002);
        assert_eq!(reciprocal(&Source::Apart(x), &mut dst, &Profile::reference()).unwrap_err().code(), Code::S002);
    }
}

#[test]
fn abs_on_the_bits_of_narrow_floats_equals_the_conversions_for_every_code_and_profile() {
    let narrow =
        [Dtype::Bfloat16, Dtype::Float16, Dtype::Float8e3, Dtype::Float8e4, Dtype::Float8E4m3fn, Dtype::Float8e5];
    for dtype in narrow {
        let size = dtype.size();
        let codes: Vec<u8> = (0..1u32 << (8 * size)).flat_map(|c| c.to_le_bytes()[..size].to_vec()).collect();
        let count = (codes.len() / size) as u32;
        let x = Src::new(&codes, keep(Pattern::dense(dtype, &[2, count / 2]).unwrap())).unwrap();
        for base in [Profile::reference(), Profile::device()] {
            for flags in 0..16 {
                let mut profile = base;
                profile.fp8_saturate = flags & 1 != 0;
                profile.fp8_suppress_nan = flags & 2 != 0;
                profile.fp8_e5m2_nan_overflows = flags & 4 != 0;
                profile.fp8_round_past_max = if flags & 8 != 0 { PastMax::Carry } else { PastMax::Overflow };
                // The documented path, step by step.
                let mut hub = vec![0.0f32; count as usize];
                cast::decode_f32(dtype, &codes, &mut hub);
                hub.iter_mut().for_each(|v| *v = (*v * 1.0 + 0.0).abs());
                let mut expected = vec![0; codes.len()];
                cast::encode_f32(dtype, profile.fp8(), &hub, &mut expected);
                let number = |v| Input::Imm(Imm::f32(v));
                let ones = 1f32.to_le_bytes().repeat(2);
                let column = Src::new(&ones, keep(Pattern::dense(Dtype::Float32, &[2, 1]).unwrap())).unwrap();
                // Immediates select the path on the bits, a tensor of ones the general one.
                for (scale, bias) in
                    [(number(1.0), number(0.0)), (number(1.0), number(-0.0)), (Input::View(column), number(0.0))]
                {
                    let front = Front::Affine { scale, bias };
                    let p = Activation { func: F::Abs, front, alpha: number(0.0), epilogue: None, tables: None };
                    let mut out = vec![0xA5; codes.len()];
                    let mut dst = Dst::new(&mut out, keep(Pattern::dense(dtype, &[2, count / 2]).unwrap())).unwrap();
                    activation(&p, &Source::Apart(x), &mut dst, &profile).unwrap();
                    assert!(out == expected, "{dtype} flags {flags:#b}");
                }
            }
        }
    }
}
