//! The cast engine (`numerics.md` 2 to 6): every conversion goes through a float32 hub, except where ruling D3 keeps bits.
//!
//! `decode_*` and `encode_*` work on blocks; a packed x4 element holds four values. Nothing here fails on a value:
//! rounding is to nearest even, floats saturate into integers, and FP8 overflow follows an [`Fp8Config`].

mod accumulate;
mod decode;
mod direct;
mod encode;
mod fp8;
mod int;
mod magnitude;

pub use accumulate::{MemoryReductionOp, accumulate, ieee_max, ieee_min, sse_max, sse_min};
pub use decode::{decode_f32, decode_f32_value};
pub use encode::{encode_f32, round_f32r};
pub use int::{decode_i32, decode_i64, encode_i32, encode_i64};
pub use magnitude::{keeps_magnitude, magnitude};

use crate::{Code, Dtype, Error, Profile, Result};

/// The two FP8 flags of a conversion (`numerics.md` 4.3), and the corners of narrowing that the documents leave open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fp8Config {
    /// Overflow and infinity become the largest finite value.
    pub saturate: bool,
    /// NaN becomes a signed zero.
    pub suppress_nan: bool,
    /// Saturation ends at the window: what rounds past the largest code carries into the next one (4.4).
    pub carry: bool,
    /// A NaN counts as overflow in float8e5 (4.4).
    pub e5m2_nan_overflows: bool,
    /// Floats become 8- and 16-bit integers through int32; what does not fit first becomes the int32 minimum (4.7).
    pub via_int32: bool,
}

impl Fp8Config {
    /// Copies, stores and kernel results: 0x0001.
    pub const DEFAULT: Fp8Config = Fp8Config::new(true, false);
    /// Read-modify-write in memory: 0x0000.
    pub const ACCUMULATE: Fp8Config = Fp8Config::new(false, false);
    /// Quantisation: 0x0101.
    pub const QUANTIZE: Fp8Config = Fp8Config::new(true, true);

    /// The documented flags.
    pub const fn new(saturate: bool, suppress_nan: bool) -> Self {
        Fp8Config { saturate, suppress_nan, carry: false, e5m2_nan_overflows: false, via_int32: false }
    }
}

/// Hub values converted per step: the buffer stays in the L1 cache.
const BLOCK: usize = 1024;

/// Converts whole elements from one dtype to another (`numerics.md` 2.1).
///
/// The same dtype on both sides keeps the bytes. Everything else, int to int included, goes through float32. Counts must
/// agree in values: one x4 container counts as four.
pub fn cast(from: Dtype, to: Dtype, cfg: Fp8Config, src: &[u8], dst: &mut [u8]) -> Result<()> {
    let values = |dtype: Dtype, bytes: usize| bytes / dtype.size() * dtype.lanes();
    let n = values(from, src.len());
    if n != values(to, dst.len()) || !src.len().is_multiple_of(from.size()) || !dst.len().is_multiple_of(to.size()) {
        return Err(Error::new(Code::S002, "the two sides of a cast hold different numbers of values")
            .received(format!("{} bytes of {from} to {} bytes of {to}", src.len(), dst.len())));
    }
    if from == to {
        dst.copy_from_slice(src);
        return Ok(());
    }
    // A side that already is an aligned float32 block is the hub itself.
    if matches!(from, Dtype::Float32 | Dtype::Float32r)
        && let Ok(hub) = bytemuck::try_cast_slice::<u8, f32>(src)
    {
        encode_f32(to, cfg, hub, dst);
        return Ok(());
    }
    if to == Dtype::Float32
        && let Ok(hub) = bytemuck::try_cast_slice_mut::<u8, f32>(dst)
    {
        decode_f32(from, src, hub);
        return Ok(());
    }
    if (from, to) == (Dtype::Bfloat16, Dtype::Int32) {
        direct::bf16_to_i32(src, dst);
        return Ok(());
    }
    let mut hub = [0f32; BLOCK];
    let step_in = BLOCK / from.lanes() * from.size();
    let step_out = BLOCK / to.lanes() * to.size();
    for (s, d) in src.chunks(step_in).zip(dst.chunks_mut(step_out)) {
        let hub = &mut hub[..values(from, s.len())];
        decode_f32(from, s, hub);
        encode_f32(to, cfg, hub, d);
    }
    Ok(())
}

/// Checks that a conversion from `from` to `to` exists (`numerics.md` 2.1): uint64 is only a destination of the 64-bit
/// path, unless the profile says otherwise.
pub fn check_cast(from: Dtype, to: Dtype, profile: &Profile) -> Result<()> {
    if to == Dtype::Uint64 && from != to && !profile.cast_to_uint64 {
        return Err(Error::new(Code::S007, format!("a cast from {from} to uint64 needs the 64-bit path"))
            .advice("use an int64 or 32-bit destination, or --set cast_to_uint64=true"));
    }
    Ok(())
}

/// Refuses the packed x4 types: one of their elements is four values, which only the MX instructions and copies handle.
pub fn check_unpacked(dtype: Dtype) -> Result<()> {
    if dtype.is_packed() {
        return Err(Error::new(Code::S007, format!("{dtype} is a packed type")).advice("unpack the operand first"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::decode::decode_f32_on;
    use super::encode::encode_f32_on;
    use crate::Dtype;
    use crate::cast::Fp8Config;
    use crate::isa::Isa;

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        let mut state = 1u32;
        let words: Vec<u32> = (0..40_003)
            .map(|k| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                // Random bits, and values around the ranges of the integers.
                if k % 2 == 0 { state } else { ((state as i32 >> (k % 32)) as f32 * 0.5).to_bits() }
            })
            .collect();
        let values: &[f32] = bytemuck::cast_slice(&words);
        for d in Dtype::ALL {
            let len = values.len() / d.lanes() * d.size();
            let mut expected = vec![0; len];
            encode_f32_on(Isa::Scalar, *d, Fp8Config::DEFAULT, values, &mut expected);
            let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            let n = bytes.len() / d.size() * d.lanes();
            let mut hub = vec![0.0; n];
            decode_f32_on(Isa::Scalar, *d, &bytes, &mut hub);
            for isa in Isa::available() {
                let mut out = vec![0; len];
                encode_f32_on(isa, *d, Fp8Config::DEFAULT, values, &mut out);
                assert!(out == expected, "{d} {isa:?}");
                let mut back = vec![0.0; n];
                decode_f32_on(isa, *d, &bytes, &mut back);
                assert!(
                    bytemuck::cast_slice::<f32, u32>(&back) == bytemuck::cast_slice::<f32, u32>(&hub),
                    "{d} {isa:?}"
                );
            }
        }
    }
}
