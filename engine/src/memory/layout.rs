//! The place of a location in its arena, and the resolution of element patterns to bytes (`bir-json.md` 6.1).

use super::ArenaId;
use crate::ir::{ApPair, MemoryType};
use crate::target::PSUM_BANK_BYTES;
use crate::{Code, Error, Result};
use arrayvec::ArrayVec;
use birsim_kernels::Dtype;
use birsim_kernels::access::{MAX_PAIRS, Pair, Pattern};
use birsim_kernels::profile::{Guard, PatternDtype, PatternPairs, Profile};

/// Placement of a memory location.
#[derive(Clone, Debug, PartialEq)]
pub struct LocationInfo {
    /// Its arena.
    pub arena: ArenaId,
    /// Machine partition of its first row.
    pub base: u64,
    /// Byte of its first row in the arena.
    pub start: u64,
    /// Bytes from one partition to the next in the arena.
    pub row_stride: u64,
    /// Bytes per partition of the location.
    pub row_bytes: u64,
    /// Partitions (rows) of the location.
    pub rows: u64,
    /// Memory it lives in.
    pub ty: MemoryType,
    /// Declared element type.
    pub dtype: Dtype,
    /// Byte inside its PSUM bank that every row starts at; 0 elsewhere.
    pub bank_offset: u64,
    /// Rules of its patterns.
    pub rules: PlaceRules,
}

/// Choices of the profile that every pattern of a location is resolved under.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlaceRules {
    /// The dtype of a pattern is that of its tensor (ruling D1).
    pub one_dtype: bool,
    /// A pattern has at most four pairs (ruling D26).
    pub four_pairs: bool,
    /// A pattern of PSUM may cross banks (ruling D47).
    pub any_bank: bool,
}

impl PlaceRules {
    /// The rules of a profile.
    pub fn of(profile: &Profile) -> Self {
        PlaceRules {
            one_dtype: profile.pattern_dtype == PatternDtype::Refuse,
            four_pairs: profile.pattern_pairs == PatternPairs::Four,
            any_bank: profile.psum_multibank == Guard::Allow,
        }
    }

    pub(super) fn check(self, declared: Dtype, dtype: Dtype, ap: &[ApPair]) -> Result<()> {
        if self.one_dtype && declared != dtype {
            return Err(Error::new(Code::S007, format!("the pattern of a {declared} tensor has the dtype {dtype}"))
                .received(dtype)
                .advice("declare the tensor in that dtype, or run without --strict and pattern_dtype=refuse"));
        }
        if self.four_pairs && ap.len() > 4 {
            return Err(Error::new(Code::J008, "an access pattern has at most four pairs").received(ap.len()));
        }
        Ok(())
    }
}

impl LocationInfo {
    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        self.rows * self.row_bytes
    }

    /// Rows follow each other without gaps, so the location is one linear run of bytes.
    pub fn is_linear(&self) -> bool {
        self.row_stride == self.row_bytes || self.rows <= 1
    }

    /// The half-open range of arena bytes from the location's first byte to its last one.
    pub fn extent(&self) -> (usize, usize) {
        let span = self.rows.saturating_sub(1) * self.row_stride + self.row_bytes;
        (self.start as usize, (self.start + if self.rows == 0 { 0 } else { span }) as usize)
    }

    /// Every element of the location, row by row.
    pub fn whole(&self, dtype: Dtype) -> Result<Pattern> {
        let size = dtype.size() as u64;
        let num = |n: u64| u32::try_from(n).map_err(|_| Error::new(Code::U002, "a table has more than 2^32 rows"));
        let (rows, per_row) = (num(self.rows)?, num(self.row_bytes / size)?);
        let pairs = [Pair { stride: self.row_stride as i64, num: rows }, Pair { stride: size as i64, num: per_row }];
        Pattern::new(dtype, self.start as i64, &pairs)
    }

    /// Calls `f(arena byte, range of the location's bytes)` for every gap-free run of its first `n` bytes.
    pub fn for_rows(&self, n: usize, mut f: impl FnMut(usize, std::ops::Range<usize>)) {
        if self.is_linear() {
            return f(self.start as usize, 0..n);
        }
        let row = self.row_bytes.max(1) as usize;
        let mut at = 0;
        while at < n {
            let to = (at + row).min(n);
            f(self.arena_byte(at as u64) as usize, at..to);
            at = to;
        }
    }

    /// The gap-free runs of arena bytes that the location consists of.
    pub fn runs(&self) -> impl Iterator<Item = (usize, usize)> {
        let (rows, bytes) = if self.is_linear() { (1, self.bytes()) } else { (self.rows, self.row_bytes) };
        (0..rows).map(move |r| {
            let lo = self.start + r * self.row_stride;
            (lo as usize, (lo + bytes) as usize)
        })
    }

    /// Arena byte of a location byte.
    pub fn arena_byte(&self, byte: u64) -> u64 {
        if self.is_linear() || self.row_bytes == 0 {
            self.start + byte
        } else {
            self.start + byte / self.row_bytes * self.row_stride + byte % self.row_bytes
        }
    }
}

