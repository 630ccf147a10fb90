//! Magnitudes of narrow floats, found on their bits.

use super::Fp8Config;
use super::fp8::{self, Format, Special};
use crate::Dtype;
use crate::isa::per_isa;

/// [`magnitude`] handles the dtype.
pub fn keeps_magnitude(dtype: Dtype) -> bool {
    dtype.is_float() && dtype.size() <= 2 && !dtype.is_packed()
}

per_isa! {
    /// What decoding, clearing the sign and encoding again make of every element: finite values lose their sign, infinities
    /// and NaN become what the conversion writes for them.
    pub fn magnitude(dtype: Dtype, cfg: Fp8Config, bytes: &[u8], out: &mut [u8]) {
        match dtype {
            Dtype::Bfloat16 => halves(bytes, out, 0x7F80, 0x7FC0),
            Dtype::Float16 => halves(bytes, out, 0x7C00, 0x7E00),
            Dtype::Float8e3 => codes::<fp8::E3m4>(cfg, bytes, out),
            Dtype::Float8e4 => codes::<fp8::E4m3>(cfg, bytes, out),
            Dtype::Float8E4m3fn => codes::<fp8::E4m3fn>(cfg, bytes, out),
            Dtype::Float8e5 => codes::<fp8::E5m2>(cfg, bytes, out),
            _ => debug_assert!(!keeps_magnitude(dtype)),
        }
    }
}

#[inline(always)]
fn halves(bytes: &[u8], out: &mut [u8], infinity: u16, nan: u16) {
    for (b, o) in bytes.as_chunks::<2>().0.iter().zip(out.as_chunks_mut::<2>().0) {
        let a = u16::from_le_bytes(*b) & 0x7FFF;
        *o = (if a > infinity { nan } else { a }).to_le_bytes();
    }
}

#[inline(always)]
fn codes<F: Format>(cfg: Fp8Config, bytes: &[u8], out: &mut [u8]) {
    let (over, nan) = Special::of::<F>(cfg).positive();
    let infinity = if F::OVER == F::NAN { None } else { Some(F::OVER as u8) };
    for (b, o) in bytes.iter().zip(out) {
        let a = b & 0x7F;
        let past = if Some(a) == infinity { over } else { nan };
        *o = if a > F::MAX as u8 { past } else { a };
    }
}
