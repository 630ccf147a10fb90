//! The loops of a reduction. Each row is folded strictly in order; independent rows run side by side, which hides the
//! latency of one chain without changing any result.

use crate::access::{CHUNK, Dst, Pair, Src};
use crate::alu::{GROUP, Operation, ROWS};
use crate::elementwise::Number;
use crate::{Result, halt};
use std::ops::Range;

/// Elements of a row per step when a group of rows shares the buffer.
const PIECE: usize = 256;

/// From this length on, one row that vectorises by itself is faster than rows side by side.
const LONG: usize = 256;

/// Elements of a row that are folded between two checks whether the run should stop.
const LONGEST: usize = 1 << 20;

/// A buffer that begins at a cache line.
#[repr(align(64))]
struct Lines<N>([N; GROUP * PIECE]);

/// The rows of a reduction.
pub(super) struct Rows {
    /// Elements of a row.
    pub extent: usize,
    /// Results per lane of the destination.
    pub per_lane: usize,
    /// Everything is one row.
    pub whole: bool,
    /// Rows run over the partitions.
    pub across: bool,
}

/// Folds the rows of some lanes; calls `store(lane, first result, results)`.
pub(super) fn fold_lanes<N: Number>(
    op: N::Op,
    seed: &impl Fn(N) -> N,
    src: &Src,
    rows: &Rows,
    lanes: Range<usize>,
    mut store: impl FnMut(usize, usize, &mut [N]),
) -> Result<()> {
    let n = rows.extent;
    if n <= CHUNK / ROWS && rows.per_lane >= ROWS {
        let mut data = [N::zeroed(); CHUNK];
        let mut acc = [N::zeroed(); CHUNK];
        for lane in lanes {
            let mut row = 0;
            while row < rows.per_lane {
                halt::check()?;
                let count = (CHUNK / n).min(rows.per_lane - row);
                let data = &mut data[..count * n];
                N::read(src, lane, row * n, data);
                let acc = &mut acc[..count];
                for (a, r) in acc.iter_mut().zip(data.chunks_exact(n)) {
                    *a = seed(r[0]);
                }
                op.fold_rows(acc, data, n, 1);
                store(lane, row, acc);
                row += count;
            }
        }
        return Ok(());
    }
    let mut data = Lines([N::zeroed(); GROUP * PIECE]);
    let data = &mut data.0;
    let place = |row: usize| (lanes.start + row / rows.per_lane, row % rows.per_lane);
    let total = lanes.len() * rows.per_lane;
    if n >= LONG && op.has_any_order() {
        for row in 0..total {
            let (lane, row) = place(row);
            let mut acc = None;
            let mut at = 0;
            while at < n {
                halt::check()?;
                let rest = N::in_place(src, lane, row * n + at, LONGEST.min(n - at));
                let values = match rest {
                    Some(values) => values,
                    None => view(src, lane, row * n + at, &mut data[..CHUNK.min(n - at)]),
                };
                acc = Some(fold_piece(op, seed, acc, values));
                at += values.len();
            }
            if let Some(mut acc) = acc {
                store(lane, row, std::slice::from_mut(&mut acc));
            }
        }
        return Ok(());
    }
    // Long or few rows: a group of rows at a time, from any lanes; in pieces, or whole rows where memory allows.
    let mut first = 0;
    while first < total {
        let count = GROUP.min(total - first);
        let mut acc = [N::zeroed(); GROUP];
        let mut at = 0;
        while at < n {
            halt::check()?;
            let whole = at == 0
                && n <= LONGEST
                && (first..first + count).map(place).all(|(l, r)| N::in_place(src, l, r * n, n).is_some());
            let piece = if whole { n } else { PIECE.min(n - at) };
            let mut group: [&[N]; GROUP] = [&[]; GROUP];
            for (r, (slot, buf)) in group.iter_mut().zip(data.chunks_exact_mut(PIECE)).enumerate().take(count) {
                let (lane, row) = place(first + r);
                let values = match N::in_place(src, lane, row * n + at, piece) {
                    Some(values) => values,
                    None => {
                        let buf = &mut buf[..piece.min(PIECE)];
                        N::read(src, lane, row * n + at, buf);
                        buf
                    }
                };
                *slot = match at {
                    0 => {
                        acc[r] = seed(values[0]);
                        &values[1..]
                    }
                    _ => values,
                };
            }
            op.fold_side_by_side(&mut acc[..count], &group[..count]);
            at += piece;
        }
        for (r, a) in acc[..count].iter_mut().enumerate() {
            let (lane, row) = place(first + r);
            store(lane, row, std::slice::from_mut(a));
        }
        first += count;
    }
    Ok(())
}

