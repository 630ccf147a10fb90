//! One storage for a tensor that several cores of a rank see.
//!
//! [`Common`] is the tensor as all of its cores see it between rounds: a file in memory. Every core maps it privately
//! ([`View`]), so the host gives the core a page of its own as soon as it writes to one, and the others do not see that. Between
//! rounds what the cores wrote goes into the file, and they give their own pages back: then they see the file again. So a
//! core keeps only what it wrote in the round, and a tensor costs what was touched of it, whatever the number of cores. A few
//! pages stay with the core and are kept up to date, because to give them back and get them again costs tens of microseconds.
//!
//! Reading changes nothing here: views of missing pages are made from the fill. Writing asks for its pages first, so [`View`]
//! knows which pages are its own.

use super::arena::{page_of, repeat};
use crate::{Code, Error, Result};
use birsim_kernels::halt;
use memmap2::{MmapMut, MmapOptions};
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A core with no more pages of its own keeps them.
const KEPT: usize = 64;

/// A bit per page, the same for all cores; set between rounds only.
type Filled = Arc<[AtomicU64]>;

fn is_set(bits: &[AtomicU64], page: usize) -> bool {
    bits[page / 64].load(Ordering::Relaxed) & (1 << (page % 64)) != 0
}

/// How a storage is divided into pages.
#[derive(Clone, Copy)]
struct Pages {
    len: usize,
    size: usize,
}

impl Pages {
    /// Words that hold a bit for each.
    fn words(self) -> usize {
        self.len.div_ceil(self.size).div_ceil(64)
    }

    /// Those that hold bytes of [lo, hi).
    fn of(self, lo: usize, hi: usize) -> Range<usize> {
        if hi <= lo { 0..0 } else { lo / self.size..(hi - 1) / self.size + 1 }
    }

    /// First byte and end of a page.
    fn bounds(self, page: usize) -> (usize, usize) {
        (page * self.size, (page * self.size + self.size).min(self.len))
    }
}

/// The bytes that all cores see.
pub struct Common {
    file: File,
    map: MmapMut,
    filled: Filled,
    fill: [u8; 8],
    pages: Pages,
}

impl Common {
    /// A storage that holds nothing yet; `None` where the host has no files in memory.
    pub fn new(len: usize, fill: [u8; 8]) -> Result<Option<Common>> {
        let failed = |e| Error::new(Code::S009, format!("the host cannot reserve {len} bytes of shared memory: {e}"));
        let Some(file) = file(len).map_err(failed)? else { return Ok(None) };
        // SAFETY: nobody else has the file, which has no name, and its length stays. Other mappings of it are private: they
        // never change it, and no reference into one of them lives while this one is written (see `View`).
        let map = unsafe { MmapOptions::new().len(len).map_mut(&file) }.map_err(failed)?;
        let pages = Pages { len, size: page_of(len) };
        let filled = (0..pages.words()).map(|_| AtomicU64::new(0)).collect();
        Ok(Some(Common { file, map, filled, fill, pages }))
    }

