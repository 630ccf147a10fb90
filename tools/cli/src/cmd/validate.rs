//! `birsim validate`: everything that can be said without inputs.

use crate::args::Validate;
use crate::program::{self, Source};
use crate::term::print;
use crate::usage;
use birsim_engine::Simulator;
use birsim_kernels::Result;

/// Reads, resolves and compiles the program; 0 when nothing is wrong.
pub fn run(args: &Validate) -> Result<i32> {
    let source = Source::read(&args.program)?;
    let loaded = program::load(&source)?;
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
