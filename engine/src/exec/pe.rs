//! The PE array: Matmult and its write to PSUM (`matmul-mx.md` 2, 3).

use super::Cx;
use super::Want::{In, Out};
use crate::ir::opcodes::pe::field as f;
use crate::ir::{MatmultPerfMode, MemoryType};
use crate::memory::accumulate::{MacMode, clear, write_product};
use crate::target::PSUM_BANK_BYTES;
use crate::world::{AccumShadow, Diagnostic, Remark};
use crate::{Code, Error, Result};
use birsim_kernels::Dtype;
use birsim_kernels::access::{Pair, Pattern};
use birsim_kernels::matmul::{self, Matmult, PeLimits};
use birsim_kernels::mx;
use birsim_kernels::profile::{OneZeroHints, PsumClear, PsumIdle};

bind! {
    Matmult => matmult,
    MatmultSparse => matmult_sparse,
    MatmultMx => matmult_mx,
    QuantizeMx => quantize_mx,
}

/// Accumulation flag bits (`matmul-mx.md` 3.1).
const START: i64 = 1;
const ACCUMULATE: i64 = 4;

/// Matmult (8).
pub fn matmult(cx: &mut Cx) -> Result<()> {
    let p = shared_fields(cx)?;
    let mode = mac_mode(cx, f::Matmult::accumulation_flag)?;
    let mut product = std::mem::take(&mut cx.m.scratch.product);
    let done = cx
        .open(&[In(0), In(1)])
        .and_then(|io| matmul::matmult(&p, &io.ins.src(0)?, &io.ins.src(1)?, &mut product, io.profile));
    let done = done.and_then(|()| store(cx, mode, product.rows(), product.cols(), product.values()));
    cx.m.scratch.product = product;
    done
}

/// Fields that the matmul family shares. They have the same order in every row of the family.
fn shared_fields(cx: &Cx) -> Result<Matmult> {
    let hints = [f::Matmult::is_fmap_onezero, f::Matmult::is_weight_onezero];
    if cx.profile().matmul_one_zero == OneZeroHints::Refuse {
        for hint in hints {
            if cx.flag(hint)? {
                return Err(Error::new(Code::U002, "the meaning of the one-zero hints of a matmul is not published"));
            }
        }
    }
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
    if cx.inst.auto_accumulate {
        // The function leaves it to the machine: the first write of an element copies, later ones add.
        return Ok(MacMode::Accumulate);
    }
    Ok(match flag {
        f if f & START != 0 => MacMode::Start,
        f if f & ACCUMULATE != 0 => MacMode::Accumulate,
        _ if cx.profile().psum_idle == PsumIdle::Add => MacMode::Accumulate,
        _ => MacMode::Overwrite,
    })
}

/// Writes a finished product to its PSUM destination.
pub(super) fn store(cx: &mut Cx, mode: MacMode, rows: usize, cols: usize, values: &[f32]) -> Result<()> {
    let arena = cx.out_arena(0)?;
    let psum = cx.out_memory(0)? == MemoryType::Psum;
    // START clears before the first product lands.
    if mode == MacMode::Start && psum {
        clear_region(cx, f::Matmult::psum_zero_region)?;
    }
    let mut io = cx.open(&[Out(0)])?;
    let mut dst = io.outs.dst(0)?;
    if dst.lanes() != rows || dst.lane_len() != cols {
        return Err(Error::new(Code::S002, "the destination of a matmul has M partitions of N elements")
            .received(format!("{} x {} for a product of {rows} x {cols}", dst.lanes(), dst.lane_len()))
            .operand("outs[0]"));
    }
    if !psum {
        return Err(Error::new(Code::S008, "a matmul writes to PSUM").operand("outs[0]"));
    }
    let Some(marks) = io.accums.get_mut(arena).and_then(|a| a.0.as_mut()) else {
        return Err(Error::new(Code::B001, "a PSUM arena has no accumulate shadow"));
    };
    let fresh = write_product(&mut dst, marks, mode, values, io.profile)?;
    drop(io);
    if let (Some((lo, hi)), false) = (fresh, cx.inst.auto_accumulate) {
        note_fresh(cx, lo, hi)?;
    }
    Ok(())
}

