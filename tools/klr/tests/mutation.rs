//! Damaged files: a clean error or a valid read; never a panic, a hang, or much memory.

mod common;

use birsim_kernels::error::Code;
use birsim_klr::ast::Contents;
use birsim_klr::{LowerOptions, inspect, lower, read, write};
use common::samples;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that one damaged file may take.
const MOST: usize = 256 << 20;
/// Smaller files are damaged in every bit.
const SMALL: usize = 4096;
/// Random edits of the larger ones.
const EDITS: u64 = 100_000;

thread_local! {
    static LIVE: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, counting what each thread holds.
struct Counting;

fn grown(bytes: usize) {
    let live = LIVE.get().wrapping_add(bytes);
    LIVE.set(live);
    PEAK.set(PEAK.get().max(live));
}

// SAFETY: every call is passed to the system's allocator unchanged; the counters do not allocate and have no destructors.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: the caller promises the same about the layout as `System` requires.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get().saturating_sub(layout.size()));
        // SAFETY: `ptr` came from `alloc` above, hence from System, with this layout.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Tells on a panic which damage led to it.
struct Damage<'a>(&'a str);

impl Drop for Damage<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("damage: {}", self.0);
        }
    }
}

/// Reads damaged bytes and uses whatever comes out.
fn exercise(bytes: &[u8], strict: bool, damage: &str) {
    let _damage = Damage(damage);
    let before = LIVE.get();
    PEAK.set(before);
    match read(bytes) {
        Ok(file) => {
            assert!(!inspect(&file).is_empty());
            if let Contents::Program(program) = &file.contents {
                // Whatever reads can be written, which the reader takes for the same, and lowers or is refused.
                let written = write(program);
                match read(&written).expect("what is written reads").contents {
                    Contents::Program(again) => assert!(write(&again) == written),
                    other => panic!("a kernel became {}", other.kind()),
                }
                let options = LowerOptions { strict, accept_abstract: !strict, ..LowerOptions::default() };
                if let Err(errors) = lower(program, &options) {
                    assert!(errors.iter().all(|e| matches!(e.code(), Code::K004 | Code::K005)), "{errors:?}");
                    assert!(!errors.is_empty());
                }
            }
        }
        Err(e) => assert_eq!(e.code(), Code::K001, "{e}"),
    }
    let taken = PEAK.get() - before;
    assert!(taken <= MOST, "{taken} bytes for a file of {}", bytes.len());
}

/// Every sample and corpus file once, those of the folder that BIRSIM_KLR_CORPUS names included.
fn files() -> Vec<(String, Vec<u8>)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = samples();
    let mut open = vec![here.join("../../tests/data/klr-corpus")];
    open.extend(std::env::var_os("BIRSIM_KLR_CORPUS").map(PathBuf::from));
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).expect("a folder").map(|e| e.expect("an entry").path());
            open.extend(entries);
        } else if path.extension().is_some_and(|e| e == "klr") {
            found.push((path.display().to_string(), std::fs::read(&path).expect("readable")));
        }
    }
    let mut seen = HashSet::new();
    found.retain(|(_, bytes)| seen.insert(bytes.clone()));
    found.sort();
    let large = found.iter().filter(|(_, bytes)| bytes.len() >= SMALL).count();
    assert!(large >= 20 && found.len() - large >= 80, "{large} of {} files are large", found.len());
    found
}

/// Calls `f` for every number below `n`, on all processors.
fn parallel(n: usize, f: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let k = next.fetch_add(1, Ordering::Relaxed);
                    if k >= n {
                        break;
                    }
                    f(k);
                }
            });
        }
    });
}

/// xorshift64: reproducible from the printed seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

#[test]
fn a_large_allocation_is_noticed() {
    let before = LIVE.get();
    PEAK.set(before);
    drop(vec![0u8; 1 << 20]);
    assert!(PEAK.get() - before >= 1 << 20);
}

#[test]
fn every_bit_of_every_byte_of_small_files() {
    let files: Vec<_> = files().into_iter().filter(|(_, bytes)| bytes.len() < SMALL).collect();
    parallel(files.len(), |k| {
        let (name, bytes) = &files[k];
        let mut damaged = bytes.clone();
        for at in 0..bytes.len() {
            let damage = format!("{name}, byte {at}");
            for bit in 0..8 {
                damaged[at] ^= 1 << bit;
                exercise(&damaged, bit % 2 == 1, &damage);
                damaged[at] = bytes[at];
            }
        }
    });
}

#[test]
fn every_cut_of_small_files() {
    let files: Vec<_> = files().into_iter().filter(|(_, bytes)| bytes.len() < SMALL).collect();
    parallel(files.len(), |k| {
        let (name, bytes) = &files[k];
        // Syntax trees are taken by their head only, so most cuts of them go unseen.
        let opaque = read(bytes).is_ok_and(|f| matches!(f.contents, Contents::Python(_) | Contents::Nki(_)));
        for end in 0..bytes.len() {
            let damage = format!("{name}, cut at {end}");
            exercise(&bytes[..end], false, &damage);
            assert!(opaque || read(&bytes[..end]).is_err(), "{damage} reads");
        }
    });
}

/// Up to six edits: bytes changed, inserted, removed, copied to elsewhere; counts made huge.
fn edit(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut damaged = bytes.to_vec();
    for _ in 0..=random.below(6) {
        let at = random.below(damaged.len());
        let value = random.next() as u8;
        let end = (at + random.below(24)).min(damaged.len());
        match random.below(5) {
            0 if !damaged.is_empty() => damaged[at] = value,
            1 => damaged.insert(at, value),
            2 => drop(damaged.drain(at..end)),
            3 => {
                let piece = damaged[at..end].to_vec();
                let to = random.below(damaged.len());
                damaged.splice(to..to, piece);
            }
            _ => {
                // Wide heads: the largest counts and numbers.
                damaged.splice(at..at, [0x1b | value & 0xe0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
            }
        }
    }
    damaged
}

#[test]
fn random_edits() {
    let (small, large): (Vec<_>, Vec<_>) = files().into_iter().partition(|(_, bytes)| bytes.len() < SMALL);
    let some = |files: &[(String, Vec<u8>)], first: u64, count: u64| {
        // A thousand seeds at a time.
        parallel(count.div_ceil(1000) as usize, |part| {
            let start = first + part as u64 * 1000;
            for seed in start..(start + 1000).min(first + count) {
                let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                let (name, bytes) = &files[random.below(files.len())];
                exercise(&edit(bytes, &mut random), seed % 2 == 1, &format!("{name}, seed {seed}"));
            }
        });
    };
    some(&small, 1, EDITS / 10);
    some(&large, 1_000_001, EDITS);
}

#[test]
fn garbage_and_empty_input() {
    exercise(&[], false, "empty");
    exercise(b"null", false, "null");
    exercise(b"{}", false, "{}");
    let mut random = Random(77);
    for length in 0..600 {
        let noise: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        exercise(&noise, false, "noise");
        let mut framed = vec![0xd9, 0xd9, 0xf7, 0x83, 0, 0, 12, 0xd9, 0xeb, 0, 0x81, 0x60, 0xd9, 0xec, 3, 0x81];
        framed.extend(noise);
        exercise(&framed, false, "framed noise");
    }
}
