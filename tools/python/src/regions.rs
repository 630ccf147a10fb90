//! The Python objects of the memories.

use crate::op::Region;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString};

static OBJECTS: PyOnceLock<Py<PyDict>> = PyOnceLock::new();

/// Takes over the Python objects of the memories, by name.
#[pyfunction]
pub fn register_regions(py: Python<'_>, objects: &Bound<'_, PyDict>) {
    let _ = OBJECTS.set(py, objects.clone().unbind());
}

/// The Python object of a memory.
pub fn object(py: Python<'_>, r: Region) -> PyResult<Bound<'_, PyAny>> {
    let found = OBJECTS.get(py).map(|d| d.bind(py).get_item(r.name())).transpose()?.flatten();
    Ok(found.unwrap_or_else(|| PyString::new(py, r.name()).into_any()))
}