/// Elements of a lane: in place when possible, else read into `buf`, whose length decides how many.
fn view<'a, N: Number>(src: &'a Src, lane: usize, start: usize, buf: &'a mut [N]) -> &'a [N] {
    match N::in_place(src, lane, start, buf.len()) {
        Some(values) => values,
        None => {
            N::read(src, lane, start, buf);
            buf
        }
    }
}

/// Folds one piece of a row, in any order when that gives the same bits.
fn fold_piece<N: Number>(op: N::Op, seed: &impl Fn(N) -> N, acc: Option<N>, values: &[N]) -> N {
    let mut out = [acc.unwrap_or_else(|| seed(values[0]))];
    let rest = &values[usize::from(acc.is_none())..];
    match op.fold_any_order(rest) {
        Some(v) => op.apply(&mut out, &[v]),
        None => op.fold_rows(&mut out, rest, rest.len(), 0),
    }
    out[0]
}

/// Folds every element, in row-major order, into one result.
pub(super) fn fold_all<N: Number>(
    op: N::Op,
    seed: &impl Fn(N) -> N,
    src: &Src,
    store: impl FnOnce(&mut [N]),
) -> Result<()> {
    let mut data = [N::zeroed(); CHUNK];
    let mut acc = [N::zeroed()];
    for lane in 0..src.lanes() {
        let mut at = 0;
        while at < src.lane_len() {
            halt::check()?;
            let piece = CHUNK.min(src.lane_len() - at);
            N::read(src, lane, at, &mut data[..piece]);
            let start = lane == 0 && at == 0;
            if start {
                acc[0] = seed(data[0]);
            }
            op.fold_rows(&mut acc, &data[..piece], piece, usize::from(start));
            at += piece;
        }
    }
    store(&mut acc);
    Ok(())
}

/// Folds the partitions in ascending order, one result per element of a partition: `store(dst, lane, first, results)`.
pub(super) fn fold_partitions<N: Number>(
    op: N::Op,
    seed: &(impl Fn(N) -> N + Sync),
    src: &Src,
    dst: &mut Dst,
    store: &(impl Fn(&mut Dst, usize, usize, &mut [N]) + Sync),
) -> Result<()> {
    // Results from `at` on, which go to `lane` of the destination.
    let fold = |dst: &mut Dst, at: usize, lane: usize, start: usize, n: usize| -> Result<()> {
        let (mut acc, mut data) = ([N::zeroed(); CHUNK], [N::zeroed(); CHUNK]);
        let acc = &mut acc[..n];
        N::read(src, 0, at, acc);
        acc.iter_mut().for_each(|a| *a = seed(*a));
        for lane in 1..src.lanes() {
            halt::check()?;
            op.apply(acc, view(src, lane, at, &mut data[..n]));
        }
        store(dst, lane, start, acc);
        Ok(())
    };
    let len = src.lane_len();
    // Threads share whole lanes, so the single lane of the result is reshaped into many lanes of one chunk each.
    let whole = if dst.pattern().is_contiguous() { len / CHUNK } else { 0 };
    if whole > 1 {
        let size = dst.dtype().size() as i64;
        let chunk = Pair { stride: size * CHUNK as i64, num: whole as u32 };
        let pattern = dst.pattern().with_pairs(&[chunk, Pair { stride: size, num: CHUNK as u32 }])?;
        dst.reshaped(&pattern)?.for_lanes(src.len(), |dst, lane| fold(dst, lane * CHUNK, lane, 0, CHUNK))?;
    }
    let done = if whole > 1 { whole * CHUNK } else { 0 };
    for at in (done..len).step_by(CHUNK) {
        fold(dst, at, 0, at, CHUNK.min(len - at))?;
    }
    Ok(())
}
