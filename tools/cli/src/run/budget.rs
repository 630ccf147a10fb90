//! `--max-memory` and the tensor files of a run: what they take is known before the first byte is read.

use crate::args::Run;
use crate::tensors::{Decl, Plan, resolve, with_npy};
use birsim_engine::{Held, Limits};
use birsim_kernels::{Code, Error, Result};

/// Refuses a run whose inputs, outputs, goldens and dumps alone need more than the limit. Memory for goldens and dumps is
/// set aside until the end of the run; inputs and outputs are counted when the machine takes memory for them.
pub fn check(args: &Run, limits: &Limits, decls: &[Decl], inputs: &Plan, goldens: &Plan) -> Result<Option<Held>> {
    let Some(limit) = args.max_memory else { return Ok(None) };
    let sum = |list: &mut dyn Iterator<Item = u64>| list.fold(0u64, u64::saturating_add);
    let bound = decls.iter().zip(&inputs.origins).filter(|(_, o)| o.is_some());
    let inputs = sum(&mut bound.map(|(d, _)| d.bytes()));
    let outputs = sum(&mut decls.iter().filter(|d| d.kind.is_output()).map(Decl::bytes));
    let mut files = Vec::new();
    for origin in goldens.origins.iter().flatten() {
        files.push(with_npy(origin, |npy| Ok(npy.header().bytes))?);
    }
    let goldens = sum(&mut files.into_iter());
    let dumped = args.dump.iter().filter_map(|d| resolve(decls, &d.tensor).ok());
    let dumps = sum(&mut dumped.map(|i| decls[i].bytes()));
    let total = sum(&mut [inputs, outputs, goldens, dumps].into_iter());
    if total <= limit {
        return limits.hold(goldens.saturating_add(dumps)).map(Some);
    }
    Err(Error::new(Code::S009, "the tensor files of the run need more than --max-memory allows").received(format!(
        "{total} bytes (inputs {inputs}, outputs {outputs}, goldens {goldens}, dumps {dumps}), the limit is {limit}"
    )))
}
