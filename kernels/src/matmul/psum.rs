//! Writing a finished product: copy, or one more add in the destination's dtype (`matmul-mx.md` 3.3).

use crate::access::{CHUNK, Dst};
use crate::cast;
use crate::{Code, Dtype, Error, Profile, Result};

/// Which elements of a write were already written by the matmul family since their group began.
#[derive(Clone, Copy, Debug)]
pub enum Marks<'a> {
    /// None: every element is copied.
    None,
    /// All: every element is added.
    All,
    /// One mark per element.
    Each(&'a [bool]),
}

/// Writes elements `start..` of `lane` from float32 products, at most [`CHUNK`] of them.
///
/// A product is first cast to the destination's dtype. A marked element then becomes stored + product, one float32
/// operation narrowed again; an unmarked one becomes the product.
pub fn store_row(
    dst: &mut Dst,
    lane: usize,
    start: usize,
    values: &[f32],
    marks: Marks,
    profile: &Profile,
) -> Result<()> {
    let n = values.len();
    if n > CHUNK || lane >= dst.lanes() || start + n > dst.lane_len() {
        return Err(Error::new(Code::S002, "the product does not fit its destination")
            .received(format!("lane {lane}, elements {start}..{}", start + n)));
    }
    if let Marks::Each(m) = marks
        && m.len() != n
    {
        return Err(Error::new(Code::B001, "one mark per stored product"));
    }
    match marks {
        Marks::None => dst.write_f32(lane, start, values, profile.fp8()),
        _ if dst.dtype() == Dtype::Float32 && dst.pattern().is_contiguous() => {
            dst.with_bytes_out(lane, start, n, |b| add_f32(b, values, marks));
        }
        _ => return accumulate(dst, lane, start, values, marks, profile),
    }
    Ok(())
}

fn add_f32(bytes: &mut [u8], values: &[f32], marks: Marks) {
    let cells = bytes.as_chunks_mut::<4>().0.iter_mut().zip(values);
    match marks {
        Marks::Each(m) => {
            for ((b, v), m) in cells.zip(m) {
                let sum = v + f32::from_le_bytes(*b);
                *b = if *m { sum } else { *v }.to_le_bytes();
            }
        }
        _ => cells.for_each(|(b, v)| *b = (v + f32::from_le_bytes(*b)).to_le_bytes()),
    }
}

fn accumulate(dst: &mut Dst, lane: usize, start: usize, values: &[f32], marks: Marks, profile: &Profile) -> Result<()> {
    let size = dst.dtype().size();
    if dst.dtype().is_packed() {
        return Err(Error::new(Code::S007, "a product is not written to a packed dtype").received(dst.dtype()));
    }
    let (mut old, mut new) = ([0u64; CHUNK], [0u64; CHUNK]);
    let old = &mut bytemuck::cast_slice_mut::<u64, u8>(&mut old)[..values.len() * size];
    let new = &mut bytemuck::cast_slice_mut::<u64, u8>(&mut new)[..values.len() * size];
    dst.as_src().gather(lane, start, old);
    cast::encode_f32(dst.dtype(), profile.fp8(), values, new);
    match marks {
        Marks::Each(m) => {
            for ((o, n), m) in old.chunks_exact_mut(size).zip(new.chunks_exact(size)).zip(m) {
                if *m {
                    cast::accumulate(cast::MemoryReductionOp::Add, dst.dtype(), o, n)?;
                } else {
                    o.copy_from_slice(n);
                }
            }
        }
        _ => cast::accumulate(cast::MemoryReductionOp::Add, dst.dtype(), old, new)?,
    }
    dst.scatter(lane, start, old);
    Ok(())
}
