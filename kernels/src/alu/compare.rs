//! The compare map: six comparisons, of signed and unsigned integers and of floats (`alu.md` 2).

use super::table::{CompareKind, compare_entry, with_comparison};
use super::{AluOp, Map, miss};
use crate::Result;
use crate::isa::per_isa;

/// A member of the compare map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompareOp(CompareKind);

/// Looks `op` up in the compare map.
pub fn compare_op(op: AluOp) -> Result<CompareOp> {
    compare_entry(op).map(CompareOp).ok_or_else(|| miss(op, Map::Compare))
}

impl CompareOp {
    /// a op b: integers by their type, floats with every comparison of a NaN false but `not_equal`.
    #[inline]
    pub fn call<T: PartialOrd>(self, a: T, b: T) -> bool {
        macro_rules! run {
            ($cmp:tt) => {
                a $cmp b
            };
        }
        with_comparison!(self.0, run)
    }
}

per_isa! {
    /// keep = value op 0.
    pub(crate) fn compare_to_zero(op: CompareOp, values: &[i32], keep: &mut [bool]) {
        macro_rules! run {
            ($cmp:tt) => {
                for (k, v) in keep.iter_mut().zip(values) {
                    *k = *v $cmp 0;
                }
            };
        }
        with_comparison!(op.0, run)
    }
}

per_isa! {
    /// keep = keep and value op bound.
    pub(crate) fn and_compare(op: CompareOp, values: &[f32], bound: f32, keep: &mut [bool]) {
        macro_rules! run {
            ($cmp:tt) => {
                for (k, v) in keep.iter_mut().zip(values) {
                    *k &= *v $cmp bound;
                }
            };
        }
        with_comparison!(op.0, run)
    }
}