/// Resolves a pattern of a linear location without checking its bounds, for accesses that skip elements outside it.
pub fn resolve_open(loc: &LocationInfo, dtype: Dtype, offset: i64, ap: &[ApPair]) -> Result<Pattern> {
    loc.rules.check(loc.dtype, dtype, ap)?;
    let size = dtype.size() as i64;
    if !loc.is_linear() {
        return Err(Error::new(Code::U002, "skipping out-of-bounds elements of an on-chip tensor is not modelled"));
    }
    let wide = || Error::new(Code::J008, "the access pattern leaves the 64-bit range").received(offset);
    let mut pairs: ArrayVec<Pair, MAX_PAIRS> = ArrayVec::new();
    for p in ap {
        let stride = p.step.checked_mul(size).ok_or_else(wide)?;
        let num = u32::try_from(p.num).map_err(|_| wide())?;
        pairs.try_push(Pair { stride, num }).map_err(|_| too_many(ap.len()))?;
    }
    let base = offset.checked_mul(size).and_then(|b| b.checked_add(loc.start as i64)).ok_or_else(wide)?;
    Pattern::new(dtype, base, &pairs)
}

/// Resolves an element pattern against a location, bounds included.
///
/// `offset` and steps count elements of `dtype`; element e is in row e div pitch, column e mod pitch. Fails with S001 when
/// an element is outside the location, with J011 when `dtype` does not divide the row (ruling D1).
pub fn resolve(loc: &LocationInfo, dtype: Dtype, offset: i64, ap: &[ApPair]) -> Result<Pattern> {
    loc.rules.check(loc.dtype, dtype, ap)?;
    let size = dtype.size() as u64;
    if !loc.row_bytes.is_multiple_of(size) {
        return Err(Error::new(Code::J011, format!("the row of the tensor is not a whole number of {dtype} elements"))
            .received(format!("{} bytes per partition", loc.row_bytes)));
    }
    let (lo, hi) = reach(offset, ap)?;
    let elements = (loc.bytes() / size) as i128;
    let empty = ap.iter().any(|p| p.num == 0);
    if !empty && (lo < 0 || hi >= elements) {
        return Err(Error::new(Code::S001, "the access pattern leaves its tensor").received(format!(
            "elements {lo}..{} of a tensor of {} x {} {dtype}",
            hi + 1,
            loc.rows,
            loc.row_bytes / size
        )));
    }
    if loc.ty == MemoryType::Psum && !empty {
        check_bank(loc, size, offset, ap)?;
    }
    if empty {
        let nums = ap.iter().map(|p| Ok(Pair { stride: 0, num: count(p)? }));
        let pairs = nums.collect::<Result<Vec<Pair>>>()?;
        if pairs.len() > MAX_PAIRS {
            return Err(too_many(ap.len()));
        }
        return Pattern::new(dtype, loc.start as i64, &pairs);
    }
    let (pairs, steps) = steps(loc, dtype, ap)?;
    match steps.bytes_to(offset) {
        Some(bytes) => Pattern::new(dtype, loc.start as i64 + bytes, &pairs),
        None => listed(loc, dtype, offset, ap),
    }
}

