//! Indexing of tensors: integers, slices, `ds`, ellipsis, registers, tensors, and `ap`.

use crate::dtype::Dt;
use crate::errors::{invalid, out_of_range};
use crate::op::Dims;
use crate::register::VirtualRegister;
use crate::tensor::{Mover, Moves, NkiTensor, rescaled};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyEllipsis, PyInt, PySlice, PyTuple};
use smallvec::SmallVec;

/// A slice whose start is known only when the program runs.
#[pyclass(frozen, module = "nki.language")]
pub struct DynamicSlice {
    start: Py<PyAny>,
    size: i64,
}

/// `slice(start, start + size)`; the start may be a register or a tensor of one element.
#[pyfunction]
pub fn ds<'py>(start: &Bound<'py, PyAny>, size: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = start.py();
    let size: i64 = match mover(size)? {
        None => size.extract()?,
        Some(_) => return Err(PyTypeError::new_err("ds: the size is known while the kernel is traced")),
    };
    if mover(start)?.is_some() {
        let made = DynamicSlice { start: start.clone().unbind(), size };
        return Ok(Bound::new(py, made)?.into_any());
    }
    let at: i64 = start.extract()?;
    Ok(PySlice::new(py, at as isize, (at + size) as isize, 1).into_any())
}

/// A register or tensor that stands for a number of the run; `None` for numbers.
pub fn mover(ob: &Bound<'_, PyAny>) -> PyResult<Option<Mover>> {
    if ob.cast::<PyInt>().is_ok() {
        return Ok(None);
    }
    if let Ok(r) = ob.cast::<VirtualRegister>() {
        return Ok(Some(Mover::Register(r.clone().unbind())));
    }
    if let Ok(t) = ob.cast::<NkiTensor>() {
        return Ok(Some(Mover::Tensor(t.clone().unbind())));
    }
    Ok(None)
}

/// Builds the dimensions of a view from left to right.
struct Build<'a> {
    of: &'a NkiTensor,
    dim: usize,
    offset: i64,
    dims: Dims,
    moves: SmallVec<[(Mover, i64); 1]>,
}

impl Build<'_> {
    fn next(&mut self, py: Python<'_>) -> PyResult<(i64, i64)> {
        let d = self.of.dims.get(self.dim).copied().ok_or_else(|| {
            out_of_range(py, format!("more indices than a tensor of shape {} has dimensions", self.of.shape_text()))
        })?;
        self.dim += 1;
        Ok(d)
    }

    fn keep(&mut self) {
        self.dims.push(self.of.dims[self.dim]);
        self.dim += 1;
    }

    fn item(&mut self, ob: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = ob.py();
        let dim = self.dim;
        let (step, count) = self.next(py)?;
        if let Ok(s) = ob.cast::<PySlice>() {
            let (start, num, by) = unpack(s, count).map_err(|text| {
                out_of_range(py, format!("{text} of dimension {dim} of shape {}", self.of.shape_text()))
            })?;
            self.offset += start * step;
            self.dims.push((step * by, num));
            return Ok(());
        }
        if ob.cast::<PyInt>().is_err() {
            if let Ok(d) = ob.cast::<DynamicSlice>() {
                let d = d.get();
                self.moving(py, d.start.bind(py), step)?;
                self.dims.push((step, d.size));
                return Ok(());
            }
            if mover(ob)?.is_some() {
                self.moving(py, ob, step)?;
                self.single(dim, step);
                return Ok(());
            }
        }
        let Ok(i) = ob.extract::<i64>() else {
            let kind = ob.get_type().name()?.to_string();
            return Err(PyTypeError::new_err(format!(
                "a tensor is indexed with integers, slices, ds, registers and ..., not with {kind}"
            )));
        };
        let at = if i < 0 { i + count } else { i };
        if !(0..count).contains(&at) {
            return Err(out_of_range(
                py,
                format!("index {i} of dimension {dim} of a tensor of shape {}", self.of.shape_text()),
            ));
        }
        self.offset += at * step;
        self.single(dim, step);
        Ok(())
    }

    /// One element of a dimension: the partition dimension stays.
    fn single(&mut self, dim: usize, step: i64) {
        if dim == 0 && self.of.on_chip() {
            self.dims.push((step, 1));
        }
    }

    fn moving(&mut self, py: Python<'_>, ob: &Bound<'_, PyAny>, step: i64) -> PyResult<()> {
        match mover(ob)? {
            Some(Mover::Register(r)) if r.get().known().is_some() => {
                self.offset += r.get().known().unwrap_or(0) * step;
            }
            Some(m) => self.moves.push((m, step)),
            None => self.offset += ob.extract::<i64>()? * step,
        }
        let _ = py;
        Ok(())
    }

    fn done(mut self, py: Python<'_>) -> PyResult<NkiTensor> {
        while self.dim < self.of.dims.len() {
            self.keep();
        }
        let least = if self.of.on_chip() { 2 } else { 1 };
        while self.dims.len() < least {
            self.dims.push((1, 1));
        }
        let mut out = self.of.with(self.offset, self.dims);
        if !self.moves.is_empty() {
            match out.moves.as_deref_mut() {
                None => out.moves = Some(Box::new(Moves::Scalar(self.moves))),
                Some(Moves::Scalar(terms)) => terms.extend(self.moves),
                Some(_) => return Err(invalid(py, "a gathered or scattered view takes no further run-time index")),
            }
        }
        Ok(out)
    }
}

