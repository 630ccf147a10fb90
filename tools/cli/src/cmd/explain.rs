//! `birsim explain`: what an error code means and how to fix it.

use crate::args::Explain;
use crate::term::print;
use birsim_kernels::{Code, Error, Result};

/// Prints one code, or the registry.
pub fn run(args: &Explain) -> Result<i32> {
    let Some(text) = &args.code else {
        let lines: String =
            Code::ALL.iter().map(|c| format!("{c}  {:<11}  {}\n", c.class().word(), c.title())).collect();
        print(&lines)?;
        return Ok(0);
    };
    let code = Code::parse(text).ok_or_else(|| {
        Error::new(Code::F008, "there is no such error code")
            .received(format!("'{text}'"))
            .advice("list the codes with `birsim explain`")
    })?;
    let class = code.class();
    let meaning = match class {
        birsim_kernels::Class::Invalid => "the program, a file or the command line is at fault",
        birsim_kernels::Class::Fault => "the simulated program broke a rule while it ran",
        birsim_kernels::Class::Unsupported => "birsim does not model this",
        birsim_kernels::Class::Bug => "birsim itself is at fault",
    };
    print(&format!(
        "{code}: {}\n  class: {} (exit code {}): {meaning}\n  rule:  {}\n  help:  {}\n",
        code.title(),
        class.word(),
        class.exit_code(),
        code.rule(),
        code.advice(),
    ))?;
    Ok(0)
}
