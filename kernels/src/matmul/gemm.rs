//! The inner loops: one accumulator chain per output, k ascending, the same roundings in the same order on every path.

#[cfg(target_arch = "x86_64")]
use super::pack::Rows;
use super::pack::{Packed, sized};
use super::rounding::{Exponents, Rounding};
use crate::access::RowsMut;
use crate::isa::Isa;
use crate::parallel;
use std::marker::PhantomData;

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

/// Panels that are packed together, because finding a row in memory costs as much as copying one panel's part of it.
const STRIP: usize = 4;
/// The same when threads share the work: with small strips they finish at about the same time.
const SHARED_STRIP: usize = 2;

/// A product takes one thread for each of this many multiply-adds.
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

/// C\[m\]\[n\] of a stationary side `a` and a moving side `b`, into `c`. `abuf` and `bbuf` are scratch space.
///
/// Threads share the columns: each packs its own panels of `b` and multiplies them while they are in its cache.
pub(crate) fn multiply(
    isa: Isa,
    rounding: Rounding,
    a: &impl Packed,
    b: &impl Packed,
    c: &Output,
    abuf: &mut Vec<f32>,
    bbuf: &mut Vec<f32>,
) {
    let isa = isa.or_scalar();
    let (k, m, n) = (a.depth(), a.columns(), b.columns());
    if m == 0 || n == 0 {
        return;
    }
    if k == 0 {
        let zeros = vec![0.0; n];
        (0..m).for_each(|row| c.store((row, 0), (1, n), &zeros, n));
        return;
    }
    let tile = isa.tile();
    let blocks = m.div_ceil(tile.rows);
    let panels = n.div_ceil(tile.cols);
    let abuf = sized(abuf, blocks * k * tile.rows);
    a.pack(tile.rows, 0, m, abuf);
    let bbuf = sized(bbuf, panels * k * tile.cols);
    let abuf = &*abuf;
    let a_exponents = (rounding == Rounding::ByRange).then(|| Exponents::of(abuf));
    let fused_with = |b: &[f32]| match a_exponents {
        Some(a) => a.products_fit(Exponents::of(b)),
        None => rounding == Rounding::Fused,
    };
    // The first block of a panel can widen and pack it on the way.
    let rows = if isa == Isa::Avx512 { b.rows() } else { None };
    // Such panels are not there yet when their range decides, so that of the whole matrix does. That of float32 never does.
    #[cfg(target_arch = "x86_64")]
    let fused_on_the_way = match (&rows, a_exponents) {
        (Some(rows), Some(a)) if rows.narrow => a.products_fit(rows.exponents()),
        _ => rounding == Rounding::Fused,
    };
    #[cfg(not(target_arch = "x86_64"))]
    let fused_on_the_way = false;
    let threads = parallel::threads().min(k * m * n / PARALLEL_FROM).min(panels);
    let strip_panels = match (threads < 2, rows.is_some()) {
        // Panels are then used one after the other, so one panel's space is enough for all of them.
        (true, true) => panels,
        (true, false) => STRIP,
        (false, true) => 1,
        (false, false) => SHARED_STRIP,
    };
    let work = |(strip, b_packed): (usize, &mut [f32])| {
        let first = strip * strip_panels * tile.cols;
        let columns = (strip_panels * tile.cols).min(n - first);
        // Panels that are not full are packed like all others.
        let fused = if rows.is_some() { columns / tile.cols } else { 0 };
        if columns > fused * tile.cols {
            let from = fused * tile.cols;
            b.pack(tile.cols, first + from, columns - from, &mut b_packed[fused * k * tile.cols..]);
        }
        for panel in 0..columns.div_ceil(tile.cols) {
            let col = first + panel * tile.cols;
            let cols = tile.cols.min(n - col);
            let rows = rows.as_ref().filter(|_| panel < fused);
            // A panel that is packed on the way is used once, so all of a strip can share the space in the L1 cache.
            let at = if rows.is_some() { 0 } else { panel };
            let b_panel = &mut b_packed[at * k * tile.cols..][..k * tile.cols];
            let fma = if rows.is_some() { fused_on_the_way } else { fused_with(b_panel) };
            let tile_of = if fma { run_tile::<true> } else { run_tile::<false> };
            for (block, a) in abuf.chunks_exact(k * tile.rows).enumerate() {
                let row = block * tile.rows;
                let size = (tile.rows.min(m - row), cols);
                match rows {
                    #[cfg(target_arch = "x86_64")]
                    Some(rows) if block == 0 => pack_tile(fma, a, rows, b_panel, c, col, size.0),
                    _ => tile_of(isa, a, b_panel, c, (row, col), size),
                }
            }
        }
    };
    let strip_len = strip_panels * k * tile.cols;
    if threads < 2 {
        bbuf.chunks_mut(strip_len).enumerate().for_each(work);
    } else {
        parallel::each_chunk(bbuf, strip_len, work);
    }
}

