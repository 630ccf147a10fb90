//! The bytes of a pattern as gap-free runs, for whoever cares about memory rather than about elements.

use crate::Result;
use arrayvec::ArrayVec;
use birsim_kernels::access::{MAX_PAIRS, Pair, Pattern};
use birsim_kernels::halt;

/// Calls `f(first byte, byte after the last)` for runs that hold every byte of the pattern. Gaps of up to `gap` bytes are
/// taken along. The runs come in no particular order.
pub(crate) fn each_run(pattern: &Pattern, gap: usize, mut f: impl FnMut(usize, usize) -> Result<()>) -> Result<()> {
    let size = pattern.dtype().size();
    if pattern.is_empty() {
        return Ok(());
    }
    if let Some(offsets) = pattern.offsets() {
        for (k, at) in offsets.iter().enumerate() {
            if k.is_multiple_of(1024) {
                halt::check()?;
            }
            f(*at, *at + size)?;
        }
        return Ok(());
    }
    // The order of the pairs does not matter for the bytes they reach, nor does a direction or a repetition.
    let mut base = pattern.base();
    let mut pairs: ArrayVec<Pair, MAX_PAIRS> = ArrayVec::new();
    for p in pattern.pairs() {
        if p.stride < 0 {
            base += p.stride * (i64::from(p.num) - 1);
        }
        if p.num > 1 && p.stride != 0 {
            pairs.push(Pair { stride: p.stride.abs(), num: p.num });
        }
    }
    pairs.sort_unstable_by_key(|p| p.stride);
    let mut span = size as i64;
    let dense = pairs.iter().take_while(|p| {
        let close = p.stride <= span.saturating_add(gap as i64);
        if close {
            span += p.stride * (i64::from(p.num) - 1);
        }
        close
    });
    let dense = dense.count();
    let outer = &pairs[dense..];
    let mut index = [0u32; MAX_PAIRS];
    let mut at = base;
    let mut count = 0usize;
    loop {
        count += 1;
        if count.is_multiple_of(1024) {
            halt::check()?;
        }
        f(at as usize, (at + span) as usize)?;
        let mut k = 0;
        loop {
            let Some(p) = outer.get(k) else { return Ok(()) };
            index[k] += 1;
            at += p.stride;
            if index[k] < p.num {
                break;
            }
            at -= p.stride * i64::from(p.num);
            index[k] = 0;
            k += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use birsim_kernels::Dtype;
    use std::collections::BTreeSet;

    fn bytes(p: &Pattern, gap: usize) -> BTreeSet<usize> {
        let mut out = BTreeSet::new();
        each_run(p, gap, |lo, hi| {
            out.extend(lo..hi);
            Ok(())
        })
        .unwrap();
        out
    }

    #[test]
    fn item_12_runs_hold_exactly_the_bytes_of_the_pattern() {
        let pair = |stride, num| Pair { stride, num };
        for (base, pairs) in [
            (0, vec![pair(64, 4), pair(4, 3)]),
            (300, vec![pair(-64, 4), pair(4, 3)]),
            (8, vec![pair(0, 5), pair(4, 2), pair(100, 3)]),
            (400, vec![pair(4, 7), pair(-32, 5), pair(200, 2)]),
            (0, vec![pair(1, 1)]),
        ] {
            let p = Pattern::new(Dtype::Float32, base, &pairs).unwrap();
            let want: BTreeSet<usize> = (0..p.lanes())
                .flat_map(|l| (0..p.lane_len()).map(move |k| (l, k)))
                .flat_map(|(l, k)| (0..4).map(move |b| (l, k, b)))
                .map(|(l, k, b)| p.byte_of(l, k) as usize + b)
                .collect();
            assert_eq!(bytes(&p, 0), want, "{pairs:?}");
            assert!(bytes(&p, 64).is_superset(&want));
        }
    }
}
