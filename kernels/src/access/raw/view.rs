//! Views: a pattern joined with the bytes it addresses.

use super::walk::{lane_base, pick, place, walk};
use crate::access::Pattern;
use crate::{Code, Dtype, Error, Result};
use std::marker::PhantomData;
use std::ops::Range;

/// Marks a view that reads.
#[derive(Clone, Copy)]
pub enum Read {}

/// Marks a view that writes.
pub enum Write {}

/// A pattern and the bytes it addresses. Bounds were proven when it was built.
///
/// A view may own some of its lanes only, after [`Dst::split_at`]; lanes keep their numbers.
pub struct View<'a, M> {
    pub(super) ptr: *mut u8,
    pattern: &'a Pattern,
    /// The lanes that may be touched: `first..end`.
    first: usize,
    end: usize,
    kind: PhantomData<M>,
}

/// Read view of an operand: a shared borrow of its bytes.
pub type Src<'a> = View<'a, Read>;

/// Write view of an operand: an exclusive borrow of its bytes.
pub type Dst<'a> = View<'a, Write>;

impl Copy for Src<'_> {}

impl Clone for Src<'_> {
    fn clone(&self) -> Self {
        *self
    }
}

// SAFETY: a `Src` only reads bytes in its proven range, and nothing writes them while it lives.
unsafe impl Send for Src<'_> {}
// SAFETY: as above; all methods only read.
unsafe impl Sync for Src<'_> {}
// SAFETY: a `Dst` touches only bytes in its proven range, and nothing else touches them while it lives.
unsafe impl Send for Dst<'_> {}

impl<'a, M> View<'a, M> {
    fn check(ptr: *mut u8, len: usize, pattern: &'a Pattern) -> Result<Self> {
        match pattern.extent() {
            Some((lo, hi)) if lo < 0 || hi > len as i64 => {
                Err(Error::new(Code::S001, "the access pattern leaves its memory")
                    .received(format!("bytes {lo}..{hi} of {len}")))
            }
            _ => Ok(View { ptr, pattern, first: 0, end: pattern.lanes(), kind: PhantomData }),
        }
    }

    /// The pattern.
    pub fn pattern(&self) -> &'a Pattern {
        self.pattern
    }

    /// Element type.
    pub fn dtype(&self) -> Dtype {
        self.pattern.dtype()
    }

    /// Number of lanes of the pattern.
    pub fn lanes(&self) -> usize {
        self.pattern.lanes()
    }

    /// Elements per lane.
    pub fn lane_len(&self) -> usize {
        self.pattern.lane_len()
    }

    /// Elements in all.
    pub fn len(&self) -> usize {
        self.pattern.len()
    }

    /// True when there is no element.
    pub fn is_empty(&self) -> bool {
        self.pattern.is_empty()
    }

    /// Elements `start..start + n` of `lane` exist and belong to this view.
    #[inline]
    fn owns(&self, lane: usize, start: usize, n: usize) -> bool {
        let len = self.pattern.lane_len();
        lane >= self.first && lane < self.end && start <= len && n <= len - start
    }

    /// First byte and length of `n` elements, when they are neighbours in memory.
    #[inline]
    fn neighbours(&self, lane: usize, start: usize, n: usize) -> Option<(isize, usize)> {
        if !self.pattern.is_contiguous() || !self.owns(lane, start, n) {
            return None;
        }
        let size = self.dtype().size();
        Some(((lane_base(self.pattern, lane) + (start * size) as i64) as isize, n * size))
    }

    /// First byte and length of all elements of some lanes, when they are neighbours in memory.
    fn lanes_in_a_row(&self, lanes: Range<usize>) -> Option<(isize, usize)> {
        let p = self.pattern;
        let row = p.lane_len() * p.dtype().size();
        let dense = p.is_contiguous() && (lanes.len() == 1 || p.pairs()[0].stride == row as i64);
        let owned = self.first <= lanes.start && lanes.start < lanes.end && lanes.end <= self.end;
        (dense && owned).then(|| (lane_base(p, lanes.start) as isize, lanes.len() * row))
    }

    /// Address of element `start` of the first of some lanes, and bytes from lane to lane. `None` unless elements have `size`
    /// bytes and `n` of them from `start` on are neighbours in memory, in every one of the lanes.
    #[inline]
    pub(super) fn block(&self, lanes: &Range<usize>, start: usize, n: usize, size: usize) -> Option<(*mut u8, isize)> {
        let p = self.pattern;
        let owned = lanes.is_empty() || self.owns(lanes.start, start, n) && self.owns(lanes.end - 1, start, n);
        if size != p.dtype().size() || !p.is_contiguous() || !owned {
            return None;
        }
        let first = self.ptr.wrapping_offset((lane_base(p, lanes.start) + (start * size) as i64) as isize);
        Some((first, p.pairs()[0].stride as isize))
    }

    /// No lane belongs to another part.
    pub(super) fn is_whole(&self) -> bool {
        self.first == 0 && self.end == self.lanes()
    }

    /// The same bytes under another pattern, which may not leave the extent of the present one.
    fn under<'b, N>(&self, pattern: &'b Pattern) -> Result<View<'b, N>> {
        let whole = self.is_whole();
        match (self.pattern.extent(), pattern.extent()) {
            (_, None) => {}
            (Some((lo, hi)), Some((a, b))) if whole && a >= lo && b <= hi => {}
            (_, Some((a, b))) => {
                return Err(Error::new(Code::S001, "the reshaped pattern leaves its operand")
                    .received(format!("bytes {a}..{b}")));
            }
        }
        Ok(View { ptr: self.ptr, pattern, first: 0, end: pattern.lanes(), kind: PhantomData })
    }

    /// Address of the first element and bytes from lane to lane, when the elements of a lane are neighbours in memory.
    pub(super) fn rows(&self) -> Option<(*mut u8, isize)> {
        if !self.pattern.is_contiguous() || self.is_empty() {
            return None;
        }
        let first = self.ptr.wrapping_offset(lane_base(self.pattern, 0) as isize);
        Some((first, self.pattern.pairs()[0].stride as isize))
    }
}

