//! The golden check (`klr.md` 9.3): two buffers of one dtype, element by element.

use crate::Dtype;
use crate::{cast, parallel};

/// How far a value may be from its golden value: |got - want| <= atol + rtol * |want|.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Relative part, as a fraction.
    pub rtol: f64,
    /// Absolute part.
    pub atol: f64,
    /// In an exact check, NaN bits count too.
    pub nan_bits: bool,
}

impl Tolerance {
    /// The first number of a tolerance pair is in percent (ruling D52).
    pub const RELATIVE_UNIT: f64 = 100.0;
    /// Equal bits; any NaN equals any NaN.
    pub const EXACT: Tolerance = Tolerance { rtol: 0.0, atol: 0.0, nan_bits: false };

    /// From a pair such as `1.0,1e-05`: percent and absolute (ruling D52).
    pub fn from_percent(percent: f64, atol: f64) -> Self {
        Tolerance { rtol: percent / Self::RELATIVE_UNIT, atol, nan_bits: false }
    }

    /// Bits are compared instead of values.
    pub fn is_exact(&self) -> bool {
        self.rtol == 0.0 && self.atol == 0.0
    }
}

impl Default for Tolerance {
    /// 1 percent and 1e-05.
    fn default() -> Self {
        Tolerance::from_percent(1.0, 1e-5)
    }
}

/// Upper edges of the histogram's bins of |got - want|; the last bin holds everything larger.
pub const HISTOGRAM_EDGES: [f64; 11] = [0.0, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0];

/// Outcome of a golden check.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Every element matches.
    pub equal: bool,
    /// Number of elements compared (four per element of a packed dtype).
    pub elements: usize,
    /// Largest finite-or-infinite difference; elements with a NaN are left out.
    pub max_abs: f64,
    /// Largest difference relative to a non-zero golden value.
    pub max_rel: f64,
    /// Elements outside the tolerance.
    pub mismatches: usize,
    /// Index of the first of them, in elements of the buffer.
    pub first_mismatch: Option<usize>,
    /// Mismatches where exactly one side is a NaN, or NaN bits differ.
    pub nan_mismatches: usize,
    /// Mismatches with an infinity that the other side does not have.
    pub inf_mismatches: usize,
    /// Elements by |got - want|: at most each edge of [`HISTOGRAM_EDGES`], then larger; elements with a NaN on one
    /// side count as larger.
    pub histogram: [usize; 12],
}

impl Comparison {
    fn none() -> Self {
        Comparison {
            equal: true,
            elements: 0,
            max_abs: 0.0,
            max_rel: 0.0,
            mismatches: 0,
            first_mismatch: None,
            nan_mismatches: 0,
            inf_mismatches: 0,
            histogram: [0; 12],
        }
    }

    /// Joins the results of two ranges; associative and commutative, so any split gives the same outcome.
    fn join(mut self, other: Comparison) -> Self {
        self.equal &= other.equal;
        self.elements += other.elements;
        self.max_abs = self.max_abs.max(other.max_abs);
        self.max_rel = self.max_rel.max(other.max_rel);
        self.mismatches += other.mismatches;
        self.first_mismatch = match (self.first_mismatch, other.first_mismatch) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.nan_mismatches += other.nan_mismatches;
        self.inf_mismatches += other.inf_mismatches;
        self.histogram.iter_mut().zip(other.histogram).for_each(|(h, o)| *h += o);
        self
    }

    fn count(&mut self, index: usize, v: Verdict) {
        self.elements += 1;
        let bin = match v.abs {
            Some(d) => HISTOGRAM_EDGES.iter().position(|e| d <= *e).unwrap_or(HISTOGRAM_EDGES.len()),
            None => HISTOGRAM_EDGES.len(),
        };
        self.histogram[bin] += 1;
        self.max_abs = self.max_abs.max(v.abs.unwrap_or(0.0));
        self.max_rel = self.max_rel.max(v.rel);
        if !v.ok {
            self.equal = false;
            self.mismatches += 1;
            self.first_mismatch.get_or_insert(index);
            self.nan_mismatches += usize::from(v.nan);
            self.inf_mismatches += usize::from(v.inf);
        }
    }
}

/// The result for one pair of values.
struct Verdict {
    ok: bool,
    /// |got - want|; `None` when one side is a NaN.
    abs: Option<f64>,
    rel: f64,
    nan: bool,
    inf: bool,
}

/// Elements per piece of the parallel walk.
const PIECE: usize = 4096;

