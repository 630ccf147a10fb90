//! Tensors: views of storage whose methods are arithmetic on (step, count) pairs.

mod methods;
mod moves;
mod shape;
mod storage;
mod views;

pub use moves::{Mover, Moves, load, rescaled};
pub use shape::{ints, reshaped};
pub use storage::Storage;

use crate::dtype::Dt;
use crate::errors::{invalid, out_of_range};
use crate::op::{Access, Dims, Dynamic};
use pyo3::prelude::*;
use smallvec::SmallVec;
use std::sync::Arc;

/// A view of storage.
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
