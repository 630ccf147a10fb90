//! Random access patterns with their memory, the reference walk over them, and a count of the cases that occurred.

use super::{Rng, keep};
use birsim_kernels::Dtype;
use birsim_kernels::access::{Dst, Pair, Pattern, Src};
use std::sync::Arc;

/// A pattern with its memory.
#[derive(Clone)]
pub struct Operand {
    pub dtype: Dtype,
    pub base: i64,
    pub pairs: Vec<Pair>,
    pub bytes: Vec<u8>,
}

/// The reference walk: byte offset of every element, row-major, last pair fastest.
pub fn walk(o: &Operand) -> Vec<usize> {
    let mut out = vec![o.base];
    for p in &o.pairs {
        out = out.iter().flat_map(|b| (0..i64::from(p.num)).map(move |i| b + i * p.stride)).collect();
    }
    out.into_iter().map(|b| usize::try_from(b).unwrap()).collect()
}

impl Operand {
    pub fn lanes(&self) -> usize {
        self.pairs[0].num as usize
    }

    /// Elements per partition.
    pub fn free(&self) -> usize {
        self.pairs[1..].iter().map(|p| p.num as usize).product()
    }

    pub fn strided(&self) -> Pattern {
        Pattern::new(self.dtype, self.base, &self.pairs).unwrap()
    }

    /// The same elements as a list of offsets: the general path of every kernel.
    pub fn listed(&self) -> Pattern {
        let nums: Vec<u32> = self.pairs.iter().map(|p| p.num).collect();
        Pattern::listed(self.dtype, &nums, Arc::from(walk(self))).unwrap()
    }

    pub fn src(&self) -> Src<'_> {
        Src::new(&self.bytes, keep(self.strided())).unwrap()
    }

    pub fn dst(&mut self) -> Dst<'_> {
        let pattern = self.strided();
        Dst::new(&mut self.bytes, keep(pattern)).unwrap()
    }

    pub fn element(&self, at: usize) -> &[u8] {
        &self.bytes[at..at + self.dtype.size()]
    }

    /// The elements as a dense operand of the same counts.
    pub fn dense(&self) -> Operand {
        let bytes: Vec<u8> = walk(self).into_iter().flat_map(|at| self.element(at).to_vec()).collect();
        let mut pairs = self.pairs.clone();
        let mut stride = self.dtype.size() as i64;
        for p in pairs.iter_mut().rev() {
            p.stride = stride;
            stride *= i64::from(p.num);
        }
        Operand { dtype: self.dtype, base: 0, pairs, bytes }
    }

    /// What the memory holds after dense elements were written through the pattern, one after the other.
    pub fn after(&self, dense: &[u8]) -> Vec<u8> {
        let (mut bytes, size) = (self.bytes.clone(), self.dtype.size());
        for (at, e) in walk(self).into_iter().zip(dense.chunks_exact(size)) {
            bytes[at..at + size].copy_from_slice(e);
        }
        bytes
    }

    /// Sets element after element.
    pub fn set(&mut self, mut value: impl FnMut(usize) -> Vec<u8>) {
        for (k, at) in walk(self).into_iter().enumerate() {
            let v = value(k);
            self.bytes[at..at + v.len()].copy_from_slice(&v);
        }
    }
}

/// Splits `n` into up to `parts` factors.
pub fn factors(rng: &mut Rng, n: u64, parts: usize) -> Vec<u32> {
    let mut out = vec![];
    let mut rest = n;
    for _ in 1..parts {
        let divisors: Vec<u64> = (1..=rest.min(64)).filter(|d| rest.is_multiple_of(*d)).collect();
        let d = if divisors.is_empty() { 1 } else { rng.pick(&divisors) };
        out.push(d as u32);
        rest /= d;
    }
    out.push(rest as u32);
    out
}

/// Random strides over given counts: dense, padded, broadcast, reversed or anything; then memory around them.
pub fn operand(rng: &mut Rng, dtype: Dtype, nums: &[u32]) -> Operand {
    spread(rng, dtype, nums, true)
}

