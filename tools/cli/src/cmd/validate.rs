//! `birsim validate`: everything that can be said without inputs.

use crate::args::Validate;
use crate::program::{self, Source};
use crate::term::{Term, print};
use crate::usage;
use birsim_engine::Simulator;
use birsim_kernels::{Class, Error, Result};

/// Reads, resolves and compiles the program; 0 when nothing is wrong.
pub fn run(args: &Validate, term: &Term) -> Result<i32> {
    let source = Source::read(&args.program)?;
    let loaded = program::load(&source)?;
    if let Err(errors) = birsim_engine::ir::validate::validate(&loaded.module) {
        return Ok(report(errors, &source.name, term));
    }
    let mut builder = Simulator::builder().threads(1);
    if let Some(target) = args.target {
        builder = builder.target(target);
    }
    let mut sim = builder.build()?;
    sim.load(&loaded.module)?;
    let mut text = String::new();
    loaded.notes.iter().for_each(|n| text.push_str(&format!("note: {n}\n")));
    let instructions = usage::instructions(&loaded.module).count();
    text.push_str(&format!("{}: valid, {instructions} instructions, {} tensors\n", source.name, sim.tensors().len()));
    print(&text);
    Ok(0)
}

/// Prints every error. The gravest class decides the exit code: damaged input before faults, faults before gaps of birsim.
fn report(errors: Vec<Error>, file: &str, term: &Term) -> i32 {
    let gravity =
        |c: Class| [Class::Bug, Class::Invalid, Class::Fault, Class::Unsupported].iter().position(|k| *k == c);
    let worst = errors.iter().map(Error::class).min_by_key(|c| gravity(*c));
    for e in errors {
        term.error(&e.at(|p| p.file = Some(file.to_string())));
    }
    worst.map_or(0, Class::exit_code)
}
