//! The closed forms (`activation.md` 3) in double precision with one rounding to float32, correct in every case.
//!
//! The reference evaluates a form with correctly rounded library functions, which do not vectorise. Here a form is evaluated
//! with fast approximations ([`math`]) and their error bound, which gives both ends of an interval around the reference's
//! double ([`BELOW`], [`ABOVE`]). Nearly always both ends round to the same float32, which then is the result, whatever the
//! instruction set. About one element in a hundred thousand is in doubt and is computed again, slowly, with the correctly
//! rounded functions. Inner steps that the documents print in single precision are rounded inside the form.

use super::forms::{Affine, Piece};
use super::math;
use crate::isa::{Isa, per_isa};

/// The functions of [`math`] are within 2^-43 of the value, relatively; what follows them adds a few 2^-53.
const DELTA: f64 = 1.0 / (1u64 << 42) as f64;
/// Factors that reach the ends of the interval around a value.
pub(super) const BELOW: f64 = 1.0 - DELTA;
pub(super) const ABOVE: f64 = 1.0 + DELTA;

/// The reference's literal for sqrt(2), one unit below the correctly rounded one.
const SQRT_TWO: f64 = f64::from_bits(0x3FF6_A09E_667F_3BCC);
/// 2 / sqrt(pi) and 1 / sqrt(2 pi) as the float32 literals of the reference.
const TWO_OVER_SQRT_PI: f64 = f32::from_bits(0x3F90_6EBB) as f64;
pub(super) const ONE_OVER_SQRT_TWO_PI: f32 = f32::from_bits(0x3ECC_422A);

/// Elements between two checks for doubtful ones.
const BLOCK: usize = 128;

/// Both ends of an interval, in either order.
type Ends = (f64, f64);
/// The same, rounded; an end that is not a number means that the result is in doubt.
type Rounded = (f32, f32);

/// Fills a piece with $fast, where $x is the value after the front, and with $slow where the ends of $fast round to different
/// numbers. $p names a float32 parameter of both.
///
/// A NaN argument is passed on quietly; a NaN that arises is the processor's default one (ruling D57).
macro_rules! rounded {
    ($isa:expr, $piece:expr, $x:ident => $fast:expr, $slow:expr) => {
        rounded!($isa, $piece, 0.0, _p, $x => $fast, $slow)
    };
    ($isa:expr, $piece:expr, $arg:expr, $p:ident, $x:ident => $fast:expr, $slow:expr) => {{
        fn slow($x: f32, $p: f32) -> f32 {
            $slow
        }
        #[inline(always)]
        fn body(input: &[f32], out: &mut [f32], front: Affine, $p: f32) {
            let mut others = [0.0; BLOCK];
            for (out, input) in out.chunks_mut(BLOCK).zip(input.chunks(BLOCK)) {
                let mut doubt = false;
                for ((o, i), other) in out.iter_mut().zip(input).zip(&mut others) {
                    let $x = *i * front.scale + front.bias;
                    let (a, b): Rounded = $fast;
                    (*o, *other) = (a, b);
                    // A NaN is in doubt as well.
                    doubt |= !(*o == *other);
                }
                if doubt {
                    again(input, out, front, &others, |x| slow(x, $p));
                }
            }
        }
        per_isa! {
            fn on(isa, input: &[f32], out: &mut [f32], front: Affine, p: f32) = body, body, body;
        }
        let Piece { input, out, front } = $piece;
        on($isa, input, out, front, $arg);
    }};
}

/// Computes the doubtful elements again: those whose ends differ, or are not a number.
#[cold]
fn again(input: &[f32], out: &mut [f32], front: Affine, others: &[f32], slow: impl Fn(f32) -> f32) {
    for ((o, i), other) in out.iter_mut().zip(input).zip(others) {
        if *o == *other {
            continue;
        }
        let x = *i * front.scale + front.bias;
        *o = quiet(x, || slow(x));
    }
}

