//! The integers that operations compute on, and what arithmetic means for each of them.
//!
//! | Type | Map | Overflow |
//! |---|---|---|
//! | `i32` | int | saturates |
//! | `i64` | address | wraps |
//! | `Wrapping<..>` | registers of 32 and 64 bits, signed and unsigned | wraps |

use super::floats::Truth;
use std::convert::identity;
use std::num::Wrapping;
use std::ops::{BitAnd, BitOr, BitXor, Not};

/// An integer of one of the maps. Division and remainder by zero give 0 (`alu.md` 4.3). A shift amount is read as unsigned:
/// one that is not below the width shifts everything out (`alu.md` 4.1), or counts modulo the width in the masked forms.
pub(super) trait Integer:
    Copy + Truth + Ord + Not<Output = Self> + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self>
{
    fn plus(self, b: Self) -> Self;
    fn minus(self, b: Self) -> Self;
    fn times(self, b: Self) -> Self;
    fn wrapping_plus(self, b: Self) -> Self;
    fn wrapping_minus(self, b: Self) -> Self;
    fn wrapping_times(self, b: Self) -> Self;
    /// Truncated.
    fn quotient(self, b: Self) -> Self;
    /// With the sign of the dividend.
    fn truncated_mod(self, b: Self) -> Self;
    /// With the sign of the divisor.
    fn floored_mod(self, b: Self) -> Self;
    fn magnitude(self) -> Self;
    fn larger_magnitude(self, b: Self) -> Self;
    fn smaller_magnitude(self, b: Self) -> Self;
    fn left(self, by: Self) -> Self;
    /// Fills with zeros.
    fn right(self, by: Self) -> Self;
    /// Fills with the highest bit, whether the type is signed or not.
    fn right_signed(self, by: Self) -> Self;
    fn left_masked(self, by: Self) -> Self;
    fn right_masked(self, by: Self) -> Self;
    fn right_signed_masked(self, by: Self) -> Self;
    fn is_true(self) -> bool;
}

macro_rules! integer {
    ($t:ty = $p:ident, unsigned $u:ident, signed $s:ident, $make:path, $raw:path,
     $add:ident $sub:ident $mul:ident $div:ident, $abs:path) => {
        impl Truth for $t {
            #[inline(always)]
            fn truth(b: bool) -> Self {
                $make($p::from(b))
            }
        }

        impl Integer for $t {
            #[inline(always)]
            fn plus(self, b: Self) -> Self {
                $make($raw(self).$add($raw(b)))
            }
            #[inline(always)]
            fn minus(self, b: Self) -> Self {
                $make($raw(self).$sub($raw(b)))
            }
            #[inline(always)]
            fn times(self, b: Self) -> Self {
                $make($raw(self).$mul($raw(b)))
            }
            #[inline(always)]
            fn wrapping_plus(self, b: Self) -> Self {
                $make($raw(self).wrapping_add($raw(b)))
            }
            #[inline(always)]
            fn wrapping_minus(self, b: Self) -> Self {
                $make($raw(self).wrapping_sub($raw(b)))
            }
            #[inline(always)]
            fn wrapping_times(self, b: Self) -> Self {
                $make($raw(self).wrapping_mul($raw(b)))
            }
            #[inline(always)]
            fn quotient(self, b: Self) -> Self {
                $make(if $raw(b) == 0 { 0 } else { $raw(self).$div($raw(b)) })
            }
            #[inline(always)]
            fn truncated_mod(self, b: Self) -> Self {
                $make(if $raw(b) == 0 { 0 } else { $raw(self).wrapping_rem($raw(b)) })
            }
            #[inline(always)]
            fn floored_mod(self, b: Self) -> Self {
                let (r, b) = ($raw(self.truncated_mod(b)), $raw(b));
                // Unsigned numbers have no sign bit to differ in, and never take the first branch.
                $make(if r != 0 && ((r ^ b) as $s) < 0 && $p::MIN != 0 { r.wrapping_add(b) } else { r })
            }
            #[inline(always)]
            fn magnitude(self) -> Self {
                $make($abs($raw(self)))
            }
            #[inline(always)]
            fn larger_magnitude(self, b: Self) -> Self {
                let (x, y) = (self.magnitude(), b.magnitude());
                // As unsigned, so that the magnitude of the smallest number is the largest.
                if $raw(x) as $u > $raw(y) as $u { x } else { y }
            }
            #[inline(always)]
            fn smaller_magnitude(self, b: Self) -> Self {
                let (x, y) = (self.magnitude(), b.magnitude());
                if ($raw(x) as $u) < $raw(y) as $u { x } else { y }
            }
            #[inline(always)]
            fn left(self, by: Self) -> Self {
                let by = $raw(by) as $u;
                $make(if by < $u::from($u::BITS as u8) { $raw(self) << by } else { 0 })
            }
            #[inline(always)]
            fn right(self, by: Self) -> Self {
                let by = $raw(by) as $u;
                $make(if by < $u::from($u::BITS as u8) { ($raw(self) as $u >> by) as $p } else { 0 })
            }
            #[inline(always)]
            fn right_signed(self, by: Self) -> Self {
                $make(($raw(self) as $s >> ($raw(by) as $u).min($u::from($u::BITS as u8 - 1))) as $p)
            }
            #[inline(always)]
            fn left_masked(self, by: Self) -> Self {
                $make($raw(self).wrapping_shl($raw(by) as u32))
            }
            #[inline(always)]
            fn right_masked(self, by: Self) -> Self {
                $make(($raw(self) as $u).wrapping_shr($raw(by) as u32) as $p)
            }
            #[inline(always)]
            fn right_signed_masked(self, by: Self) -> Self {
                $make(($raw(self) as $s).wrapping_shr($raw(by) as u32) as $p)
            }
            #[inline(always)]
            fn is_true(self) -> bool {
                $raw(self) != 0
            }
        }
    };
}

#[inline(always)]
fn inner<T>(w: Wrapping<T>) -> T {
    w.0
}

integer!(i32 = i32, unsigned u32, signed i32, identity, identity,
    saturating_add saturating_sub saturating_mul saturating_div, i32::saturating_abs);
integer!(i64 = i64, unsigned u64, signed i64, identity, identity,
    wrapping_add wrapping_sub wrapping_mul wrapping_div, i64::wrapping_abs);
integer!(Wrapping<i32> = i32, unsigned u32, signed i32, Wrapping, inner,
    wrapping_add wrapping_sub wrapping_mul wrapping_div, i32::wrapping_abs);
integer!(Wrapping<u32> = u32, unsigned u32, signed i32, Wrapping, inner,
    wrapping_add wrapping_sub wrapping_mul wrapping_div, identity);
integer!(Wrapping<i64> = i64, unsigned u64, signed i64, Wrapping, inner,
    wrapping_add wrapping_sub wrapping_mul wrapping_div, i64::wrapping_abs);
integer!(Wrapping<u64> = u64, unsigned u64, signed i64, Wrapping, inner,
    wrapping_add wrapping_sub wrapping_mul wrapping_div, identity);
