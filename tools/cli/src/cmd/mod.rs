//! One file per command.

pub mod compare;
pub mod explain;
pub mod ops;
