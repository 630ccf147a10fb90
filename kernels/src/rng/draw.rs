//! Instructions that fill their destination from a generator.

use super::pcg32::pcg32_fill;
use super::philox::{BLOCKS, philox_blocks};
use super::{Mt19937_64, State, lfsr_next, philox_block, uniform_between, xorwow_next};
use crate::access::{CHUNK, Dst, chunks, for_pieces};
use crate::movement::castable;
use crate::profile::{DrawHalf, LfsrZero, Rand2Lanes};
use crate::{Code, Dtype, Error, Profile, Result};

crate::named_enum! {
    /// Generator of Rand (60).
    RandomAlgorithmKind {
        Lfsr = 0, "LFSR";
        Pcg32 = 1, "PCG32";
        Philox1 = 2, "PHILOX_1";
    }
}

/// [`fill_words`] from a generator that makes one draw at a time.
fn one_by_one(dst: &mut Dst, lane: usize, mut draw: impl FnMut() -> u32) -> Result<()> {
    fill_words(dst, lane, |words| words.iter_mut().for_each(|w| *w = draw()))
}

fn one_state_per_lane(states: usize, dst: &Dst) -> Result<()> {
    if states == dst.lanes() {
        return Ok(());
    }
    Err(Error::new(Code::S002, "a random fill needs one generator per partition")
        .received(format!("{states} generators for {} partitions", dst.lanes())))
}

/// Writes the low bytes of one 32-bit draw per element of a lane, or of two for an element of eight bytes. `draw` fills a
/// buffer whose length is a multiple of four unless the lane ends there.
fn fill_words(dst: &mut Dst, lane: usize, mut draw: impl FnMut(&mut [u32])) -> Result<()> {
    let mut words = [0u32; 2 * CHUNK];
    chunks(dst.lane_len(), |start, n| {
        let size = dst.dtype().size();
        let words = &mut words[..if size == 8 { 2 * n } else { n }];
        draw(words);
        dst.with_bytes_out(lane, start, n, |bytes| match size {
            1 => bytes.iter_mut().zip(words).for_each(|(e, w)| *e = *w as u8),
            2 => bytes.as_chunks_mut().0.iter_mut().zip(words).for_each(|(e, w)| *e = (*w as u16).to_le_bytes()),
            // The low half of eight bytes comes first.
            _ => bytes.as_chunks_mut().0.iter_mut().zip(words).for_each(|(e, w)| *e = w.to_le_bytes()),
        });
        Ok(())
    })
}

/// Runs `f` for every lane and its generator.
fn each_state<'a, S: Send>(
    states: &'a mut [S],
    dst: &'a mut Dst,
    f: impl Fn(&mut Dst, usize, &mut S) -> Result<()> + Sync,
) -> Result<()> {
    one_state_per_lane(states.len(), dst)?;
    let (lanes, splits) = (dst.lanes(), dst.pattern().lanes_disjoint());
    // A part is the number of its first lane, the states of its lanes, and its lanes of the destination.
    let cut = |(first, states, dst): (usize, &'a mut [S], Dst<'a>), lane: usize| {
        let (states, dst) = (states.split_at_mut(lane - first), dst.split_at(lane));
        ((first, states.0, dst.0), (lane, states.1, dst.1))
    };
    // Drawing an element takes longer than most arithmetic, so fewer of them are worth a thread.
    let work = DRAW * dst.len();
    for_pieces((0, states, dst.reborrow()), lanes, work, splits, cut, |(_, states, dst), mut lanes| {
        states.iter_mut().zip(&mut lanes).try_for_each(|(s, lane)| f(dst, lane, s))
    })
}

/// Cost of a draw, in elements of plain arithmetic, for deciding whether threads pay.
const DRAW: usize = 2;

