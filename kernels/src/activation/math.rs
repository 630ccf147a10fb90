//! Double-precision cores of the activation functions, branch-free so that the loops around them vectorise.
//!
//! Each core is good to 2^-43, which [`super::rounded`] relies on. Polynomials are minimax or Chebyshev fits over the reduced
//! range. Plain IEEE operations and fused multiply-adds in a fixed order: every instruction set gives the same bits.

use super::rounded::{ABOVE, BELOW};

/// Adding and subtracting this rounds to an integer and leaves it in the low mantissa bits.
const ROUND: f64 = 6755399441055744.0;
const LN2_HI: f64 = 0.693_147_180_369_123_8;
const LN2_LO: f64 = 1.908_214_929_270_587_7e-10;
const HALF_PI_HI: f64 = std::f64::consts::FRAC_PI_2;
const HALF_PI_LO: f64 = 6.123_233_995_736_766e-17;

const EXPM1: [f64; 9] = [
    0.5,
    0.16666666666648156,
    0.041666666666651246,
    0.008333333353839834,
    0.0013888888905973543,
    0.0001984120851210209,
    2.480153620505534e-05,
    2.7625237795740734e-06,
    2.761390867578486e-07,
];
/// (2 atanh(s) - 2 s) / s^3 in powers of s^2, for the mantissas of [`ln`]. Error of the logarithm: 2^-44.9.
const LN: [f64; 5] =
    [0.6666666667579951, 0.3999999562243994, 0.28572109071334095, 0.22176193357868296, 0.1958407017748746];
/// The same for |s| <= 1/3.
const ATANH: [f64; 11] = [
    0.6666666666666666,
    0.3999999999999952,
    0.28571428571600266,
    0.22222222198216113,
    0.1818181989926796,
    0.15384543917753166,
    0.13335179661515711,
    0.11734265179376593,
    0.10845291032779812,
    0.07491639460673266,
    0.15631534707431224,
];
/// (atan t - t) / t^3 in powers of t^2, for t <= tan(pi / 8). Error of the arc tangent: 2^-45.
const ATAN: [f64; 8] = [
    -0.3333333333169709,
    0.19999999685616465,
    -0.14285693596129073,
    0.11110449996607585,
    -0.09079137938403442,
    0.07568543556356705,
    -0.05891075815558788,
    0.030895027156273066,
];
/// (sin r - r) / r^3 in powers of r^2, for |r| <= pi / 2. Error of the sine: 2^-43.7.
const SIN_HALF_TURN: [f64; 6] = [
    -0.16666666666504587,
    0.008333333321086298,
    -0.00019841266729561243,
    2.7556953100529708e-06,
    -2.5030196526559656e-08,
    1.540952348534934e-10,
];
/// The same and (cos r - 1 + r^2 / 2) / r^4, for |r| <= pi / 4.
const SIN: [f64; 6] = [
    -0.16666666666666666,
    0.008333333333330948,
    -0.00019841269836756774,
    2.7557316101617874e-06,
    -2.505113165023518e-08,
    1.5918115263265974e-10,
];
const COS: [f64; 5] = [
    0.04166666666666468,
    -0.0013888888887276698,
    2.480158521036455e-05,
    -2.755636950618061e-07,
    2.0700582941271302e-09,
];
const ERF: [f64; 14] = [
    std::f64::consts::FRAC_2_SQRT_PI,
    -0.37612638903183754,
    0.1128379167095512,
    -0.02686617064512984,
    0.0052239776254232985,
    -0.000854832702193483,
    0.00012055332902888736,
    -1.4925647567519332e-05,
    1.6462045441468418e-06,
    -1.6364642158167616e-07,
    1.4792401209404813e-08,
    -1.216456005728345e-09,
    8.709045129053106e-11,
    -4.230945824295338e-12,
];
/// exp(z^2) erfc(z) for 1 <= z <= 6.1 in powers of (z - 2.5) / (z + 2.5).
const ERFC: [f64; 17] = [
    0.2108063640611436,
    -0.3717367339489734,
    0.25171319321744934,
    -0.1250330523788242,
    0.03992253907557999,
    -0.003993701166257127,
    -0.0026423659640321734,
    0.0008759154640998206,
    0.00022838037193786482,
    -0.00012887743098334982,
    -3.41821412242066e-05,
    1.861719934532683e-05,
    7.55186220563275e-06,
    -2.3146184120413574e-06,
    -1.7991658885591785e-06,
    1.3053267706206863e-07,
    3.397714274049558e-07,
];

#[inline(always)]
fn poly<const N: usize>(c: &[f64; N], x: f64) -> f64 {
    let mut acc = c[N - 1];
    for k in (0..N - 1).rev() {
        acc = acc.mul_add(x, c[k]);
    }
    acc
}

