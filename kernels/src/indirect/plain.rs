//! IndirectLoad (43), IndirectSave (45), IndirectSaveAccumulate (46).

use super::entry::{Entry, gather, scatter};
use super::index::{Indices, out_of_range};
use super::{ADDRESS_BIAS, Table};
use crate::access::{Dst, Pattern, Src};
use crate::alu::AluOp;
use crate::cast::MemoryReductionOp;
use crate::{Code, Error, Profile, Result};

/// Where the entry of an index starts. An index counts steps of the table's final dimension (ruling D12); a 64-bit
/// value is a biased byte address, and -1 skips the slot (ruling D13).
fn locate(
    pattern: &Pattern,
    address: i64,
    entry: &Entry,
    window: (i64, i64),
    indices: &mut Indices,
    slot: usize,
) -> Result<Option<i64>> {
    if indices.skips(slot) {
        return Ok(None);
    }
    let value = indices.get(slot);
    if indices.is_wide() {
        if value == ADDRESS_BIAS - 1 {
            return Ok(None);
        }
        let byte = i128::from(value) - i128::from(ADDRESS_BIAS) - i128::from(address);
        let bound = i128::from(window.1) + i128::from(ADDRESS_BIAS) + i128::from(address);
        return entry.place(byte, window).map(Some).ok_or_else(|| out_of_range(i128::from(value), bound, slot));
    }
    let step = pattern.pairs().last().map_or(0, |p| p.stride);
    let start = i128::from(pattern.base()) + i128::from(step) * i128::from(value);
    entry
        .place(start, window)
        .map(Some)
        .ok_or_else(|| out_of_range(i128::from(value), entry.bound(pattern.base(), step, window), slot))
}

/// `out[e] = table[index[e]]`; each index moves as many elements as the result has per index.
pub fn load(table: &Table<Src>, indices: &Src, dst: &mut Dst, profile: &Profile) -> Result<()> {
    let step = dst.pattern().pairs().last().map_or(0, |p| if p.num > 1 { p.stride } else { dst.dtype().size() as i64 });
    if step != dst.dtype().size() as i64 && !dst.is_empty() {
        return Err(Error::new(Code::S008, "Must have step 1 in final dim of IndirectLoad output AP")
            .received(format!("{step} bytes"))
            .operand("outs[0]"));
    }
    let mut indices = Indices::new("ins[1]", indices, true, profile)?;
    let slots = indices.len();
    let entry = Entry::divide(dst.len(), slots, table.pattern.dtype())?;
    let window = table.extent();
    let place = |slot| locate(table.pattern, table.address, &entry, window, &mut indices, slot);
    gather(table, &entry, slots, place, MemoryReductionOp::Copy, dst, profile)
}

/// `table[index[e]] = data[e]`, in slot order: the last writer wins.
pub fn save(data: &Src, indices: &Src, table: &mut Table<Dst>, profile: &Profile) -> Result<()> {
    let mut indices = Indices::new("ins[1]", indices, true, profile)?;
    let slots = indices.len();
    let entry = Entry::divide(data.len(), slots, table.pattern.dtype())?;
    let window = table.extent();
    let (pattern, address) = (table.pattern, table.address);
    let place = |slot| locate(pattern, address, &entry, window, &mut indices, slot);
    scatter(table, &entry, slots, place, MemoryReductionOp::Copy, data, profile)
}

/// Fields of IndirectSaveAccumulate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaveAccumulate {
    /// Slots from this one on are padding.
    pub num_indices: u64,
    /// Elements between neighbouring entries of the table.
    pub entry_step_elements: i64,
    /// bypass or add.
    pub op: AluOp,
}

/// `table[entry_step_elements * index[k]] op=` entry k of `values`, serially, for the first `num_indices` slots.
pub fn save_accumulate(
    p: &SaveAccumulate,
    values: &Src,
    indices: &Src,
    table: &mut Table<Dst>,
    profile: &Profile,
) -> Result<()> {
    let op = MemoryReductionOp::from_alu(p.op)?;
    let mut indices = Indices::new("indices", indices, true, profile)?;
    let slots = indices.len();
    if p.num_indices > slots as u64 {
        return Err(Error::new(Code::S008, "IndirectSaveAccumulate: insufficient indices")
            .received(format!("{} of {slots}", p.num_indices))
            .operand("num_indices"));
    }
    let dtype = table.pattern.dtype();
    let entry = Entry::divide(values.len(), slots, dtype)?;
    let window = table.extent();
    let base = table.pattern.base();
    let stride = p
        .entry_step_elements
        .checked_mul(dtype.size() as i64)
        .ok_or_else(|| Error::new(Code::J011, "the distance of entries overflows").received(p.entry_step_elements))?;
    let place = |slot: usize| {
        if slot as u64 >= p.num_indices {
            return Ok(None);
        }
        if indices.skips(slot) {
            return Ok(None);
        }
        let index = indices.get(slot);
        let start = i128::from(base) + i128::from(stride) * i128::from(index);
        entry
            .place(start, window)
            .map(Some)
            .ok_or_else(|| out_of_range(i128::from(index), entry.bound(base, stride, window), slot))
    };
    scatter(table, &entry, slots, place, op, values, profile)
}
