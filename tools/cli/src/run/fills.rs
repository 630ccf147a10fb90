//! `--fill A,B,..`: a result that depends on memory nothing wrote changes with what that memory holds.

use super::report::Record;
use crate::args::Run;
use crate::tensors::{Decl, Plan};
use birsim_engine::ir::Module;
use birsim_engine::{Builder, Cores, Limits};
use birsim_kernels::{Code, Error, Result};

/// Runs the program with every other fill; its outputs must stay the same.
pub fn same(
    args: &Run,
    (builder, limits): (&Builder, &Limits),
    modules: &[Module],
    decls: &[Decl],
    inputs: &Plan,
    sim: &Cores,
) -> Result<()> {
    let Some((first, others)) = args.fill.split_first() else { return Ok(()) };
    let outputs: Vec<&Decl> = decls.iter().filter(|d| d.kind.is_output()).collect();
    for fill in others {
        let mut other = Cores::load(&builder.clone().fill(*fill), modules)?;
        super::bind(&mut other, limits, modules, decls, inputs, &mut Record::new(args))?;
        other.run()?;
        for decl in &outputs {
            let rank = decl.rank.unwrap_or(0);
            let (a, b) = (sim.output_rank(rank, &decl.name)?, other.output_rank(rank, &decl.name)?);
            let Some(at) = a.iter().zip(b.iter()).position(|(a, b)| a != b) else { continue };
            return Err(Error::new(Code::S017, format!("output {} depends on uninitialised memory", decl.name))
                .received(format!(
                    "byte {at} is {:#04x} over a fill of {first:#04x} and {:#04x} over {fill:#04x}",
                    a[at], b[at]
                ))
                .advice("find the read with --check uninit")
                .at(|p| p.tensor = Some(decl.name.clone())));
        }
    }
    Ok(())
}
