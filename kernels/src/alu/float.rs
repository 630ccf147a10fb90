//! The float map: 21 operations on float32 (`alu.md` 2 and 3).

use super::blocks;
use super::{AluOp, miss};
#[cfg(target_arch = "x86_64")]
use super::{blocks::GROUP, columns};
use crate::cast::dispatch::per_isa;
use crate::cast::{ieee_max, ieee_min, sse_max, sse_min};
#[cfg(target_arch = "x86_64")]
use crate::isa::Isa;
use crate::profile::FloatMaxMin;
use crate::{Profile, Result};

/// A member of the float map, ready to be applied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FloatOp(Kind);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Bypass,
    Add,
    Subtract,
    Mult,
    Divide,
    Max,
    Min,
    MaxIeee,
    MinIeee,
    LogicalAnd,
    LogicalOr,
    LogicalXor,
    IsEqual,
    NotEqual,
    IsGt,
    IsGe,
    IsLt,
    IsLe,
    Pow,
    Rsqrt,
    Abs,
    AbsMax,
    AbsMin,
    AbsMaxSigned,
    AbsMinSigned,
    Mod,
    ModInt,
    Average(f32),
}

/// The functor of an average over `n` values, which is no member of the map: acc + (1/n) * x (`alu.md` 4.10).
pub fn average_op(n: usize) -> FloatOp {
    FloatOp(Kind::Average(1.0 / n as f32))
}

/// Looks `op` up in the float map. Ruling D46: mod and mod_int are members under the device profile only.
pub fn float_op(op: AluOp, profile: &Profile) -> Result<FloatOp> {
    let signed = profile.abs_max_keeps_sign;
    let ieee = profile.float_max_min == FloatMaxMin::Ieee;
    Ok(FloatOp(match op {
        AluOp::Bypass => Kind::Bypass,
        AluOp::Add => Kind::Add,
        AluOp::Subtract => Kind::Subtract,
        AluOp::Mult => Kind::Mult,
        AluOp::Divide => Kind::Divide,
        AluOp::Max if ieee => Kind::MaxIeee,
        AluOp::Min if ieee => Kind::MinIeee,
        AluOp::Max => Kind::Max,
        AluOp::Min => Kind::Min,
        AluOp::LogicalAnd => Kind::LogicalAnd,
        AluOp::LogicalOr => Kind::LogicalOr,
        AluOp::LogicalXor => Kind::LogicalXor,
        AluOp::IsEqual => Kind::IsEqual,
        AluOp::NotEqual => Kind::NotEqual,
        AluOp::IsGt => Kind::IsGt,
        AluOp::IsGe => Kind::IsGe,
        AluOp::IsLt => Kind::IsLt,
        AluOp::IsLe => Kind::IsLe,
        AluOp::Pow => Kind::Pow,
        AluOp::Rsqrt => Kind::Rsqrt,
        AluOp::Abs => Kind::Abs,
        AluOp::AbsMax if signed => Kind::AbsMaxSigned,
        AluOp::AbsMin if signed => Kind::AbsMinSigned,
        AluOp::AbsMax => Kind::AbsMax,
        AluOp::AbsMin => Kind::AbsMin,
        AluOp::Mod if profile.float_mod => Kind::Mod,
        AluOp::ModInt if profile.float_mod => Kind::ModInt,
        _ => return Err(miss(op, "float")),
    }))
}

/// Evaluates `$body` with `$f` bound to the operation's closure.
macro_rules! with_op {
    ($kind:expr, $f:ident => $body:expr) => {{
        macro_rules! run {
            ($closure:expr) => {{
                let $f = $closure;
                $body
            }};
        }
        match $kind {
            Kind::Bypass => run!(|a: f32, _: f32| a),
            Kind::Add => run!(|a: f32, b: f32| a + b),
            Kind::Subtract => run!(|a: f32, b: f32| a - b),
            Kind::Mult => run!(|a: f32, b: f32| a * b),
            Kind::Divide => run!(|a: f32, b: f32| a / b),
            Kind::Max => run!(sse_max),
            Kind::Min => run!(sse_min),
            Kind::MaxIeee => run!(ieee_max),
            Kind::MinIeee => run!(ieee_min),
            Kind::LogicalAnd => run!(|a: f32, b: f32| truth((a != 0.0) & (b != 0.0))),
            Kind::LogicalOr => run!(|a: f32, b: f32| truth((a != 0.0) | (b != 0.0))),
            Kind::LogicalXor => run!(|a: f32, b: f32| truth((a != 0.0) != (b != 0.0))),
            Kind::IsEqual => run!(|a: f32, b: f32| truth(a == b)),
            Kind::NotEqual => run!(|a: f32, b: f32| truth(a != b)),
            Kind::IsGt => run!(|a: f32, b: f32| truth(a > b)),
            Kind::IsGe => run!(|a: f32, b: f32| truth(a >= b)),
            Kind::IsLt => run!(|a: f32, b: f32| truth(a < b)),
            Kind::IsLe => run!(|a: f32, b: f32| truth(a <= b)),
            Kind::Pow => run!(pow),
            Kind::Rsqrt => run!(|a: f32, _: f32| 1.0 / a.sqrt()),
            Kind::Abs => run!(|a: f32, _: f32| a.abs()),
            Kind::AbsMax => run!(|a: f32, b: f32| sse_max(a.abs(), b.abs())),
            Kind::AbsMin => run!(|a: f32, b: f32| sse_min(a.abs(), b.abs())),
            Kind::AbsMaxSigned => run!(|a: f32, b: f32| if a.abs() > b.abs() { a } else { b }),
            Kind::AbsMinSigned => run!(|a: f32, b: f32| if a.abs() < b.abs() { a } else { b }),
            Kind::Mod => run!(floored_mod),
            Kind::ModInt => run!(truncated_mod),
            Kind::Average(r) => run!(move |a: f32, b: f32| a + r * b),
        }
    }};
}

