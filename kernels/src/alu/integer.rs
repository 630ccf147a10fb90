//! The int map (int32, saturating) and the address map (int64, wrapping), `alu.md` 2 and 4.
//!
//! The documents confirm the bit, shift, add, subtract, mult, max and min entries; the other entries are accepted with
//! their natural meaning (`alu.md` 3). Division and remainder by zero give 0.

use super::{AluOp, blocks, miss};
use crate::profile::{IntOverflow, ShiftRange};
use crate::{Profile, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bypass,
    Not,
    ShiftLeft,
    ArithRight,
    LogicalRight,
    MaskedLeft,
    MaskedArith,
    MaskedLogical,
    Add,
    Subtract,
    Mult,
    WrapAdd,
    WrapSubtract,
    WrapMult,
    Divide,
    Max,
    Min,
    And,
    Or,
    Xor,
    LogicalAnd,
    LogicalOr,
    LogicalXor,
    IsEqual,
    NotEqual,
    IsGt,
    IsGe,
    IsLt,
    IsLe,
    Mod,
    ModInt,
    Abs,
}

fn lookup(op: AluOp) -> Option<Kind> {
    Some(match op {
        AluOp::Bypass => Kind::Bypass,
        AluOp::BitwiseNot => Kind::Not,
        AluOp::ArithShiftLeft | AluOp::LogicalShiftLeft => Kind::ShiftLeft,
        AluOp::ArithShiftRight => Kind::ArithRight,
        AluOp::LogicalShiftRight => Kind::LogicalRight,
        AluOp::Add => Kind::Add,
        AluOp::Subtract => Kind::Subtract,
        AluOp::Mult => Kind::Mult,
        AluOp::Divide => Kind::Divide,
        AluOp::Max => Kind::Max,
        AluOp::Min => Kind::Min,
        AluOp::BitwiseAnd => Kind::And,
        AluOp::BitwiseOr => Kind::Or,
        AluOp::BitwiseXor => Kind::Xor,
        AluOp::LogicalAnd => Kind::LogicalAnd,
        AluOp::LogicalOr => Kind::LogicalOr,
        AluOp::LogicalXor => Kind::LogicalXor,
        AluOp::IsEqual => Kind::IsEqual,
        AluOp::NotEqual => Kind::NotEqual,
        AluOp::IsGt => Kind::IsGt,
        AluOp::IsGe => Kind::IsGe,
        AluOp::IsLt => Kind::IsLt,
        AluOp::IsLe => Kind::IsLe,
        AluOp::Mod => Kind::Mod,
        AluOp::ModInt => Kind::ModInt,
        AluOp::Abs => Kind::Abs,
        AluOp::Average | AluOp::ElemwiseMul | AluOp::Pow | AluOp::Rsqrt | AluOp::AbsMax | AluOp::AbsMin => return None,
    })
}

/// The operation under the choices of a profile.
fn chosen(kind: Kind, profile: &Profile) -> Kind {
    let (wraps, masked) = (profile.integer_overflow == IntOverflow::Wrap, profile.shift_range == ShiftRange::Masked);
    match kind {
        Kind::Add if wraps => Kind::WrapAdd,
        Kind::Subtract if wraps => Kind::WrapSubtract,
        Kind::Mult if wraps => Kind::WrapMult,
        Kind::ShiftLeft if masked => Kind::MaskedLeft,
        Kind::ArithRight if masked => Kind::MaskedArith,
        Kind::LogicalRight if masked => Kind::MaskedLogical,
        other => other,
    }
}

/// Looks `op` up in the int map.
pub fn int_op(op: AluOp) -> Result<IntOp> {
    lookup(op).map(IntOp::new).ok_or_else(|| miss(op, "int"))
}

/// Looks `op` up in the address map. `mod_int` is not a member.
pub fn address_op(op: AluOp) -> Result<AddressOp> {
    lookup(op).filter(|k| *k != Kind::ModInt).map(AddressOp::new).ok_or_else(|| miss(op, "address"))
}