/// Memset Random outside the Pool engine: one 64-bit host draw per element in element order; 1-, 2- and 4-byte elements
/// take its low bytes, 8-byte ones all of it (ruling D7).
pub fn memset_random_host(host: &mut Mt19937_64, dst: &mut Dst, profile: &Profile) -> Result<()> {
    let mut draws = [0u64; CHUNK];
    let size = dst.dtype().size();
    let high = profile.memset_random == DrawHalf::High && size < 8;
    (0..dst.lanes()).try_for_each(|lane| {
        chunks(dst.lane_len(), |start, n| {
            let draws = &mut draws[..n];
            host.fill(draws);
            if high {
                draws.iter_mut().for_each(|d| *d >>= 32);
            }
            dst.with_bytes_out(lane, start, n, |bytes| match size {
                1 => bytes.iter_mut().zip(draws).for_each(|(e, d)| *e = *d as u8),
                2 => bytes.as_chunks_mut().0.iter_mut().zip(draws).for_each(|(e, d)| *e = (*d as u16).to_le_bytes()),
                4 => bytes.as_chunks_mut().0.iter_mut().zip(draws).for_each(|(e, d)| *e = (*d as u32).to_le_bytes()),
                _ => bytes.as_chunks_mut().0.iter_mut().zip(draws).for_each(|(e, d)| *e = d.to_le_bytes()),
            });
            Ok(())
        })
    })
}

/// Memset Random on Pool: XORWOW over the first-generation state of each partition.
pub fn memset_random_pool(states: &mut [State], dst: &mut Dst) -> Result<()> {
    each_state(states, dst, |dst, lane, s| one_by_one(dst, lane, || xorwow_next(s)))
}

/// Rand: raw bits of the chosen generator, one state per partition (ruling D8).
pub fn rand(algorithm: RandomAlgorithmKind, states: &mut [State], dst: &mut Dst, profile: &Profile) -> Result<()> {
    one_state_per_lane(states.len(), dst)?;
    let stays = profile.lfsr_zero == LfsrZero::Stays;
    each_state(states, dst, |dst, lane, s| match algorithm {
        RandomAlgorithmKind::Lfsr if stays && s[0] == 0 => one_by_one(dst, lane, || 0),
        RandomAlgorithmKind::Lfsr => one_by_one(dst, lane, || lfsr_next(&mut s[0])),
        RandomAlgorithmKind::Pcg32 => {
            let mut state = u64::from(s[0]) | u64::from(s[1]) << 32;
            fill_words(dst, lane, |words| pcg32_fill(&mut state, words))?;
            (s[0], s[1]) = (state as u32, (state >> 32) as u32);
            Ok(())
        }
        // The rest of a block is dropped at the end of the instruction.
        RandomAlgorithmKind::Philox1 => fill_words(dst, lane, |words| {
            let (many, rest) = words.as_chunks_mut::<{ 4 * BLOCKS }>();
            many.iter_mut().for_each(|out| philox_blocks(s, out));
            for part in rest.chunks_mut(4) {
                part.copy_from_slice(&philox_block(s)[..part.len()]);
            }
        }),
    })
}

/// Rand2: uniform values in [min, max); column c draws from generator c mod 4 of its partition (ruling D9).
pub fn rand2(min: f32, max: f32, states: &mut [[State; 4]], dst: &mut Dst, profile: &Profile) -> Result<()> {
    one_state_per_lane(states.len(), dst)?;
    castable(Dtype::Float32, dst.dtype(), profile)?;
    let blocks = profile.rand2_lanes == Rand2Lanes::Block;
    each_state(states, dst, |dst, lane, generators| {
        let mut values = [0f32; CHUNK];
        let mut local = *generators;
        chunks(dst.lane_len(), |start, n| {
            if blocks {
                for (k, v) in values[..n].iter_mut().enumerate() {
                    *v = uniform_between(xorwow_next(&mut local[4 * (start + k) / dst.lane_len()]), min, max);
                }
            } else {
                // All pieces but the last have a multiple of four elements.
                for part in values[..n].chunks_mut(4) {
                    for (v, g) in part.iter_mut().zip(&mut local) {
                        *v = uniform_between(xorwow_next(g), min, max);
                    }
                }
            }
            dst.write_f32(lane, start, &values[..n], profile.fp8());
            Ok(())
        })?;
        *generators = local;
        Ok(())
    })
}
