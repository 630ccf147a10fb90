//! BIR-JSON: the on-disk form of a module (`bir-json.md`).
//!
//! [`parse`] builds a module from text; [`read`] also resolves every reference; [`read_all`] also validates, and gives all errors; [`write()`] makes normalised text.

mod read;
mod write;

pub use read::{parse, parse_all, read, read_all};
pub use write::write;
