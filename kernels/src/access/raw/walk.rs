//! Loops over the elements of one lane: which runs a pattern consists of, and moving one run.

use crate::access::{MAX_PAIRS, Pattern};

/// Byte of the first element of a strided lane.
#[inline]
pub(super) fn lane_base(p: &Pattern, lane: usize) -> i64 {
    p.base() + p.pairs()[0].stride * lane as i64
}

/// Calls `f(byte of the first element, stride, position in the request, count)` for each innermost run.
#[inline]
pub(super) fn walk(p: &Pattern, lane: usize, start: usize, n: usize, mut f: impl FnMut(i64, i64, usize, usize)) {
    let inner = p.inner();
    let base = lane_base(p, lane);
    if n == 0 {
        return;
    }
    let Some((last, outer)) = inner.split_last() else {
        f(base, 0, 0, 1);
        return;
    };
    let row = last.num as usize;
    let mut col = start % row;
    let mut index = [0u32; MAX_PAIRS];
    let mut rest = start / row;
    let mut byte = base;
    for (k, d) in outer.iter().enumerate().rev() {
        index[k] = (rest % d.num as usize) as u32;
        rest /= d.num as usize;
        byte += d.stride * i64::from(index[k]);
    }
    let mut done = 0;
    while done < n {
        let count = (row - col).min(n - done);
        f(byte + last.stride * col as i64, last.stride, done, count);
        done += count;
        col = 0;
        for (k, d) in outer.iter().enumerate().rev() {
            index[k] += 1;
            byte += d.stride;
            if index[k] < d.num {
                break;
            }
            byte -= d.stride * i64::from(d.num);
            index[k] = 0;
        }
    }
}

/// # Safety
/// `src` must be readable at every `i * stride`, `dst` writable at every `i * N`, for i < n, N bytes each.
#[inline]
pub(super) unsafe fn pick<const N: usize>(src: *const u8, stride: i64, dst: *mut u8, n: usize) {
    for i in 0..n {
        // SAFETY: the caller guarantees validity of both addresses.
        unsafe {
            let v = src.offset((stride * i as i64) as isize).cast::<[u8; N]>().read_unaligned();
            dst.add(i * N).cast::<[u8; N]>().write_unaligned(v);
        }
    }
}

/// # Safety
/// `src` must be readable at every `i * N`, `dst` writable at every `i * stride`, for i < n, N bytes each.
#[inline]
pub(super) unsafe fn place<const N: usize>(src: *const u8, dst: *mut u8, stride: i64, n: usize) {
    for i in 0..n {
        // SAFETY: the caller guarantees validity of both addresses.
        unsafe {
            let v = src.add(i * N).cast::<[u8; N]>().read_unaligned();
            dst.offset((stride * i as i64) as isize).cast::<[u8; N]>().write_unaligned(v);
        }
    }
}
