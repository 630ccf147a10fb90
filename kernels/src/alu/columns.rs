//! Rows folded side by side in the lanes of vectors: tiles are transposed on the way in, so that every row keeps its own
//! order.

use super::blocks::{GROUP, ROWS};
use std::arch::x86_64::*;
use std::ops::Range;

/// `acc[r] = f(.. f(acc[r], row_r[0]) .., row_r[n-1])` for rows of equal length, each row strictly in order.
///
/// # Safety
/// The CPU has AVX2. The caller is compiled for it, else this is slow.
#[inline(always)]
pub(super) unsafe fn fold(acc: &mut [f32; GROUP], rows: &[&[f32]; GROUP], f: impl Fn(f32, f32) -> f32) {
    /// Values of a row per step: one cache line, read at once, because the rows may compete for their place in the cache.
    const STEP: usize = 2 * ROWS;
    let n = rows.iter().map(|r| r.len()).min().unwrap_or(0);
    // The first row decides where lines begin; usually all rows agree.
    let head = rows[0].as_ptr().align_offset(STEP * 4).min(n);
    let steps = (n - head) / STEP;
    let alone = |acc: &mut [f32; GROUP], part: Range<usize>| {
        for (a, row) in acc.iter_mut().zip(rows) {
            *a = row[part.clone()].iter().fold(*a, |a, x| f(a, *x));
        }
    };
    // The compiler does not keep an accumulator of plain numbers in a vector register, so it is one explicitly.
    let step = |a: __m256, x: __m256| {
        let (mut p, mut q) = ([0.0; ROWS], [0.0; ROWS]);
        // SAFETY: arrays of eight floats.
        unsafe {
            _mm256_storeu_ps(p.as_mut_ptr(), a);
            _mm256_storeu_ps(q.as_mut_ptr(), x);
            let r: [f32; ROWS] = std::array::from_fn(|i| f(p[i], q[i]));
            _mm256_loadu_ps(r.as_ptr())
        }
    };
    alone(acc, 0..head);
    let lines = rows.map(|r| r[head..n].as_chunks::<STEP>().0);
    // SAFETY: halves of an array of sixteen floats; every line holds two times eight floats.
    unsafe {
        let mut low = _mm256_loadu_ps(acc.as_ptr());
        let mut high = _mm256_loadu_ps(acc.as_ptr().add(ROWS));
        (0..steps).for_each(|k| {
            let tile = |first: usize, half: usize| {
                transpose(std::array::from_fn(|r| _mm256_loadu_ps(lines[first + r][k].as_ptr().add(half * ROWS))))
            };
            for (left, right) in [[tile(0, 0), tile(ROWS, 0)], [tile(0, 1), tile(ROWS, 1)]].iter().map(|[l, r]| (l, r))
            {
                for c in 0..ROWS {
                    low = step(low, left[c]);
                    high = step(high, right[c]);
                }
            }
        });
        _mm256_storeu_ps(acc.as_mut_ptr(), low);
        _mm256_storeu_ps(acc.as_mut_ptr().add(ROWS), high);
    }
    alone(acc, head + steps * STEP..n);
}

/// Column c of the result holds element c of every row.
#[target_feature(enable = "avx2")]
#[inline]
fn transpose(rows: [__m256; ROWS]) -> [__m256; ROWS] {
    let [a, b, c, d, e, f, g, h] = rows;
    let fours = |a: __m256, b: __m256, c: __m256, d: __m256| {
        let (ab, cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
        let (ab_high, cd_high) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
        [
            _mm256_shuffle_ps::<0x44>(ab, cd),
            _mm256_shuffle_ps::<0xEE>(ab, cd),
            _mm256_shuffle_ps::<0x44>(ab_high, cd_high),
            _mm256_shuffle_ps::<0xEE>(ab_high, cd_high),
        ]
    };
    let (top, bottom) = (fours(a, b, c, d), fours(e, f, g, h));
    let mut out = [_mm256_setzero_ps(); ROWS];
    for c in 0..4 {
        out[c] = _mm256_permute2f128_ps::<0x20>(top[c], bottom[c]);
        out[c + 4] = _mm256_permute2f128_ps::<0x31>(top[c], bottom[c]);
    }
    out
}
