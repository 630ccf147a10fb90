//! PCG-XSH-RR 64/32 (O'Neill, 2014) with the default increment.

/// One step; the output comes from the state before it.
#[inline]
pub fn pcg32_next(state: &mut u64) -> u32 {
    let old = *state;
    *state = old.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
    ((((old >> 18) ^ old) >> 27) as u32).rotate_right((old >> 59) as u32)
}