/// How an offset of a pattern becomes a distance in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps {
    size: i64,
    rows: Option<Rows>,
}

/// Rows of a location that have gaps between them.
#[derive(Clone, Copy, Debug)]
struct Rows {
    /// Elements per row.
    pitch: i64,
    /// Bytes from one row to the next.
    stride: i64,
    /// Lowest and highest column that the pattern reaches, counted from the column of its first element.
    columns: (i64, i64),
}

/// The pairs of a pattern in bytes of the arena. The pattern fits into the location at some offset, so that sums over its
/// steps stay in range.
pub(super) fn steps(loc: &LocationInfo, dtype: Dtype, ap: &[ApPair]) -> Result<(ArrayVec<Pair, MAX_PAIRS>, Steps)> {
    let size = dtype.size() as i64;
    let pitch = loc.row_bytes as i64 / size;
    let mut pairs: ArrayVec<Pair, MAX_PAIRS> = ArrayVec::new();
    let mut rows = (!loc.is_linear()).then_some(Rows { pitch, stride: loc.row_stride as i64, columns: (0, 0) });
    for p in ap {
        // Only the step of a single element can leave 64 bits, and that one never acts.
        let stride = match &mut rows {
            // A pair that steps whole rows moves by the arena's distance of rows; the others must stay inside one.
            Some(rows) if p.step % pitch == 0 => (p.step / pitch).checked_mul(rows.stride),
            Some(rows) => {
                let span = p.step * (p.num - 1);
                rows.columns.0 += span.min(0);
                rows.columns.1 += span.max(0);
                p.step.checked_mul(size)
            }
            None => p.step.checked_mul(size),
        };
        let pair = Pair { stride: stride.unwrap_or(0), num: count(p)? };
        pairs.try_push(pair).map_err(|_| too_many(ap.len()))?;
    }
    Ok((pairs, Steps { size, rows }))
}

impl Steps {
    /// Bytes from the location's first byte to the element at an offset; `None` when the pattern runs across the end of a
    /// row there, so that no strides describe it.
    #[inline]
    pub fn bytes_to(&self, offset: i64) -> Option<i64> {
        let Some(Rows { pitch, stride, columns }) = self.rows else { return Some(offset * self.size) };
        let (row, column) = (offset.div_euclid(pitch), offset.rem_euclid(pitch));
        let inside = column + columns.0 >= 0 && column + columns.1 < pitch;
        inside.then_some(row * stride + column * self.size)
    }
}

fn count(p: &ApPair) -> Result<u32> {
    u32::try_from(p.num).map_err(|_| Error::new(Code::J008, "a count does not fit 32 bits").received(p.num))
}

/// Whatever pattern of the location is in one bank of PSUM, or may cross banks (ruling D47).
pub(super) fn in_one_bank(loc: &LocationInfo) -> bool {
    loc.ty != MemoryType::Psum || loc.rules.any_bank || loc.bank_offset + loc.row_bytes <= PSUM_BANK_BYTES
}

/// A pattern of PSUM stays in one bank (ruling D47).
fn check_bank(loc: &LocationInfo, size: u64, offset: i64, ap: &[ApPair]) -> Result<()> {
    if in_one_bank(loc) {
        return Ok(());
    }
    // The pattern is inside the location, so nothing here leaves 64 bits. Pairs that step whole rows keep the column.
    let pitch = (loc.row_bytes / size) as i64;
    let (mut lo, mut hi) = (offset.rem_euclid(pitch), offset.rem_euclid(pitch));
    for p in ap.iter().filter(|p| p.step % pitch != 0) {
        let span = p.step * (p.num - 1);
        lo += span.min(0);
        hi += span.max(0);
    }
    let byte = |column: i64| loc.bank_offset as i64 + column * size as i64;
    let (first, last) = (byte(lo), byte(hi) + size as i64 - 1);
    let bank = PSUM_BANK_BYTES as i64;
    if lo >= 0 && hi < pitch && first / bank == last / bank {
        return Ok(());
    }
    Err(Error::new(Code::S015, "do not support psum multibank: the access pattern crosses a 2 KiB bank of PSUM")
        .received(format!("bytes {first}..{} of a partition", last + 1))
        .advice("split the access at the bank, or place the tensor inside one bank"))
}

