//! Encoding from float32 (`numerics.md` 4 and 6). Not by the crate `half`: its NaNs keep payload bits where the
//! documented casts write one NaN, and its loops are not compiled for every instruction set.

use super::Fp8Config;
use super::fp8::{self, Format, Special};
use crate::Dtype;
use crate::isa::{Isa, per_isa};

/// Encodes hub values. `out` holds `values.len()` elements, a quarter of that for a packed dtype.
#[inline]
pub fn encode_f32(dtype: Dtype, cfg: Fp8Config, values: &[f32], out: &mut [u8]) {
    encode_f32_on(Isa::best(), dtype, cfg, values, out);
}

per_isa! {
    pub(super) fn encode_f32_on(isa, dtype: Dtype, cfg: Fp8Config, values: &[f32], out: &mut [u8]) = encode, encode, encode;
}

#[inline(always)]
fn encode(dtype: Dtype, cfg: Fp8Config, values: &[f32], out: &mut [u8]) {
    if cfg.via_int32 && dtype.is_integer() && dtype.size() < 4 {
        return by_way_of_int32(dtype, values, out);
    }
    match dtype {
        Dtype::Float32 => {
            let raw: &[u8] = bytemuck::cast_slice(values);
            let n = raw.len().min(out.len());
            out[..n].copy_from_slice(&raw[..n]);
        }
        Dtype::Float32r => each(values, out, |x| round_f32r(x).to_le_bytes()),
        Dtype::Bfloat16 => each(values, out, |x| f32_to_bf16(x).to_le_bytes()),
        Dtype::Float16 => each(values, out, |x| f32_to_f16(x).to_le_bytes()),
        Dtype::Float8e3 => narrow::<fp8::E3m4>(cfg, values, out),
        Dtype::Float8e4 => narrow::<fp8::E4m3>(cfg, values, out),
        Dtype::Float8E4m3fn | Dtype::Float8E4m3fnX4 => narrow::<fp8::E4m3fn>(cfg, values, out),
        Dtype::Float8e5 | Dtype::Float8E5m2X4 => narrow::<fp8::E5m2>(cfg, values, out),
        Dtype::Float4E2m1fnX4 => {
            for (v, o) in values.chunks(2).zip(out) {
                *o = v.iter().rev().fold(0, |byte, x| byte << 4 | fp8::encode_e2m1(*x));
            }
        }
        Dtype::Uint8 | Dtype::Float8E8m0fnu => each(values, out, |x| [clamped(x, 0.0, 255.0) as u8]),
        Dtype::Int8 => each(values, out, |x| [clamped(x, -128.0, 127.0) as u8]),
        Dtype::Uint16 => each(values, out, |x| (clamped(x, 0.0, 65535.0) as u16).to_le_bytes()),
        Dtype::Int16 => each(values, out, |x| (clamped(x, -32768.0, 32767.0) as i16).to_le_bytes()),
        Dtype::Uint32 => each(values, out, |x| to_u32(x).to_le_bytes()),
        Dtype::Int32 => each(values, out, |x| to_i32(x).to_le_bytes()),
        Dtype::Uint64 => each(values, out, |x| to_u64(x).to_le_bytes()),
        Dtype::Int64 => each(values, out, |x| to_i64(x).to_le_bytes()),
    }
}

#[inline(always)]
fn each<const N: usize>(values: &[f32], out: &mut [u8], f: impl Fn(f32) -> [u8; N]) {
    for (x, o) in values.iter().zip(out.as_chunks_mut::<N>().0) {
        *o = f(*x);
    }
}

#[inline(always)]
fn narrow<F: Format>(cfg: Fp8Config, values: &[f32], out: &mut [u8]) {
    let special = Special::of::<F>(cfg);
    if cfg.carry {
        let open = Special::of::<F>(Fp8Config { saturate: false, ..cfg });
        for (x, o) in values.iter().zip(out) {
            *o = fp8::encode_carry::<F>(*x, special, open);
        }
        return;
    }
    for (x, o) in values.iter().zip(out) {
        *o = fp8::encode::<F>(*x, special);
    }
}

/// float32r: 11 mantissa bits kept, to nearest even; infinity and NaN pass (`numerics.md` 6).
#[inline(always)]
pub fn round_f32r(x: f32) -> f32 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7FF).wrapping_add(bits >> 12 & 1) & !0xFFF;
    f32::from_bits(if bits & 0x7FFF_FFFF >= 0x7F80_0000 { bits } else { rounded })
}

