//! Instructions that the documented simulator skips leave their outputs as they were.

use super::report::Record;
use crate::args::Run;
use crate::usage;
use birsim_engine::ir::Module;
use birsim_kernels::{Code, Error, Result};

/// A result that lacks skipped instructions is no result, unless the goldens say that it is right or the command line
/// says that skipping is meant.
pub fn verdict(args: &Run, modules: &[Module], record: &Record) -> Result<()> {
    let with_outputs = |name: &str| {
        let mut all = modules.iter().flat_map(usage::instructions);
        all.any(|i| i.opcode.name() == name && !i.outs.is_empty())
    };
    let skipped: Vec<_> = record.skipped().iter().filter(|(name, _)| with_outputs(name)).collect();
    let checked =
        !record.outputs.is_empty() && record.outputs.iter().all(|o| o.golden.as_ref().is_some_and(|g| g.equal()));
    if skipped.is_empty() || checked || args.unsupported.is_some() {
        return Ok(());
    }
    let count: u64 = skipped.iter().map(|(_, n)| n).sum();
    let list: Vec<String> = skipped.iter().map(|(name, n)| format!("{name} {n}")).collect();
    let list = list.join(", ");
    let what = match count {
        1 => format!("1 instruction with outputs was skipped ({list})"),
        n => format!("{n} instructions with outputs were skipped ({list})"),
    };
    Err(Error::new(Code::U001, what)
        .advice("give a golden for every output, or --unsupported skip to take the results as they are"))
}
