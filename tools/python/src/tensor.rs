//! Tensors: views of storage whose methods are arithmetic on (step, count) pairs.

use crate::dtype::Dt;
use crate::errors::{invalid, out_of_range};
use crate::op::{Access, Dims, Dynamic, Op, Opnd, Region};
use crate::regions;
use crate::register::VirtualRegister;
use crate::trace::Session;
use birsim_engine::ir::{Engine, Opcode};
use birsim_kernels::Dtype;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Storage of a tensor; released when its last view is gone and the last instruction that names it has run.
pub struct Storage {
    /// Session it belongs to.
    pub session: Arc<Session>,
    /// Core that made it.
    pub core: u32,
    /// Number of its location.
    pub loc: u32,
    /// Unique name.
    pub name: String,
    /// Shape.
    pub shape: SmallVec<[i64; 5]>,
    /// Element type it was made with.
    pub dtype: Dtype,
    /// Memory.
    pub region: Region,
    /// An instruction writes to it.
    pub written: AtomicBool,
}

impl Storage {
    /// Describes the storage of a location.
    pub fn new(
        session: Arc<Session>,
        core: u32,
        loc: u32,
        name: String,
        shape: SmallVec<[i64; 5]>,
        dtype: Dtype,
        region: Region,
    ) -> Storage {
        Storage { session, core, loc, name, shape, dtype, region, written: AtomicBool::new(false) }
    }

    /// Bytes of all elements.
    pub fn bytes(&self) -> i64 {
        self.shape.iter().product::<i64>() * self.dtype.size() as i64
    }

    /// Bytes from one partition to the next.
    pub fn row_bytes(&self) -> i64 {
        self.shape[1..].iter().product::<i64>() * self.dtype.size() as i64
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        if self.region != Region::SharedHbm || self.session.settings.cores == 1 {
            self.session.dropped(self.core, self.loc, self.bytes().unsigned_abs());
        }
    }
}

/// The run-time part of a view's address.
#[derive(Clone)]
pub enum Moves {
    /// Registers or one-element tensors, with the elements that one step of each means.
    Scalar(SmallVec<[(Mover, i64); 1]>),
    /// An index per row.
    Vector {
        /// Indices.
        index: Py<NkiTensor>,
        /// Elements per row.
        coef: i64,
        /// Rows of the table.
        rows: i64,
    },
    /// Gather along the free dimension.
    Indirect {
        /// Indices.
        index: Py<NkiTensor>,
        /// Elements of the row that is indexed.
        row: i64,
    },
}

/// What moves a scalar offset.
#[derive(Clone)]
pub enum Mover {
    /// A register.
    Register(Py<VirtualRegister>),
    /// A tensor of one element, read when the instruction that uses the view runs.
    Tensor(Py<NkiTensor>),
}

/// A tensor of NKI: a view of storage.
#[pyclass(frozen, subclass, weakref, module = "nki.language")]
pub struct NkiTensor {
    /// Storage.
    pub storage: Arc<Storage>,
    /// Element type of the view.
    pub dt: Dt,
    /// First element, in elements of `dt`.
    pub offset: i64,
    /// Dimensions, in elements of `dt`.
    pub dims: Dims,
    /// Run-time part of the address.
    pub moves: Option<Box<Moves>>,
}

impl NkiTensor {
    /// A view of a whole storage.
    pub fn whole(storage: Arc<Storage>, dt: Dt) -> NkiTensor {
        let mut dims: Dims = storage.shape.iter().map(|n| (1, *n)).collect();
        let mut step = 1;
        for d in dims.iter_mut().rev() {
            d.0 = step;
            step *= d.1;
        }
        NkiTensor { storage, dt, offset: 0, dims, moves: None }
    }

    /// A view of the same storage.
    pub fn with(&self, offset: i64, dims: Dims) -> NkiTensor {
        NkiTensor { storage: self.storage.clone(), dt: self.dt, offset, dims, moves: self.moves.clone() }
    }

    /// SBUF or PSUM.
    pub fn on_chip(&self) -> bool {
        self.storage.region.on_chip()
    }

    /// Elements of all dimensions.
    pub fn len(&self) -> i64 {
        self.dims.iter().map(|d| d.1).product()
    }

    /// Partitions.
    pub fn partitions(&self) -> i64 {
        self.dims.first().map_or(1, |d| d.1)
    }

