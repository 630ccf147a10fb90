//! Patterns resolved to bytes: strides, counts, and the fused form the walk uses.

use crate::{Code, Dtype, Error, Result};
use arrayvec::ArrayVec;
use std::sync::Arc;

/// Largest number of [step, num] pairs (ruling D26).
pub const MAX_PAIRS: usize = 8;

/// One dimension of a resolved pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Distance of neighbours in bytes; may be zero or negative.
    pub stride: i64,
    /// Number of elements along this dimension.
    pub num: u32,
}

/// Where the elements of an operand are inside an arena.
///
/// Pair 0 is the lane (partition) dimension. Byte of element (i0..ik) = base + sum i_j * stride_j.
#[derive(Clone, Debug)]
pub struct Pattern {
    dtype: Dtype,
    base: i64,
    pairs: ArrayVec<Pair, MAX_PAIRS>,
    /// Pairs 1.. without unit dimensions and with contiguous neighbours fused; outermost first.
    inner: ArrayVec<Pair, MAX_PAIRS>,
    lane_len: usize,
    /// What `measure` found.
    span: (i64, i64),
    /// Byte offset of every element in order, for patterns that no strides describe.
    listed: Option<Arc<[usize]>>,
}

impl Pattern {
    /// A strided pattern. Fails on more than eight pairs, more than 2^40 elements, and extents beyond 2^60 bytes.
    pub fn new(dtype: Dtype, base: i64, pairs: &[Pair]) -> Result<Self> {
        if pairs.is_empty() || pairs.len() > MAX_PAIRS {
            return Err(Error::new(Code::J008, "an access pattern needs one to eight pairs").received(pairs.len()));
        }
        let mut total: u128 = 1;
        let mut reach: i128 = i128::from(base.unsigned_abs());
        // Empty dimensions count as one, so that the product over the others stays in range as well.
        for p in pairs {
            total = total.saturating_mul(u128::from(p.num.max(1)));
            reach += i128::from(p.stride).abs() * i128::from(p.num.saturating_sub(1));
        }
        if total > 1 << 40 || reach > 1 << 60 {
            return Err(Error::new(Code::J008, "the access pattern addresses more than any memory holds")
                .received(format!("{total} elements")));
        }
        let mut this = Pattern {
            dtype,
            base,
            pairs: pairs.iter().copied().collect(),
            inner: ArrayVec::new(),
            lane_len: 0,
            span: (0, 0),
            listed: None,
        };
        this.refresh();
        Ok(this)
    }

    /// A dense row-major pattern starting at byte 0, as used for staged copies.
    pub fn dense(dtype: Dtype, nums: &[u32]) -> Result<Self> {
        let mut pairs: ArrayVec<Pair, MAX_PAIRS> = ArrayVec::new();
        for n in nums.iter().take(MAX_PAIRS) {
            pairs.push(Pair { stride: 0, num: *n });
        }
        let mut stride = dtype.size() as i64;
        for p in pairs.iter_mut().rev() {
            p.stride = stride;
            stride = stride.saturating_mul(i64::from(p.num.max(1)));
        }
        Pattern::new(dtype, 0, &pairs)
    }

    /// A dense pattern of the same shape.
    pub fn like_dense(&self) -> Result<Self> {
        let nums: ArrayVec<u32, MAX_PAIRS> = self.pairs.iter().map(|p| p.num).collect();
        Pattern::dense(self.dtype, &nums)
    }

    /// A pattern given by the byte offset of every element. `nums` is its logical shape; lanes come first.
    pub fn listed(dtype: Dtype, nums: &[u32], offsets: Arc<[usize]>) -> Result<Self> {
        let mut this = Pattern::dense(dtype, nums)?;
        if this.len() != offsets.len() {
            return Err(Error::new(Code::B001, "a listed pattern has one offset per element"));
        }
        this.listed = Some(offsets);
        this.span = this.measure();
        Ok(this)
    }