    /// Copies bytes in. `allow` is asked before memory is touched.
    pub fn write(&mut self, at: usize, bytes: &[u8], allow: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        for page in self.pages.of(at, at + bytes.len()) {
            if is_set(&self.filled, page) {
                continue;
            }
            let (from, to) = self.pages.bounds(page);
            allow((to - from) as u64)?;
            repeat(self.fill, from, &mut self.map[from..to]);
            self.filled[page / 64].fetch_or(1 << (page % 64), Ordering::Relaxed);
        }
        self.map[at..at + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    /// What a core sees of it.
    pub fn view(&self) -> Result<View> {
        let len = self.pages.len;
        let failed = |e| Error::new(Code::S009, format!("the host cannot map {len} bytes of shared memory: {e}"));
        // SAFETY: the file changes only through `self.map`, between rounds. References into this mapping live while an
        // instruction runs, thus inside a round, or while `&ArenaMem` is held, and whoever writes to the storage has all cores
        // of the run for itself.
        let map = unsafe { MmapOptions::new().len(len).no_reserve_swap().map_copy(&self.file) }.map_err(failed)?;
        let own = vec![0; self.pages.words()].into_boxed_slice();
        Ok(View { map, filled: Arc::clone(&self.filled), own, list: Vec::new(), fill: self.fill, pages: self.pages })
    }
}

#[cfg(target_os = "linux")]
fn file(len: usize) -> std::io::Result<Option<File>> {
    // Some containers forbid files in memory.
    let Ok(file) = rustix::fs::memfd_create("birsim", rustix::fs::MemfdFlags::CLOEXEC) else { return Ok(None) };
    let file = File::from(file);
    file.set_len(len as u64)?;
    Ok(Some(file))
}

#[cfg(not(target_os = "linux"))]
fn file(_: usize) -> std::io::Result<Option<File>> {
    Ok(None)
}

/// A core's view of a [`Common`] storage.
pub struct View {
    map: MmapMut,
    filled: Filled,
    /// A bit per page that the core may have written.
    own: Box<[u64]>,
    list: Vec<usize>,
    fill: [u8; 8],
    pages: Pages,
}

impl View {
    fn is_own(&self, page: usize) -> bool {
        self.own[page / 64] & (1 << (page % 64)) != 0
    }

    /// True when every byte of [lo, hi) is present.
    pub fn is_present(&self, lo: usize, hi: usize) -> bool {
        self.pages.of(lo, hi).all(|p| is_set(&self.filled, p) || self.is_own(p))
    }

    /// Makes the pages of [lo, hi) the core's own, because it is about to write there. `allow` is asked first.
    pub fn touch(&mut self, lo: usize, hi: usize, allow: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        for page in self.pages.of(lo, hi) {
            if self.is_own(page) {
                continue;
            }
            let (from, to) = self.pages.bounds(page);
            allow((to - from) as u64)?;
            if !is_set(&self.filled, page) {
                halt::check()?;
                repeat(self.fill, from, &mut self.map[from..to]);
            }
            self.own[page / 64] |= 1 << (page % 64);
            self.list.push(page);
        }
        Ok(())
    }

    /// Lets the core see what the storage holds after it has taken over what all cores wrote, in the runs that are given by
    /// their first bytes and ends. Returns how many bytes of its own pages it has given back.
    pub fn settle(&mut self, common: &Common, runs: impl Iterator<Item = (usize, usize)>) -> u64 {
        if self.list.len() > KEPT {
            return self.give_back();
        }
        if self.list.is_empty() {
            return 0;
        }
        for (lo, hi) in runs {
            for page in self.pages.of(lo, hi).filter(|p| self.own[p / 64] & (1 << (p % 64)) != 0) {
                let (from, to) = self.pages.bounds(page);
                let (from, to) = (from.max(lo), to.min(hi));
                self.map[from..to].copy_from_slice(&common.map[from..to]);
            }
        }
        0
    }

    /// Drops the core's own pages. Returns how many bytes they were.
    fn give_back(&mut self) -> u64 {
        let mut freed = 0;
        self.list.sort_unstable();
        for group in self.list.chunk_by(|a, b| a + 1 == *b) {
            let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
            let (from, to) = (self.pages.bounds(*first).0, self.pages.bounds(*last).1);
            freed += (to - from) as u64;
            forget(&self.map, from, to);
            group.iter().for_each(|p| self.own[p / 64] = 0);
        }
        self.list.clear();
        freed
    }

    /// Bytes of the core's own pages.
    pub fn touched(&self) -> u64 {
        self.list.iter().map(|p| self.pages.bounds(*p)).map(|(from, to)| (to - from) as u64).sum()
    }

    /// The bytes. Those of missing pages mean nothing.
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// The bytes, to be written where [`View::touch`] was called.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.map
    }

    /// Copies bytes out; never-written ones read as the fill.
    pub fn read(&self, at: usize, out: &mut [u8]) {
        let end = at + out.len();
        for page in self.pages.of(at, end) {
            let (from, to) = self.pages.bounds(page);
            let (from, to) = (from.max(at), to.min(end));
            let piece = &mut out[from - at..to - at];
            if self.is_present(from, to) {
                piece.copy_from_slice(&self.map[from..to]);
            } else {
                repeat(self.fill, from, piece);
            }
        }
    }
}

/// Gives pages back to the host, so that the file shows through.
#[cfg(unix)]
fn forget(map: &MmapMut, from: usize, to: usize) {
    // SAFETY: the mapping is private and of a file, so afterwards these pages read as the file. The caller has the only
    // reference to the mapping and none into it.
    let done = unsafe { map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, from, to - from) };
    debug_assert!(done.is_ok(), "{done:?}");
}

