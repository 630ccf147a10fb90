//! Profile field `integer_operands` = `hub` (`numerics.md` 2.2): integers enter and leave the bit-vector path through float32.
//!
//! The instruction then runs on int32 copies, and its result is cast once more.

use super::lane_loop::Second;
use crate::access::{Dst, Input, Pattern, Source, Src, chunks};
use crate::cast::Fp8Config;
use crate::movement::read_as;
use crate::profile::IntegerOperands;
use crate::{Code, Dtype, Error, Profile, Result};

/// The profile asks for this reading.
pub(crate) fn wanted(profile: &Profile) -> bool {
    profile.integer_operands == IntegerOperands::Hub
}

/// A dense int32 copy of an operand.
struct Staged {
    bytes: Vec<u8>,
    pattern: Pattern,
}

impl Staged {
    fn empty(like: &Pattern) -> Result<Self> {
        let nums: Vec<u32> = like.pairs().iter().map(|p| p.num).collect();
        let bytes = like.len().checked_mul(4).filter(|b| *b <= 1 << 30);
        let bytes = bytes.ok_or_else(|| {
            Error::new(Code::S009, "an operand is too large to be copied through float32").received(like.len())
        })?;
        Ok(Staged { bytes: vec![0; bytes], pattern: Pattern::dense(Dtype::Int32, &nums)? })
    }

    fn of(src: &Src) -> Result<Self> {
        let mut out = Staged::empty(src.pattern())?;
        for lane in 0..src.lanes() {
            chunks(src.lane_len(), |start, n| {
                let at = (lane * src.lane_len() + start) * 4;
                read_as(src, lane, start, Dtype::Int32, Fp8Config::DEFAULT, &mut out.bytes[at..at + 4 * n]);
                Ok(())
            })?;
        }
        Ok(out)
    }
}

/// Runs `f` on int32 copies of all operands, made by the cast rules, and casts its result into `dst`.
pub(crate) fn run(
    src: &Source,
    others: [Option<Second>; 2],
    dst: &mut Dst,
    profile: &Profile,
    f: impl FnOnce(&Src, [Option<Second>; 2], &mut Dst, &Profile) -> Result<()>,
) -> Result<()> {
    let plain = Profile { integer_operands: IntegerOperands::Bits, ..*profile };
    let source = Staged::of(&src.view(dst))?;
    let stage = |other: Option<Second>| match other {
        Some(Second::Input(Input::View(v))) => Staged::of(&v).map(Some),
        Some(Second::Same) => Staged::of(&dst.as_src()).map(Some),
        Some(Second::Input(Input::Imm(_))) | None => Ok(None),
    };
    let views = [stage(others[0])?, stage(others[1])?];
    let second = |k: usize| -> Result<Option<Second>> {
        Ok(match &views[k] {
            Some(s) => Some(Second::Input(Input::View(Src::new(&s.bytes, &s.pattern)?))),
            None => others[k],
        })
    };
    let mut result = Staged::empty(dst.pattern())?;
    let source = Src::new(&source.bytes, &source.pattern)?;
    f(&source, [second(0)?, second(1)?], &mut Dst::new(&mut result.bytes, &result.pattern)?, &plain)?;
    crate::copy::copy(&Src::new(&result.bytes, &result.pattern)?, dst, profile)
}
