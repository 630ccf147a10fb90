//! Views of a view: arithmetic on (step, count) pairs.

use super::NkiTensor;
use super::moves::rescaled;
use super::shape::{fill_unknown, ints, listed, reshaped};
use crate::dtype::Dt;
use crate::errors::{invalid, out_of_range};
use crate::op::Dims;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::SmallVec;

/// `start` up to `end` of a dimension, every `step`-th element.
pub fn slice(t: &NkiTensor, py: Python<'_>, dim: i64, start: i64, end: i64, step: i64) -> PyResult<NkiTensor> {
    let d = t.check_dim(py, "slice", dim)?;
    let (stride, count) = t.dims[d];
    if start < 0 || end > count || start >= end || step < 1 {
        return Err(out_of_range(
            py,
            format!("slice: {start}:{end}:{step} of dimension {d} of a tensor of shape {}", t.shape_text()),
        ));
    }
    let mut dims = t.dims.clone();
    dims[d] = (stride * step, (end - start + step - 1) / step);
    Ok(t.with(t.offset + start * stride, dims))
}

/// The dimensions in another order.
pub fn permute(t: &NkiTensor, py: Python<'_>, dims: &Bound<'_, PyTuple>) -> PyResult<NkiTensor> {
    let order = listed(dims)?;
    let mut seen = vec![false; t.dims.len()];
    let mut out = Dims::new();
    for (k, d) in order.iter().enumerate() {
        let at = t.check_dim(py, "permute", *d)?;
        if std::mem::replace(&mut seen[at], true) {
            return Err(invalid(py, format!("permute: dimension {d} is named twice in {order:?}")));
        }
        if k == 0 && at != 0 {
            t.keep_partition(py, "permute", 0)?;
        }
        out.push(t.dims[at]);
    }
    if out.len() != t.dims.len() {
        let text = format!("permute: {order:?} names not every dimension of shape {}", t.shape_text());
        return Err(invalid(py, text));
    }
    Ok(t.with(t.offset, out))
}

/// A dimension of one element repeated.
pub fn broadcast(t: &NkiTensor, py: Python<'_>, dim: i64, size: i64) -> PyResult<NkiTensor> {
    let d = t.check_dim(py, "broadcast", dim)?;
    t.keep_partition(py, "broadcast", d)?;
    if t.dims[d].1 != 1 {
        let text = format!("broadcast: dimension {d} of shape {} has not the size 1", t.shape_text());
        return Err(invalid(py, text));
    }
    let mut dims = t.dims.clone();
    dims[d] = (0, size);
    Ok(t.with(t.offset, dims))
}

/// A dimension of one element more.
pub fn expand_dim(t: &NkiTensor, py: Python<'_>, dim: i64) -> PyResult<NkiTensor> {
    let rank = t.dims.len() as i64;
    let at = if dim < 0 { dim + rank + 1 } else { dim };
    if !(0..=rank).contains(&at) {
        let text = format!("expand_dim: dimension {dim} of a tensor of shape {}", t.shape_text());
        return Err(out_of_range(py, text));
    }
    t.keep_partition(py, "expand_dim", at as usize)?;
    let mut dims = t.dims.clone();
    let step = dims.get(at as usize).map_or(1, |d| d.0 * d.1);
    dims.insert(at as usize, (step, 1));
    Ok(t.with(t.offset, dims))
}

/// A dimension of one element less.
pub fn squeeze_dim(t: &NkiTensor, py: Python<'_>, dim: i64) -> PyResult<NkiTensor> {
    let d = t.check_dim(py, "squeeze_dim", dim)?;
    t.keep_partition(py, "squeeze_dim", d)?;
    if t.dims[d].1 != 1 {
        let text = format!("squeeze_dim: dimension {d} of shape {} has not the size 1", t.shape_text());
        return Err(invalid(py, text));
    }
    let mut dims = t.dims.clone();
    dims.remove(d);
    let dims = t.settled(dims);
    Ok(t.with(t.offset, dims))
}

/// One dimension as several.
pub fn reshape_dim(t: &NkiTensor, py: Python<'_>, dim: i64, shape: &Bound<'_, PyAny>) -> PyResult<NkiTensor> {
    let d = t.check_dim(py, "reshape_dim", dim)?;
    t.keep_partition(py, "reshape_dim", d)?;
    let mut shape = ints(shape)?;
    fill_unknown(py, &mut shape, t.dims[d].1)?;
    let mut step = t.dims[d].0;
    let mut new = Dims::new();
    for n in shape.iter().rev() {
        new.insert(0, (step, *n));
        step *= n;
    }
    let mut dims = t.dims.clone();
    dims.remove(d);
    dims.insert_many(d, new);
    Ok(t.with(t.offset, dims))
}

