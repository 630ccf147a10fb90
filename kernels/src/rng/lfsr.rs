//! The 32-bit Fibonacci shift register with taps 32, 22, 2, 1.

/// One step; a dead all-zero state becomes 1 first (ruling D8).
#[inline]
pub fn lfsr_next(state: &mut u32) -> u32 {
    let s = if *state == 0 { 1 } else { *state };
    let bit = ((s >> 31) ^ (s >> 21) ^ (s >> 1) ^ s) & 1;
    *state = (s << 1) | bit;
    *state
}
