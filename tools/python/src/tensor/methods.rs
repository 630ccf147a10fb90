//! What Python sees of a tensor.

use super::moves::Moves;
use super::{NkiTensor, views};
use crate::dtype::Dt;
use crate::errors::invalid;
use crate::op::Dims;
use crate::regions;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use smallvec::SmallVec;
use std::sync::atomic::Ordering;

#[pymethods]
impl NkiTensor {
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.dims.iter().map(|d| d.1))
    }

    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.dims.iter().map(|d| d.0))
    }

    #[getter]
    fn offset(&self) -> i64 {
        self.offset
    }

    #[getter]
    fn name(&self) -> &str {
        &self.storage.name
    }

    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.dt.object(py)
    }

    #[getter]
    fn buffer<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        regions::object(py, self.storage.region)
    }

    #[getter]
    fn ndim(&self) -> usize {
        self.dims.len()
    }

    #[getter]
    fn size(&self) -> i64 {
        self.len()
    }

    #[getter]
    fn itemsize(&self) -> i64 {
        self.dt.size()
    }

    #[getter]
    fn nbytes(&self) -> i64 {
        self.len() * self.dt.size()
    }

    /// Type that the elements are kept in.
    #[getter]
    fn _stored<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.storage.session.stored(self.dt.bir()) {
            kept if kept == self.dt.bir() => self.dt.object(py),
            kept => Dt::of_bir(kept).object(py),
        }
    }

    /// Core that made the tensor.
    #[getter]
    fn _core(&self) -> u32 {
        self.storage.core
    }

    /// An instruction writes to the storage.
    #[getter]
    fn _written(&self) -> bool {
        self.storage.written.load(Ordering::Relaxed)
    }

    /// Shape of the storage.
    #[getter]
    fn _storage_shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.storage.shape.iter())
    }

    /// Identity of the storage inside its session.
    #[getter]
    fn _location(&self) -> u32 {
        self.storage.loc
    }

    fn __getitem__(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<NkiTensor> {
        crate::index::get(slf, key)
    }

    fn __setitem__<'py>(slf: &Bound<'py, Self>, key: &Bound<'py, PyAny>, value: &Bound<'py, PyAny>) -> PyResult<()> {
        let target = Bound::new(slf.py(), crate::index::get(slf, key)?)?;
        slf.py().import("birsim._views")?.getattr("assign")?.call1((target, value)).map(|_| ())
    }

    fn __iter__(&self) -> PyResult<Py<PyAny>> {
        Err(pyo3::exceptions::PyTypeError::new_err("a tensor is not iterable; index it with slices instead"))
    }

    fn __bool__(&self) -> bool {
        true
    }

    #[pyo3(signature = (pattern, offset=None, scalar_offset=None, vector_offset=None, indirect_dim=0, dtype=None))]
    fn ap(
        slf: &Bound<'_, Self>,
        pattern: &Bound<'_, PyAny>,
        offset: Option<&Bound<'_, PyAny>>,
        scalar_offset: Option<&Bound<'_, PyAny>>,
        vector_offset: Option<&Bound<'_, PyAny>>,
        indirect_dim: i64,
        dtype: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<NkiTensor> {
        crate::index::ap(slf, pattern, offset, scalar_offset, vector_offset, indirect_dim, dtype)
    }

    #[pyo3(signature = (dim, start, end, step=1))]
    fn slice(&self, py: Python<'_>, dim: i64, start: i64, end: i64, step: i64) -> PyResult<NkiTensor> {
        views::slice(self, py, dim, start, end, step)
    }

    fn select(slf: &Bound<'_, Self>, dim: i64, index: &Bound<'_, PyAny>) -> PyResult<NkiTensor> {
        let this = slf.get();
        let d = this.check_dim(slf.py(), "select", dim)?;
        if crate::index::mover(index)?.is_some() {
            this.keep_partition(slf.py(), "select with a run-time index", d)?;
        }
        crate::index::at(slf, d, index)
    }

    #[pyo3(signature = (*dims))]
    fn permute(&self, py: Python<'_>, dims: &Bound<'_, PyTuple>) -> PyResult<NkiTensor> {
        views::permute(self, py, dims)
    }

    fn broadcast(&self, py: Python<'_>, dim: i64, size: i64) -> PyResult<NkiTensor> {
        views::broadcast(self, py, dim, size)
    }

    fn expand_dim(&self, py: Python<'_>, dim: i64) -> PyResult<NkiTensor> {
        views::expand_dim(self, py, dim)
    }

    fn squeeze_dim(&self, py: Python<'_>, dim: i64) -> PyResult<NkiTensor> {
        views::squeeze_dim(self, py, dim)
    }

    fn reshape_dim(&self, py: Python<'_>, dim: i64, shape: &Bound<'_, PyAny>) -> PyResult<NkiTensor> {
        views::reshape_dim(self, py, dim, shape)
    }

    #[pyo3(signature = (start, end))]
    fn flatten_dims(&self, py: Python<'_>, start: i64, end: i64) -> PyResult<NkiTensor> {
        views::flatten_dims(self, py, start, end)
    }

    #[pyo3(signature = (*shape, dtype=None, name=None))]
    fn reshape(
        &self,
        py: Python<'_>,
        shape: &Bound<'_, PyTuple>,
        dtype: Option<&Bound<'_, PyAny>>,
        name: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<NkiTensor> {
        // Views have no name of their own.
        let _ = name;
        views::reshape(self, py, shape, dtype)
    }

    #[pyo3(signature = (dtype, shape=None))]
    fn view(&self, py: Python<'_>, dtype: &Bound<'_, PyAny>, shape: Option<&Bound<'_, PyAny>>) -> PyResult<NkiTensor> {
        views::view(self, py, dtype, shape)
    }

    fn reinterpret_cast(&self, py: Python<'_>, dtype: &Bound<'_, PyAny>) -> PyResult<NkiTensor> {
        views::view(self, py, dtype, None)
    }

    fn vector_select(slf: &Bound<'_, Self>, dim: i64, vector_offset: &Bound<'_, NkiTensor>) -> PyResult<NkiTensor> {
        let this = slf.get();
        if dim != 0 || this.on_chip() {
            let text =
                format!("vector_select: dimension 0 of a tensor in HBM, not {dim} of one in {}", this.where_text());
            return Err(invalid(slf.py(), text));
        }
        let mut dims = this.dims.clone();
        let (coef, rows) = dims[0];
        dims[0] = (coef, vector_offset.get().partitions());
        let mut out = this.with(this.offset, dims);
        out.moves = Some(Box::new(Moves::Vector { index: vector_offset.clone().unbind(), coef, rows }));
        Ok(out)
    }

    #[pyo3(signature = (index, num_elem=None))]
    fn indirect(slf: &Bound<'_, Self>, index: &Bound<'_, NkiTensor>, num_elem: Option<i64>) -> PyResult<NkiTensor> {
        let this = slf.get();
        let n = num_elem.unwrap_or_else(|| index.get().len());
        let dims: Dims = SmallVec::from_slice(&[this.dims[0], (1, n)]);
        let row = this.free();
        let mut out = this.with(this.offset, dims);
        out.moves = Some(Box::new(Moves::Indirect { index: index.clone().unbind(), row }));
        Ok(out)
    }

    fn is_contiguous(&self) -> bool {
        let mut step = 1;
        for d in self.dims.iter().rev() {
            if d.1 != 1 && d.0 != step {
                return false;
            }
            step *= d.1;
        }
        true
    }

    fn is_indirect(&self) -> bool {
        self.moves.is_some()
    }

    fn get_pattern<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let pairs: Vec<[i64; 2]> = self.dims.iter().map(|d| [d.0, d.1]).collect();
        PyList::new(py, pairs)
    }

    fn rearrange<'py>(
        slf: &Bound<'py, Self>,
        src: &Bound<'py, PyAny>,
        dst: &Bound<'py, PyAny>,
        fixed_sizes: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let helper = slf.py().import("birsim._views")?.getattr("rearrange")?;
        helper.call1((slf, src, dst, fixed_sizes))
    }

    /// The bytes of the storage, after everything that was called before has run.
    fn _bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyBytes>> {
        crate::observe::bytes(py, self)
    }

    fn numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("birsim._observe")?.getattr("array")?.call1((slf,))
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = copy;
        let value = NkiTensor::numpy(slf)?;
        match dtype {
            Some(d) if !d.is_none() => value.call_method1("astype", (d,)),
            _ => Ok(value),
        }
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("birsim._observe")?.getattr("text")?.call1((slf,))
    }
}
