//! Piecewise polynomials: the table mode of the reference (`activation.md` 4).
//!
//! Tables are vendor data; a user who has them passes the directory. The evaluation order is the documented one:
//! float32 for the linear part, double for the square and cube.

use super::ActivationFunctionType as F;
use crate::{Code, Error, Named, Result};
use serde_json::Value;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// One section of a region: a cubic around `x`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Section {
    x: f32,
    d: [f32; 4],
}

/// The sections of one binade.
#[derive(Clone, Debug, Default)]
struct Region {
    extract_size: u32,
    sections: Vec<Section>,
}

/// Above (or below) a threshold of exponent and mantissa there is a single section.
#[derive(Clone, Copy, Debug)]
struct Saturation {
    exponent: i64,
    mantissa: i64,
    section: Section,
}

/// One side of the argument: 256 binades between two thresholds.
#[derive(Clone, Debug)]
struct Side {
    regions: Vec<Region>,
    high: Saturation,
    low: Saturation,
}

/// A function as a table.
#[derive(Clone, Debug)]
pub struct Table {
    symmetry: bool,
    invert_sign: bool,
    use_negative: bool,
    symmetry_point: f32,
    zero: f32,
    nan: f32,
    positive_infinity: f32,
    negative_infinity: f32,
    positive: Side,
    negative: Side,
}

/// The tables of a directory.
#[derive(Debug, Default)]
pub struct Tables {
    tables: Vec<(F, Table)>,
}

/// Files that the function map of the reference names; of several tables of one function these are the ones it loads. The
/// rest of the map is not published.
const MAPPED: &[&str] = &[
    "exp_400p.json",
    "reciprocal_400p.json",
    "sqrt_65536p.json",
    "reciprocal_sqrt_40000p.json",
    "ln_40p.json",
    "leaky_relu_1p.json",
    "identity_1p.json",
    "copy_1p.json",
    "relu_1p.json",
    "sign_1p.json",
    "abs_1p.json",
];

/// File stems that differ from the function's name in lower case.
const STEMS: &[(&str, F)] = &[
    ("reciprocal_sqrt", F::Rsqrt),
    ("rsqrt", F::Rsqrt),
    ("leaky_relu", F::Lrelu),
    ("arctan", F::Arctan),
    ("ln_prime", F::LnPrime),
];

impl Tables {
    /// Loads one `<function>_<budget>p.json` per function of a directory; other files are left alone. Of several tables of
    /// one function the one in the function map counts; where the map is not published, several tables are an error.
    pub fn load(dir: &Path) -> Result<Tables> {
        let unreadable = |e: std::io::Error| Error::new(Code::F001, format!("the table directory cannot be read: {e}"));
        let mut files = Vec::new();
        for entry in std::fs::read_dir(dir).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if let Some(func) = path.file_name().and_then(|n| n.to_str()).and_then(function_of) {
                files.push((func, path));
            }
        }
        files.sort_by(|a, b| a.1.cmp(&b.1));
        let mut out = Tables::default();
        while let Some((func, _)) = files.first() {
            let func = *func;
            let (same, rest): (Vec<_>, Vec<_>) = files.into_iter().partition(|(f, _)| *f == func);
            files = rest;
            let path = chosen(func, same.into_iter().map(|(_, path)| path).collect())?;
            let here = |e: Error| e.at(|p| p.file = Some(path.display().to_string()));
            let text = std::fs::read_to_string(&path)
                .map_err(|e| here(Error::new(Code::F001, format!("the table cannot be read: {e}"))))?;
            out.insert(func, Table::from_json(&text).map_err(here)?);
        }
        Ok(out)
    }

    /// Adds or replaces the table of a function. Prelu never has one.
    pub fn insert(&mut self, func: F, table: Table) {
        self.tables.retain(|(f, _)| *f != func);
        self.tables.push((func, table));
    }

    /// The table of a function that is evaluated by table.
    pub fn get(&self, func: F) -> Option<&Table> {
        self.tables.iter().find(|(f, _)| *f == func && func != F::Prelu).map(|(_, t)| t)
    }
}

/// The table of a function among its files.
fn chosen(func: F, mut files: Vec<PathBuf>) -> Result<PathBuf> {
    let name = |p: &Path| p.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    if let Some(at) = files.iter().position(|p| MAPPED.contains(&name(p).as_str())) {
        return Ok(files.swap_remove(at));
    }
    match (files.pop(), files.is_empty()) {
        (Some(only), true) => Ok(only),
        (last, _) => {
            let names: Vec<String> = files.iter().chain(&last).map(|p| name(p)).collect();
            Err(Error::new(Code::F001, format!("the directory holds several tables of {func}"))
                .received(names.join(", "))
                .advice("which of them the reference loads is not published: leave one of them in the directory"))
        }
    }
}

