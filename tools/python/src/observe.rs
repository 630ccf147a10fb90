//! Values of tensors and registers while a kernel is traced.

use crate::errors::invalid;
use crate::tensor::NkiTensor;
use crate::trace::Session;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;

/// The bytes of a tensor's storage, once everything before has run.
pub fn bytes<'py>(py: Python<'py>, t: &NkiTensor) -> PyResult<Bound<'py, PyBytes>> {
    let session = &t.storage.session;
    if session.whole {
        return Err(invalid(py, "the value of a tensor is not known while a whole program is traced"));
    }
    let (core, loc) = (t.storage.core, t.storage.loc);
    session.catch_up(py, core)?;
    let data = session.with_engine(py, move |engine| engine.read(core, loc))?;
    Ok(PyBytes::new(py, &data))
}

/// The value of a register, once everything before has run.
pub fn register(py: Python<'_>, session: &Arc<Session>, core: u32, id: u32) -> PyResult<i64> {
    session.catch_up(py, core)?;
    session.with_engine(py, move |engine| engine.register(core, id))
}