impl<'a> Src<'a> {
    /// A view of borrowed bytes.
    pub fn new(bytes: &'a [u8], pattern: &'a Pattern) -> Result<Self> {
        Self::check(bytes.as_ptr().cast_mut(), bytes.len(), pattern)
    }

    /// A view of memory that is not borrowed from a slice.
    ///
    /// # Safety
    /// `ptr` must be valid for reads of `len` bytes during `'a`, and nothing may write the pattern's extent meanwhile.
    pub unsafe fn from_raw(ptr: *const u8, len: usize, pattern: &'a Pattern) -> Result<Self> {
        Self::check(ptr.cast_mut(), len, pattern)
    }

    /// The same bytes under another pattern of the same arena; its bounds are checked against this view's extent.
    pub fn reshaped<'b>(&self, pattern: &'b Pattern) -> Result<Src<'b>>
    where
        'a: 'b,
    {
        self.under(pattern)
    }

    /// The bytes of `n` elements from `start` in `lane`, when they are neighbours in memory.
    #[inline]
    pub fn run(&self, lane: usize, start: usize, n: usize) -> Option<&'a [u8]> {
        let (byte, len) = self.neighbours(lane, start, n)?;
        // SAFETY: the elements exist, so these bytes were proven in bounds, and nobody writes them during 'a.
        Some(unsafe { std::slice::from_raw_parts(self.ptr.offset(byte), len) })
    }

    /// The bytes of all elements of some lanes, when they are neighbours in memory.
    pub(crate) fn run_lanes(&self, lanes: Range<usize>) -> Option<&'a [u8]> {
        let (byte, len) = self.lanes_in_a_row(lanes)?;
        // SAFETY: the elements of these lanes are exactly these bytes; as in `run`.
        Some(unsafe { std::slice::from_raw_parts(self.ptr.offset(byte), len) })
    }

    /// Address of the first element and bytes from lane to lane, when the elements of a lane are neighbours in memory.
    pub(crate) fn lane_rows(&self) -> Option<(*const u8, isize)> {
        self.rows().map(|(first, step)| (first.cast_const(), step))
    }

    /// Address of the first element and bytes from element to element, when it is the lanes that are neighbours in memory.
    pub(super) fn across(&self) -> Option<(*const u8, isize)> {
        let [inner] = self.pattern.inner() else { return None };
        if self.pattern.offsets().is_some() || self.pattern.pairs()[0].stride != self.dtype().size() as i64 {
            return None;
        }
        Some((self.ptr.wrapping_offset(lane_base(self.pattern, 0) as isize), inner.stride as isize))
    }

    /// Copies elements `start..` of `lane` into `out`, whose length decides how many.
    #[inline]
    pub fn gather(&self, lane: usize, start: usize, out: &mut [u8]) {
        let size = self.dtype().size();
        let n = out.len() / size;
        assert!(self.owns(lane, start, n), "gather outside the view");
        if let Some(run) = self.run(lane, start, n) {
            out.copy_from_slice(run);
            return;
        }
        if let Some(list) = self.pattern.offsets() {
            let list = &list[lane * self.lane_len() + start..][..n];
            for (o, e) in list.iter().zip(out.chunks_exact_mut(size)) {
                // SAFETY: every listed offset was proven in bounds together with the element's size.
                unsafe { std::ptr::copy_nonoverlapping(self.ptr.add(*o), e.as_mut_ptr(), size) };
            }
            return;
        }
        walk(self.pattern, lane, start, n, |byte, stride, at, count| {
            // SAFETY: the walk visits elements of the pattern only, all proven in bounds; `out` holds n elements.
            unsafe {
                let src = self.ptr.offset(byte as isize);
                let dst = out.as_mut_ptr().add(at * size);
                match size {
                    1 => pick::<1>(src, stride, dst, count),
                    2 => pick::<2>(src, stride, dst, count),
                    4 => pick::<4>(src, stride, dst, count),
                    _ => pick::<8>(src, stride, dst, count),
                }
            }
        });
    }
}

