//! The closed forms (`activation.md` 3): double precision inside, one rounding to float32 at the end. The functions of
//! [`single`] take this way only where the profile asks for it.

use super::math::{self, erf, exp, exp_single, tanh};
use super::vector::Vector;
#[cfg(target_arch = "x86_64")]
use super::vector::{F8, F16, Two};
use super::{ActivationFunctionType as F, single, unsupported};
use crate::access::CHUNK;
use crate::isa::Isa;
use crate::profile::ActivationConstants;
use crate::{Profile, Result};

/// The reference's literal for sqrt(2), one unit below the correctly rounded one.
const SQRT_TWO: f64 = f64::from_bits(0x3FF6_A09E_667F_3BCC);
/// 2 / sqrt(pi) and 1 / sqrt(2 pi) as the float32 literals of the reference.
const TWO_OVER_SQRT_PI: f64 = f32::from_bits(0x3F90_6EBB) as f64;
const ONE_OVER_SQRT_TWO_PI: f64 = f32::from_bits(0x3ECC_422A) as f64;

/// What happens to an element before the function: in * scale + bias, each rounded to float32.
#[derive(Clone, Copy)]
pub(super) struct Affine {
    pub scale: f32,
    pub bias: f32,
}

impl Affine {
    /// Leaves every value as it is, but for quieting a NaN. Adding +0 would lose the sign of -0.
    pub(super) const NONE: Affine = Affine { scale: 1.0, bias: -0.0 };
}

/// The values of one piece: where they come from, where they go, and the front between.
pub(super) struct Piece<'a> {
    pub input: &'a [f32],
    pub out: &'a mut [f32],
    pub front: Affine,
}

