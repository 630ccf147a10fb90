//! Read-modify-write in memory (`numerics.md` 5).

use super::{BLOCK, Fp8Config, decode_f32, encode_f32};
use crate::alu::AluOp;
use crate::{Code, Dtype, Error, Result};

crate::named_enum! {
    /// How a write combines with what is stored.
    MemoryReductionOp {
        Copy = 0, "copy";
        Add = 1, "add";
        Min = 2, "min";
        Max = 3, "max";
    }
}

impl MemoryReductionOp {
    /// The reduction that an ALU op selects: only bypass and add select one.
    pub fn from_alu(op: AluOp) -> Result<Self> {
        match op {
            AluOp::Bypass => Ok(MemoryReductionOp::Copy),
            AluOp::Add => Ok(MemoryReductionOp::Add),
            _ => Err(Error::new(Code::S006, format!("no memory reduction implements the ALU op {op} (1465)"))
                .advice("accumulating writes know bypass and add")),
        }
    }
}

/// The SSE maximum: the first operand only when it is greater, else the second. A NaN or a tie gives the second.
#[inline(always)]
pub fn sse_max(first: f32, second: f32) -> f32 {
    if first > second { first } else { second }
}

/// The SSE minimum: the first operand only when it is smaller, else the second. A NaN or a tie gives the second.
#[inline(always)]
pub fn sse_min(first: f32, second: f32) -> f32 {
    if first < second { first } else { second }
}

/// The maximum of IEEE 754-2019 that ignores NaN, like C `fmaxf`; +0 is greater than -0.
#[inline(always)]
pub fn ieee_max(a: f32, b: f32) -> f32 {
    if a.is_nan() {
        b
    } else if a == b {
        // Equal values differ in the sign of zero at most.
        f32::from_bits(a.to_bits() & b.to_bits())
    } else if a > b || b.is_nan() {
        a
    } else {
        b
    }
}

/// The minimum of IEEE 754-2019 that ignores NaN, like C `fminf`; -0 is smaller than +0.
#[inline(always)]
pub fn ieee_min(a: f32, b: f32) -> f32 {
    -ieee_max(-a, -b)
}

/// Combines the elements of `src` into `dst`, both of `dtype`, element by element.
///
/// The source is the first operand and the destination the second. Integers wrap; floats are one float32 operation
/// narrowed with the FP8 flags off. Twelve dtypes can only be copied.
pub fn accumulate(op: MemoryReductionOp, dtype: Dtype, dst: &mut [u8], src: &[u8]) -> Result<()> {
    if dst.len() != src.len() {
        return Err(Error::new(Code::S002, "an accumulating write needs as many source as destination elements")
            .received(format!("{} and {} bytes", src.len(), dst.len())));
    }
    if op == MemoryReductionOp::Copy {
        dst.copy_from_slice(src);
        return Ok(());
    }
    match dtype {
        Dtype::Int32 => {
            let get = i32::from_le_bytes;
            match op {
                MemoryReductionOp::Min => each(dst, src, |s, d| get(s).min(get(d)).to_le_bytes()),
                MemoryReductionOp::Max => each(dst, src, |s, d| get(s).max(get(d)).to_le_bytes()),
                _ => each(dst, src, |s, d| get(s).wrapping_add(get(d)).to_le_bytes()),
            }
        }
        Dtype::Int64 => {
            let get = i64::from_le_bytes;
            match op {
                MemoryReductionOp::Min => each(dst, src, |s, d| get(s).min(get(d)).to_le_bytes()),
                MemoryReductionOp::Max => each(dst, src, |s, d| get(s).max(get(d)).to_le_bytes()),
                _ => each(dst, src, |s, d| get(s).wrapping_add(get(d)).to_le_bytes()),
            }
        }
        _ if dtype.is_reducible() => match op {
            MemoryReductionOp::Min => floats(dtype, dst, src, sse_min),
            MemoryReductionOp::Max => floats(dtype, dst, src, sse_max),
            _ => floats(dtype, dst, src, |s, d| s + d),
        },
        _ => {
            return Err(Error::new(Code::S007, format!("cast_accumulate: unsupported dtype {dtype}"))
                .advice("accumulate in float8e3, float8e4, float8e5, bfloat16, float16, int32, float32 or int64"));
        }
    }
    Ok(())
}

#[inline(always)]
fn each<const N: usize>(dst: &mut [u8], src: &[u8], f: impl Fn([u8; N], [u8; N]) -> [u8; N]) {
    for (d, s) in dst.as_chunks_mut::<N>().0.iter_mut().zip(src.as_chunks::<N>().0) {
        *d = f(*s, *d);
    }
}

#[inline(always)]
fn floats(dtype: Dtype, dst: &mut [u8], src: &[u8], f: impl Fn(f32, f32) -> f32) {
    let (mut a, mut b) = ([0f32; BLOCK], [0f32; BLOCK]);
    let step = BLOCK * dtype.size();
    for (s, d) in src.chunks(step).zip(dst.chunks_mut(step)) {
        let n = s.len() / dtype.size();
        decode_f32(dtype, s, &mut a[..n]);
        decode_f32(dtype, d, &mut b[..n]);
        for (x, y) in a[..n].iter_mut().zip(&b[..n]) {
            *x = f(*x, *y);
        }
        encode_f32(dtype, Fp8Config::ACCUMULATE, &a[..n], d);
    }
}