/// (start, count, step) of a slice of `len` elements; slices do not reach beyond their dimension.
fn unpack(s: &Bound<'_, PySlice>, len: i64) -> Result<(i64, i64, i64), String> {
    let (mut start, mut stop, mut step) = (0, 0, 0);
    // SAFETY: the object is a slice and the three pointers are valid; an error is taken from Python below.
    let failed = unsafe { ffi::PySlice_Unpack(s.as_ptr(), &mut start, &mut stop, &mut step) } < 0;
    if failed {
        let e = PyErr::fetch(s.py());
        return Err(e.to_string());
    }
    let (start, stop, step) = (start as i64, stop as i64, step as i64);
    if step < 1 {
        return Err(format!("slices take positive steps, not {step}: a slice"));
    }
    let open = stop == isize::MAX as i64;
    let from = if start < 0 { start + len } else { start };
    let to = if open {
        len
    } else if stop < 0 {
        stop + len
    } else {
        stop
    };
    if from < 0 || from > len || to > len || to < from {
        let stop = if open { String::new() } else { stop.to_string() };
        return Err(format!("slice {start}:{stop} leaves the {len} elements"));
    }
    Ok((from, (to - from + step - 1) / step, step))
}

/// `t[key]`.
pub fn get(t: &Bound<'_, NkiTensor>, key: &Bound<'_, PyAny>) -> PyResult<NkiTensor> {
    let py = t.py();
    let of = t.get();
    let mut b = Build { of, dim: 0, offset: of.offset, dims: Dims::new(), moves: SmallVec::new() };
    let Ok(items) = key.cast::<PyTuple>() else {
        if key.cast::<PyEllipsis>().is_err() {
            b.item(key)?;
        }
        return b.done(py);
    };
    let n = items.len();
    for (k, item) in items.iter_borrowed().enumerate() {
        if item.cast::<PyEllipsis>().is_ok() {
            let rest = n - k - 1;
            while b.dim + rest < of.dims.len() {
                b.keep();
            }
        } else {
            b.item(&item)?;
        }
    }
    b.done(py)
}

/// `t.select(dim, index)`.
pub fn at(t: &Bound<'_, NkiTensor>, dim: usize, index: &Bound<'_, PyAny>) -> PyResult<NkiTensor> {
    let of = t.get();
    let mut b = Build { of, dim: 0, offset: of.offset, dims: Dims::new(), moves: SmallVec::new() };
    while b.dim < dim {
        b.keep();
    }
    b.item(index)?;
    b.done(t.py())
}

