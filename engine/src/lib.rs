//! The simulated machine.
//!
//! [`ir`] is a BIR module in memory, [`mod@format`] its JSON form. The machine itself is an ECS world: see
//! `ARCHITECTURE.md` in this folder.

pub mod format;
pub mod ir;

pub use birsim_kernels::{Class, Code, Error, Place, Result};
