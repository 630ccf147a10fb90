//! Conversions without a buffer for the float32 in the middle. Where both sides are simple, writing and reading that buffer
//! would take a large part of the time.

use super::decode::bf16_to_f32;
use super::encode::to_i32;
use crate::isa::per_isa;

per_isa! {
    /// bfloat16 to int32; `out` holds as many elements as `bytes`.
    pub(super) fn bf16_to_i32(bytes: &[u8], out: &mut [u8]) {
        for (b, o) in bytes.as_chunks::<2>().0.iter().zip(out.as_chunks_mut::<4>().0) {
            *o = to_i32(bf16_to_f32(u16::from_le_bytes(*b))).to_le_bytes();
        }
    }
}
