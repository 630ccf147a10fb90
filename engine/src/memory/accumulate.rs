//! Writing a matmul's finished product to PSUM (`matmul-mx.md` 3; rulings D17, D18, D39, D40).

use super::Shadow;
use super::shadow::for_runs;
use birsim_kernels::access::{CHUNK, Dst};
use birsim_kernels::cast::Fp8Config;

/// What happens to the elements a matmul writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacMode {
    /// Clears data and mark of the addressed elements, then writes (START).
    Start,
    /// Adds where the accumulate mark is set, else writes.
    Accumulate,
    /// Writes.
    Overwrite,
}

/// Writes `product` (row-major, one row per lane of `dst`) and marks the elements.
pub fn write_product(dst: &Dst, marks: &mut Shadow, mode: MacMode, product: &[f32], cfg: Fp8Config) {
    let cols = dst.lane_len();
    let mut old = [0.0f32; CHUNK];
    for lane in 0..dst.lanes() {
        let row = &product[lane * cols..][..cols];
        for (piece, values) in row.chunks(CHUNK).enumerate() {
            let start = piece * CHUNK;
            if mode != MacMode::Accumulate {
                dst.write_f32(lane, start, values, cfg);
                continue;
            }
            let sum = &mut old[..values.len()];
            dst.as_src().read_f32(lane, start, sum);
            for (i, (s, v)) in sum.iter_mut().zip(values).enumerate() {
                // The element's first byte decides (ruling D39).
                let marked = marks.get(dst.pattern().byte_of(lane, start + i) as usize);
                *s = if marked { *s + *v } else { *v };
            }
            dst.write_f32(lane, start, sum, cfg);
        }
    }
    marks.set(dst.pattern(), true);
}

/// Clears data and marks of every element of a pattern (start of an accumulation group over a zero region).
pub fn clear(dst: &Dst, marks: &mut Shadow) {
    let zero = [0u8; CHUNK];
    let size = dst.dtype().size();
    for lane in 0..dst.lanes() {
        let mut at = 0;
        while at < dst.lane_len() {
            let n = (CHUNK / size).min(dst.lane_len() - at);
            dst.scatter(lane, at, &zero[..n * size]);
            at += n;
        }
    }
    for_runs(dst.pattern(), |byte, count, stride| {
        for i in 0..count {
            let b = (byte as i64 + stride * i as i64) as usize;
            marks.set_run(b, b + size, false);
        }
    });
}
