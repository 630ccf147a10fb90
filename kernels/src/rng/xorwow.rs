//! XORWOW (Marsaglia, 2003) and the mapping to uniform float32 values.

use super::State;

/// One step: five shift-register words and a Weyl counter in word 5.
#[inline]
pub fn xorwow_next(s: &mut State) -> u32 {
    let [x, y, z, w, v, weyl] = *s;
    let t = x ^ (x >> 2);
    let last = (v ^ (v << 4)) ^ (t ^ (t << 1));
    let weyl = weyl.wrapping_add(362_437);
    *s = [y, z, w, v, last, weyl];
    weyl.wrapping_add(last)
}

/// A float32 in [0, 1) from the low 23 bits (`activation.md` 7.2).
#[inline]
pub fn uniform(bits: u32) -> f32 {
    f32::from_bits((bits & 0x007F_FFFF) | 0x3F80_0000) - 1.0
}

/// lo + (hi - lo) * u, each operation rounded to float32.
#[inline]
pub fn uniform_between(bits: u32, lo: f32, hi: f32) -> f32 {
    lo + (hi - lo) * uniform(bits)
}