/// Accumulating into PSUM that holds no group is a copy in the reference; it is often a forgotten START (`faults.md`, fault 21).
#[cold]
fn note_fresh(cx: &mut Cx, lo: usize, hi: usize) -> Result<()> {
    let Some(loc) = cx.location(cx.n_ins())? else { return Ok(()) };
    let (place, meta) = (&cx.m.places[loc as usize].0, &cx.m.program.locations[loc as usize]);
    let column = (lo as u64).saturating_sub(place.start) % place.row_stride.max(1);
    let inside = place.bank_offset + column;
    let bank = match place.row_stride == place.row_bytes {
        true => meta.addr / PSUM_BANK_BYTES + inside / PSUM_BANK_BYTES,
        false => (place.start % place.row_stride + column) / PSUM_BANK_BYTES,
    };
    let at = inside % PSUM_BANK_BYTES;
    let message = format!(
        "{} accumulates into {} where no matmul has written: bank {bank}, bytes {at}..{}; the product is written as it is",
        cx.m.program.name_of(cx.inst),
        meta.name,
        at + (hi - lo) as u64
    );
    let tensor = meta.name.to_string();
    cx.m.findings.note(Diagnostic::note(Remark::AccumulateUnwritten, message).at(cx.payload).of(tensor));
    Ok(())
}

/// Clears the whole banks that a group head names: 2^region banks from the one the output starts in (rulings D17, D40).
fn clear_region(cx: &mut Cx, field: usize) -> Result<()> {
    let region = cx.int_opt(field)?.unwrap_or(0);
    if region == 0 && cx.profile().psum_clear == PsumClear::Elements {
        return Ok(());
    }
    let banks = u32::try_from(region).ok().and_then(|r| 1u64.checked_shl(r)).filter(|b| *b <= 8).ok_or_else(|| {
        Error::new(Code::J011, "PSUM has eight banks, so a zero region is 2^0 to 2^3 of them")
            .received(region)
            .operand("psum_zero_region")
    })?;
    let Some((loc, pattern)) = cx.location_and_pattern(cx.n_ins())? else { return Ok(()) };
    let place = cx.m.places[loc as usize].0.clone();
    let (lanes, stride) = (pattern.lanes() as u32, place.row_stride);
    if pattern.is_empty() || stride == 0 {
        return Ok(());
    }
    let arena = place.arena as usize;
    let first = pattern.byte_of(0, 0) as u64;
    let (row, column) = (first / stride * stride, first % stride);
    // Symbolic memory holds the location alone: its rows start somewhere inside a bank.
    let ahead = if stride == place.row_bytes { place.bank_offset } else { 0 };
    let from = (column + ahead) / PSUM_BANK_BYTES * PSUM_BANK_BYTES;
    let to = (from + banks * PSUM_BANK_BYTES).saturating_sub(ahead).min(stride);
    let from = from.saturating_sub(ahead);
    let pairs = [Pair { stride: stride as i64, num: lanes }, Pair { stride: 1, num: (to - from) as u32 }];
    let whole = Pattern::new(Dtype::Uint8, (row + from) as i64, &pairs)?;
    if let (mut dst, Some(AccumShadow(Some(marks)))) = cx.open_region(arena, &whole)? {
        clear(&mut dst, marks);
    }
    Ok(())
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
    let p = shared_fields(cx)?;
    let mode = mac_mode(cx, f::MatmultMx::accumulation_flag)?;
    let mut product = std::mem::take(&mut cx.m.scratch.product);
    let done = cx.open(&[In(0), In(1), In(2), In(3)]).and_then(|io| {
        let (ifmap, weights) = (io.ins.src(0)?, io.ins.src(1)?);
        mx::matmult_mx(&p, &ifmap, &weights, &io.ins.src(2)?, &io.ins.src(3)?, &mut product)
    });
    let done = done.and_then(|()| store(cx, mode, product.rows(), product.cols(), product.values()));
    cx.m.scratch.product = product;
    done
}

/// MatmultSparse (9): refused by the kernel, which names what is missing (ruling D50).
pub fn matmult_sparse(cx: &mut Cx) -> Result<()> {
    let io = cx.open(&[In(0), In(1), In(2)])?;
    matmul::matmult_sparse(&io.ins.src(0)?, &io.ins.src(1)?, &io.ins.src(2)?)
}

/// QuantizeMx (96).
pub fn quantize_mx(cx: &mut Cx) -> Result<()> {
    cx.with_both_outputs(&[In(0)], |ins, data, scales, profile| {
        mx::quantize_mx(&mx::QuantizeMx, &ins.src(0)?, data, scales, profile)
    })
}
