//! The copy family: GenericCopy (1), AbstractCopy (3), Load (19), Save (22), TensorCopy (23), DMACopy in mode Copy (32).

use crate::access::{CHUNK, Dst, Src, chunks, copy_across, pieces};
use crate::cast::{self, check_cast, check_unpacked};
use crate::elementwise::Number;
use crate::{Code, Dtype, Error, Profile, Result};
use std::ops::Range;

/// The error of a source and a destination with different numbers of elements.
#[cold]
pub fn counts_differ(rule: &str, src: &Src, dst: &Dst) -> Error {
    Error::new(Code::S002, rule).received(format!(
        "{} ({} elements) to {} ({} elements)",
        shape(src.pattern().pairs().iter().map(|p| p.num)),
        src.len(),
        shape(dst.pattern().pairs().iter().map(|p| p.num)),
        dst.len()
    ))
}

/// Copies elements in row-major order; the two patterns may have different shapes of the same total.
///
/// Equal dtypes keep the bytes; different ones are cast with the default FP8 config.
pub fn copy(src: &Src, dst: &mut Dst, profile: &Profile) -> Result<()> {
    if src.len() != dst.len() {
        return Err(counts_differ("a copy writes as many elements as it reads", src, dst));
    }
    let same = src.dtype() == dst.dtype();
    if !same {
        check_unpacked(src.dtype())?;
        check_unpacked(dst.dtype())?;
        check_cast(src.dtype(), dst.dtype(), profile)?;
    }
    if dst.is_empty() {
        return Ok(());
    }
    if same && let Some(done) = copy_across(src, dst) {
        return done;
    }
    // The loop runs over the destination's lanes. A source of another shape is read as one long lane.
    let flat = (src.lanes() != dst.lanes()).then(|| src.pattern().flat());
    let flat = flat.as_ref().map(|flat| src.reshaped(flat)).transpose()?;
    let len = dst.lane_len();
    let place = |lane: usize, at: usize| match &flat {
        Some(flat) => (flat, 0, lane * len + at),
        None => (src, lane, at),
    };
    dst.for_lane_ranges(dst.len(), |dst, range| {
        if !same && flat.is_none() && cast_lanes(src, dst, range.clone(), profile)? {
            return Ok(());
        }
        let mut hub = [0f32; CHUNK];
        for lane in range {
            if same && copy_run(place(lane, 0), dst, lane)? {
                continue;
            }
            if !same && cast_run(place(lane, 0), dst, lane, profile)? {
                continue;
            }
            chunks(len, |at, n| {
                let (src, from, start) = place(lane, at);
                if same {
                    src.with_bytes(from, start, n, |bytes| dst.scatter(lane, at, bytes));
                } else if let Some(values) = f32::in_place(src, from, start, n) {
                    dst.write_f32(lane, at, values, profile.fp8());
                } else if dst.dtype() == Dtype::Float32
                    && let Some(out) = f32::in_place_mut(dst, lane, at, n)
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

/// Elements that are moved between two checks whether the run should stop.
const LONGEST: usize = 1 << 20;

/// Converts lanes at once when both sides are contiguous over all of them.
fn cast_lanes(src: &Src, dst: &mut Dst, lanes: Range<usize>, profile: &Profile) -> Result<bool> {
    let to = dst.dtype();
    let (Some(run), Some(out)) = (src.run_lanes(lanes.clone()), dst.run_lanes_mut(lanes)) else { return Ok(false) };
    cast::cast(src.dtype(), to, profile.fp8(), run, out)?;
    Ok(true)
}

/// Converts a lane in long pieces when both sides are contiguous.
fn cast_run((src, from, start): (&Src, usize, usize), dst: &mut Dst, lane: usize, profile: &Profile) -> Result<bool> {
    let (len, to) = (dst.lane_len(), dst.dtype());
    let mut done = true;
    pieces(len, LONGEST, |at, n| match (src.run(from, start + at, n), dst.run_mut(lane, at, n)) {
        (Some(run), Some(out)) if done => cast::cast(src.dtype(), to, profile.fp8(), run, out),
        _ => {
            done = false;
            Ok(())
        }
    })?;
    Ok(done)
}

/// Copies a lane in long pieces when one side is contiguous.
fn copy_run((src, from, start): (&Src, usize, usize), dst: &mut Dst, lane: usize) -> Result<bool> {
    let mut done = true;
    pieces(dst.lane_len(), LONGEST, |at, n| {
        if let Some(run) = src.run(from, start + at, n) {
            dst.scatter(lane, at, run);
        } else if let Some(run) = dst.run_mut(lane, at, n) {
            src.gather(from, start + at, run);
        } else {
            done = false;
        }
        Ok(())
    })?;
    Ok(done)
}

fn shape(nums: impl Iterator<Item = u32>) -> String {
    let nums: Vec<String> = nums.map(|n| n.to_string()).collect();
    format!("[{}]", nums.join(", "))
}
