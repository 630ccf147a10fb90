//! Single-precision cores of the functions that cost most, each within one unit in the last place of the exact value.
//!
//! They serve where the profile field `activation_double` is off, as in the preset `device` (ruling D54). Largest errors
//! over all 2^32 arguments, in units of the last place of the double-precision form:
//!
//! | function | error | | function | error | | function | error |
//! |--|--|--|--|--|--|--|--|
//! | Arctan | 0.990 | | Sigmoid | 0.790 | | Softplus | 0.818 |
//! | Exp | 0.790 | | Silu | 0.804 | | Tanh | 1.000 |
//! | Ln | 0.827 | | Sin | 0.865 | | | |
//!
//! Exp, Sigmoid and Silu reach theirs among subnormal values only, elsewhere they stay below 0.62. Gelu_apprx_tanh has no
//! such form: 1 + tanh cancels, and float32 cannot tell which double it leaves.
//!
//! The same operations on every instruction set. Where plain float32 would lose more than the unit, a value is the sum
//! of a high and a low part. Polynomials are minimax fits over the reduced range. A NaN argument comes out quiet, one
//! that arises is the processor's default one, as in the double-precision forms.

use super::math;
use super::vector::{ENTRIES, Vector, WIDEST};
use std::f32::consts::{FRAC_2_PI, FRAC_PI_2, LOG2_E};
use std::hint::black_box;

