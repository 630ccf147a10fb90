//! Values of tensors and registers while a kernel is traced.

use crate::errors::invalid;
use crate::op::{Access, Op, Opnd, Region, Role};
use crate::tensor::NkiTensor;
use crate::trace::Session;
use birsim_engine::ir::{Engine, Opcode};
use birsim_kernels::Dtype;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use smallvec::SmallVec;
use std::sync::Arc;

/// The bytes of a tensor's storage, once everything before has run.
pub fn bytes<'py>(py: Python<'py>, t: &NkiTensor) -> PyResult<Bound<'py, PyBytes>> {
    let session = &t.storage.session;
    if session.whole {
        return Err(invalid(py, "the value of a tensor is not known while a whole program is traced"));
    }
    let (core, loc) = (t.storage.core, t.storage.loc);
    session.flush(py, core)?;
    let data = session.with_engine(py, move |engine, _| engine.read(core, loc))?;
    Ok(PyBytes::new(py, &data))
}

/// The value of a register, once everything before has run.
pub fn register(py: Python<'_>, session: &Arc<Session>, core: u32, id: u32) -> PyResult<i64> {
    let shape = SmallVec::from_slice(&[1, 1]);
    let cell = session.declare(core, "", shape, Dtype::Int32, Region::PrivateHbm, Role::Internal);
    let mut op = Op::new(Opcode::TensorSave, Engine::All);
    op.ins.push(Opnd::Reg(id));
    let dims = [(1, 1), (1, 1)].into_iter().collect();
    op.outs.push(Opnd::Access(Access { loc: cell.loc, dtype: Dtype::Int32, offset: 0, dims, dynamic: None }));
    session.append(py, core, op)?;
    session.flush(py, core)?;
    let loc = cell.loc;
    let data = session.with_engine(py, move |engine, _| engine.read(core, loc))?;
    let raw: [u8; 4] = data.get(..4).and_then(|b| b.try_into().ok()).unwrap_or_default();
    Ok(i64::from(i32::from_le_bytes(raw)))
}
