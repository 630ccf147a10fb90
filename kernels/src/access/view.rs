//! Views: a pattern joined with the bytes it addresses. The one audited place of raw memory access.

use super::Pattern;
use crate::{Code, Dtype, Error, Result};
use std::marker::PhantomData;
use std::ops::Range;

/// Read view of an operand. Bounds were proven when it was built.
#[derive(Clone)]
pub struct Src<'a> {
    ptr: *const u8,
    pattern: Pattern,
    life: PhantomData<&'a [u8]>,
}

/// Write view of an operand. Bounds were proven when it was built.
pub struct Dst<'a> {
    ptr: *mut u8,
    pattern: Pattern,
    life: PhantomData<&'a mut [u8]>,
}

// SAFETY: a `Src` only reads bytes in its proven range; whoever builds it promises (`from_raw`) or proves (`new`) that
// nothing writes them while a kernel reads, except the kernel itself at the same element.
unsafe impl Send for Src<'_> {}
// SAFETY: as above; all methods take `&self` and only read.
unsafe impl Sync for Src<'_> {}
// SAFETY: a `Dst` writes only bytes in its proven range, and the builder promises exclusive access to them.
unsafe impl Send for Dst<'_> {}
// SAFETY: concurrent writers must use different lanes of a pattern whose lanes are disjoint; `for_lanes` checks that.
unsafe impl Sync for Dst<'_> {}

fn check(pattern: &Pattern, len: usize) -> Result<()> {
    match pattern.extent() {
        Some((lo, hi)) if lo < 0 || hi > len as i64 => {
            Err(Error::new(Code::S001, "the access pattern leaves its memory")
                .received(format!("bytes {lo}..{hi} of {len}")))
        }
        _ => Ok(()),
    }
}

impl<'a> Src<'a> {
    /// A view of borrowed bytes.
    pub fn new(bytes: &'a [u8], pattern: Pattern) -> Result<Self> {
        check(&pattern, bytes.len())?;
        Ok(Src { ptr: bytes.as_ptr(), pattern, life: PhantomData })
    }

    /// A view of arena memory that a [`Dst`] of the same call may overlap.
    ///
    /// # Safety
    /// `ptr` must be valid for reads of `len` bytes during `'a`. A [`Dst`] that is written during that time must either
    /// not overlap this view, or address the identical elements and be written by a kernel that reads an element before
    /// it writes it.
    pub unsafe fn from_raw(ptr: *const u8, len: usize, pattern: Pattern) -> Result<Self> {
        check(&pattern, len)?;
        Ok(Src { ptr, pattern, life: PhantomData })
    }

    /// The pattern.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// Element type.
    pub fn dtype(&self) -> Dtype {
        self.pattern.dtype()
    }

    /// Number of lanes.
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

    /// True when there is nothing to read.
    pub fn is_empty(&self) -> bool {
        self.pattern.is_empty()
    }

    /// The same elements as one lane.
    #[must_use]
    pub fn flat(&self) -> Src<'a> {
        Src { ptr: self.ptr, pattern: self.pattern.flat(), life: PhantomData }
    }

    /// The same bytes under another pattern of the same arena; its bounds are checked against this view's extent.
    pub fn reshaped(&self, pattern: Pattern) -> Result<Src<'a>> {
        within(&self.pattern, &pattern)?;
        Ok(Src { ptr: self.ptr, pattern, life: PhantomData })
    }

    /// The bytes of `n` elements from `start` in `lane`, when they are neighbours in memory.
    #[inline]
    pub fn run(&self, lane: usize, start: usize, n: usize) -> Option<&[u8]> {
        if !self.pattern.is_contiguous() || lane >= self.lanes() || start + n > self.lane_len() {
            return None;
        }
        let size = self.dtype().size();
        let byte = lane_base(&self.pattern, lane) + (start * size) as i64;
        // SAFETY: lane and range were checked above against a pattern whose whole extent was proven in bounds.
        Some(unsafe { std::slice::from_raw_parts(self.ptr.offset(byte as isize), n * size) })
    }

    /// The bytes of all elements of some lanes, when they are neighbours in memory.
    pub(crate) fn run_lanes(&self, lanes: Range<usize>) -> Option<&[u8]> {
        let (byte, len) = lanes_in_a_row(&self.pattern, lanes)?;
        // SAFETY: the elements of these lanes are exactly these bytes, and all of them were proven in bounds.
        Some(unsafe { std::slice::from_raw_parts(self.ptr.offset(byte as isize), len) })
    }

    /// Address of the first element and bytes from lane to lane, when the elements of a lane are neighbours in memory.
    pub(crate) fn lane_rows(&self) -> Option<(*const u8, isize)> {
        if !self.pattern.is_contiguous() || self.is_empty() {
            return None;
        }
        let first = self.ptr.wrapping_offset(lane_base(&self.pattern, 0) as isize);
        Some((first, self.pattern.pairs()[0].stride as isize))
    }

    /// Address of the first element and bytes from element to element, when it is the lanes that are neighbours in memory.
    pub(crate) fn across(&self) -> Option<(*const u8, isize)> {
        let [inner] = self.pattern.inner() else { return None };
        if self.pattern.offsets().is_some() || self.pattern.pairs()[0].stride != self.dtype().size() as i64 {
            return None;
        }
        Some((self.ptr.wrapping_offset(lane_base(&self.pattern, 0) as isize), inner.stride as isize))
    }

    /// Copies elements `start..` of `lane` into `out`, whose length decides how many.
    #[inline]
    pub fn gather(&self, lane: usize, start: usize, out: &mut [u8]) {
        let size = self.dtype().size();
        let n = out.len() / size;
        assert!(lane < self.lanes() && start + n <= self.lane_len(), "gather outside the view");
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
        walk(&self.pattern, lane, start, n, |byte, stride, at, count| {
            // SAFETY: the walk visits elements of the pattern only, all proven in bounds; `out` holds n elements.
            unsafe {
                let src = self.ptr.offset(byte as isize);
                let dst = out.as_mut_ptr().add(at * size);
                match size {
                    1 => strided::<1>(src, stride, dst, 1, count),
                    2 => strided::<2>(src, stride, dst, 2, count),
                    4 => strided::<4>(src, stride, dst, 4, count),
                    _ => strided::<8>(src, stride, dst, 8, count),
                }
            }
        });
    }
}

