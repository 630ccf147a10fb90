//! PE transpose: a product with an identity, done as a move so that NaN and Inf survive.

use super::{Matmult, Product, check_sizes};
use crate::access::{CHUNK, Src};
use crate::{Code, Error, Result};

/// out\[f\]\[p\] = data\[p\]\[f\], where the partner of the data operand is an identity matrix.
///
/// The array moves either operand this way, so both role conventions are served; with two matrices that are no
/// identity the tile arithmetic is not published (ruling D50).
pub(super) fn transpose(p: &Matmult, ifmap: &Src, weights: &Src, out: &mut Product) -> Result<()> {
    let data = if is_identity(weights) {
        ifmap
    } else if is_identity(ifmap) {
        weights
    } else {
        return Err(Error::new(Code::U002, "is_transpose with two general matrices is not published")
            .advice("make one operand the identity, or clear is_transpose"));
    };
    let (rows, cols) = (data.lane_len(), data.lanes());
    check_sizes(p, cols, rows, cols)?;
    out.shape(rows, cols);
    let (values, ..) = out.parts();
    let mut buf = [0.0f32; CHUNK];
    for lane in 0..cols {
        data.read_f32(lane, 0, &mut buf[..rows]);
        for (f, v) in buf[..rows].iter().enumerate() {
            values[f * cols + lane] = *v;
        }
    }
    Ok(())
}

fn is_identity(s: &Src) -> bool {
    let n = s.lanes();
    if s.lane_len() != n || n > 128 {
        return false;
    }
    let mut row = [0.0f32; 128];
    (0..n).all(|lane| {
        s.read_f32(lane, 0, &mut row[..n]);
        row[..n].iter().enumerate().all(|(i, v)| *v == if i == lane { 1.0 } else { 0.0 })
    })
}
