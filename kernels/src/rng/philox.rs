//! Philox-4x32-10 (Salmon et al., 2011).

use super::State;
use crate::isa::per_isa;

const M0: u64 = 0xD251_1F53;
const M1: u64 = 0xCD9E_8D57;
const W0: u32 = 0x9E37_79B9;
const W1: u32 = 0xBB67_AE85;

/// Ten rounds over a counter and a key.
pub fn philox_4x32_10(mut c: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let p0 = u64::from(c[0]) * M0;
        let p1 = u64::from(c[2]) * M1;
        c = [(p1 >> 32) as u32 ^ c[1] ^ key[0], p1 as u32, (p0 >> 32) as u32 ^ c[3] ^ key[1], p0 as u32];
        key = [key[0].wrapping_add(W0), key[1].wrapping_add(W1)];
    }
    c
}

/// Blocks that are computed side by side.
pub(super) const BLOCKS: usize = 16;

per_isa! {
    /// The outputs of the next [`BLOCKS`] blocks, as that many calls of [`philox_block`] give them.
    pub(super) fn philox_blocks(state: &mut State, out: &mut [u32; 4 * BLOCKS]) {
        let mut c = [[0u32; BLOCKS]; 4];
        let [c0, c1, c2, c3] = &mut c;
        for (((c0, c1), c2), c3) in c0.iter_mut().zip(c1).zip(c2).zip(c3) {
            [*c0, *c1, *c2, *c3] = [state[0], state[1], state[2], state[3]];
            advance(state);
        }
        let mut key = [state[4], state[5]];
        for _ in 0..10 {
            let [c0, c1, c2, c3] = &mut c;
            for (((c0, c1), c2), c3) in c0.iter_mut().zip(c1).zip(c2).zip(c3) {
                let (p0, p1) = (u64::from(*c0) * M0, u64::from(*c2) * M1);
                *c0 = (p1 >> 32) as u32 ^ *c1 ^ key[0];
                *c1 = p1 as u32;
                *c2 = (p0 >> 32) as u32 ^ *c3 ^ key[1];
                *c3 = p0 as u32;
            }
            key = [key[0].wrapping_add(W0), key[1].wrapping_add(W1)];
        }
        for (b, out) in out.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            *out = [c[0][b], c[1][b], c[2][b], c[3][b]];
        }
    }
}

#[inline(always)]
fn advance(state: &mut State) {
    for word in &mut state[..4] {
        *word = word.wrapping_add(1);
        if *word != 0 {
            break;
        }
    }
}

/// Four outputs from a state whose words 0 to 3 are the counter and 4 to 5 the key; the counter then advances by one
/// as a 128-bit number, word 0 lowest (ruling D8).
pub fn philox_block(state: &mut State) -> [u32; 4] {
    let out = philox_4x32_10([state[0], state[1], state[2], state[3]], [state[4], state[5]]);
    advance(state);
    out
}