    /// Elements per partition.
    pub fn free(&self) -> i64 {
        self.dims.iter().skip(1).map(|d| d.1).product()
    }

    /// Elements from one partition of the storage to the next.
    pub fn row(&self) -> i64 {
        self.storage.row_bytes() / self.dt.size()
    }

    /// First partition of the view.
    pub fn start_partition(&self) -> i64 {
        let row = self.row();
        if row == 0 { 0 } else { self.offset / row }
    }

    /// The shape as text.
    pub fn shape_text(&self) -> String {
        let list: Vec<String> = self.dims.iter().map(|d| d.1.to_string()).collect();
        match list.as_slice() {
            [one] => format!("({one},)"),
            many => format!("({})", many.join(", ")),
        }
    }

    /// Size of the machine and name, for messages: `sbuf (trn2)`.
    pub fn where_text(&self) -> String {
        format!("{} ({})", self.storage.region.name(), self.storage.session.settings.target)
    }

    /// The access pattern as the engine takes it. A tensor that moves the view is loaded into a register first.
    pub fn access(&self, py: Python<'_>, core: u32, source: u32) -> PyResult<Access> {
        let dynamic = match self.moves.as_deref() {
            None => None,
            Some(Moves::Scalar(terms)) => {
                let mut list = SmallVec::new();
                for (mover, coef) in terms {
                    let reg = match mover {
                        Mover::Register(r) => r.get().id(),
                        Mover::Tensor(t) => load(py, t.get(), core, source)?,
                    };
                    list.push((reg, *coef));
                }
                Some(Box::new(Dynamic::Scalar(list)))
            }
            Some(Moves::Vector { index, coef, rows }) => Some(Box::new(Dynamic::Vector {
                index: index.get().access(py, core, source)?,
                coef: *coef,
                rows: *rows,
            })),
            Some(Moves::Indirect { .. }) => {
                return Err(invalid(py, "an indirect view is an operand of tensor_copy only; copy it to a tile first"));
            }
        };
        Ok(Access {
            loc: self.storage.loc,
            dtype: self.storage.session.stored(self.dt.bir()),
            offset: self.offset,
            dims: self.dims.clone(),
            dynamic,
        })
    }

    /// The bits of elements can be taken as another type.
    pub fn bits(&self, py: Python<'_>, dt: Dt) -> PyResult<()> {
        let kept = |d: Dt| self.storage.session.stored(d.bir()) == d.bir();
        if dt.bir() == self.dt.bir() || (kept(dt) && kept(self.dt)) {
            return Ok(());
        }
        Err(invalid(
            py,
            format!(
                "a tensor of {} cannot be taken as {}: NKI_PRECISE_FP=0 keeps low-precision floats in float32, whose bits are others",
                self.dt.name(),
                dt.name()
            ),
        ))
    }

    fn check_dim(&self, py: Python<'_>, method: &str, dim: i64) -> PyResult<usize> {
        let rank = self.dims.len() as i64;
        let at = if dim < 0 { dim + rank } else { dim };
        if (0..rank).contains(&at) {
            return Ok(at as usize);
        }
        Err(out_of_range(py, format!("{method}: dimension {dim} of a tensor of shape {}", self.shape_text())))
    }

    fn keep_partition(&self, py: Python<'_>, method: &str, dim: usize) -> PyResult<()> {
        if self.on_chip() && dim == 0 {
            return Err(invalid(
                py,
                format!("{method}: the partition dimension of a tensor in {} stays where it is", self.where_text()),
            ));
        }
        Ok(())
    }

    /// Loses no dimension below what tensors of the memory have.
    fn settled(&self, mut dims: Dims) -> Dims {
        let least = if self.on_chip() { 2 } else { 1 };
        while dims.len() < least {
            dims.push((1, 1));
        }
        dims
    }
}