/// `t.ap(..)`.
pub fn ap(
    t: &Bound<'_, NkiTensor>,
    pattern: &Bound<'_, PyAny>,
    offset: Option<&Bound<'_, PyAny>>,
    scalar_offset: Option<&Bound<'_, PyAny>>,
    vector_offset: Option<&Bound<'_, PyAny>>,
    indirect_dim: i64,
    dtype: Option<&Bound<'_, PyAny>>,
) -> PyResult<NkiTensor> {
    let py = t.py();
    let of = t.get();
    let dt = match dtype {
        Some(d) if !d.is_none() => Dt::of(d)?,
        _ => of.dt,
    };
    of.bits(py, dt)?;
    let (old, new) = (of.dt.size(), dt.size());
    let mut dims = Dims::new();
    for pair in pattern.try_iter()? {
        let pair = pair?;
        match crate::tensor::ints(&pair).as_deref() {
            Ok([step, count]) => dims.push((*step, *count)),
            _ => return Err(invalid(py, "ap: a pattern is a list of [step, count] pairs")),
        }
    }
    if dims.is_empty() {
        return Err(invalid(py, "ap: the pattern is empty"));
    }
    let given = offset.filter(|o| !o.is_none());
    if of.offset * old % new != 0 {
        return Err(invalid(py, format!("ap: the view starts inside an element of {}", dt.name())));
    }
    let mut start = of.offset * old / new;
    let mut moves = of.moves.as_deref().cloned().map(|m| rescaled(m, old, new));
    let add = |moves: &mut Option<Moves>, m: Mover, coef: i64| -> PyResult<()> {
        match moves {
            None => *moves = Some(Moves::Scalar(SmallVec::from_iter([(m, coef)]))),
            Some(Moves::Scalar(terms)) => terms.push((m, coef)),
            Some(_) => return Err(invalid(py, "ap: at most one of scalar_offset and vector_offset")),
        }
        Ok(())
    };
    if let Some(o) = given {
        match mover(o)? {
            Some(m) => add(&mut moves, m, 1)?,
            None => start += o.extract::<i64>()?,
        }
    }
    if of.on_chip() && dims[0].1 != 1 {
        let row = of.storage.row_bytes() / new;
        let own = of.free() * old / new;
        let step = dims[0].0;
        if row > 0 && step % row == 0 {
        } else if own > 0 && step % own == 0 {
            dims[0].0 = step / own * row;
        } else {
            return Err(invalid(
                py,
                format!(
                    "ap: the first step of a pattern in {} is {step}, but a partition has {row} elements",
                    of.where_text()
                ),
            ));
        }
    }
    let scalar = scalar_offset.filter(|o| !o.is_none());
    let vector = vector_offset.filter(|o| !o.is_none());
    if scalar.is_some() && vector.is_some() {
        return Err(invalid(py, "ap: at most one of scalar_offset and vector_offset"));
    }
    if scalar.is_some() || vector.is_some() {
        let rank = of.dims.len() as i64;
        let d = if indirect_dim < 0 { indirect_dim + rank } else { indirect_dim };
        if !(0..rank).contains(&d) {
            let text = format!("ap: indirect_dim {indirect_dim} of a tensor of shape {}", of.shape_text());
            return Err(out_of_range(py, text));
        }
        let coef: i64 = of.dims[d as usize + 1..].iter().map(|d| d.1).product::<i64>() * old / new;
        let coef = if of.on_chip() && d == 0 { of.storage.row_bytes() / new } else { coef };
        if let Some(o) = scalar {
            match mover(o)? {
                Some(m) => add(&mut moves, m, coef)?,
                None => start += o.extract::<i64>()? * coef,
            }
        }
        if let Some(o) = vector {
            let index = o.cast::<NkiTensor>().map_err(|_| PyTypeError::new_err("ap: vector_offset is a tensor"))?;
            if d != 0 || of.on_chip() {
                let text = format!(
                    "ap: vector_offset indexes dimension 0 of a tensor in HBM, not {d} of one in {}",
                    of.where_text()
                );
                return Err(invalid(py, text));
            }
            if moves.is_some() {
                return Err(invalid(py, "ap: at most one of scalar_offset and vector_offset"));
            }
            moves = Some(Moves::Vector { index: index.clone().unbind(), coef, rows: of.dims[0].1 });
        }
    }
    Ok(NkiTensor { storage: of.storage.clone(), dt, offset: start, dims, moves: moves.map(Box::new) })
}
