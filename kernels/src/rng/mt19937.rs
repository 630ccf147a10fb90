//! The 64-bit Mersenne Twister of the host (Matsumoto and Nishimura, 2004).

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
        let mut y = self.words[self.next];
        self.next += 1;
        y ^= (y >> 29) & 0x5555_5555_5555_5555;
        y ^= (y << 17) & 0x71D6_7FFF_EDA6_0000;
        y ^= (y << 37) & 0xFFF7_EEE0_0000_0000;
        y ^ (y >> 43)
    }

    fn refill(&mut self) {
        for i in 0..N {
            let x = (self.words[i] & UPPER) | (self.words[(i + 1) % N] & LOWER);
            let twist = if x & 1 == 1 { 0xB502_6F5A_A966_19E9 } else { 0 };
            self.words[i] = self.words[(i + M) % N] ^ (x >> 1) ^ twist;
        }
        self.next = 0;
    }
}

impl Default for Mt19937_64 {
    fn default() -> Self {
        Mt19937_64::new(Self::DEFAULT_SEED)
    }
}