#[cfg(not(unix))]
fn forget(_: &MmapMut, _: usize, _: usize) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    const FREE: fn(u64) -> Result<()> = |_| Ok(());

    /// As a core writes during a round.
    fn write(view: &mut View, at: usize, bytes: &[u8]) -> u64 {
        let mut asked = 0;
        view.touch(at, at + bytes.len(), &mut |n| {
            asked += n;
            Ok(())
        })
        .unwrap();
        view.bytes_mut()[at..at + bytes.len()].copy_from_slice(bytes);
        asked
    }

    fn read(view: &View, at: usize, n: usize) -> Vec<u8> {
        let mut out = vec![0; n];
        view.read(at, &mut out);
        out
    }

    #[test]
    fn writes_are_seen_when_the_storage_has_taken_them_over() {
        let mut common = Common::new(3 << 20, [0xA5; 8]).unwrap().unwrap();
        let (mut a, mut b) = (common.view().unwrap(), common.view().unwrap());
        assert_eq!(write(&mut a, 4090, b"across pages"), 2 * 4096);
        assert_eq!(write(&mut a, 4100, b"again"), 0);
        assert_eq!(write(&mut b, 5000, b"b"), 4096);
        assert_eq!(read(&b, 4090, 12), [0xA5; 12]);
        assert!(!b.is_present(4090, 4091) && b.is_present(5000, 5100));
        let mut fresh = 0;
        common
            .write(4090, &read(&a, 4090, 15), &mut |n| {
                fresh += n;
                Ok(())
            })
            .unwrap();
        common.write(5000, b"b", &mut FREE.clone()).unwrap();
        let settled = |view: &mut View| view.settle(&common, [(4090, 4105), (5000, 5001)].into_iter());
        // The few pages that each has stay with it.
        assert_eq!((fresh, settled(&mut a), settled(&mut b)), (2 * 4096, 0, 0));
        for view in [&a, &b] {
            assert_eq!(read(view, 4089, 17), b"\xA5across pagagain\xA5");
            assert_eq!(read(view, 4999, 3), b"\xA5b\xA5");
            assert!(view.is_present(0, 8192) && !view.is_present(0, 8193));
        }
        assert_eq!((a.touched(), b.touched()), (2 * 4096, 4096));
        let late = common.view().unwrap();
        assert_eq!(read(&late, 4089, 17), read(&a, 4089, 17));
    }

    #[test]
    fn many_pages_are_given_back() {
        let mut common = Common::new(3 << 20, [0xFF; 8]).unwrap().unwrap();
        let (mut a, b) = (common.view().unwrap(), common.view().unwrap());
        let all = vec![7; 65 * 4096];
        write(&mut a, 100, &all);
        common.write(100, &all, &mut FREE.clone()).unwrap();
        assert_eq!(a.settle(&common, std::iter::empty()), 66 * 4096);
        assert_eq!((a.touched(), read(&a, 99, 2), read(&b, 99, 2)), (0, vec![0xFF, 7], vec![0xFF, 7]));
        // What is there becomes the core's own when it writes, and only there.
        assert_eq!(write(&mut a, 100, b"A"), 4096);
        assert_eq!((read(&a, 100, 2), read(&b, 100, 2)), (b"A\x07".to_vec(), b"\x07\x07".to_vec()));
    }

    #[test]
    fn a_limit_is_asked_before_pages_become_own() {
        let common = Common::new(1 << 40, [0xFF; 8]).unwrap().unwrap();
        let mut view = common.view().unwrap();
        let refuse = &mut |_| Err(Error::new(Code::S009, "no"));
        assert!(view.touch(1 << 39, (1 << 39) + 1, refuse).is_err());
        assert_eq!(view.touched(), 0);
        assert_eq!(write(&mut view, (1 << 40) - 1, b"x"), 1 << 16);
    }
}
