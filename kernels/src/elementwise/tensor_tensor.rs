//! TensorTensor (31): out = op(in0, in1).

use super::stage::{Operand, Stage, long_lanes, map_lanes, merges};
use super::{Number, NumericPath, hub, narrow_wrap, tensor_tensor_path, wrap_32};
use crate::access::{Dst, Input, Src};
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
    in0: &Src,
    in1: &Src,
    dst: &Dst,
    epilogue: Option<&Epilogue>,
    profile: &Profile,
) -> Result<()> {
    for d in [in0.dtype(), in1.dtype(), dst.dtype()] {
        check_unpacked(d)?;
    }
    if in1.lanes() != dst.lanes() || in1.lane_len() != dst.lane_len() {
        return Err(super::stage::shapes_differ(in1, dst).operand("ins[1]"));
    }
    if merges(in0, dst, epilogue) {
        return tensor_tensor(p, &in0.flat(), &in1.flat(), &dst.flat(), epilogue, profile);
    }
    if let Some((in0, in1, dst)) = long_lanes(in0, in1, dst, epilogue) {
        return tensor_tensor(p, &in0, &in1, &dst, None, profile);
    }
    let ins = [in0.dtype(), in1.dtype()];
    match tensor_tensor_path(p.op, p.on_pool, ins, dst.dtype(), profile) {
        NumericPath::Float => {
            check_cast(Dtype::Float32, dst.dtype(), profile)?;
            run::<f32>(float_op(p.op, profile)?, in0, in1, dst, epilogue, profile, |_| {})
        }
        NumericPath::Int => {
            check_cast(Dtype::Int32, dst.dtype(), profile)?;
            if hub::wanted(profile) {
                let (p, second) = (TensorTensor { on_pool: false, ..*p }, Input::View(in1.clone()));
                return hub::run(in0, [Some(&second), None], dst, profile, |in0, [in1, _], dst, profile| match &in1 {
                    Some(Input::View(in1)) => tensor_tensor(&p, in0, in1, dst, epilogue, profile),
                    _ => Ok(()),
                });
            }
            run::<i32>(int_op(p.op)?.under(profile), in0, in1, dst, epilogue, profile, |_| {})
        }
        NumericPath::Address => {
            let op = address_op(p.op)?.under(profile);
            match narrow_wrap(&ins, dst.dtype()) {
                Some(signed) => run::<i64>(op, in0, in1, dst, epilogue, profile, |work| wrap_32(work, signed)),
                None => run::<i64>(op, in0, in1, dst, epilogue, profile, |_| {}),
            }
        }
    }
}

fn run<N: Number>(
    op: N::Op,
    in0: &Src,
    in1: &Src,
    dst: &Dst,
    epilogue: Option<&Epilogue>,
    profile: &Profile,
    finish: impl Fn(&mut [N]) + Sync,
) -> Result<()> {
    let stage = Stage { op, reverse: false, operand: Operand::Full(in1) };
    map_lanes::<N>(in0, [Some(in1), None], dst, epilogue, profile, |lane, at, input, work, scratch| {
        stage.run(lane, at, input, work, scratch);
        finish(work);
    })
}
