//! Access at computed addresses, each of them checked.

use super::{Dst, Src, View};
use std::marker::PhantomData;

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

impl<'a> Src<'a> {
    /// Random access to the extent of this view.
    pub fn window(&self) -> Window<'a> {
        let (lo, hi) = reach(self);
        Window { ptr: self.ptr, lo, hi, life: PhantomData }
    }
}

impl Dst<'_> {
    /// Random access to the extent of this view.
    pub fn window(&mut self) -> WindowMut<'_> {
        let (lo, hi) = reach(self);
        WindowMut { ptr: self.ptr, lo, hi, life: PhantomData }
    }
}

/// The extent of a view. A part of a view is refused, because its extent can contain bytes of other parts.
fn reach<M>(view: &View<M>) -> (i64, i64) {
    assert!(view.is_whole(), "a window opens on a whole view");
    view.pattern().extent().unwrap_or((0, 0))
}

fn reaches(lo: i64, hi: i64, byte: i64, len: usize) -> bool {
    byte >= lo && byte <= hi && len as u64 <= (hi - byte) as u64
}

impl<'a> Window<'a> {
    /// The `len` bytes from `byte` on, when they are inside the window.
    #[inline]
    pub fn bytes(&self, byte: i64, len: usize) -> Option<&'a [u8]> {
        if !reaches(self.lo, self.hi, byte, len) {
            return None;
        }
        // SAFETY: the extent of the view was proven in bounds and `reaches` keeps the slice inside it.
        Some(unsafe { std::slice::from_raw_parts(self.ptr.offset(byte as isize), len) })
    }

    /// Copies the bytes from `byte` on into `out`; false, and nothing happens, when they leave the window.
    #[inline]
    pub fn read(&self, byte: i64, out: &mut [u8]) -> bool {
        self.bytes(byte, out.len()).map(|found| out.copy_from_slice(found)).is_some()
    }
}

impl WindowMut<'_> {
    /// Copies the bytes from `byte` on into `out`; false, and nothing happens, when they leave the window.
    #[inline]
    pub fn read(&self, byte: i64, out: &mut [u8]) -> bool {
        Window { ptr: self.ptr, lo: self.lo, hi: self.hi, life: PhantomData }.read(byte, out)
    }

    /// Stores `data` from `byte` on; false, and nothing happens, when it would leave the window.
    #[inline]
    pub fn write(&mut self, byte: i64, data: &[u8]) -> bool {
        if !reaches(self.lo, self.hi, byte, data.len()) {
            return false;
        }
        // SAFETY: as in `Window::bytes`; the window borrows its view exclusively, and `data` is another borrow.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), self.ptr.offset(byte as isize), data.len()) };
        true
    }
}