impl<'a> Dst<'a> {
    /// A view of exclusively borrowed bytes.
    pub fn new(bytes: &'a mut [u8], pattern: Pattern) -> Result<Self> {
        check(&pattern, bytes.len())?;
        Ok(Dst { ptr: bytes.as_mut_ptr(), pattern, life: PhantomData })
    }

    /// A view of arena memory.
    ///
    /// # Safety
    /// `ptr` must be valid for writes of `len` bytes during `'a`, and no other live view may overlap it, except a
    /// [`Src`] under the conditions of [`Src::from_raw`].
    pub unsafe fn from_raw(ptr: *mut u8, len: usize, pattern: Pattern) -> Result<Self> {
        check(&pattern, len)?;
        Ok(Dst { ptr, pattern, life: PhantomData })
    }

    /// The pattern.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// Element type.
    pub fn dtype(&self) -> Dtype {
        self.pattern.dtype()
    }

    /// Number of lanes.
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

    /// True when there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.pattern.is_empty()
    }

    /// The same elements as one lane.
    #[must_use]
    pub fn flat(&self) -> Dst<'a> {
        Dst { ptr: self.ptr, pattern: self.pattern.flat(), life: PhantomData }
    }

    /// The same bytes under another pattern; its bounds are checked against this view's extent.
    pub fn reshaped(&self, pattern: Pattern) -> Result<Dst<'a>> {
        within(&self.pattern, &pattern)?;
        Ok(Dst { ptr: self.ptr, pattern, life: PhantomData })
    }

    /// The first elements of both views are at the same address. Operands of a kernel are disjoint or identical element by
    /// element, so this tells the two apart.
    pub fn starts_at(&self, src: &Src) -> bool {
        let first = |p: &Pattern| p.first_byte().unwrap_or(0) as isize;
        std::ptr::eq(self.ptr.wrapping_offset(first(&self.pattern)), src.ptr.wrapping_offset(first(&src.pattern)))
    }

    /// Reads back what is stored now: for instructions that keep or combine old values.
    pub fn as_src(&self) -> Src<'_> {
        Src { ptr: self.ptr, pattern: self.pattern.clone(), life: PhantomData }
    }

    /// The bytes of `n` elements from `start` in `lane`, when they are neighbours in memory.
    ///
    /// # Safety
    /// No other view of these bytes may be read or written while the slice lives.
    #[inline]
    #[expect(clippy::mut_from_ref, reason = "lanes are written through a shared view; exclusivity is per lane")]
    pub unsafe fn run_mut(&self, lane: usize, start: usize, n: usize) -> Option<&mut [u8]> {
        if !self.pattern.is_contiguous() || lane >= self.lanes() || start + n > self.lane_len() {
            return None;
        }
        let size = self.dtype().size();
        let byte = lane_base(&self.pattern, lane) + (start * size) as i64;
        // SAFETY: in bounds as in `Src::run`; exclusivity is the caller's promise.
        Some(unsafe { std::slice::from_raw_parts_mut(self.ptr.offset(byte as isize), n * size) })
    }

    /// As [`Src::run_lanes`].
    ///
    /// # Safety
    /// As [`Dst::run_mut`].
    #[expect(clippy::mut_from_ref, reason = "as Dst::run_mut")]
    pub(crate) unsafe fn run_lanes_mut(&self, lanes: Range<usize>) -> Option<&mut [u8]> {
        let (byte, len) = lanes_in_a_row(&self.pattern, lanes)?;
        // SAFETY: in bounds as in `Src::run_lanes`; exclusivity is the caller's promise.
        Some(unsafe { std::slice::from_raw_parts_mut(self.ptr.offset(byte as isize), len) })
    }

    /// As [`Src::lane_rows`].
    pub(crate) fn lane_rows_mut(&self) -> Option<(*mut u8, isize)> {
        if !self.pattern.is_contiguous() || self.is_empty() {
            return None;
        }
        let first = self.ptr.wrapping_offset(lane_base(&self.pattern, 0) as isize);
        Some((first, self.pattern.pairs()[0].stride as isize))
    }

    /// Writes elements `start..` of `lane` from `data`, whose length decides how many.
    #[inline]
    pub fn scatter(&self, lane: usize, start: usize, data: &[u8]) {
        let size = self.dtype().size();
        let n = data.len() / size;
        assert!(lane < self.lanes() && start + n <= self.lane_len(), "scatter outside the view");
        if self.pattern.is_contiguous() {
            let byte = lane_base(&self.pattern, lane) + (start * size) as i64;
            // SAFETY: in bounds as in `Src::run`; `data` is a private buffer and does not overlap the arena.
            unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), self.ptr.offset(byte as isize), n * size) };
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
        walk(&self.pattern, lane, start, n, |byte, stride, at, count| {
            // SAFETY: the walk visits elements of the pattern only, all proven in bounds; `data` holds n elements.
            unsafe {
                let dst = self.ptr.offset(byte as isize);
                let src = data.as_ptr().add(at * size);
                match size {
                    1 => strided_out::<1>(src, dst, stride, count),
                    2 => strided_out::<2>(src, dst, stride, count),
                    4 => strided_out::<4>(src, dst, stride, count),
                    _ => strided_out::<8>(src, dst, stride, count),
                }
            }
        });
    }
}

