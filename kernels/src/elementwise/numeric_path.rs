//! Which arithmetic an instruction runs in (`alu.md` 2.1, ruling D4).

use crate::alu::{AluOp, Trait, int_op};
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

/// The path of TensorTensor (ruling D4). `on_pool`: the engine is Pool and no operand is in PSUM.
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
    op.is(Trait::Pool) && ins.iter().all(wide) && wide(&out)
}

/// Arithmetic results saturate at the range of a destination that is narrower than the arithmetic (ruling D53); bit-vector
/// results keep their low bits, which is what a write does by itself.
pub(crate) fn int_range(op: AluOp, out: Dtype) -> Option<(i32, i32)> {
    let narrow = !op.is_bitvec() && out.is_integer() && out.size() < 4;
    narrow.then(|| match (out.is_signed(), out.size()) {
        (true, 1) => (i8::MIN.into(), i8::MAX.into()),
        (true, _) => (i16::MIN.into(), i16::MAX.into()),
        (false, 1) => (0, u8::MAX.into()),
        (false, _) => (0, u16::MAX.into()),
    })
}

/// What happens to results of the address path before they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddressResult {
    /// Nothing: destination and operands have one width, at which the write wraps.
    AsIs,
    /// They wrap at 32 bits, signed or not, and are extended.
    Wrap32 { signed: bool },
    /// They saturate at the range of a narrower destination (ruling D53); the flag says that they are signed.
    Saturate { signed: bool, low: i64, high: i64 },
}

impl AddressResult {
    /// For operands and a destination that are integers of 32 or 64 bits.
    pub(crate) fn of(ins: &[Dtype], out: Dtype) -> Self {
        let signed = ins.iter().any(|d| d.is_signed());
        let widest = ins.iter().map(|d| d.size()).max().unwrap_or(0);
        if out.size() > widest {
            AddressResult::Wrap32 { signed }
        } else if out.size() < widest {
            let (low, high) = if out.is_signed() { (i32::MIN.into(), i32::MAX.into()) } else { (0, u32::MAX.into()) };
            AddressResult::Saturate { signed, low, high }
        } else {
            AddressResult::AsIs
        }
    }

    /// Makes results what is written.
    pub(crate) fn apply(self, values: &mut [i64]) {
        match self {
            AddressResult::AsIs => {}
            AddressResult::Wrap32 { signed: true } => values.iter_mut().for_each(|v| *v = i64::from(*v as i32)),
            AddressResult::Wrap32 { signed: false } => values.iter_mut().for_each(|v| *v = i64::from(*v as u32)),
            AddressResult::Saturate { signed: true, low, high } => {
                values.iter_mut().for_each(|v| *v = (*v).clamp(low, high));
            }
            AddressResult::Saturate { signed: false, high, .. } => {
                values.iter_mut().for_each(|v| *v = (*v as u64).min(high as u64) as i64);
            }
        }
    }
}

/// Clamps results of the int path.
pub(crate) fn clamp_int(range: Option<(i32, i32)>, values: &mut [i32]) {
    if let Some((low, high)) = range {
        values.iter_mut().for_each(|v| *v = (*v).clamp(low, high));
    }
}
