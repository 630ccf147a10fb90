//! Reads KLR files. Driven by the schema: proof fields make the bytes ill-formed as plain CBOR.

mod file;
mod reader;

pub use file::read;
pub(crate) use reader::Reader;