/// The bytes between the first and the last one of a view, read at computed addresses.
pub struct Window<'a> {
    ptr: *const u8,
    lo: i64,
    hi: i64,
    life: PhantomData<&'a [u8]>,
}

/// The bytes between the first and the last one of a view, written at computed addresses.
pub struct WindowMut<'a> {
    ptr: *mut u8,
    lo: i64,
    hi: i64,
    life: PhantomData<&'a mut [u8]>,
}

impl Src<'_> {
    /// Random access to the extent of this view.
    pub fn window(&self) -> Window<'_> {
        let (lo, hi) = self.pattern.extent().unwrap_or((0, 0));
        Window { ptr: self.ptr, lo, hi, life: PhantomData }
    }
}

impl Dst<'_> {
    /// The extents of this view and of the window have bytes in common.
    pub fn touches(&self, window: &Window) -> bool {
        let (lo, hi) = self.pattern.extent().unwrap_or((0, 0));
        let at = |p: *const u8, byte: i64| p.wrapping_offset(byte as isize).addr();
        at(self.ptr, lo) < at(window.ptr, window.hi) && at(window.ptr, window.lo) < at(self.ptr, hi)
    }

    /// Random access to the extent of this view.
    pub fn window(&self) -> WindowMut<'_> {
        let (lo, hi) = self.pattern.extent().unwrap_or((0, 0));
        WindowMut { ptr: self.ptr, lo, hi, life: PhantomData }
    }
}

fn reaches(lo: i64, hi: i64, byte: i64, len: usize) -> bool {
    byte >= lo && byte <= hi && len as u64 <= (hi - byte) as u64
}

impl Window<'_> {
    /// Half-open byte range of the window.
    pub fn extent(&self) -> (i64, i64) {
        (self.lo, self.hi)
    }

    /// The `len` bytes from `byte` on, when they lie in the window.
    #[inline]
    pub fn bytes(&self, byte: i64, len: usize) -> Option<&[u8]> {
        if !reaches(self.lo, self.hi, byte, len) {
            return None;
        }
        // SAFETY: the extent of the view was proven in bounds and `reaches` keeps the slice inside it.
        Some(unsafe { std::slice::from_raw_parts(self.ptr.offset(byte as isize), len) })
    }

    /// Copies the bytes from `byte` on into `out`; false, and nothing happens, when they leave the window.
    #[inline]
    pub fn read(&self, byte: i64, out: &mut [u8]) -> bool {
        if !reaches(self.lo, self.hi, byte, out.len()) {
            return false;
        }
        // SAFETY: the extent of the view was proven in bounds and `reaches` keeps the read inside it.
        unsafe { std::ptr::copy_nonoverlapping(self.ptr.offset(byte as isize), out.as_mut_ptr(), out.len()) };
        true
    }
}

