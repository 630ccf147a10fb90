//! QuantizeMx (96): one shared exponent per block of 8 partitions x 4 elements, then a narrowing that saturates.

use super::{BLOCK, check_scales, scale_slot};
use crate::access::{CHUNK, Dst, Src, for_pieces};
use crate::cast::{self, Fp8Config};
use crate::{Code, Dtype, Error, Profile, Result, halt};

/// Containers handled per step: eight partitions of four values each stay in the L1 cache.
const STEP: usize = CHUNK / 8;

/// Fields of a QuantizeMx: none of its own; the choices come from the profile.
#[derive(Clone, Copy, Debug, Default)]
pub struct QuantizeMx;

/// QuantizeMx (96). `data` receives x4 containers, `scales` one byte per container in the rows of the block layout;
/// all other scale rows stay as they are.
pub fn quantize_mx<'a>(
    _: &QuantizeMx,
    src: &Src,
    data: &'a mut Dst,
    scales: &'a mut Dst,
    profile: &Profile,
) -> Result<()> {
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
    let splits = data.pattern().lanes_disjoint() && scales.pattern().lanes_disjoint();
    // The scales of later rows are in later lanes, so both tensors can be split at a row.
    let cut = |(data, scales): (Dst<'a>, Dst<'a>), row: usize| {
        let (data, scales) = (data.split_at(row * BLOCK), scales.split_at(scale_slot(row)));
        ((data.0, scales.0), (data.1, scales.1))
    };
    let (dtype, whole) = (data.dtype(), (data.reborrow(), scales.reborrow()));
    for_pieces(whole, lanes / BLOCK, src.len(), splits, cut, |(data, scales), mut rows| {
        rows.try_for_each(|row| {
            let mut values = [[0.0f32; 4 * STEP]; BLOCK];
            for start in (0..containers).step_by(STEP) {
                halt::check()?;
                let n = STEP.min(containers - start);
                for (lane, v) in values.iter_mut().enumerate() {
                    src.read_f32(row * BLOCK + lane, 4 * start, &mut v[..4 * n]);
                }
                let shared = exponents(&values, bias, floor);
                scales.with_bytes_out(scale_slot(row), start, n, |b| b.copy_from_slice(&shared[..n]));
                for (lane, v) in values.iter_mut().enumerate() {
                    for (v, e) in v.as_chunks_mut::<4>().0.iter_mut().zip(shared).take(n) {
                        let factor = f32::from_bits((254 - u32::from(e)) << 23);
                        v.iter_mut().for_each(|v| *v *= factor);
                    }
                    data.with_bytes_out(row * BLOCK + lane, start, n, |b| {
                        cast::encode_f32(dtype, Fp8Config::QUANTIZE, &v[..4 * n], b);
                    });
                }
            }
            Ok(())
        })
    })
}

/// E8M0 bytes of all containers: the largest biased exponent of their 32 values, less `bias`, at least `floor`.
#[inline]
fn exponents(values: &[[f32; 4 * STEP]; BLOCK], bias: u32, floor: u32) -> [u8; STEP] {
    // Without signs, the largest bit pattern has the largest exponent.
    let mut top = [0u32; 4 * STEP];
    for v in values {
        for (t, v) in top.iter_mut().zip(v) {
            *t = (*t).max(v.to_bits() & 0x7FFF_FFFF);
        }
    }
    let mut out = [0u8; STEP];
    for (o, t) in out.iter_mut().zip(top.as_chunks::<4>().0) {
        let exponent = t[0].max(t[1]).max(t[2].max(t[3])) >> 23;
        *o = exponent.saturating_sub(bias).max(floor) as u8;
    }
    out
}
