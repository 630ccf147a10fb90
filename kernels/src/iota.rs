//! Affine index values: Iota (61), TensorScalarAffineSelect (62).

use crate::access::{CHUNK, Dst, Imm, Src, chunks};
use crate::alu::{AluOp, CompareOp, compare_op, compare_to_zero};
use crate::cast::{self};
use crate::isa::per_isa;
use crate::movement::{castable, each_lane, merge, read_exactly, repeat, same_shape, scalar_as};
use crate::profile::IotaOrder;
use crate::{Code, Dtype, Error, Profile, Result};
use arrayvec::ArrayVec;

/// Largest number of dimensions of an affine pattern.
const MAX_DIMS: usize = 8;

/// base + sum of step * index + channel_multiplier * lane, modulo 2^32.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Affine<'a> {
    /// Value of the first element.
    pub base: i64,
    /// (step, num) pairs, outermost first: the free dimensions, or all dimensions with the partition first.
    pub pattern: &'a [(i64, u32)],
    /// Added once per lane, counted from the first lane of the pattern (ruling D24).
    pub channel_multiplier: i64,
}

/// The affine value prepared for a destination shape.
struct Walk {
    base: i32,
    /// Steps modulo 2^32. Sums are exact modulo 2^32 because every operation wraps.
    dims: ArrayVec<(i32, usize), MAX_DIMS>,
    channel: i32,
    /// The pattern spans all lanes: a lane starts at lane * lane_len of the walk.
    whole: bool,
    lane_len: usize,
}

impl Walk {
    fn new(p: &Affine, lanes: usize, lane_len: usize, profile: &Profile) -> Result<Self> {
        if p.pattern.len() > MAX_DIMS {
            return Err(Error::new(Code::J008, "an affine pattern has at most eight pairs").received(p.pattern.len()));
        }
        let count: u128 = p.pattern.iter().fold(1u128, |a, (_, n)| a.saturating_mul(u128::from(*n)));
        let whole = count != lane_len as u128;
        if whole && count != (lanes as u128) * (lane_len as u128) {
            return Err(Error::new(Code::S002, "the affine pattern and the result differ in their number of elements")
                .received(format!("{count} values for {lanes} x {lane_len} elements")));
        }
        let mut pattern: ArrayVec<(i64, u32), MAX_DIMS> = p.pattern.iter().copied().collect();
        // The innermost three dimensions are Z, Y and X.
        if profile.iota_order == IotaOrder::Wyzx && pattern.len() >= 3 {
            let n = pattern.len();
            pattern.swap(n - 3, n - 2);
        }
        Ok(Walk {
            base: p.base as i32,
            dims: pattern.iter().filter(|(_, n)| *n != 1).map(|(s, n)| (*s as i32, *n as usize)).collect(),
            channel: p.channel_multiplier as i32,
            whole,
            lane_len,
        })
    }

    /// Values `start..` of a lane, row-major, last pair fastest (ruling D32).
    fn fill(&self, lane: usize, start: usize, out: &mut [i32]) {
        let lane_term = self.base.wrapping_add(self.channel.wrapping_mul(lane as i32));
        let first = if self.whole { lane * self.lane_len + start } else { start };
        let Some(((step, row), outer)) = self.dims.split_last() else {
            out.fill(lane_term);
            return;
        };
        let (mut at, mut done) = (first, 0);
        while done < out.len() {
            let (col, mut rest) = (at % row, at / row);
            let mut value = lane_term.wrapping_add(step.wrapping_mul(col as i32));
            for (s, n) in outer.iter().rev() {
                value = value.wrapping_add(s.wrapping_mul((rest % n) as i32));
                rest /= n;
            }
            let count = (row - col).min(out.len() - done);
            ramp(value, *step, &mut out[done..done + count]);
            done += count;
            at += count;
        }
    }
}

/// Writes the affine value of every element: an int32, then cast to the destination (`alu.md` 6.11).
pub fn iota(p: &Affine, dst: &mut Dst, profile: &Profile) -> Result<()> {
    castable(Dtype::Int32, dst.dtype(), profile)?;
    let walk = Walk::new(p, dst.lanes(), dst.lane_len(), profile)?;
    each_lane(dst, dst.len(), |dst, lane, [values, hub]| {
        chunks(dst.lane_len(), |start, n| {
            let values = bytemuck::cast_slice_mut(values.bytes(n, Dtype::Int32));
            if dst.dtype() == Dtype::Int32 {
                dst.with_bytes_out(lane, start, n, |bytes| match bytemuck::try_cast_slice_mut(bytes) {
                    Ok(out) => walk.fill(lane, start, out),
                    Err(_) => {
                        walk.fill(lane, start, values);
                        bytes.copy_from_slice(bytemuck::cast_slice(values));
                    }
                });
                return Ok(());
            }
            walk.fill(lane, start, values);
            let hub: &mut [f32] = bytemuck::cast_slice_mut(hub.bytes(n, Dtype::Float32));
            cast::decode_f32(Dtype::Int32, bytemuck::cast_slice(values), hub);
            dst.write_f32(lane, start, hub, profile.fp8());
            Ok(())
        })
    })
}

/// Fields of TensorScalarAffineSelect.
#[derive(Clone, Debug)]
pub struct AffineSelect<'a> {
    /// The value that is compared with zero.
    pub value: Affine<'a>,
    /// Comparison of the int map: is_equal to is_le.
    pub compare_op: AluOp,
    /// Written where the comparison fails.
    pub fill_value: f32,
}

/// out = (affine value compare_op 0) ? in : fill_value. Equal dtypes keep their bits; integers never pass through float32.
pub fn affine_select(p: &AffineSelect, src: &Src, dst: &mut Dst, profile: &Profile) -> Result<()> {
    same_shape("ins[0]", src, dst)?;
    castable(src.dtype(), dst.dtype(), profile)?;
    let compare = comparison("TensorScalarAffineSelect", p.compare_op)?;
    let walk = Walk::new(&p.value, dst.lanes(), dst.lane_len(), profile)?;
    let (dtype, cfg) = (dst.dtype(), profile.fp8());
    let fill = scalar_as(Imm::f32(p.fill_value), dtype, profile)?;
    let fill = &fill[..dtype.size()];
    each_lane(dst, dst.len(), |dst, lane, [values, input, result]| {
        let mut keep = [false; CHUNK];
        chunks(dst.lane_len(), |start, n| {
            let values = bytemuck::cast_slice_mut(values.bytes(n, Dtype::Int32));
            walk.fill(lane, start, values);
            compare_to_zero(compare, values, &mut keep[..n]);
            let input = input.bytes(n, dtype);
            read_exactly(src, lane, start, dtype, cfg, input);
            let result = result.bytes(n, dtype);
            repeat(fill, result);
            merge(dtype.size(), &keep[..n], input, result);
            dst.scatter(lane, start, result);
            Ok(())
        })
    })
}

per_isa! {
    /// value, value + step, value + 2 step ..
    fn ramp(value: i32, step: i32, out: &mut [i32]) {
        for (k, o) in out.iter_mut().enumerate() {
            *o = value.wrapping_add(step.wrapping_mul(k as i32));
        }
    }
}

/// Looks up the comparison that `instruction` names.
pub(crate) fn comparison(instruction: &str, op: AluOp) -> Result<CompareOp> {
    compare_op(op).map_err(|_| {
        Error::new(Code::S006, format!("{instruction} compares with is_equal, not_equal, is_gt, is_ge, is_lt or is_le"))
            .received(op)
    })
}