    fn refresh(&mut self) {
        self.lane_len = self.pairs[1..].iter().map(|p| p.num as usize).product();
        self.inner.clear();
        for p in &self.pairs[1..] {
            if p.num == 1 {
                continue;
            }
            match self.inner.last_mut() {
                Some(last)
                    if last.stride == p.stride * i64::from(p.num)
                        && (u64::from(last.num) * u64::from(p.num)) <= u64::from(u32::MAX) =>
                {
                    *last = Pair { stride: p.stride, num: last.num * p.num };
                }
                _ => self.inner.push(*p),
            }
        }
        self.span = self.measure();
    }

    /// Element type.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Byte of the first element.
    pub fn base(&self) -> i64 {
        self.base
    }

    /// Same pattern shifted by `bytes`.
    #[must_use]
    pub fn shifted(mut self, bytes: i64) -> Self {
        match &self.listed {
            // Past +-2^61 no byte exists: bounds checks still see it, and sums with it stay in range.
            None => self.base = self.base.saturating_add(bytes).clamp(-(1 << 61), 1 << 61),
            Some(l) => {
                let shift = |o: &usize| o.checked_add_signed(bytes as isize).unwrap_or(usize::MAX);
                self.listed = Some(l.iter().map(shift).collect());
            }
        }
        self.span = self.measure();
        self
    }

    /// The pairs as given, outermost first.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// Pairs 1.. in the fused form of the walk.
    pub(crate) fn inner(&self) -> &[Pair] {
        &self.inner
    }

    /// Explicit byte offsets, when the pattern is not strided.
    pub fn offsets(&self) -> Option<&[usize]> {
        self.listed.as_deref()
    }

    /// Number of lanes (count of pair 0).
    pub fn lanes(&self) -> usize {
        self.pairs[0].num as usize
    }

    /// Elements per lane.
    pub fn lane_len(&self) -> usize {
        self.lane_len
    }

    /// Elements in all.
    pub fn len(&self) -> usize {
        self.lanes() * self.lane_len
    }

    /// True when the pattern addresses nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Half-open byte range [lo, hi) that the elements touch; `None` when empty.
    #[inline]
    pub fn extent(&self) -> Option<(i64, i64)> {
        (self.lane_len != 0 && self.pairs[0].num != 0).then_some(self.span)
    }

    /// Byte range of the elements; means nothing when there are none.
    fn measure(&self) -> (i64, i64) {
        let size = self.dtype.size() as i64;
        if let Some(list) = &self.listed {
            let end = |o: &usize| i64::try_from(*o).unwrap_or(i64::MAX).min(1 << 61);
            let lo = list.iter().min().map_or(0, end);
            let hi = list.iter().max().map_or(0, end);
            return (lo, hi + size);
        }
        let (mut lo, mut hi) = (self.base, self.base);
        for p in self.pairs[..1].iter().chain(&self.inner) {
            let reach = p.stride.saturating_mul(i64::from(p.num) - 1);
            if reach < 0 {
                lo = lo.saturating_add(reach);
            } else {
                hi = hi.saturating_add(reach);
            }
        }
        (lo, hi.saturating_add(size))
    }

    /// Byte of an element given by lane and index inside the lane.
    pub fn byte_of(&self, lane: usize, index: usize) -> i64 {
        if let Some(list) = &self.listed {
            return list[lane * self.lane_len + index] as i64;
        }
        let mut byte = self.base + self.pairs[0].stride * lane as i64;
        let mut rest = index;
        for p in self.inner.iter().rev() {
            byte += p.stride * (rest % p.num as usize) as i64;
            rest /= p.num as usize;
        }
        byte
    }

    /// Byte of the first element; `None` when there is none.
    pub fn first_byte(&self) -> Option<i64> {
        (!self.is_empty()).then(|| self.byte_of(0, 0))
    }

    /// The elements of one lane are neighbours in memory.
    pub fn is_contiguous(&self) -> bool {
        self.listed.is_none()
            && match self.inner.as_slice() {
                [] => true,
                [p] => p.stride == self.dtype.size() as i64,
                _ => false,
            }
    }

    /// No two lanes share a byte, as far as the strides show: the condition for writing lanes in parallel.
    pub fn lanes_disjoint(&self) -> bool {
        if self.lanes() <= 1 || self.lane_len == 0 {
            return true;
        }
        if self.listed.is_some() {
            return false;
        }
        let size = self.dtype.size() as u64;
        let span: u64 = self.inner.iter().map(|p| p.stride.unsigned_abs() * u64::from(p.num - 1)).sum::<u64>() + size;
        self.pairs[0].stride.unsigned_abs() >= span
    }

