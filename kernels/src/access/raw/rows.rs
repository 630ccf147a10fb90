//! Equally long rows at a fixed distance: what a loop over lanes needs when it runs inside vectorised code.

use super::{Dst, Src};
use bytemuck::Pod;
use std::marker::PhantomData;
use std::ops::Range;

/// Rows of values to read. An iterator over slices.
#[derive(Clone)]
pub struct Rows<'a, T> {
    first: *const T,
    /// Bytes from row to row.
    step: isize,
    count: usize,
    len: usize,
    life: PhantomData<&'a [T]>,
}

/// Rows of values to write. An iterator over mutable slices.
pub struct RowsMut<'a, T> {
    first: *mut T,
    step: isize,
    count: usize,
    len: usize,
    life: PhantomData<&'a mut [T]>,
}

impl<'a, T> Rows<'a, T> {
    /// A slice as one row.
    #[inline]
    pub fn one(values: &'a [T]) -> Self {
        Rows { first: values.as_ptr(), step: 0, count: 1, len: values.len(), life: PhantomData }
    }

    /// Every value as a row of its own.
    #[inline]
    pub fn each(values: &'a [T]) -> Self {
        let step = size_of::<T>() as isize;
        Rows { first: values.as_ptr(), step, count: values.len(), len: 1, life: PhantomData }
    }

    /// One value as row after row of length one, without end.
    #[inline]
    pub fn repeat(value: &'a T) -> Self {
        Rows { first: value, step: 0, count: usize::MAX, len: 1, life: PhantomData }
    }
}

impl<'a, T> Iterator for Rows<'a, T> {
    type Item = &'a [T];

    #[inline(always)]
    fn next(&mut self) -> Option<&'a [T]> {
        self.count = self.count.checked_sub(1)?;
        let row = self.first;
        self.first = row.wrapping_byte_offset(self.step);
        // SAFETY: the constructor proved `count` of them, `step` bytes apart, to be readable and aligned during 'a.
        Some(unsafe { std::slice::from_raw_parts(row, self.len) })
    }
}

impl<'a, T> RowsMut<'a, T> {
    /// A slice as one row.
    #[inline]
    pub fn one(values: &'a mut [T]) -> Self {
        RowsMut { first: values.as_mut_ptr(), step: 0, count: 1, len: values.len(), life: PhantomData }
    }

    /// A slice as rows of `len` values each; what is left at its end is in none of them.
    #[inline]
    pub fn dense(values: &'a mut [T], len: usize) -> Self {
        let count = values.len() / len.max(1);
        RowsMut { first: values.as_mut_ptr(), step: (len * size_of::<T>()) as isize, count, len, life: PhantomData }
    }

    /// The same rows for a shorter time.
    #[inline]
    pub fn reborrow(&mut self) -> RowsMut<'_, T> {
        RowsMut { first: self.first, step: self.step, count: self.count, len: self.len, life: PhantomData }
    }
}

impl<T> RowsMut<'_, T> {
    /// Address of the first value, bytes from row to row, number of rows, values per row.
    pub(crate) fn layout(&mut self) -> (*mut T, isize, usize, usize) {
        (self.first, self.step, self.count, self.len)
    }
}

impl<'a, T> Iterator for RowsMut<'a, T> {
    type Item = &'a mut [T];

    #[inline(always)]
    fn next(&mut self) -> Option<&'a mut [T]> {
        self.count = self.count.checked_sub(1)?;
        let row = self.first;
        self.first = row.wrapping_byte_offset(self.step);
        // SAFETY: as for `Rows`; the rows have no byte in common, so every slice is the only one of its bytes.
        Some(unsafe { std::slice::from_raw_parts_mut(row, self.len) })
    }
}

/// Rows that start at `first`, `step` bytes apart, are aligned for `T`.
fn aligned<T>(first: *const T, step: isize) -> bool {
    first.is_aligned() && step % align_of::<T>() as isize == 0
}

impl<'a> Src<'a> {
    /// Elements `start..start + n` of some lanes as values of `T`, which has the size of an element. `None` when the elements
    /// of a lane are no neighbours in memory, or not aligned.
    #[inline]
    pub(crate) fn lanes_as<T: Pod>(&self, lanes: Range<usize>, start: usize, n: usize) -> Option<Rows<'a, T>> {
        let (first, step) = self.block(&lanes, start, n, size_of::<T>())?;
        let first = first.cast_const().cast::<T>();
        aligned(first, step).then_some(Rows { first, step, count: lanes.len(), len: n, life: PhantomData })
    }
}

impl Dst<'_> {
    /// As [`Src::lanes_as`]. `None` also when lanes may overlap.
    #[inline]
    pub(crate) fn lanes_as_mut<T: Pod>(
        &mut self,
        lanes: Range<usize>,
        start: usize,
        n: usize,
    ) -> Option<RowsMut<'_, T>> {
        let (first, step) = self.block(&lanes, start, n, size_of::<T>())?;
        let first = first.cast::<T>();
        let apart = lanes.len() == 1 || step.unsigned_abs() >= n * size_of::<T>();
        (apart && aligned(first.cast_const(), step)).then_some(RowsMut {
            first,
            step,
            count: lanes.len(),
            len: n,
            life: PhantomData,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::Dtype;
    use crate::access::{Dst, Pair, Pattern, Src};

    fn pattern(step: i64, lanes: u32, n: u32) -> Pattern {
        let dense = Pattern::dense(Dtype::Float32, &[lanes, n]).unwrap();
        dense.with_pairs(&[Pair { stride: step, num: lanes }, Pair { stride: 4, num: n }]).unwrap()
    }

    #[test]
    fn lanes_are_read_and_written_as_rows() {
        let from: Vec<f32> = (0..32).map(|k| k as f32).collect();
        let mut to = vec![0f32; 32];
        let p = pattern(32, 4, 3);
        let src = Src::new(bytemuck::cast_slice(&from), &p).unwrap();
        let mut dst = Dst::new(bytemuck::cast_slice_mut(&mut to), &p).unwrap();
        let rows = src.lanes_as::<f32>(1..4, 1, 2).unwrap();
        for (o, i) in dst.lanes_as_mut::<f32>(1..4, 0, 2).unwrap().zip(rows) {
            o.copy_from_slice(i);
        }
        let expected: Vec<f32> = (0..32).map(|k| if k >= 8 && k % 8 < 2 { (k + 1) as f32 } else { 0.0 }).collect();
        assert_eq!(to, expected);
    }

    #[test]
    fn rows_that_overlap_or_leave_the_view_are_refused() {
        let mut bytes = vec![0u32; 32];
        let p = pattern(4, 4, 3);
        let mut dst = Dst::new(bytemuck::cast_slice_mut(&mut bytes), &p).unwrap();
        assert!(dst.lanes_as_mut::<f32>(0..4, 0, 3).is_none(), "lanes overlap");
        assert!(dst.lanes_as_mut::<f32>(0..4, 0, 1).is_some(), "their first elements do not");
        let src = dst.as_src();
        assert!(src.lanes_as::<f32>(0..4, 0, 3).is_some());
        assert!(src.lanes_as::<f32>(0..5, 0, 3).is_none());
        assert!(src.lanes_as::<f32>(0..4, 2, 2).is_none());
        assert!(src.lanes_as::<u16>(0..4, 0, 3).is_none(), "another size");
        assert_eq!(src.lanes_as::<f32>(2..2, 0, 3).map(Iterator::count), Some(0));
    }
}
