//! Reader: a streaming pass that builds the module, then a pass that resolves references.

mod context;
mod cut;
mod expr;
mod field;
mod instruction;
mod list;
mod locate;
mod module;
mod operand;
mod raw;
mod recover;
mod scalar;
mod shown;
mod span;
mod storage;
mod sync;
mod unique;

use crate::{Module, validate};
use birsim_kernels::{Code, Error, Result};
use context::Context;
use serde::de::DeserializeSeed;
use serde_json::Deserializer;
use serde_json::de::Read;
use serde_json::value::RawValue;
use shown::shown;
use span::Text;

/// Reads a BIR-JSON document and resolves its references.
pub fn read(bytes: &[u8]) -> Result<Module> {
    let module = parse(bytes)?;
    validate::resolve(&module)?;
    Ok(module)
}

/// Builds the module without looking at what its names refer to: for conversion and inspection of incomplete modules.
pub fn parse(bytes: &[u8]) -> Result<Module> {
    parse_all(bytes, 1).map_err(|errors| errors.into_iter().next().unwrap_or_else(nothing))
}

/// As [`parse`], with the errors of all records. A text that is not JSON has one error. Long lists of instructions are read
/// by several threads.
pub fn parse_all(bytes: &[u8], threads: usize) -> Result<Module, Vec<Error>> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let context = Context::default();
    // A text that is known to be UTF-8 need not be checked again, name by name.
    let parsed = match std::str::from_utf8(bytes) {
        Ok(text) => match cut::document(text, threads) {
            Some(module) => return Ok(module),
            None => document(&context, Deserializer::from_str(text)),
        },
        Err(_) => document(&context, Deserializer::from_slice(bytes)),
    };
    parsed.map_err(|e| {
        // After a syntax error there are no records that could be checked one by one.
        let found = match e.is_data().then(|| serde_json::from_slice::<&RawValue>(bytes)) {
            Some(Ok(document)) => recover::errors(document, Text::new(bytes)),
            _ => Vec::new(),
        };
        if found.is_empty() { vec![context.into_error(&e, bytes)] } else { found }
    })
}

fn document<'de, R: Read<'de>>(cx: &Context, mut text: Deserializer<R>) -> serde_json::Result<Module> {
    let module = module::Document(cx).deserialize(&mut text)?;
    text.end().map(|()| module)
}

/// Reads a document, with so many threads, and validates it: everything that is wrong with it, each error with its line.
pub fn read_all(bytes: &[u8], threads: usize) -> Result<Module, Vec<Error>> {
    let module = parse_all(bytes, threads)?;
    validate::validate(&module).map_err(|errors| shown(errors, bytes))?;
    Ok(module)
}

/// An error for a list of errors that holds none.
fn nothing() -> Error {
    Error::new(Code::B001, "a document was refused without an error")
}
