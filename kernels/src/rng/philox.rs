//! Philox-4x32-10 (Salmon et al., 2011).

use super::State;

/// Ten rounds over a counter and a key.
pub fn philox_4x32_10(mut c: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let p0 = u64::from(c[0]) * 0xD251_1F53;
        let p1 = u64::from(c[2]) * 0xCD9E_8D57;
        c = [(p1 >> 32) as u32 ^ c[1] ^ key[0], p1 as u32, (p0 >> 32) as u32 ^ c[3] ^ key[1], p0 as u32];
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
    c
}

/// Four outputs from a state whose words 0 to 3 are the counter and 4 to 5 the key; the counter then advances by one
/// as a 128-bit number, word 0 lowest (ruling D8).
pub fn philox_block(state: &mut State) -> [u32; 4] {
    let out = philox_4x32_10([state[0], state[1], state[2], state[3]], [state[4], state[5]]);
    for word in &mut state[..4] {
        *word = word.wrapping_add(1);
        if *word != 0 {
            break;
        }
    }
    out
}
