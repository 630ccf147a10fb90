//! The four FP8 formats and the E2M1 lane (`numerics.md` 1.1, 4.4, 4.5).

use super::Fp8Config;

/// Parameters of one 8-bit float format.
pub(super) trait Format {
    /// Mantissa bits.
    const MAN: u32;
    /// Exponent bias.
    const BIAS: u32;
    /// Code of the largest finite value.
    const MAX: u32;
    /// Code of an overflow that does not saturate.
    const OVER: u32;
    /// Code of NaN.
    const NAN: u32;
    /// The overflow code takes the sign of the value.
    const SIGNED: bool;
    /// The NaN code takes the sign of the value.
    const SIGNED_NAN: bool = Self::SIGNED;
    /// Exponent of the largest finite value.
    const TOP: i32 = (Self::MAX >> Self::MAN) as i32 - Self::BIAS as i32;
}

/// IEEE-like e3m4.
pub(super) struct E3m4;
/// IEEE-like e4m3 with an infinity.
pub(super) struct E4m3;
/// OCP e4m3 without infinity.
pub(super) struct E4m3fn;
/// IEEE-like e5m2.
pub(super) struct E5m2;

impl Format for E3m4 {
    const MAN: u32 = 4;
    const BIAS: u32 = 3;
    const MAX: u32 = 0x6F;
    const OVER: u32 = 0x70;
    const NAN: u32 = 0x78;
    const SIGNED: bool = true;
}

impl Format for E4m3 {
    const MAN: u32 = 3;
    const BIAS: u32 = 7;
    const MAX: u32 = 0x77;
    const OVER: u32 = 0x78;
    const NAN: u32 = 0x7C;
    const SIGNED: bool = true;
}

impl Format for E4m3fn {
    const MAN: u32 = 3;
    const BIAS: u32 = 7;
    const MAX: u32 = 0x7E;
    const OVER: u32 = 0x7F;
    const NAN: u32 = 0x7F;
    const SIGNED: bool = false;
}

impl Format for E5m2 {
    const MAN: u32 = 2;
    const BIAS: u32 = 15;
    const MAX: u32 = 0x7B;
    const OVER: u32 = 0x7C;
    const NAN: u32 = 0x7E;
    const SIGNED: bool = true;
    /// Ruling D57.
    const SIGNED_NAN: bool = false;
}

/// The code that a value without a finite code becomes, and a mask for its sign bit.
#[derive(Clone, Copy)]
pub(super) struct Special {
    over: u32,
    over_sign: u32,
    nan: u32,
    nan_sign: u32,
}

impl Special {
    pub(super) fn of<F: Format>(cfg: Fp8Config) -> Self {
        let sign_if = |signed: bool| if signed { 0x80 } else { 0 };
        let nan_overflows = cfg.e5m2_nan_overflows && cfg.saturate && F::MAN == 2;
        let (nan, nan_sign) = match cfg.suppress_nan {
            _ if nan_overflows => (F::MAX, 0x80),
            true => (0, 0x80),
            false => (F::NAN, sign_if(F::SIGNED_NAN)),
        };
        let (over, over_sign) = match cfg.saturate {
            true => (F::MAX, 0x80),
            // A format without an infinity writes its NaN instead.
            false if F::OVER == F::NAN => (nan, nan_sign),
            false => (F::OVER, sign_if(F::SIGNED)),
        };
        Special { over, over_sign, nan, nan_sign }
    }

    /// The codes of a positive overflow and of a NaN without a sign.
    pub(super) fn positive(self) -> (u8, u8) {
        (self.over as u8, self.nan as u8)
    }
}

/// Encodes one value without branches, so that loops over it vectorise.
#[inline(always)]
pub(super) fn encode<F: Format>(x: f32, special: Special) -> u8 {
    let (a, sign) = (x.to_bits() & 0x7FFF_FFFF, x.to_bits() >> 24 & 0x80);
    let shift = 23 - F::MAN;
    let min_normal = (128 - F::BIAS) << 23;
    let min_subnormal = (128 - F::BIAS - F::MAN) << 23;
    let normal = rne_code(a, shift).wrapping_sub((127 - F::BIAS) << F::MAN);
    // Adding 2^23 units of the subnormal grid lets the float adder round to that grid.
    let magic = (128 - F::BIAS - F::MAN + 23) << 23;
    let subnormal = (f32::from_bits(a) + f32::from_bits(magic)).to_bits().wrapping_sub(magic);
    let code = if a >= min_normal { normal } else { subnormal };
    let code = if a >= min_subnormal { code } else { 0 };
    let (code, mask) = if code > F::MAX { (special.over, special.over_sign) } else { (code, 0x80) };
    let (code, mask) = if a > 0x7F80_0000 { (special.nan, special.nan_sign) } else { (code, mask) };
    (code | (sign & mask)) as u8
}

/// As [`encode`], but what rounds past the largest code inside the window takes the code that follows: infinity, or NaN
/// where the format has none.
#[inline(always)]
pub(super) fn encode_carry<F: Format>(x: f32, special: Special, open: Special) -> u8 {
    let past_window = ((x.to_bits() & 0x7FFF_FFFF) >> 23) as i32 - 127 > F::TOP;
    encode::<F>(x, if past_window { special } else { open })
}

/// Rounds the low `shift` bits away, to nearest even.
#[inline(always)]
pub(super) fn rne_code(a: u32, shift: u32) -> u32 {
    a.wrapping_add((1 << (shift - 1)) - 1).wrapping_add(a >> shift & 1) >> shift
}

/// Encodes one E2M1 lane: always saturating, NaN becomes a signed zero, the FP8 flags do not matter.
#[inline(always)]
pub(super) fn encode_e2m1(x: f32) -> u8 {
    let (a, sign) = (x.to_bits() & 0x7FFF_FFFF, x.to_bits() >> 28 & 8);
    let magic = 0x4A80_0000; // 2^22: the grid below 1.0 has steps of 0.5
    let small = (f32::from_bits(a) + f32::from_bits(magic)).to_bits().wrapping_sub(magic);
    let large = rne_code(a, 22).wrapping_sub(126 << 1);
    let code = if a >= 0x3F80_0000 { large.min(7) } else { small };
    let code = if a > 0x7F80_0000 { 0 } else { code };
    (code | sign) as u8
}

/// Values of the sixteen E2M1 codes.
pub(super) const E2M1: [f32; 16] =
    [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0];

/// The value of one code, without branches. NaN keeps only its sign.
#[inline(always)]
pub(super) fn decode<F: Format>(code: u8) -> f32 {
    let (c, sign) = (u32::from(code) & 0x7F, (u32::from(code) & 0x80) << 24);
    // Subnormal: c units of 2^(1 - bias - man), exact in float32.
    let unit = f32::from_bits((128 - F::BIAS - F::MAN) << 23);
    let subnormal = (c as i32 as f32 * unit).to_bits();
    let normal = (c << (23 - F::MAN)) + ((127 - F::BIAS) << 23);
    let bits = if c >> F::MAN == 0 { subnormal } else { normal };
    let past = if c == F::OVER && F::OVER != F::NAN { 0x7F80_0000 } else { 0x7FC0_0000 };
    f32::from_bits(if c > F::MAX { past } else { bits } | sign)
}
