//! `birsim inspect`: what is in a program.

use crate::args::Inspect;
use crate::program::{Kind, Source};
use crate::term::print;
use birsim_engine::format;
use birsim_engine::ir::listing::{listing, listing_json};
use birsim_kernels::{Error, Result};
use serde_json::json;

/// Prints tensors, blocks, instructions, engines and the opcode histogram. References are not resolved, so that a module
/// with a dangling name can be looked at.
pub fn run(args: &Inspect) -> Result<i32> {
    let source = Source::read(&args.program)?;
    let at = |e: Error| e.at(|p| p.file = Some(source.name.clone()));
    let text = match source.kind()? {
        Kind::Klr => {
            let file = birsim_klr::read(&source.bytes).map_err(at)?;
            let listing = birsim_klr::inspect(&file);
            let json = || {
                json!({"schema": 1, "format": "klr", "version": file.version, "metadata": file.metadata,
                    "contents": file.contents.kind(), "listing": listing})
            };
            if args.json { format!("{:#}\n", json()) } else { listing }
        }
        Kind::BirJson => {
            let module = format::parse(&source.bytes).map_err(at)?;
            if args.json { format!("{:#}\n", listing_json(&module)) } else { listing(&module) }
        }
    };
    print(&text)?;
    Ok(0)
}
