//! Conversions whose hub value stays in a register: where both sides are simple, the way through a buffer shows.

use super::decode::bf16_to_f32;
use super::dispatch::per_isa;
use super::encode::to_i32;

per_isa! {
    /// bfloat16 to int32; `out` holds as many elements as `bytes`.
    pub(super) fn bf16_to_i32, bf16_to_i32_on(bytes: &[u8], out: &mut [u8]) = body;
}

#[inline(always)]
fn body(bytes: &[u8], out: &mut [u8]) {
    for (b, o) in bytes.as_chunks::<2>().0.iter().zip(out.as_chunks_mut::<4>().0) {
        *o = to_i32(bf16_to_f32(u16::from_le_bytes(*b))).to_le_bytes();
    }
}