/// Adding and subtracting this rounds to an integer and leaves it in the low mantissa bits.
const ROUND: f32 = 12_582_912.0;
/// ln 2 in two parts; the first one times an integer below 2^8 is exact.
const LN2_HI: f32 = 0.693_145_75;
const LN2_LO: f32 = 1.428_606_8e-6;
/// pi / 2 in three parts; the first two times an integer up to 2^8 are exact.
const HALF_PI: [f32; 3] = [f32::from_bits(0x3FC9_1000), f32::from_bits(0xB695_7700), f32::from_bits(0xAE74_B9EE)];
/// Smallest magnitude that [`sin_near`] does not reduce.
const SIN_LIMIT: f32 = 201.0;
const SIGN: u32 = 0x8000_0000;
const DEFAULT_NAN: u32 = 0xFFC0_0000;
const TWO_64: f32 = (1u128 << 64) as f32;
/// (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2.
const EXP: [f32; 5] = [0.499_999_94, 0.166_665_21, 0.041_668_274, 0.008_368_686, 0.001_382_013_8];
/// (2 atanh s - 2 s) / s^3 in powers of s^2 for the mantissas of [`ln`].
const LN: [f32; 3] = [0.666_667_76, 0.399_775_68, 0.298_714_6];
/// The same for s <= 1/3.
const ATANH: [f32; 5] = [0.666_666_75, 0.399_989_5, 0.286_152_12, 0.214_438_86, 0.242_452_56];
/// (atan t - t) / t^3 in powers of t^2 for t <= 1.
const ATAN: [f32; 9] = [
    -0.333_333_02,
    0.199_986_28,
    -0.142_651_27,
    0.109_569_54,
    -0.084_176_38,
    0.058_203_284,
    -0.031_424_403,
    0.011_047_528,
    -0.001_823_401_9,
];
/// (sin r - r) / r^3 and (cos r - 1 + r^2 / 2) / r^4 in powers of r^2 for |r| <= pi / 4.
const SIN: [f32; 3] = [-0.166_666_55, 0.008_332_191, -1.951_862e-4];
const COS: [f32; 3] = [0.041_666_646, -0.001_388_730_1, 2.443_066_8e-5];
/// tanh a by slices of a, two a binade from 1/8 on: the centres, then the coefficients of the powers of a - centre, as bits.
/// A slice is found by the last three bits of the exponent and the first one of the mantissa. The centres are chosen for
/// values that float32 holds nearly exactly.
#[rustfmt::skip]
const TANH: [[f32; ENTRIES]; 9] = from_bits([
    [0x401F_F274, 0x405F_F0F1, 0x409F_F0B3, 0x40DF_F16A, 0x410A_0FA0, 0x4120_0000, 0x4120_0000, 0x0000_0000,
     0x3E1F_F1A9, 0x3E5F_F095, 0x3E9F_F1D8, 0x3EDF_F318, 0x3F1F_F095, 0x3F5F_F2EC, 0x3F9F_F34D, 0x3FDF_F12F],
    [0x3F7C_9150, 0x3F7F_885E, 0x3F7F_FA07, 0x3F7F_FFE4, 0x3F7F_FFFF, 0x3F80_0000, 0x3F80_0000, 0x0000_0000,
     0x3E1E_A7E5, 0x3E5C_6FCE, 0x3E9A_EFE9, 0x3ED2_AE97, 0x3F0D_EF92, 0x3F34_2C8F, 0x3F59_21FE, 0x3F70_FA9D],
    [0x3CDA_3304, 0x3B6F_0C17, 0x393F_1C35, 0x365F_FF9B, 0x3409_CAEF, 0x0000_0000, 0x0000_0000, 0x3F80_0000,
     0x3F79_DAC5, 0x3F74_22FA, 0x3F68_8E9F, 0x3F54_A746, 0x3F31_4E39, 0x3F01_314F, 0x3E8F_AAB6, 0x3DE9_4922],
    [0xBCD7_45CA, 0xBB6E_9CCA, 0xB93F_3828, 0xB660_2F3C, 0xB4AF_824E, 0x0000_0000, 0x0000_0000, 0xAFB0_E8F2,
     0xBE1A_D8D6, 0xBE52_389A, 0xBE8C_BFBE, 0xBEAF_0242, 0xBEC4_9C04, 0xBEB5_DA4E, 0xBE73_B590, 0xBDDB_98ED],
    [0x3C8B_A6D3, 0x3B1E_7E55, 0x38FE_E9D7, 0x3615_71DA, 0x33A3_45EC, 0x0000_0000, 0x0000_0000, 0xBEAA_AAA9,
     0xBE9A_8693, 0xBE8C_0DE3, 0xBE60_ED5F, 0xBE0B_7924, 0xBC93_24D6, 0x3DA7_7345, 0x3DDD_DBF2, 0x3D80_F362],
    [0xBC04_193F, 0xBA9D_40C4, 0xB87B_C4D2, 0xB593_7A4B, 0x35AE_6919, 0x0000_0000, 0x0000_0000, 0xB625_A0D6,
     0x3DC5_D2C4, 0x3E01_6B1D, 0x3E21_ECA9, 0x3E2E_2759, 0x3E0D_43E8, 0x3D79_312C, 0xBC4D_9670, 0xBCC0_C425],
    [0x3B3B_C292, 0x39F7_F63A, 0x37C9_6E0A, 0x34EC_3843, 0x33E1_B076, 0x0000_0000, 0x0000_0000, 0x3E08_96DD,
     0xBDA1_A4A8, 0xBE55_791C, 0x3D81_555A, 0xBCC5_0F89, 0xBD61_763C, 0xBD73_0FB9, 0xBC9D_7668, 0x3B71_B954],
    [0xBA37_5054, 0xB924_EE38, 0xB71B_1346, 0xB437_2D3E, 0xB619_124F, 0x0000_0000, 0x0000_0000, 0xBA17_BB80,
     0x3EC9_04A0, 0x3F2C_1C03, 0xBDA1_4150, 0xBD9A_64FC, 0xBCC3_31C6, 0x3C60_AB70, 0x3C77_93DF, 0x3B08_8C40],
    [0x3878_A816, 0x382F_62F8, 0x362F_869C, 0x334F_F03B, 0xB452_CEB3, 0x0000_0000, 0x0000_0000, 0xBD52_A400,
     0x42D2_BB4B, 0x4325_8234, 0xC023_3BF6, 0x4027_505B, 0x3CE0_AB1A, 0x3CDE_005F, 0xBB96_1092, 0xBAFE_C743],
]);

/// The exponent and first mantissa bit of 1/8, less one: the first slice.
const FIRST: u32 = (0x3E00_0000 >> 22) - 1;

const fn from_bits<const N: usize>(bits: [[u32; ENTRIES]; N]) -> [[f32; ENTRIES]; N] {
    let mut out = [[0.0; ENTRIES]; N];
    let mut k = 0;
    while k < N * ENTRIES {
        out[k / ENTRIES][k % ENTRIES] = f32::from_bits(bits[k / ENTRIES][k % ENTRIES]);
        k += 1;
    }
    out
}

