//! Packing: operands are widened to float32 once, into the groups of columns the inner loop reads in order.
//!
//! Layout of a packed side with width w: for each group of w columns, for each k, w neighbouring values; the last
//! group is padded with zeros, whose products are computed and dropped.

#[cfg(target_arch = "x86_64")]
use super::rounding::Exponents;
use crate::Dtype;
use crate::access::{CHUNK, Src};
use crate::cast::round_f32r;
use std::marker::PhantomData;

/// A matrix \[depth\]\[columns\] that can be packed. Columns become rows or columns of the product.
pub(crate) trait Packed: Sync {
    /// Length of the contraction.
    fn depth(&self) -> usize;
    /// Columns of the matrix.
    fn columns(&self) -> usize;
    /// Packs columns `first..first + n` into as many groups of depth * width values; `first` is a multiple of `width`.
    fn pack(&self, width: usize, first: usize, n: usize, out: &mut [f32]);
    /// The matrix itself, when memory holds it as rows of float32 or bfloat16.
    fn rows(&self) -> Option<Rows<'_>> {
        None
    }
}

/// Rows of float32 or bfloat16 in memory, without a promise of alignment.
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "only AVX-512 reads them"))]
pub(crate) struct Rows<'a> {
    /// First element.
    pub first: *const u8,
    /// Bytes from row to row.
    pub stride: isize,
    /// bfloat16, which a shift widens.
    pub narrow: bool,
    depth: usize,
    columns: usize,
    life: PhantomData<&'a [u8]>,
}

// SAFETY: as `Src`, which the pointer was taken from: it is only read.
unsafe impl Sync for Rows<'_> {}

#[cfg(target_arch = "x86_64")]
impl Rows<'_> {
    /// There are at least so many rows and columns.
    pub fn holds(&self, depth: usize, columns: usize) -> bool {
        depth <= self.depth && columns <= self.columns
    }

    /// Exponents of all values of bfloat16 rows.
    pub(super) fn exponents(&self) -> Exponents {
        let row = |k: usize| {
            let first = self.first.wrapping_offset(self.stride * k as isize).cast::<[u8; 2]>();
            // SAFETY: row k has `columns` neighbouring elements of two bytes, which are only read.
            unsafe { std::slice::from_raw_parts(first, self.columns) }
        };
        Exponents::of_bf16((0..self.depth).map(row))
    }
}

/// A buffer of at least `len` values, contents arbitrary.
pub(crate) fn sized(buf: &mut Vec<f32>, len: usize) -> &mut [f32] {
    if buf.len() < len {
        buf.resize(len, 0.0);
    }
    &mut buf[..len]
}

/// Zeroes the last group when `n` columns leave part of it empty.
pub(crate) fn pad(width: usize, n: usize, depth: usize, out: &mut [f32]) {
    if !n.is_multiple_of(width) {
        let last = n / width * depth * width;
        out[last..last + depth * width].fill(0.0);
    }
}

/// How the elements of a lane map to (row of the contraction, column).
#[derive(Clone, Copy, PartialEq)]
enum Order {
    /// Element c is column c.
    Plain,
    /// Element j * columns + c is column c of half j.
    Halves,
    /// Element 2 * c + j is column c of half j, columns counted from the end when `true`.
    Pairs(bool),
}

/// An operand of Matmult.
pub(crate) struct Side<'a> {
    src: &'a Src<'a>,
    columns: usize,
    order: Order,
    round: bool,
    zero: Option<u8>,
}

impl<'a> Side<'a> {
    /// `columns` per row; `round` applies the float32r rule, then `zero` is subtracted.
    pub fn new(src: &'a Src<'a>, columns: usize, round: bool, zero: Option<u8>) -> Self {
        Side { src, columns, order: Order::Plain, round, zero: zero.filter(|z| *z != 0) }
    }

    /// Each lane holds two rows of the contraction, one after the other.
    pub fn halves(self) -> Self {
        Side { order: Order::Halves, ..self }
    }

    /// Each lane holds two rows of the contraction, element by element.
    pub fn interleaved(self, reversed: bool) -> Self {
        Side { order: Order::Pairs(reversed), ..self }
    }

    /// Widened values of one lane's elements `start..`.
    fn values(&self, lane: usize, start: usize, out: &mut [f32]) {
        self.src.read_f32(lane, start, out);
        if self.round {
            out.iter_mut().for_each(|v| *v = round_f32r(*v));
        }
        if let Some(z) = self.zero {
            out.iter_mut().for_each(|v| *v -= f32::from(z));
        }
    }
}