/// The function that a file name like `exp_400p.json` belongs to.
fn function_of(file: &str) -> Option<F> {
    let (stem, count) = file.strip_suffix("p.json")?.rsplit_once('_')?;
    if count.is_empty() || !count.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let known = STEMS.iter().find(|(s, _)| *s == stem).map(|(_, f)| *f);
    known.or_else(|| F::ALL.iter().copied().find(|f| f.name().eq_ignore_ascii_case(stem)))
}

impl Table {
    /// Reads a table from its JSON text. Real numbers are taken by their integer bit pattern.
    pub fn from_json(text: &str) -> Result<Table> {
        let text = with_quoted_specials(text);
        let v: Value =
            serde_json::from_str(&text).map_err(|e| Error::new(Code::J001, format!("malformed table: {e}")))?;
        let points = key(&v, "saturation_points")?;
        let side = |regions: &str, high: &str, low: &str| -> Result<Side> {
            Ok(Side {
                regions: self::regions(key(&v, regions)?)?,
                high: saturation(key(points, high)?)?,
                low: saturation(key(points, low)?)?,
            })
        };
        Ok(Table {
            symmetry: flag(&v, "symmetry_en")?,
            invert_sign: flag(&v, "symmetry_invert_sign_opt")?,
            use_negative: flag(&v, "symmetry_opt_use_neg_region")?,
            symmetry_point: real(key(&v, "symmetry_point")?)?,
            zero: real(key(&v, "zero_result")?)?,
            nan: real(key(&v, "nan_result")?)?,
            positive_infinity: real(key(&v, "pinf_result")?)?,
            negative_infinity: real(key(&v, "ninf_result")?)?,
            positive: side("pos_exponents", "sat_point_pos_high", "sat_point_pos_low")?,
            negative: side("neg_exponents", "sat_point_neg_high", "sat_point_neg_low")?,
        })
    }

    /// The value the file names for NaN. The reference loads it and never uses it: a NaN goes through its bits.
    pub fn nan_result(&self) -> f32 {
        self.nan
    }

    /// Replaces every value by its table value.
    pub fn apply(&self, values: &mut [f32]) -> Result<()> {
        for v in values {
            *v = self.eval(*v)?;
        }
        Ok(())
    }

    /// The table value of one argument.
    pub fn eval(&self, v: f32) -> Result<f32> {
        if v == 0.0 {
            return Ok(self.zero);
        }
        if v.abs() > f32::MAX {
            return Ok(if v <= 0.0 { self.negative_infinity } else { self.positive_infinity });
        }
        let sel = match (self.symmetry, self.use_negative) {
            (false, _) => v,
            (true, false) => v.abs(),
            (true, true) => -v.abs(),
        };
        let side = if sel.is_sign_negative() { &self.negative } else { &self.positive };
        let s = side.section(sel.to_bits())?;
        let t = sel - s.x;
        let linear = s.d[0] + t * s.d[1];
        let square = f64::from(t * t) * f64::from(s.d[2]);
        let r = f64::from(linear) + square;
        let t = f64::from(t);
        let mut y = (t * t * t * f64::from(s.d[3]) + r) as f32;
        // A NaN compares unequal to its own magnitude and is reflected like a negative number.
        #[allow(clippy::float_cmp)]
        if self.symmetry && v != v.abs() {
            y = if self.invert_sign { -y } else { y } + self.symmetry_point;
        }
        Ok(y)
    }
}

impl Side {
    fn section(&self, bits: u32) -> Result<Section> {
        let (e, m) = (i64::from(bits >> 23 & 0xFF), i64::from(bits & 0x7F_FFFF));
        if (e, m) >= (self.high.exponent, self.high.mantissa) {
            return Ok(self.high.section);
        }
        if (e, m) <= (self.low.exponent, self.low.mantissa) {
            return Ok(self.low.section);
        }
        let found = self.regions.get(e as usize).and_then(|r| {
            let index = m >> (23 - r.extract_size);
            r.sections.get(index as usize)
        });
        found.copied().ok_or_else(|| {
            Error::new(Code::S008, "Unhandled section in simulation").received(format!("argument bits {bits:08X}"))
        })
    }
}

