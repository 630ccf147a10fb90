//! NKI kernels in Python on birsim: tensors and views, and the sessions that collect instructions and run them.

mod backend;
mod dtype;
mod emit;
mod errors;
mod index;
mod isa;
mod launch;
mod module;
mod observe;
mod op;
mod regions;
mod register;
mod run;
mod source;
mod tensor;
mod trace;
mod worker;
mod x4;

use pyo3::prelude::*;

#[pymodule]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    x4::register(m.py())?;
    m.add_class::<tensor::NkiTensor>()?;
    m.add_class::<register::VirtualRegister>()?;
    m.add_class::<index::DynamicSlice>()?;
    m.add_class::<launch::Launch>()?;
    m.add_class::<run::Run>()?;
    m.add_class::<isa::Instruction>()?;
    m.add_class::<isa::NkiInstruction>()?;
    m.add_function(wrap_pyfunction!(isa::instructions, m)?)?;
    m.add_function(wrap_pyfunction!(regions::register_regions, m)?)?;
    m.add_function(wrap_pyfunction!(dtype::register_dtypes, m)?)?;
    m.add_function(wrap_pyfunction!(index::ds, m)?)?;
    m.add_function(wrap_pyfunction!(launch::ndarray, m)?)?;
    m.add_function(wrap_pyfunction!(launch::constant, m)?)?;
    m.add_function(wrap_pyfunction!(launch::tracing, m)?)?;
    m.add_function(wrap_pyfunction!(launch::whole, m)?)?;
    m.add_function(wrap_pyfunction!(trace::mark, m)?)?;
    m.add_function(wrap_pyfunction!(trace::pin, m)?)?;
    m.add_function(wrap_pyfunction!(emit::emit, m)?)?;
    m.add_function(wrap_pyfunction!(emit::open_body, m)?)?;
    m.add_function(wrap_pyfunction!(emit::close_body, m)?)?;
    m.add_function(wrap_pyfunction!(emit::drop_body, m)?)?;
    m.add_function(wrap_pyfunction!(emit::ordinals, m)?)?;
    m.add("__version__", env!("CARGO_PKG_VERSION"))
}
