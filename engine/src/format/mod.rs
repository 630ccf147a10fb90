//! BIR-JSON: the on-disk form of a module (`bir-json.md`).
//!
//! [`parse`] builds a module from text; [`read`] also resolves every reference.

mod read;

pub use read::{parse, read};