/// The text with the tokens NaN, Infinity and -Infinity, which the tables hold outside of texts and JSON does not know,
/// replaced by null: the bit pattern beside them counts.
fn with_quoted_specials(text: &str) -> Cow<'_, str> {
    if !text.contains("NaN") && !text.contains("Infinity") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut inside = false;
    while let Some(c) = rest.chars().next() {
        let special = ["NaN", "-Infinity", "Infinity", "-NaN"].into_iter().find(|s| !inside && rest.starts_with(s));
        let n = match special {
            Some(s) => {
                out.push_str("null");
                s.len()
            }
            // An escaped character stays as it is, the quote above all.
            None if inside && c == '\\' => {
                let n = rest.chars().take(2).map(char::len_utf8).sum();
                out.push_str(&rest[..n]);
                n
            }
            None => {
                inside ^= c == '"';
                out.push(c);
                c.len_utf8()
            }
        };
        rest = &rest[n..];
    }
    Cow::Owned(out)
}

fn key<'v>(v: &'v Value, name: &str) -> Result<&'v Value> {
    v.get(name).ok_or_else(|| Error::new(Code::J003, format!("the table has no key '{name}'")))
}

fn flag(v: &Value, name: &str) -> Result<bool> {
    match key(v, name)? {
        Value::Bool(b) => Ok(*b),
        Value::Number(n) if n.as_u64().is_some_and(|n| n < 2) => Ok(n.as_u64() == Some(1)),
        other => Err(Error::new(Code::J002, format!("'{name}' is a flag")).received(other)),
    }
}

fn integer(v: &Value, name: &str) -> Result<i64> {
    let value = key(v, name)?;
    value.as_i64().ok_or_else(|| Error::new(Code::J002, format!("'{name}' is an integer")).received(value))
}

/// A real number: an object that holds its bit pattern, or the bit pattern itself.
fn real(v: &Value) -> Result<f32> {
    let bits = match v {
        Value::Object(o) => ["int", "integer", "bits", "int_value", "uint32"].iter().find_map(|k| o.get(*k)),
        other => Some(other),
    };
    let bits = bits.and_then(|b| b.as_u64().or_else(|| b.as_i64().map(|i| i as u64 & 0xFFFF_FFFF)));
    bits.and_then(|b| u32::try_from(b).ok())
        .map(f32::from_bits)
        .ok_or_else(|| Error::new(Code::J002, "a table value holds a 32-bit integer bit pattern").received(v))
}

fn section(v: &Value) -> Result<Section> {
    let part = |name| real(key(v, name)?);
    Ok(Section { x: part("x")?, d: [part("d0")?, part("d1")?, part("d2")?, part("d3")?] })
}

/// A saturation record: thresholds with the coefficients beside them, or in an object of their own.
fn saturation(v: &Value) -> Result<Saturation> {
    Ok(Saturation {
        exponent: integer(v, "sat_point")?,
        mantissa: integer(v, "mantissa_point")?,
        section: section(v.get("section").unwrap_or(v))?,
    })
}

fn regions(v: &Value) -> Result<Vec<Region>> {
    let list = v.as_array().ok_or_else(|| Error::new(Code::J002, "the exponents of a table are a list"))?;
    let mut out = vec![Region::default(); 256];
    for entry in list {
        let e = integer(entry, "exponent")?;
        let slot = usize::try_from(e.saturating_add(127)).ok().and_then(|i| out.get_mut(i));
        let slot = slot.ok_or_else(|| Error::new(Code::J011, "an exponent is in -127..=128").received(e))?;
        let size = integer(entry, "extract_size")?;
        let sections = match entry.get("exponent_sections") {
            Some(list) => list,
            None => key(entry, "sections")
                .map_err(|_| Error::new(Code::J003, "an exponent of the table has no key 'exponent_sections'"))?,
        };
        let sections = sections.as_array();
        let sections = sections.ok_or_else(|| Error::new(Code::J002, "the sections of an exponent are a list"))?;
        // A saturated octave ends early, and one that saturation covers wholly is empty.
        if !(0..=23).contains(&size) || sections.len() > 1 << size {
            return Err(Error::new(
                Code::J011,
                "an exponent has at most 2^extract_size sections, extract_size in 0..=23",
            )
            .received(format!("extract_size {size}, {} sections", sections.len())));
        }
        *slot = Region { extract_size: size as u32, sections: sections.iter().map(section).collect::<Result<_>>()? };
    }
    Ok(out)
}
