//! The cast engine (`numerics.md` 2 to 5).

use crate::Dtype;

/// The two FP8 flags of a conversion (`numerics.md` 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fp8Config {
    /// Overflow and infinity become the largest finite value.
    pub saturate: bool,
    /// NaN becomes a signed zero.
    pub suppress_nan: bool,
}

impl Fp8Config {
    /// Copies, stores and kernel results: 0x0001.
    pub const DEFAULT: Fp8Config = Fp8Config { saturate: true, suppress_nan: false };
    /// Read-modify-write in memory: 0x0000.
    pub const ACCUMULATE: Fp8Config = Fp8Config { saturate: false, suppress_nan: false };
    /// Quantisation: 0x0101.
    pub const QUANTIZE: Fp8Config = Fp8Config { saturate: true, suppress_nan: true };
}

/// Decodes elements to the float32 hub. `bytes` holds `out.len()` elements.
pub fn decode_f32(_dtype: Dtype, _bytes: &[u8], _out: &mut [f32]) {}
/// Encodes hub values.
pub fn encode_f32(_dtype: Dtype, _cfg: Fp8Config, _values: &[f32], _out: &mut [u8]) {}
/// Decodes to int32 for the bit-vector path.
pub fn decode_i32(_dtype: Dtype, _bytes: &[u8], _out: &mut [i32]) {}
/// Encodes results of the bit-vector path.
pub fn encode_i32(_dtype: Dtype, _cfg: Fp8Config, _values: &[i32], _out: &mut [u8]) {}
/// Decodes to 64-bit integers.
pub fn decode_i64(_dtype: Dtype, _bytes: &[u8], _out: &mut [i64]) {}
/// Encodes 64-bit results.
pub fn encode_i64(_dtype: Dtype, _cfg: Fp8Config, _values: &[i64], _out: &mut [u8]) {}
