//! `birsim compare`: the golden check alone.

use crate::args::Compare;
use crate::golden::{self, Tensor};
use crate::npy;
use crate::term::print;
use birsim_kernels::profile::ToleranceUnit;
use birsim_kernels::{Named, Result};

/// Compares two files; 0 when they match, 1 when they differ.
pub fn run(args: &Compare) -> Result<i32> {
    let got = npy::open(&args.got)?;
    let want = npy::open(&args.want)?;
    // Without a program, the files themselves have to say what their bits mean; one that knows speaks for both.
    let dtype = match npy::dtype_of(&args.got, got.header().element, args.dtype) {
        Ok(d) => d,
        Err(e) => npy::dtype_of(&args.want, want.header().element, args.dtype).map_err(|_| e)?,
    };
    let shape = got.header().shape.clone();
    let bytes = got.into_bytes()?;
    let tolerance = golden::tolerance(&args.tolerance, ToleranceUnit::Percent);
    let outcome =
        golden::check(Tensor { dtype, shape: &shape, bytes: &bytes }, want, &tolerance, args.tolerance.flatten)?;
    let name = args.got.display();
    print(&format!(
        "{name}: {} {}, {} ({})\n",
        dtype.name(),
        npy::shape_text(&shape),
        outcome.text(),
        golden::tolerance_text(&tolerance)
    ))?;
    if outcome.equal() {
        return Ok(0);
    }
    if let Some(bars) = outcome.histogram() {
        print(&bars)?;
    }
    Ok(1)
}
