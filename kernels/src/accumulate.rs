//! The engine accumulator: one float32 per lane, folded by the accumulate epilogue (`alu.md` 6.13).

use crate::access::{Dst, Input};
use crate::alu::{AluOp, FloatOp, Trait, float_op};
use crate::cast::{decode_f32, encode_f32};
use crate::profile::{EpilogueRounding, EpilogueSeed};
use crate::{Code, Dtype, Error, Profile, Result};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

crate::named_enum! {
    /// What an instruction does with its engine's accumulator.
    EngineAccumulationType {
        Idle = 0, "Idle";
        Zero = 1, "Zero";
        Accumulate = 2, "Accumulate";
        ZeroAccumulate = 3, "ZeroAccumulate";
        AddAccumulate = 4, "AddAccumulate";
        LoadAccumulate = 5, "LoadAccumulate";
    }
}

/// Lanes of an engine.
pub const LANES: usize = 128;

/// The accumulator registers of one engine, numbered by the lane of the instruction that folds into them.
///
/// Lanes are atomic so that a kernel may fold several lanes at once through a shared reference.
#[derive(Debug)]
pub struct Accumulator {
    lanes: Box<[AtomicU32; LANES]>,
}

impl Default for Accumulator {
    fn default() -> Self {
        Accumulator { lanes: Box::new([const { AtomicU32::new(0) }; LANES]) }
    }
}

impl Clone for Accumulator {
    fn clone(&self) -> Self {
        let out = Accumulator::default();
        for lane in 0..LANES {
            out.set(lane, self.get(lane));
        }
        out
    }
}

impl Accumulator {
    /// Value of a lane; 0 outside the engine.
    pub fn get(&self, lane: usize) -> f32 {
        self.lanes.get(lane).map_or(0.0, |l| f32::from_bits(l.load(Relaxed)))
    }

    /// Sets a lane; lanes outside the engine do not exist and are ignored.
    pub fn set(&self, lane: usize, value: f32) {
        if let Some(l) = self.lanes.get(lane) {
            l.store(value.to_bits(), Relaxed);
        }
    }
}

/// The accumulate epilogue of one instruction.
pub struct Epilogue<'a> {
    /// What to do.
    pub kind: EngineAccumulationType,
    /// The fold; acc = op(acc, x) in element order.
    pub op: AluOp,
    /// Start value of `LoadAccumulate`: an immediate, or one element per lane.
    pub init: Option<Input<'a>>,
    /// The engine's registers.
    pub state: &'a Accumulator,
    /// Choices the fold is made under.
    pub profile: &'a Profile,
}

impl Epilogue<'_> {
    /// Checks the instruction once, before any lane runs.
    pub fn check(&self, lanes: usize) -> Result<()> {
        use EngineAccumulationType as E;
        if self.kind == E::Idle {
            return Ok(());
        }
        if lanes > LANES {
            return Err(Error::new(Code::S002, "an accumulating instruction has at most 128 lanes").received(lanes));
        }
        if self.kind != E::Zero {
            float_op(self.op, self.profile)?;
        }
        if self.kind == E::LoadAccumulate {
            match &self.init {
                None => return Err(Error::new(Code::J009, "LoadAccumulate needs its start value as an operand")),
                Some(Input::View(v)) if v.lanes() != lanes || v.lane_len() != 1 => {
                    return Err(Error::new(Code::S002, "the start value has one element per lane").received(format!(
                        "{} lanes of {}",
                        v.lanes(),
                        v.lane_len()
                    )));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// The fold of one lane of an output of `dtype`; `None` when the lane's values are not folded.
    pub fn lane(&self, lane: usize, dtype: Dtype) -> Option<LaneFold<'_>> {
        use EngineAccumulationType as E;
        let acc = match self.kind {
            E::Idle => return None,
            E::Zero => {
                self.state.set(lane, 0.0);
                return None;
            }
            E::Accumulate | E::AddAccumulate => Some(self.state.get(lane)),
            E::ZeroAccumulate => seed(self.op, self.profile.epilogue_seed),
            E::LoadAccumulate => match &self.init {
                Some(Input::Imm(i)) => Some(i.as_f32()),
                Some(Input::View(v)) => {
                    let mut one = [0.0];
                    v.read_f32(lane, 0, &mut one);
                    Some(one[0])
                }
                None => None,
            },
        };
        let rounds = self.profile.epilogue_rounding == EpilogueRounding::After;
        let narrow = (rounds && dtype != Dtype::Float32 && !dtype.is_packed()).then_some((dtype, self.profile));
        Some(LaneFold { state: self.state, lane, step: float_op(self.op, self.profile).ok()?, acc, narrow })
    }
}

/// A fold in progress. The register is written by [`LaneFold::finish`].
pub struct LaneFold<'a> {
    state: &'a Accumulator,
    lane: usize,
    step: FloatOp,
    acc: Option<f32>,
    /// Values are rounded to this dtype before they are folded.
    narrow: Option<(Dtype, &'a Profile)>,
}

impl LaneFold<'_> {
    /// Folds further values, strictly in order.
    pub fn extend(&mut self, values: &[f32]) {
        let Some((dtype, profile)) = self.narrow else { return self.fold(values) };
        let (mut bytes, mut rounded) = ([0u8; 64 * 8], [0f32; 64]);
        for part in values.chunks(64) {
            let (bytes, rounded) = (&mut bytes[..part.len() * dtype.size()], &mut rounded[..part.len()]);
            encode_f32(dtype, profile.fp8(), part, bytes);
            decode_f32(dtype, bytes, rounded);
            self.fold(rounded);
        }
    }

    fn fold(&mut self, values: &[f32]) {
        self.acc = match (self.acc, values) {
            (Some(acc), _) => Some(self.step.fold(acc, values)),
            (None, [first, rest @ ..]) => Some(self.step.fold(*first, rest)),
            (None, []) => None,
        };
    }

    /// Stores the result in the register.
    pub fn finish(self) {
        self.state.set(self.lane, self.acc.unwrap_or(0.0));
    }
}

/// Where `ZeroAccumulate` starts; `None` means at the first value.
fn seed(op: AluOp, rule: EpilogueSeed) -> Option<f32> {
    if rule == EpilogueSeed::Zero && op.is(Trait::Extreme) { Some(0.0) } else { op.accumulator_start() }
}

/// The instructions that read the accumulator out, ReadActivationAccumulator (5), ActivationReadAccumulator (101) and
/// DveReadAccumulator (102): one value per lane, negated when asked for. The registers keep their values.
pub fn read_accumulator(state: &Accumulator, negated: bool, dst: &mut Dst, profile: &Profile) -> Result<()> {
    if dst.dtype() != Dtype::Float32 {
        return Err(Error::new(Code::S007, "the accumulator is drained to float32").received(dst.dtype()));
    }
    if dst.lanes() > LANES || (!dst.is_empty() && dst.lane_len() != 1) {
        return Err(Error::new(Code::S002, "a drain writes one value per lane").received(format!(
            "{} lanes of {}",
            dst.lanes(),
            dst.lane_len()
        )));
    }
    for lane in 0..if dst.is_empty() { 0 } else { dst.lanes() } {
        let v = state.get(lane);
        dst.write_f32(lane, 0, &[if negated { -v } else { v }], profile.fp8());
    }
    Ok(())
}
