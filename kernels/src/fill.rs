//! Memset (10) with a constant. The random form draws from the generators in `rng`.

use crate::access::{CHUNK, Dst, chunks};
use crate::movement::repeat;
use crate::{Dtype, Result};

/// Fills the destination with the low bytes of `bits`; the store is as wide as the dtype (`opcodes.md` 3).
pub fn memset_const(bits: u64, dst: &mut Dst) -> Result<()> {
    let dtype = dst.dtype();
    let mut block = [0u64; CHUNK];
    let longest = dst.lane_len().min(CHUNK);
    let bytes = &mut bytemuck::cast_slice_mut::<u64, u8>(&mut block)[..longest * dtype.size()];
    repeat(&element(bits, dtype), bytes);
    let bytes = &*bytes;
    dst.for_lanes(dst.len(), |dst, lane| {
        chunks(dst.lane_len(), |start, n| {
            dst.scatter(lane, start, &bytes[..n * dtype.size()]);
            Ok(())
        })
    })
}

fn element(bits: u64, dtype: Dtype) -> arrayvec::ArrayVec<u8, 8> {
    bits.to_le_bytes().into_iter().take(dtype.size()).collect()
}
