//! Dropout (65, ruling D38).

use super::{DEFAULT_STATE, State, uniform, xorwow_next};
use crate::access::{CHUNK, Dst, Input, Src, chunks};
use crate::cast::check_unpacked;
use crate::movement::{Block, castable, merge, read_as, same_shape, shapes};
use crate::profile::DropoutTie;
use crate::{Code, Error, Profile, Result, rehearsal};

/// Fields and operands of Dropout.
pub struct Dropout<'a> {
    /// The threshold is the rate to keep instead of the rate to drop.
    pub is_keep_threshold: bool,
    /// A number, or one per partition.
    pub threshold: Input<'a>,
}

/// Draws r in [0, 1) per element from the XORWOW state of its partition. Drop rate t: r < t gives +0, else the element;
/// keep rate t: r < t keeps the element, else +0. Nothing is rescaled, and survivors keep their bits.
pub fn dropout(p: &Dropout, states: &mut [State], src: &Src, dst: &mut Dst, profile: &Profile) -> Result<()> {
    same_shape("ins[0]", src, dst)?;
    castable(src.dtype(), dst.dtype(), profile)?;
    check_unpacked(p.threshold.dtype()).map_err(|e| e.operand("ins[1]"))?;
    if let Input::View(v) = &p.threshold
        && (v.lanes() != dst.lanes() || v.lane_len() != 1)
    {
        return Err(shapes("ins[1]", v, dst).advice("the threshold is a number or one element per partition"));
    }
    if states.len() != dst.lanes() {
        return Err(Error::new(Code::S002, "Dropout needs one generator per partition").received(format!(
            "{} generators for {} partitions",
            states.len(),
            dst.lanes()
        )));
    }
    if rehearsal::is_on() {
        return Ok(());
    }
    let (dtype, cfg) = (dst.dtype(), profile.fp8());
    let keeps_tie = p.is_keep_threshold && profile.dropout_tie == DropoutTie::Keep;
    let mut keep = [false; CHUNK];
    let (mut input, mut result) = (Block::new(), Block::new());
    for (lane, state) in states.iter_mut().enumerate() {
        let threshold = match &p.threshold {
            Input::Imm(imm) => imm.as_f32(),
            Input::View(v) => {
                let mut one = [0.0];
                v.read_f32(lane, 0, &mut one);
                one[0]
            }
        };
        chunks(dst.lane_len(), |start, n| {
            for k in &mut keep[..n] {
                let r = uniform(xorwow_next(state));
                *k = (r < threshold) == p.is_keep_threshold || keeps_tie && r == threshold;
            }
            let (input, result) = (input.bytes(n, dtype), result.bytes(n, dtype));
            read_as(src, lane, start, dtype, cfg, input);
            result.fill(0);
            merge(dtype.size(), &keep[..n], input, result);
            dst.scatter(lane, start, result);
            Ok(())
        })?;
    }
    Ok(())
}

/// Generator states from a seed operand: six words per partition are a state, one word replaces word 0 of the default.
pub fn seed_states(seed: &Src) -> Result<Vec<State>> {
    let words = seed.lane_len();
    if seed.dtype().size() != 4 {
        return Err(Error::new(Code::S007, "Invalid seed type").received(seed.dtype()));
    }
    if words != 1 && words != 6 || seed.lanes() > super::PARTITIONS {
        return Err(Error::new(Code::S008, "a seed has one or six words for each of at most 128 partitions")
            .received(format!("{} x {words}", seed.lanes())));
    }
    let mut states = vec![DEFAULT_STATE; seed.lanes()];
    for (lane, state) in states.iter_mut().enumerate() {
        seed.gather(lane, 0, bytemuck::cast_slice_mut(&mut state[..words]));
        if state[..5] == [0; 5] {
            state[4] = 1;
        }
    }
    Ok(states)
}