impl FloatOp {
    /// The operation on one pair.
    #[inline]
    pub fn call(self, a: f32, b: f32) -> f32 {
        with_op!(self.0, f => f(a, b))
    }

    /// a = op(a, b), element by element over the shorter of the two.
    pub fn apply(self, a: &mut [f32], b: &[f32]) {
        apply(self, a, b);
    }

    /// a = op(b, a), element by element over the shorter of the two.
    pub fn apply_reversed(self, a: &mut [f32], b: &[f32]) {
        apply_reversed(self, a, b);
    }

    /// out = op(a, b), element by element over the shortest of the three.
    pub fn apply_into(self, out: &mut [f32], a: &[f32], b: &[f32]) {
        apply_into(self, out, a, b);
    }

    /// a = op(a, s), or op(s, a) when reversed.
    pub fn apply_scalar(self, a: &mut [f32], s: f32, reverse: bool) {
        apply_scalar(self, a, s, reverse);
    }

    /// out = op(a, s), or op(s, a) when reversed.
    pub fn apply_scalar_into(self, out: &mut [f32], a: &[f32], s: f32, reverse: bool) {
        apply_scalar_into(self, out, a, s, reverse);
    }

    /// `acc[r] = op(.. op(acc[r], x_skip) .., x_n-1)` over row r of `data`, whose rows have `n` elements; in order.
    pub fn fold_rows(self, acc: &mut [f32], data: &[f32], n: usize, skip: usize) {
        with_op!(self.0, f => blocks::fold_rows(acc, data, n, skip, f));
    }

    /// As [`FloatOp::fold_rows`] for rows of equal length that lie anywhere.
    pub(crate) fn fold_side_by_side(self, acc: &mut [f32], rows: &[&[f32]]) {
        #[cfg(target_arch = "x86_64")]
        if let (Ok(acc), Ok(rows)) = (<&mut [f32; GROUP]>::try_from(&mut *acc), rows.try_into())
            && Isa::best() != Isa::Scalar
        {
            // SAFETY: this CPU has AVX2 and FMA.
            return unsafe { fold_columns(self, acc, rows) };
        }
        with_op!(self.0, f => blocks::fold_group(acc, rows, f));
    }

    /// Some values can be folded faster, in another order; see [`FloatOp::fold_any_order`].
    pub(crate) fn has_any_order(self) -> bool {
        matches!(self.0, Kind::Max | Kind::Min)
    }

    /// The fold x0 op x1 .. op xn when it can be found in any order and is bit by bit the same; else `None`.
    pub(crate) fn fold_any_order(self, data: &[f32]) -> Option<f32> {
        let mut out = None;
        extreme(self, data, &mut out);
        out
    }

    /// op(.. op(acc, x0) .., xn), strictly in order.
    pub fn fold(self, acc: f32, data: &[f32]) -> f32 {
        with_op!(self.0, f => data.iter().fold(acc, |a, x| f(a, *x)))
    }

    /// Hands the operation to a loop, compiled once for each of the common ones and once for the rest.
    pub(crate) fn visit(self, v: impl FloatVisitor) -> f32 {
        match self.0 {
            Kind::Bypass => v.visit(|a, _| a),
            Kind::Add => v.visit(|a, b| a + b),
            Kind::Subtract => v.visit(|a, b| a - b),
            Kind::Mult => v.visit(|a, b| a * b),
            Kind::Max => v.visit(sse_max),
            Kind::Min => v.visit(sse_min),
            _ => v.visit(move |a, b| self.call(a, b)),
        }
    }

    /// The operation is bypass.
    pub fn is_bypass(self) -> bool {
        self.0 == Kind::Bypass
    }
}

