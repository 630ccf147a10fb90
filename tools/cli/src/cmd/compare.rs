//! `birsim compare`: the golden check alone, of two tensor files or of two archives member by member.

use crate::args::Compare;
use crate::golden::{self, Tensor};
use crate::npy::{self, Archive};
use crate::tensors::{Origin, is_archive, origin_text, with_npy};
use crate::term::print;
use birsim_kernels::profile::ToleranceUnit;
use birsim_kernels::{Code, Error, Named, Result};
use std::collections::BTreeSet;
use std::path::Path;

/// Compares two files; 0 when they match, 1 when they differ.
pub fn run(args: &Compare) -> Result<i32> {
    let pairs = match (is_archive(&args.got), is_archive(&args.want)) {
        (true, true) => return archives(args),
        (false, false) => (Origin::of(&args.got, ""), Origin::of(&args.want, "")),
        (archive, _) => {
            let (archive, other) = if archive { (&args.got, &args.want) } else { (&args.want, &args.got) };
            return Err(Error::new(Code::F008, "an archive cannot be compared with a single tensor")
                .received(format!("{} and {}", archive.display(), other.display()))
                .advice(format!("name a member: {}[NAME]", archive.display())));
        }
    };
    Ok(i32::from(!one(args, &pairs.0, &pairs.1)?))
}

/// Every member of either archive; what only one of them has is a difference.
fn archives(args: &Compare) -> Result<i32> {
    let names = |path: &Path| Archive::open(path).map(|a| a.names().into_iter().collect::<BTreeSet<String>>());
    let (got, want) = (names(&args.got)?, names(&args.want)?);
    let mut equal = true;
    for name in got.union(&want) {
        let of = |path: &Path| Origin::Member(path.to_path_buf(), name.clone());
        equal &= match (got.contains(name), want.contains(name)) {
            (true, true) => one(args, &of(&args.got), &of(&args.want))?,
            (left, _) => {
                let only = if left { &args.got } else { &args.want };
                print(&format!("{name}: only in {}\n", only.display()))?;
                false
            }
        };
    }
    if got.is_empty() && want.is_empty() {
        return Err(Error::new(Code::F003, "neither archive has an array").received(args.got.display()));
    }
    Ok(i32::from(!equal))
}

fn one(args: &Compare, got: &Origin, want: &Origin) -> Result<bool> {
    let (a, b) = (origin_text(got), origin_text(want));
    // Without a program, the files themselves have to say what their bits mean; the type of one serves for both.
    let element = |origin: &Origin| with_npy(origin, |npy| Ok(npy.header().element));
    let dtype = match npy::dtype_of(Path::new(&a), element(got)?, args.dtype) {
        Ok(d) => d,
        Err(e) => npy::dtype_of(Path::new(&b), element(want)?, args.dtype).map_err(|_| e)?,
    };
    let (shape, bytes) = with_npy(got, |npy| {
        let shape = npy.header().shape.clone();
        Ok((shape, npy.into_bytes()?))
    })?;
    let tolerance = golden::tolerance(&args.tolerance, ToleranceUnit::Percent);
    let tensor = Tensor { dtype, shape: &shape, bytes: &bytes };
    let outcome = with_npy(want, |npy| golden::check(tensor, npy, &tolerance, &args.tolerance))?;
    print(&format!(
        "{a}: {} {}, {} ({})\n",
        dtype.name(),
        npy::shape_text(&shape),
        outcome.text(),
        golden::tolerance_text(&tolerance)
    ))?;
    if let Some(bars) = outcome.histogram().filter(|_| !outcome.equal()) {
        print(&bars)?;
    }
    Ok(outcome.equal())
}