/// As [`operand`]; without `overlap`, no byte belongs to two elements.
pub fn spread(rng: &mut Rng, dtype: Dtype, nums: &[u32], overlap: bool) -> Operand {
    let size = dtype.size() as i64;
    let unit = if rng.below(8) == 0 { 1 } else { size };
    let mut pairs: Vec<Pair> = nums.iter().map(|n| Pair { stride: 0, num: *n }).collect();
    let mut dense = size;
    let plain = rng.below(2) == 0;
    for p in pairs.iter_mut().rev() {
        p.stride = match if plain { 0 } else { rng.below(8) } {
            0..=2 => dense,
            3 => dense + unit * rng.below(9) as i64,
            4 if overlap => 0,
            6 if overlap => unit * rng.below(40) as i64,
            7 if overlap => -unit * rng.below(40) as i64,
            _ => -dense,
        };
        dense = (p.stride.abs() * i64::from(p.num)).max(size);
    }
    let reach =
        |sign: i64| -> i64 { pairs.iter().map(|p| (p.stride * i64::from(p.num.max(1) - 1) * sign).max(0)).sum() };
    let base = reach(-1) + rng.below(9) as i64 * if rng.below(4) == 0 { 1 } else { size };
    let len = base + reach(1) + size + rng.below(20) as i64;
    let bytes = (0..len).map(|_| rng.next() as u8).collect();
    Operand { dtype, base, pairs, bytes }
}

/// Partitions and elements: mostly small, rarely empty, rarely large enough for several threads.
pub fn counts(rng: &mut Rng) -> (u64, u64) {
    match rng.below(200) {
        0 if rng.below(4) == 0 => (1 + rng.below(3), 65_536),
        0 => (1 + rng.below(9), 4096 + rng.below(61_441)),
        1 => (100 + rng.below(29), 300 + rng.below(200)),
        2..=5 => (rng.below(2), rng.below(9)),
        6..=9 => (rng.below(5), 0),
        10..=19 => (1 + rng.below(3), 1000 + rng.below(1100)),
        _ => (1 + rng.below(9), 1 + rng.below(60)),
    }
}

/// Runs above this many elements are repeated on several threads.
pub const LARGE: usize = 32 * 1024;

/// The seed of a property test, printed so that a run can be repeated.
pub fn seed() -> u64 {
    let seed = std::env::var("BIRSIM_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(20_240_617u64);
    println!("BIRSIM_SEED={seed}");
    seed
}

/// Pools of 1, 2 and 5 threads.
pub fn pools() -> [rayon::ThreadPool; 3] {
    [1, 2, 5].map(|n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap())
}

/// What the cases of a property test have met.
#[derive(Debug, Default)]
pub struct Tally {
    pub cases: usize,
    pub read: [usize; 20],
    pub written: [usize; 20],
    pub zero_steps: usize,
    pub negative_steps: usize,
    pub overlapping: usize,
    pub odd_partitions: usize,
    pub empty: usize,
    pub one_element_rows: usize,
    pub longest_row: usize,
    /// Cases run again with the offsets listed.
    pub general_path: usize,
    /// Cases run again on 1, 2 and 5 threads.
    pub threaded: usize,
    /// Destinations with bytes outside their pattern.
    pub surrounded: usize,
}

impl Tally {
    /// Counts the properties of one case.
    pub fn case(&mut self, from: &Operand, out: &Operand) {
        self.cases += 1;
        self.read[from.dtype as usize] += 1;
        self.written[out.dtype as usize] += 1;
        let steps = || from.pairs.iter().chain(&out.pairs).filter(|p| p.num > 1).map(|p| p.stride);
        self.zero_steps += usize::from(steps().any(|s| s == 0));
        self.negative_steps += usize::from(steps().any(|s| s < 0));
        self.overlapping += usize::from(!out.strided().elements_disjoint());
        self.odd_partitions += from.lanes() % 2;
        self.empty += usize::from(out.strided().is_empty());
        self.one_element_rows += usize::from(from.free() == 1);
        self.longest_row = self.longest_row.max(from.free());
        self.surrounded += usize::from(out.bytes.len() > out.strided().len() * out.dtype.size());
    }

    /// Fails unless everything was met, in at least `cases` cases.
    pub fn check(&self, cases: usize) {
        println!("{self:?}");
        assert!(self.cases >= cases, "{} cases", self.cases);
        assert_eq!(self.general_path, self.cases, "every case takes the general path too");
        assert!(self.read.iter().chain(&self.written).all(|n| *n > 0), "every dtype on both sides: {self:?}");
        for (what, n) in [
            ("zero steps", self.zero_steps),
            ("negative steps", self.negative_steps),
            ("overlapping results", self.overlapping),
            ("odd partitions", self.odd_partitions),
            ("empty patterns", self.empty),
            ("rows of one element", self.one_element_rows),
            ("cases on 1, 2 and 5 threads", self.threaded),
            ("bytes around the result", self.surrounded),
        ] {
            assert!(n >= 20, "{n} {what}");
        }
    }
}
