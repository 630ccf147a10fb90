//! Which products a fused multiply-add may serve when the profile wants multiply and add rounded separately (ruling D55):
//! where the product itself is exact, both give the same bits.

use crate::Dtype;
#[cfg(target_arch = "x86_64")]
use crate::isa::per_isa;

/// How a product and the sum it enters are rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// Once, or every product is exact.
    Fused,
    /// One by one.
    Separate,
    /// One by one. A product has at most 24 significant bits, so the step may be fused unless it leaves the exponents of
    /// float32.
    ByRange,
}

impl Rounding {
    /// For operands of these dtypes.
    pub(crate) fn of(fma: bool, operands: [Dtype; 2]) -> Self {
        let bits = operands.map(significant_bits);
        // Two of these and every product is a normal number or zero.
        let narrow = |d: Dtype| matches!(d, Dtype::Uint8 | Dtype::Float16) || d.size() == 1 && d.is_float();
        if fma || operands.into_iter().all(narrow) {
            Rounding::Fused
        } else if bits[0] + bits[1] <= 24 {
            Rounding::ByRange
        } else {
            Rounding::Separate
        }
    }
}

/// Significant bits of a value of the dtype, and of its difference to a zero point for uint8.
fn significant_bits(dtype: Dtype) -> u32 {
    match dtype {
        Dtype::Float32r => 12,
        Dtype::Float16 => 11,
        Dtype::Float32 => 24,
        _ => 8,
    }
}

/// The smallest and the largest exponent field among values that are not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exponents {
    low: u32,
    high: u32,
}

impl Exponents {
    pub(super) fn of(values: &[f32]) -> Self {
        let (mut low, mut high) = (u32::MAX, 0);
        for v in values {
            let magnitude = v.to_bits() & 0x7FFF_FFFF;
            // Zero wraps around and is never the smallest.
            low = low.min(magnitude.wrapping_sub(1));
            high = high.max(magnitude);
        }
        // Everything is zero: no product leaves any range.
        if high == 0 {
            return Exponents { low: 127, high: 127 };
        }
        Exponents { low: low.wrapping_add(1) >> 23, high: high >> 23 }
    }

    /// The same for rows of bfloat16.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn of_bf16<'a>(rows: impl Iterator<Item = &'a [[u8; 2]]>) -> Self {
        per_isa! {
            fn row(values: &[[u8; 2]], low: u16, high: u16) -> (u16, u16) {
                values.iter().fold((low, high), |(low, high), v| {
                    let magnitude = u16::from_le_bytes(*v) & 0x7FFF;
                    (low.min(magnitude.wrapping_sub(1)), high.max(magnitude))
                })
            }
        }
        let (low, high) = rows.fold((u16::MAX, 0), |(low, high), values| row(values, low, high));
        if high == 0 {
            return Exponents { low: 127, high: 127 };
        }
        Exponents { low: u32::from(low.wrapping_add(1)) >> 7, high: u32::from(high) >> 7 }
    }

    /// Every product of 24 significant bits fits: its last bit is worth 2^-149 or more, and it stays below 2^128.
    pub(super) fn products_fit(self, other: Self) -> bool {
        // A subnormal number has fewer exponents below it than its field says.
        self.low > 0 && other.low > 0 && self.low + other.low >= 127 && self.high + other.high <= 380
    }
}

#[cfg(test)]
mod tests {
    use super::{Exponents, Rounding};
    use crate::Dtype;

    #[test]
    fn d55_products_of_narrow_operands_may_be_fused() {
        let of = |a, b| Rounding::of(false, [a, b]);
        assert_eq!(of(Dtype::Float16, Dtype::Float8e5), Rounding::Fused);
        assert_eq!(of(Dtype::Bfloat16, Dtype::Bfloat16), Rounding::ByRange);
        assert_eq!(of(Dtype::Float32r, Dtype::Float32r), Rounding::ByRange);
        assert_eq!(of(Dtype::Float32, Dtype::Float8e4), Rounding::Separate);
        assert_eq!(Rounding::of(true, [Dtype::Float32; 2]), Rounding::Fused);
    }

    #[test]
    fn d55_the_range_test_is_the_exactness_of_the_product() {
        // Twelve significant bits at every exponent, subnormal ones included.
        let values: Vec<f32> = (0..255u32).map(|e| f32::from_bits(e << 23 | 0x7F_F000)).collect();
        for a in &values {
            for b in &values {
                let exact = f64::from(*a) * f64::from(*b) == f64::from(*a * *b);
                let fits = Exponents::of(&[0.0, *a]).products_fit(Exponents::of(&[*b, -0.0]));
                assert!(exact || !fits, "{a:e} * {b:e}");
            }
        }
        assert!(Exponents::of(&[1.0, -3.0, 0.0]).products_fit(Exponents::of(&[0.0; 4])));
        #[cfg(target_arch = "x86_64")]
        for list in [&[1.0f32, -3.0, 0.0][..], &[0.0, -0.0], &[1e-39, 2.0], &[f32::NAN, 1.0], &[1e-38, -1e38]] {
            let rounded: Vec<f32> = list.iter().map(|v| f32::from_bits(v.to_bits() & 0xFFFF_0000)).collect();
            let bf16: Vec<[u8; 2]> = rounded.iter().map(|v| ((v.to_bits() >> 16) as u16).to_le_bytes()).collect();
            let rows = bf16.chunks(2);
            assert_eq!(Exponents::of_bf16(rows), Exponents::of(&rounded), "{list:?}");
        }
        assert!(!Exponents::of(&[f32::INFINITY]).products_fit(Exponents::of(&[1e10])));
    }
}