/// Hides the length of a slice from the compiler. Where it unrolls loops over coefficients it computes one part of a wide
/// vector after the other, and the processor cannot overlap their chains, which costs a quarter of the time.
#[inline(always)]
fn kept<V: Vector, T>(c: &[T]) -> &[T] {
    if V::COUNT > 16 { black_box(c) } else { c }
}

/// c[0] + c[1] x + ...
#[inline(always)]
fn poly<V: Vector, const N: usize>(c: &[f32; N], x: V) -> V {
    let mut acc = V::splat(c[N - 1]);
    for c in kept::<V, _>(&c[..N - 1]).iter().rev() {
        acc = acc.mul_add(x, V::splat(*c));
    }
    acc
}

#[inline(always)]
fn abs<V: Vector>(x: V) -> V {
    x.and(V::bits(!SIGN))
}

#[inline(always)]
fn neg<V: Vector>(x: V) -> V {
    x.xor(V::bits(SIGN))
}

/// y, but x quietly where that is not a number.
#[inline(always)]
fn quiet<V: Vector>(x: V, y: V) -> V {
    y.replace(x.nan(), x.or(V::bits(0x0040_0000)))
}

/// (k in the exponent field, m, rest) with e^(x + low) = 2^k (m + rest), for |low| < 2^-15.
#[inline(always)]
fn exp_parts<V: Vector>(x: V, low: V) -> (V, V, V) {
    let t = x.mul_add(V::splat(LOG2_E), V::splat(ROUND));
    let k = t - V::splat(ROUND);
    let a = k.mul_add(V::splat(-LN2_HI), x);
    let r = k.mul_add(V::splat(-LN2_LO), a);
    let rest = k.mul_add(V::splat(-LN2_LO), a - r) + low;
    let one = V::splat(1.0);
    let h = one + r;
    let s = (r * r).mul_add(poly(&EXP, r), (one - h) + r);
    let m = h + s;
    (t.up(23), m, rest.mul_add(m, (h - m) + s))
}

/// m 2^k for k >= -190, also where that is subnormal or too much; `far` says that k < -80.
#[inline(always)]
fn scaled<V: Vector>(k: V, m: V, far: V::Mask) -> V {
    // The exponent is one too small and the result doubled, so that overflow becomes infinity; small results take 64 more.
    let shift = V::bits(0xFF80_0000).replace(far, V::bits(64 << 23));
    let back = V::splat(2.0).replace(far, V::splat(1.0 / TWO_64));
    m.add_bits(k).add_bits(shift) * back
}

/// e^x.
#[inline(always)]
pub(super) fn exp<V: Vector>(x: V) -> V {
    let c = V::splat(89.0).lesser(x);
    let c = c.replace(x.lt(V::splat(-104.0)), V::splat(-104.0));
    let (k, m, rest) = exp_parts(c, V::splat(0.0));
    quiet(x, scaled(k, m + rest, c.lt(V::splat(-80.0))))
}

/// Natural logarithm.
#[inline(always)]
pub(super) fn ln<V: Vector>(x: V) -> V {
    let tiny = x.lt(V::splat(f32::MIN_POSITIVE));
    let odd = x.not_lt(V::splat(f32::INFINITY));
    if V::none(V::either(tiny, odd)) {
        return ln_normal(x, V::splat(0.0));
    }
    let small = V::splat(0.0).replace(tiny, V::splat(-23.0));
    let y = ln_normal(x * V::splat(1.0).replace(tiny, V::splat(8_388_608.0)), small);
    let zero = V::splat(0.0);
    let y = y.replace(odd, x);
    let y = y.replace(x.lt(V::bits(1)), V::splat(f32::NEG_INFINITY));
    let y = y.replace(x.lt(zero), V::bits(DEFAULT_NAN));
    quiet(x, y)
}

