//! ALU operations and the functor maps they are looked up in (`alu.md`).
//!
//! A lookup ([`float_op`], [`int_op`], [`address_op`], [`compare_op`]) checks membership once and returns a small value that
//! is called per element or, faster, per block. The left operand is the accumulator or the first tensor operand.

mod blocks;
#[cfg(target_arch = "x86_64")]
mod columns;
mod compare;
mod float;
mod integer;

pub(crate) use blocks::{GROUP, ROWS};
pub use compare::{CompareOp, compare_op};
pub(crate) use float::FloatVisitor;
pub use float::{FloatOp, average_op, float_op};
pub use integer::{AddressOp, IntOp, address_op, int_op};

use crate::{Code, Error};

crate::named_enum! {
    /// The 33 ALU operations.
    AluOp {
        Bypass = 0, "bypass";
        BitwiseNot = 1, "bitwise_not";
        ArithShiftLeft = 2, "arith_shift_left";
        ArithShiftRight = 3, "arith_shift_right";
        Add = 4, "add";
        Subtract = 5, "subtract";
        Mult = 6, "mult";
        Divide = 7, "divide";
        Max = 8, "max";
        Min = 9, "min";
        BitwiseAnd = 10, "bitwise_and";
        BitwiseOr = 11, "bitwise_or";
        BitwiseXor = 12, "bitwise_xor";
        LogicalAnd = 13, "logical_and";
        LogicalOr = 14, "logical_or";
        LogicalXor = 15, "logical_xor";
        LogicalShiftLeft = 16, "logical_shift_left";
        LogicalShiftRight = 17, "logical_shift_right";
        IsEqual = 18, "is_equal";
        NotEqual = 19, "not_equal";
        IsGt = 20, "is_gt";
        IsGe = 21, "is_ge";
        IsLt = 22, "is_lt";
        IsLe = 23, "is_le";
        Average = 24, "average";
        ElemwiseMul = 25, "elemwise_mul";
        Pow = 26, "pow";
        Mod = 27, "mod";
        Rsqrt = 28, "rsqrt";
        Abs = 29, "abs";
        AbsMax = 30, "abs_max";
        AbsMin = 31, "abs_min";
        ModInt = 32, "mod_int";
    }
}

impl AluOp {
    /// One of the eight bit-vector operations, which select the int32 path (`alu.md` 2.1).
    #[inline]
    pub const fn is_bitvec(self) -> bool {
        matches!(
            self,
            AluOp::BitwiseNot
                | AluOp::ArithShiftLeft
                | AluOp::ArithShiftRight
                | AluOp::BitwiseAnd
                | AluOp::BitwiseOr
                | AluOp::BitwiseXor
                | AluOp::LogicalShiftLeft
                | AluOp::LogicalShiftRight
        )
    }

    /// Looks at its left operand only.
    #[inline]
    pub const fn is_unary(self) -> bool {
        matches!(self, AluOp::Bypass | AluOp::BitwiseNot | AluOp::Rsqrt | AluOp::Abs)
    }
}

/// The error of a lookup that misses.
#[cold]
fn miss(op: AluOp, map: &str) -> Error {
    let members = match map {
        "float" => {
            "bypass, add, subtract, mult, divide, max, min, logical_and, logical_or, logical_xor, is_equal, not_equal, \
             is_gt, is_ge, is_lt, is_le, pow, rsqrt, abs, abs_max, abs_min; mod and mod_int with --set float_mod=true"
        }
        "compare" => "is_equal, not_equal, is_gt, is_ge, is_lt, is_le",
        _ => "all operations but average, elemwise_mul, pow, rsqrt, abs_max, abs_min",
    };
    Error::new(Code::S006, format!("the ALU op {op} is not supported yet: it is not in the {map} map"))
        .received(op)
        .advice(format!("the {map} map has {members}"))
}
