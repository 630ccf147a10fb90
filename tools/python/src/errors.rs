//! Errors of the engine and of checks as Python exceptions.

use birsim_kernels::{Class, Error};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

static CLASSES: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let module = CLASSES
        .get_or_try_init(py, || -> PyResult<Py<PyAny>> { Ok(py.import("birsim.errors")?.into_any().unbind()) })?;
    module.bind(py).getattr(name)
}

/// A broken rule of NKI: `NkiValidationError`, a ValueError and an AssertionError.
#[cold]
pub fn invalid(py: Python<'_>, text: impl Into<String>) -> PyErr {
    raise(py, "NkiValidationError", text.into())
}

/// An index that leaves its tensor: as [`invalid`], and an IndexError.
#[cold]
pub fn out_of_range(py: Python<'_>, text: impl Into<String>) -> PyErr {
    raise(py, "NkiIndexError", text.into())
}

fn raise(py: Python<'_>, name: &str, text: String) -> PyErr {
    match class(py, name).and_then(|c| c.call1((text.clone(),))) {
        Ok(e) => PyErr::from_value(e),
        Err(_) => PyRuntimeError::new_err(text),
    }
}

/// An error of the engine: the command line's text, with code, place and rule as attributes. `traceback` are lines that
/// name the calls of the kernel.
#[cold]
pub fn fault(py: Python<'_>, e: &Error, source: Option<(String, u32, String)>) -> PyErr {
    let make = || -> PyResult<PyErr> {
        let name = match e.class() {
            Class::Invalid => "InvalidProgramError",
            Class::Fault => "SimulationFault",
            Class::Unsupported => "UnsupportedError",
            Class::Bug => "InternalError",
        };
        let mut text = e.to_string();
        if let Some((file, line, function)) = &source {
            text = format!("{text}\n  File \"{file}\", line {line}, in {function}");
        }
        let value = class(py, name)?.call1((text,))?;
        value.setattr("code", e.code().to_string())?;
        value.setattr("place", e.place().to_string())?;
        value.setattr("rule", e.code().rule())?;
        value.setattr("exit_code", e.class().exit_code())?;
        match source {
            Some((file, line, _)) => {
                value.setattr("filename", file)?;
                value.setattr("lineno", line)?;
            }
            None => {
                value.setattr("filename", py.None())?;
                value.setattr("lineno", py.None())?;
            }
        }
        Ok(PyErr::from_value(value))
    };
    make().unwrap_or_else(|_| PyRuntimeError::new_err(e.to_string()))
}