/// Several dimensions as one.
pub fn flatten_dims(t: &NkiTensor, py: Python<'_>, start: i64, end: i64) -> PyResult<NkiTensor> {
    let (a, b) = (t.check_dim(py, "flatten_dims", start)?, t.check_dim(py, "flatten_dims", end)?);
    if a < b {
        t.keep_partition(py, "flatten_dims", a)?;
    }
    let (lo, hi) = (a.min(b), a.max(b));
    let count: i64 = t.dims[lo..=hi].iter().map(|d| d.1).product();
    let flat = reshaped(&t.dims[lo..=hi], &[count]).ok_or_else(|| {
        let text = format!("flatten_dims: dimensions {lo} to {hi} of shape {} are not contiguous", t.shape_text());
        invalid(py, text)
    })?;
    let mut dims: Dims = t.dims[..lo].iter().copied().collect();
    dims.extend(flat);
    dims.extend(t.dims[hi + 1..].iter().copied());
    Ok(t.with(t.offset, dims))
}

/// The elements in another shape.
pub fn reshape(
    t: &NkiTensor,
    py: Python<'_>,
    shape: &Bound<'_, PyTuple>,
    dtype: Option<&Bound<'_, PyAny>>,
) -> PyResult<NkiTensor> {
    let mut new = listed(shape)?;
    fill_unknown(py, &mut new, t.len())?;
    let text = || format!("({})", new.iter().map(i64::to_string).collect::<Vec<_>>().join(", "));
    let bad = |why: &str| invalid(py, format!("reshape: {} to {}: {why}", t.shape_text(), text()));
    let dims = if t.on_chip() && !t.dims.is_empty() {
        if new.first() != Some(&t.dims[0].1) {
            return Err(bad(&format!("the partition dimension of a tensor in {} stays first", t.where_text())));
        }
        let mut dims: Dims = SmallVec::from_slice(&t.dims[..1]);
        dims.extend(reshaped(&t.dims[1..], &new[1..]).ok_or_else(|| bad("the view is not contiguous"))?);
        dims
    } else {
        reshaped(&t.dims, &new).ok_or_else(|| bad("the view is not contiguous"))?
    };
    let made = t.with(t.offset, dims);
    match dtype {
        Some(d) if !d.is_none() => view(&made, py, d, None),
        _ => Ok(made),
    }
}

/// The bits as elements of another type.
pub fn view(
    t: &NkiTensor,
    py: Python<'_>,
    dtype: &Bound<'_, PyAny>,
    shape: Option<&Bound<'_, PyAny>>,
) -> PyResult<NkiTensor> {
    let dt = Dt::of(dtype)?;
    t.bits(py, dt)?;
    let (old, new) = (t.dt.size(), dt.size());
    let mut dims = t.dims.clone();
    let bad = || {
        let text = format!(
            "view: a tensor of shape {} and type {} cannot be taken as {}",
            t.shape_text(),
            t.dt.name(),
            dt.name()
        );
        invalid(py, text)
    };
    let rank = dims.len();
    let mut offset = t.offset;
    if new < old {
        let k = old / new;
        if dims[rank - 1].0 != 1 && dims[rank - 1].1 != 1 {
            return Err(bad());
        }
        dims[..rank - 1].iter_mut().for_each(|d| d.0 *= k);
        dims[rank - 1] = (1, dims[rank - 1].1 * k);
        offset *= k;
    } else if new > old {
        let k = new / old;
        let fits = dims[rank - 1].0 == 1
            && dims[rank - 1].1 % k == 0
            && offset % k == 0
            && dims[..rank - 1].iter().all(|d| d.0 % k == 0 || d.1 == 1);
        if !fits {
            return Err(bad());
        }
        dims[..rank - 1].iter_mut().for_each(|d| d.0 /= k);
        dims[rank - 1].1 /= k;
        offset /= k;
    }
    let mut out = t.with(offset, dims);
    out.dt = dt;
    if new != old {
        out.moves = out.moves.map(|m| Box::new(rescaled(*m, old, new)));
    }
    match shape {
        Some(s) if !s.is_none() => reshape(&out, py, &PyTuple::new(py, [s])?, None),
        _ => Ok(out),
    }
}
