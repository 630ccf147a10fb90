//! After the run: outputs are written and checked.

use super::folder::OutputFolder;
use super::report::{OutputRecord, Record};
use crate::args::{Run, ToleranceArgs};
use crate::batch::key;
use crate::golden::{self, Tensor};
use crate::interrupt;
use crate::npy::write_tensor;
use crate::tensors::{self, Decl, Plan, with_npy};
use birsim_engine::{Cores, Limits};
use birsim_kernels::compare::Tolerance;
use birsim_kernels::{Code, Dtype, Error, Profile, Result, cast};
use std::borrow::Cow;

/// Writes every output, when there is a folder for them, and checks those that have goldens; what differs is noted in the record, not an error.
pub fn outputs(
    args: &Run,
    profile: &Profile,
    (sim, limits): (&Cores, &Limits),
    decls: &[Decl],
    goldens: &Plan,
    folder: Option<&OutputFolder<'_>>,
    record: &mut Record,
) -> Result<()> {
    let tolerance = golden::tolerance(&args.tolerance, profile.tolerance_unit);
    // Everything is read before anything is written, so that a failure does not leave half of the results.
    let mut results = Vec::new();
    for (decl, golden) in decls.iter().zip(&goldens.origins).filter(|(d, _)| d.kind.is_output()) {
        let bytes = sim.output_rank(decl.rank.unwrap_or(0), &decl.name)?;
        let copied = if matches!(bytes, Cow::Owned(_)) { bytes.len() as u64 } else { 0 };
        results.push((decl, golden, bytes, limits.hold(copied)?));
    }
    if let Some(folder) = folder {
        folder.keep();
    }
    for (decl, _, bytes, _) in &results {
        let out = decl.folder(&args.out);
        let write = || {
            // Only ranks have folders of their own in the folder of the outputs.
            decl.rank.map_or(Ok(()), |_| OutputFolder::within(&out))?;
            write_tensor(&out, &decl.name, decl.dtype, &decl.shape, bytes, profile.meta_names)
        };
        let file = folder.map(|_| write()).transpose()?;
        record.outputs.push(OutputRecord {
            name: decl.name.clone(),
            rank: decl.rank,
            dtype: decl.dtype,
            shape: decl.shape.clone(),
            file,
            hash: record.hashes.then(|| key::hash(bytes)),
            golden: None,
        });
    }
    record.tolerance = golden::tolerance_text(&tolerance);
    for (k, (decl, golden, bytes, _)) in results.iter().enumerate() {
        if args.check_nan {
            check_nan(decl, bytes)?;
        }
        let Some(origin) = golden else { continue };
        let _reading = interrupt::unattended("while goldens were compared");
        let outcome = check(decl, bytes, origin, &tolerance, &args.tolerance)?;
        record.outputs[k].golden = Some(outcome);
    }
    record.ignore_mismatch = args.ignore_mismatch;
    Ok(())
}

fn check(
    decl: &Decl,
    bytes: &[u8],
    origin: &tensors::Origin,
    tolerance: &Tolerance,
    args: &ToleranceArgs,
) -> Result<golden::Outcome> {
    let got = Tensor { dtype: decl.dtype, shape: &decl.shape, bytes };
    with_npy(origin, |npy| golden::check(got, npy, tolerance, args))
        .map_err(|e| e.at(|p| (p.tensor, p.rank) = (Some(decl.name.clone()), decl.rank.map(|r| r as u32))))
}

/// The reference's sanity check of outputs (`klr.md` 9.1).
fn check_nan(decl: &Decl, bytes: &[u8]) -> Result<()> {
    if decl.dtype.is_integer() || decl.dtype == Dtype::Float8E8m0fnu {
        return Ok(());
    }
    let (size, lanes) = (decl.dtype.size(), decl.dtype.lanes());
    let mut values = [0f32; 1024];
    for (k, piece) in bytes.chunks(values.len() / lanes * size).enumerate() {
        let values = &mut values[..piece.len() / size * lanes];
        cast::decode_f32(decl.dtype, piece, values);
        if let Some(at) = values.iter().position(|v| !v.is_finite()) {
            let flat = k * (1024 / lanes) + at / lanes;
            return Err(Error::new(Code::S017, format!("output {} holds a NaN or an infinity", decl.name))
                .received(format!("{} at element {flat}", values[at]))
                .advice("run without --check-nan to see the output, or look for the instruction that makes it")
                .at(|p| (p.tensor, p.rank) = (Some(decl.name.clone()), decl.rank.map(|r| r as u32))));
        }
    }
    Ok(())
}
