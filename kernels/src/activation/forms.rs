//! Which form a function takes (ruling D54), and the forms whose every step is an exact or correctly rounded operation.

use super::vector::Vector;
#[cfg(target_arch = "x86_64")]
use super::vector::{F8, F16, Two};
use super::{ActivationFunctionType as F, rounded, single, unsupported};
use crate::access::CHUNK;
use crate::isa::{Isa, per_isa};
use crate::profile::ActivationConstants;
use crate::{Profile, Result};

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

/// One piece of a lane: the input, the output, and the front.
pub(super) struct Piece<'a> {
    pub input: &'a [f32],
    pub out: &'a mut [f32],
    pub front: Affine,
}

/// Fills $piece with $e, where $x is the value after the front, on the chosen instruction set; $p names a float32 parameter.
/// The expression is part of the loop itself, because a call through a function parameter is not always inlined, which costs
/// a factor of 100.
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
        per_isa! {
            fn on(isa, input: &[f32], out: &mut [f32], front: Affine, p: f32) = body, body, body;
        }
        let Piece { input, out, front } = $piece;
        on($isa, input, out, front, $arg);
    }};
}

/// Fills $piece with a function of [`single`] of the values after the front, on the chosen instruction set.
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
        #[inline(always)]
        fn avx2(input: &[f32], out: &mut [f32], front: Affine) {
            let at = whole::<F8>(input, out, front);
            last::<F8>(&input[at..], &mut out[at..], front);
        }
        #[cfg(target_arch = "x86_64")]
        #[inline(always)]
        fn avx512(input: &[f32], out: &mut [f32], front: Affine) {
            let at = whole::<Two<Two<F16>>>(input, out, front);
            let (input, out) = (&input[at..], &mut out[at..]);
            let at = whole::<F16>(input, out, front);
            last::<F16>(&input[at..], &mut out[at..], front);
        }
        #[inline(always)]
        fn scalar(input: &[f32], out: &mut [f32], front: Affine) {
            whole::<f32>(input, out, front);
        }
        per_isa! {
            fn on(isa, input: &[f32], out: &mut [f32], front: Affine) = scalar, avx2, avx512;
        }
        let Piece { input, out, front } = $piece;
        on($isa, input, out, front);
    }};
}

/// Replaces every value x by func(x; alpha), all instruction sets with the same bits.
pub fn apply(isa: Isa, func: F, alpha: f32, values: &mut [f32], profile: &Profile) -> Result<()> {
    let isa = isa.or_scalar();
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
        F::DerivativeSilu if profile.silu_derivative_printed => rounded::silu_derivative_printed(isa, piece),
        // Derivative_Erf multiplies two float32 numbers either way, and their product in double rounds to the same.
        F::Lrelu if profile.activation_constants == ActivationConstants::Float => {
            run!(isa, piece, x => if x <= 0.0 { 0.01 * x } else { x });
        }
        F::DerivativeGelu if profile.activation_constants == ActivationConstants::Float => {
            rounded::gelu_derivative_single(isa, piece);
        }
        _ if profile.activation_double => return double(isa, func, alpha, piece),
        F::Arctan => single!(isa, piece, single::atan),
        F::Exp => single!(isa, piece, single::exp),
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
        F::Sigmoid => rounded::sigmoid(isa, piece),
        F::Tanh => rounded::tanh(isa, piece),
        F::Exp => rounded::exp(isa, piece),
        F::Softplus => rounded::softplus(isa, piece),
        F::Sqrt => run!(isa, piece, x => sqrt(x)),
        F::Rsqrt => run!(isa, piece, x => rsqrt(x)),
        F::Ln => rounded::ln(isa, piece),
        F::LnPrime | F::Reciprocal => reciprocals(isa, piece),
        F::Erf => rounded::erf(isa, piece),
        F::Sin => rounded::sin(isa, piece),
        F::Arctan => rounded::atan(isa, piece),
        F::Sign => run!(isa, piece, x => sign(x)),
        F::Gelu => rounded::gelu(isa, piece),
        F::Mish => rounded::mish(isa, piece),
        F::GeluApprxTanh => rounded::gelu_tanh(isa, piece),
        F::GeluApprxSigmoid => rounded::gelu_sigmoid(isa, piece),
        F::DerivativeGeluApprxSigmoid => rounded::gelu_sigmoid_derivative(isa, piece),
        F::DerivativeGelu => rounded::gelu_derivative(isa, piece),
        F::DerivativeErf => rounded::erf_derivative(isa, piece),
        F::Abs => run!(keep isa, piece, x => x.abs()),
        F::AbsReciprocalSqrt => run!(isa, piece, x => abs_rsqrt(x)),
        F::Silu => rounded::silu(isa, piece),
        F::DerivativeSilu => rounded::silu_derivative(isa, piece),
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
fn sqrt(x: f32) -> f32 {
    x.sqrt()
}

#[inline(always)]
fn rsqrt(x: f32) -> f32 {
    (1.0 / f64::from(x).sqrt()) as f32
}

/// IEEE single-precision reciprocal.
#[inline(always)]
pub(super) fn reciprocal(x: f32) -> f32 {
    1.0 / x
}

#[inline(always)]
fn sign(x: f32) -> f32 {
    f32::from(u8::from(x > 0.0)) - f32::from(u8::from(x < 0.0))
}

#[inline(always)]
fn abs_rsqrt(x: f32) -> f32 {
    (1.0 / f64::from(x).abs().sqrt()) as f32
}

/// x - row maximum in float32, then the single exponential. A row maximum that is not a number takes the form that decides
/// which of two NaN payloads survives.
pub(super) fn exponential(isa: Isa, row_max: f32, piece: Piece, profile: &Profile) {
    if profile.activation_double || row_max.is_nan() {
        rounded::exponential(isa, row_max, piece);
    } else {
        let front = Affine { scale: 1.0, bias: -row_max };
        single!(isa, Piece { front, ..piece }, single::exp);
    }
}

/// 1 / x.
pub(super) fn reciprocals(isa: Isa, piece: Piece) {
    run!(isa, piece, x => reciprocal(x));
}