/// Compares two buffers of `dtype`. The result does not depend on the number of threads. Buffers of different length
/// are compared as far as both reach; every surplus element is a mismatch.
pub fn compare(dtype: Dtype, got: &[u8], want: &[u8], tolerance: &Tolerance) -> Comparison {
    let size = dtype.size();
    let common = got.len().min(want.len()) / size;
    let at = |k: usize| {
        let bytes = k * PIECE * size..((k + 1) * PIECE).min(common) * size;
        piece(dtype, k * PIECE, &got[bytes.clone()], &want[bytes], tolerance)
    };
    let mut out = parallel::map_reduce(common.div_ceil(PIECE), at, Comparison::none, Comparison::join);
    let surplus = got.len().max(want.len()).div_ceil(size) - common;
    if surplus > 0 {
        out.equal = false;
        out.elements += surplus * dtype.lanes();
        out.mismatches += surplus * dtype.lanes();
        out.histogram[HISTOGRAM_EDGES.len()] += surplus * dtype.lanes();
        out.first_mismatch.get_or_insert(common);
    }
    out
}

fn piece(dtype: Dtype, first: usize, got: &[u8], want: &[u8], tolerance: &Tolerance) -> Comparison {
    let mut out = Comparison::none();
    let size = dtype.size();
    if got == want {
        out.elements = got.len() / size * dtype.lanes();
        out.histogram[0] = out.elements;
        return out;
    }
    if dtype.is_integer() || dtype == Dtype::Float8E8m0fnu {
        for (k, (g, w)) in got.chunks_exact(size).zip(want.chunks_exact(size)).enumerate() {
            out.count(first + k, integers(integer(dtype, g), integer(dtype, w), tolerance));
        }
        return out;
    }
    // Packed elements are four values of a byte-wide or half-byte-wide type.
    let (lane, width) = match dtype {
        Dtype::Float8E4m3fnX4 => (Dtype::Float8E4m3fn, 1),
        Dtype::Float8E5m2X4 => (Dtype::Float8e5, 1),
        Dtype::Float4E2m1fnX4 => return nibbles(first, got, want, tolerance),
        other => (other, size),
    };
    let mut values = ([0f32; 64], [0f32; 64]);
    for (k, (g, w)) in got.chunks(64 * width).zip(want.chunks(64 * width)).enumerate() {
        let n = g.len() / width;
        cast::decode_f32(lane, g, &mut values.0[..n]);
        cast::decode_f32(lane, w, &mut values.1[..n]);
        let bits = g.chunks_exact(width).zip(w.chunks_exact(width));
        for (j, ((a, b), (ga, wb))) in values.0[..n].iter().zip(&values.1[..n]).zip(bits).enumerate() {
            out.count(first + (k * 64 + j) * width / size, floats(*a, *b, ga == wb, tolerance));
        }
    }
    out
}

fn nibbles(first: usize, got: &[u8], want: &[u8], tolerance: &Tolerance) -> Comparison {
    const VALUES: [f32; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
    let value = |code: u8| if code & 8 == 0 { VALUES[usize::from(code & 7)] } else { -VALUES[usize::from(code & 7)] };
    let mut out = Comparison::none();
    for (k, (g, w)) in got.iter().zip(want).enumerate() {
        for (a, b) in [(g & 15, w & 15), (g >> 4, w >> 4)] {
            out.count(first + k / 2, floats(value(a), value(b), a == b, tolerance));
        }
    }
    out
}

fn integer(dtype: Dtype, bytes: &[u8]) -> i128 {
    let mut raw = [0; 8];
    raw[..bytes.len()].copy_from_slice(bytes);
    let value = u64::from_le_bytes(raw);
    if !dtype.is_signed() {
        return i128::from(value);
    }
    let unused = 64 - 8 * bytes.len() as u32;
    i128::from((value << unused) as i64 >> unused)
}

/// Integers differ by an exact whole number.
fn integers(got: i128, want: i128, tolerance: &Tolerance) -> Verdict {
    let diff = (got - want).unsigned_abs();
    let limit = tolerance.atol + tolerance.rtol * want.unsigned_abs() as f64;
    // `as` saturates and maps NaN to zero, so a NaN limit accepts equal values only.
    let ok = diff == 0 || diff <= limit.floor() as u128;
    let rel = if want == 0 { 0.0 } else { diff as f64 / want.unsigned_abs() as f64 };
    Verdict { ok, abs: Some(diff as f64), rel, nan: false, inf: false }
}

fn floats(got: f32, want: f32, same_bits: bool, tolerance: &Tolerance) -> Verdict {
    if got.is_nan() || want.is_nan() {
        let both = got.is_nan() && want.is_nan();
        let ok = both && (same_bits || !tolerance.nan_bits);
        return Verdict { ok, abs: both.then_some(0.0), rel: 0.0, nan: true, inf: false };
    }
    let (g, w) = (f64::from(got), f64::from(want));
    if g.is_infinite() || w.is_infinite() {
        let ok = g == w;
        let abs = if ok { 0.0 } else { f64::INFINITY };
        return Verdict { ok, abs: Some(abs), rel: abs, nan: false, inf: true };
    }
    let abs = (g - w).abs();
    let ok = if tolerance.is_exact() { same_bits } else { abs <= tolerance.atol + tolerance.rtol * w.abs() };
    let rel = if w == 0.0 { 0.0 } else { abs / w.abs() };
    Verdict { ok, abs: Some(abs), rel, nan: false, inf: false }
}
