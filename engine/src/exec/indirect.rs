//! Gathers and scatters through index tensors (42 to 46), and the run-time offsets of DMACopy.

use super::Want::{In, Index, Out, OutTable, Table};
use super::fields::own;
use super::{Cx, Want};
use crate::ir::IndirectDim;
use crate::ir::opcodes::params;
use crate::world::{Diagnostic, Draft, Indexed, Opnd, Remark, VectorSpec};
use crate::{Code, Error, Result};
use birsim_kernels::access::{Input, Src};
use birsim_kernels::alu::AluOp;
use birsim_kernels::cast::MemoryReductionOp;
use birsim_kernels::indirect::{self as kernel, Log};

bind! {
    GenericIndirectLoad(load_dims) => generic_load,
    IndirectLoad => load,
    GenericIndirectSave(prepare_generic_save) => generic_save,
    IndirectSave => save,
    IndirectSaveAccumulate(own) => save_accumulate,
}

/// A log of the places that indices choose, when the run is observed or other cores see what is written.
fn log(cx: &Cx) -> Option<Log> {
    let seen = |k: usize| cx.out_arena(k).is_ok_and(|arena| cx.m.written[arena].0.is_some());
    (cx.m.watch.is_some() || (0..cx.n_outs()).any(seen)).then(Log::default)
}

/// Hands the log of operand `k`, counted over ins, outs, indirection_ins, to the observers. `address` is the table's.
fn reached(cx: &mut Cx, k: usize, address: i64, log: Option<Log>) -> Result<()> {
    let (Some(log), Some(location)) = (log, cx.location(k)?) else { return Ok(()) };
    let (start, _) = cx.m.places[location].0.extent();
    // A table that was copied first is addressed from its own first byte.
    let shift = address - (cx.m.program.locations[location].addr as i64 - start as i64);
    let chosen = log.into_inner().into_iter().map(|(byte, n)| {
        let lo = (byte + shift).max(0) as usize;
        Indexed { operand: k, lo, hi: lo + n }
    });
    let arena = cx.m.places[location].0.arena;
    let is_output = (cx.n_ins()..cx.n_ins() + cx.n_outs()).contains(&k);
    if let Some(marks) = cx.m.written[arena].0.as_mut().filter(|_| is_output) {
        let chosen: Vec<Indexed> = chosen.collect();
        chosen.iter().for_each(|i| marks.set_run(i.lo, i.hi));
        if cx.m.watch.is_some() {
            cx.m.scratch.indexed.extend(chosen);
        }
    } else if cx.m.watch.is_some() {
        cx.m.scratch.indexed.extend(chosen);
    }
    Ok(())
}

/// IndirectLoad (43).
pub fn load(cx: &mut Cx) -> Result<()> {
    let log = log(cx);
    let mut io = cx.open(&[Table(0), In(1), Out(0)])?;
    let from = io.ins.table(0, &log)?;
    kernel::load(&from, &io.ins.src(1)?, &mut io.outs.dst(0)?, io.profile)?;
    let address = from.address;
    drop(io);
    reached(cx, 0, address, log)
}

/// IndirectSave (45).
pub fn save(cx: &mut Cx) -> Result<()> {
    let log = log(cx);
    let mut io = cx.open(&[In(0), In(1), OutTable(0)])?;
    let (data, indices) = (io.ins.src(0)?, io.ins.src(1)?);
    let mut to = io.outs.table(0, &log)?;
    kernel::save(&data, &indices, &mut to, io.profile)?;
    let address = to.address;
    drop(io);
    reached(cx, cx.n_ins(), address, log)
}

/// The axes that indices drive.
pub type Dims = Box<[kernel::IndirectDim]>;

fn load_dims(draft: &Draft) -> Result<Dims> {
    Ok(own::<params::GenericIndirectLoad>(draft)?.indirect_dims.unwrap_or_default())
}

/// A scatter: the axes that indices drive, and how elements are combined.
pub struct GenericSave {
    dims: Dims,
    op: AluOp,
}

fn prepare_generic_save(draft: &Draft) -> Result<GenericSave> {
    let own = own::<params::GenericIndirectSave>(draft)?;
    Ok(GenericSave { dims: own.indirect_dims.unwrap_or_default(), op: own.op })
}

fn index_operands(cx: &Cx) -> impl Iterator<Item = Want> + use<> {
    (1..cx.n_ins()).map(In)
}

/// GenericIndirectLoad (42).
pub fn generic_load(cx: &mut Cx, dims: &Dims) -> Result<()> {
    let log = log(cx);
    let wants: Vec<Want> = [Table(0)].into_iter().chain(index_operands(cx)).chain([Out(0)]).collect();
    let indices = 1..cx.n_ins();
    let mut io = cx.open(&wants)?;
    let from = io.ins.table(0, &log)?;
    let indices: Result<Vec<Src>> = indices.map(|k| io.ins.src(k)).collect();
    kernel::generic_load(dims, &from, &indices?, &mut io.outs.dst(0)?, io.profile)?;
    let address = from.address;
    drop(io);
    reached(cx, 0, address, log)
}