/// What happens to a tile of the product when it leaves the registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    /// It is stored.
    Store,
    /// It is added to what is there: product + old, one rounding.
    Add,
}

/// The matrix that the product goes to, written tile by tile from several threads.
pub(crate) struct Output<'a> {
    first: *mut f32,
    /// Bytes from row to row.
    step: isize,
    rows: usize,
    cols: usize,
    leave: Leave,
    life: PhantomData<&'a mut [f32]>,
}

// SAFETY: `multiply` gives every thread its own columns, so no element is touched twice, and nothing else reads before all
// threads have ended.
unsafe impl Sync for Output<'_> {}

impl<'a> Output<'a> {
    pub(crate) fn new(mut rows: RowsMut<'a, f32>, leave: Leave) -> Self {
        let (first, step, rows, cols) = rows.layout();
        Output { first, step, rows, cols, leave, life: PhantomData }
    }

    /// Start of a `rows` x `cols` tile at (row, col), proven to be inside the matrix.
    fn tile(&self, (row, col): (usize, usize), (rows, cols): (usize, usize)) -> *mut f32 {
        assert!(rows > 0 && col + cols <= self.cols && row + rows <= self.rows);
        self.first.wrapping_byte_offset(self.step * row as isize).wrapping_add(col)
    }

    /// Puts `size` of the rows of `width` values in `tile` where they belong.
    fn store(&self, at: (usize, usize), size: (usize, usize), tile: &[f32], width: usize) {
        let start = self.tile(at, size);
        for (r, row) in tile.chunks_exact(width).take(size.0).enumerate() {
            // SAFETY: row r of the tile is inside the matrix, and this thread is the only one that touches it.
            let to =
                unsafe { std::slice::from_raw_parts_mut(start.wrapping_byte_offset(self.step * r as isize), size.1) };
            match self.leave {
                Leave::Store => to.copy_from_slice(&row[..size.1]),
                // The product is the left operand, whose payload survives when both are NaN.
                Leave::Add => to.iter_mut().zip(row).for_each(|(old, v)| {
                    let sum = v + *old;
                    *old = sum;
                }),
            }
        }
    }
}

/// One register tile at `at`, of which `size` is inside the matrix.
fn run_tile<const FMA: bool>(isa: Isa, a: &[f32], b: &[f32], c: &Output, at: (usize, usize), size: (usize, usize)) {
    let tile = isa.tile();
    let mut whole = [0.0f32; MAX_TILE];
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 if size.1 == tile.cols && size.0.is_multiple_of(4) => {
            let to = x86::Target { first: c.tile(at, size), step: c.step, add: c.leave == Leave::Add };
            // SAFETY: `multiply` checked the CPU; `Output::tile` proved the whole tile to be inside the matrix.
            return unsafe { x86::avx512_tile::<FMA>(size.0, a, x86::Panel::packed(b), to) };
        }
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `multiply` checked the CPU.
        Isa::Avx2 => unsafe { x86::avx2_tile::<FMA>(a, b, &mut whole) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `multiply` checked the CPU; `whole` holds 12 rows of 32.
        Isa::Avx512 => unsafe {
            x86::avx512_tile::<FMA>(tile.rows, a, x86::Panel::packed(b), x86::Target::buffer(&mut whole));
        },
        _ => scalar_tile::<FMA>(a, b, &mut whole),
    }
    c.store(at, size, &whole, tile.cols);
}