/// Fills $piece with $e of the value $x behind the front, on the chosen instruction set; $p names a float32 parameter.
/// The expression stands in the loop itself, because a call through a function parameter is not always inlined, which
/// costs a factor of 100.
///
/// A NaN argument is passed on quietly; a NaN that arises is the processor's default one. Both would otherwise depend
/// on the operand order the compiler picks. `keep` leaves NaN to the expression.
macro_rules! run {
    ($isa:expr, $piece:expr, $x:ident => $e:expr) => {
        run!($isa, $piece, 0.0, _p, $x => $e)
    };
    ($isa:expr, $piece:expr, $arg:expr, $p:ident, $x:ident => $e:expr) => {
        run!(@ $isa, $piece, $arg, $p, $x => {
            let y = $e;
            let nan = if $x.is_nan() { $x.to_bits() | 0x0040_0000 } else { 0xFFC0_0000 };
            if y.is_nan() { f32::from_bits(nan) } else { y }
        })
    };
    (keep $isa:expr, $piece:expr, $x:ident => $e:expr) => {
        run!(@ $isa, $piece, 0.0, _p, $x => $e)
    };
    (@ $isa:expr, $piece:expr, $arg:expr, $p:ident, $x:ident => $e:expr) => {{
        #[inline(always)]
        fn body(input: &[f32], out: &mut [f32], front: Affine, $p: f32) {
            for (o, i) in out.iter_mut().zip(input) {
                let $x = *i * front.scale + front.bias;
                *o = $e;
            }
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        fn on_avx2(input: &[f32], out: &mut [f32], front: Affine, p: f32) {
            body(input, out, front, p);
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]
        fn on_avx512(input: &[f32], out: &mut [f32], front: Affine, p: f32) {
            body(input, out, front, p);
        }
        let isa: Isa = $isa;
        let Piece { input, out, front } = $piece;
        match isa {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the CPU has the features.
            Isa::Avx2 if isa.runs_here() => unsafe { on_avx2(input, out, front, $arg) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the CPU has the features.
            Isa::Avx512 if isa.runs_here() => unsafe { on_avx512(input, out, front, $arg) },
            _ => body(input, out, front, $arg),
        }
    }};
}

/// Fills $piece with the values of a function of [`single`] behind the front, on the chosen instruction set.
macro_rules! single {
    ($isa:expr, $piece:expr, $f:path) => {{
        /// The whole vectors of a piece; returns where they end.
        #[inline(always)]
        fn whole<V: Vector>(input: &[f32], out: &mut [f32], front: Affine) -> usize {
            let (scale, bias) = (V::splat(front.scale), V::splat(front.bias));
            for (o, i) in out.chunks_exact_mut(V::COUNT).zip(input.chunks_exact(V::COUNT)) {
                $f(V::load(i) * scale + bias).store(o);
            }
            input.len() / V::COUNT * V::COUNT
        }
        /// The rest, padded to one vector.
        #[cfg(target_arch = "x86_64")]
        #[inline(always)]
        fn last<V: Vector>(input: &[f32], out: &mut [f32], front: Affine) {
            let (mut from, mut to) = ([0.0; 16], [0.0; 16]);
            from[..input.len()].copy_from_slice(input);
            whole::<V>(&from[..V::COUNT], &mut to, front);
            out.copy_from_slice(&to[..input.len()]);
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        fn on_avx2(input: &[f32], out: &mut [f32], front: Affine) {
            let at = whole::<F8>(input, out, front);
            last::<F8>(&input[at..], &mut out[at..], front);
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]
        fn on_avx512(input: &[f32], out: &mut [f32], front: Affine) {
            let at = whole::<Two<Two<F16>>>(input, out, front);
            let (input, out) = (&input[at..], &mut out[at..]);
            let at = whole::<F16>(input, out, front);
            last::<F16>(&input[at..], &mut out[at..], front);
        }
        let isa: Isa = $isa;
        let Piece { input, out, front } = $piece;
        match isa {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the CPU has the features.
            Isa::Avx2 if isa.runs_here() => unsafe { on_avx2(input, out, front) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the CPU has the features.
            Isa::Avx512 if isa.runs_here() => unsafe { on_avx512(input, out, front) },
            _ => {
                whole::<f32>(input, out, front);
            }
        }
    }};
}

/// Replaces every value x by func(x; alpha), all instruction sets with the same bits.
pub fn apply(isa: Isa, func: F, alpha: f32, values: &mut [f32], profile: &Profile) -> Result<()> {
    // These keep the bits of every NaN; the front would quiet it.
    match func {
        F::Identity | F::Copy => return Ok(()),
        F::Abs => {
            values.iter_mut().for_each(|x| *x = x.abs());
            return Ok(());
        }
        _ => {}
    }
    let mut copy = [0.0; CHUNK];
    values.chunks_mut(CHUNK).try_for_each(|out| {
        let input = &mut copy[..out.len()];
        input.copy_from_slice(out);
        map(isa, func, alpha, Piece { input, out, front: Affine::NONE }, profile)
    })
}

/// func(front(x); alpha) for every value of a piece.
pub(super) fn map(isa: Isa, func: F, alpha: f32, piece: Piece, profile: &Profile) -> Result<()> {
    match func {
        F::DerivativeSilu if profile.silu_derivative_printed => silu_derivative_printed(isa, piece),
        F::Lrelu | F::DerivativeGelu if profile.activation_constants == ActivationConstants::Float => {
            with_float_constants(isa, func, piece);
        }
        _ if profile.activation_double => return double(isa, func, alpha, piece),
        F::Arctan => single!(isa, piece, single::atan),
        F::Exp => single!(isa, piece, single::exp),
        F::GeluApprxTanh => single!(isa, piece, single::gelu_tanh),
        F::Ln => single!(isa, piece, single::ln),
        F::Sigmoid => single!(isa, piece, single::sigmoid),
        F::Silu => single!(isa, piece, single::silu),
        F::Sin => single!(isa, piece, single::sin),
        F::Softplus => single!(isa, piece, single::softplus),
        F::Tanh => single!(isa, piece, single::tanh),
        _ => return double(isa, func, alpha, piece),
    }
    Ok(())
}

/// The same in double precision throughout.
fn double(isa: Isa, func: F, alpha: f32, piece: Piece) -> Result<()> {
    match func {
        F::Identity | F::Copy => affine(isa, piece),
        F::Square => run!(isa, piece, x => square(x)),
        F::Relu => run!(isa, piece, x => relu(x)),
        F::Lrelu => run!(isa, piece, x => lrelu(x)),
        F::Prelu => run!(isa, piece, alpha, slope, x => if x <= 0.0 { slope * x } else { x }),
        F::Sigmoid => run!(isa, piece, x => sigmoid(x)),
        F::Tanh => run!(isa, piece, x => tanh32(x)),
        F::Exp => run!(isa, piece, x => exp32(x)),
        F::Softplus => run!(isa, piece, x => softplus(x)),
        F::Sqrt => run!(isa, piece, x => sqrt(x)),
        F::Rsqrt => run!(isa, piece, x => rsqrt(x)),
        F::Ln => run!(isa, piece, x => ln(x)),
        F::LnPrime | F::Reciprocal => reciprocals(isa, piece),
        F::Erf => run!(isa, piece, x => erf32(x)),
        F::Sin => sine(isa, piece),
        F::Arctan => run!(isa, piece, x => atan(x)),
        F::Sign => run!(isa, piece, x => sign(x)),
        F::Gelu => run!(isa, piece, x => gelu(x)),
        F::Mish => run!(isa, piece, x => mish(x)),
        F::GeluApprxTanh => run!(isa, piece, x => gelu_tanh(x)),
        F::GeluApprxSigmoid => run!(isa, piece, x => gelu_sigmoid(x)),
        F::DerivativeGeluApprxSigmoid => run!(isa, piece, x => gelu_sigmoid_derivative(x)),
        F::DerivativeGelu => run!(isa, piece, x => gelu_derivative(x)),
        F::DerivativeErf => run!(isa, piece, x => erf_derivative(x)),
        F::Abs => run!(keep isa, piece, x => x.abs()),
        F::AbsReciprocalSqrt => run!(isa, piece, x => abs_rsqrt(x)),
        F::Silu => run!(isa, piece, x => silu(x)),
        F::DerivativeSilu => run!(isa, piece, x => silu_derivative(x)),
        F::MemsetZero => piece.out.fill(0.0),
        F::IsFinite | F::Unknown => return Err(unsupported(func)),
    }
    Ok(())
}

/// The front alone.
pub(super) fn affine(isa: Isa, piece: Piece) {
    run!(keep isa, piece, x => x);
}

#[inline(always)]
fn square(x: f32) -> f32 {
    x * x
}

#[inline(always)]
fn relu(x: f32) -> f32 {
    if x > 0.0 { x } else { 0.0 }
}

#[inline(always)]
fn lrelu(x: f32) -> f32 {
    if x <= 0.0 { (0.01 * f64::from(x)) as f32 } else { x }
}

#[inline(always)]
fn sigmoid(x: f32) -> f32 {
    (1.0 / (exp_single(-x) + 1.0)) as f32
}

#[inline(always)]
fn tanh32(x: f32) -> f32 {
    tanh(f64::from(x)) as f32
}

/// The single-precision exponential, rounded from double.
#[inline(always)]
fn exp32(x: f32) -> f32 {
    exp_single(x) as f32
}

#[inline(always)]
fn softplus(x: f32) -> f32 {
    let d = f64::from(x);
    (math::log1p_unit(exp(-d.abs())) + if d <= 0.0 { 0.0 } else { d }) as f32
}

#[inline(always)]
fn sqrt(x: f32) -> f32 {
    x.sqrt()
}

#[inline(always)]
fn rsqrt(x: f32) -> f32 {
    (1.0 / f64::from(x).sqrt()) as f32
}

#[inline(always)]
fn ln(x: f32) -> f32 {
    math::ln(f64::from(x)) as f32
}

/// IEEE single-precision reciprocal.
#[inline(always)]
pub(super) fn reciprocal(x: f32) -> f32 {
    1.0 / x
}

#[inline(always)]
fn erf32(x: f32) -> f32 {
    erf(f64::from(x)) as f32
}

fn sine(isa: Isa, piece: Piece) {
    let far = |x: f32| x.is_finite() && x.abs() > math::SIN_NEAR;
    let mut buf = [0.0; CHUNK];
    let Piece { input, out, front } = piece;
    for (input, out) in input.chunks(CHUNK).zip(out.chunks_mut(CHUNK)) {
        let values = &mut buf[..input.len()];
        affine(isa, Piece { input, out: values, front });
        // The near form makes nonsense of far arguments; they are done one by one.
        run!(isa, Piece { input: values, out: &mut *out, front: Affine::NONE }, x => math::sin(f64::from(x)) as f32);
        if values.iter().fold(false, |any, x| any | far(*x)) {
            for (x, o) in values.iter().zip(out).filter(|(x, _)| far(**x)) {
                *o = math::sin_far(*x);
            }
        }
    }
}

#[inline(always)]
fn atan(x: f32) -> f32 {
    math::atan(f64::from(x)) as f32
}

#[inline(always)]
fn sign(x: f32) -> f32 {
    f32::from(u8::from(x > 0.0)) - f32::from(u8::from(x < 0.0))
}

#[inline(always)]
fn gelu(x: f32) -> f32 {
    let d = f64::from(x);
    (0.5 * d * (erf(d / SQRT_TWO) + 1.0)) as f32
}

/// The inner softplus is the float32-returning routine.
#[inline(always)]
fn mish(x: f32) -> f32 {
    (f64::from(x) * tanh(f64::from(softplus(x)))) as f32
}

#[inline(always)]
fn gelu_tanh(x: f32) -> f32 {
    let d = f64::from(x);
    (0.5 * d * (tanh((0.044715 * (d * d * d) + d) * 0.7978845608028654) + 1.0)) as f32
}

/// The inner sigmoid is the float32-returning routine, its argument stays double.
#[inline(always)]
fn gelu_sigmoid(x: f32) -> f32 {
    let d = f64::from(x);
    (d * f64::from((1.0 / (exp(-1.702 * d) + 1.0)) as f32)) as f32
}

/// (u + e^u + 1) e^u / (e^u + 1)^2, overflow of the quotient to NaN included.
#[inline(always)]
fn logistic_derivative(u: f64) -> f32 {
    let e = exp(u);
    ((u + e + 1.0) * e / ((e + 1.0) * (e + 1.0))) as f32
}

#[inline(always)]
fn gelu_sigmoid_derivative(x: f32) -> f32 {
    logistic_derivative(1.702 * f64::from(x))
}

/// The mathematically right form.
#[inline(always)]
fn silu_derivative(x: f32) -> f32 {
    logistic_derivative(f64::from(x))
}

#[inline(always)]
fn gelu_derivative(x: f32) -> f32 {
    let d = f64::from(x);
    (0.5 * (erf(d * std::f64::consts::FRAC_1_SQRT_2) + 1.0) + d * ONE_OVER_SQRT_TWO_PI * exp(-(d * d) / 2.0)) as f32
}

/// The inner exponential is the float32-returning routine.
#[inline(always)]
fn erf_derivative(x: f32) -> f32 {
    let d = f64::from(x);
    (f64::from(exp(-(d * d)) as f32) * TWO_OVER_SQRT_PI) as f32
}

#[inline(always)]
fn abs_rsqrt(x: f32) -> f32 {
    (1.0 / f64::from(x).abs().sqrt()) as f32
}

#[inline(always)]
fn silu(x: f32) -> f32 {
    let d = f64::from(x);
    (d / (exp(-d) + 1.0)) as f32
}

/// The form the notes print, (x e^x + 1) e^x / (e^x + 1)^2: 0.25 at 0, where the derivative is 0.5.
fn silu_derivative_printed(isa: Isa, piece: Piece) {
    run!(isa, piece, x => {
        let d = f64::from(x);
        let e = exp(d);
        ((d * e + 1.0) * e / ((e + 1.0) * (e + 1.0))) as f32
    });
}

/// Lrelu and Derivative_Gelu with constants that multiply in float32 under the profile. Derivative_Erf multiplies two
/// float32 numbers either way, and their product in double rounds to the same.
fn with_float_constants(isa: Isa, func: F, piece: Piece) {
    match func {
        F::Lrelu => run!(isa, piece, x => if x <= 0.0 { 0.01 * x } else { x }),
        _ => run!(isa, piece, x => {
            let d = f64::from(x);
            let slope = f64::from(x * ONE_OVER_SQRT_TWO_PI as f32);
            (0.5 * (erf(d * std::f64::consts::FRAC_1_SQRT_2) + 1.0) + slope * exp(-(d * d) / 2.0)) as f32
        }),
    }
}

/// x - row maximum in float32, then the single exponential. A row maximum that is not a number takes the way that says
/// which of two such payloads survives.
pub(super) fn exponential(isa: Isa, row_max: f32, piece: Piece, profile: &Profile) {
    if profile.activation_double || row_max.is_nan() {
        run!(isa, piece, row_max, top, x => exp32(x - top));
    } else {
        let front = Affine { scale: 1.0, bias: -row_max };
        single!(isa, Piece { front, ..piece }, single::exp);
    }
}

/// 1 / x.
pub(super) fn reciprocals(isa: Isa, piece: Piece) {
    run!(isa, piece, x => reciprocal(x));
}
