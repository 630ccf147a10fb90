//! The PE array: Matmult and its write to PSUM (`matmul-mx.md` 2, 3).

use super::Cx;
use super::Want::{In, Out};
use super::fields::own;
use crate::ir::MemoryType;
use crate::ir::opcodes::params;
use crate::memory::accumulate::{MacMode, all_marked, clear, write_product};
use crate::target::PSUM_BANK_BYTES;
use crate::world::{AccumShadow, Diagnostic, Draft, Remark};
use crate::{Code, Error, Result};
use birsim_kernels::access::{Pair, Pattern};
use birsim_kernels::matmul::{self, Matmult, PeLimits};
use birsim_kernels::mx;
use birsim_kernels::profile::{OneZeroHints, PsumClear, PsumIdle};
use birsim_kernels::{Dtype, Profile};

bind! {
    Matmult(prepare_matmult) => matmult,
    MatmultSparse => matmult_sparse,
    MatmultMx(prepare_matmult_mx) => matmult_mx,
    QuantizeMx => quantize_mx,
}

/// Accumulation flag bits (`matmul-mx.md` 3.1).
const START: u8 = 1;
const ACCUMULATE: u8 = 4;

/// A product and its write.
pub struct Product {
    p: Matmult,
    mode: MacMode,
    /// Banks that a group head clears; `None` when it clears the elements it writes.
    region: Option<u64>,
}

/// Prepares the product from the record of a member of the family; they share these keys.
macro_rules! product {
    ($draft:expr, $record:ident) => {{
        let draft: &Draft = $draft;
        let own = own::<params::$record>(draft)?;
        if draft.profile.matmul_one_zero == OneZeroHints::Refuse && (own.is_fmap_onezero || own.is_weight_onezero) {
            return Err(Error::new(Code::U002, "the meaning of the one-zero hints of a matmul is not published"));
        }
        let level = u32::from(draft.target.arch() as u8);
        let p = Matmult {
            limits: PeLimits::of(level, draft.out_dtype(0)?),
            level,
            ifmap_zero: Some(own.ifmap_quant_offset).filter(|z| *z != 0),
            weights_zero: Some(own.weights_quant_offset).filter(|z| *z != 0),
            perf_mode: own.perf_mode,
            is_transpose: own.is_transpose,
            replication: [own.replication_resolution, own.replication_shift_amnt, own.replication_num_rows],
            tile_size: pair(own.tile_size.as_deref(), "tile_size")?,
            tile_position: pair(own.tile_position.as_deref(), "tile_position")?,
            fma: draft.profile.matmul_fma,
        };
        let mode = mac_mode(draft, own.accumulation_flag)?;
        let region = if mode == MacMode::Start { zero_region(draft.profile, own.psum_zero_region)? } else { None };
        Ok(Product { p, mode, region })
    }};
}

fn prepare_matmult(draft: &Draft) -> Result<Product> {
    product!(draft, Matmult)
}

fn prepare_matmult_mx(draft: &Draft) -> Result<Product> {
    product!(draft, MatmultMx)
}

/// Matmult (8).
pub fn matmult(cx: &mut Cx, own: &Product) -> Result<()> {
    let mut product = std::mem::take(&mut cx.m.scratch.product);
    let done = straight(cx, own, &mut product).and_then(|done| match done {
        true => Ok(()),
        false => through_product(cx, own, &mut product),
    });
    cx.m.scratch.product = product;
    done
}

/// Computes the product, then writes it.
fn through_product(cx: &mut Cx, own: &Product, product: &mut matmul::Product) -> Result<()> {
    let io = cx.open(&[In(0), In(1)])?;
    matmul::matmult(&own.p, &io.ins.src(0)?, &io.ins.src(1)?, product, io.profile)?;
    drop(io);
    store(cx, own, product.rows(), product.cols(), product.values())
}

/// Writes the product from the registers straight into PSUM. Does nothing and returns false unless all elements are treated
/// alike and nothing else is to be cleared or noted.
fn straight(cx: &mut Cx, own: &Product, scratch: &mut matmul::Product) -> Result<bool> {
    // Errors of the product come before errors of the destination. The general way reports them in that order, so a
    // destination that cannot be opened is left to it.
    let (Ok(MemoryType::Psum), Ok(arena)) = (cx.out_memory(0), cx.out_arena(0)) else { return Ok(false) };
    if own.region.is_some() || cx.rehearses() {
        return Ok(false);
    }
    let Ok(mut io) = cx.open(&[In(0), In(1), Out(0)]) else { return Ok(false) };
    let Ok(mut dst) = io.outs.dst(0) else { return Ok(false) };
    let Some(marks) = io.accums.get_mut(arena.at()).and_then(|a| a.0.as_mut()) else { return Ok(false) };
    let add = own.mode == MacMode::Accumulate;
    if add && !all_marked(&dst, marks) {
        return Ok(false);
    }
    let (ifmap, weights) = (io.ins.src(0)?, io.ins.src(1)?);
    let done = matmul::matmult_into(&own.p, &ifmap, &weights, &mut dst, add, scratch, io.profile)?;
    if done {
        marks.set(dst.pattern(), true);
    }
    Ok(done)
}

