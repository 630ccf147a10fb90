//! The golden check of whole tensors, and how its outcome is reported.

mod cast;

use crate::args::ToleranceArgs;
use crate::npy::{Npy, shape_text};
use birsim_kernels::compare::{Comparison, HISTOGRAM_EDGES, Tolerance, compare};
use birsim_kernels::profile::ToleranceUnit;
use birsim_kernels::{Dtype, Named, Result};
use serde_json::{Value, json};

/// Tolerance of a run, from its options; `unit` is that of the first number of a given pair (ruling D52).
pub fn tolerance(args: &ToleranceArgs, unit: ToleranceUnit) -> Tolerance {
    let mut tolerance = match (args.birsim_output_tolerance, args.rtol, args.atol) {
        (Some((rtol, atol)), ..) if unit == ToleranceUnit::Fraction => Tolerance { rtol, atol, nan_bits: false },
        (Some((percent, atol)), ..) => Tolerance::from_percent(percent, atol),
        (None, None, None) => Tolerance::default(),
        (None, rtol, atol) => {
            let base = Tolerance::default();
            Tolerance { rtol: rtol.unwrap_or(base.rtol), atol: atol.unwrap_or(base.atol), ..base }
        }
    };
    tolerance.nan_bits = args.nan_bits;
    tolerance
}

/// A tolerance in words.
pub fn tolerance_text(t: &Tolerance) -> String {
    if t.is_exact() { "exact".to_string() } else { format!("rtol {:e}, atol {:e}", t.rtol, t.atol) }
}

/// What the golden check of one tensor found.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Element types differ; nothing was compared.
    Dtype(String),
    /// Shapes differ; nothing was compared.
    Shape(String),
    /// Elements were compared.
    Compared {
        /// Counts and extremes.
        comparison: Comparison,
        /// The first mismatch, `[0, 3]: got 1.5, golden 2`.
        first: Option<String>,
        /// Index of the first mismatch.
        index: Option<Vec<u64>>,
    },
}

impl Outcome {
    /// The tensor matches its golden.
    pub fn equal(&self) -> bool {
        matches!(self, Outcome::Compared { comparison, .. } if comparison.equal)
    }

    /// One line for people.
    pub fn text(&self) -> String {
        match self {
            Outcome::Dtype(t) | Outcome::Shape(t) => t.clone(),
            Outcome::Compared { comparison: c, .. } if c.equal && c.max_abs == 0.0 => "equals its golden".to_string(),
            Outcome::Compared { comparison: c, .. } if c.equal => {
                format!("matches its golden, max abs {:.2e}, max rel {:.2e}", c.max_abs, c.max_rel)
            }
            Outcome::Compared { comparison: c, first, .. } => {
                let mut text = format!(
                    "differs from its golden in {} of {} elements, max abs {:.2e}, max rel {:.2e}",
                    c.mismatches, c.elements, c.max_abs, c.max_rel
                );
                if c.nan_mismatches > 0 {
                    text.push_str(&format!(", {} with mismatched NaNs", c.nan_mismatches));
                }
                if c.inf_mismatches > 0 {
                    text.push_str(&format!(", {} with mismatched infinities", c.inf_mismatches));
                }
                if let Some(first) = first {
                    text.push_str(&format!("; first at {first}"));
                }
                text
            }
        }
    }

    /// Histogram of differences as lines of bars, for a tensor that does not match.
    pub fn histogram(&self) -> Option<String> {
        let Outcome::Compared { comparison: c, .. } = self else { return None };
        let most = c.histogram.iter().copied().max().filter(|m| *m > 0)?;
        let mut text = String::new();
        for (i, count) in c.histogram.iter().enumerate().filter(|(_, n)| **n > 0) {
            let label = match HISTOGRAM_EDGES.get(i) {
                Some(0.0) => "equal".to_string(),
                Some(edge) => format!("<= {edge:.0e}"),
                None => "larger".to_string(),
            };
            // At least one mark for every bin that holds anything.
            let bar = "#".repeat((count * 40 / most).max(1));
            text.push_str(&format!("{label:>10} {count:>10} {bar}\n"));
        }
        Some(text)
    }

    /// For the report.
    pub fn json(&self) -> Value {
        match self {
            Outcome::Dtype(why) | Outcome::Shape(why) => json!({
                "equal": false, "max_abs": null, "max_rel": null, "mismatches": null, "first_mismatch": null,
                "histogram": null, "reason": why,
            }),
            Outcome::Compared { comparison: c, first, index } => {
                let number = |x: f64| if x.is_finite() { json!(x) } else { json!("inf") };
                let mut bins: Vec<Value> = Vec::new();
                for (i, n) in c.histogram.iter().enumerate() {
                    bins.push(json!({"up_to": HISTOGRAM_EDGES.get(i), "count": n}));
                }
                let first = first.as_ref().map(|text| json!({"index": index, "text": text}));
                json!({
                    "equal": c.equal, "max_abs": number(c.max_abs), "max_rel": number(c.max_rel),
                    "mismatches": c.mismatches, "first_mismatch": first, "histogram": bins,
                })
            }
        }
    }
}