/// GenericIndirectSave (44).
pub fn generic_save(cx: &mut Cx, own: &GenericSave) -> Result<()> {
    let log = log(cx);
    let wants: Vec<Want> = [In(0)].into_iter().chain(index_operands(cx)).chain([OutTable(0)]).collect();
    let indices = 1..cx.n_ins();
    let mut io = cx.open(&wants)?;
    let indices: Result<Vec<Src>> = indices.map(|k| io.ins.src(k)).collect();
    let mut to = io.outs.table(0, &log)?;
    kernel::generic_save(&own.dims, own.op, &io.ins.src(0)?, &indices?, &mut to, io.profile)?;
    let address = to.address;
    drop(io);
    reached(cx, cx.n_ins(), address, log)
}

/// The base address that IndirectSaveAccumulate names: a register, an immediate, or one 64-bit element. Any other tensor in
/// that place is the table itself, whose address needs no naming.
fn table_base(cx: &mut Cx) -> Result<Option<i64>> {
    const BASE: usize = 2;
    if BASE >= cx.n_ins() {
        return Ok(None);
    }
    match cx.open(&[In(BASE)])?.ins.input(BASE)? {
        Input::Imm(imm) => Ok(Some(imm.as_i64())),
        Input::View(view) if view.len() == 1 && view.dtype().is_integer() && view.dtype().size() == 8 => {
            let mut base = [0];
            view.read_i64(0, 0, &mut base);
            Ok(Some(base[0]))
        }
        Input::View(_) => Ok(None),
    }
}

/// IndirectSaveAccumulate (46): indices, values, base address; the table is the output.
pub fn save_accumulate(cx: &mut Cx, own: &params::IndirectSaveAccumulate) -> Result<()> {
    let base = table_base(cx)?;
    let entry_step_elements = own.entry_step_elements.map_or(1, i64::from);
    let log = log(cx);
    let mut io = cx.open(&[In(0), In(1), OutTable(0)])?;
    let (indices, data) = (io.ins.src(0)?, io.ins.src(1)?);
    let num_indices = own.num_indices.map_or(indices.len() as u64, u64::from);
    let mut to = io.outs.table(0, &log)?;
    let p = kernel::SaveAccumulate { num_indices, entry_step_elements, op: own.op, base };
    kernel::save_accumulate(&p, &data, &indices, &mut to, io.profile)?;
    let address = to.address;
    drop(io);
    reached(cx, cx.n_ins(), address, log)
}

/// A DMACopy with a run-time offset that needs more than a plain copy; `None` when it does not.
pub fn dynamic_copy(cx: &mut Cx, op: MemoryReductionOp, oob_is_err: bool) -> Result<Option<()>> {
    let vector = |cx: &Cx, k: usize| match cx.operand(k) {
        Some(Opnd::Dynamic(d)) => {
            d.vector.map(|v| (v, v.coefficient.unwrap_or_else(|| d.ap.first().map_or(0, |p| p.step))))
        }
        _ => None,
    };
    let skipped = match (vector(cx, 0), vector(cx, cx.n_ins())) {
        (Some((v, step)), None) => {
            let p = offset(&v, step, oob_is_err)?;
            let log = log(cx);
            let mut io = cx.open(&[Table(0), Index(v.arg as usize), Out(0)])?;
            let (from, indices) = (io.ins.table(0, &log)?, io.ins.index()?);
            let skipped = kernel::vector_gather(&p, &indices, &from, op, &mut io.outs.dst(0)?, io.profile)?;
            let address = from.address;
            drop(io);
            reached(cx, 0, address, log)?;
            skipped
        }
        (None, Some((v, step))) => {
            let p = offset(&v, step, oob_is_err)?;
            let log = log(cx);
            let mut io = cx.open(&[In(0), Index(v.arg as usize), OutTable(0)])?;
            let (data, indices) = (io.ins.src(0)?, io.ins.index()?);
            let mut to = io.outs.table(0, &log)?;
            let skipped = kernel::vector_scatter(&p, &data, &indices, &mut to, op, io.profile)?;
            let address = to.address;
            drop(io);
            reached(cx, cx.n_ins(), address, log)?;
            skipped
        }
        (Some(_), Some(_)) => {
            return Err(Error::new(Code::U002, "index vectors on both sides of a DMACopy are not documented"));
        }
        (None, None) if cx.leaves_tensor() => {
            if op != MemoryReductionOp::Copy {
                return Err(Error::new(Code::U002, "an accumulating copy that skips elements is not documented"));
            }
            let (read, written) = (log(cx), log(cx));
            let mut io = cx.open(&[Table(0), OutTable(0)])?;
            let (from, mut to) = (io.ins.table(0, &read)?, io.outs.table(0, &written)?);
            let skipped = kernel::copy_in_bounds(&from, &mut to, io.profile)?;
            let addresses = [from.address, to.address];
            drop(io);
            reached(cx, 0, addresses[0], read)?;
            reached(cx, cx.n_ins(), addresses[1], written)?;
            skipped
        }
        (None, None) => return Ok(None),
    };
    if skipped > 0 {
        let message = format!("{skipped} out-of-bounds elements or rows were skipped (oob_is_err is false)");
        cx.m.findings.note(Diagnostic::note(Remark::OutOfBoundsSkipped, message).at(cx.row));
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