/// As [`rounded!`], for functions whose $fast gives one double and whether it is covered. That is in doubt where it is too
/// close to the middle between two float32 numbers. The test costs half of a second conversion to float32, but holds for
/// normal results only: of subnormal arguments these functions must give the arguments themselves.
macro_rules! certain {
    ($isa:expr, $piece:expr, $x:ident => $fast:expr, $slow:expr) => {{
        #[inline(always)]
        fn fast($x: f32) -> (bool, f64) {
            $fast
        }
        #[cold]
        fn again(input: &[f32], out: &mut [f32], front: Affine) {
            for (o, i) in out.iter_mut().zip(input) {
                let $x = *i * front.scale + front.bias;
                let (covered, y) = fast($x);
                if !covered || is_midway(y) {
                    *o = quiet($x, || $slow);
                }
            }
        }
        #[inline(always)]
        fn body(input: &[f32], out: &mut [f32], front: Affine) {
            for (out, input) in out.chunks_mut(BLOCK).zip(input.chunks(BLOCK)) {
                let mut doubt = false;
                for (o, i) in out.iter_mut().zip(input) {
                    let (covered, y) = fast(*i * front.scale + front.bias);
                    *o = y as f32;
                    doubt |= !covered | is_midway(y);
                }
                if doubt {
                    again(input, out, front);
                }
            }
        }
        per_isa! {
            fn on(isa, input: &[f32], out: &mut [f32], front: Affine) = body, body, body;
        }
        let Piece { input, out, front } = $piece;
        on($isa, input, out, front);
    }};
}

/// A double whose distance from the middle between two float32 numbers is below its error, [`DELTA`] of its size.
#[inline(always)]
fn is_midway(y: f64) -> bool {
    /// Bits that the conversion to float32 drops, and the first of them: half a unit of float32.
    const DROPPED: u64 = (1 << 29) - 1;
    const HALF: u64 = 1 << 28;
    /// [`DELTA`] in units of the last place of a double just below a power of two.
    const WINDOW: u64 = 1 << 11;
    // Inside the window exactly when the sum has none of the bits above it.
    y.to_bits().wrapping_sub(HALF).wrapping_add(WINDOW) & DROPPED & !(2 * WINDOW - 1) == 0
}

/// The value of `f`. A NaN argument is passed on quietly; a NaN that arises is the processor's default one (ruling D57).
#[inline(always)]
fn quiet(x: f32, f: impl Fn() -> f32) -> f32 {
    if x.is_nan() {
        return f32::from_bits(x.to_bits() | 0x0040_0000);
    }
    let y = f();
    if y.is_nan() { f32::from_bits(0xFFC0_0000) } else { y }
}

/// The interval around a value whose error is relative.
#[inline(always)]
fn around(y: f64) -> Ends {
    (y * BELOW, y * ABOVE)
}

#[inline(always)]
fn narrow(ends: Ends) -> Rounded {
    (ends.0 as f32, ends.1 as f32)
}

#[inline(always)]
fn both(ends: Ends, f: impl Fn(f64) -> f64) -> Rounded {
    (f(ends.0) as f32, f(ends.1) as f32)
}

/// Both ends rounded to float32, as an inner routine that returns float32 does.
#[inline(always)]
fn single(ends: Ends) -> Ends {
    (f64::from(ends.0 as f32), f64::from(ends.1 as f32))
}

/// Sends values that the fast form does not cover to the slow one.
#[inline(always)]
fn only_if(covered: bool, (a, b): Rounded) -> Rounded {
    (a, if covered { b } else { f32::NAN })
}

pub(super) fn exp(isa: Isa, piece: Piece) {
    rounded!(isa, piece, x => narrow(around(math::exp_single(x))), pxfm::f_expf(x));
}

/// The exponential of x - row maximum, the difference rounded to float32.
pub(super) fn exponential(isa: Isa, row_max: f32, piece: Piece) {
    rounded!(isa, piece, row_max, top, x => narrow(around(math::exp_single(x - top))), pxfm::f_expf(x - top));
}

pub(super) fn ln(isa: Isa, piece: Piece) {
    // Covered are normal positive numbers: from 2^-126 to the largest one.
    certain!(isa, piece, x => (x.to_bits().wrapping_sub(0x0080_0000) < 0x7F00_0000, math::ln(x)), pxfm::f_logf(x));
}

