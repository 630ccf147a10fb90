//! TensorScalar (28) and the plain, address and scalar-tensor-tensor forms of TensorScalarPtr (29).

use super::number::{bitvec_input, bitvec_number};
use super::stage::{Operand, Stage, map_lanes, merges};
use super::{Number, hub};
use crate::access::{Dst, Input, Src};
use crate::accumulate::Epilogue;
use crate::alu::{AluOp, address_op, float_op, int_op};
use crate::cast::{check_cast, check_unpacked};
use crate::{Code, Dtype, Error, Profile, Result};

/// Parameters of [`tensor_scalar`].
#[derive(Clone, Copy, Debug)]
pub struct TensorScalar {
    /// First operation.
    pub op0: AluOp,
    /// Its immediate, as the number that was written.
    pub const0: f64,
    /// The immediate is the left operand of `op0`.
    pub reverse0: bool,
    /// Second operation.
    pub op1: AluOp,
    /// Its immediate.
    pub const1: f64,
    /// The immediate is the left operand of `op1`.
    pub reverse1: bool,
}

/// Parameters of [`tensor_scalar_ptr`] and [`scalar_tensor_tensor`].
#[derive(Clone, Copy, Debug)]
pub struct TensorScalarPtr {
    /// First operation.
    pub op0: AluOp,
    /// The scalar is the left operand of `op0`.
    pub reverse0: bool,
    /// Second operation.
    pub op1: AluOp,
    /// The scalar is the left operand of `op1`.
    pub reverse1: bool,
    /// `is_tensor_scalar_addr`: 64-bit integer arithmetic.
    pub address: bool,
}

/// out = op1(op0(in, const0), const1). Bypass hands its left operand on: the input, or the scalar when reversed.
///
/// A bit-vector operation selects int32 for both stages; its immediates follow ruling D2.
pub fn tensor_scalar(p: &TensorScalar, src: &Src, dst: &Dst, profile: &Profile) -> Result<()> {
    check_operands(src, dst)?;
    if merges(src, dst, None) {
        return tensor_scalar(p, &src.flat(), &dst.flat(), profile);
    }
    let stages = [(p.op0, p.const0, p.reverse0), (p.op1, p.const1, p.reverse1)];
    if p.op0.is_bitvec() || p.op1.is_bitvec() {
        check_cast(Dtype::Int32, dst.dtype(), profile)?;
        if hub::wanted(profile) {
            return hub::run(src, [None, None], dst, profile, |src, _, dst, profile| {
                tensor_scalar(p, src, dst, profile)
            });
        }
        let stage = |(op, value, reverse): (AluOp, f64, bool)| -> Result<Option<Stage<i32>>> {
            if op == AluOp::Bypass && !reverse {
                return Ok(None);
            }
            let op = int_op(op).map_err(|_| bitvec_miss(op))?.under(profile);
            Ok(Some(Stage { op, reverse, operand: Operand::Scalar(bitvec_number(value, profile)?) }))
        };
        return run([stage(stages[0])?, stage(stages[1])?], src, dst, None, profile);
    }
    check_cast(Dtype::Float32, dst.dtype(), profile)?;
    let stage = |(op, value, reverse): (AluOp, f64, bool)| -> Result<Option<Stage<f32>>> {
        let op = float_op(op, profile)?;
        Ok((reverse || !op.is_bypass()).then_some(Stage { op, reverse, operand: Operand::Scalar(value as f32) }))
    };
    run([stage(stages[0])?, stage(stages[1])?], src, dst, None, profile)
}