/// ln x + k ln 2 of normal positive numbers.
#[inline(always)]
fn ln_normal<V: Vector>(x: V, k: V) -> V {
    const SQRT_HALF: u32 = 0x3F35_04F3;
    let bits = x.add_bits(V::bits(SQRT_HALF.wrapping_neg()));
    let k = k + bits.down(23).to_float();
    let f = bits.and(V::bits(0x7F_FFFF)).add_bits(V::bits(SQRT_HALF)) - V::splat(1.0);
    let s = f / (f + V::splat(2.0));
    let z = s * s;
    let half = f * (f * V::splat(0.5));
    let low = s.mul_add(z.mul_add(poly(&LN, z), half), k * V::splat(LN2_LO));
    // k ln 2 + f, with the rounding error of the sum, minus f^2 / 2 - low.
    let c = k * V::splat(LN2_HI);
    let h = c + f;
    h + (((c - h) + f) - (half - low))
}

/// Arc tangent.
#[inline(always)]
pub(super) fn atan<V: Vector>(x: V) -> V {
    let a = abs(x);
    let one = V::splat(1.0);
    let zero = V::splat(0.0);
    // t is a below 1, else 1 / a; the exact value is t + t * error.
    let far = V::splat(1.0f32.next_down()).lt(a);
    let den = one.greater(a);
    let t = one.lesser(a) / den;
    let error = neg(t).mul_add(V::splat(f32::MAX).lesser(den), one.lesser(a));
    let z = t * t;
    let error = t.mul_add(t, neg(z)).mul_add(V::splat(-0.25), error);
    // t + t^3 P, or pi / 2 - t - t^3 P; the first sum is made with its rounding error.
    let t = t.xor(zero.replace(far, V::bits(SIGN)));
    let hi = zero.replace(far, V::splat(FRAC_PI_2));
    let h = hi + t;
    let rest = ((hi - h) + t) + zero.replace(far, V::splat(-4.371_139e-8));
    // The errors of t and z, times the slopes near 1, where they matter most.
    let rest = (t * V::splat(0.57)).mul_add(error, rest);
    let y = h + (t * z).mul_add(poly(&ATAN, z), rest);
    y.or(x.and(V::bits(SIGN)))
}

/// Hyperbolic tangent.
#[inline(always)]
pub(super) fn tanh<V: Vector>(x: V) -> V {
    let a = V::splat(9.125).lesser(abs(x));
    let slice = a.down(22).at_least(FIRST);
    let t = a - V::look_up(&TANH[0], slice);
    let mut p = V::look_up(&TANH[8], slice);
    for row in kept::<V, _>(&TANH[1..8]).iter().rev() {
        p = p.mul_add(t, V::look_up(row, slice));
    }
    p.or(x.and(V::bits(SIGN)))
}

/// Sine. Arguments from [`SIN_LIMIT`] on are reduced in double precision, and those beyond that in integers.
#[inline(always)]
pub(super) fn sin<V: Vector>(x: V) -> V {
    let far = abs(x).not_lt(V::splat(SIN_LIMIT));
    let y = sin_near(x);
    if V::none(far) {
        return y;
    }
    let (mut from, mut to) = ([0.0; WIDEST], [0.0; WIDEST]);
    x.store(&mut from);
    let (from, into) = (&from[..V::COUNT], &mut to[..V::COUNT]);
    for (x, y) in from.iter().zip(into.iter_mut()) {
        *y = math::sin_by_quarters(f64::from(*x)) as f32;
    }
    for (x, y) in from.iter().zip(into).filter(|(x, _)| x.is_finite() && x.abs() > math::SIN_NEAR) {
        *y = math::sin_far(*x);
    }
    let y = y.replace(far, V::load(&to));
    let y = y.replace(abs(x).not_lt(V::splat(f32::INFINITY)), V::bits(DEFAULT_NAN));
    quiet(x, y)
}

/// Sine of |x| < [`SIN_LIMIT`]; meaningless for others.
#[inline(always)]
fn sin_near<V: Vector>(x: V) -> V {
    let one = V::splat(1.0);
    let t = abs(x).mul_add(V::splat(FRAC_2_PI), V::splat(ROUND));
    let k = t - V::splat(ROUND);
    // |x| - k pi / 2 = r + e.
    let a = k.mul_add(V::splat(-HALF_PI[0]), abs(x));
    let r = k.mul_add(V::splat(-HALF_PI[1]), a);
    let e = k.mul_add(V::splat(-HALF_PI[1]), a - r);
    let e = k.mul_add(V::splat(-HALF_PI[2]), e);
    let z = r * r;
    let square = z * z;
    let sine = (r * z).mul_add(poly(&SIN, z), e);
    // 1 - z / 2, with its rounding error and that of z.
    let half = z * V::splat(0.5);
    let h = one - half;
    let lost = (one - h) - half;
    let lost = neg(r).mul_add(r, z).mul_add(V::splat(0.5), lost);
    let lost = neg(r).mul_add(e, lost);
    let cosine = square.mul_add(poly(&COS, z), lost);
    let odd = t.up(31).negative();
    let y = r.replace(odd, h) + sine.replace(odd, cosine);
    y.xor(t.up(30).xor(x).and(V::bits(SIGN)))
}

