//! The copy family: GenericCopy (1), AbstractCopy (3), Load (19), Save (22), TensorCopy (23), DMACopy in mode Copy (32).

use crate::access::{Across, CHUNK, Dst, Src, chunks, for_lane_ranges};
use crate::cast::{self, check_cast, check_unpacked};
use crate::elementwise::Number;
use crate::{Code, Dtype, Error, Profile, Result};
use std::ops::Range;

/// Copies elements in row-major order; the two patterns may have different shapes of the same total.
///
/// Equal dtypes keep the bytes; different ones are cast with the default FP8 config.
pub fn copy(src: &Src, dst: &Dst, profile: &Profile) -> Result<()> {
    if src.len() != dst.len() {
        return Err(Error::new(Code::S002, "DMA Copy in/out shape must match: the element counts differ").received(
            format!(
                "{} ({} elements) to {} ({} elements)",
                shape(src.pattern().pairs().iter().map(|p| p.num)),
                src.len(),
                shape(dst.pattern().pairs().iter().map(|p| p.num)),
                dst.len()
            ),
        ));
    }
    let same = src.dtype() == dst.dtype();
    if !same {
        check_unpacked(src.dtype())?;
        check_unpacked(dst.dtype())?;
        check_cast(src.dtype(), dst.dtype(), profile)?;
    }
    if dst.is_empty() || (same && dst.starts_at(src)) {
        return Ok(());
    }
    // Operands that are not identical are disjoint: then a conversion needs no buffer on a float32 side.
    let apart = !dst.starts_at(src);
    if same && let Some(pair) = Across::of(src, dst) {
        return pair.copy();
    }
    // Lanes are the destination's. A source of another shape is read as one long lane.
    let flat = (src.lanes() != dst.lanes()).then(|| src.flat());
    let len = dst.lane_len();
    let place = |lane: usize, at: usize| match &flat {
        Some(flat) => (flat, 0, lane * len + at),
        None => (src, lane, at),
    };
    for_lane_ranges(dst.lanes(), dst.len(), dst.pattern().lanes_disjoint(), |range| {
        if !same && apart && flat.is_none() && cast_lanes(src, dst, range.clone(), profile)? {
            return Ok(());
        }
        let mut hub = [0f32; CHUNK];
        for lane in range {
            if same && let Some(()) = copy_run(place(lane, 0), dst, lane) {
                continue;
            }
            if !same && apart && cast_run(place(lane, 0), dst, lane, profile)? {
                continue;
            }
            chunks(len, |at, n| {
                let (src, from, start) = place(lane, at);
                if same {
                    src.with_bytes(from, start, n, |bytes| dst.scatter(lane, at, bytes));
                } else if apart && let Some(values) = f32::in_place(src, from, start, n) {
                    dst.write_f32(lane, at, values, profile.fp8());
                } else if apart
                    && dst.dtype() == Dtype::Float32
                    // SAFETY: the operands are disjoint, so nothing else sees these bytes.
                    && let Some(out) = unsafe { f32::in_place_mut(dst, lane, at, n) }
                {
                    src.read_f32(from, start, out);
                } else {
                    src.read_f32(from, start, &mut hub[..n]);
                    dst.write_f32(lane, at, &hub[..n], profile.fp8());
                }
                Ok(())
            })?;
        }
        Ok(())
    })
}

/// Converts lanes at once when both sides are contiguous over all of them; the operands are disjoint.
fn cast_lanes(src: &Src, dst: &Dst, lanes: Range<usize>, profile: &Profile) -> Result<bool> {
    // SAFETY: the operands are disjoint, so nothing else sees these bytes.
    let out = unsafe { dst.run_lanes_mut(lanes.clone()) };
    let (Some(run), Some(out)) = (src.run_lanes(lanes), out) else { return Ok(false) };
    cast::cast(src.dtype(), dst.dtype(), profile.fp8(), run, out)?;
    Ok(true)
}

/// Converts a whole lane at once when both sides are contiguous; the operands are disjoint.
fn cast_run((src, from, start): (&Src, usize, usize), dst: &Dst, lane: usize, profile: &Profile) -> Result<bool> {
    let n = dst.lane_len();
    // SAFETY: the operands are disjoint, so nothing else sees these bytes.
    let (Some(run), Some(out)) = (src.run(from, start, n), (unsafe { dst.run_mut(lane, 0, n) })) else {
        return Ok(false);
    };
    cast::cast(src.dtype(), dst.dtype(), profile.fp8(), run, out)?;
    Ok(true)
}

/// Copies a whole lane at once when one side is contiguous.
fn copy_run((src, from, start): (&Src, usize, usize), dst: &Dst, lane: usize) -> Option<()> {
    let n = dst.lane_len();
    if let Some(run) = src.run(from, start, n) {
        dst.scatter(lane, 0, run);
        return Some(());
    }
    // SAFETY: the operands of a copy are disjoint here; identical ones returned early.
    let run = unsafe { dst.run_mut(lane, 0, n) }?;
    src.gather(from, start, run);
    Some(())
}

fn shape(nums: impl Iterator<Item = u32>) -> String {
    let nums: Vec<String> = nums.map(|n| n.to_string()).collect();
    format!("[{}]", nums.join(", "))
}
