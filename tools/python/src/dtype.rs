//! Element types as NKI names them, and their BIR types.

use birsim_kernels::Dtype;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString};

/// An NKI element type: an index into [`NAMES`]. Several names may share a BIR type (`bool_` is a byte).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dt(u8);

/// NKI name and BIR type.
pub const NAMES: &[(&str, Dtype)] = &[
    ("bool", Dtype::Uint8),
    ("uint8", Dtype::Uint8),
    ("int8", Dtype::Int8),
    ("uint16", Dtype::Uint16),
    ("int16", Dtype::Int16),
    ("uint32", Dtype::Uint32),
    ("int32", Dtype::Int32),
    ("uint64", Dtype::Uint64),
    ("int64", Dtype::Int64),
    ("float16", Dtype::Float16),
    ("bfloat16", Dtype::Bfloat16),
    ("float32", Dtype::Float32),
    ("tfloat32", Dtype::Float32r),
    ("float8_e3m4", Dtype::Float8e3),
    ("float8_e4m3", Dtype::Float8e4),
    ("float8_e4m3fn", Dtype::Float8E4m3fn),
    ("float8_e5m2", Dtype::Float8e5),
    ("float8_e8m0fnu", Dtype::Float8E8m0fnu),
    ("float8_e4m3fn_x4", Dtype::Float8E4m3fnX4),
    ("float8_e5m2_x4", Dtype::Float8E5m2X4),
    ("float4_e2m1fn_x4", Dtype::Float4E2m1fnX4),
];

/// Spellings of other generations, of NumPy and of the compiler.
const ALIASES: &[(&str, &str)] = &[
    ("bool_", "bool"),
    ("float8e3", "float8_e3m4"),
    ("float8e4", "float8_e4m3"),
    ("float8e5", "float8_e5m2"),
    ("float32r", "tfloat32"),
    ("fp32", "float32"),
    ("fp16", "float16"),
    ("bf16", "bfloat16"),
    ("|b1", "bool"),
    ("float", "float32"),
    ("int", "int32"),
];

/// Python objects of the types, in the order of [`NAMES`].
static OBJECTS: PyOnceLock<Vec<Py<PyAny>>> = PyOnceLock::new();

impl Dt {
    /// The type of a name.
    pub fn named(name: &str) -> Option<Dt> {
        let name = name.strip_prefix("torch.").unwrap_or(name);
        let find = |n: &str| NAMES.iter().position(|(k, _)| *k == n).map(|i| Dt(i as u8));
        find(name).or_else(|| ALIASES.iter().find(|(k, _)| *k == name).and_then(|(_, n)| find(n)))
    }

    /// The first type that is stored as a BIR type.
    pub fn of_bir(dtype: Dtype) -> Dt {
        let at = NAMES.iter().position(|(name, d)| *d == dtype && *name != "bool");
        Dt(at.unwrap_or(1) as u8)
    }

    /// The BIR type.
    pub fn bir(self) -> Dtype {
        NAMES[self.0 as usize].1
    }

    /// The NKI name.
    pub fn name(self) -> &'static str {
        NAMES[self.0 as usize].0
    }

    /// Bytes of one element.
    pub fn size(self) -> i64 {
        self.bir().size() as i64
    }

    /// An integer type.
    pub fn is_integer(self) -> bool {
        self.bir().is_integer()
    }

    /// The Python object of the type.
    pub fn object(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        if let Some(o) = OBJECTS.get(py).and_then(|l| l.get(self.0 as usize)) {
            return Ok(o.bind(py).clone());
        }
        Ok(PyString::new(py, self.name()).into_any())
    }

    /// The type that a Python object names: an NKI type, a string, a NumPy type or a torch type.
    pub fn of(ob: &Bound<'_, PyAny>) -> PyResult<Dt> {
        if let Ok(s) = ob.cast::<PyString>() {
            let s = s.to_cow()?;
            return Dt::named(&s).ok_or_else(|| unknown(&s));
        }
        let name = match ob.getattr("name") {
            Ok(n) => n.str()?,
            Err(_) => match ob.getattr("__name__") {
                Ok(n) => n.str()?,
                Err(_) => ob.str()?,
            },
        };
        let name = name.to_cow()?.into_owned();
        Dt::named(&name).ok_or_else(|| unknown(&name))
    }
}

fn unknown(name: &str) -> PyErr {
    let known: Vec<&str> = NAMES.iter().map(|(n, _)| *n).collect();
    PyTypeError::new_err(format!("{name:?} is not a data type of NKI; known are {}", known.join(", ")))
}

/// Takes over the Python objects of the types, by name.
#[pyfunction]
pub fn register_dtypes(py: Python<'_>, objects: &Bound<'_, PyDict>) -> PyResult<()> {
    let mut list = Vec::with_capacity(NAMES.len());
    for (name, _) in NAMES {
        let ob = objects.get_item(name)?;
        list.push(ob.unwrap_or_else(|| PyString::new(py, name).into_any()).unbind());
    }
    // A second registration would only happen when the module is loaded again: the first objects stay.
    let _ = OBJECTS.set(py, list);
    Ok(())
}