/// A tensor to be checked.
#[derive(Clone, Copy, Debug)]
pub struct Tensor<'a> {
    /// Element type.
    pub dtype: Dtype,
    /// Shape.
    pub shape: &'a [u64],
    /// Little-endian row-major data.
    pub bytes: &'a [u8],
}

/// Checks a tensor against a golden file. A readable golden of another type or shape is a difference, not an error.
pub fn check(got: Tensor<'_>, golden: Npy<'_>, tolerance: &Tolerance, args: &ToleranceArgs) -> Result<Outcome> {
    let (header, flatten) = (golden.header(), args.flatten);
    let element = header.element;
    let foreign = !element.holds(got.dtype);
    let castable = cast::castable(element, got.dtype);
    if foreign && !(castable && args.golden_cast) {
        let hint = if castable { " (--golden-cast converts it)" } else { "" };
        return Ok(Outcome::Dtype(format!(
            "Golden and Generated Files should have same Dtype: golden is NumPy {element}, output is {}{hint}",
            got.dtype.name()
        )));
    }
    let count = |shape: &[u64]| shape.iter().try_fold(1u64, |n, d| n.checked_mul(*d));
    if header.shape != got.shape && !(flatten && count(&header.shape) == count(got.shape)) {
        return Ok(Outcome::Shape(format!(
            "Matrix dimension mismatch: golden is {}, output is {}",
            shape_text(&header.shape),
            shape_text(got.shape)
        )));
    }
    let origin = golden.origin().to_owned();
    let mut want = golden.into_bytes()?;
    if foreign {
        want = cast::convert(element, &want, got.dtype).map_err(|e| e.at(|p| p.file = Some(origin)))?;
    }
    let comparison = compare(got.dtype, got.bytes, &want, tolerance);
    let index = comparison.first_mismatch.map(|flat| unflatten(flat as u64, got.shape));
    let first = comparison.first_mismatch.zip(index.as_ref()).map(|(flat, index)| {
        let value = |bytes: &[u8]| element_text(got.dtype, bytes, flat);
        format!("{index:?}: got {}, golden {}", value(got.bytes), value(&want))
    });
    Ok(Outcome::Compared { comparison, first, index })
}

fn unflatten(mut flat: u64, shape: &[u64]) -> Vec<u64> {
    let mut index = vec![0; shape.len()];
    for (i, d) in shape.iter().enumerate().rev() {
        index[i] = flat % (*d).max(1);
        flat /= (*d).max(1);
    }
    index
}

/// One element as text: integers exactly, floats by value, packed elements as their four values.
pub fn element_text(dtype: Dtype, bytes: &[u8], flat: usize) -> String {
    let size = dtype.size();
    let Some(raw) = bytes.get(flat * size..(flat + 1) * size) else { return "nothing".to_string() };
    if dtype.is_integer() {
        let mut wide = [0u8; 8];
        wide[..size].copy_from_slice(raw);
        let value = u64::from_le_bytes(wide);
        let unused = 64 - 8 * size as u32;
        return if dtype.is_signed() { ((value << unused) as i64 >> unused).to_string() } else { value.to_string() };
    }
    let mut values = [0f32; 4];
    let values = &mut values[..dtype.lanes()];
    birsim_kernels::cast::decode_f32(dtype, raw, values);
    match values {
        [one] => format!("{one:?}"),
        four => format!("{four:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d52_the_first_number_of_the_pair_is_percent() {
        let args = ToleranceArgs { birsim_output_tolerance: Some((1.0, 1e-5)), ..Default::default() };
        let t = tolerance(&args, ToleranceUnit::Percent);
        assert_eq!((t.rtol, t.atol), (0.01, 1e-5));
        assert_eq!(tolerance(&ToleranceArgs::default(), ToleranceUnit::Percent), t);
        let exact = ToleranceArgs { rtol: Some(0.0), atol: Some(0.0), ..Default::default() };
        assert!(tolerance(&exact, ToleranceUnit::Percent).is_exact());
        // As a fraction the same pair is a hundred times as wide; --rtol is a fraction anyway.
        let t = tolerance(&args, ToleranceUnit::Fraction);
        assert_eq!((t.rtol, t.atol), (1.0, 1e-5));
        let plain = ToleranceArgs { rtol: Some(0.25), ..Default::default() };
        assert_eq!(tolerance(&plain, ToleranceUnit::Fraction), tolerance(&plain, ToleranceUnit::Percent));
    }

    #[test]
    fn elements_are_shown_by_value() {
        assert_eq!(element_text(Dtype::Int8, &[0, 0xff], 1), "-1");
        assert_eq!(element_text(Dtype::Uint64, &u64::MAX.to_le_bytes(), 0), u64::MAX.to_string());
        assert_eq!(element_text(Dtype::Float32, &1.5f32.to_le_bytes(), 0), "1.5");
        assert_eq!(element_text(Dtype::Bfloat16, &[0x80, 0x3f], 0), "1.0");
        assert_eq!(element_text(Dtype::Float32, &[], 3), "nothing");
        assert_eq!(unflatten(7, &[2, 3, 2]), [1, 0, 1]);
    }
}
