//! Float operations that take more than an expression. The float map sees everything in here by name.

pub(super) use crate::cast::{ieee_max, ieee_min, sse_max, sse_min};

/// Types that have numbers for true and false.
pub(super) trait Truth {
    /// 1 or 0.
    fn truth(b: bool) -> Self;
}

impl Truth for f32 {
    #[inline(always)]
    fn truth(b: bool) -> Self {
        if b { 1.0 } else { 0.0 }
    }
}

/// 1 or 0.
#[inline(always)]
pub(super) fn truth<T: Truth>(b: bool) -> T {
    T::truth(b)
}

/// C99 powf, correctly rounded.
///
/// The library loses the sign of a negative zero under odd exponents, and gives a NaN of either sign. A NaN operand is
/// therefore returned quiet, and a NaN that arises is the default one (ruling D57).
pub(super) fn pow(a: f32, b: f32) -> f32 {
    let odd = b.abs() < 16_777_216.0 && b.trunc() == b && (b as i32) & 1 == 1;
    let y = if a == 0.0 && odd { pxfm::f_powf(a.abs(), b).copysign(a) } else { pxfm::f_powf(a, b) };
    if y.is_nan() { nan_of(a, b) } else { y }
}

/// The NaN that an operation returns: the first NaN operand, quiet, else the processor's default NaN, whose sign is set
/// (ruling D57).
#[cold]
fn nan_of(a: f32, b: f32) -> f32 {
    match [a, b].into_iter().find(|x| x.is_nan()) {
        Some(nan) => f32::from_bits(nan.to_bits() | 0x0040_0000),
        None => f32::from_bits(0xFFC0_0000),
    }
}

/// The remainder with the sign of the dividend, exact.
pub(super) fn truncated_mod(a: f32, b: f32) -> f32 {
    let r = a % b;
    if r.is_nan() { nan_of(a, b) } else { r }
}

/// The remainder with the sign of the divisor, from an exact fmod (ruling D46).
pub(super) fn floored_mod(a: f32, b: f32) -> f32 {
    let r = truncated_mod(a, b);
    if r == 0.0 {
        0f32.copysign(b)
    } else if (r < 0.0) != (b < 0.0) {
        r + b
    } else {
        r
    }
}
