//! Arithmetic on shapes.

use crate::errors::invalid;
use crate::op::Dims;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::SmallVec;

/// The dimensions of a reshape that needs no copy; `None` when there is none.
pub fn reshaped(dims: &[(i64, i64)], shape: &[i64]) -> Option<Dims> {
    let mut out = Dims::new();
    let old: Vec<(i64, i64)> = dims.iter().copied().filter(|d| d.1 != 1).collect();
    let (mut i, mut j) = (0, 0);
    while j < shape.len() {
        if shape[j] == 1 {
            out.push((1, 1));
            j += 1;
            continue;
        }
        // The smallest run of old dimensions and of new ones with the same number of elements.
        let (mut have, mut want) = (old.get(i)?.1, shape[j]);
        let (mut i2, mut j2) = (i + 1, j + 1);
        while have != want {
            if have < want {
                have *= old.get(i2)?.1;
                i2 += 1;
            } else {
                want *= *shape.get(j2)?;
                j2 += 1;
            }
        }
        for k in i..i2 - 1 {
            if old[k].0 != old[k + 1].0 * old[k + 1].1 {
                return None;
            }
        }
        let mut step = old[i2 - 1].0;
        let at = out.len();
        for n in shape[j..j2].iter().rev() {
            out.insert(at, (step, *n));
            step *= n;
        }
        (i, j) = (i2, j2);
    }
    // A dimension of one element gets the step of what follows it, as a contiguous tensor has.
    for k in (0..out.len()).rev() {
        if out[k].1 == 1 {
            out[k].0 = out.get(k + 1).map_or(1, |d| d.0 * d.1);
        }
    }
    (i == old.len()).then_some(out)
}

/// A list or tuple of integers.
pub fn ints(ob: &Bound<'_, PyAny>) -> PyResult<SmallVec<[i64; 5]>> {
    if let Ok(n) = ob.extract::<i64>() {
        return Ok(SmallVec::from_slice(&[n]));
    }
    let mut out = SmallVec::new();
    for item in ob.try_iter()? {
        out.push(item?.extract::<i64>()?);
    }
    Ok(out)
}

/// Integers given one by one or as one list.
pub fn listed(args: &Bound<'_, PyTuple>) -> PyResult<SmallVec<[i64; 5]>> {
    match args.len() {
        1 => ints(&args.get_item(0)?),
        _ => ints(args.as_any()),
    }
}

/// One dimension of -1 takes what is left; the counts must agree.
pub fn fill_unknown(py: Python<'_>, shape: &mut SmallVec<[i64; 5]>, count: i64) -> PyResult<()> {
    let known: i64 = shape.iter().filter(|n| **n != -1).product();
    if shape.iter().filter(|n| **n == -1).count() == 1 && known > 0 && count % known == 0 {
        shape.iter_mut().filter(|n| **n == -1).for_each(|n| *n = count / known);
    }
    if shape.iter().product::<i64>() != count || shape.iter().any(|n| *n < 0) {
        return Err(invalid(py, format!("reshape: {count} elements do not fill the shape {shape:?}")));
    }
    Ok(())
}
