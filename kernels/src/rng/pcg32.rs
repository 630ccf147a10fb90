//! PCG-XSH-RR 64/32 (O'Neill, 2014) with the default increment.

use crate::isa::per_isa;

const STEP: u64 = 0x5851_F42D_4C95_7F2D;
const INCREMENT: u64 = 0x1405_7B7E_F767_814F;

/// Steps made side by side; a single one would wait for its own last product.
const TOGETHER: usize = 16;

/// `TOGETHER` steps in one: state * .0 + .1.
const LEAP: (u64, u64) = {
    let (mut a, mut c, mut k) = (1u64, 0u64, 0);
    while k < TOGETHER {
        a = a.wrapping_mul(STEP);
        c = c.wrapping_mul(STEP).wrapping_add(INCREMENT);
        k += 1;
    }
    (a, c)
};

per_isa! {
    /// As many steps as `out` holds.
    pub(super) fn pcg32_fill(state: &mut u64, out: &mut [u32]) {
        let (groups, rest) = out.as_chunks_mut::<TOGETHER>();
        let mut states = [0u64; TOGETHER];
        let mut ahead = *state;
        for s in &mut states {
            *s = ahead;
            ahead = ahead.wrapping_mul(STEP).wrapping_add(INCREMENT);
        }
        for group in groups {
            for (o, s) in group.iter_mut().zip(&mut states) {
                *o = output(*s);
                *s = s.wrapping_mul(LEAP.0).wrapping_add(LEAP.1);
            }
        }
        *state = states[0];
        for o in rest {
            *o = pcg32_next(state);
        }
    }
}

#[inline(always)]
fn output(old: u64) -> u32 {
    ((((old >> 18) ^ old) >> 27) as u32).rotate_right((old >> 59) as u32)
}

/// One step; the output comes from the state before it.
#[inline]
pub fn pcg32_next(state: &mut u64) -> u32 {
    let old = *state;
    *state = old.wrapping_mul(STEP).wrapping_add(INCREMENT);
    output(old)
}
