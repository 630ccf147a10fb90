//! Gathers and scatters through index tensors (42 to 46), and the run-time offsets of DMACopy.

use super::Cx;
use crate::ir::opcodes::dma::field as fd;
use crate::ir::opcodes::indirect::field as f;
use crate::ir::{IndirectDim, Value};
use crate::world::{Diagnostic, Indexed, Opnd, VectorSpec};
use crate::{Code, Error, Result};
use birsim_kernels::Named;
use birsim_kernels::access::{Dst, Pattern, Src};
use birsim_kernels::alu::AluOp;
use birsim_kernels::cast::MemoryReductionOp;
use birsim_kernels::indirect::{self as kernel, Log, Table};

bind! {
    GenericIndirectLoad => generic_load,
    IndirectLoad => load,
    GenericIndirectSave => generic_save,
    IndirectSave => save,
    IndirectSaveAccumulate => save_accumulate,
}

fn table<'a, V>(view: &'a (V, Pattern, i64), log: &'a Option<Log>) -> Table<'a, V> {
    Table { whole: &view.0, pattern: &view.1, address: view.2, log: log.as_ref() }
}

/// A log of the places that indices choose, when the run is observed.
fn log(cx: &Cx) -> Option<Log> {
    cx.m.watch.is_some().then(Log::default)
}

/// Hands the log of operand `k`, counted over ins, outs, indirection_ins, to the observers. `address` is the table's.
fn reached(cx: &mut Cx, k: usize, address: i64, log: Option<Log>) -> Result<()> {
    let (Some(log), Some(location)) = (log, cx.location(k)?) else { return Ok(()) };
    let (start, _) = cx.m.places[location as usize].0.extent();
    // A table that was copied first is addressed from its own first byte.
    let shift = address - (cx.m.program.locations[location as usize].addr as i64 - start as i64);
    cx.m.run.indexed.extend(log.into_inner().into_iter().map(|(byte, n)| {
        let lo = (byte + shift).max(0) as usize;
        Indexed { operand: k, lo, hi: lo + n }
    }));
    Ok(())
}

/// IndirectLoad (43).
pub fn load(cx: &mut Cx) -> Result<()> {
    let from = cx.table_src(0)?;
    let (indices, dst) = (cx.src(1)?, cx.dst(0)?);
    let log = log(cx);
    kernel::load(&table(&from, &log), &indices, &dst, cx.profile())?;
    reached(cx, 0, from.2, log)
}

/// IndirectSave (45).
pub fn save(cx: &mut Cx) -> Result<()> {
    let (data, indices) = (cx.src(0)?, cx.src(1)?);
    let to = cx.table_dst(0)?;
    let log = log(cx);
    kernel::save(&data, &indices, &table(&to, &log), cx.profile())?;
    reached(cx, cx.n_ins(), to.2, log)
}

fn dims(cx: &Cx, field: usize) -> Vec<kernel::IndirectDim> {
    match cx.cold(field) {
        Some(Value::Enums(list)) => list.iter().filter_map(|o| kernel::IndirectDim::from_ordinal(*o)).collect(),
        _ => Vec::new(),
    }
}

/// GenericIndirectLoad (42).
pub fn generic_load(cx: &mut Cx) -> Result<()> {
    let dims = dims(cx, f::GenericIndirectLoad::indirect_dims);
    let from = cx.table_src(0)?;
    let indices: Result<Vec<Src>> = (1..cx.n_ins()).map(|k| cx.src(k)).collect();
    let dst = cx.dst(0)?;
    let log = log(cx);
    kernel::generic_load(&dims, &table(&from, &log), &indices?, &dst, cx.profile())?;
    reached(cx, 0, from.2, log)
}

/// GenericIndirectSave (44).
pub fn generic_save(cx: &mut Cx) -> Result<()> {
    let dims = dims(cx, f::GenericIndirectSave::indirect_dims);
    let op = cx.named_opt::<AluOp>(f::GenericIndirectSave::op)?.unwrap_or(AluOp::Add);
    let data = cx.src(0)?;
    let indices: Result<Vec<Src>> = (1..cx.n_ins()).map(|k| cx.src(k)).collect();
    let to = cx.table_dst(0)?;
    let log = log(cx);
    kernel::generic_save(&dims, op, &data, &indices?, &table(&to, &log), cx.profile())?;
    reached(cx, cx.n_ins(), to.2, log)
}