/// Lower and upper clamp that keeps NaN.
#[inline(always)]
fn clamp(x: f64, lo: f64, hi: f64) -> f64 {
    let x = if x < lo { lo } else { x };
    if x > hi { hi } else { x }
}

#[inline(always)]
fn with_sign(magnitude: f64, sign: f64) -> f64 {
    f64::from_bits(magnitude.to_bits() | (sign.to_bits() & (1 << 63)))
}

/// (k with its round-off constant, r) with x = k ln 2 + r.
#[inline(always)]
fn exp_reduce(x: f64) -> (f64, f64) {
    let t = x.mul_add(std::f64::consts::LOG2_E, ROUND);
    let k = t - ROUND;
    (t, (-k).mul_add(std::f64::consts::LN_2, x))
}

/// (e^r - 1, 2^k) with x = k ln 2 + r.
#[inline(always)]
fn exp_parts(x: f64) -> (f64, f64) {
    let (t, r) = exp_reduce(x);
    let scale = f64::from_bits(t.to_bits().wrapping_add(1023) << 52);
    ((r * r).mul_add(poly(&EXPM1, r), r), scale)
}

/// e^x for |x| <= 710.
#[inline(always)]
fn exp_near(x: f64) -> f64 {
    let (t, r) = exp_reduce(x);
    let m = poly(&EXPM1, r).mul_add(r, 1.0).mul_add(r, 1.0);
    f64::from_bits(m.to_bits().wrapping_add(t.to_bits() << 52))
}

/// e^x: infinite above 709.8, zero below -708 where no float32 result can tell.
#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    let (t, r) = exp_reduce(clamp(x, -708.0, 710.0));
    let m = poly(&EXPM1, r).mul_add(r, 1.0).mul_add(r, 1.0);
    let scale = f64::from_bits(t.to_bits().wrapping_add(1023) << 52);
    if x < -708.0 { 0.0 } else { m * scale }
}

/// e^x of a float32, kept between magnitudes that float32 rounds to zero and to infinity.
#[inline(always)]
pub(super) fn exp_single(x: f32) -> f64 {
    let x = if x < -110.0 { -110.0 } else { x };
    let x = if x > 110.0 { 110.0 } else { x };
    exp_near(f64::from(x))
}

/// ln(1 + e) for 0 <= e <= 1.
#[inline(always)]
pub(super) fn log1p_unit(e: f64) -> f64 {
    let s = e / (2.0 + e);
    let z = s * s;
    (s * z).mul_add(poly(&ATANH, z), 2.0 * s)
}

/// Natural logarithm of a normal positive float32; meaningless for others.
#[inline(always)]
pub(super) fn ln(x: f32) -> f64 {
    const SQRT_HALF: i32 = 0x3F35_04F3;
    let k = (x.to_bits() as i32).wrapping_sub(SQRT_HALF) >> 23;
    let m = f64::from(f32::from_bits(x.to_bits().wrapping_sub((k << 23) as u32)));
    let k = f64::from(k);
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let low = k.mul_add(LN2_LO, (s * z) * poly(&LN, z));
    k.mul_add(LN2_HI, 2.0 * s + low)
}

/// Hyperbolic tangent, with a relative error. Magnitudes from 22 on give 1.
#[inline(always)]
pub(super) fn tanh(x: f32) -> f64 {
    let x = if x < -22.0 { -22.0 } else { x };
    let x = f64::from(if x > 22.0 { 22.0 } else { x });
    let (m, scale) = exp_parts(2.0 * x);
    let em1 = m.mul_add(scale, scale - 1.0);
    // The sign of -0 was lost on the way.
    with_sign(em1 / (em1 + 2.0), x)
}

/// Hyperbolic tangent: the ends of an interval that holds the correctly rounded one. Where it is close to 1, the ends are
/// neighbours or the same, so that 1 + tanh, which cancels, is known as exactly.
#[inline(always)]
pub(super) fn tanh_ends(x: f64) -> (f64, f64) {
    let a = x.abs();
    let (m, scale) = exp_parts(clamp(2.0 * a, 0.0, 80.0));
    let em1 = m.mul_add(scale, scale - 1.0);
    let q = if a < 1.0 { em1 } else { 2.0 } / (em1 + 2.0);
    ends(q, a < 1.0, x)
}

/// Error function, in the same form.
#[inline(always)]
pub(super) fn erf_ends(x: f64) -> (f64, f64) {
    let a = clamp(x.abs(), 0.0, 6.1);
    let z = a * a;
    let small = a * poly(&ERF, z);
    let t = (a - 2.5) / (a + 2.5);
    let tail = exp(-z) * poly(&ERFC, t);
    ends(if a < 1.0 { small } else { tail }, a < 1.0, x)
}

