//! The inner loops: one accumulator chain per output, k ascending, one rounding per step, on every path.

use crate::isa::Isa;
use rayon::prelude::*;

/// Rows and columns of outputs kept in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Product rows.
    pub rows: usize,
    /// Product columns.
    pub cols: usize,
}

/// Largest tile of any path.
const MAX_TILE: usize = 12 * 32;

/// Below this many multiply-adds per thread a product stays on fewer threads.
const PARALLEL_FROM: usize = 1 << 20;

impl Isa {
    /// The register tile.
    pub const fn tile(self) -> Tile {
        match self {
            Isa::Scalar => Tile { rows: 4, cols: 8 },
            Isa::Avx2 => Tile { rows: 6, cols: 16 },
            Isa::Avx512 => Tile { rows: 12, cols: 32 },
        }
    }
}

/// C\[m\]\[n\] from packed sides: `a` in blocks of tile rows, `b` in panels of tile columns.
pub(crate) fn multiply(isa: Isa, k: usize, m: usize, n: usize, a: &[f32], b: &[f32], c: &mut [f32]) {
    if m == 0 || n == 0 {
        return;
    }
    if k == 0 {
        c.fill(0.0);
        return;
    }
    let tile = isa.tile();
    let blocks = m.div_ceil(tile.rows);
    let threads = rayon::current_num_threads().min(k * m * n / PARALLEL_FROM).min(blocks).max(1);
    let per = blocks.div_ceil(threads);
    let work = |(g, rows): (usize, &mut [f32])| {
        let first = g * per * tile.rows;
        for (panel, b) in b.chunks_exact(k * tile.cols).take(n.div_ceil(tile.cols)).enumerate() {
            let col = panel * tile.cols;
            let cols = tile.cols.min(n - col);
            for (i, strip) in rows.chunks_mut(tile.rows * n).enumerate() {
                let block = first / tile.rows + i;
                let a = &a[block * k * tile.rows..][..k * tile.rows];
                run_tile(isa, a, b, &mut strip[col..], n, (m - block * tile.rows).min(tile.rows), cols);
            }
        }
    };
    if threads == 1 {
        work((0, c));
    } else {
        c.par_chunks_mut(per * tile.rows * n).enumerate().for_each(work);
    }
}

/// One register tile; writes `rows` x `cols` of it to `c`, whose rows are `stride` apart.
#[inline]
fn run_tile(isa: Isa, a: &[f32], b: &[f32], c: &mut [f32], stride: usize, rows: usize, cols: usize) {
    let tile = isa.tile();
    let mut whole = [0.0f32; MAX_TILE];
    match isa {
        Isa::Scalar => scalar_tile(a, b, &mut whole),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Isa` values beyond Scalar are only used after `runs_here` has found their CPU features.
        Isa::Avx2 => unsafe { x86::avx2_tile(a, b, &mut whole) },
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 if rows == tile.rows && cols == tile.cols && c.len() >= (rows - 1) * stride + cols => {
            // SAFETY: CPU features as above; the guard proves that every row of the tile lies inside `c`.
            unsafe { x86::avx512_tile(a, b, c.as_mut_ptr(), stride) };
            return;
        }
        #[cfg(target_arch = "x86_64")]
        // SAFETY: CPU features as above; `whole` holds 12 rows of 32.
        Isa::Avx512 => unsafe { x86::avx512_tile(a, b, whole.as_mut_ptr(), tile.cols) },
        #[cfg(not(target_arch = "x86_64"))]
        _ => scalar_tile(a, b, &mut whole),
    }
    for r in 0..rows {
        c[r * stride..][..cols].copy_from_slice(&whole[r * tile.cols..][..cols]);
    }
}

fn scalar_tile(a: &[f32], b: &[f32], out: &mut [f32]) {
    const T: Tile = Isa::Scalar.tile();
    for (a, b) in a.chunks_exact(T.rows).zip(b.chunks_exact(T.cols)) {
        for (r, x) in a.iter().enumerate() {
            for (acc, y) in out[r * T.cols..][..T.cols].iter_mut().zip(b) {
                *acc = x.mul_add(*y, *acc);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Tile;
    use crate::isa::Isa;
    use std::arch::x86_64::*;

    /// 12 x 32 outputs in 24 registers.
    ///
    /// # Safety
    /// The CPU has AVX-512F; `c` is writable for 12 rows of 32 floats, `stride` floats apart.
    #[target_feature(enable = "avx512f")]
    pub unsafe fn avx512_tile(a: &[f32], b: &[f32], c: *mut f32, stride: usize) {
        const T: Tile = Isa::Avx512.tile();
        let mut acc = [[_mm512_setzero_ps(); 2]; T.rows];
        for (a, b) in a.chunks_exact(T.rows).zip(b.chunks_exact(T.cols)) {
            // SAFETY: `b` holds 32 floats.
            let (b0, b1) = unsafe { (_mm512_loadu_ps(b.as_ptr()), _mm512_loadu_ps(b.as_ptr().add(16))) };
            for (acc, x) in acc.iter_mut().zip(a) {
                let x = _mm512_set1_ps(*x);
                acc[0] = _mm512_fmadd_ps(x, b0, acc[0]);
                acc[1] = _mm512_fmadd_ps(x, b1, acc[1]);
            }
        }
        for (r, [lo, hi]) in acc.iter().enumerate() {
            // SAFETY: the caller guarantees 12 rows of 32 floats.
            unsafe {
                _mm512_storeu_ps(c.add(r * stride), *lo);
                _mm512_storeu_ps(c.add(r * stride + 16), *hi);
            }
        }
    }

    /// 6 x 16 outputs in 12 registers.
    ///
    /// # Safety
    /// The CPU has AVX2 and FMA.
    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn avx2_tile(a: &[f32], b: &[f32], out: &mut [f32]) {
        const T: Tile = Isa::Avx2.tile();
        let mut acc = [[_mm256_setzero_ps(); 2]; T.rows];
        for (a, b) in a.chunks_exact(T.rows).zip(b.chunks_exact(T.cols)) {
            // SAFETY: `b` holds 16 floats.
            let (b0, b1) = unsafe { (_mm256_loadu_ps(b.as_ptr()), _mm256_loadu_ps(b.as_ptr().add(8))) };
            for (acc, x) in acc.iter_mut().zip(a) {
                let x = _mm256_set1_ps(*x);
                acc[0] = _mm256_fmadd_ps(x, b0, acc[0]);
                acc[1] = _mm256_fmadd_ps(x, b1, acc[1]);
            }
        }
        for ([lo, hi], row) in acc.iter().zip(out.chunks_exact_mut(T.cols)) {
            // SAFETY: `row` holds 16 floats.
            unsafe {
                _mm256_storeu_ps(row.as_mut_ptr(), *lo);
                _mm256_storeu_ps(row.as_mut_ptr().add(8), *hi);
            }
        }
    }
}
