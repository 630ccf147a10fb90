//! Moves between views whose neighbours lie across each other: the source's in the next lane, the destination's in the
//! same one. Tile by tile, every cache line is read once and written once.

use super::{Dst, Src, for_lane_ranges};
use crate::Result;
use std::marker::PhantomData;

/// Bytes of a tile's row: one cache line.
const LINE: usize = 64;
/// Elements of a lane per tile.
const DEEP: usize = 16;

/// A pair of views of equal shape and element size that lie across each other.
pub(crate) struct Across<'a> {
    from: *const u8,
    /// Bytes from element to element of the source; its lanes are neighbours.
    step: isize,
    to: *mut u8,
    /// Bytes from lane to lane of the destination; its elements are neighbours.
    lane_step: isize,
    lanes: usize,
    len: usize,
    size: usize,
    life: PhantomData<&'a [u8]>,
}

// SAFETY: as `Src` and `Dst`; `copy` gives every thread its own lanes, and the destination's are disjoint.
unsafe impl Sync for Across<'_> {}

impl<'a> Across<'a> {
    /// The pair, when the views lie so and are large enough for tiles to pay. They must be disjoint.
    pub(crate) fn of(src: &'a Src, dst: &'a Dst) -> Option<Self> {
        let (lanes, len, size) = (dst.lanes(), dst.lane_len(), dst.dtype().size());
        let alike = src.lanes() == lanes && src.lane_len() == len && src.dtype().size() == size;
        // Where lanes overlap, the order of the writes counts.
        if !alike || lanes < LINE / size || len < DEEP || !dst.pattern().lanes_disjoint() {
            return None;
        }
        let (from, step) = src.across()?;
        let (to, lane_step) = dst.lane_rows_mut()?;
        Some(Across { from, step, to, lane_step, lanes, len, size, life: PhantomData })
    }

    /// Copies every element.
    pub(crate) fn copy(&self) -> Result<()> {
        match self.size {
            1 => self.tiles::<u8, LINE>(),
            2 => self.tiles::<u16, { LINE / 2 }>(),
            4 => self.tiles::<u32, { LINE / 4 }>(),
            _ => self.tiles::<u64, { LINE / 8 }>(),
        }
    }

    fn tiles<T: Copy, const WIDE: usize>(&self) -> Result<()> {
        for_lane_ranges(self.lanes.div_ceil(WIDE), self.lanes * self.len, true, |blocks| {
            for lane in blocks.map(|b| b * WIDE) {
                let mut at = 0;
                while at < self.len {
                    if lane + WIDE <= self.lanes && at + DEEP <= self.len {
                        self.tile::<T, WIDE>(lane, at);
                    } else {
                        self.rest::<T>(lane..self.lanes.min(lane + WIDE), at..self.len.min(at + DEEP));
                    }
                    at += DEEP;
                }
            }
            Ok(())
        })
    }

    /// `WIDE` lanes from `lane`, `DEEP` elements from `at`; all of them exist.
    fn tile<T: Copy, const WIDE: usize>(&self, lane: usize, at: usize) {
        // SAFETY: lanes `lane..lane + WIDE` of element e are neighbours in the source, elements `at..at + DEEP` of lane l
        // are neighbours in the destination, and all of them lie inside views whose bounds were proven.
        unsafe {
            let first = self.from.offset(self.step * at as isize + (lane * self.size) as isize);
            let rows: [[T; WIDE]; DEEP] =
                std::array::from_fn(|e| first.offset(self.step * e as isize).cast::<[T; WIDE]>().read_unaligned());
            let to = self.to.offset(self.lane_step * lane as isize + (at * self.size) as isize);
            (0..WIDE).for_each(|l| {
                let column: [T; DEEP] = std::array::from_fn(|e| rows[e][l]);
                to.offset(self.lane_step * l as isize).cast::<[T; DEEP]>().write_unaligned(column);
            });
        }
    }

    /// What is left at the edges.
    fn rest<T: Copy>(&self, lanes: std::ops::Range<usize>, elements: std::ops::Range<usize>) {
        for l in lanes {
            for e in elements.clone() {
                // SAFETY: element e of lane l exists in both views.
                unsafe {
                    let v = self.from.offset(self.step * e as isize + (l * self.size) as isize).cast::<T>();
                    let to = self.to.offset(self.lane_step * l as isize + (e * self.size) as isize).cast::<T>();
                    to.write_unaligned(v.read_unaligned());
                }
            }
        }
    }
}
