//! The inner loops: one accumulator chain per output, k ascending, one rounding per step, on every path.

use super::pack::{Packed, sized};
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

/// Panels that are packed together: finding a row's memory costs as much as copying one panel's worth of it.
const STRIP: usize = 4;

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

/// C\[m\]\[n\] of a stationary side `a` and a moving side `b`, row-major. `abuf` and `bbuf` are scratch space.
///
/// Threads share the columns: each packs its own panels of `b` and multiplies them while they are in its cache.
pub(crate) fn multiply(
    isa: Isa,
    fma: bool,
    a: &impl Packed,
    b: &impl Packed,
    c: &mut [f32],
    abuf: &mut Vec<f32>,
    bbuf: &mut Vec<f32>,
) {
    let isa = if isa.runs_here() { isa } else { Isa::Scalar };
    let (k, m, n) = (a.depth(), a.columns(), b.columns());
    if m == 0 || n == 0 {
        return;
    }
    if k == 0 {
        c.fill(0.0);
        return;
    }
    let tile = isa.tile();
    let blocks = m.div_ceil(tile.rows);
    let panels = n.div_ceil(tile.cols);
    let abuf = sized(abuf, blocks * k * tile.rows);
    a.pack(tile.rows, 0, m, abuf);
    let bbuf = sized(bbuf, panels * k * tile.cols);
    let c = Output { ptr: c.as_mut_ptr(), len: c.len(), stride: n };
    let abuf = &*abuf;
    let tile_of = if fma { run_tile::<true> } else { run_tile::<false> };
    let work = |(strip, b_packed): (usize, &mut [f32])| {
        let first = strip * STRIP * tile.cols;
        b.pack(tile.cols, first, (STRIP * tile.cols).min(n - first), b_packed);
        for (panel, b) in b_packed.chunks_exact(k * tile.cols).enumerate() {
            let col = first + panel * tile.cols;
            let cols = tile.cols.min(n - col);
            for (block, a) in abuf.chunks_exact(k * tile.rows).enumerate() {
                let row = block * tile.rows;
                tile_of(isa, a, b, &c, (row, col), (tile.rows.min(m - row), cols));
            }
        }
    };
    let strip_len = STRIP * k * tile.cols;
    let strips = panels.div_ceil(STRIP);
    let threads = rayon::current_num_threads().min(k * m * n / PARALLEL_FROM).min(strips);
    if threads < 2 {
        bbuf.chunks_mut(strip_len).enumerate().for_each(work);
    } else {
        bbuf.par_chunks_mut(strip_len).with_min_len(strips.div_ceil(2 * threads)).enumerate().for_each(work);
    }
}

/// The product matrix, written tile by tile from several threads.
struct Output {
    ptr: *mut f32,
    len: usize,
    stride: usize,
}

// SAFETY: `multiply` gives every thread its own columns, so no element is written twice, and nothing reads before all
// threads have ended.
unsafe impl Sync for Output {}

impl Output {
    /// Start of a `rows` x `cols` tile at (row, col), proven to lie inside the matrix.
    fn tile(&self, (row, col): (usize, usize), (rows, cols): (usize, usize)) -> *mut f32 {
        assert!(rows > 0 && col + cols <= self.stride && (row + rows) * self.stride <= self.len);
        // SAFETY: row * stride + col < len by the line above.
        unsafe { self.ptr.add(row * self.stride + col) }
    }
}

