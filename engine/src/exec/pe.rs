//! The PE array: Matmult and its write to PSUM (`matmul-mx.md` 2, 3).

use super::Cx;
use crate::ir::opcodes::pe::field as f;
use crate::ir::{MatmultPerfMode, MemoryType};
use crate::memory::accumulate::{MacMode, write_product};
use crate::{Code, Error, Result};
use birsim_kernels::matmul::{self, Matmult, PeLimits};
use birsim_kernels::mx;

/// Accumulation flag bits (`matmul-mx.md` 3.1).
const START: i64 = 1;
const ACCUMULATE: i64 = 4;

/// Matmult (8).
pub fn matmult(cx: &mut Cx) -> Result<()> {
    let (ifmap, weights) = (cx.src(0)?, cx.src(1)?);
    let p = shared_fields(cx)?;
    let mode = mac_mode(cx, f::Matmult::accumulation_flag)?;
    let mut product = std::mem::take(&mut cx.m.run.product);
    let done = matmul::matmult(&p, &ifmap, &weights, &mut product, cx.profile());
    let done = done.and_then(|()| store(cx, mode, product.rows(), product.cols(), product.values()));
    cx.m.run.product = product;
    done
}

/// Fields that the matmul family shares; they stand in the same order in every row of it.
fn shared_fields(cx: &Cx) -> Result<Matmult> {
    let out = cx.out_dtype(0)?;
    let level = u32::from(cx.m.settings.target.arch() as u8);
    Ok(Matmult {
        limits: PeLimits::of(level, out),
        level,
        ifmap_zero: zero_point(cx, f::Matmult::ifmap_quant_offset)?,
        weights_zero: zero_point(cx, f::Matmult::weights_quant_offset)?,
        perf_mode: cx.named::<MatmultPerfMode>(f::Matmult::perf_mode)?,
        is_transpose: cx.flag(f::Matmult::is_transpose)?,
        replication: [
            small(cx, f::Matmult::replication_resolution)?,
            small(cx, f::Matmult::replication_shift_amnt)?,
            small(cx, f::Matmult::replication_num_rows)?,
        ],
        tile_size: pair(cx, f::Matmult::tile_size)?,
        tile_position: pair(cx, f::Matmult::tile_position)?,
        fma: cx.profile().matmul_fma,
    })
}

/// Reads the flag byte. START clears the addressed elements (ruling D40), neither flag overwrites.
pub(super) fn mac_mode(cx: &Cx, field: usize) -> Result<MacMode> {
    let flag = cx.int(field)?;
    if !matches!(flag, 0..=4 | 6) {
        return Err(Error::new(Code::S008, "the accumulation flag is one of 0, 1, 2, 3, 4, 6")
            .received(flag)
            .operand("accumulation_flag"));
    }
    Ok(match flag {
        f if f & START != 0 => MacMode::Start,
        f if f & ACCUMULATE != 0 => MacMode::Accumulate,
        _ => MacMode::Overwrite,
    })
}

/// Writes a finished product to its PSUM destination.
pub(super) fn store(cx: &mut Cx, mode: MacMode, rows: usize, cols: usize, values: &[f32]) -> Result<()> {
    let arena = cx.out_arena(0)?;
    let profile = cx.profile();
    let psum = cx.out_memory(0)? == MemoryType::Psum;
    let dst = cx.dst(0)?;
    if dst.lanes() != rows || dst.lane_len() != cols {
        return Err(Error::new(Code::S002, "the destination of a matmul has M partitions of N elements")
            .received(format!("{} x {} for a product of {rows} x {cols}", dst.lanes(), dst.lane_len()))
            .operand("outs[0]"));
    }
    if !psum {
        return Err(Error::new(Code::S008, "a matmul writes to PSUM").operand("outs[0]"));
    }
    let Some(marks) = cx.m.accums.get_mut(arena).and_then(|a| a.0.as_mut()) else {
        return Err(Error::new(Code::B001, "a PSUM arena has no accumulate shadow"));
    };
    write_product(&dst, marks, mode, values, profile)
}

fn zero_point(cx: &Cx, field: usize) -> Result<Option<u8>> {
    match cx.int_opt(field)? {
        None | Some(0) => Ok(None),
        Some(v) => u8::try_from(v)
            .map(Some)
            .map_err(|_| Error::new(Code::J011, "a zero point is an unsigned byte").received(v)),
    }
}

fn small(cx: &Cx, field: usize) -> Result<u32> {
    let v = cx.int_opt(field)?.unwrap_or(0);
    u32::try_from(v).map_err(|_| Error::new(Code::J011, "a replication field is not negative").received(v))
}

fn pair(cx: &Cx, field: usize) -> Result<[i64; 2]> {
    cx.pair_opt(field).map(|p| p.unwrap_or([-1, -1]))
}

/// MatmultMx (95).
pub fn matmult_mx(cx: &mut Cx) -> Result<()> {
    let (ifmap, weights, ifmap_scales, weights_scales) = (cx.src(0)?, cx.src(1)?, cx.src(2)?, cx.src(3)?);
    let p = shared_fields(cx)?;
    let mode = mac_mode(cx, f::MatmultMx::accumulation_flag)?;
    let mut product = std::mem::take(&mut cx.m.run.product);
    let done = mx::matmult_mx(&p, &ifmap, &weights, &ifmap_scales, &weights_scales, &mut product);
    let done = done.and_then(|()| store(cx, mode, product.rows(), product.cols(), product.values()));
    cx.m.run.product = product;
    done
}

/// MatmultSparse (9): refused by the kernel, which names what is missing (ruling D50).
pub fn matmult_sparse(cx: &mut Cx) -> Result<()> {
    matmul::matmult_sparse(&cx.src(0)?, &cx.src(1)?, &cx.src(2)?)
}

/// QuantizeMx (96).
pub fn quantize_mx(cx: &mut Cx) -> Result<()> {
    let src = cx.src(0)?;
    let (data, scales) = (cx.dst(0)?, cx.dst(1)?);
    mx::quantize_mx(&mx::QuantizeMx, &src, &data, &scales, cx.profile())
}
