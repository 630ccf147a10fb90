//! Which arithmetic an instruction runs in (`alu.md` 2.1, ruling D4).

use crate::alu::{AluOp, int_op};
use crate::{Dtype, Profile};

/// The arithmetic of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumericPath {
    /// float32 and the float map.
    Float,
    /// int32 and the int map.
    Int,
    /// int64 and the address map.
    Address,
}

/// The path of TensorTensor (ruling D4). `on_pool`: the engine is Pool and no operand lies in PSUM.
pub fn tensor_tensor_path(op: AluOp, on_pool: bool, ins: [Dtype; 2], out: Dtype, profile: &Profile) -> NumericPath {
    if op.is_bitvec() {
        NumericPath::Int
    } else if on_pool && profile.pool_integer && is_pool_op(op, &ins, out) {
        NumericPath::Address
    } else if profile.integer_arithmetic && ins.iter().all(|d| d.is_integer()) && int_op(op).is_ok() {
        NumericPath::Int
    } else {
        NumericPath::Float
    }
}

/// The path of TensorReduce (ruling D4): as TensorTensor, but integer arithmetic only into int32.
pub fn tensor_reduce_path(op: AluOp, on_pool: bool, input: Dtype, out: Dtype, profile: &Profile) -> NumericPath {
    match tensor_tensor_path(op, on_pool, [input, input], out, profile) {
        NumericPath::Int if !op.is_bitvec() && out != Dtype::Int32 => NumericPath::Float,
        path => path,
    }
}

/// The predicate "ALU op on Pool": add, subtract, mult of integers of 32 bits or more throughout.
fn is_pool_op(op: AluOp, ins: &[Dtype], out: Dtype) -> bool {
    let wide = |d: &Dtype| d.is_integer() && d.size() >= 4;
    matches!(op, AluOp::Add | AluOp::Subtract | AluOp::Mult) && ins.iter().all(wide) && wide(&out)
}

/// How results of the address path wrap at the width of 32-bit operands when the output is wider: `Some(signed)`.
pub(crate) fn narrow_wrap(ins: &[Dtype], out: Dtype) -> Option<bool> {
    (out.size() == 8 && ins.iter().all(|d| d.size() == 4)).then(|| ins.iter().any(|d| d.is_signed()))
}

/// Wraps values at 32 bits.
pub(crate) fn wrap_32(values: &mut [i64], signed: bool) {
    for v in values {
        *v = if signed { i64::from(*v as i32) } else { i64::from(*v as u32) };
    }
}