/// log(1 + e^x), as log(1 + e^-|x|) + max(x, 0).
#[inline(always)]
pub(super) fn softplus<V: Vector>(x: V) -> V {
    let zero = V::splat(0.0);
    let two = V::splat(2.0);
    let below = x.lt(zero);
    let a = V::splat(104.0).lesser(abs(x));
    let (k, m, rest) = exp_parts(neg(a), zero);
    let scale = k.add_bits(V::splat(1.0));
    let (e, low) = (m * scale, rest * scale);
    // log(1 + e) = 2 atanh(e / (2 + e)).
    let d = two + e;
    let d_low = (two - d) + e;
    let q = V::splat(1.0) / d;
    let s = e * q;
    let s_low = (neg(s).mul_add(d, e) + neg(s).mul_add(d_low, low)) * q;
    let z = s * s;
    let l = s + s;
    let l_low = (s * z).mul_add(poly(&ATANH, z), s_low + s_low);
    // The sum of max(x, 0) and l, with what it loses.
    let p = x.replace(below, zero);
    let h = p + l;
    let v = h - p;
    let lost = (p - (h - v)) + (l - v);
    let y = h + (lost + l_low);
    let tiny = scaled(k, m + rest, V::splat(80.0).lt(a));
    let y = y.replace(V::splat(20.0).lt(a), x.replace(below, tiny));
    quiet(x, y)
}

/// 1 / (1 + e) where `above`, else e / (1 + e), as a sum; e is e + low.
#[inline(always)]
fn logistic<V: Vector>(above: V::Mask, e: V, low: V) -> (V, V) {
    let one = V::splat(1.0);
    let d = one + e;
    let d_low = ((one - d) + e) + low;
    let q = one / d;
    let (n, n_low) = (e.replace(above, one), low.replace(above, V::splat(0.0)));
    let s = n * q;
    let s_low = neg(s).mul_add(d, n) + neg(s).mul_add(d_low, n_low);
    (s, s_low * q)
}

/// 1 / (1 + e^-x).
#[inline(always)]
pub(super) fn sigmoid<V: Vector>(x: V) -> V {
    let zero = V::splat(0.0);
    let above = zero.lt(x);
    let a = V::splat(104.0).lesser(abs(x));
    let (k, m, rest) = exp_parts(neg(a), zero);
    let scale = k.add_bits(V::splat(1.0));
    let (s, s_low) = logistic(above, m * scale, rest * scale);
    let tiny = scaled(k, m + rest, V::splat(80.0).lt(a));
    let y = (s + s_low).replace(V::splat(20.0).lt(a), tiny.replace(above, V::splat(1.0)));
    quiet(x, y)
}

/// x / (1 + e^-x): no number at minus infinity.
#[inline(always)]
pub(super) fn silu<V: Vector>(x: V) -> V {
    let zero = V::splat(0.0);
    let above = zero.lt(x);
    let a = V::splat(110.0).lesser(abs(x));
    let (k, m, rest) = exp_parts(neg(a), zero);
    let scale = k.add_bits(V::splat(1.0));
    let (s, s_low) = logistic(above, m * scale, rest * scale);
    let y = x.mul_add(s, x * s_low);
    // Far down it is x e^x, computed 64 binades higher because e^x alone may be subnormal.
    let scale = k.add_bits(V::splat(TWO_64));
    let tiny = neg(a).mul_add(m * scale, neg(a) * (rest * scale)) * V::splat(1.0 / TWO_64);
    let y = y.replace(V::splat(20.0).lt(a), tiny.replace(above, x));
    let y = y.replace(x.lt(V::splat(f32::MIN)), V::bits(DEFAULT_NAN));
    quiet(x, y)
}
