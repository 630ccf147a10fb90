//! TensorTensor (31): out = op(in0, in1).

use super::stage::{Operand, Second, Stage, long_lanes, map_lanes, merges};
use super::{AddressResult, Number, NumericPath, clamp_int, int_range, tensor_tensor_path, through_f32};
use crate::access::{Dst, Input, Pattern, Source};
use crate::accumulate::Epilogue;
use crate::alu::{AluOp, address_op, float_op, int_op};
use crate::cast::{check_cast, check_unpacked};
use crate::{Dtype, Profile, Result};

/// Parameters of [`tensor_tensor`].
#[derive(Clone, Copy, Debug)]
pub struct TensorTensor {
    /// The operation; `in0` is its left operand.
    pub op: AluOp,
    /// The engine is Pool and no operand lies in PSUM (ruling D4).
    pub on_pool: bool,
}

/// out = op(in0, in1), element by element; the path by ruling D4. Broadcasting is written with step 0.
pub fn tensor_tensor(
    p: &TensorTensor,
    in0: &Source,
    in1: &Source,
    dst: &mut Dst,
    epilogue: Option<&Epilogue>,
    profile: &Profile,
) -> Result<()> {
    let (view0, view1) = (in0.view(dst), in1.view(dst));
    let ins = [view0.dtype(), view1.dtype()];
    for d in [ins[0], ins[1], dst.dtype()] {
        check_unpacked(d)?;
    }
    if view1.lanes() != dst.lanes() || view1.lane_len() != dst.lane_len() {
        return Err(super::stage::shapes_differ(&view1, dst).operand("ins[1]"));
    }
    if merges(&view0, dst, epilogue) {
        let [a, b, to] = [view0.pattern(), view1.pattern(), dst.pattern()].map(Pattern::flat);
        return tensor_tensor(p, &in0.reshaped(&a)?, &in1.reshaped(&b)?, &mut dst.reshaped(&to)?, epilogue, profile);
    }
    if let Some(([a, b], to)) = long_lanes([view0, view1], dst, epilogue) {
        return tensor_tensor(p, &in0.reshaped(&a)?, &in1.reshaped(&b)?, &mut dst.reshaped(&to)?, None, profile);
    }
    match tensor_tensor_path(p.op, p.on_pool, ins, dst.dtype(), profile) {
        NumericPath::Float => {
            check_cast(Dtype::Float32, dst.dtype(), profile)?;
            run::<f32>(float_op(p.op, profile)?, in0, in1, dst, epilogue, profile, |_| {})
        }
        NumericPath::Int => {
            check_cast(Dtype::Int32, dst.dtype(), profile)?;
            if through_f32::wanted(profile) {
                let (p, second) = (TensorTensor { on_pool: false, ..*p }, [Some(in1.into()), None]);
                return through_f32::run(in0, second, dst, profile, |in0, [in1, _], dst, profile| match in1 {
                    Some(Second::Input(Input::View(in1))) => {
                        tensor_tensor(&p, &Source::Apart(*in0), &Source::Apart(in1), dst, epilogue, profile)
                    }
                    _ => Ok(()),
                });
            }
            let (op, range) = (int_op(p.op)?.under(profile), int_range(p.op, dst.dtype()));
            run::<i32>(op, in0, in1, dst, epilogue, profile, |work| clamp_int(range, work))
        }
        NumericPath::Address => {
            let op = address_op(p.op)?.under(profile);
            let result = AddressResult::of(&ins, dst.dtype());
            run::<i64>(op, in0, in1, dst, epilogue, profile, |work| result.apply(work))
        }
    }
}

fn run<N: Number>(
    op: N::Op,
    in0: &Source,
    in1: &Source,
    dst: &mut Dst,
    epilogue: Option<&Epilogue>,
    profile: &Profile,
    finish: impl Fn(&mut [N]) + Sync,
) -> Result<()> {
    let stage = Stage { op, reverse: false, operand: Operand::Full(*in1) };
    map_lanes(in0, &[Some(stage), None], dst, epilogue, profile, finish)
}