impl WindowMut<'_> {
    /// Half-open byte range of the window.
    pub fn extent(&self) -> (i64, i64) {
        (self.lo, self.hi)
    }

    /// As [`Window::read`].
    #[inline]
    pub fn read(&self, byte: i64, out: &mut [u8]) -> bool {
        Window { ptr: self.ptr, lo: self.lo, hi: self.hi, life: PhantomData }.read(byte, out)
    }

    /// Stores `data` from `byte` on; false, and nothing happens, when it would leave the window.
    #[inline]
    pub fn write(&self, byte: i64, data: &[u8]) -> bool {
        if !reaches(self.lo, self.hi, byte, data.len()) {
            return false;
        }
        // SAFETY: as in `Window::read`; the window borrows a view with exclusive access, and its raw pointer keeps it on
        // one thread.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), self.ptr.offset(byte as isize), data.len()) };
        true
    }
}

fn within(outer: &Pattern, inner: &Pattern) -> Result<()> {
    match (outer.extent(), inner.extent()) {
        (_, None) => Ok(()),
        (Some((lo, hi)), Some((a, b))) if a >= lo && b <= hi => Ok(()),
        (_, Some((a, b))) => {
            Err(Error::new(Code::S001, "the reshaped pattern leaves its operand").received(format!("bytes {a}..{b}")))
        }
    }
}

/// First byte and number of bytes of some lanes that follow each other without a gap.
fn lanes_in_a_row(p: &Pattern, lanes: Range<usize>) -> Option<(i64, usize)> {
    let row = p.lane_len() * p.dtype().size();
    let dense = p.is_contiguous() && (lanes.len() == 1 || p.pairs()[0].stride == row as i64);
    (dense && lanes.start < lanes.end && lanes.end <= p.lanes()).then(|| (lane_base(p, lanes.start), lanes.len() * row))
}

#[inline]
fn lane_base(p: &Pattern, lane: usize) -> i64 {
    p.base() + p.pairs()[0].stride * lane as i64
}

/// Calls `f(byte of the first element, stride, position in the request, count)` for each innermost run.
#[inline]
fn walk(p: &Pattern, lane: usize, start: usize, n: usize, mut f: impl FnMut(i64, i64, usize, usize)) {
    let inner = p.inner();
    let base = lane_base(p, lane);
    if n == 0 {
        return;
    }
    let Some((last, outer)) = inner.split_last() else {
        f(base, 0, 0, 1);
        return;
    };
    let row = last.num as usize;
    let mut col = start % row;
    let mut index = [0u32; super::MAX_PAIRS];
    let mut rest = start / row;
    let mut byte = base;
    for (k, d) in outer.iter().enumerate().rev() {
        index[k] = (rest % d.num as usize) as u32;
        rest /= d.num as usize;
        byte += d.stride * i64::from(index[k]);
    }
    let mut done = 0;
    while done < n {
        let count = (row - col).min(n - done);
        f(byte + last.stride * col as i64, last.stride, done, count);
        done += count;
        col = 0;
        for (k, d) in outer.iter().enumerate().rev() {
            index[k] += 1;
            byte += d.stride;
            if index[k] < d.num {
                break;
            }
            byte -= d.stride * i64::from(d.num);
            index[k] = 0;
        }
    }
}

/// # Safety
/// `src` must be readable at every `i * stride`, `dst` writable at every `i * step`, for i < n, N bytes each.
#[inline]
unsafe fn strided<const N: usize>(src: *const u8, stride: i64, dst: *mut u8, step: usize, n: usize) {
    for i in 0..n {
        // SAFETY: the caller guarantees validity of both addresses.
        unsafe {
            let v = src.offset((stride * i as i64) as isize).cast::<[u8; N]>().read_unaligned();
            dst.add(i * step).cast::<[u8; N]>().write_unaligned(v);
        }
    }
}

/// # Safety
/// `src` must be readable at every `i * N`, `dst` writable at every `i * stride`, for i < n, N bytes each.
#[inline]
unsafe fn strided_out<const N: usize>(src: *const u8, dst: *mut u8, stride: i64, n: usize) {
    for i in 0..n {
        // SAFETY: the caller guarantees validity of both addresses.
        unsafe {
            let v = src.add(i * N).cast::<[u8; N]>().read_unaligned();
            dst.offset((stride * i as i64) as isize).cast::<[u8; N]>().write_unaligned(v);
        }
    }
}