/// The top tile of a full panel on AVX-512, read from the operand's memory and packed into `panel` on the way.
#[cfg(target_arch = "x86_64")]
fn pack_tile(fma: bool, a: &[f32], rows: &Rows, panel: &mut [f32], c: &Output, col: usize, size: usize) {
    const T: Tile = Isa::Avx512.tile();
    let depth = a.len() / T.rows;
    assert!(rows.holds(depth, col + T.cols) && panel.len() == depth * T.cols);
    let whole = &mut [0.0f32; MAX_TILE];
    let direct = size.is_multiple_of(4);
    let (to, count) = if direct {
        (x86::Target { first: c.tile((0, col), (size, T.cols)), step: c.step, add: c.leave == Leave::Add }, size)
    } else {
        (x86::Target::buffer(whole), T.rows)
    };
    // SAFETY: `multiply` checked the CPU; the rows and the panel were checked above; `to` is a tile inside the matrix or the
    // buffer.
    unsafe {
        let from = x86::Panel::unpacked(rows, col, panel);
        if fma {
            x86::avx512_tile::<true>(count, a, from, to);
        } else {
            x86::avx512_tile::<false>(count, a, from, to);
        }
    }
    if !direct {
        c.store((0, col), (size, T.cols), whole, T.cols);
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
    use super::{Rows, Tile};
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

    /// Where the rows of 32 columns come from.
    #[derive(Clone, Copy)]
    pub struct Panel {
        row: *const u8,
        /// Bytes from row to row.
        stride: isize,
        /// Where they are packed on the way, unless null.
        keep: *mut f32,
        source: u8,
    }

    /// What a panel's rows are: packed already, float32 in memory, or bfloat16 in memory.
    const PACKED: u8 = 0;
    const FLOATS: u8 = 1;
    const NARROW: u8 = 2;

    impl Panel {
        /// A panel that is packed already.
        pub fn packed(b: &[f32]) -> Self {
            let stride = (Isa::Avx512.tile().cols * 4) as isize;
            Panel { row: b.as_ptr().cast(), stride, keep: std::ptr::null_mut(), source: PACKED }
        }

        /// Columns `col..` of `rows`, to be packed into `keep`.
        pub fn unpacked(rows: &Rows, col: usize, keep: &mut [f32]) -> Self {
            let (size, source) = if rows.narrow { (2, NARROW) } else { (4, FLOATS) };
            Panel { row: rows.first.wrapping_add(col * size), stride: rows.stride, keep: keep.as_mut_ptr(), source }
        }
    }

    /// Where the rows of a tile go.
    #[derive(Clone, Copy)]
    pub struct Target {
        pub first: *mut f32,
        /// Bytes from row to row.
        pub step: isize,
        /// They are added to what is there.
        pub add: bool,
    }

    impl Target {
        /// A buffer of rows of 32.
        pub fn buffer(whole: &mut [f32]) -> Self {
            Target { first: whole.as_mut_ptr(), step: (Isa::Avx512.tile().cols * 4) as isize, add: false }
        }
    }

    /// `count` (4, 8 or 12) x 32 outputs in up to 24 registers.
    ///
    /// # Safety
    /// The CPU has AVX-512F; `b` has 32 columns in as many rows as `a` has groups of 12; `c` is readable and writable for
    /// `count` rows of 32 floats.
    #[target_feature(enable = "avx512f")]
    pub unsafe fn avx512_tile<const FMA: bool>(count: usize, a: &[f32], b: Panel, c: Target) {
        // SAFETY: the caller's promise.
        unsafe {
            match (count, b.source) {
                (4, PACKED) => avx512_rows::<FMA, PACKED, 4>(a, b, c),
                (8, PACKED) => avx512_rows::<FMA, PACKED, 8>(a, b, c),
                (_, PACKED) => avx512_rows::<FMA, PACKED, 12>(a, b, c),
                (4, FLOATS) => avx512_rows::<FMA, FLOATS, 4>(a, b, c),
                (8, FLOATS) => avx512_rows::<FMA, FLOATS, 8>(a, b, c),
                (_, FLOATS) => avx512_rows::<FMA, FLOATS, 12>(a, b, c),
                (4, _) => avx512_rows::<FMA, NARROW, 4>(a, b, c),
                (8, _) => avx512_rows::<FMA, NARROW, 8>(a, b, c),
                (_, _) => avx512_rows::<FMA, NARROW, 12>(a, b, c),
            }
        }
    }

    /// 32 values of a row.
    ///
    /// # Safety
    /// They are there, as `SOURCE` says.
    #[target_feature(enable = "avx512f")]
    #[inline]
    unsafe fn load<const SOURCE: u8>(row: *const u8) -> [__m512; 2] {
        // SAFETY: the caller's promise.
        unsafe {
            if SOURCE == NARROW {
                let half = |at: usize| _mm512_cvtepu16_epi32(_mm256_loadu_si256(row.add(at).cast()));
                [half(0), half(32)].map(|bits| _mm512_castsi512_ps(_mm512_slli_epi32::<16>(bits)))
            } else {
                [_mm512_loadu_ps(row.cast()), _mm512_loadu_ps(row.cast::<f32>().add(16))]
            }
        }
    }

    /// # Safety
    /// As [`avx512_tile`], for `R` rows.
    #[target_feature(enable = "avx512f")]
    unsafe fn avx512_rows<const FMA: bool, const SOURCE: u8, const R: usize>(a: &[f32], b: Panel, c: Target) {
        const T: Tile = Isa::Avx512.tile();
        /// Rows that are prefetched ahead of their use: they are too far apart for the processor to guess.
        const AHEAD: isize = 8;
        let mut acc = [[_mm512_setzero_ps(); 2]; R];
        let (mut row, mut keep) = (b.row, b.keep);
        for a in a.as_chunks::<{ T.rows }>().0 {
            // SAFETY: a row holds 32 values.
            let [b0, b1] = unsafe { load::<SOURCE>(row) };
            if SOURCE != PACKED {
                // SAFETY: asking for any address is harmless; `keep` holds 32 floats for every row.
                unsafe {
                    let next = row.wrapping_byte_offset(AHEAD * b.stride);
                    _mm_prefetch::<_MM_HINT_T0>(next.cast());
                    _mm_prefetch::<_MM_HINT_T0>(next.wrapping_add(64).cast());
                    _mm512_storeu_ps(keep, b0);
                    _mm512_storeu_ps(keep.add(16), b1);
                }
                keep = keep.wrapping_add(T.cols);
            }
            row = row.wrapping_byte_offset(b.stride);
            for (acc, x) in acc.iter_mut().zip(a) {
                let x = _mm512_set1_ps(*x);
                acc[0] = mac512::<FMA>(x, b0, acc[0]);
                acc[1] = mac512::<FMA>(x, b1, acc[1]);
            }
        }
        let mut to = c.first;
        for [lo, hi] in acc {
            // SAFETY: the caller guarantees `R` rows of 32 floats.
            unsafe {
                let high = to.add(16);
                let (lo, hi) = match c.add {
                    true => (_mm512_add_ps(lo, _mm512_loadu_ps(to)), _mm512_add_ps(hi, _mm512_loadu_ps(high))),
                    false => (lo, hi),
                };
                _mm512_storeu_ps(to, lo);
                _mm512_storeu_ps(high, hi);
            }
            to = to.wrapping_byte_offset(c.step);
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
