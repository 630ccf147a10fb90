//! One file per command.

pub mod compare;
pub mod convert;
pub mod explain;
pub mod inspect;
mod opcode;
pub mod ops;
pub mod validate;