fn too_many(n: usize) -> Error {
    Error::new(Code::J008, "an access pattern needs one to eight pairs").received(n)
}

/// Lowest and highest element of a pattern.
pub(super) fn reach(offset: i64, ap: &[ApPair]) -> Result<(i128, i128)> {
    let (mut lo, mut hi) = (i128::from(offset), i128::from(offset));
    for p in ap {
        if p.num < 0 {
            return Err(Error::new(Code::J008, "a count is negative").received(p.num));
        }
        let span = i128::from(p.step) * i128::from((p.num - 1).max(0));
        lo += span.min(0);
        hi += span.max(0);
    }
    Ok((lo, hi))
}

/// The general form for patterns that run across row ends of a physically placed tensor.
fn listed(loc: &LocationInfo, dtype: Dtype, offset: i64, ap: &[ApPair]) -> Result<Pattern> {
    let size = dtype.size() as i64;
    let nums: ArrayVec<u32, MAX_PAIRS> = ap.iter().map(|p| p.num as u32).collect();
    let total = nums.iter().try_fold(1u64, |t, n| t.checked_mul(u64::from(*n))).filter(|t| *t <= 1 << 28);
    let total = total.ok_or_else(|| {
        Error::new(Code::S008, "a pattern across partition ends has more than 2^28 elements").received(nums.len())
    })?;
    let mut offsets = Vec::new();
    offsets.try_reserve_exact(total as usize).map_err(|_| {
        Error::new(Code::S009, "not enough memory for a pattern across partition ends")
            .received(format!("{total} elements"))
    })?;
    let mut index = [0i64; MAX_PAIRS];
    for _ in 0..total {
        let e = offset + ap.iter().zip(index).map(|(p, i)| p.step * i).sum::<i64>();
        offsets.push(loc.arena_byte((e * size) as u64) as usize);
        for (k, p) in ap.iter().enumerate().rev() {
            index[k] += 1;
            if index[k] < p.num {
                break;
            }
            index[k] = 0;
        }
    }
    Pattern::listed(dtype, &nums, offsets.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn physical() -> LocationInfo {
        LocationInfo {
            arena: ArenaId(0),
            base: 4,
            start: 4096,
            row_stride: 1000,
            row_bytes: 32,
            rows: 4,
            ty: MemoryType::Sb,
            dtype: Dtype::Float32,
            bank_offset: 0,
            rules: PlaceRules::default(),
        }
    }

    #[test]
    fn rows_of_a_physical_tensor_use_the_arena_stride() {
        let ap = [ApPair { step: 8, num: 4 }, ApPair { step: 1, num: 8 }];
        let p = resolve(&physical(), Dtype::Float32, 0, &ap).unwrap();
        assert_eq!(p.byte_of(2, 3), 4096 + 2 * 1000 + 12);
    }

    #[test]
    fn a_pattern_across_row_ends_is_listed() {
        let ap = [ApPair { step: 1, num: 1 }, ApPair { step: 1, num: 12 }];
        let p = resolve(&physical(), Dtype::Float32, 4, &ap).unwrap();
        assert_eq!(p.byte_of(0, 0), 4096 + 16);
        assert_eq!(p.byte_of(0, 4), 4096 + 1000);
        assert_eq!(p.byte_of(0, 11), 4096 + 1000 + 28);
    }

    #[test]
    fn the_bound_is_the_location() {
        let ap = [ApPair { step: 8, num: 4 }, ApPair { step: 1, num: 9 }];
        let e = resolve(&physical(), Dtype::Float32, 0, &ap).unwrap_err();
        assert_eq!(e.code(), Code::S001);
        assert_eq!(e.received_value(), Some("elements 0..33 of a tensor of 4 x 8 float32"));
    }
}
