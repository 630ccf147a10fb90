//! The 32 x 32 tile transposition before a reduction (`alu.md` 6.4).

use crate::access::{CHUNK, Pattern, Src, chunks};
use crate::{Code, Dtype, Error, Result};

/// The input as float32 with (partition mod 32) and (element mod 32) swapped inside each tile, and its dense pattern.
pub(super) fn transposed(src: &Src) -> Result<(Vec<u8>, Pattern)> {
    let (lanes, len) = (src.lanes(), src.lane_len());
    if !lanes.is_multiple_of(32) || !len.is_multiple_of(32) {
        return Err(Error::new(Code::S008, "apply_transpose works on whole tiles of 32 partitions by 32 elements")
            .received(format!("{lanes} partitions of {len} elements")));
    }
    let nums: Vec<u32> = src.pattern().pairs().iter().map(|p| p.num).collect();
    let pattern = Pattern::dense(Dtype::Float32, &nums)?;
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(src.len() * 4)
        .map_err(|_| Error::new(Code::S009, "not enough memory to transpose the input").received(src.len() * 4))?;
    bytes.resize(src.len() * 4, 0);
    let mut buf = [0f32; CHUNK];
    for lane in 0..lanes {
        chunks(len, |at, n| {
            src.read_f32(lane, at, &mut buf[..n]);
            for (e, v) in (at..).zip(&buf[..n]) {
                let (to_lane, to_e) = (lane & !31 | e & 31, e & !31 | lane & 31);
                bytes[(to_lane * len + to_e) * 4..][..4].copy_from_slice(&v.to_le_bytes());
            }
            Ok(())
        })?;
    }
    Ok((bytes, pattern))
}
