//! Views whose place is known at run time only.

use super::NkiTensor;
use crate::errors::invalid;
use crate::op::{Op, Opnd};
use crate::register::VirtualRegister;
use birsim_engine::ir::{Engine, Opcode};
use pyo3::prelude::*;
use smallvec::SmallVec;

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
