//! The 64-bit Mersenne Twister of the host (Matsumoto and Nishimura, 2004).

use crate::isa::per_isa;

const N: usize = 312;
const M: usize = 156;
const UPPER: u64 = 0xFFFF_FFFF_8000_0000;
const LOWER: u64 = 0x7FFF_FFFF;

/// MT19937-64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mt19937_64 {
    words: Box<[u64; N]>,
    next: usize,
}

impl Mt19937_64 {
    /// The seed of a fresh simulator.
    pub const DEFAULT_SEED: u64 = 42;

    /// A generator seeded by the standard recurrence.
    pub fn new(seed: u64) -> Self {
        let mut words = Box::new([0; N]);
        let mut last = seed;
        words[0] = seed;
        for (i, w) in words.iter_mut().enumerate().skip(1) {
            last = 0x5851_F42D_4C95_7F2Du64.wrapping_mul(last ^ (last >> 62)).wrapping_add(i as u64);
            *w = last;
        }
        Mt19937_64 { words, next: N }
    }

    /// The next 64-bit draw.
    pub fn next_u64(&mut self) -> u64 {
        if self.next >= N {
            self.refill();
        }
        let y = self.words[self.next];
        self.next += 1;
        temper(y)
    }

    /// As many draws as `out` holds.
    pub fn fill(&mut self, out: &mut [u64]) {
        let mut done = 0;
        while done < out.len() {
            if self.next >= N {
                self.refill();
            }
            let n = (N - self.next).min(out.len() - done);
            temper_all(&self.words[self.next..self.next + n], &mut out[done..done + n]);
            self.next += n;
            done += n;
        }
    }

    fn refill(&mut self) {
        // Three loops, so that no index has to wrap: words whose partner comes later, words whose partner was already
        // replaced, and the last word, whose neighbour is the first.
        let twist = |this: u64, next: u64, far: u64| {
            let x = (this & UPPER) | (next & LOWER);
            far ^ (x >> 1) ^ ((x & 1).wrapping_neg() & 0xB502_6F5A_A966_19E9)
        };
        let w = &mut *self.words;
        for i in 0..N - M {
            w[i] = twist(w[i], w[i + 1], w[i + M]);
        }
        for i in N - M..N - 1 {
            w[i] = twist(w[i], w[i + 1], w[i + M - N]);
        }
        w[N - 1] = twist(w[N - 1], w[0], w[M - 1]);
        self.next = 0;
    }
}

#[inline(always)]
fn temper(mut y: u64) -> u64 {
    y ^= (y >> 29) & 0x5555_5555_5555_5555;
    y ^= (y << 17) & 0x71D6_7FFF_EDA6_0000;
    y ^= (y << 37) & 0xFFF7_EEE0_0000_0000;
    y ^ (y >> 43)
}

per_isa! {
    fn temper_all(words: &[u64], out: &mut [u64]) {
        for (o, w) in out.iter_mut().zip(words) {
            *o = temper(*w);
        }
    }
}

impl Default for Mt19937_64 {
    fn default() -> Self {
        Mt19937_64::new(Self::DEFAULT_SEED)
    }
}
