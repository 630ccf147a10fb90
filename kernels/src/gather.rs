//! Gather (92): elements of a partition chosen by index.

use crate::access::{Dst, Src, chunks};
use crate::movement::{castable, each_lane, read_as, same_shape, shapes};
use crate::{Code, Dtype, Error, Profile, Result};

/// The error of an index that leaves its extent.
#[cold]
pub(crate) fn out_of_range(index: i128, bound: usize, lane: usize, element: usize, operand: &str) -> Error {
    Error::new(Code::S014, format!("index {index} in partition {lane}, element {element} is outside 0..{bound}"))
        .received(format!("index {index}, bound {bound}"))
        .operand(operand)
}

/// `out[p][i] = data[p][indices[p][i]]`. Every index must be inside the partition's data.
pub fn gather(data: &Src, indices: &Src, dst: &mut Dst, profile: &Profile) -> Result<()> {
    same_shape("ins[1]", indices, dst)?;
    if data.lanes() != dst.lanes() {
        return Err(shapes("ins[0]", data, dst).advice("data and result have the same number of partitions"));
    }
    if !indices.dtype().is_integer() {
        return Err(Error::new(Code::S007, "indices are integers").received(indices.dtype()).operand("ins[1]"));
    }
    castable(data.dtype(), dst.dtype(), profile)?;
    let (bound, size) = (data.lane_len(), dst.dtype().size());
    let unsigned64 = indices.dtype() == Dtype::Uint64;
    let same = data.dtype() == dst.dtype();
    each_lane(dst, dst.len(), |dst, lane, [at, block]| {
        chunks(dst.lane_len(), |start, n| {
            let at: &mut [i64] = bytemuck::cast_slice_mut(at.bytes(n, Dtype::Int64));
            indices.read_i64(lane, start, at);
            let bytes = block.bytes(n, dst.dtype());
            if same
                && let Some(run) = data.run(lane, 0, bound)
                && pick(run, at, bytes, size)
            {
                dst.scatter(lane, start, bytes);
                return Ok(());
            }
            for (k, (i, out)) in at.iter().zip(bytes.chunks_exact_mut(size)).enumerate() {
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

/// Picks elements out of neighbouring ones; false when an index leaves them.
fn pick(from: &[u8], at: &[i64], out: &mut [u8], size: usize) -> bool {
    fn run<const N: usize>(from: &[u8], at: &[i64], out: &mut [u8]) -> bool {
        let from = from.as_chunks::<N>().0;
        out.as_chunks_mut::<N>().0.iter_mut().zip(at).all(|(o, i)| {
            let found = usize::try_from(*i).ok().and_then(|i| from.get(i));
            found.inspect(|f| *o = **f).is_some()
        })
    }
    match size {
        1 => run::<1>(from, at, out),
        2 => run::<2>(from, at, out),
        4 => run::<4>(from, at, out),
        _ => run::<8>(from, at, out),
    }
}
