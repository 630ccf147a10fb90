//! `birsim validate`: everything that can be said without inputs.

use crate::args::Validate;
use crate::program::{self, Source};
use crate::term::{Term, print};
use crate::usage;
use birsim_engine::{Cores, Simulator};
use birsim_kernels::{Error, Result};
use birsim_klr::LowerOptions;

/// Reads, resolves and compiles the program; 0 when nothing is wrong.
pub fn run(args: &Validate, term: &Term) -> Result<i32> {
    let source = Source::read(&args.program)?;
    let options = LowerOptions {
        arch: args.target.map(|t| t.arch()),
        accept_abstract: args.accept_abstract,
        ..LowerOptions::default()
    };
    let loaded = match program::load(&source, &options) {
        Ok(loaded) => loaded,
        Err(errors) => return Ok(report(errors, &source.name, term)),
    };
    for module in &loaded.modules {
        if let Err(errors) = birsim_engine::ir::validate::validate(module) {
            return Ok(report(errors, &source.name, term));
        }
    }
    let mut builder = Simulator::builder().threads(1);
    if let Some(target) = args.target {
        builder = builder.target(target);
    }
    let sim = Cores::load(&builder, &loaded.modules)?;
    let mut text = String::new();
    loaded.notes.iter().for_each(|n| text.push_str(&format!("note: {n}\n")));
    let instructions = loaded.modules.iter().flat_map(usage::instructions).count();
    text.push_str(&format!("{}: valid, {instructions} instructions, {} tensors\n", source.name, sim.tensors().len()));
    print(&text);
    Ok(0)
}

/// Prints every error; the gravest decides the exit code.
fn report(mut errors: Vec<Error>, file: &str, term: &Term) -> i32 {
    program::gravest_last(&mut errors);
    let code = errors.last().map_or(0, |e| e.class().exit_code());
    for e in errors {
        term.error(&e.at(|p| p.file = Some(file.to_string())));
    }
    code
}
