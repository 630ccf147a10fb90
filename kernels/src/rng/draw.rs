//! Instructions that fill their destination from a generator.

use super::{Mt19937_64, State, lfsr_next, pcg32_next, philox_block, uniform_between, xorwow_next};
use crate::access::{CHUNK, Dst, chunks};
use crate::agree::castable;
use crate::{Code, Dtype, Error, Profile, Result};

crate::named_enum! {
    /// Generator of Rand (60).
    RandomAlgorithmKind {
        Lfsr = 0, "LFSR";
        Pcg32 = 1, "PCG32";
        Philox1 = 2, "PHILOX_1";
    }
}

/// Writes the low bytes of one value per element of a lane.
fn fill_bits(dst: &Dst, lane: usize, mut next: impl FnMut() -> u64) -> Result<()> {
    let size = dst.dtype().size();
    let mut raw = [0u8; CHUNK * 8];
    chunks(dst.lane_len(), |start, n| {
        let bytes = &mut raw[..n * size];
        for element in bytes.chunks_exact_mut(size) {
            element.copy_from_slice(&next().to_le_bytes()[..size]);
        }
        dst.scatter(lane, start, bytes);
        Ok(())
    })
}

/// One 32-bit draw for elements of up to four bytes; two, the low half first, for eight-byte ones.
fn bits_for(dtype: Dtype, mut draw: impl FnMut() -> u32) -> u64 {
    let low = u64::from(draw());
    if dtype.size() == 8 { low | u64::from(draw()) << 32 } else { low }
}

fn one_state_per_lane(states: usize, dst: &Dst) -> Result<()> {
    if states == dst.lanes() {
        return Ok(());
    }
    Err(Error::new(Code::S002, "a random fill needs one generator per partition")
        .received(format!("{states} generators for {} partitions", dst.lanes())))
}

/// Memset Random outside the Pool engine: one 64-bit host draw per element in element order; 1-, 2- and 4-byte elements
/// take its low bytes, 8-byte ones all of it (ruling D7).
pub fn memset_random_host(host: &mut Mt19937_64, dst: &Dst) -> Result<()> {
    (0..dst.lanes()).try_for_each(|lane| fill_bits(dst, lane, || host.next_u64()))
}

/// Memset Random on Pool: XORWOW over the first-generation state of each partition.
pub fn memset_random_pool(states: &mut [State], dst: &Dst) -> Result<()> {
    one_state_per_lane(states.len(), dst)?;
    let dtype = dst.dtype();
    states.iter_mut().enumerate().try_for_each(|(lane, s)| fill_bits(dst, lane, || bits_for(dtype, || xorwow_next(s))))
}

/// Rand: raw bits of the chosen generator, one state per partition (ruling D8).
pub fn rand(algorithm: RandomAlgorithmKind, states: &mut [State], dst: &Dst) -> Result<()> {
    one_state_per_lane(states.len(), dst)?;
    let dtype = dst.dtype();
    for (lane, s) in states.iter_mut().enumerate() {
        match algorithm {
            RandomAlgorithmKind::Lfsr => fill_bits(dst, lane, || bits_for(dtype, || lfsr_next(&mut s[0])))?,
            RandomAlgorithmKind::Pcg32 => {
                let mut state = u64::from(s[0]) | u64::from(s[1]) << 32;
                fill_bits(dst, lane, || bits_for(dtype, || pcg32_next(&mut state)))?;
                (s[0], s[1]) = (state as u32, (state >> 32) as u32);
            }
            RandomAlgorithmKind::Philox1 => {
                // A block that is not used up does not carry over into the next instruction.
                let (mut block, mut used) = ([0; 4], 4);
                fill_bits(dst, lane, || {
                    bits_for(dtype, || {
                        if used == 4 {
                            (block, used) = (philox_block(s), 0);
                        }
                        used += 1;
                        block[used - 1]
                    })
                })?;
            }
        }
    }
    Ok(())
}

/// Rand2: uniform values in [min, max); column c draws from generator c mod 4 of its partition (ruling D9).
pub fn rand2(min: f32, max: f32, states: &mut [[State; 4]], dst: &Dst, profile: &Profile) -> Result<()> {
    one_state_per_lane(states.len(), dst)?;
    castable(Dtype::Float32, dst.dtype(), profile)?;
    let mut values = [0f32; CHUNK];
    for (lane, generators) in states.iter_mut().enumerate() {
        chunks(dst.lane_len(), |start, n| {
            for (k, v) in values[..n].iter_mut().enumerate() {
                *v = uniform_between(xorwow_next(&mut generators[(start + k) % 4]), min, max);
            }
            dst.write_f32(lane, start, &values[..n], profile.fp8());
            Ok(())
        })?;
    }
    Ok(())
}
