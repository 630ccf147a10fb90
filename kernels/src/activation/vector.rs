//! Vectors of float32 for [`super::single`]: one float, eight of AVX2, sixteen of AVX-512, all with the same values.
//!
//! The compiler vectorises neither look-ups in a table nor comparisons for special values well, hence the intrinsics:
//! written as plain loops the same functions take up to four times as long.

use std::ops::{Add, Div, Mul, Sub};

#[cfg(target_arch = "x86_64")]
mod x86;
#[cfg(target_arch = "x86_64")]
pub(super) use x86::{F8, F16, Two};

/// Entries of a table for [`Vector::look_up`].
pub(super) const ENTRIES: usize = 16;

/// The largest [`Vector::COUNT`] in use.
pub(super) const WIDEST: usize = 64;

/// Several floats that are computed together, and their bits as 32-bit integers.
///
/// The vector types may only be used inside functions compiled for their instruction set.
pub(super) trait Vector:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// How many.
    const COUNT: usize;
    /// One truth value per lane.
    type Mask: Copy;
    /// The same value in every lane.
    fn splat(x: f32) -> Self;
    /// The first [`Self::COUNT`] floats of a longer or equal slice.
    fn load(from: &[f32]) -> Self;
    /// The inverse of [`Self::load`].
    fn store(self, to: &mut [f32]);
    /// self * a + b with one rounding.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// self < b ? self : b.
    fn lesser(self, b: Self) -> Self;
    /// self > b ? self : b.
    fn greater(self, b: Self) -> Self;
    /// self < b.
    fn lt(self, b: Self) -> Self::Mask;
    /// Not self < b: greater, equal or not comparable.
    fn not_lt(self, b: Self) -> Self::Mask;
    /// Lanes whose sign bit is set.
    fn negative(self) -> Self::Mask;
    /// Lanes that are not a number.
    fn nan(self) -> Self::Mask;
    /// Lanes that are true in either mask.
    fn either(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// No lane is true.
    fn none(mask: Self::Mask) -> bool;
    /// yes where the mask is true, self elsewhere.
    fn replace(self, mask: Self::Mask, yes: Self) -> Self;
    /// Bits of both.
    fn and(self, b: Self) -> Self;
    /// Bits of either.
    fn or(self, b: Self) -> Self;
    /// Bits of one alone.
    fn xor(self, b: Self) -> Self;
    /// Wrapping sum of the bits as integers.
    fn add_bits(self, b: Self) -> Self;
    /// Bits moved up.
    fn up(self, by: u32) -> Self;
    /// Bits moved down, as signed integers.
    fn down(self, by: u32) -> Self;
    /// The bits as a signed integer, but at least this one.
    fn at_least(self, least: u32) -> Self;
    /// The signed integer in the bits as a float.
    fn to_float(self) -> Self;
    /// The entries whose indices are the low four bits.
    fn look_up(table: &[f32; ENTRIES], index: Self) -> Self;

    /// The bits of an integer in every lane.
    #[inline(always)]
    fn bits(x: u32) -> Self {
        Self::splat(f32::from_bits(x))
    }
}

impl Vector for f32 {
    const COUNT: usize = 1;
    type Mask = bool;
    #[inline(always)]
    fn splat(x: f32) -> Self {
        x
    }
    #[inline(always)]
    fn load(from: &[f32]) -> Self {
        from[0]
    }
    #[inline(always)]
    fn store(self, to: &mut [f32]) {
        to[0] = self;
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        f32::mul_add(self, a, b)
    }
    #[inline(always)]
    fn lesser(self, b: Self) -> Self {
        if self < b { self } else { b }
    }
    #[inline(always)]
    fn greater(self, b: Self) -> Self {
        if self > b { self } else { b }
    }
    #[inline(always)]
    fn lt(self, b: Self) -> bool {
        self < b
    }
    #[inline(always)]
    #[allow(clippy::neg_cmp_op_on_partial_ord)]
    fn not_lt(self, b: Self) -> bool {
        !(self < b)
    }
    #[inline(always)]
    fn negative(self) -> bool {
        self.is_sign_negative()
    }
    #[inline(always)]
    fn nan(self) -> bool {
        self.is_nan()
    }
    #[inline(always)]
    fn either(a: bool, b: bool) -> bool {
        a | b
    }
    #[inline(always)]
    fn none(mask: bool) -> bool {
        !mask
    }
    #[inline(always)]
    fn replace(self, mask: bool, yes: Self) -> Self {
        if mask { yes } else { self }
    }
    #[inline(always)]
    fn and(self, b: Self) -> Self {
        f32::from_bits(self.to_bits() & b.to_bits())
    }
    #[inline(always)]
    fn or(self, b: Self) -> Self {
        f32::from_bits(self.to_bits() | b.to_bits())
    }
    #[inline(always)]
    fn xor(self, b: Self) -> Self {
        f32::from_bits(self.to_bits() ^ b.to_bits())
    }
    #[inline(always)]
    fn add_bits(self, b: Self) -> Self {
        f32::from_bits(self.to_bits().wrapping_add(b.to_bits()))
    }
    #[inline(always)]
    fn up(self, by: u32) -> Self {
        f32::from_bits(self.to_bits() << by)
    }
    #[inline(always)]
    fn down(self, by: u32) -> Self {
        f32::from_bits((self.to_bits() as i32 >> by) as u32)
    }
    #[inline(always)]
    fn at_least(self, least: u32) -> Self {
        f32::from_bits((self.to_bits() as i32).max(least as i32) as u32)
    }
    #[inline(always)]
    fn to_float(self) -> Self {
        self.to_bits() as i32 as f32
    }
    #[inline(always)]
    fn look_up(table: &[f32; ENTRIES], index: Self) -> Self {
        table[index.to_bits() as usize % ENTRIES]
    }
}