/// NaN is `7FC0` whatever its sign; a carry past the largest value gives infinity.
#[inline(always)]
fn f32_to_bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7FFF).wrapping_add(bits >> 16 & 1) >> 16;
    (if bits & 0x7FFF_FFFF > 0x7F80_0000 { 0x7FC0 } else { rounded }) as u16
}

/// NaN is `7E00` with its sign; overflow goes to infinity.
#[inline(always)]
fn f32_to_f16(x: f32) -> u16 {
    let (a, sign) = (x.to_bits() & 0x7FFF_FFFF, x.to_bits() >> 16 & 0x8000);
    let normal = a.wrapping_add(a >> 13 & 1).wrapping_sub(0x37FF_F001) >> 13;
    // The float adder rounds to the subnormal grid.
    let small = (f32::from_bits(a) + 0.5).to_bits().wrapping_sub(0x3F00_0000);
    let code = if a > 0x387F_FFFF { normal } else { small };
    let code = if a > 0x477F_FFFF { 0x7C00 } else { code };
    let code = if a > 0x7F80_0000 { 0x7E00 } else { code };
    (code | sign) as u16
}

/// A NaN saturates to the smallest or largest number, by its sign bit (`numerics.md` 4.7).
#[inline(always)]
fn without_nan(x: f32) -> f32 {
    let bits = x.to_bits();
    let infinite = bits & 0x8000_0000 | 0x7F80_0000;
    f32::from_bits(if bits & 0x7FFF_FFFF > 0x7F80_0000 { infinite } else { bits })
}

/// Nearest integer, saturated; a NaN saturates by its sign bit. The conversion itself is unchecked, because a
/// saturating `as` does not vectorise (0.5 instead of 8 elements a nanosecond).
macro_rules! wide {
    ($name:ident, $int:ident, $low:expr, $past:expr) => {
        #[inline(always)]
        pub(super) fn $name(x: f32) -> $int {
            // As signed integers, the bits of positive values past the end and of positive NaN are the largest.
            let past = x.to_bits() as i32 >= $past;
            let x = if x > $low { x } else { $low };
            let inside = if past { $low } else { x };
            // SAFETY: `inside` is in range, and so is its nearest integer: the first float that is not is one itself.
            let v: $int = unsafe { inside.round_ties_even().to_int_unchecked() };
            if past { $int::MAX } else { v }
        }
    };
}

// Bits of 2^31, 2^32, 2^63 and 2^64.
wide!(to_i32, i32, -2_147_483_648.0, 0x4F00_0000);
wide!(to_u32, u32, 0.0, 0x4F80_0000);
wide!(to_i64, i64, -9_223_372_036_854_775_808.0, 0x5F00_0000);
wide!(to_u64, u64, 0.0, 0x5F80_0000);

/// The 32-bit conversion of the host, then the clamp: finite values that int32 cannot hold become its minimum.
#[cold]
fn by_way_of_int32(dtype: Dtype, values: &[f32], out: &mut [u8]) {
    let (lo, hi) = match (dtype.is_signed(), dtype.size()) {
        (true, 1) => (-128, 127),
        (true, _) => (-32768, 32767),
        (false, 1) => (0, 255),
        (false, _) => (0, 65535),
    };
    for (x, o) in values.iter().zip(out.chunks_exact_mut(dtype.size())) {
        let r = x.round_ties_even();
        let wide = if x.is_finite() && r.abs() >= 2_147_483_648.0 { i32::MIN } else { to_i32(r) };
        let bytes = wide.clamp(lo, hi).to_le_bytes();
        o.copy_from_slice(&bytes[..o.len()]);
    }
}

/// Nearest integer, clamped to a range inside +-2^22 first, which commutes with rounding because both ends are integers.
#[inline(always)]
fn clamped(x: f32, lo: f32, hi: f32) -> i32 {
    let x = without_nan(x);
    let x = if x < lo { lo } else { x };
    let x = if x > hi { hi } else { x };
    // 1.5 * 2^23: the low mantissa bits of the sum are the integer.
    ((x + 12_582_912.0).to_bits() as i32).wrapping_sub(0x4B40_0000)
}
