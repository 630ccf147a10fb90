//! Packing: operands are widened to float32 once, into the blocks and panels the inner loop reads in order.
//!
//! Layout of a packed side with width w: for each group of w columns, for each k, w neighbouring values; the last
//! group is padded with zeros, whose products are computed and dropped.

use crate::Dtype;
use crate::access::{CHUNK, Src};
use crate::cast::round_f32r;

/// The stationary side: packed in blocks as high as the register tile.
pub(crate) trait Blocks: Packed {}
/// The moving side: packed in panels as wide as the register tile.
pub(crate) trait Panels: Packed {}

/// A matrix \[depth\]\[columns\] that can be packed.
pub(crate) trait Packed {
    /// Length of the contraction.
    fn depth(&self) -> usize;
    /// Columns: rows or columns of the product.
    fn columns(&self) -> usize;
    /// Writes `columns.div_ceil(width)` groups of depth * width values.
    fn pack(&self, width: usize, out: &mut Vec<f32>);
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

impl Blocks for Side<'_> {}
impl Panels for Side<'_> {}

impl Packed for Side<'_> {
    fn depth(&self) -> usize {
        self.src.lanes() * if self.order == Order::Plain { 1 } else { 2 }
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn pack(&self, width: usize, out: &mut Vec<f32>) {
        let depth = self.depth();
        clear(out, depth, self.columns, width);
        let plain_f32 = self.src.dtype() == Dtype::Float32 && self.zero.is_none() && self.order == Order::Plain;
        let mut buf = [0.0f32; CHUNK];
        for lane in 0..self.src.lanes() {
            let len = self.src.lane_len();
            let mut at = 0;
            while at < len {
                let n = CHUNK.min(len - at);
                if plain_f32 {
                    self.src.with_bytes(lane, at, n, |b| {
                        spread(out, depth, width, lane, at, n, |i, v| {
                            for (v, e) in v.iter_mut().zip(b[4 * i..].chunks_exact(4)) {
                                *v = f32::from_le_bytes([e[0], e[1], e[2], e[3]]);
                            }
                        });
                    });
                } else {
                    let buf = &mut buf[..n];
                    self.values(lane, at, buf);
                    self.place(out, depth, width, lane, at, buf);
                }
                at += n;
            }
        }
    }
}

impl Side<'_> {
    fn place(&self, out: &mut [f32], depth: usize, width: usize, lane: usize, at: usize, values: &[f32]) {
        match self.order {
            Order::Plain => spread(out, depth, width, lane, at, values.len(), |i, v| {
                v.copy_from_slice(&values[i..i + v.len()]);
            }),
            Order::Halves | Order::Pairs(_) => {
                for (i, v) in values.iter().enumerate() {
                    let e = at + i;
                    let (half, c) = match self.order {
                        Order::Pairs(false) => (e % 2, e / 2),
                        Order::Pairs(true) => (e % 2, self.columns - 1 - e / 2),
                        _ => (e / self.columns, e % self.columns),
                    };
                    out[(c / width * depth + 2 * lane + half) * width + c % width] = *v;
                }
            }
        }
    }
}

/// Sizes the buffer and zeroes the padding of the last group.
pub(crate) fn clear(out: &mut Vec<f32>, depth: usize, columns: usize, width: usize) {
    let groups = columns.div_ceil(width);
    let need = groups * depth * width;
    if out.len() < need {
        out.resize(need, 0.0);
    }
    if !columns.is_multiple_of(width) {
        out[(groups - 1) * depth * width..need].fill(0.0);
    }
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
    let mut i = 0;
    while i < n {
        let c = at + i;
        let count = (width - c % width).min(n - i);
        let base = (c / width * depth + k) * width + c % width;
        f(i, &mut out[base..base + count]);
        i += count;
    }
}
