//! Reader: a streaming pass that builds the module, then a pass that resolves references.

mod context;
mod expr;
mod field;
mod instruction;
mod locate;
mod module;
mod operand;
mod scalar;
mod storage;
mod sync;

use crate::{Module, validate};
use birsim_kernels::Result;
use context::Context;
use serde::de::DeserializeSeed;

/// Reads a BIR-JSON document and resolves its references.
pub fn read(bytes: &[u8]) -> Result<Module> {
    let module = parse(bytes)?;
    validate::resolve(&module)?;
    Ok(module)
}

/// Builds the module without looking at what its names refer to: for conversion and inspection of incomplete modules.
pub fn parse(bytes: &[u8]) -> Result<Module> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let context = Context::default();
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let parsed = module::Document(&context).deserialize(&mut deserializer).and_then(|m| deserializer.end().map(|()| m));
    parsed.map_err(|e| context.into_error(e, bytes))
}
