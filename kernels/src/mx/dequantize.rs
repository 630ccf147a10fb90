//! Dequantisation: value = element * 2^(scale - 127), exact but for overflow and underflow.

use super::{BLOCK, check_scales, scale_slot};
use crate::access::{CHUNK, Src};
use crate::cast;
use crate::matmul::{Packed, pad};
use crate::{Code, Error, Result};

/// Containers handled per step.
const STEP: usize = CHUNK / 4;

/// ldexpf(x, scale - 127): exact, or rounded once where the result is subnormal. A scale of 255 is the exponent 128, not a NaN.
#[inline]
pub fn scaled(x: f32, scale: u8) -> f32 {
    let factor = f64::from_bits((u64::from(scale) + 1023 - 127) << 52);
    (f64::from(x) * factor) as f32
}

/// Values of containers `start..` of one lane, four each, at most [`CHUNK`] values. `data` and `scales` as in MatmultMx.
pub fn dequantize(data: &Src, scales: &Src, lane: usize, start: usize, out: &mut [f32]) -> Result<()> {
    let side = Side::new("data", data, scales)?;
    let n = out.len() / 4;
    if out.len() > CHUNK || !out.len().is_multiple_of(4) || lane >= data.lanes() || start + n > data.lane_len() {
        return Err(Error::new(Code::S002, "the containers are outside the data"));
    }
    side.values(lane, start, out);
    Ok(())
}

/// A packed operand with its scales.
pub(super) struct Side<'a> {
    data: &'a Src<'a>,
    scales: &'a Src<'a>,
}

impl<'a> Side<'a> {
    pub(super) fn new(name: &str, data: &'a Src<'a>, scales: &'a Src<'a>) -> Result<Self> {
        if !data.dtype().is_packed() {
            return Err(
                Error::new(Code::S007, format!("{name} of an MX instruction is an x4 dtype")).received(data.dtype())
            );
        }
        check_scales(name, data.lanes(), data.lane_len(), scales.dtype(), scales.lanes(), scales.lane_len())?;
        Ok(Side { data, scales })
    }

    fn values(&self, lane: usize, start: usize, out: &mut [f32]) {
        let n = out.len() / 4;
        self.data.with_bytes(lane, start, n, |b| cast::decode_f32(self.data.dtype(), b, out));
        self.scales.with_bytes(scale_slot(lane / BLOCK), start, n, |s| {
            for (v, s) in out.as_chunks_mut::<4>().0.iter_mut().zip(s) {
                v.iter_mut().for_each(|v| *v = scaled(*v, *s));
            }
        });
    }
}

impl Packed for Side<'_> {
    fn depth(&self) -> usize {
        4 * self.data.lanes()
    }

    fn columns(&self) -> usize {
        self.data.lane_len()
    }

    fn pack(&self, width: usize, first: usize, n: usize, out: &mut [f32]) {
        let depth = self.depth();
        pad(width, n, depth, out);
        let mut buf = [0.0f32; CHUNK];
        for lane in 0..self.data.lanes() {
            for start in (0..n).step_by(STEP) {
                let count = STEP.min(n - start);
                self.values(lane, first + start, &mut buf[..4 * count]);
                for (i, v) in buf[..4 * count].as_chunks::<4>().0.iter().enumerate() {
                    let c = start + i;
                    let base = (c / width * depth + 4 * lane) * width + c % width;
                    for (q, v) in v.iter().enumerate() {
                        out[base + q * width] = *v;
                    }
                }
            }
        }
    }
}
