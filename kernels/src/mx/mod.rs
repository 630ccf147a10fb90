//! Microscaling: packed elements in blocks of 8 partitions x 4 lanes that share a power of two (`matmul-mx.md` 4, 5).

use crate::access::Src;
use crate::matmul::{Isa, Matmult, MatmultPerfMode, Product, Rounding, check_sizes, product};
use crate::{Code, Dtype, Error, Result};

mod dequantize;
mod quantize;

pub use dequantize::{dequantize, scaled};
pub use quantize::{QuantizeMx, quantize_mx};

/// Partitions that share one row of scales.
pub const BLOCK: usize = 8;

/// Partition of a scale tensor that holds the scales of block row `i`: four rows at the start of each quadrant.
pub const fn scale_slot(i: usize) -> usize {
    (i & 3) + 32 * (i >> 2)
}

/// The verifier's rule for the first partition of a scale tensor: a multiple of four in the first half of a quadrant.
pub fn check_scale_partition(start: u64) -> Result<()> {
    if start % 32 >= 16 || !start.is_multiple_of(4) {
        return Err(Error::new(
            Code::S008,
            "a scale tensor starts at a multiple of four in the first 16 partitions of a quadrant",
        )
        .received(start));
    }
    Ok(())
}

/// MatmultMx (95): out\[m\]\[n\] = sum over p and lane q of W\[p\]\[4m + q\] * I\[p\]\[4n + q\], both dequantised first.
///
/// The contraction index is k = 4p + q, ascending.
pub fn matmult_mx(
    p: &Matmult,
    ifmap: &Src,
    weights: &Src,
    ifmap_scales: &Src,
    weights_scales: &Src,
    out: &mut Product,
) -> Result<()> {
    let plain = p.replication == [0; 3]
        && p.perf_mode == MatmultPerfMode::None
        && !(p.is_transpose && p.level > 20)
        && p.ifmap_zero.unwrap_or(0) == 0
        && p.weights_zero.unwrap_or(0) == 0;
    if !plain {
        return Err(Error::new(
            Code::U002,
            "MatmultMx has no documented replication, performance mode, transpose or zero point",
        ));
    }
    let k = ifmap.lanes();
    if k != weights.lanes() {
        return Err(Error::new(Code::S002, "both operands of MatmultMx have the same partitions")
            .received(format!("ifmap {k}, weights {}", weights.lanes())));
    }
    if !matches!(k, 32 | 64 | 128) {
        return Err(Error::new(Code::S008, "MatmultMx works on 32, 64 or 128 partitions").received(k));
    }
    let (m, n) = (weights.lane_len(), ifmap.lane_len());
    check_sizes(p, k, m, n)?;
    if !m.is_multiple_of(2) {
        return Err(Error::new(Code::S008, "MatmultMx has an even number of stationary columns").received(m));
    }
    let a = dequantize::Side::new("weights", weights, weights_scales)?;
    let b = dequantize::Side::new("ifmap", ifmap, ifmap_scales)?;
    // Elements times a power of two have few significant bits, but any exponent.
    let rounding = if p.fma { Rounding::Fused } else { Rounding::ByRange };
    product(&a, &b, out, Isa::best(), rounding);
    Ok(())
}

/// Scales have one byte per container of the data, in rows placed by [`scale_slot`].
fn check_scales(
    name: &str,
    partitions: usize,
    containers: usize,
    dtype: Dtype,
    lanes: usize,
    len: usize,
) -> Result<()> {
    if !matches!(dtype, Dtype::Uint8 | Dtype::Float8E8m0fnu) {
        return Err(Error::new(Code::S007, format!("the scales of {name} are uint8 or float8_e8m0fnu")).received(dtype));
    }
    if len != containers {
        return Err(Error::new(Code::S002, format!("{name} has one scale column per container"))
            .received(format!("{len} columns for {containers} containers")));
    }
    let need = partitions.div_ceil(BLOCK).checked_sub(1).map_or(0, |last| scale_slot(last) + 1);
    if lanes < need {
        return Err(Error::new(Code::S002, format!("the scales of {name} reach partition {}", need - 1))
            .received(format!("{lanes} partitions"))
            .advice("block row i has its scales in partition (i & 3) + 32 * (i >> 2) of the scale tensor"));
    }
    Ok(())
}