pub(super) fn tanh(isa: Isa, piece: Piece) {
    certain!(isa, piece, x => (!x.is_nan(), math::tanh(x)), pxfm::f_tanhf(x));
}

pub(super) fn erf(isa: Isa, piece: Piece) {
    rounded!(isa, piece, x => narrow(math::erf_ends(f64::from(x))), pxfm::f_erff(x));
}

pub(super) fn atan(isa: Isa, piece: Piece) {
    certain!(isa, piece, x => (!x.is_nan(), math::atan(f64::from(x))), pxfm::f_atanf(x));
}

pub(super) fn sin(isa: Isa, piece: Piece) {
    certain!(isa, piece, x => (x.abs() <= math::SIN_NEAR, math::sin(f64::from(x))), pxfm::f_sinf(x));
}

pub(super) fn sigmoid(isa: Isa, piece: Piece) {
    rounded!(isa, piece, x => narrow(around(1.0 / (math::exp_single(-x) + 1.0))), slow::sigmoid(-f64::from(x)) as f32);
}

pub(super) fn silu(isa: Isa, piece: Piece) {
    rounded!(isa, piece, x => {
        let d = f64::from(x);
        narrow(around(d / (math::exp(-d) + 1.0)))
    }, {
        let d = f64::from(x);
        (d / (slow::exp(-d) + 1.0)) as f32
    });
}

#[inline(always)]
fn softplus_near(d: f64) -> Ends {
    around(math::log1p_unit(math::exp(-d.abs())) + if d <= 0.0 { 0.0 } else { d })
}

pub(super) fn softplus(isa: Isa, piece: Piece) {
    rounded!(isa, piece, x => narrow(softplus_near(f64::from(x))), slow::softplus(x));
}

/// x tanh(softplus(x)); the softplus is rounded to float32.
pub(super) fn mish(isa: Isa, piece: Piece) {
    rounded!(isa, piece, x => {
        let d = f64::from(x);
        let (a, b) = narrow(softplus_near(d));
        only_if(a == b, both(around(math::tanh(a)), |t| d * t))
    }, (f64::from(x) * slow::tanh(f64::from(slow::softplus(x)))) as f32);
}

#[inline(always)]
fn half_of(d: f64, one_more: f64) -> f64 {
    0.5 * d * (one_more + 1.0)
}

pub(super) fn gelu(isa: Isa, piece: Piece) {
    rounded!(isa, piece, x => {
        let d = f64::from(x);
        both(math::erf_ends(d / SQRT_TWO), |e| half_of(d, e))
    }, {
        let d = f64::from(x);
        half_of(d, slow::erf(d / SQRT_TWO)) as f32
    });
}

#[inline(always)]
fn gelu_argument(d: f64) -> f64 {
    (0.044715 * (d * d * d) + d) * 0.7978845608028654
}

pub(super) fn gelu_tanh(isa: Isa, piece: Piece) {
    rounded!(isa, piece, x => {
        let d = f64::from(x);
        both(math::tanh_ends(gelu_argument(d)), |t| half_of(d, t))
    }, {
        let d = f64::from(x);
        half_of(d, slow::tanh(gelu_argument(d))) as f32
    });
}

/// The inner sigmoid is rounded to float32, its argument stays double.
pub(super) fn gelu_sigmoid(isa: Isa, piece: Piece) {
    rounded!(isa, piece, x => {
        let d = f64::from(x);
        both(single(around(1.0 / (math::exp(-1.702 * d) + 1.0))), |s| d * s)
    }, {
        let d = f64::from(x);
        (d * f64::from(slow::sigmoid(-1.702 * d) as f32)) as f32
    });
}

/// (u + e^u + 1) e^u / (e^u + 1)^2, overflow of the quotient to NaN included. Near u = -1.28 the first factor cancels, so
/// the error of e^u counts by itself.
#[inline(always)]
fn logistic_derivative(u: f64) -> Rounded {
    let e = math::exp(u);
    let square = (e + 1.0) * (e + 1.0);
    let y = (u + e + 1.0) * e / square;
    let off = (e + u.abs() * (1.0 / 1024.0)) * DELTA * e / square + y.abs() * DELTA;
    narrow((y - off, y + off))
}

