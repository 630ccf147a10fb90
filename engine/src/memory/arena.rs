//! Arena storage: reserved lazily and filled on first touch, with 0xFF unless `--fill` says otherwise.

use super::common::{Common, View};
use super::runs::each_run;
use crate::{Code, Error, Result};
use bevy_ecs::prelude::Component;
use birsim_kernels::access::Pattern;
use birsim_kernels::halt;
use memmap2::{MmapMut, MmapOptions};
use std::sync::Arc;

/// Arenas below this size are filled at once; larger ones are reserved and filled page by page.
pub const LAZY_FROM: usize = 1 << 20;
/// Unit of first touch in large arenas, and in those so large that marks of small pages would themselves take much room.
const PAGE: usize = 1 << 12;
const HUGE_PAGE: usize = 1 << 16;
/// From this length on an arena has large pages.
const HUGE_FROM: usize = 1 << 37;
/// Patterns that are remembered as present.
const KNOWN: usize = 64;
/// What never-written memory reads as in the reference.
pub const UNWRITTEN: u8 = 0xFF;

enum Store {
    /// Nothing was written yet.
    Untouched,
    /// Small arena: all bytes present.
    Whole(Box<[u64]>),
    /// Bytes that were given from outside, perhaps to several cores. All are present; a core copies them before it writes.
    Given(Arc<Vec<u8>>),
    /// A view of a tensor that other cores see, too.
    Common(View),
    /// Large arena: reserved, with a mark per page that has been filled.
    Paged { map: MmapMut, filled: Box<[u64]>, missing: usize },
}

/// Patterns that are present as a whole, in slots by their place: memory once touched stays so until it is released. An
/// operand is asked for with every execution of its instruction, and has a page per partition or more.
struct Known(Box<[Option<Pattern>; KNOWN]>);

impl Known {
    fn slot(p: &Pattern) -> usize {
        let mix = (p.base() as u64 ^ (p.len() as u64).rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mix >> 58) as usize % KNOWN
    }

    fn holds(&self, p: &Pattern) -> bool {
        let same = |q: &Pattern| {
            q.base() == p.base() && q.dtype() == p.dtype() && q.pairs() == p.pairs() && q.offsets().is_none()
        };
        p.offsets().is_none() && self.0[Self::slot(p)].as_ref().is_some_and(same)
    }

    fn add(&mut self, p: &Pattern) {
        if p.offsets().is_none() {
            self.0[Self::slot(p)] = Some(p.clone());
        }
    }
}

/// Bytes of one arena.
#[derive(Component)]
pub struct ArenaMem {
    len: usize,
    /// Repeats over never-written memory.
    fill: [u8; 8],
    store: Store,
    known: Option<Known>,
}

