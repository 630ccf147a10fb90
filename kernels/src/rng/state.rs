//! Generator state per partition, and the instructions that save and restore it (58, 59, 98, 99).

use super::{DEFAULT_STATE, PARTITIONS, State};
use crate::access::{Dst, Src};
use crate::{Code, Dtype, Error, Result, rehearsal};

/// The device generators of one core: one state per partition in the first generation, four in the second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceRng {
    gen1: Vec<State>,
    gen2: Vec<[State; 4]>,
}

impl Default for DeviceRng {
    fn default() -> Self {
        DeviceRng { gen1: vec![DEFAULT_STATE; PARTITIONS], gen2: vec![[DEFAULT_STATE; 4]; PARTITIONS] }
    }
}

impl DeviceRng {
    /// First-generation states of `lanes` partitions from `first`.
    pub fn gen1(&mut self, first: usize, lanes: usize) -> Result<&mut [State]> {
        part(&mut self.gen1, first, lanes)
    }

    /// Second-generation states of `lanes` partitions from `first`.
    pub fn gen2(&mut self, first: usize, lanes: usize) -> Result<&mut [[State; 4]]> {
        part(&mut self.gen2, first, lanes)
    }
}

fn part<T>(all: &mut [T], first: usize, lanes: usize) -> Result<&mut [T]> {
    let end = first.checked_add(lanes);
    end.and_then(|end| all.get_mut(first..end)).ok_or_else(|| {
        Error::new(Code::S008, "the random state belongs to 128 partitions")
            .received(format!("{lanes} partitions from {first}"))
    })
}

fn check_words(dtype: Dtype) -> Result<()> {
    if matches!(dtype, Dtype::Uint32 | Dtype::Int32) {
        return Ok(());
    }
    Err(Error::new(Code::S007, "a random state consists of uint32 words").received(dtype))
}

/// A state tensor holds `words` four-byte words for each of `lanes` partitions.
fn check(dtype: Dtype, shape: (usize, usize), lanes: usize, words: usize) -> Result<()> {
    check_words(dtype)?;
    if shape != (lanes, words) {
        return Err(Error::new(Code::S008, format!("a random state has {words} words per partition"))
            .received(format!("{} x {} for {lanes} partitions", shape.0, shape.1)));
    }
    Ok(())
}

/// A shift register of zeros would stay zero forever, so its last word becomes 1.
fn revive(state: &mut State) {
    if state[..5] == [0; 5] {
        state[4] = 1;
    }
}

/// Restores first-generation states: six words per partition.
pub fn set_state_gen1(src: &Src, states: &mut [State]) -> Result<()> {
    check(src.dtype(), (src.lanes(), src.lane_len()), states.len(), 6)?;
    if rehearsal::is_on() {
        return Ok(());
    }
    for (lane, state) in states.iter_mut().enumerate() {
        src.gather(lane, 0, bytemuck::cast_slice_mut(state));
        revive(state);
    }
    Ok(())
}

/// Seeds first-generation states from the eight immediate words of SetRandState: word 0 becomes
/// (partition << 24) | its low 24 bits; the state is the first six words. `first` is the partition of `states[0]`.
pub fn set_state_gen1_words(words: &[u32], first: usize, states: &mut [State]) -> Result<()> {
    if words.len() != 8 {
        return Err(Error::new(Code::S008, "an immediate seed has eight words").received(words.len()));
    }
    if rehearsal::is_on() {
        return Ok(());
    }
    for (k, state) in states.iter_mut().enumerate() {
        state.copy_from_slice(&words[..6]);
        state[0] = (((first + k) as u32) << 24) | (words[0] & 0x00FF_FFFF);
        revive(state);
    }
    Ok(())
}

/// The scalar seed of SetRandState on the vector engine, which reseeds the host generator; `None` when the operand is no
/// single element.
pub fn scalar_seed(src: &Src) -> Result<Option<u64>> {
    if src.len() != 1 {
        return Ok(None);
    }
    check_words(src.dtype())?;
    let mut word = [0u32];
    src.gather(0, 0, bytemuck::cast_slice_mut(&mut word));
    Ok(Some(u64::from(word[0])))
}

/// Restores second-generation states: 24 words per partition, four generators one after the other (ruling D9).
pub fn set_state_gen2(src: &Src, states: &mut [[State; 4]]) -> Result<()> {
    check(src.dtype(), (src.lanes(), src.lane_len()), states.len(), 24)?;
    if rehearsal::is_on() {
        return Ok(());
    }
    for (lane, state) in states.iter_mut().enumerate() {
        src.gather(lane, 0, bytemuck::cast_slice_mut(state.as_flattened_mut()));
        state.iter_mut().for_each(revive);
    }
    Ok(())
}

/// Saves first-generation states.
pub fn get_state_gen1(states: &[State], dst: &mut Dst) -> Result<()> {
    check(dst.dtype(), (dst.lanes(), dst.lane_len()), states.len(), 6)?;
    if rehearsal::is_on() {
        return Ok(());
    }
    for (lane, state) in states.iter().enumerate() {
        dst.scatter(lane, 0, bytemuck::cast_slice(state));
    }
    Ok(())
}

/// Saves second-generation states in the layout that [`set_state_gen2`] reads.
pub fn get_state_gen2(states: &[[State; 4]], dst: &mut Dst) -> Result<()> {
    check(dst.dtype(), (dst.lanes(), dst.lane_len()), states.len(), 24)?;
    if rehearsal::is_on() {
        return Ok(());
    }
    for (lane, state) in states.iter().enumerate() {
        dst.scatter(lane, 0, bytemuck::cast_slice(state.as_flattened()));
    }
    Ok(())
}
