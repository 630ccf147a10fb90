//! Integers on the bit-vector and 64-bit paths (ruling D3): bits are kept where the hub would lose them.
//!
//! Operands of the same width are reinterpreted, narrower ones zero- or sign-extended by their dtype; floats, and 64-bit
//! operands of the 32-bit path, follow the cast rules. Results keep their low bits in integer destinations of the same or
//! smaller width, are sign-extended into wider ones, and go through the hub into floats. The 64-bit path is typed uint64
//! (`numerics.md` 2.2), so a negative float enters it as 0 and a result leaves it for a float unsigned.

use super::{BLOCK, Fp8Config, decode_f32, encode_f32};
use crate::Dtype;

/// Decodes to int32 for the bit-vector path (ruling D3).
pub fn decode_i32(dtype: Dtype, bytes: &[u8], out: &mut [i32]) {
    match dtype {
        Dtype::Uint8 | Dtype::Float8E8m0fnu => each::<1, _>(bytes, out, |b| i32::from(b[0])),
        Dtype::Int8 => each::<1, _>(bytes, out, |b| i32::from(b[0] as i8)),
        Dtype::Uint16 => each::<2, _>(bytes, out, |b| i32::from(u16::from_le_bytes(b))),
        Dtype::Int16 => each::<2, _>(bytes, out, |b| i32::from(i16::from_le_bytes(b))),
        Dtype::Uint32 | Dtype::Int32 => each::<4, _>(bytes, out, i32::from_le_bytes),
        _ => through_hub(dtype, Dtype::Int32, bytes, bytemuck::cast_slice_mut(out), out_size::<i32>()),
    }
}

/// Decodes to 64-bit integers for the address path (ruling D3).
pub fn decode_i64(dtype: Dtype, bytes: &[u8], out: &mut [i64]) {
    match dtype {
        Dtype::Uint8 | Dtype::Float8E8m0fnu => each::<1, _>(bytes, out, |b| i64::from(b[0])),
        Dtype::Int8 => each::<1, _>(bytes, out, |b| i64::from(b[0] as i8)),
        Dtype::Uint16 => each::<2, _>(bytes, out, |b| i64::from(u16::from_le_bytes(b))),
        Dtype::Int16 => each::<2, _>(bytes, out, |b| i64::from(i16::from_le_bytes(b))),
        Dtype::Uint32 => each::<4, _>(bytes, out, |b| i64::from(u32::from_le_bytes(b))),
        Dtype::Int32 => each::<4, _>(bytes, out, |b| i64::from(i32::from_le_bytes(b))),
        Dtype::Uint64 | Dtype::Int64 => each::<8, _>(bytes, out, i64::from_le_bytes),
        _ => through_hub(dtype, Dtype::Uint64, bytes, bytemuck::cast_slice_mut(out), out_size::<i64>()),
    }
}

/// Encodes results of the bit-vector path (ruling D3).
pub fn encode_i32(dtype: Dtype, cfg: Fp8Config, values: &[i32], out: &mut [u8]) {
    match dtype {
        Dtype::Uint8 | Dtype::Int8 | Dtype::Float8E8m0fnu => each_out(values, out, |v| [v as u8]),
        Dtype::Uint16 | Dtype::Int16 => each_out(values, out, |v| (v as u16).to_le_bytes()),
        Dtype::Uint32 | Dtype::Int32 => each_out(values, out, i32::to_le_bytes),
        Dtype::Uint64 | Dtype::Int64 => each_out(values, out, |v| i64::from(v).to_le_bytes()),
        _ => from_hub(dtype, cfg, values, out, |v| v as f32),
    }
}

/// Encodes results of the address path (ruling D3).
pub fn encode_i64(dtype: Dtype, cfg: Fp8Config, values: &[i64], out: &mut [u8]) {
    match dtype {
        Dtype::Uint8 | Dtype::Int8 | Dtype::Float8E8m0fnu => each_out(values, out, |v| [v as u8]),
        Dtype::Uint16 | Dtype::Int16 => each_out(values, out, |v| (v as u16).to_le_bytes()),
        Dtype::Uint32 | Dtype::Int32 => each_out(values, out, |v| (v as u32).to_le_bytes()),
        Dtype::Uint64 | Dtype::Int64 => each_out(values, out, i64::to_le_bytes),
        _ => from_hub(dtype, cfg, values, out, |v| v as u64 as f32),
    }
}

#[inline(always)]
fn each<const N: usize, T>(bytes: &[u8], out: &mut [T], f: impl Fn([u8; N]) -> T) {
    for (b, o) in bytes.as_chunks::<N>().0.iter().zip(out) {
        *o = f(*b);
    }
}

#[inline(always)]
fn each_out<const N: usize, T: Copy>(values: &[T], out: &mut [u8], f: impl Fn(T) -> [u8; N]) {
    for (v, o) in values.iter().zip(out.as_chunks_mut::<N>().0) {
        *o = f(*v);
    }
}

const fn out_size<T>() -> usize {
    size_of::<T>()
}

/// Decodes by the cast rules into integers of `size` bytes.
fn through_hub(from: Dtype, to: Dtype, bytes: &[u8], out: &mut [u8], size: usize) {
    let mut hub = [0f32; BLOCK];
    let step_in = BLOCK / from.lanes() * from.size();
    for (b, o) in bytes.chunks(step_in).zip(out.chunks_mut(BLOCK * size)) {
        let hub = &mut hub[..o.len() / size];
        decode_f32(from, b, hub);
        encode_f32(to, Fp8Config::DEFAULT, hub, o);
    }
}

fn from_hub<T: Copy>(to: Dtype, cfg: Fp8Config, values: &[T], out: &mut [u8], f: impl Fn(T) -> f32) {
    let mut hub = [0f32; BLOCK];
    let step_out = BLOCK / to.lanes() * to.size();
    for (v, o) in values.chunks(BLOCK).zip(out.chunks_mut(step_out)) {
        for (h, v) in hub.iter_mut().zip(v) {
            *h = f(*v);
        }
        encode_f32(to, cfg, &hub[..v.len()], o);
    }
}
