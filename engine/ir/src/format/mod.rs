//! BIR-JSON: the on-disk form of a module (`bir-json.md`).
//!
//! [`parse`] builds a module from text; [`read`] also resolves every reference; [`write()`] makes normalised text.

mod read;
mod write;

pub use read::{parse, read};
pub use write::write;
