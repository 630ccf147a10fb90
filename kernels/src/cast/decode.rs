//! Decoding to the float32 hub (`numerics.md` 3).

use super::fp8;
use crate::Dtype;
use crate::isa::{Isa, per_isa};

/// Decodes elements to the float32 hub. `bytes` holds `out.len()` values: elements, or four times as many lanes of a packed
/// dtype.
#[inline]
pub fn decode_f32(dtype: Dtype, bytes: &[u8], out: &mut [f32]) {
    decode_f32_on(Isa::best(), dtype, bytes, out);
}

per_isa! {
    pub(super) fn decode_f32_on(isa, dtype: Dtype, bytes: &[u8], out: &mut [f32]) = decode, decode, decode;
}

#[inline(always)]
fn decode(dtype: Dtype, bytes: &[u8], out: &mut [f32]) {
    match dtype {
        Dtype::Float32 | Dtype::Float32r => {
            let raw: &mut [u8] = bytemuck::cast_slice_mut(out);
            let n = raw.len().min(bytes.len());
            raw[..n].copy_from_slice(&bytes[..n]);
        }
        Dtype::Bfloat16 => each::<2>(bytes, out, |b| bf16_to_f32(u16::from_le_bytes(b))),
        Dtype::Float16 => each::<2>(bytes, out, |b| f16_to_f32(u16::from_le_bytes(b))),
        Dtype::Float8e3 => each::<1>(bytes, out, |b| fp8::decode::<fp8::E3m4>(b[0])),
        Dtype::Float8e4 => each::<1>(bytes, out, |b| fp8::decode::<fp8::E4m3>(b[0])),
        Dtype::Float8E4m3fn | Dtype::Float8E4m3fnX4 => each::<1>(bytes, out, |b| fp8::decode::<fp8::E4m3fn>(b[0])),
        Dtype::Float8e5 | Dtype::Float8E5m2X4 => each::<1>(bytes, out, |b| fp8::decode::<fp8::E5m2>(b[0])),
        Dtype::Float4E2m1fnX4 => {
            // Lane 0 is the lowest nibble of the little-endian word.
            for (b, o) in bytes.iter().zip(out.chunks_mut(2)) {
                for (lane, o) in o.iter_mut().enumerate() {
                    *o = fp8::E2M1[usize::from(b >> (4 * lane) & 15)];
                }
            }
        }
        // The E8M0 byte is a plain unsigned byte here, not an exponent.
        Dtype::Uint8 | Dtype::Float8E8m0fnu => each::<1>(bytes, out, |b| f32::from(b[0])),
        Dtype::Int8 => each::<1>(bytes, out, |b| f32::from(b[0] as i8)),
        Dtype::Uint16 => each::<2>(bytes, out, |b| f32::from(u16::from_le_bytes(b))),
        Dtype::Int16 => each::<2>(bytes, out, |b| f32::from(i16::from_le_bytes(b))),
        Dtype::Uint32 => each::<4>(bytes, out, |b| u32::from_le_bytes(b) as f32),
        Dtype::Int32 => each::<4>(bytes, out, |b| i32::from_le_bytes(b) as f32),
        Dtype::Uint64 => each::<8>(bytes, out, |b| u64::from_le_bytes(b) as f32),
        Dtype::Int64 => each::<8>(bytes, out, |b| i64::from_le_bytes(b) as f32),
    }
}

/// The hub value of the element at the start of `bytes`; lane 0 of a packed one.
pub fn decode_f32_value(dtype: Dtype, bytes: &[u8]) -> f32 {
    let mut out = [0.0];
    decode_f32(dtype, bytes, &mut out);
    out[0]
}

#[inline(always)]
fn each<const N: usize>(bytes: &[u8], out: &mut [f32], f: impl Fn([u8; N]) -> f32) {
    for (b, o) in bytes.as_chunks::<N>().0.iter().zip(out) {
        *o = f(*b);
    }
}

/// Exact widening.
#[inline(always)]
pub(super) fn bf16_to_f32(b: u16) -> f32 {
    f32::from_bits(u32::from(b) << 16)
}

/// Exact widening; a NaN keeps its payload and is not quieted.
#[inline(always)]
fn f16_to_f32(h: u16) -> f32 {
    let m = (u32::from(h) << 13) & 0x0FFF_E000;
    let e = m & 0x0F80_0000;
    let sign = (u32::from(h) & 0x8000) << 16;
    let normal = m + if e == 0x0F80_0000 { 0x7000_0000 } else { 0x3800_0000 };
    // Below 2^-14 the float subtraction normalises.
    let small = (f32::from_bits(m + 0x3880_0000) - f32::from_bits(0x3880_0000)).to_bits();
    f32::from_bits(if e == 0 { small } else { normal } | sign)
}
