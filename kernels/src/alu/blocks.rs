//! Loops over rows of values. Each is compiled once per operation, so the choice of the operation stays outside of them.
//!
//! A row is a piece of a lane. Walking all lanes in here, and not in the caller, makes the start of a loop cost a few
//! cycles per lane and not a call through several functions.

use crate::access::{Rows, RowsMut};

/// a = f(a, b), element by element.
#[inline(always)]
pub(super) fn zip<T: Copy>(a: RowsMut<T>, b: Rows<T>, f: impl Fn(T, T) -> T) {
    for (a, b) in a.zip(b) {
        for (x, y) in a.iter_mut().zip(b) {
            *x = f(*x, *y);
        }
    }
}

/// a = f(b, a), element by element.
#[inline(always)]
pub(super) fn zip_reversed<T: Copy>(a: RowsMut<T>, b: Rows<T>, f: impl Fn(T, T) -> T) {
    for (a, b) in a.zip(b) {
        for (x, y) in a.iter_mut().zip(b) {
            *x = f(*y, *x);
        }
    }
}

/// out = f(a, b), element by element.
#[inline(always)]
pub(super) fn zip_into<T: Copy>(out: RowsMut<T>, a: Rows<T>, b: Rows<T>, f: impl Fn(T, T) -> T) {
    for ((out, a), b) in out.zip(a).zip(b) {
        for ((o, x), y) in out.iter_mut().zip(a).zip(b) {
            *o = f(*x, *y);
        }
    }
}

/// a = f(a, s), or f(s, a) when reversed; s is one value per row.
#[inline(always)]
pub(super) fn scalar<T: Copy>(a: RowsMut<T>, s: Rows<T>, reverse: bool, f: impl Fn(T, T) -> T) {
    if reverse {
        for (a, s) in a.zip(s) {
            let s = s[0];
            a.iter_mut().for_each(|x| *x = f(s, *x));
        }
    } else {
        for (a, s) in a.zip(s) {
            let s = s[0];
            a.iter_mut().for_each(|x| *x = f(*x, s));
        }
    }
}

/// out = f(a, s), or f(s, a) when reversed; s is one value per row.
#[inline(always)]
pub(super) fn scalar_into<T: Copy>(out: RowsMut<T>, a: Rows<T>, s: Rows<T>, reverse: bool, f: impl Fn(T, T) -> T) {
    if reverse {
        for ((out, a), s) in out.zip(a).zip(s) {
            let s = s[0];
            out.iter_mut().zip(a).for_each(|(o, x)| *o = f(s, *x));
        }
    } else {
        for ((out, a), s) in out.zip(a).zip(s) {
            let s = s[0];
            out.iter_mut().zip(a).for_each(|(o, x)| *o = f(*x, s));
        }
    }
}

/// Rows folded side by side: enough independent chains to hide the latency of one.
pub const ROWS: usize = 8;

/// `acc[r] = f(.. f(acc[r], row_r[0]) .., row_r[n-1])`, each row strictly in order, for rows of equal length.
#[inline(always)]
pub(super) fn fold_side_by_side<T: Copy>(acc: &mut [T; ROWS], rows: &[&[T]; ROWS], f: impl Fn(T, T) -> T) {
    let n = rows.iter().map(|r| r.len()).min().unwrap_or(0);
    let rows = rows.map(|r| &r[..n]);
    let mut a = *acc;
    for k in 0..n {
        for (a, row) in a.iter_mut().zip(&rows) {
            *a = f(*a, row[k]);
        }
    }
    *acc = a;
}

/// Rows that a reduction folds in one call.
pub const GROUP: usize = 2 * ROWS;

/// As [`fold_side_by_side`] for any number of rows.
#[inline(always)]
pub(super) fn fold_group<T: Copy>(acc: &mut [T], rows: &[&[T]], f: impl Fn(T, T) -> T) {
    let (whole, rest) = acc.as_chunks_mut::<ROWS>();
    let (groups, single) = rows.as_chunks::<ROWS>();
    for (acc, rows) in whole.iter_mut().zip(groups) {
        fold_side_by_side(acc, rows, &f);
    }
    for (acc, row) in rest.iter_mut().zip(single) {
        *acc = row.iter().fold(*acc, |a, x| f(a, *x));
    }
}

/// `acc[r] = f(.. f(acc[r], row_r[skip]) .., row_r[n-1])` for each of the rows of `n` elements in `data`.
#[inline(always)]
pub(super) fn fold_rows<T: Copy>(acc: &mut [T], data: &[T], n: usize, skip: usize, f: impl Fn(T, T) -> T) {
    if n == 0 || skip >= n {
        return;
    }
    let (groups, rest) = acc.as_chunks_mut::<ROWS>();
    let mut blocks = data.chunks_exact(n * ROWS);
    for (acc, block) in groups.iter_mut().zip(blocks.by_ref()) {
        let rows: [&[T]; ROWS] = std::array::from_fn(|r| &block[r * n + skip..(r + 1) * n]);
        fold_side_by_side(acc, &rows, &f);
    }
    for (acc, row) in rest.iter_mut().zip(blocks.remainder().chunks_exact(n)) {
        *acc = row[skip..].iter().fold(*acc, |a, x| f(a, *x));
    }
}

/// Width of the loops whose order does not matter.
const WIDE: usize = 32;

/// Folds in an order that vectorises: for operations that are associative and commutative bit by bit.
#[inline(always)]
pub(super) fn fold_any_order<T: Copy>(values: &[T], f: impl Fn(T, T) -> T) -> Option<T> {
    let (blocks, rest) = values.as_chunks::<WIDE>();
    let (mut acc, blocks) = match blocks.split_first() {
        Some((first, blocks)) => (*first, blocks),
        None => return rest.iter().copied().reduce(f),
    };
    for b in blocks {
        for (a, x) in acc.iter_mut().zip(b) {
            *a = f(*a, *x);
        }
    }
    acc.iter().chain(rest).copied().reduce(f)
}

/// Folds a maximum or minimum of floats in an order that vectorises. `None` when order may show: a NaN is present, or the
/// result is a zero, whose sign is that of the last one.
#[inline(always)]
pub(super) fn extreme_any_order(values: &[f32], f: impl Fn(f32, f32) -> f32) -> Option<f32> {
    // Blocks that straddle cache lines would take twice the reads.
    let (head, values) = values.split_at(values.as_ptr().align_offset(64).min(values.len()));
    let (blocks, rest) = values.as_chunks::<WIDE>();
    let mut nan = [0u32; WIDE];
    let mut acc = *blocks.first()?;
    for b in blocks {
        for ((a, n), x) in acc.iter_mut().zip(&mut nan).zip(b) {
            *a = f(*a, *x);
            *n |= u32::from(x.is_nan());
        }
    }
    let edges_nan = rest.iter().chain(head).any(|x| x.is_nan());
    let result = acc.iter().chain(rest).chain(head).copied().reduce(f)?;
    (result != 0.0 && !edges_nan && nan.iter().all(|n| *n == 0)).then_some(result)
}
