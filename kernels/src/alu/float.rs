//! The float map: float32 (`alu.md` 2 and 3).

use super::declare::of;
use super::floats::*;
use super::operation::loops;
use super::table::{FloatKind, float_closure, float_entry, with_float};
use super::{AluOp, Map, Operation, blocks, miss};
#[cfg(target_arch = "x86_64")]
use super::{blocks::GROUP, columns};
use crate::access::{Rows, RowsMut};
#[cfg(target_arch = "x86_64")]
use crate::isa::Isa;
use crate::isa::per_isa;
use crate::{Profile, Result};

/// A member of the float map, ready to be applied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FloatOp(Step);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    /// A member, and whether the profile asks for its second reading.
    Member(FloatKind, bool),
    /// a + r * b.
    Average(f32),
}

/// The function of an average over `n` values, which programs cannot name: acc + (1/n) * x (`alu.md` 4.10).
pub fn average_op(n: usize) -> FloatOp {
    FloatOp(Step::Average(1.0 / n as f32))
}

/// Looks `op` up in the float map. Ruling D46: mod and mod_int are members under the device profile only.
pub fn float_op(op: AluOp, profile: &Profile) -> Result<FloatOp> {
    let (kind, second) = float_entry(op, profile).ok_or_else(|| miss(op, Map::Float))?;
    Ok(FloatOp(Step::Member(kind, second)))
}

/// Evaluates `$body` with `$f` bound to the operation's closure.
macro_rules! with_op {
    ($op:expr, $f:ident => $body:expr) => {
        match $op.0 {
            Step::Member(kind, second) => with_float!(kind, second, $f => $body),
            Step::Average(r) => {
                let $f = of::<f32, _>(move |a, b| a + r * b);
                $body
            }
        }
    };
}

impl Operation for FloatOp {
    loops!(FloatOp, f32, with_op);

    fn fold_side_by_side(self, acc: &mut [f32], rows: &[&[f32]]) {
        #[cfg(target_arch = "x86_64")]
        if let (Ok(acc), Ok(rows)) = (<&mut [f32; GROUP]>::try_from(&mut *acc), rows.try_into())
            && Isa::best() != Isa::Scalar
        {
            // SAFETY: this CPU has AVX2 and FMA.
            return unsafe { fold_columns(self, acc, rows) };
        }
        with_op!(self, f => blocks::fold_group(acc, rows, f));
    }

    fn has_any_order(self) -> bool {
        matches!(self.0, Step::Member(FloatKind::Max | FloatKind::Min, false))
    }

    fn fold_any_order(self, data: &[f32]) -> Option<f32> {
        per_isa! {
            fn run(op: FloatOp, data: &[f32]) -> Option<f32> {
                match op.0 {
                    Step::Member(FloatKind::Max, false) => blocks::extreme_any_order(data, float_closure!(Max)),
                    Step::Member(FloatKind::Min, false) => blocks::extreme_any_order(data, float_closure!(Min)),
                    _ => None,
                }
            }
        }
        run(self, data)
    }
}

impl FloatOp {
    /// op(.. op(acc, x0) .., xn), strictly in order.
    pub fn fold(self, acc: f32, data: &[f32]) -> f32 {
        with_op!(self, f => data.iter().fold(acc, |a, x| f(a, *x)))
    }

    /// Hands the operation to a loop. Only the common operations get a copy of the loop, because chains of two operations
    /// have the square of their number; all others share one that looks the operation up for every element.
    pub(crate) fn visit(self, v: impl FloatVisitor) -> f32 {
        match self.0 {
            Step::Member(FloatKind::Bypass, _) => v.visit(float_closure!(Bypass)),
            Step::Member(FloatKind::Add, _) => v.visit(float_closure!(Add)),
            Step::Member(FloatKind::Subtract, _) => v.visit(float_closure!(Subtract)),
            Step::Member(FloatKind::Mult, _) => v.visit(float_closure!(Mult)),
            Step::Member(FloatKind::Max, false) => v.visit(float_closure!(Max)),
            Step::Member(FloatKind::Min, false) => v.visit(float_closure!(Min)),
            Step::Member(..) | Step::Average(_) => v.visit(move |a, b| self.call(a, b)),
        }
    }

    /// The operation is bypass.
    pub fn is_bypass(self) -> bool {
        matches!(self.0, Step::Member(FloatKind::Bypass, _))
    }
}

/// A full group of rows in the lanes of vectors.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn fold_columns(op: FloatOp, acc: &mut [f32; GROUP], rows: &[&[f32]; GROUP]) {
    // SAFETY: this function runs on CPUs with AVX2 only.
    with_op!(op, f => unsafe { columns::fold(acc, rows, f) });
}

/// A loop that is generic over its operation; it returns its last state.
pub(crate) trait FloatVisitor {
    fn visit(self, f: impl Fn(f32, f32) -> f32 + Copy) -> f32;
}
