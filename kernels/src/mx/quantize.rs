//! QuantizeMx (96): one shared exponent per block of 8 partitions x 4 elements, then a narrowing that saturates.

use super::{BLOCK, check_scales, scale_slot};
use crate::access::{CHUNK, Dst, Src, for_lanes};
use crate::cast::{self, Fp8Config};
use crate::{Code, Dtype, Error, Profile, Result};

/// Containers handled per step: eight partitions of four values each stay in the L1 cache.
const STEP: usize = CHUNK / 8;

/// Fields of a QuantizeMx: none of its own; the choices come from the profile.
#[derive(Clone, Copy, Debug, Default)]
pub struct QuantizeMx;

/// QuantizeMx (96). `data` receives x4 containers, `scales` one byte per container in the rows of the block layout;
/// all other scale rows stay as they are.
pub fn quantize_mx(_: &QuantizeMx, src: &Src, data: &Dst, scales: &Dst, profile: &Profile) -> Result<()> {
    if !matches!(src.dtype(), Dtype::Bfloat16 | Dtype::Float16) {
        return Err(Error::new(Code::S007, "QuantizeMx reads bfloat16 or float16").received(src.dtype()));
    }
    let emax = match data.dtype() {
        Dtype::Float4E2m1fnX4 => 2,
        Dtype::Float8E4m3fnX4 => 8,
        Dtype::Float8E5m2X4 => 15,
        other => return Err(Error::new(Code::S007, "QuantizeMx writes an x4 dtype").received(other)),
    };
    let (lanes, containers) = (data.lanes(), data.lane_len());
    if src.lanes() != lanes || src.lane_len() != containers.saturating_mul(4) {
        return Err(Error::new(Code::S002, "QuantizeMx has four source elements per container").received(format!(
            "{} x {} and {lanes} x {containers}",
            src.lanes(),
            src.lane_len()
        )));
    }
    if !matches!(lanes, 32 | 64 | 96 | 128) {
        return Err(Error::new(Code::S008, "QuantizeMx works on 32, 64, 96 or 128 partitions").received(lanes));
    }
    check_scales("the output", lanes, containers, scales.dtype(), scales.lanes(), scales.lane_len())?;
    let bias = if profile.mx_alternative_emax { emax - 1 } else { emax };
    let floor = u32::from(profile.mx_scale_floor_one);
    let disjoint = data.pattern().lanes_disjoint() && scales.pattern().lanes_disjoint();
    for_lanes(lanes / BLOCK, src.len(), disjoint, |row| {
        let mut values = [[0.0f32; 4 * STEP]; BLOCK];
        for start in (0..containers).step_by(STEP) {
            let n = STEP.min(containers - start);
            for (lane, v) in values.iter_mut().enumerate() {
                src.read_f32(row * BLOCK + lane, 4 * start, &mut v[..4 * n]);
            }
            let shared: [u8; STEP] = std::array::from_fn(|c| if c < n { exponent(&values, c, bias, floor) } else { 0 });
            scales.with_bytes_out(scale_slot(row), start, n, |b| b.copy_from_slice(&shared[..n]));
            for (lane, v) in values.iter_mut().enumerate() {
                for (v, e) in v.as_chunks_mut::<4>().0.iter_mut().zip(shared).take(n) {
                    let factor = f32::from_bits((254 - u32::from(e)) << 23);
                    v.iter_mut().for_each(|v| *v *= factor);
                }
                data.with_bytes_out(row * BLOCK + lane, start, n, |b| {
                    cast::encode_f32(data.dtype(), Fp8Config::QUANTIZE, &v[..4 * n], b);
                });
            }
        }
        Ok(())
    })
}

/// E8M0 byte of container `c`: the largest biased exponent of its 32 values, less `bias`, at least `floor`.
#[inline]
fn exponent(values: &[[f32; 4 * STEP]; BLOCK], c: usize, bias: u32, floor: u32) -> u8 {
    let top = values.iter().flat_map(|v| &v[4 * c..4 * c + 4]).fold(0, |m, v| m.max(v.to_bits() >> 23 & 0xFF));
    top.saturating_sub(bias).max(floor) as u8
}