/// Reads the flag byte. START clears the addressed elements (ruling D40), neither flag overwrites.
fn mac_mode(draft: &Draft, flag: u8) -> Result<MacMode> {
    if !matches!(flag, 0..=4 | 6) {
        return Err(Error::new(Code::S008, "the accumulation flag is one of 0, 1, 2, 3, 4, 6")
            .received(flag)
            .operand("accumulation_flag"));
    }
    if draft.auto_accumulate {
        // An attribute of the function leaves accumulation to the machine: the first write of an element copies, later ones add.
        return Ok(MacMode::Accumulate);
    }
    Ok(match flag {
        f if f & START != 0 => MacMode::Start,
        f if f & ACCUMULATE != 0 => MacMode::Accumulate,
        _ if draft.profile.psum_idle == PsumIdle::Add => MacMode::Accumulate,
        _ => MacMode::Overwrite,
    })
}

/// The whole banks that a group head names: 2^region of them.
fn zero_region(profile: &Profile, region: u8) -> Result<Option<u64>> {
    if region == 0 && profile.psum_clear == PsumClear::Elements {
        return Ok(None);
    }
    1u64.checked_shl(u32::from(region)).filter(|banks| *banks <= 8).map(Some).ok_or_else(|| {
        Error::new(Code::J011, "PSUM has eight banks, so a zero region is 2^0 to 2^3 of them")
            .received(region)
            .operand("psum_zero_region")
    })
}

fn pair(list: Option<&[i64]>, key: &str) -> Result<[i64; 2]> {
    match list {
        None => Ok([-1, -1]),
        Some([a, b]) => Ok([*a, *b]),
        Some(_) => Err(Error::new(Code::J003, format!("the key {key} is not a pair of integers")).operand(key)),
    }
}

/// Writes a finished product to its PSUM destination.
fn store(cx: &mut Cx, own: &Product, rows: usize, cols: usize, values: &[f32]) -> Result<()> {
    let arena = cx.out_arena(0)?;
    let psum = cx.out_memory(0)? == MemoryType::Psum;
    // START clears before the first product lands.
    if let (Some(banks), true, false) = (own.region, psum, cx.rehearses()) {
        clear_banks(cx, banks)?;
    }
    let rehearses = cx.rehearses();
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
    if rehearses {
        return Ok(());
    }
    let Some(marks) = io.accums.get_mut(arena.at()).and_then(|a| a.0.as_mut()) else {
        return Err(Error::new(Code::B001, "a PSUM arena has no accumulate shadow"));
    };
    let fresh = write_product(&mut dst, marks, own.mode, values, io.profile)?;
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
    let (place, meta) = (&cx.m.places[loc].0, &cx.m.program.locations[loc]);
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
    cx.m.findings.note(Diagnostic::note(Remark::AccumulateUnwritten, message).at(cx.row).of(tensor));
    Ok(())
}

/// Clears banks from the one the output starts in (rulings D17, D40).
fn clear_banks(cx: &mut Cx, banks: u64) -> Result<()> {
    let Some((loc, pattern)) = cx.location_and_pattern(cx.n_ins())? else { return Ok(()) };
    let place = cx.m.places[loc].0.clone();
    let (lanes, stride) = (pattern.lanes() as u32, place.row_stride);
    if pattern.is_empty() || stride == 0 {
        return Ok(());
    }
    let arena = place.arena;
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

/// MatmultMx (95).
pub fn matmult_mx(cx: &mut Cx, own: &Product) -> Result<()> {
    let mut product = std::mem::take(&mut cx.m.scratch.product);
    let done = cx.open(&[In(0), In(1), In(2), In(3)]).and_then(|io| {
        let (ifmap, weights) = (io.ins.src(0)?, io.ins.src(1)?);
        mx::matmult_mx(&own.p, &ifmap, &weights, &io.ins.src(2)?, &io.ins.src(3)?, &mut product)
    });
    let done = done.and_then(|()| store(cx, own, product.rows(), product.cols(), product.values()));
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