/// out = op1(op0(in, scalar0), scalar1). A stage without its scalar is skipped.
///
/// A scalar is an immediate, one element per partition, or a count that divides the free size: each of its elements then
/// serves as many neighbours. With an epilogue and no second scalar, this is TensorScalarReduce.
pub fn tensor_scalar_ptr(
    p: &TensorScalarPtr,
    src: &Src,
    scalar0: Option<&Input>,
    scalar1: Option<&Input>,
    dst: &Dst,
    epilogue: Option<&Epilogue>,
    profile: &Profile,
) -> Result<()> {
    check_operands(src, dst)?;
    let whole = |s: &Input| s.view().is_none_or(|v| (v.lanes(), v.lane_len()) == (dst.lanes(), dst.lane_len()));
    if merges(src, dst, epilogue) && [scalar0, scalar1].into_iter().flatten().all(whole) {
        let (s0, s1) = (scalar0.map(Input::flat), scalar1.map(Input::flat));
        return tensor_scalar_ptr(p, &src.flat(), s0.as_ref(), s1.as_ref(), &dst.flat(), epilogue, profile);
    }
    // A skipped stage does not take part in the choice of the path.
    let used = [(p.op0, scalar0), (p.op1, scalar1)];
    if used.iter().any(|(op, s)| s.is_some() && op.is_bitvec()) {
        check_cast(Dtype::Int32, dst.dtype(), profile)?;
        if hub::wanted(profile) {
            return hub::run(src, [scalar0, scalar1], dst, profile, |src, [s0, s1], dst, profile| {
                tensor_scalar_ptr(p, src, s0.as_ref(), s1.as_ref(), dst, epilogue, profile)
            });
        }
        let (i0, i1) = (scalar0.and_then(|s| bitvec_input(s, profile)), scalar1.and_then(|s| bitvec_input(s, profile)));
        let (scalar0, scalar1) = (i0.as_ref().or(scalar0), i1.as_ref().or(scalar1));
        two_stage::<i32>(p, scalar0, scalar1, src, dst, epilogue, profile, |op| {
            Ok(int_op(op).map_err(|_| bitvec_miss(op))?.under(profile))
        })
    } else if p.address {
        two_stage::<i64>(p, scalar0, scalar1, src, dst, epilogue, profile, |op| Ok(address_op(op)?.under(profile)))
    } else {
        check_cast(Dtype::Float32, dst.dtype(), profile)?;
        two_stage::<f32>(p, scalar0, scalar1, src, dst, epilogue, profile, |op| float_op(op, profile))
    }
}

/// out = op1(op0(tensor0, scalar), tensor1).
pub fn scalar_tensor_tensor(
    p: &TensorScalarPtr,
    tensor0: &Src,
    scalar: &Input,
    tensor1: &Input,
    dst: &Dst,
    epilogue: Option<&Epilogue>,
    profile: &Profile,
) -> Result<()> {
    match tensor1.view() {
        None => Err(Error::new(Code::S008, "the third operand of scalar-tensor-tensor is a tensor").operand("ins[2]")),
        Some(v) if v.lane_len() != dst.lane_len() => Err(super::stage::shapes_differ(v, dst).operand("ins[2]")),
        Some(_) => tensor_scalar_ptr(p, tensor0, Some(scalar), Some(tensor1), dst, epilogue, profile),
    }
}

#[expect(clippy::too_many_arguments, reason = "the operands of one instruction")]
fn two_stage<'a, N: Number>(
    p: &TensorScalarPtr,
    scalar0: Option<&'a Input<'a>>,
    scalar1: Option<&'a Input<'a>>,
    src: &Src,
    dst: &Dst,
    epilogue: Option<&Epilogue>,
    profile: &Profile,
    lookup: impl Fn(AluOp) -> Result<N::Op>,
) -> Result<()> {
    let stage = |op, reverse, scalar: Option<&'a Input<'a>>, name| -> Result<Option<Stage<'a, N>>> {
        let Some(scalar) = scalar else { return Ok(None) };
        Ok(Some(Stage { op: lookup(op)?, reverse, operand: Operand::of(scalar, dst, name)? }))
    };
    let stages = [stage(p.op0, p.reverse0, scalar0, "ins[1]")?, stage(p.op1, p.reverse1, scalar1, "ins[2]")?];
    run(stages, src, dst, epilogue, profile)
}

fn run<N: Number>(
    stages: [Option<Stage<N>>; 2],
    src: &Src,
    dst: &Dst,
    epilogue: Option<&Epilogue>,
    profile: &Profile,
) -> Result<()> {
    let others = [0, 1].map(|k| stages[k].as_ref().and_then(|s| s.operand.view()));
    map_lanes::<N>(src, others, dst, epilogue, profile, |lane, at, input, work, scratch| {
        let mut input = input;
        for stage in stages.iter().flatten() {
            stage.run(lane, at, input.take(), work, scratch);
        }
        // Both stages skipped: a plain conversion.
        if let Some(a) = input {
            work.copy_from_slice(a);
        }
    })
}

fn check_operands(src: &Src, dst: &Dst) -> Result<()> {
    check_unpacked(src.dtype())?;
    check_unpacked(dst.dtype())
}

#[cold]
fn bitvec_miss(op: AluOp) -> Error {
    Error::new(Code::S006, format!("the ALU op {op} is not supported yet: bitvec op is not valid (1931)"))
        .received(op)
        .advice("do not mix bit-vector operations with ones that only exist for floats")
}
