//! IndirectLoad (43), IndirectSave (45), IndirectSaveAccumulate (46).

use super::entries::{Entry, gather, scatter};
use super::index::{Indices, out_of_range};
use super::{ADDRESS_BIAS, Table};
use crate::access::{Dst, Pattern, Src};
use crate::alu::AluOp;
use crate::cast::MemoryReductionOp;
use crate::{Code, Dtype, Error, Profile, Result};

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
        let byte = entry.place(byte, window).ok_or_else(|| out_of_range(i128::from(value), bound, slot))?;
        return on_an_element(byte, window, pattern.dtype(), slot).map(Some);
    }
    let step = pattern.pairs().last().map_or(0, |p| p.stride);
    let start = i128::from(pattern.base()) + i128::from(step) * i128::from(value);
    entry
        .place(start, window)
        .map(Some)
        .ok_or_else(|| out_of_range(i128::from(value), entry.bound(pattern.base(), step, window), slot))
}

/// An address that falls between two elements is a fault.
fn on_an_element(byte: i64, window: (i64, i64), dtype: Dtype, slot: usize) -> Result<i64> {
    let size = dtype.size() as i64;
    let past = (byte - window.0).rem_euclid(size);
    if past == 0 {
        return Ok(byte);
    }
    Err(Error::new(Code::S014, format!("the address in slot {slot} falls inside an element"))
        .received(format!("{past} bytes past the start of an element of {dtype}, which has {size}"))
        .advice(format!("addresses count bytes: they differ from the table's by a multiple of {size}")))
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
    /// Byte address of entry 0, biased like every address that an indirect instruction takes; without it the table starts
    /// where its pattern does.
    pub base: Option<i64>,
}

/// `table[entry_step_elements * index[k]] op=` entry k of `values`, serially, for the first `num_indices` slots. With a
/// base address the entry is at base - 0x100000000 + size of a value * step * index.
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
    let (base, size) = match p.base {
        Some(address) => {
            let byte =
                address.checked_sub(ADDRESS_BIAS).and_then(|b| b.checked_sub(table.address)).ok_or_else(|| {
                    Error::new(Code::S014, "the base address of the table overflows")
                        .received(address)
                        .operand("ins[2]")
                })?;
            (byte, values.dtype().size())
        }
        None => (table.pattern.base(), dtype.size()),
    };
    let stride = p
        .entry_step_elements
        .checked_mul(size as i64)
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
        let byte = entry
            .place(start, window)
            .ok_or_else(|| out_of_range(i128::from(index), entry.bound(base, stride, window), slot))?;
        on_an_element(byte, window, dtype, slot).map(Some)
    };
    scatter(table, &entry, slots, place, op, values, profile)
}