/// Reads one element into a fresh register.
pub fn load(py: Python<'_>, t: &NkiTensor, core: u32, source: u32) -> PyResult<u32> {
    if t.len() != 1 {
        return Err(invalid(
            py,
            format!("a scalar offset is a tensor of one element, not of shape {}", t.shape_text()),
        ));
    }
    let session = &t.storage.session;
    let reg = session.register(core);
    let mut op = Op::new(Opcode::TensorLoad, Engine::All);
    op.ins.push(Opnd::Access(t.access(py, core, source)?));
    op.outs.push(Opnd::Reg(reg));
    op.source = source;
    session.append(py, core, op)?;
    Ok(reg)
}

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
        let d = self.check_dim(py, "slice", dim)?;
        let (stride, count) = self.dims[d];
        if start < 0 || end > count || start >= end || step < 1 {
            return Err(out_of_range(
                py,
                format!("slice: {start}:{end}:{step} of dimension {d} of a tensor of shape {}", self.shape_text()),
            ));
        }
        let mut dims = self.dims.clone();
        dims[d] = (stride * step, (end - start + step - 1) / step);
        Ok(self.with(self.offset + start * stride, dims))
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
        let order = match dims.len() {
            1 => ints(&dims.get_item(0)?)?,
            _ => ints(dims.as_any())?,
        };
        let mut seen = vec![false; self.dims.len()];
        let mut out = Dims::new();
        for (k, d) in order.iter().enumerate() {
            let at = self.check_dim(py, "permute", *d)?;
            if std::mem::replace(&mut seen[at], true) {
                return Err(invalid(py, format!("permute: dimension {d} is named twice in {order:?}")));
            }
            if k == 0 && at != 0 {
                self.keep_partition(py, "permute", 0)?;
            }
            out.push(self.dims[at]);
        }
        if out.len() != self.dims.len() {
            let text = format!("permute: {order:?} names not every dimension of shape {}", self.shape_text());
            return Err(invalid(py, text));
        }
        Ok(self.with(self.offset, out))
    }

    fn broadcast(&self, py: Python<'_>, dim: i64, size: i64) -> PyResult<NkiTensor> {
        let d = self.check_dim(py, "broadcast", dim)?;
        self.keep_partition(py, "broadcast", d)?;
        if self.dims[d].1 != 1 {
            let text = format!("broadcast: dimension {d} of shape {} has not the size 1", self.shape_text());
            return Err(invalid(py, text));
        }
        let mut dims = self.dims.clone();
        dims[d] = (0, size);
        Ok(self.with(self.offset, dims))
    }

    fn expand_dim(&self, py: Python<'_>, dim: i64) -> PyResult<NkiTensor> {
        let rank = self.dims.len() as i64;
        let at = if dim < 0 { dim + rank + 1 } else { dim };
        if !(0..=rank).contains(&at) {
            let text = format!("expand_dim: dimension {dim} of a tensor of shape {}", self.shape_text());
            return Err(out_of_range(py, text));
        }
        self.keep_partition(py, "expand_dim", at as usize)?;
        let mut dims = self.dims.clone();
        let step = dims.get(at as usize).map_or(1, |d| d.0 * d.1);
        dims.insert(at as usize, (step, 1));
        Ok(self.with(self.offset, dims))
    }

    fn squeeze_dim(&self, py: Python<'_>, dim: i64) -> PyResult<NkiTensor> {
        let d = self.check_dim(py, "squeeze_dim", dim)?;
        self.keep_partition(py, "squeeze_dim", d)?;
        if self.dims[d].1 != 1 {
            let text = format!("squeeze_dim: dimension {d} of shape {} has not the size 1", self.shape_text());
            return Err(invalid(py, text));
        }
        let mut dims = self.dims.clone();
        dims.remove(d);
        let dims = self.settled(dims);
        Ok(self.with(self.offset, dims))
    }

    fn reshape_dim(&self, py: Python<'_>, dim: i64, shape: &Bound<'_, PyAny>) -> PyResult<NkiTensor> {
        let d = self.check_dim(py, "reshape_dim", dim)?;
        self.keep_partition(py, "reshape_dim", d)?;
        let mut shape = ints(shape)?;
        fill_unknown(py, &mut shape, self.dims[d].1)?;
        let mut step = self.dims[d].0;
        let mut new = Dims::new();
        for n in shape.iter().rev() {
            new.insert(0, (step, *n));
            step *= n;
        }
        let mut dims = self.dims.clone();
        dims.remove(d);
        dims.insert_many(d, new);
        Ok(self.with(self.offset, dims))
    }

    #[pyo3(signature = (start, end))]
    fn flatten_dims(&self, py: Python<'_>, start: i64, end: i64) -> PyResult<NkiTensor> {
        let (a, b) = (self.check_dim(py, "flatten_dims", start)?, self.check_dim(py, "flatten_dims", end)?);
        if a < b {
            self.keep_partition(py, "flatten_dims", a)?;
        }
        let (lo, hi) = (a.min(b), a.max(b));
        let count: i64 = self.dims[lo..=hi].iter().map(|d| d.1).product();
        let flat = reshaped(&self.dims[lo..=hi], &[count]).ok_or_else(|| {
            let text =
                format!("flatten_dims: dimensions {lo} to {hi} of shape {} are not contiguous", self.shape_text());
            invalid(py, text)
        })?;
        let mut dims: Dims = self.dims[..lo].iter().copied().collect();
        dims.extend(flat);
        dims.extend(self.dims[hi + 1..].iter().copied());
        Ok(self.with(self.offset, dims))
    }

    #[pyo3(signature = (*shape, dtype=None, name=None))]
    fn reshape(
        &self,
        py: Python<'_>,
        shape: &Bound<'_, PyTuple>,
        dtype: Option<&Bound<'_, PyAny>>,
        name: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<NkiTensor> {
        let _ = name;
        let mut new = match shape.len() {
            1 => ints(&shape.get_item(0)?)?,
            _ => ints(shape.as_any())?,
        };
        fill_unknown(py, &mut new, self.len())?;
        let text = || format!("({})", new.iter().map(i64::to_string).collect::<Vec<_>>().join(", "));
        let bad = |why: &str| invalid(py, format!("reshape: {} to {}: {why}", self.shape_text(), text()));
        let dims = if self.on_chip() && !self.dims.is_empty() {
            if new.first() != Some(&self.dims[0].1) {
                return Err(bad(&format!("the partition dimension of a tensor in {} stays first", self.where_text())));
            }
            let mut dims: Dims = SmallVec::from_slice(&self.dims[..1]);
            dims.extend(reshaped(&self.dims[1..], &new[1..]).ok_or_else(|| bad("the view is not contiguous"))?);
            dims
        } else {
            reshaped(&self.dims, &new).ok_or_else(|| bad("the view is not contiguous"))?
        };
        let view = self.with(self.offset, dims);
        match dtype {
            Some(d) if !d.is_none() => view.view(py, d, None),
            _ => Ok(view),
        }
    }

    #[pyo3(signature = (dtype, shape=None))]
    fn view(&self, py: Python<'_>, dtype: &Bound<'_, PyAny>, shape: Option<&Bound<'_, PyAny>>) -> PyResult<NkiTensor> {
        let dt = Dt::of(dtype)?;
        self.bits(py, dt)?;
        let (old, new) = (self.dt.size(), dt.size());
        let mut dims = self.dims.clone();
        let bad = || {
            let text = format!(
                "view: a tensor of shape {} and type {} cannot be taken as {}",
                self.shape_text(),
                self.dt.name(),
                dt.name()
            );
            invalid(py, text)
        };
        let rank = dims.len();
        let mut offset = self.offset;
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
        let mut out = self.with(offset, dims);
        out.dt = dt;
        if new != old {
            out.moves = out.moves.map(|m| Box::new(rescaled(*m, old, new)));
        }
        match shape {
            Some(s) if !s.is_none() => out.reshape(py, &PyTuple::new(py, [s])?, None, None),
            _ => Ok(out),
        }
    }

    fn reinterpret_cast(&self, py: Python<'_>, dtype: &Bound<'_, PyAny>) -> PyResult<NkiTensor> {
        self.view(py, dtype, None)
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

/// One dimension of -1 takes what is left; the counts must agree.
fn fill_unknown(py: Python<'_>, shape: &mut SmallVec<[i64; 5]>, count: i64) -> PyResult<()> {
    let known: i64 = shape.iter().filter(|n| **n != -1).product();
    if shape.iter().filter(|n| **n == -1).count() == 1 && known > 0 && count % known == 0 {
        shape.iter_mut().filter(|n| **n == -1).for_each(|n| *n = count / known);
    }
    if shape.iter().product::<i64>() != count || shape.iter().any(|n| *n < 0) {
        return Err(invalid(py, format!("reshape: {count} elements do not fill the shape {shape:?}")));
    }
    Ok(())
}

/// The moves of a view taken for elements of another size.
pub fn rescaled(m: Moves, old: i64, new: i64) -> Moves {
    match m {
        Moves::Scalar(mut terms) => {
            terms.iter_mut().for_each(|t| t.1 = t.1 * old / new);
            Moves::Scalar(terms)
        }
        Moves::Vector { index, coef, rows } => Moves::Vector { index, coef: coef * old / new, rows },
        other => other,
    }
}
