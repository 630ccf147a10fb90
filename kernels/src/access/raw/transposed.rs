//! Copies that transpose in memory: neighbouring bytes of the source belong to neighbouring lanes, neighbouring bytes of
//! the destination to one lane. Copying tile by tile reads and writes every cache line once.

use super::{Dst, Src};
use crate::{Result, halt};
use std::ops::Range;

/// Bytes of a tile's row: one cache line.
const LINE: usize = 64;
/// Elements of a lane per tile.
const DEEP: usize = 16;

/// Copies every element, when the views are transposed to each other and large enough for tiles to pay; else `None`.
pub(crate) fn copy_across(src: &Src, dst: &mut Dst) -> Option<Result<()>> {
    let (lanes, len, size) = (dst.lanes(), dst.lane_len(), dst.dtype().size());
    let alike = src.lanes() == lanes && src.lane_len() == len && src.dtype().size() == size;
    // Where lanes overlap, the result depends on the order of the writes.
    if !alike || lanes < LINE / size || len < DEEP || !dst.pattern().lanes_disjoint() {
        return None;
    }
    src.across()?;
    dst.rows()?;
    Some(match size {
        1 => tiles::<u8, LINE>(src, dst),
        2 => tiles::<u16, { LINE / 2 }>(src, dst),
        4 => tiles::<u32, { LINE / 4 }>(src, dst),
        _ => tiles::<u64, { LINE / 8 }>(src, dst),
    })
}

fn tiles<T: Copy, const WIDE: usize>(src: &Src, dst: &mut Dst) -> Result<()> {
    let (elements, size) = (dst.len(), size_of::<T>());
    dst.for_lane_groups(WIDE, elements, |dst, groups| {
        let (Some((from, step)), Some((to, lane_step))) = (src.across(), dst.rows()) else { return Ok(()) };
        let (all, len) = (dst.lanes(), dst.lane_len());
        let pair = Pair::<T> { from: from.cast(), step, to: to.cast(), lane_step };
        for lane in groups.map(|g| g * WIDE) {
            for at in (0..len).step_by(DEEP) {
                if at.is_multiple_of(1024 * DEEP) {
                    halt::check()?;
                }
                // SAFETY: both views have these lanes and elements; `dst` is exclusive and owns the lanes of its groups.
                unsafe {
                    if lane + WIDE <= all && at + DEEP <= len {
                        pair.tile::<WIDE>(lane, at, size);
                    } else {
                        pair.rest(lane..all.min(lane + WIDE), at..len.min(at + DEEP), size);
                    }
                }
            }
        }
        Ok(())
    })
}

/// Two views of equal shape that are transposed to each other in memory.
struct Pair<T> {
    from: *const T,
    /// Bytes from element to element of the source; its lanes are neighbours.
    step: isize,
    to: *mut T,
    /// Bytes from lane to lane of the destination; its elements are neighbours.
    lane_step: isize,
}

impl<T: Copy> Pair<T> {
    /// `WIDE` lanes from `lane`, `DEEP` elements from `at`.
    ///
    /// # Safety
    /// All of them exist in both views, and nothing else touches those of the destination.
    unsafe fn tile<const WIDE: usize>(&self, lane: usize, at: usize, size: usize) {
        // SAFETY: lanes `lane..lane + WIDE` of element e are neighbours in the source, elements `at..at + DEEP` of lane l
        // are neighbours in the destination, and all of them are inside views whose bounds were proven.
        unsafe {
            let first = self.from.byte_offset(self.step * at as isize + (lane * size) as isize);
            let rows: [[T; WIDE]; DEEP] =
                std::array::from_fn(|e| first.byte_offset(self.step * e as isize).cast::<[T; WIDE]>().read_unaligned());
            let to = self.to.byte_offset(self.lane_step * lane as isize + (at * size) as isize);
            (0..WIDE).for_each(|l| {
                let column: [T; DEEP] = std::array::from_fn(|e| rows[e][l]);
                to.byte_offset(self.lane_step * l as isize).cast::<[T; DEEP]>().write_unaligned(column);
            });
        }
    }

    /// What is left at the edges.
    ///
    /// # Safety
    /// As [`Pair::tile`].
    unsafe fn rest(&self, lanes: Range<usize>, elements: Range<usize>, size: usize) {
        for l in lanes {
            for e in elements.clone() {
                // SAFETY: element e of lane l exists in both views.
                unsafe {
                    let v = self.from.byte_offset(self.step * e as isize + (l * size) as isize);
                    let to = self.to.byte_offset(self.lane_step * l as isize + (e * size) as isize);
                    to.write_unaligned(v.read_unaligned());
                }
            }
        }
    }
}