/// IndirectSaveAccumulate (46): indices, values; the table is the output.
pub fn save_accumulate(cx: &mut Cx) -> Result<()> {
    let (indices, data) = (cx.src(0)?, cx.src(1)?);
    let to = cx.table_dst(0)?;
    let count = match cx.int_opt(f::IndirectSaveAccumulate::num_indices)? {
        Some(n) => n.max(0) as u64,
        None => indices.len() as u64,
    };
    let p = kernel::SaveAccumulate {
        num_indices: count,
        entry_step_elements: cx.int_opt(f::IndirectSaveAccumulate::entry_step_elements)?.unwrap_or(1),
        op: cx.named_opt::<AluOp>(f::IndirectSaveAccumulate::op)?.unwrap_or(AluOp::Add),
    };
    let log = log(cx);
    kernel::save_accumulate(&p, &data, &indices, &table(&to, &log), cx.profile())?;
    reached(cx, cx.n_ins(), to.2, log)
}

/// A DMACopy with a run-time offset that needs more than a plain copy; `None` when it does not.
pub fn dynamic_copy(cx: &mut Cx, op: MemoryReductionOp) -> Result<Option<()>> {
    let oob_is_err = cx.int_opt(fd::DMACopy::oob_is_err)?.unwrap_or(1) != 0;
    let vector = |cx: &Cx, k: usize| match cx.operand(k) {
        Some(Opnd::Dynamic(d)) => {
            d.vector.map(|v| (v, v.coefficient.unwrap_or_else(|| d.ap.first().map_or(0, |p| p.step))))
        }
        _ => None,
    };
    let skipped = match (vector(cx, 0), vector(cx, cx.n_ins())) {
        (Some((v, step)), None) => {
            let p = offset(&v, step, oob_is_err)?;
            let from = cx.table_src(0)?;
            let (indices, dst) = (cx.index_src(v.arg as usize)?, cx.dst(0)?);
            let log = log(cx);
            let skipped = kernel::vector_gather(&p, &indices, &table(&from, &log), op, &dst, cx.profile())?;
            reached(cx, 0, from.2, log)?;
            skipped
        }
        (None, Some((v, step))) => {
            let p = offset(&v, step, oob_is_err)?;
            let (data, indices) = (cx.src(0)?, cx.index_src(v.arg as usize)?);
            let to = cx.table_dst(0)?;
            let log = log(cx);
            let skipped = kernel::vector_scatter(&p, &data, &indices, &table(&to, &log), op, cx.profile())?;
            reached(cx, cx.n_ins(), to.2, log)?;
            skipped
        }
        (Some(_), Some(_)) => {
            return Err(Error::new(Code::U002, "index vectors on both sides of a DMACopy are not documented"));
        }
        (None, None) if cx.open() => {
            if op != MemoryReductionOp::Copy {
                return Err(Error::new(Code::U002, "an accumulating copy that skips elements is not documented"));
            }
            let from: (Src, Pattern, i64) = cx.table_src(0)?;
            let to: (Dst, Pattern, i64) = cx.table_dst(0)?;
            let (read, written) = (log(cx), log(cx));
            let skipped = kernel::copy_in_bounds(&table(&from, &read), &table(&to, &written), cx.profile())?;
            reached(cx, 0, from.2, read)?;
            reached(cx, cx.n_ins(), to.2, written)?;
            skipped
        }
        (None, None) => return Ok(None),
    };
    if skipped > 0 {
        let message = format!("{skipped} out-of-bounds elements or rows were skipped (oob_is_err is false)");
        let payload = Some(cx.payload);
        cx.m.run.note(Diagnostic { class: "note", code: "out-of-bounds-skipped", message, payload, tensor: None });
    }
    Ok(Some(()))
}

fn offset(v: &VectorSpec, step: i64, oob_is_err: bool) -> Result<kernel::VectorOffset> {
    if v.dim != IndirectDim::W {
        return Err(Error::new(Code::U002, "an index vector drives the W axis only").received(v.dim));
    }
    let max_index = v.max_index.map(|m| u32::try_from(m).unwrap_or(u32::MAX));
    Ok(kernel::VectorOffset { coefficient: step, max_index, oob_is_err })
}
