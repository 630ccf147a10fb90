//! Piecewise polynomials: the table mode of the reference (`activation.md` 4).
//!
//! Tables are vendor data; a user who has them passes the directory. The evaluation order is the documented one:
//! float32 for the linear part, double for the square and cube.

use super::ActivationFunctionType as F;
use crate::{Code, Error, Named, Result};
use serde_json::Value;
use std::path::Path;

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

/// Above (or below) a threshold of exponent and mantissa one section serves.
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

/// File stems that differ from the function's name in lower case.
const STEMS: &[(&str, F)] = &[
    ("reciprocal_sqrt", F::Rsqrt),
    ("rsqrt", F::Rsqrt),
    ("leaky_relu", F::Lrelu),
    ("arctan", F::Arctan),
    ("ln_prime", F::LnPrime),
];

impl Tables {
    /// Loads every `<function>_<sections>p.json` of a directory; other files are left alone.
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
        for (func, path) in files {
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

/// The function that a file name like `exp_400p.json` stands for.
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
        let v: Value =
            serde_json::from_str(text).map_err(|e| Error::new(Code::J001, format!("malformed table: {e}")))?;
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
        if self.symmetry && v < 0.0 {
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

fn saturation(v: &Value) -> Result<Saturation> {
    Ok(Saturation {
        exponent: integer(v, "sat_point")?,
        mantissa: integer(v, "mantissa_point")?,
        section: section(key(v, "section")?)?,
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
        let sections = key(entry, "sections")?.as_array();
        let sections = sections.ok_or_else(|| Error::new(Code::J002, "the sections of an exponent are a list"))?;
        if !(0..=23).contains(&size) || sections.len() != 1 << size {
            return Err(Error::new(Code::J011, "an exponent has 2^extract_size sections, extract_size in 0..=23")
                .received(format!("extract_size {size}, {} sections", sections.len())));
        }
        *slot = Region { extract_size: size as u32, sections: sections.iter().map(section).collect::<Result<_>>()? };
    }
    Ok(out)
}
