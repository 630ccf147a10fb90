//! TensorScalar (28) and the plain, address and scalar-tensor-tensor forms of TensorScalarPtr (29).

use super::lane_loop::{Operand, Second, Stage, map_lanes};
use super::normalise::normalise;
use super::number::{bitvec_input, bitvec_number};
use super::{Number, through_f32};
use crate::access::{Dst, Input, Source, Src};
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

/// out = op1(op0(in, const0), const1). Bypass gives its left operand: the input, or the scalar when reversed.
///
/// A bit-vector operation selects int32 for both stages; its immediates follow ruling D2.
pub fn tensor_scalar(p: &TensorScalar, src: &Source, dst: &mut Dst, profile: &Profile) -> Result<()> {
    check_operands(&src.view(dst), dst)?;
    normalise(src, [None, None], dst, None, |src, _, dst| two_immediates(p, src, dst, profile))
}

fn two_immediates(p: &TensorScalar, src: &Source, dst: &mut Dst, profile: &Profile) -> Result<()> {
    let stages = [(p.op0, p.const0, p.reverse0), (p.op1, p.const1, p.reverse1)];
    if p.op0.is_bitvec() || p.op1.is_bitvec() {
        check_cast(Dtype::Int32, dst.dtype(), profile)?;
        if through_f32::wanted(profile) {
            return through_f32::run(src, [None, None], dst, profile, |src, _, dst, profile| {
                two_immediates(p, &Source::Apart(*src), dst, profile)
            });
        }
        let stage = |(op, value, reverse): (AluOp, f64, bool)| -> Result<Option<Stage<i32>>> {
            if op == AluOp::Bypass && !reverse {
                return Ok(None);
            }
            let op = int_op(op).map_err(|_| bitvec_miss(op))?.under(profile);
            Ok(Some(Stage { op, reverse, operand: Operand::Scalar(bitvec_number(value, profile)?) }))
        };
        return map_lanes(src, &[stage(stages[0])?, stage(stages[1])?], dst, None, profile, |_| {});
    }
    check_cast(Dtype::Float32, dst.dtype(), profile)?;
    let stage = |(op, value, reverse): (AluOp, f64, bool)| -> Result<Option<Stage<f32>>> {
        let op = float_op(op, profile)?;
        Ok((reverse || !op.is_bypass()).then_some(Stage { op, reverse, operand: Operand::Scalar(value as f32) }))
    };
    map_lanes(src, &[stage(stages[0])?, stage(stages[1])?], dst, None, profile, |_| {})
}

/// out = op1(op0(in, scalar0), scalar1). A stage without its scalar is skipped.
///
/// A scalar is an immediate, one element per partition, or a count that divides the free size: each of its elements then
/// serves as many neighbours. With an epilogue and no second scalar, this is TensorScalarReduce.
pub fn tensor_scalar_ptr(
    p: &TensorScalarPtr,
    src: &Source,
    scalar0: Option<&Input>,
    scalar1: Option<&Input>,
    dst: &mut Dst,
    epilogue: Option<&Epilogue>,
    profile: &Profile,
) -> Result<()> {
    two_scalars(p, src, [scalar0, scalar1].map(|s| s.map(|s| Second::Input(*s))), dst, epilogue, profile)
}

/// out = op1(op0(tensor0, scalar), tensor1).
pub fn scalar_tensor_tensor(
    p: &TensorScalarPtr,
    tensor0: &Source,
    scalar: &Input,
    tensor1: &Source,
    dst: &mut Dst,
    epilogue: Option<&Epilogue>,
    profile: &Profile,
) -> Result<()> {
    let view = tensor1.view(dst);
    if view.lane_len() != dst.lane_len() {
        return Err(super::lane_loop::shapes_differ(&view, dst).operand("ins[2]"));
    }
    two_scalars(p, tensor0, [Some(Second::Input(*scalar)), Some(tensor1.into())], dst, epilogue, profile)
}

fn two_scalars(
    p: &TensorScalarPtr,
    src: &Source,
    scalars: [Option<Second>; 2],
    dst: &mut Dst,
    epilogue: Option<&Epilogue>,
    profile: &Profile,
) -> Result<()> {
    check_operands(&src.view(dst), dst)?;
    normalise(src, scalars, dst, epilogue, |src, scalars, dst| two_operands(p, src, scalars, dst, epilogue, profile))
}

fn two_operands(
    p: &TensorScalarPtr,
    src: &Source,
    scalars: [Option<Second>; 2],
    dst: &mut Dst,
    epilogue: Option<&Epilogue>,
    profile: &Profile,
) -> Result<()> {
    // A skipped stage does not take part in the choice of the path.
    let used = [(p.op0, &scalars[0]), (p.op1, &scalars[1])];
    if used.iter().any(|(op, s)| s.is_some() && op.is_bitvec()) {
        check_cast(Dtype::Int32, dst.dtype(), profile)?;
        if through_f32::wanted(profile) {
            return through_f32::run(src, scalars, dst, profile, |src, scalars, dst, profile| {
                two_operands(p, &Source::Apart(*src), scalars, dst, epilogue, profile)
            });
        }
        let scalars = scalars.map(|s| match s {
            Some(Second::Input(input)) => Some(Second::Input(bitvec_input(&input, profile).unwrap_or(input))),
            other => other,
        });
        two_stage::<i32>(p, scalars, src, dst, epilogue, profile, |op| {
            Ok(int_op(op).map_err(|_| bitvec_miss(op))?.under(profile))
        })
    } else if p.address {
        two_stage::<i64>(p, scalars, src, dst, epilogue, profile, |op| Ok(address_op(op)?.under(profile)))
    } else {
        check_cast(Dtype::Float32, dst.dtype(), profile)?;
        two_stage::<f32>(p, scalars, src, dst, epilogue, profile, |op| float_op(op, profile))
    }
}

fn two_stage<N: Number>(
    p: &TensorScalarPtr,
    scalars: [Option<Second>; 2],
    src: &Source,
    dst: &mut Dst,
    epilogue: Option<&Epilogue>,
    profile: &Profile,
    lookup: impl Fn(AluOp) -> Result<N::Op>,
) -> Result<()> {
    let stage = |op, reverse, k: usize, name| -> Result<Option<Stage<N>>> {
        let Some(scalar) = &scalars[k] else { return Ok(None) };
        Ok(Some(Stage { op: lookup(op)?, reverse, operand: Operand::of(scalar, dst, name)? }))
    };
    let stages = [stage(p.op0, p.reverse0, 0, "ins[1]")?, stage(p.op1, p.reverse1, 1, "ins[2]")?];
    map_lanes(src, &stages, dst, epilogue, profile, |_| {})
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
