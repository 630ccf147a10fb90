//! Abs of narrow floats without an operand around it: the conversions to float32 and back cancel, so bits suffice.

use super::{Activation, ActivationFunctionType, Front};
use crate::access::{Dst, Imm, Input, Src, pieces};
use crate::cast::{keeps_magnitude, magnitude};
use crate::{Profile, Result};

/// The instruction is a plain Abs between disjoint views of one narrow dtype, contiguous in every lane.
pub(super) fn applies(p: &Activation, src: &Src, dst: &Dst) -> bool {
    let number = |input: &Input, values: [f32; 2]| matches!(input, Input::Imm(i) if values.map(Imm::f32).contains(i));
    p.func == ActivationFunctionType::Abs
        && src.dtype() == dst.dtype()
        && keeps_magnitude(dst.dtype())
        && p.epilogue.is_none()
        && matches!(&p.front, Front::Affine { scale, bias } if number(scale, [1.0, 1.0]) && number(bias, [0.0, -0.0]))
        && src.pattern().is_contiguous()
        && dst.pattern().is_contiguous()
}

/// Elements that are computed between two checks whether the run should stop.
const LONGEST: usize = 1 << 20;

/// |x| for every element.
pub(super) fn run(src: &Src, dst: &mut Dst, profile: &Profile) -> Result<()> {
    dst.for_lane_ranges(dst.len(), |dst, lanes| {
        for lane in lanes {
            let (dtype, len) = (dst.dtype(), dst.lane_len());
            pieces(len, LONGEST, |at, n| {
                if let (Some(x), Some(out)) = (src.run(lane, at, n), dst.run_mut(lane, at, n)) {
                    magnitude(dtype, profile.fp8(), x, out);
                }
                Ok(())
            })?;
        }
        Ok(())
    })
}