impl ArenaMem {
    /// An arena of `len` bytes that holds no memory yet.
    pub fn new(len: u64) -> Result<Self> {
        let len = usize::try_from(len)
            .ok()
            .filter(|l| *l < 1 << 46)
            .ok_or_else(|| Error::new(Code::J013, "a memory is larger than can be addressed").received(len))?;
        Ok(ArenaMem { len, fill: [UNWRITTEN; 8], store: Store::Untouched, known: None })
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

    /// Takes these bytes for the whole arena, which holds nothing yet. False when they do not fit it.
    pub fn give(&mut self, bytes: &Arc<Vec<u8>>) -> bool {
        // Elements of every type start at multiples of their size.
        let fits = bytes.len() == self.len && bytes.as_ptr().addr().is_multiple_of(8);
        let free = matches!(self.store, Store::Untouched | Store::Given(_));
        if fits && free {
            self.store = Store::Given(Arc::clone(bytes));
        }
        fits && free
    }

    /// Sees a common storage from now on. Returns how many bytes had been touched.
    pub fn join(&mut self, view: View) -> u64 {
        let touched = self.release();
        self.store = Store::Common(view);
        touched
    }

    /// Sees what a common storage holds now. Returns how many bytes of pages of its own it has given back.
    pub fn settle(&mut self, common: &Common, runs: impl Iterator<Item = (usize, usize)>) -> u64 {
        match &mut self.store {
            Store::Common(view) => view.settle(common, runs),
            _ => 0,
        }
    }

    /// What never-written memory holds, over and over.
    pub fn fill(&self) -> [u8; 8] {
        self.fill
    }

    /// Makes given bytes the arena's own, before they are written.
    fn own(&mut self, allow: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        let Store::Given(bytes) = &mut self.store else { return Ok(()) };
        if Arc::get_mut(bytes).is_some() {
            return Ok(());
        }
        allow(self.len as u64)?;
        let mut copy = Vec::new();
        copy.try_reserve_exact(self.len).map_err(|_| {
            Error::new(Code::S009, "not enough memory for a core's own copy of a tensor").received(self.len)
        })?;
        copy.extend_from_slice(bytes);
        *bytes = Arc::new(copy);
        Ok(())
    }

    /// Frees the bytes; the arena reads as never written afterwards. Returns how many bytes had been touched.
    pub fn release(&mut self) -> u64 {
        let touched = self.touched();
        self.store = Store::Untouched;
        self.known = None;
        touched
    }

    /// Forgets what was written. Pages that the system has given stay with the arena: the next run fills them again, and
    /// accounts for them as for new ones.
    pub fn reset(&mut self) {
        self.known = None;
        let pages = self.len.div_ceil(self.page());
        match &mut self.store {
            Store::Paged { filled, missing, .. } => {
                filled.fill(0);
                *missing = pages;
            }
            store => *store = Store::Untouched,
        }
    }

    /// Bytes that hold memory.
    pub fn touched(&self) -> u64 {
        match &self.store {
            Store::Untouched => 0,
            Store::Whole(_) | Store::Given(_) => self.len as u64,
            Store::Common(view) => view.touched(),
            Store::Paged { missing, .. } => {
                (self.len.div_ceil(self.page()) - missing).saturating_mul(self.page()).min(self.len) as u64
            }
        }
    }

    /// Bytes of a page.
    pub fn page(&self) -> usize {
        page_of(self.len)
    }

    /// Makes the byte range [lo, hi) present. `allow` is asked before memory is touched, with the number of bytes.
    pub fn touch(&mut self, lo: usize, hi: usize, allow: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        if hi <= lo {
            return Ok(());
        }
        self.own(allow)?;
        if let Store::Common(view) = &mut self.store {
            return view.touch(lo, hi, allow);
        }
        let page = self.page();
        if matches!(self.store, Store::Untouched) {
            if self.len < LAZY_FROM {
                allow(self.len as u64)?;
                self.store = Store::Whole(vec![u64::from_ne_bytes(self.fill); self.len.div_ceil(8)].into_boxed_slice());
                return Ok(());
            }
            let map = MmapOptions::new()
                .len(self.len)
                .no_reserve_swap()
                .map_anon()
                .map_err(|e| Error::new(Code::S009, format!("the host cannot reserve {} bytes: {e}", self.len)))?;
            let pages = self.len.div_ceil(page);
            self.store = Store::Paged { map, filled: vec![0; pages.div_ceil(64)].into_boxed_slice(), missing: pages };
        }
        let (len, fill) = (self.len, self.fill);
        let Store::Paged { map, filled, missing } = &mut self.store else { return Ok(()) };
        if *missing == 0 {
            return Ok(());
        }
        let bounds = |k: usize| (k * page, (k * page + page).min(len));
        let is_new = |filled: &[u64], k: usize| filled[k / 64] & (1 << (k % 64)) == 0;
        let pages = lo / page..=(hi - 1) / page;
        let mut fresh = 0;
        for k in pages.clone().filter(|k| is_new(filled, *k)) {
            let (from, to) = bounds(k);
            fresh += (to - from) as u64;
        }
        if fresh == 0 {
            return Ok(());
        }
        allow(fresh)?;
        for k in pages {
            if is_new(filled, k) {
                if k.is_multiple_of(1024) {
                    halt::check()?;
                }
                filled[k / 64] |= 1 << (k % 64);
                *missing -= 1;
                let (from, to) = bounds(k);
                repeat(fill, from, &mut map[from..to]);
            }
        }
        Ok(())
    }

    /// Makes every byte of a pattern present, run by run.
    pub fn touch_pattern(&mut self, p: &Pattern, allow: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        if !p.is_empty() {
            self.own(allow)?;
        }
        // Pages of a common storage that are present are not the core's own yet.
        let present = || self.all_present() || self.known.as_ref().is_some_and(|k| k.holds(p));
        if !matches!(self.store, Store::Common(_)) && present() {
            return Ok(());
        }
        let gap = self.page();
        each_run(p, gap, |lo, hi| self.touch(lo, hi, allow))?;
        self.remember(p);
        Ok(())
    }

    /// Nothing is missing.
    fn all_present(&self) -> bool {
        matches!(&self.store, Store::Whole(_) | Store::Given(_) | Store::Paged { missing: 0, .. })
    }

    fn remember(&mut self, p: &Pattern) {
        if !self.all_present() && !matches!(self.store, Store::Common(_)) {
            self.known.get_or_insert_with(|| Known(Box::new([const { None }; KNOWN]))).add(p);
        }
    }

    /// True when every byte of [lo, hi) is present.
    pub fn is_present(&self, lo: usize, hi: usize) -> bool {
        let page = self.page();
        match &self.store {
            Store::Untouched => hi <= lo,
            Store::Whole(_) | Store::Given(_) => true,
            Store::Common(view) => view.is_present(lo, hi),
            Store::Paged { missing: 0, .. } => true,
            Store::Paged { filled, .. } => {
                hi <= lo || (lo / page..=(hi - 1) / page).all(|k| filled[k / 64] & (1 << (k % 64)) != 0)
            }
        }
    }

    /// True when every byte of a pattern is present.
    pub fn has_pattern(&mut self, p: &Pattern) -> Result<bool> {
        if self.all_present() || self.known.as_ref().is_some_and(|k| k.holds(p)) {
            return Ok(true);
        }
        if matches!(self.store, Store::Untouched) {
            return Ok(p.is_empty());
        }
        let mut all = true;
        each_run(p, 0, |lo, hi| {
            all = all && self.is_present(lo, hi);
            Ok(())
        })?;
        if all {
            self.remember(p);
        }
        Ok(all)
    }

    /// Address of byte 0, and the bytes that are valid from there on: none before the first touch.
    pub fn base(&mut self) -> (*mut u8, usize) {
        let len = self.len;
        match &mut self.store {
            Store::Untouched => (std::ptr::NonNull::dangling().as_ptr(), 0),
            Store::Whole(b) => (b.as_mut_ptr().cast(), len),
            // Written only after `own`, when nobody else has the bytes.
            Store::Given(b) => match Arc::get_mut(b) {
                Some(bytes) => (bytes.as_mut_ptr(), len),
                None => (b.as_ptr().cast_mut(), len),
            },
            Store::Common(view) => (view.bytes_mut().as_mut_ptr(), len),
            Store::Paged { map, .. } => (map.as_mut_ptr(), len),
        }
    }

    /// The bytes from `at` on where they stand, when all of them are present.
    pub fn present(&self, at: usize, len: usize) -> Option<&[u8]> {
        let end = at.checked_add(len).filter(|end| *end <= self.len && self.is_present(at, *end))?;
        match &self.store {
            Store::Untouched => None,
            Store::Whole(b) => bytemuck::cast_slice::<u64, u8>(b).get(at..end),
            Store::Given(b) => b.get(at..end),
            Store::Common(view) => view.bytes().get(at..end),
            Store::Paged { map, .. } => map.get(at..end),
        }
    }

    /// Copies bytes out; never-written ones read as the fill byte.
    pub fn read(&self, at: usize, out: &mut [u8]) {
        match &self.store {
            Store::Untouched => repeat(self.fill, at, out),
            Store::Given(b) => out.copy_from_slice(&b[at..at + out.len()]),
            Store::Whole(b) => out.copy_from_slice(&bytemuck::cast_slice::<u64, u8>(b)[at..at + out.len()]),
            Store::Common(view) => view.read(at, out),
            Store::Paged { map, filled, .. } => {
                let (mut done, size) = (0, self.page());
                while done < out.len() {
                    let pos = at + done;
                    let page = pos / size;
                    let n = ((page + 1) * size - pos).min(out.len() - done);
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

    /// Copies bytes in. `allow` is asked before memory is touched.
    pub fn write(&mut self, at: usize, data: &[u8], allow: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        self.touch(at, at + data.len(), allow)?;
        match &mut self.store {
            Store::Untouched => {}
            Store::Given(b) => Arc::make_mut(b)[at..at + data.len()].copy_from_slice(data),
            Store::Whole(b) => bytemuck::cast_slice_mut::<u64, u8>(b)[at..at + data.len()].copy_from_slice(data),
            Store::Common(view) => view.bytes_mut()[at..at + data.len()].copy_from_slice(data),
            Store::Paged { map, .. } => map[at..at + data.len()].copy_from_slice(data),
        }
        Ok(())
    }
}

/// Bytes of a page of an arena of this length.
pub(super) fn page_of(len: usize) -> usize {
    if len < HUGE_FROM { PAGE } else { HUGE_PAGE }
}

/// Fills arena bytes from byte `at` on with a pattern that starts at byte 0.
pub(super) fn repeat(fill: [u8; 8], at: usize, out: &mut [u8]) {
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
    use birsim_kernels::Dtype;
    use birsim_kernels::access::Pair;

    /// Touches and returns the bytes that were asked for.
    fn asked(f: impl FnOnce(&mut dyn FnMut(u64) -> Result<()>) -> Result<()>) -> u64 {
        let mut sum = 0;
        f(&mut |n| {
            sum += n;
            Ok(())
        })
        .unwrap();
        sum
    }

    #[test]
    fn large_arenas_are_touched_by_page() {
        let mut a = ArenaMem::new(64 << 30).unwrap();
        assert_eq!(a.touched(), 0);
        assert_eq!(asked(|allow| a.write(5 << 30, &[1, 2, 3], allow)), PAGE as u64);
        let mut out = [0; 4];
        a.read((5 << 30) - 1, &mut out);
        assert_eq!(out, [0xFF, 1, 2, 3]);
        assert!(!a.is_present(0, 10));
        assert_eq!(a.touched(), PAGE as u64);
    }

    #[test]
    fn item_12_first_touch_follows_the_pattern() {
        let mut a = ArenaMem::new(256 << 30).unwrap();
        let far = Pattern::new(Dtype::Float32, 0, &[Pair { stride: 64 << 30, num: 2 }, Pair { stride: 4, num: 1 }]);
        let far = far.unwrap();
        assert!(!a.has_pattern(&far).unwrap());
        assert_eq!(asked(|allow| a.touch_pattern(&far, allow)), 2 * HUGE_PAGE as u64);
        assert!(a.has_pattern(&far).unwrap());
        assert_eq!(asked(|allow| a.touch_pattern(&far, allow)), 0);
        // A tile of 256 KiB in SBUF.
        let mut sbuf = ArenaMem::new(128 * 196_608).unwrap();
        let tile = [Pair { stride: 196_608, num: 128 }, Pair { stride: 4, num: 512 }];
        let tile = Pattern::new(Dtype::Float32, 4096, &tile).unwrap();
        assert_eq!(asked(|allow| sbuf.touch_pattern(&tile, allow)), 128 * PAGE as u64);
        sbuf.release();
        assert!(!sbuf.has_pattern(&tile).unwrap(), "what was released is forgotten");
    }

    #[test]
    fn item_12_the_limit_is_asked_before_memory_is_touched() {
        let mut a = ArenaMem::new(1 << 30).unwrap();
        let refuse = &mut |_| Err(Error::new(Code::S009, "no"));
        assert!(a.touch(0, 1 << 30, refuse).is_err());
        assert_eq!(a.touched(), 0);
        let mut small = ArenaMem::new(1000).unwrap();
        assert!(small.touch(0, 1, refuse).is_err());
        assert_eq!(small.touched(), 0);
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