macro_rules! map {
    ($name:ident, $doc:literal, $int:ident, $uint:ident, $add:ident, $sub:ident, $mul:ident, $div:ident, $abs:ident, $wraps:literal) => {
        #[doc = $doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name(Kind);

        macro_rules! with_op {
            ($kind:expr, $f:ident => $body:expr) => {{
                macro_rules! run {
                    ($closure:expr) => {{
                        let $f = $closure;
                        $body
                    }};
                }
                const WIDTH: $uint = $uint::BITS as $uint;
                match $kind {
                    Kind::Bypass => run!(|a: $int, _: $int| a),
                    Kind::Not => run!(|a: $int, _: $int| !a),
                    // A shift amount is unsigned; one that is not below the width shifts everything out.
                    Kind::ShiftLeft => run!(|a: $int, b: $int| if (b as $uint) < WIDTH { a << b } else { 0 }),
                    Kind::ArithRight => run!(|a: $int, b: $int| a >> (b as $uint).min(WIDTH - 1)),
                    Kind::LogicalRight => {
                        run!(|a: $int, b: $int| if (b as $uint) < WIDTH { (a as $uint >> b) as $int } else { 0 })
                    }
                    Kind::MaskedLeft => run!(|a: $int, b: $int| a.wrapping_shl(b as u32)),
                    Kind::MaskedArith => run!(|a: $int, b: $int| a.wrapping_shr(b as u32)),
                    Kind::MaskedLogical => run!(|a: $int, b: $int| (a as $uint).wrapping_shr(b as u32) as $int),
                    Kind::WrapAdd => run!($int::wrapping_add),
                    Kind::WrapSubtract => run!($int::wrapping_sub),
                    Kind::WrapMult => run!($int::wrapping_mul),
                    Kind::Add => run!($int::$add),
                    Kind::Subtract => run!($int::$sub),
                    Kind::Mult => run!($int::$mul),
                    Kind::Divide => run!(|a: $int, b: $int| if b == 0 { 0 } else { a.$div(b) }),
                    Kind::Max => run!(|a: $int, b: $int| a.max(b)),
                    Kind::Min => run!(|a: $int, b: $int| a.min(b)),
                    Kind::And => run!(|a: $int, b: $int| a & b),
                    Kind::Or => run!(|a: $int, b: $int| a | b),
                    Kind::Xor => run!(|a: $int, b: $int| a ^ b),
                    Kind::LogicalAnd => run!(|a: $int, b: $int| $int::from((a != 0) & (b != 0))),
                    Kind::LogicalOr => run!(|a: $int, b: $int| $int::from((a != 0) | (b != 0))),
                    Kind::LogicalXor => run!(|a: $int, b: $int| $int::from((a != 0) != (b != 0))),
                    Kind::IsEqual => run!(|a: $int, b: $int| $int::from(a == b)),
                    Kind::NotEqual => run!(|a: $int, b: $int| $int::from(a != b)),
                    Kind::IsGt => run!(|a: $int, b: $int| $int::from(a > b)),
                    Kind::IsGe => run!(|a: $int, b: $int| $int::from(a >= b)),
                    Kind::IsLt => run!(|a: $int, b: $int| $int::from(a < b)),
                    Kind::IsLe => run!(|a: $int, b: $int| $int::from(a <= b)),
                    Kind::Mod => run!(|a: $int, b: $int| {
                        // Floored: the remainder takes the sign of the divisor.
                        let r = if b == 0 { 0 } else { a.wrapping_rem(b) };
                        if r != 0 && (r < 0) != (b < 0) { r + b } else { r }
                    }),
                    Kind::ModInt => run!(|a: $int, b: $int| if b == 0 { 0 } else { a.wrapping_rem(b) }),
                    Kind::Abs => run!(|a: $int, _: $int| a.$abs()),
                }
            }};
        }

        impl $name {
            /// The same operation under the choices of a profile.
            #[must_use]
            pub fn under(self, profile: &Profile) -> Self {
                $name(chosen(self.0, profile))
            }

            /// The operation on one pair.
            #[inline]
            pub fn call(self, a: $int, b: $int) -> $int {
                with_op!(self.0, f => f(a, b))
            }

            /// As `fold_rows` for rows of equal length that lie anywhere.
            pub(crate) fn fold_side_by_side(self, acc: &mut [$int], rows: &[&[$int]]) {
                with_op!(self.0, f => blocks::fold_group(acc, rows, f));
            }

            /// The result of a fold does not depend on the order of its values.
            pub(crate) fn has_any_order(self) -> bool {
                let always = matches!(self.0, Kind::Max | Kind::Min | Kind::And | Kind::Or | Kind::Xor);
                always || $wraps && matches!(self.0, Kind::Add | Kind::Mult)
            }

            /// The fold x0 op x1 .. op xn of an operation that has any order; else `None`.
            pub(crate) fn fold_any_order(self, data: &[$int]) -> Option<$int> {
                if !self.has_any_order() {
                    return None;
                }
                with_op!(self.0, f => blocks::fold_any_order(data, f))
            }

            /// a = op(a, b), element by element over the shorter of the two.
            pub fn apply(self, a: &mut [$int], b: &[$int]) {
                apply(self, a, b);
            }

            /// a = op(b, a), element by element over the shorter of the two.
            pub fn apply_reversed(self, a: &mut [$int], b: &[$int]) {
                with_op!(self.0, f => blocks::zip_reversed(a, b, f));
            }

            /// out = op(a, b), element by element over the shortest of the three.
            pub fn apply_into(self, out: &mut [$int], a: &[$int], b: &[$int]) {
                apply_into(self, out, a, b);
            }

            /// out = op(a, s), or op(s, a) when reversed.
            pub fn apply_scalar_into(self, out: &mut [$int], a: &[$int], s: $int, reverse: bool) {
                apply_scalar_into(self, out, a, s, reverse);
            }

            /// a = op(a, s), or op(s, a) when reversed.
            pub fn apply_scalar(self, a: &mut [$int], s: $int, reverse: bool) {
                apply_scalar(self, a, s, reverse);
            }

            /// `acc[r] = op(.. op(acc[r], x_skip) .., x_n-1)` over row r of `data`, whose rows have `n` elements; in order.
            pub fn fold_rows(self, acc: &mut [$int], data: &[$int], n: usize, skip: usize) {
                with_op!(self.0, f => blocks::fold_rows(acc, data, n, skip, f));
            }
        }

        per_isa! {
            fn apply, apply_on(op: $name, a: &mut [$int], b: &[$int]) = bodies::apply;
        }
        per_isa! {
            fn apply_into, apply_into_on(op: $name, out: &mut [$int], a: &[$int], b: &[$int]) = bodies::apply_into;
        }
        per_isa! {
            fn apply_scalar, apply_scalar_on(op: $name, a: &mut [$int], s: $int, reverse: bool) = bodies::apply_scalar;
        }
        per_isa! {
            fn apply_scalar_into, apply_scalar_into_on(op: $name, out: &mut [$int], a: &[$int], s: $int, reverse: bool) =
                bodies::apply_scalar_into;
        }

        /// The loops that are compiled for every instruction set.
        mod bodies {
            use super::{Kind, $name, blocks};

            #[inline(always)]
            pub(super) fn apply(op: $name, a: &mut [$int], b: &[$int]) {
                with_op!(op.0, f => blocks::zip(a, b, f));
            }

            #[inline(always)]
            pub(super) fn apply_into(op: $name, out: &mut [$int], a: &[$int], b: &[$int]) {
                with_op!(op.0, f => blocks::zip_into(out, a, b, f));
            }

            #[inline(always)]
            pub(super) fn apply_scalar(op: $name, a: &mut [$int], s: $int, reverse: bool) {
                with_op!(op.0, f => blocks::scalar(a, s, reverse, f));
            }

            #[inline(always)]
            pub(super) fn apply_scalar_into(op: $name, out: &mut [$int], a: &[$int], s: $int, reverse: bool) {
                with_op!(op.0, f => blocks::scalar_into(out, a, s, reverse, f));
            }
        }
    };
}

mod int {
    use super::{Kind, Profile, blocks, chosen};
    use crate::cast::dispatch::per_isa;
    map!(
        IntOp,
        "A member of the int map: int32, arithmetic saturates.",
        i32,
        u32,
        saturating_add,
        saturating_sub,
        saturating_mul,
        saturating_div,
        saturating_abs,
        false
    );
    impl IntOp {
        pub(super) fn new(kind: Kind) -> Self {
            IntOp(kind)
        }
    }
}

mod address {
    use super::{Kind, Profile, blocks, chosen};
    use crate::cast::dispatch::per_isa;
    map!(
        AddressOp,
        "A member of the address map: int64, arithmetic wraps.",
        i64,
        u64,
        wrapping_add,
        wrapping_sub,
        wrapping_mul,
        wrapping_div,
        wrapping_abs,
        true
    );
    impl AddressOp {
        pub(super) fn new(kind: Kind) -> Self {
            AddressOp(kind)
        }
    }
}

pub use address::AddressOp;
pub use int::IntOp;
