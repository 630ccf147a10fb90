//! Shadows: which bytes of an arena carry a mark.
//!
//! Two shadows exist and are never mixed (ruling D39): the accumulate mark of PSUM, set by matmul-family writes only,
//! and the initialisation mark, set by every write.

use birsim_kernels::access::Pattern;

/// One bit per byte, allocated by 4 KiB piece on first mark.
#[derive(Clone, Debug, Default)]
pub struct Shadow {
    pieces: Vec<Option<Box<[u64; PIECE / 64]>>>,
}

const PIECE: usize = 4096;

impl Shadow {
    /// An empty shadow of `bytes` bytes.
    pub fn new(bytes: usize) -> Self {
        Shadow { pieces: vec![None; bytes.div_ceil(PIECE)] }
    }

    /// The mark of one byte.
    #[inline]
    pub fn get(&self, byte: usize) -> bool {
        match self.pieces.get(byte / PIECE) {
            Some(Some(p)) => p[byte % PIECE / 64] & (1 << (byte % 64)) != 0,
            _ => false,
        }
    }

    /// Sets or clears the marks of [lo, hi).
    pub fn set_run(&mut self, lo: usize, hi: usize, mark: bool) {
        let mut at = lo;
        while at < hi {
            let end = (at / PIECE + 1) * PIECE;
            let to = hi.min(end);
            let Some(slot) = self.pieces.get_mut(at / PIECE) else { return };
            if let (None, false) = (&slot, mark) {
                at = to;
                continue;
            }
            let piece = slot.get_or_insert_with(|| Box::new([0; PIECE / 64]));
            let (mut a, b) = (at % PIECE, at % PIECE + (to - at));
            while a < b {
                let n = (64 - a % 64).min(b - a);
                let mask = if n == 64 { u64::MAX } else { ((1u64 << n) - 1) << (a % 64) };
                if mark {
                    piece[a / 64] |= mask;
                } else {
                    piece[a / 64] &= !mask;
                }
                a += n;
            }
            at = to;
        }
    }

    /// The common mark of every byte of [lo, hi), when there is one.
    pub fn uniform(&self, lo: usize, hi: usize) -> Option<bool> {
        let first = self.get(lo);
        let want = if first { u64::MAX } else { 0 };
        let mut at = lo;
        while at < hi {
            let n = (64 - at % 64).min(hi - at);
            let mask = if n == 64 { u64::MAX } else { ((1u64 << n) - 1) << (at % 64) };
            let word = match self.pieces.get(at / PIECE) {
                Some(Some(p)) => p[at % PIECE / 64],
                _ => 0,
            };
            if word & mask != want & mask {
                return None;
            }
            at += n;
        }
        Some(first)
    }

    /// First unmarked byte of [lo, hi).
    pub fn first_clear(&self, lo: usize, hi: usize) -> Option<usize> {
        (lo..hi).find(|b| !self.get(*b))
    }

    /// Sets or clears the marks of every byte of a pattern.
    pub fn set(&mut self, pattern: &Pattern, mark: bool) {
        let size = pattern.dtype().size();
        for_runs(pattern, |byte, count, stride| {
            if stride == size as i64 {
                self.set_run(byte, byte + count * size, mark);
            } else {
                for i in 0..count {
                    let at = (byte as i64 + stride * i as i64) as usize;
                    self.set_run(at, at + size, mark);
                }
            }
        });
    }

    /// Forgets every mark.
    pub fn clear(&mut self) {
        self.pieces.iter_mut().for_each(|p| *p = None);
    }
}

/// Calls `f(first byte, elements, stride in bytes)` for every innermost run of a pattern, in element order.
pub fn for_runs(pattern: &Pattern, mut f: impl FnMut(usize, usize, i64)) {
    if pattern.is_empty() {
        return;
    }
    let size = pattern.dtype().size() as i64;
    if let Some(list) = pattern.offsets() {
        for o in list {
            f(*o, 1, size);
        }
        return;
    }
    let pairs = pattern.pairs();
    let (last, outer) = pairs.split_last().unwrap_or((&pairs[0], &[]));
    let rows: usize = outer.iter().map(|p| p.num as usize).product();
    let mut index = [0u32; birsim_kernels::access::MAX_PAIRS];
    let mut byte = pattern.base();
    for _ in 0..rows {
        f(byte as usize, last.num as usize, last.stride);
        for (k, p) in outer.iter().enumerate().rev() {
            index[k] += 1;
            byte += p.stride;
            if index[k] < p.num {
                break;
            }
            byte -= p.stride * i64::from(p.num);
            index[k] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use birsim_kernels::Dtype;
    use birsim_kernels::access::Pair;

    #[test]
    fn marks_follow_the_pattern() {
        let p = Pattern::new(Dtype::Float32, 8, &[Pair { stride: 100, num: 2 }, Pair { stride: 8, num: 3 }]).unwrap();
        let mut s = Shadow::new(10_000);
        s.set(&p, true);
        for byte in 0..300 {
            let want = [8, 16, 24, 108, 116, 124].iter().any(|e| (*e..e + 4).contains(&byte));
            assert_eq!(s.get(byte), want, "byte {byte}");
        }
        s.set_run(0, 300, false);
        assert_eq!(s.first_clear(8, 12), Some(8));
    }

    #[test]
    fn long_runs_cross_pieces() {
        let mut s = Shadow::new(20_000);
        s.set_run(4000, 13_001, true);
        assert_eq!(s.first_clear(4000, 14_000), Some(13_001));
        assert!(!s.get(3999));
    }
}
