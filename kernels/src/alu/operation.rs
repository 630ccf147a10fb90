//! What a looked-up operation can do: one trait for all maps, and the loops, compiled once per operation and instruction
//! set.

use crate::access::{Rows, RowsMut};

/// A member of a map, ready to be applied.
///
/// The left operand is the first tensor, or the accumulator of a fold. Reversed forms swap the operands.
pub trait Operation: Copy + Send + Sync {
    /// What it computes on.
    type Value: Copy;

    /// The operation on one pair.
    fn call(self, a: Self::Value, b: Self::Value) -> Self::Value;

    /// a = op(a, b), row by row and element by element, over the shorter of the two.
    fn apply_rows(self, a: RowsMut<Self::Value>, b: Rows<Self::Value>);

    /// As [`Operation::apply_rows`] with op(b, a).
    fn apply_rows_reversed(self, a: RowsMut<Self::Value>, b: Rows<Self::Value>);

    /// out = op(a, b), row by row and element by element, over the shortest of the three.
    fn apply_rows_into(self, out: RowsMut<Self::Value>, a: Rows<Self::Value>, b: Rows<Self::Value>);

    /// a = op(a, s), or op(s, a) when reversed; s has one value per row.
    fn scale_rows(self, a: RowsMut<Self::Value>, s: Rows<Self::Value>, reverse: bool);

    /// out = op(a, s), or op(s, a) when reversed; s has one value per row.
    fn scale_rows_into(self, out: RowsMut<Self::Value>, a: Rows<Self::Value>, s: Rows<Self::Value>, reverse: bool);

    /// `acc[r] = op(.. op(acc[r], x_skip) .., x_n-1)` over row r of `data`, whose rows have `n` elements; in order.
    fn fold_rows(self, acc: &mut [Self::Value], data: &[Self::Value], n: usize, skip: usize);

    /// As [`Operation::fold_rows`] for rows of equal length that are anywhere in memory.
    fn fold_side_by_side(self, acc: &mut [Self::Value], rows: &[&[Self::Value]]);

    /// Some folds can be found in any order; [`Operation::fold_any_order`] says whether that holds for given values.
    fn has_any_order(self) -> bool;

    /// The fold x0 op x1 .. op xn when it can be found in any order with the same bits; else `None`.
    fn fold_any_order(self, data: &[Self::Value]) -> Option<Self::Value>;

    /// a = op(a, b), element by element over the shorter of the two.
    #[inline]
    fn apply(self, a: &mut [Self::Value], b: &[Self::Value]) {
        self.apply_rows(RowsMut::one(a), Rows::one(b));
    }

    /// a = op(b, a), element by element over the shorter of the two.
    #[inline]
    fn apply_reversed(self, a: &mut [Self::Value], b: &[Self::Value]) {
        self.apply_rows_reversed(RowsMut::one(a), Rows::one(b));
    }

    /// out = op(a, b), element by element over the shortest of the three.
    #[inline]
    fn apply_into(self, out: &mut [Self::Value], a: &[Self::Value], b: &[Self::Value]) {
        self.apply_rows_into(RowsMut::one(out), Rows::one(a), Rows::one(b));
    }

    /// a = op(a, s), or op(s, a) when reversed.
    #[inline]
    fn apply_scalar(self, a: &mut [Self::Value], s: Self::Value, reverse: bool) {
        self.scale_rows(RowsMut::one(a), Rows::repeat(&s), reverse);
    }

    /// out = op(a, s), or op(s, a) when reversed.
    #[inline]
    fn apply_scalar_into(self, out: &mut [Self::Value], a: &[Self::Value], s: Self::Value, reverse: bool) {
        self.scale_rows_into(RowsMut::one(out), Rows::one(a), Rows::repeat(&s), reverse);
    }
}

/// The loops of a map, as the first methods of its `impl Operation`. `$with!(op, f => loop)` binds `f` to the closure of
/// the operation; the match inside is outside of the loop, so that each closure gets a loop of its own, which vectorises.
macro_rules! loops {
    ($op:ident, $t:ty, $with:ident) => {
        type Value = $t;

        #[inline]
        fn call(self, a: $t, b: $t) -> $t {
            $with!(self, f => f(a, b))
        }

        fn apply_rows(self, a: RowsMut<$t>, b: Rows<$t>) {
            $crate::isa::per_isa! {
                fn run(op: $op, a: RowsMut<$t>, b: Rows<$t>) { $with!(op, f => blocks::zip(a, b, f)) }
            }
            run(self, a, b);
        }

        fn apply_rows_reversed(self, a: RowsMut<$t>, b: Rows<$t>) {
            $crate::isa::per_isa! {
                fn run(op: $op, a: RowsMut<$t>, b: Rows<$t>) { $with!(op, f => blocks::zip_reversed(a, b, f)) }
            }
            run(self, a, b);
        }

        fn apply_rows_into(self, out: RowsMut<$t>, a: Rows<$t>, b: Rows<$t>) {
            $crate::isa::per_isa! {
                fn run(op: $op, out: RowsMut<$t>, a: Rows<$t>, b: Rows<$t>) {
                    $with!(op, f => blocks::zip_into(out, a, b, f))
                }
            }
            run(self, out, a, b);
        }

        fn scale_rows(self, a: RowsMut<$t>, s: Rows<$t>, reverse: bool) {
            $crate::isa::per_isa! {
                fn run(op: $op, a: RowsMut<$t>, s: Rows<$t>, reverse: bool) {
                    $with!(op, f => blocks::scalar(a, s, reverse, f))
                }
            }
            run(self, a, s, reverse);
        }

        fn scale_rows_into(self, out: RowsMut<$t>, a: Rows<$t>, s: Rows<$t>, reverse: bool) {
            $crate::isa::per_isa! {
                fn run(op: $op, out: RowsMut<$t>, a: Rows<$t>, s: Rows<$t>, reverse: bool) {
                    $with!(op, f => blocks::scalar_into(out, a, s, reverse, f))
                }
            }
            run(self, out, a, s, reverse);
        }

        fn fold_rows(self, acc: &mut [$t], data: &[$t], n: usize, skip: usize) {
            $with!(self, f => blocks::fold_rows(acc, data, n, skip, f));
        }
    };
}

pub(super) use loops;
