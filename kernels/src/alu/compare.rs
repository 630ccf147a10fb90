//! The integer compare map: six comparisons, signed and unsigned (`alu.md` 2).

use super::{AluOp, miss};
use crate::Result;
use std::cmp::Ordering;

/// A member of the compare map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompareOp {
    less: bool,
    equal: bool,
    greater: bool,
}

/// Looks `op` up in the compare map.
pub fn compare_op(op: AluOp) -> Result<CompareOp> {
    let (less, equal, greater) = match op {
        AluOp::IsEqual => (false, true, false),
        AluOp::NotEqual => (true, false, true),
        AluOp::IsGt => (false, false, true),
        AluOp::IsGe => (false, true, true),
        AluOp::IsLt => (true, false, false),
        AluOp::IsLe => (true, true, false),
        _ => return Err(miss(op, "compare")),
    };
    Ok(CompareOp { less, equal, greater })
}

impl CompareOp {
    #[inline(always)]
    fn test(self, order: Ordering) -> bool {
        match order {
            Ordering::Less => self.less,
            Ordering::Equal => self.equal,
            Ordering::Greater => self.greater,
        }
    }

    /// The comparison of signed numbers.
    #[inline]
    pub fn call(self, a: i32, b: i32) -> bool {
        self.test(a.cmp(&b))
    }

    /// The comparison of the same bits as unsigned numbers.
    #[inline]
    pub fn call_unsigned(self, a: i32, b: i32) -> bool {
        self.test((a as u32).cmp(&(b as u32)))
    }
}
