//! Loops over blocks. Each is instantiated once per operation, so the choice of the operation stays outside.

/// a = f(a, b), element by element.
#[inline(always)]
pub(super) fn zip<T: Copy>(a: &mut [T], b: &[T], f: impl Fn(T, T) -> T) {
    for (x, y) in a.iter_mut().zip(b) {
        *x = f(*x, *y);
    }
}

/// a = f(b, a), element by element.
#[inline(always)]
pub(super) fn zip_reversed<T: Copy>(a: &mut [T], b: &[T], f: impl Fn(T, T) -> T) {
    for (x, y) in a.iter_mut().zip(b) {
        *x = f(*y, *x);
    }
}

/// out = f(a, b), element by element.
#[inline(always)]
pub(super) fn zip_into<T: Copy>(out: &mut [T], a: &[T], b: &[T], f: impl Fn(T, T) -> T) {
    for ((o, x), y) in out.iter_mut().zip(a).zip(b) {
        *o = f(*x, *y);
    }
}

/// a = f(a, s), or f(s, a) when reversed.
#[inline(always)]
pub(super) fn scalar<T: Copy>(a: &mut [T], s: T, reverse: bool, f: impl Fn(T, T) -> T) {
    if reverse {
        for x in a {
            *x = f(s, *x);
        }
    } else {
        for x in a {
            *x = f(*x, s);
        }
    }
}

/// out = f(a, s), or f(s, a) when reversed.
#[inline(always)]
pub(super) fn scalar_into<T: Copy>(out: &mut [T], a: &[T], s: T, reverse: bool, f: impl Fn(T, T) -> T) {
    if reverse {
        for (o, x) in out.iter_mut().zip(a) {
            *o = f(s, *x);
        }
    } else {
        for (o, x) in out.iter_mut().zip(a) {
            *o = f(*x, s);
        }
    }
}

/// Rows folded side by side by [`fold_rows`]: enough independent chains to hide the latency of one.
pub(super) const ROWS: usize = 8;

/// acc[r] = f(.. f(acc[r], row_r[skip]) .., row_r[n-1]) for each of the rows of `n` elements in `data`.
///
/// Each row is folded strictly in order; neighbouring rows run side by side.
#[inline(always)]
pub(super) fn fold_rows<T: Copy>(acc: &mut [T], data: &[T], n: usize, skip: usize, f: impl Fn(T, T) -> T) {
    if n == 0 || skip >= n {
        return;
    }
    let mut accs = acc.chunks_exact_mut(ROWS);
    let mut blocks = data.chunks_exact(n * ROWS);
    for (acc, block) in accs.by_ref().zip(blocks.by_ref()) {
        let mut rows: [&[T]; ROWS] = [&[]; ROWS];
        for (row, r) in rows.iter_mut().zip(block.chunks_exact(n)) {
            *row = &r[skip..];
        }
        let mut a: [T; ROWS] = std::array::from_fn(|r| acc[r]);
        for k in 0..n - skip {
            for (a, row) in a.iter_mut().zip(&rows) {
                *a = f(*a, row[k]);
            }
        }
        acc.copy_from_slice(&a);
    }
    for (acc, row) in accs.into_remainder().iter_mut().zip(blocks.remainder().chunks_exact(n)) {
        *acc = row[skip..].iter().fold(*acc, |a, x| f(a, *x));
    }
}
