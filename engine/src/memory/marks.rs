//! Which bytes of an arena were written since the marks were last taken: what a core tells the others of shared memory.

use super::runs::each_run;
use crate::Result;
use bevy_ecs::prelude::Component;
use birsim_kernels::access::Pattern;
use std::collections::BTreeMap;

const PIECE: usize = 4096;

/// A bit per byte, in pieces that exist where something was written.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    pieces: BTreeMap<usize, Box<[u64; PIECE / 64]>>,
}

/// Marks of an arena that other cores see; `None` for all others.
#[derive(Component, Clone, Debug, Default)]
pub struct WrittenMarks(pub Option<Marks>);

impl Marks {
    /// Marks the bytes of a pattern.
    pub fn set(&mut self, pattern: &Pattern) -> Result<()> {
        each_run(pattern, 0, |lo, hi| {
            self.set_run(lo, hi);
            Ok(())
        })
    }

    /// Marks [lo, hi).
    pub fn set_run(&mut self, lo: usize, hi: usize) {
        let mut at = lo;
        while at < hi {
            let piece = self.pieces.entry(at / PIECE).or_insert_with(|| Box::new([0; PIECE / 64]));
            let end = hi.min((at / PIECE + 1) * PIECE);
            while at < end {
                let n = (64 - at % 64).min(end - at);
                let mask = if n == 64 { u64::MAX } else { ((1u64 << n) - 1) << (at % 64) };
                piece[at % PIECE / 64] |= mask;
                at += n;
            }
        }
    }

    /// Nothing is marked.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The marked runs inside [lo, hi), in order, as long as possible.
    pub fn runs(&self, lo: usize, hi: usize) -> Vec<(usize, usize)> {
        let mut out: Vec<(usize, usize)> = Vec::new();
        if lo >= hi {
            return out;
        }
        for (k, piece) in self.pieces.range(lo / PIECE..=(hi - 1) / PIECE) {
            for (w, word) in piece.iter().enumerate() {
                let base = k * PIECE + w * 64;
                let mut rest = *word;
                while rest != 0 {
                    let from = rest.trailing_zeros() as usize;
                    let len = (!(rest >> from)).trailing_zeros() as usize;
                    rest &= if from + len >= 64 { 0 } else { u64::MAX << (from + len) };
                    let (a, b) = ((base + from).max(lo), (base + from + len).min(hi));
                    if a >= b {
                        continue;
                    }
                    match out.last_mut() {
                        Some(last) if last.1 == a => last.1 = b,
                        _ => out.push((a, b)),
                    }
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_what_was_marked() {
        let mut m = Marks::default();
        for (lo, hi) in [(3, 5), (60, 70), (70, 71), (4090, 8200), (9000, 9000)] {
            m.set_run(lo, hi);
        }
        assert_eq!(m.runs(0, 10_000), [(3, 5), (60, 71), (4090, 8200)]);
        assert_eq!(m.runs(4, 65), [(4, 5), (60, 65)]);
        assert_eq!(m.runs(4100, 4101), [(4100, 4101)]);
        assert!(m.runs(5, 5).is_empty() && m.runs(100, 4000).is_empty());
    }

    #[test]
    fn random_marks_equal_a_list_of_flags() {
        let (mut m, mut flags, mut state) = (Marks::default(), vec![false; 20_000], 7u64);
        let mut next = |n: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % n
        };
        for _ in 0..200 {
            let lo = next(19_000);
            let hi = lo + next(300);
            m.set_run(lo, hi);
            flags[lo..hi].fill(true);
        }
        let mut again = vec![false; 20_000];
        m.runs(0, 20_000).iter().for_each(|(lo, hi)| again[*lo..*hi].fill(true));
        assert_eq!(again, flags);
    }
}
