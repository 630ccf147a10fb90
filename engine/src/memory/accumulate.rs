//! Writing a matmul's finished product to PSUM (`matmul-mx.md` 3; rulings D17, D18, D39, D40).

use super::Shadow;
use super::shadow::for_runs;
use crate::Result;
use birsim_kernels::Profile;
use birsim_kernels::access::{CHUNK, Dst};
use birsim_kernels::matmul::{Marks, store_row};

/// What happens to the elements a matmul writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacMode {
    /// Clears data and mark of the addressed elements, then writes (START).
    Start,
    /// Adds where the accumulate mark is set, else writes (ACCUMULATE).
    Accumulate,
    /// Writes.
    Overwrite,
}

/// Writes `product` (row-major, one row per lane of `dst`) and marks the elements. Returns the first byte range that was
/// to be added to but carried no mark.
pub fn write_product(
    dst: &mut Dst,
    marks: &mut Shadow,
    mode: MacMode,
    product: &[f32],
    profile: &Profile,
) -> Result<Option<(usize, usize)>> {
    let mut fresh = None;
    let cols = dst.lane_len();
    let mut each = [false; CHUNK];
    for lane in 0..dst.lanes() {
        let row = &product[lane * cols..][..cols];
        for (piece, values) in row.chunks(CHUNK).enumerate() {
            let start = piece * CHUNK;
            let found = match mode {
                MacMode::Accumulate => marks_of(dst, marks, lane, start, &mut each[..values.len()]),
                _ => Marks::None,
            };
            if mode == MacMode::Accumulate && fresh.is_none() && !matches!(found, Marks::All) {
                fresh = first_unmarked(dst, marks, lane, start, values.len());
            }
            store_row(dst, lane, start, values, found, profile)?;
        }
    }
    marks.set(dst.pattern(), true);
    Ok(fresh)
}

/// The first neighbouring elements of a piece without a mark, as a byte range.
fn first_unmarked(dst: &Dst, marks: &Shadow, lane: usize, start: usize, n: usize) -> Option<(usize, usize)> {
    let size = dst.dtype().size();
    let byte = |k: usize| dst.pattern().byte_of(lane, k) as usize;
    let first = (start..start + n).find(|k| !marks.get(byte(*k)))?;
    let mut end = first + 1;
    while end < start + n && byte(end) == byte(end - 1) + size && !marks.get(byte(end)) {
        end += 1;
    }
    Some((byte(first), byte(end - 1) + size))
}

/// The accumulate marks of a piece of a lane. The element's first byte decides (ruling D39).
fn marks_of<'a>(dst: &Dst, marks: &Shadow, lane: usize, start: usize, each: &'a mut [bool]) -> Marks<'a> {
    let pattern = dst.pattern();
    if pattern.is_contiguous() {
        let (first, size) = (pattern.byte_of(lane, start) as usize, dst.dtype().size());
        match marks.uniform(first, first + each.len() * size) {
            Some(true) => return Marks::All,
            Some(false) => return Marks::None,
            None => {}
        }
        for (i, m) in each.iter_mut().enumerate() {
            *m = marks.get(first + i * size);
        }
    } else {
        for (i, m) in each.iter_mut().enumerate() {
            *m = marks.get(pattern.byte_of(lane, start + i) as usize);
        }
    }
    Marks::Each(each)
}

/// Every element carries the accumulate mark. False also where that would take long to find out.
pub fn all_marked(dst: &Dst, marks: &Shadow) -> bool {
    let (pattern, row) = (dst.pattern(), dst.lane_len() * dst.dtype().size());
    let marked = |lane| {
        let first = pattern.byte_of(lane, 0) as usize;
        marks.uniform(first, first + row) == Some(true)
    };
    pattern.is_contiguous() && !dst.is_empty() && (0..dst.lanes()).all(marked)
}

/// Clears data and marks of every element of a pattern (start of an accumulation group over a zero region).
pub fn clear(dst: &mut Dst, marks: &mut Shadow) {
    let zero = [0u8; CHUNK];
    let size = dst.dtype().size();
    for lane in 0..dst.lanes() {
        let mut at = 0;
        while at < dst.lane_len() {
            let n = (CHUNK / size).min(dst.lane_len() - at);
            dst.scatter(lane, at, &zero[..n * size]);
            at += n;
        }
    }
    for_runs(dst.pattern(), |byte, count, stride| {
        for i in 0..count {
            let b = (byte as i64 + stride * i as i64) as usize;
            marks.set_run(b, b + size, false);
        }
    });
}