per_isa! {
    fn apply, apply_on(op: FloatOp, a: &mut [f32], b: &[f32]) = bodies::apply;
}
per_isa! {
    fn apply_reversed, apply_reversed_on(op: FloatOp, a: &mut [f32], b: &[f32]) = bodies::apply_reversed;
}
per_isa! {
    fn apply_into, apply_into_on(op: FloatOp, out: &mut [f32], a: &[f32], b: &[f32]) = bodies::apply_into;
}
per_isa! {
    fn apply_scalar, apply_scalar_on(op: FloatOp, a: &mut [f32], s: f32, reverse: bool) = bodies::apply_scalar;
}
per_isa! {
    fn apply_scalar_into, apply_scalar_into_on(op: FloatOp, out: &mut [f32], a: &[f32], s: f32, reverse: bool) =
        bodies::apply_scalar_into;
}
per_isa! {
    fn extreme, extreme_on(op: FloatOp, data: &[f32], out: &mut Option<f32>) = bodies::extreme;
}

/// A full group of rows in the lanes of vectors.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn fold_columns(op: FloatOp, acc: &mut [f32; GROUP], rows: &[&[f32]; GROUP]) {
    // SAFETY: this function runs on CPUs with AVX2 only.
    with_op!(op.0, f => unsafe { columns::fold(acc, rows, f) });
}

/// The loops that are compiled for every instruction set.
mod bodies {
    use super::{FloatOp, Kind, blocks, floored_mod, ieee_max, ieee_min, pow, sse_max, sse_min, truncated_mod, truth};

    #[inline(always)]
    pub(super) fn apply(op: FloatOp, a: &mut [f32], b: &[f32]) {
        with_op!(op.0, f => blocks::zip(a, b, f));
    }

    #[inline(always)]
    pub(super) fn apply_reversed(op: FloatOp, a: &mut [f32], b: &[f32]) {
        with_op!(op.0, f => blocks::zip_reversed(a, b, f));
    }

    #[inline(always)]
    pub(super) fn apply_into(op: FloatOp, out: &mut [f32], a: &[f32], b: &[f32]) {
        with_op!(op.0, f => blocks::zip_into(out, a, b, f));
    }

    #[inline(always)]
    pub(super) fn apply_scalar(op: FloatOp, a: &mut [f32], s: f32, reverse: bool) {
        with_op!(op.0, f => blocks::scalar(a, s, reverse, f));
    }

    #[inline(always)]
    pub(super) fn apply_scalar_into(op: FloatOp, out: &mut [f32], a: &[f32], s: f32, reverse: bool) {
        with_op!(op.0, f => blocks::scalar_into(out, a, s, reverse, f));
    }

    #[inline(always)]
    pub(super) fn extreme(op: FloatOp, data: &[f32], out: &mut Option<f32>) {
        *out = match op.0 {
            Kind::Max => blocks::extreme_any_order(data, sse_max),
            Kind::Min => blocks::extreme_any_order(data, sse_min),
            _ => None,
        };
    }
}

/// A loop that is generic over its operation; it returns its last state.
pub(crate) trait FloatVisitor {
    fn visit(self, f: impl Fn(f32, f32) -> f32 + Copy) -> f32;
}

#[inline(always)]
fn truth(b: bool) -> f32 {
    if b { 1.0 } else { 0.0 }
}

/// C99 powf, correctly rounded. The library loses the sign of a negative zero under odd exponents, and gives NaN of
/// either sign: an operand that is one is kept, quiet; one that arises is the default NaN (ruling D57).
fn pow(a: f32, b: f32) -> f32 {
    let odd = b.abs() < 16_777_216.0 && b.trunc() == b && (b as i32) & 1 == 1;
    let y = if a == 0.0 && odd { pxfm::f_powf(a.abs(), b).copysign(a) } else { pxfm::f_powf(a, b) };
    if y.is_nan() { nan_of(a, b) } else { y }
}

/// What an operation gives that has no number to give: the first operand that is NaN, quiet, else the processor's
/// default NaN, whose sign is set (ruling D57).
#[cold]
fn nan_of(a: f32, b: f32) -> f32 {
    match [a, b].into_iter().find(|x| x.is_nan()) {
        Some(nan) => f32::from_bits(nan.to_bits() | 0x0040_0000),
        None => f32::from_bits(0xFFC0_0000),
    }
}

/// The remainder with the sign of the dividend, exact.
fn truncated_mod(a: f32, b: f32) -> f32 {
    let r = a % b;
    if r.is_nan() { nan_of(a, b) } else { r }
}

/// The remainder with the sign of the divisor, from an exact fmod (ruling D46).
fn floored_mod(a: f32, b: f32) -> f32 {
    let r = truncated_mod(a, b);
    if r == 0.0 {
        0f32.copysign(b)
    } else if (r < 0.0) != (b < 0.0) {
        r + b
    } else {
        r
    }
}
