//! KLR ("Kernel Language Representation") front end: typed tree, reader, writer, listing and lowering to BIR.
//!
//! A file is read with [`read`], printed with [`inspect()`], and written in the head `lnc` layout with
//! [`write()`]. Byte layout: `klr.md`.

#[macro_use]
mod codec;
pub mod ast;
mod expand;
mod inspect;
pub mod lower;
mod read;
mod write;

pub use expand::expand;
pub use inspect::inspect;
pub use lower::{LowerOptions, Lowered, lower};
pub use read::read;
pub use write::write;