pub(super) fn gelu_sigmoid_derivative(isa: Isa, piece: Piece) {
    rounded!(isa, piece, x => logistic_derivative(1.702 * f64::from(x)), slow::logistic_derivative(1.702 * f64::from(x)));
}

/// The mathematically right form.
pub(super) fn silu_derivative(isa: Isa, piece: Piece) {
    rounded!(isa, piece, x => logistic_derivative(f64::from(x)), slow::logistic_derivative(f64::from(x)));
}

/// The form the notes print, (x e^x + 1) e^x / (e^x + 1)^2: 0.25 at 0, where the derivative is 0.5.
pub(super) fn silu_derivative_printed(isa: Isa, piece: Piece) {
    rounded!(isa, piece, x => {
        let d = f64::from(x);
        let e = math::exp(d);
        let square = (e + 1.0) * (e + 1.0);
        let y = (d * e + 1.0) * e / square;
        let off = (d.abs() * e + 1.0) * DELTA * e / square + y.abs() * DELTA;
        narrow((y - off, y + off))
    }, {
        let d = f64::from(x);
        let e = slow::exp(d);
        ((d * e + 1.0) * e / ((e + 1.0) * (e + 1.0))) as f32
    });
}

#[inline(always)]
fn gelu_derivative_near(d: f64, slope: f64) -> Rounded {
    let (a, b) = math::erf_ends(d * std::f64::consts::FRAC_1_SQRT_2);
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    let power = -(d * d) / 2.0;
    let density = math::exp(power);
    // Subnormal numbers are zero to `math::exp`; here their sign outlives them.
    let density = if (power < -708.0) & (power > -745.1332191019412) { f64::MIN_POSITIVE } else { density };
    let w = slope * density;
    let off = w.abs() * DELTA;
    narrow((0.5 * (low + 1.0) + (w - off), 0.5 * (high + 1.0) + (w + off)))
}

pub(super) fn gelu_derivative(isa: Isa, piece: Piece) {
    rounded!(isa, piece, x => {
        let d = f64::from(x);
        gelu_derivative_near(d, d * f64::from(ONE_OVER_SQRT_TWO_PI))
    }, {
        let d = f64::from(x);
        slow::gelu_derivative(d, d * f64::from(ONE_OVER_SQRT_TWO_PI))
    });
}

/// The same with a slope that is multiplied in float32.
pub(super) fn gelu_derivative_single(isa: Isa, piece: Piece) {
    rounded!(
        isa, piece,
        x => gelu_derivative_near(f64::from(x), f64::from(x * ONE_OVER_SQRT_TWO_PI)),
        slow::gelu_derivative(f64::from(x), f64::from(x * ONE_OVER_SQRT_TWO_PI))
    );
}

/// The inner exponential is rounded to float32.
pub(super) fn erf_derivative(isa: Isa, piece: Piece) {
    rounded!(isa, piece, x => {
        let d = f64::from(x);
        both(single(around(math::exp(-(d * d)))), |e| e * TWO_OVER_SQRT_PI)
    }, {
        let d = f64::from(x);
        (f64::from(slow::exp(-(d * d)) as f32) * TWO_OVER_SQRT_PI) as f32
    });
}

/// The same forms, element by element, with correctly rounded functions of double precision.
mod slow {
    use super::half_of;
    pub(super) use pxfm::{f_erf as erf, f_exp as exp, f_tanh as tanh};

    /// 1 / (1 + e^t).
    pub(super) fn sigmoid(t: f64) -> f64 {
        1.0 / (exp(t) + 1.0)
    }

    pub(super) fn softplus(x: f32) -> f32 {
        let d = f64::from(x);
        (pxfm::f_log1p(exp(-d.abs())) + if d <= 0.0 { 0.0 } else { d }) as f32
    }

    pub(super) fn logistic_derivative(u: f64) -> f32 {
        let e = exp(u);
        ((u + e + 1.0) * e / ((e + 1.0) * (e + 1.0))) as f32
    }

    pub(super) fn gelu_derivative(d: f64, slope: f64) -> f32 {
        (half_of(1.0, erf(d * std::f64::consts::FRAC_1_SQRT_2)) + slope * exp(-(d * d) / 2.0)) as f32
    }
}
