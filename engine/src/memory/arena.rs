//! Arena storage: reserved lazily and filled on first touch, with 0xFF unless `--fill` says otherwise.

use crate::{Code, Error, Result};
use bevy_ecs::prelude::Component;
use memmap2::{MmapMut, MmapOptions};

/// Arenas below this size are filled at once; larger ones are reserved and filled page by page.
const LAZY_FROM: usize = 1 << 20;
/// Unit of first touch in large arenas.
const PAGE: usize = 1 << 16;
/// What never-written memory reads as in the reference.
pub const UNWRITTEN: u8 = 0xFF;

enum Store {
    /// Nothing was written yet.
    Untouched,
    /// Small arena: all bytes present.
    Whole(Box<[u64]>),
    /// Large arena: reserved, with a mark per page that has been filled.
    Paged { map: MmapMut, filled: Box<[u64]>, missing: usize },
}

/// Bytes of one arena.
#[derive(Component)]
pub struct ArenaMem {
    len: usize,
    /// Repeats over never-written memory.
    fill: [u8; 8],
    store: Store,
}

impl ArenaMem {
    /// An arena of `len` bytes that holds no memory yet.
    pub fn new(len: u64) -> Result<Self> {
        let len = usize::try_from(len)
            .ok()
            .filter(|l| *l < 1 << 46)
            .ok_or_else(|| Error::new(Code::J013, "a memory is larger than can be addressed").received(len))?;
        Ok(ArenaMem { len, fill: [UNWRITTEN; 8], store: Store::Untouched })
    }

    /// The same arena, of which never-written memory holds `fill` over and over.
    #[must_use]
    pub fn filled_with(self, fill: [u8; 8]) -> Self {
        ArenaMem { fill, ..self }
    }

    /// Size in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True for an arena of no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Frees the bytes; the arena reads as never written afterwards. Returns how many bytes had been touched.
    pub fn release(&mut self) -> u64 {
        let touched = self.touched();
        self.store = Store::Untouched;
        touched
    }

    /// Bytes that hold memory.
    pub fn touched(&self) -> u64 {
        match &self.store {
            Store::Untouched => 0,
            Store::Whole(_) => self.len as u64,
            Store::Paged { missing, .. } => {
                (self.len.div_ceil(PAGE) - missing).saturating_mul(PAGE).min(self.len) as u64
            }
        }
    }

    /// Makes the byte range [lo, hi) present. Returns the number of newly touched bytes.
    pub fn touch(&mut self, lo: usize, hi: usize) -> Result<u64> {
        if hi <= lo {
            return Ok(0);
        }
        if matches!(self.store, Store::Untouched) {
            if self.len < LAZY_FROM {
                self.store = Store::Whole(vec![u64::from_ne_bytes(self.fill); self.len.div_ceil(8)].into_boxed_slice());
                return Ok(self.len as u64);
            }
            let map = MmapOptions::new()
                .len(self.len)
                .no_reserve_swap()
                .map_anon()
                .map_err(|e| Error::new(Code::S009, format!("the host cannot reserve {} bytes: {e}", self.len)))?;
            let pages = self.len.div_ceil(PAGE);
            self.store = Store::Paged { map, filled: vec![0; pages.div_ceil(64)].into_boxed_slice(), missing: pages };
        }
        let Store::Paged { map, filled, missing } = &mut self.store else { return Ok(0) };
        if *missing == 0 {
            return Ok(0);
        }
        let mut fresh = 0;
        for page in lo / PAGE..=(hi - 1) / PAGE {
            let (word, bit) = (page / 64, 1u64 << (page % 64));
            if filled[word] & bit == 0 {
                filled[word] |= bit;
                *missing -= 1;
                let from = page * PAGE;
                let to = (from + PAGE).min(map.len());
                repeat(self.fill, from, &mut map[from..to]);
                fresh += (to - from) as u64;
            }
        }
        Ok(fresh)
    }

    /// True when every byte of [lo, hi) is present.
    pub fn is_present(&self, lo: usize, hi: usize) -> bool {
        match &self.store {
            Store::Untouched => hi <= lo,
            Store::Whole(_) => true,
            Store::Paged { missing: 0, .. } => true,
            Store::Paged { filled, .. } => {
                hi <= lo || (lo / PAGE..=(hi - 1) / PAGE).all(|p| filled[p / 64] & (1 << (p % 64)) != 0)
            }
        }
    }

    /// Address of byte 0, and the bytes that are valid from there on: none before the first touch.
    pub fn base(&mut self) -> (*mut u8, usize) {
        let len = self.len;
        match &mut self.store {
            Store::Untouched => (std::ptr::NonNull::dangling().as_ptr(), 0),
            Store::Whole(b) => (b.as_mut_ptr().cast(), len),
            Store::Paged { map, .. } => (map.as_mut_ptr(), len),
        }
    }

    /// Copies bytes out; never-written ones read as the fill byte.
    pub fn read(&self, at: usize, out: &mut [u8]) {
        match &self.store {
            Store::Untouched => repeat(self.fill, at, out),
            Store::Whole(b) => out.copy_from_slice(&bytemuck::cast_slice::<u64, u8>(b)[at..at + out.len()]),
            Store::Paged { map, filled, .. } => {
                let mut done = 0;
                while done < out.len() {
                    let pos = at + done;
                    let page = pos / PAGE;
                    let n = ((page + 1) * PAGE - pos).min(out.len() - done);
                    if filled[page / 64] & (1 << (page % 64)) == 0 {
                        repeat(self.fill, pos, &mut out[done..done + n]);
                    } else {
                        out[done..done + n].copy_from_slice(&map[pos..pos + n]);
                    }
                    done += n;
                }
            }
        }
    }

    /// Copies bytes in. Returns the number of newly touched bytes.
    pub fn write(&mut self, at: usize, data: &[u8]) -> Result<u64> {
        let fresh = self.touch(at, at + data.len())?;
        match &mut self.store {
            Store::Untouched => {}
            Store::Whole(b) => bytemuck::cast_slice_mut::<u64, u8>(b)[at..at + data.len()].copy_from_slice(data),
            Store::Paged { map, .. } => map[at..at + data.len()].copy_from_slice(data),
        }
        Ok(fresh)
    }
}

/// Fills arena bytes from byte `at` on with a pattern that starts at byte 0.
fn repeat(fill: [u8; 8], at: usize, out: &mut [u8]) {
    if fill == [fill[0]; 8] {
        return out.fill(fill[0]);
    }
    let mut turned = fill;
    turned.rotate_left(at % 8);
    for piece in out.chunks_mut(8) {
        piece.copy_from_slice(&turned[..piece.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_arenas_are_touched_by_page() {
        let mut a = ArenaMem::new(64 << 30).unwrap();
        assert_eq!(a.touched(), 0);
        assert_eq!(a.write(5 << 30, &[1, 2, 3]).unwrap(), PAGE as u64);
        let mut out = [0; 4];
        a.read((5 << 30) - 1, &mut out);
        assert_eq!(out, [0xFF, 1, 2, 3]);
        assert!(!a.is_present(0, 10));
        assert_eq!(a.touched(), PAGE as u64);
    }

    #[test]
    fn reading_untouched_memory_allocates_nothing() {
        let a = ArenaMem::new(1000).unwrap();
        let mut out = [0; 3];
        a.read(10, &mut out);
        assert_eq!(out, [0xFF; 3]);
        assert_eq!(a.touched(), 0);
    }
}
