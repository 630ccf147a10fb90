//! IndirectCopy (26): the partitions of a group of 16 share their indices.

use crate::access::{CHUNK, Dst, Src};
use crate::gather::out_of_range;
use crate::movement::{no_cast, shapes};
use crate::{Code, Dtype, Error, Result};

/// Partitions that share their indices.
pub const GROUP: usize = 16;

/// For each group of 16 partitions, its indices flattened partition first; every partition of the group gathers, for
/// each of the first `num_valid_indices`, the elements from that position of its own row on (`opcodes.md` 13).
pub fn indirect_copy(num_valid_indices: u64, data: &Src, indices: &Src, dst: &mut Dst) -> Result<()> {
    no_cast("IndirectCopy", data.dtype(), dst.dtype())?;
    if indices.dtype() != Dtype::Uint16 {
        return Err(Error::new(Code::S007, "TensorIndirect Indices data type must be uint16")
            .received(indices.dtype())
            .operand("ins[1]"));
    }
    if data.lanes() != dst.lanes() || indices.lanes() != dst.lanes() {
        return Err(shapes("ins[0]", data, dst).advice("data, indices and result have the same partitions"));
    }
    if !dst.lanes().is_multiple_of(GROUP) {
        return Err(Error::new(Code::S008, "IndirectCopy works on blocks of 16 partitions").received(dst.lanes()));
    }
    let count = usize::try_from(num_valid_indices).unwrap_or(usize::MAX);
    if count > GROUP.saturating_mul(indices.lane_len()) {
        return Err(Error::new(Code::S008, "there are fewer indices than num_valid_indices says")
            .received(format!("{num_valid_indices} of {}", GROUP.saturating_mul(indices.lane_len())))
            .operand("num_valid_indices"));
    }
    let per = dst.lane_len().checked_div(count).unwrap_or(0);
    if per * count != dst.lane_len() {
        return Err(Error::new(Code::S002, "the indices do not divide the elements of a partition")
            .received(format!("{} elements for {num_valid_indices} indices", dst.lane_len())));
    }
    let size = dst.dtype().size();
    dst.for_lanes(dst.len(), |dst, lane| {
        let group = lane / GROUP * GROUP;
        let mut raw = [0u8; CHUNK * 8];
        let mut index = [0i64];
        for k in 0..count {
            indices.read_i64(group + k % GROUP, k / GROUP, &mut index);
            let at = index[0] as usize;
            if at + per > data.lane_len() {
                let bound = (data.lane_len() + 1).saturating_sub(per);
                return Err(out_of_range(i128::from(index[0]), bound, group + k % GROUP, k / GROUP, "ins[1]"));
            }
            let mut done = 0;
            while done < per {
                let n = CHUNK.min(per - done);
                let bytes = &mut raw[..n * size];
                data.gather(lane, at + done, bytes);
                dst.scatter(lane, k * per + done, bytes);
                done += n;
            }
        }
        Ok(())
    })
}
