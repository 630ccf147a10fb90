//! Gather (92): elements of a partition chosen by index.

use crate::access::{CHUNK, Dst, Src, chunks, for_lanes};
use crate::agree::{Block, castable, read_as, same_shape, shapes};
use crate::{Code, Error, Profile, Result};

/// The error of an index that leaves its extent.
#[cold]
pub(crate) fn out_of_range(index: i128, bound: usize, lane: usize, element: usize, operand: &str) -> Error {
    Error::new(Code::S014, format!("index {index} in partition {lane}, element {element} is outside 0..{bound}"))
        .received(format!("index {index}, bound {bound}"))
        .operand(operand)
}

/// `out[p][i] = data[p][indices[p][i]]`. Every index lies inside the partition's data.
pub fn gather(data: &Src, indices: &Src, dst: &Dst, profile: &Profile) -> Result<()> {
    same_shape("ins[1]", indices, dst)?;
    if data.lanes() != dst.lanes() {
        return Err(shapes("ins[0]", data, dst).advice("data and result have the same number of partitions"));
    }
    if !indices.dtype().is_integer() {
        return Err(Error::new(Code::S007, "indices are integers").received(indices.dtype()).operand("ins[1]"));
    }
    castable(data.dtype(), dst.dtype(), profile)?;
    let (bound, size) = (data.lane_len(), dst.dtype().size());
    let unsigned64 = indices.dtype() == crate::Dtype::Uint64;
    for_lanes(dst.lanes(), dst.len(), dst.pattern().lanes_disjoint(), |lane| {
        let mut at = [0i64; CHUNK];
        let mut block = Block::new();
        chunks(dst.lane_len(), |start, n| {
            indices.read_i64(lane, start, &mut at[..n]);
            let bytes = block.bytes(n, dst.dtype());
            for (k, (i, out)) in at[..n].iter().zip(bytes.chunks_exact_mut(size)).enumerate() {
                let index = usize::try_from(*i).ok().filter(|i| *i < bound).ok_or_else(|| {
                    let shown = if unsigned64 { i128::from(*i as u64) } else { i128::from(*i) };
                    out_of_range(shown, bound, lane, start + k, "ins[1]")
                })?;
                read_as(data, lane, index, dst.dtype(), profile.fp8(), out);
            }
            dst.scatter(lane, start, bytes);
            Ok(())
        })
    })
}