/// The ends of an interval around a magnitude q, or around 1 - q, with the sign of x.
#[inline(always)]
fn ends(q: f64, itself: bool, x: f64) -> (f64, f64) {
    let (low, high) = (q * BELOW, q * ABOVE);
    let low = if itself { low } else { 1.0 - low };
    let high = if itself { high } else { 1.0 - high };
    (with_sign(low, x), with_sign(high, x))
}

/// Arc tangent.
#[inline(always)]
pub(super) fn atan(x: f64) -> f64 {
    let a = x.abs();
    let far = a > 2.414213562373095;
    let near = a < 0.41421356237309503;
    let num = if far { -1.0 } else { a - 1.0 };
    let num = if near { a } else { num };
    let den = if far { a } else { a + 1.0 };
    let den = if near { 1.0 } else { den };
    let base = if far { HALF_PI_HI } else { std::f64::consts::FRAC_PI_4 };
    let base = if near { 0.0 } else { base };
    let t = num / den;
    let z = t * t;
    with_sign(base + (t * z).mul_add(poly(&ATAN, z), t), x)
}

/// Largest magnitude [`sin`] reduces by itself.
pub(super) const SIN_NEAR: f32 = 33554432.0;

/// Sine of |x| <= [`SIN_NEAR`], from the distance r to the nearest multiple of pi: sin x = +-sin r. A polynomial for |r| up to
/// pi / 2 needs one coefficient more than one up to pi / 4, but there is no cosine to compute beside it.
#[inline(always)]
pub(super) fn sin(x: f64) -> f64 {
    const PI_LO: f64 = 2.0 * HALF_PI_LO;
    let t = x.mul_add(std::f64::consts::FRAC_1_PI, ROUND);
    let k = t - ROUND;
    let r = (-k).mul_add(PI_LO, (-k).mul_add(std::f64::consts::PI, x));
    let z = r * r;
    // As a product, so that -0 stays -0.
    let s = z.mul_add(poly(&SIN_HALF_TURN, z), 1.0) * r;
    f64::from_bits(s.to_bits() ^ (t.to_bits() << 63))
}

/// The same by quarter turns, for the single-precision forms, whose bits follow from it.
#[inline(always)]
pub(super) fn sin_by_quarters(x: f64) -> f64 {
    let a = x.abs();
    let t = a.mul_add(std::f64::consts::FRAC_2_PI, ROUND);
    let k = t - ROUND;
    let r = (-k).mul_add(HALF_PI_LO, (-k).mul_add(HALF_PI_HI, a));
    quadrant(t.to_bits(), r, x)
}

/// Sine of quadrant * pi / 2 + r, with the sign of `x` applied.
#[inline(always)]
fn quadrant(quadrant: u64, r: f64, x: f64) -> f64 {
    let z = r * r;
    let s = (r * z).mul_add(poly(&SIN, z), r);
    let c = (z * z).mul_add(poly(&COS, z), 1.0 - 0.5 * z);
    let v = if quadrant & 1 == 0 { s } else { c };
    f64::from_bits(v.to_bits() ^ ((quadrant & 2) << 62) ^ (x.to_bits() & (1 << 63)))
}

/// The fraction bits of 2 / pi, 64 bits a word.
const TWO_OVER_PI: [u64; 4] =
    [0xA2F9_836E_4E44_1529, 0xFC27_57D1_F534_DDC0, 0xDB62_9599_3C43_9041, 0xFE51_63AB_DEBB_C561];

/// Sine of a finite |x| > [`SIN_NEAR`]: exact reduction in integers, since a double would lose every bit of it.
pub(super) fn sin_far(x: f32) -> f32 {
    let bits = x.abs().to_bits();
    let mantissa = u64::from((bits & 0x7F_FFFF) | 0x80_0000);
    // |x| = mantissa * 2^shift with shift >= 2. Bits of 2 / pi that are worth 4 or more after the shift add whole turns.
    let first = (bits >> 23) as usize - 152;
    let window = |i: usize| {
        let word = |k: usize| TWO_OVER_PI.get(k).copied().unwrap_or(0);
        match i % 64 {
            0 => word(i / 64),
            bit => (word(i / 64) << bit) | (word(i / 64 + 1) >> (64 - bit)),
        }
    };
    // Quarter turns modulo 4 as a fixed-point number with two integer bits.
    let carry = ((u128::from(mantissa) * u128::from(window(first + 64))) >> 64) as u64;
    let quarters = mantissa.wrapping_mul(window(first)).wrapping_add(carry);
    let turns = (quarters >> 62) + ((quarters >> 61) & 1);
    let fraction = (quarters << 2) as i64 as f64 * 2f64.powi(-64);
    quadrant(turns, fraction * HALF_PI_HI, f64::from(x)) as f32
}
