//! TensorTensor (31): out = op(in0, in1).

use super::lane_loop::{Operand, Second, Stage, map_lanes};
use super::normalise::normalise;
use super::{AddressResult, Number, NumericPath, clamp_int, int_range, tensor_tensor_path, through_f32};
use crate::access::{Dst, Input, Source};
use crate::accumulate::Epilogue;
use crate::alu::{AluOp, address_op, float_op, int_op};
use crate::cast::{check_cast, check_unpacked};
use crate::{Dtype, Profile, Result};

/// Parameters of [`tensor_tensor`].
#[derive(Clone, Copy, Debug)]
pub struct TensorTensor {
    /// The operation; `in0` is its left operand.
    pub op: AluOp,
    /// The engine is Pool and no operand is in PSUM (ruling D4).
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
        return Err(super::lane_loop::shapes_differ(&view1, dst).operand("ins[1]"));
    }
    let path = tensor_tensor_path(p.op, p.on_pool, ins, dst.dtype(), profile);
    normalise(in0, [Some(in1.into()), None], dst, epilogue, |in0, [in1, _], dst| {
        let in1 = in1.as_ref().and_then(Second::source).unwrap_or(Source::Same);
        run_path(p, path, in0, &in1, dst, epilogue, profile)
    })
}

fn run_path(
    p: &TensorTensor,
    path: NumericPath,
    in0: &Source,
    in1: &Source,
    dst: &mut Dst,
    epilogue: Option<&Epilogue>,
    profile: &Profile,
) -> Result<()> {
    match path {
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
            let result = AddressResult::of(&[in0.view(dst).dtype(), in1.view(dst).dtype()], dst.dtype());
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