/// One register tile at `at`, of which `size` lies inside the matrix.
fn run_tile<const FMA: bool>(isa: Isa, a: &[f32], b: &[f32], c: &Output, at: (usize, usize), size: (usize, usize)) {
    let start = c.tile(at, size);
    let tile = isa.tile();
    #[cfg(target_arch = "x86_64")]
    if isa == Isa::Avx512 && size == (tile.rows, tile.cols) {
        // SAFETY: `multiply` checked the CPU; `Output::tile` proved the whole tile to lie inside the matrix.
        unsafe { x86::avx512_tile::<FMA>(a, b, start, c.stride) };
        return;
    }
    let mut whole = [0.0f32; MAX_TILE];
    match isa {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `multiply` checked the CPU.
        Isa::Avx2 => unsafe { x86::avx2_tile::<FMA>(a, b, &mut whole) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `multiply` checked the CPU; `whole` holds 12 rows of 32.
        Isa::Avx512 => unsafe { x86::avx512_tile::<FMA>(a, b, whole.as_mut_ptr(), tile.cols) },
        _ => scalar_tile::<FMA>(a, b, &mut whole),
    }
    for (r, row) in whole.chunks_exact(tile.cols).take(size.0).enumerate() {
        // SAFETY: row r of the tile lies inside the matrix, as above, and `row` is at least `size.1` long.
        unsafe { std::ptr::copy_nonoverlapping(row.as_ptr(), start.add(r * c.stride), size.1) };
    }
}

fn scalar_tile<const FMA: bool>(a: &[f32], b: &[f32], out: &mut [f32]) {
    const T: Tile = Isa::Scalar.tile();
    for (a, b) in a.chunks_exact(T.rows).zip(b.chunks_exact(T.cols)) {
        for (r, x) in a.iter().enumerate() {
            for (acc, y) in out[r * T.cols..][..T.cols].iter_mut().zip(b) {
                *acc = if FMA { x.mul_add(*y, *acc) } else { x * y + *acc };
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Tile;
    use crate::isa::Isa;
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn mac512<const FMA: bool>(a: __m512, b: __m512, c: __m512) -> __m512 {
        if FMA { _mm512_fmadd_ps(a, b, c) } else { _mm512_add_ps(_mm512_mul_ps(a, b), c) }
    }

    #[target_feature(enable = "avx2,fma")]
    #[inline]
    fn mac256<const FMA: bool>(a: __m256, b: __m256, c: __m256) -> __m256 {
        if FMA { _mm256_fmadd_ps(a, b, c) } else { _mm256_add_ps(_mm256_mul_ps(a, b), c) }
    }

    /// 12 x 32 outputs in 24 registers.
    ///
    /// # Safety
    /// The CPU has AVX-512F; `c` is writable for 12 rows of 32 floats, `stride` floats apart.
    #[target_feature(enable = "avx512f")]
    pub unsafe fn avx512_tile<const FMA: bool>(a: &[f32], b: &[f32], c: *mut f32, stride: usize) {
        const T: Tile = Isa::Avx512.tile();
        let mut acc = [[_mm512_setzero_ps(); 2]; T.rows];
        for (a, b) in a.chunks_exact(T.rows).zip(b.chunks_exact(T.cols)) {
            // SAFETY: `b` holds 32 floats.
            let (b0, b1) = unsafe { (_mm512_loadu_ps(b.as_ptr()), _mm512_loadu_ps(b.as_ptr().add(16))) };
            for (acc, x) in acc.iter_mut().zip(a) {
                let x = _mm512_set1_ps(*x);
                acc[0] = mac512::<FMA>(x, b0, acc[0]);
                acc[1] = mac512::<FMA>(x, b1, acc[1]);
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
    pub unsafe fn avx2_tile<const FMA: bool>(a: &[f32], b: &[f32], out: &mut [f32]) {
        const T: Tile = Isa::Avx2.tile();
        let mut acc = [[_mm256_setzero_ps(); 2]; T.rows];
        for (a, b) in a.chunks_exact(T.rows).zip(b.chunks_exact(T.cols)) {
            // SAFETY: `b` holds 16 floats.
            let (b0, b1) = unsafe { (_mm256_loadu_ps(b.as_ptr()), _mm256_loadu_ps(b.as_ptr().add(8))) };
            for (acc, x) in acc.iter_mut().zip(a) {
                let x = _mm256_set1_ps(*x);
                acc[0] = mac256::<FMA>(x, b0, acc[0]);
                acc[1] = mac256::<FMA>(x, b1, acc[1]);
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