    /// No two elements share a byte, as far as the strides show: reading an element before writing it is then enough to
    /// work in place.
    pub fn elements_disjoint(&self) -> bool {
        if self.listed.is_some() {
            return self.len() <= 1;
        }
        if self.is_empty() {
            return true;
        }
        let mut dims: ArrayVec<(u64, u64), MAX_PAIRS> = ArrayVec::new();
        for p in self.pairs[..1].iter().chain(&self.inner).filter(|p| p.num > 1).take(MAX_PAIRS) {
            dims.push((p.stride.unsigned_abs(), u64::from(p.num)));
        }
        dims.sort_unstable();
        let mut span = self.dtype.size() as u64;
        dims.iter().all(|(stride, num)| {
            let clear = *stride >= span;
            span += stride * (num - 1);
            clear
        })
    }

    /// The same elements in the same order as one lane.
    pub fn flat(&self) -> Pattern {
        let mut out = self.clone();
        if self.lanes() == 1 {
            return out;
        }
        let mut all: ArrayVec<Pair, MAX_PAIRS> = ArrayVec::new();
        for p in &self.pairs {
            if p.num == 1 {
                continue;
            }
            match all.last_mut() {
                Some(l)
                    if l.stride == p.stride * i64::from(p.num)
                        && (u64::from(l.num) * u64::from(p.num)) <= u64::from(u32::MAX) =>
                {
                    *l = Pair { stride: p.stride, num: l.num * p.num };
                }
                _ => all.push(*p),
            }
        }
        out.lane_len = self.len();
        out.inner = all.clone();
        out.pairs.clear();
        out.pairs.push(Pair { stride: 0, num: 1 });
        if all.len() < MAX_PAIRS {
            out.pairs.extend(all);
        } else {
            // Eight unfusable pairs: keep the walk's form; the logical shape then shows one flat dimension.
            out.pairs.push(Pair { stride: 0, num: self.len() as u32 });
        }
        out
    }

    /// The same elements in the same order as fewer lanes, at least `lanes` of up to `most` elements, when they follow each
    /// other without a gap; `None` when that is not so or changes nothing.
    pub(crate) fn long_lanes(&self, lanes: usize, most: usize) -> Option<Pattern> {
        let row = self.lane_len * self.dtype.size();
        let joined = (most / self.lane_len.max(1)).min(self.lanes() / lanes.max(1));
        if joined < 2
            || !self.is_contiguous()
            || self.pairs[0].stride != row as i64
            || !self.lanes().is_multiple_of(joined)
        {
            return None;
        }
        let outer = Pair { stride: (joined * row) as i64, num: (self.lanes() / joined) as u32 };
        let elements = Pair { stride: self.dtype.size() as i64, num: u32::try_from(joined * self.lane_len).ok()? };
        Pattern::new(self.dtype, self.base, &[outer, elements]).ok()
    }

    /// Same bytes seen as another shape: `pairs` are the new logical pairs over the same elements.
    pub fn with_pairs(&self, pairs: &[Pair]) -> Result<Pattern> {
        if let Some(list) = &self.listed {
            let nums: ArrayVec<u32, MAX_PAIRS> = pairs.iter().take(MAX_PAIRS).map(|p| p.num).collect();
            return Pattern::listed(self.dtype, &nums, list.clone());
        }
        Pattern::new(self.dtype, self.base, pairs)
    }

    /// Same elements under another dtype of the same size.
    #[must_use]
    pub fn retyped(mut self, dtype: Dtype) -> Pattern {
        debug_assert_eq!(self.dtype.size(), dtype.size());
        self.dtype = dtype;
        self
    }
}

impl PartialEq for Pattern {
    /// Two patterns are equal when they address the same bytes in the same order.
    fn eq(&self, other: &Self) -> bool {
        self.dtype == other.dtype
            && self.base == other.base
            && self.listed == other.listed
            && self.lanes() == other.lanes()
            && self.lane_len == other.lane_len
            && (self.lanes() <= 1 || self.pairs[0].stride == other.pairs[0].stride)
            && self.inner == other.inner
    }
}