impl Packed for Side<'_> {
    fn depth(&self) -> usize {
        self.src.lanes() * if self.order == Order::Plain { 1 } else { 2 }
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn rows(&self) -> Option<Rows<'_>> {
        let narrow = self.src.dtype() == Dtype::Bfloat16;
        let plain = self.order == Order::Plain && self.zero.is_none() && !self.round;
        let (first, stride) = self.src.lane_rows().filter(|_| plain && (narrow || self.is_raw()))?;
        Some(Rows { first, stride, narrow, depth: self.depth(), columns: self.columns, life: PhantomData })
    }

    fn pack(&self, width: usize, first: usize, n: usize, out: &mut [f32]) {
        let depth = self.depth();
        pad(width, n, depth, out);
        let raw = self.is_raw();
        let mut buf = [0.0f32; CHUNK];
        for lane in 0..self.src.lanes() {
            match self.order {
                Order::Plain if raw => self.copy_row(width, lane, first, n, out),
                Order::Plain => self.elements(lane, first, n, &mut buf, |c, values| {
                    spread(out, depth, width, lane, c - first, values.len(), |i, v| {
                        copy_short(bytemuck::cast_slice_mut(v), bytemuck::cast_slice(&values[i..]));
                    });
                }),
                Order::Halves => {
                    for half in 0..2 {
                        let from = half * self.columns + first;
                        self.elements(lane, from, n, &mut buf, |e, values| {
                            spread(out, depth, width, 2 * lane + half, e - from, values.len(), |i, v| {
                                copy_short(bytemuck::cast_slice_mut(v), bytemuck::cast_slice(&values[i..]));
                            });
                        });
                    }
                }
                Order::Pairs(reversed) => {
                    let from = if reversed { self.columns - first - n } else { first };
                    self.elements(lane, 2 * from, 2 * n, &mut buf, |e, values| {
                        for (i, v) in values.iter().enumerate() {
                            let (half, c) = ((e + i) % 2, (e + i) / 2 - from);
                            let c = if reversed { n - 1 - c } else { c };
                            out[(c / width * depth + 2 * lane + half) * width + c % width] = *v;
                        }
                    });
                }
            }
        }
    }
}

impl Side<'_> {
    /// Memory holds the values that are multiplied.
    fn is_raw(&self) -> bool {
        self.src.dtype() == Dtype::Float32 && self.zero.is_none() && !self.round
    }

    /// Widened elements `first..first + n` of a lane, in pieces: `f(first element of the piece, values)`.
    fn elements(&self, lane: usize, first: usize, n: usize, buf: &mut [f32; CHUNK], mut f: impl FnMut(usize, &[f32])) {
        let mut at = first;
        while at < first + n {
            let values = &mut buf[..CHUNK.min(first + n - at)];
            self.values(lane, at, values);
            f(at, values);
            at += values.len();
        }
    }

    /// float32 elements are copied without a stop on the way.
    fn copy_row(&self, width: usize, lane: usize, first: usize, n: usize, out: &mut [f32]) {
        let depth = self.depth();
        let mut at = 0;
        while at < n {
            let count = CHUNK.min(n - at);
            self.src.with_bytes(lane, first + at, count, |b| {
                spread(out, depth, width, lane, at, count, |i, v| {
                    copy_short(bytemuck::cast_slice_mut(v), &b[4 * i..]);
                });
            });
            at += count;
        }
    }
}

/// Fills `to` from the front of `from`. The group lengths of every path are constants here, so the copy is inlined.
#[inline(always)]
fn copy_short(to: &mut [u8], from: &[u8]) {
    let from = &from[..to.len()];
    macro_rules! sizes {
        ($($n:literal)*) => {
            $(if let (Ok(t), Ok(f)) = (<&mut [u8; $n]>::try_from(&mut *to), <&[u8; $n]>::try_from(from)) {
                *t = *f;
                return;
            })*
        };
    }
    sizes!(128 48 64 24);
    to.copy_from_slice(from);
}

/// Calls `f(index in the run, destination)` for the pieces of row k's columns `at..at + n`.
#[inline]
pub(crate) fn spread(
    out: &mut [f32],
    depth: usize,
    width: usize,
    k: usize,
    at: usize,
    n: usize,
    mut f: impl FnMut(usize, &mut [f32]),
) {
    let (mut group, mut within) = if at == 0 { (0, 0) } else { (at / width, at % width) };
    let mut i = 0;
    while i < n {
        let count = (width - within).min(n - i);
        let base = (group * depth + k) * width + within;
        f(i, &mut out[base..base + count]);
        i += count;
        group += 1;
        within = 0;
    }
}