impl<'a> Dst<'a> {
    /// A view of exclusively borrowed bytes.
    pub fn new(bytes: &'a mut [u8], pattern: &'a Pattern) -> Result<Self> {
        Self::check(bytes.as_mut_ptr(), bytes.len(), pattern)
    }

    /// A view of memory that is not borrowed from a slice.
    ///
    /// # Safety
    /// `ptr` must be valid for reads and writes of `len` bytes during `'a`, and nothing else may read or write the pattern's
    /// extent meanwhile.
    pub unsafe fn from_raw(ptr: *mut u8, len: usize, pattern: &'a Pattern) -> Result<Self> {
        Self::check(ptr, len, pattern)
    }

    /// This view for a shorter time.
    pub fn reborrow(&mut self) -> Dst<'_> {
        View { ptr: self.ptr, pattern: self.pattern, first: self.first, end: self.end, kind: PhantomData }
    }

    /// The lanes before `lane`, and the others. Both parts keep the numbers of their lanes and panic when another is written.
    ///
    /// # Panics
    /// When lanes of the pattern may share bytes, or `lane` is not one of this part.
    pub fn split_at(self, lane: usize) -> (Self, Self) {
        assert!(self.pattern.lanes_disjoint(), "lanes that may overlap have one owner");
        assert!(self.first <= lane && lane <= self.end, "a part is split at one of its lanes");
        let View { ptr, pattern, first, end, kind } = self;
        (View { ptr, pattern, first, end: lane, kind }, View { ptr, pattern, first: lane, end, kind })
    }

    /// The same bytes under another pattern of the same arena; its bounds are checked against this view's extent.
    pub fn reshaped<'b>(&'b mut self, pattern: &'b Pattern) -> Result<Dst<'b>> {
        self.under(pattern)
    }

    /// Reads back what is stored now: for instructions that keep or combine old values.
    pub fn as_src(&self) -> Src<'_> {
        View { ptr: self.ptr, pattern: self.pattern, first: self.first, end: self.end, kind: PhantomData }
    }

    /// The bytes of `n` elements from `start` in `lane`, when they are neighbours in memory.
    #[inline]
    pub fn run_mut(&mut self, lane: usize, start: usize, n: usize) -> Option<&mut [u8]> {
        let (byte, len) = self.neighbours(lane, start, n)?;
        // SAFETY: the elements exist, so these bytes were proven in bounds; the borrow of `self` makes the slice exclusive.
        Some(unsafe { std::slice::from_raw_parts_mut(self.ptr.offset(byte), len) })
    }

    /// As [`Src::run_lanes`].
    pub(crate) fn run_lanes_mut(&mut self, lanes: Range<usize>) -> Option<&mut [u8]> {
        let (byte, len) = self.lanes_in_a_row(lanes)?;
        // SAFETY: the elements of these lanes are exactly these bytes; as in `run_mut`.
        Some(unsafe { std::slice::from_raw_parts_mut(self.ptr.offset(byte), len) })
    }

    /// Writes elements `start..` of `lane` from `data`, whose length decides how many.
    #[inline]
    pub fn scatter(&mut self, lane: usize, start: usize, data: &[u8]) {
        let size = self.dtype().size();
        let n = data.len() / size;
        assert!(self.owns(lane, start, n), "scatter outside the view");
        if let Some(run) = self.run_mut(lane, start, n) {
            run.copy_from_slice(&data[..n * size]);
            return;
        }
        if let Some(list) = self.pattern.offsets() {
            let list = &list[lane * self.lane_len() + start..][..n];
            for (o, e) in list.iter().zip(data.chunks_exact(size)) {
                // SAFETY: every listed offset was proven in bounds together with the element's size.
                unsafe { std::ptr::copy_nonoverlapping(e.as_ptr(), self.ptr.add(*o), size) };
            }
            return;
        }
        walk(self.pattern, lane, start, n, |byte, stride, at, count| {
            // SAFETY: the walk visits elements of the pattern only, all proven in bounds; `data` holds n elements.
            unsafe {
                let dst = self.ptr.offset(byte as isize);
                let src = data.as_ptr().add(at * size);
                match size {
                    1 => place::<1>(src, dst, stride, count),
                    2 => place::<2>(src, dst, stride, count),
                    4 => place::<4>(src, dst, stride, count),
                    _ => place::<8>(src, dst, stride, count),
                }
            }
        });
    }
}
