//! Scalar registers of a kernel.

use crate::errors::invalid;
use crate::op::{Op, Opnd};
use crate::trace::Session;
use birsim_engine::ir::{Engine, Opcode};
use birsim_kernels::Dtype;
use pyo3::exceptions::PyAssertionError;
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// A 32-bit register.
#[pyclass(frozen, weakref, module = "nki.isa")]
pub struct VirtualRegister {
    session: Arc<Session>,
    core: u32,
    id: u32,
    /// The value is known without running anything.
    is_known: AtomicBool,
    value: AtomicI64,
    /// A loop variable: the kernel does not write it.
    frozen: bool,
}

impl VirtualRegister {
    /// A register of a core, not written yet.
    pub fn new(session: Arc<Session>, core: u32, frozen: bool) -> VirtualRegister {
        let id = session.register(core);
        VirtualRegister { session, core, id, is_known: AtomicBool::new(false), value: AtomicI64::new(0), frozen }
    }

    /// Number in the session.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The value, when it follows from what was traced.
    pub fn known(&self) -> Option<i64> {
        (self.is_known.load(Ordering::Relaxed) && !self.session.whole).then(|| self.value.load(Ordering::Relaxed))
    }

    /// Notes that the register holds a value, or that nobody knows.
    pub fn holds(&self, value: Option<i64>) {
        self.is_known.store(value.is_some(), Ordering::Relaxed);
        self.value.store(value.unwrap_or(0), Ordering::Relaxed);
    }

    /// An error for loop variables.
    pub fn writable(&self) -> PyResult<()> {
        if self.frozen {
            return Err(PyAssertionError::new_err("the variable of a loop is a frozen register: it cannot be written"));
        }
        Ok(())
    }

    /// Appends an instruction that sets the register to a number.
    pub fn set(&self, py: Python<'_>, value: i64, source: u32) -> PyResult<()> {
        let mut op = Op::new(Opcode::RegisterMove, Engine::All);
        op.ins.push(Opnd::Int(i64::from(value as i32), Dtype::Int32));
        op.outs.push(Opnd::Reg(self.id));
        op.source = source;
        self.holds(Some(i64::from(value as i32)));
        self.session.append(py, self.core, op)
    }

    fn observe(&self, py: Python<'_>) -> PyResult<i64> {
        if let Some(v) = self.known() {
            return Ok(v);
        }
        if self.session.whole {
            return Err(invalid(py, "the value of a register is not known while a whole program is traced"));
        }
        let v = crate::observe::register(py, &self.session, self.core, self.id)?;
        self.holds(Some(v));
        Ok(v)
    }
}

#[pymethods]
impl VirtualRegister {
    #[new]
    fn make(py: Python<'_>, value: i64, frozen: bool) -> PyResult<VirtualRegister> {
        let (session, core) = crate::trace::here("a register")?;
        let source = session.source(py);
        let this = VirtualRegister::new(session, core, frozen);
        this.set(py, value, source)?;
        Ok(this)
    }

    /// Number in the session, for loops.
    #[getter]
    fn _id(&self) -> u32 {
        self.id
    }

    /// The value is no longer known: an instruction writes the register.
    fn _forget(&self) {
        self.holds(None);
    }

    #[getter]
    fn _frozen(&self) -> bool {
        self.frozen
    }

    fn __int__(&self, py: Python<'_>) -> PyResult<i64> {
        self.observe(py)
    }

    fn __index__(&self, py: Python<'_>) -> PyResult<i64> {
        self.observe(py)
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.observe(py)? as f64)
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.observe(py)? != 0)
    }

    fn __richcmp__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>, op: pyo3::basic::CompareOp) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let this = slf.get();
        if other.is_none() {
            let same = matches!(op, pyo3::basic::CompareOp::Ne);
            return Ok(pyo3::types::PyBool::new(py, same).to_owned().into_any().unbind());
        }
        let b = match other.cast::<VirtualRegister>() {
            Ok(r) => r.get().observe(py)?,
            Err(_) => match other.extract::<i64>() {
                Ok(v) => v,
                Err(_) => return Ok(py.NotImplemented()),
            },
        };
        let out = op.matches(this.observe(py)?.cmp(&b));
        Ok(pyo3::types::PyBool::new(py, out).to_owned().into_any().unbind())
    }

    fn __hash__(slf: &Bound<'_, Self>) -> isize {
        slf.as_ptr() as isize
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        match self.observe(py) {
            Ok(v) => format!("VirtualRegister({v})"),
            Err(_) => format!("VirtualRegister(reg{})", self.id),
        }
    }
}
