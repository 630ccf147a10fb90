//! GenericIndirectLoad (42) and GenericIndirectSave (44): one index tensor per indirect axis.

use super::Table;
use super::entries::{Entry, gather, scatter};
use super::index::{Indices, out_of_range};
use crate::access::{Dst, Pattern, Src};
use crate::alu::AluOp;
use crate::cast::MemoryReductionOp;
use crate::{Code, Error, Profile, Result};

crate::named_enum! {
    /// Axis of an access pattern that an index tensor drives.
    IndirectDim {
        W = 0, "W";
        Z = 1, "Z";
        Y = 2, "Y";
        X = 3, "X";
    }
}

/// Distance in bytes of neighbouring positions along an axis: the product of the sizes of the axes inside it. Patterns of fewer
/// than four pairs get unit axes after the first one.
fn coefficient(pattern: &Pattern, dim: IndirectDim) -> Result<i64> {
    let pairs = pattern.pairs();
    if pairs.len() > 4 {
        return Err(Error::new(Code::U002, "an indirect axis of a pattern with more than four pairs")
            .received(format!("{} pairs", pairs.len())));
    }
    let inboard = 3 - dim as usize;
    let mut sizes = pairs[1..].iter().rev().take(inboard).map(|p| i64::from(p.num));
    sizes
        .try_fold(pattern.dtype().size() as i64, |a, n| a.checked_mul(n))
        .ok_or_else(|| Error::new(Code::J008, "the access pattern addresses more than any memory holds"))
}

/// The index tensors with their byte distances.
struct Axes<'a> {
    axes: Vec<(Indices<'a>, i64)>,
    slots: usize,
    base: i64,
}

impl<'a> Axes<'a> {
    fn new(dims: &[IndirectDim], indices: &[Src<'a>], pattern: &Pattern, profile: &Profile) -> Result<Self> {
        if dims.len() != indices.len() || dims.is_empty() {
            return Err(Error::new(Code::S008, "number of indirect dims must match number of indices vector")
                .received(format!("{} dims, {} index operands", dims.len(), indices.len()))
                .operand("indirect_dims"));
        }
        let mut axes = Vec::with_capacity(dims.len());
        for (k, (d, i)) in dims.iter().zip(indices).enumerate() {
            let name = format!("ins[{}]", k + 1);
            axes.push((Indices::new(&name, i, true, profile)?, coefficient(pattern, *d)?));
            if i.len() != indices[0].len() {
                return Err(Error::new(Code::S002, "index operands differ in their number of elements")
                    .received(format!("{} and {}", indices[0].len(), i.len()))
                    .operand(name));
            }
        }
        Ok(Axes { axes, slots: indices[0].len(), base: pattern.base() })
    }

    /// Start of a slot's entry: the sum over the axes. A 64-bit -1 skips the slot.
    fn place(&mut self, slot: usize, entry: &Entry, window: (i64, i64)) -> Result<Option<i64>> {
        let mut start = i128::from(self.base);
        for (indices, coefficient) in &mut self.axes {
            if indices.skips(slot) {
                return Ok(None);
            }
            start += i128::from(*coefficient) * i128::from(indices.get(slot));
        }
        if let Some(byte) = entry.place(start, window) {
            return Ok(Some(byte));
        }
        // Name the axis whose own index is out of range, or the last axis when only the sum is.
        let (base, last) = (self.base, self.axes.len() - 1);
        for (k, (indices, coefficient)) in self.axes.iter_mut().enumerate() {
            let (index, bound) = (i128::from(indices.get(slot)), entry.bound(base, *coefficient, window));
            if k == last || index < 0 || index >= bound {
                return Err(out_of_range(index, bound, slot).operand(format!("ins[{}]", k + 1)));
            }
        }
        Ok(None)
    }
}

/// `out[e] = table[sum of coefficient * index[e] over the axes]`.
pub fn generic_load(
    dims: &[IndirectDim],
    table: &Table<Src>,
    indices: &[Src],
    dst: &mut Dst,
    profile: &Profile,
) -> Result<()> {
    let mut axes = Axes::new(dims, indices, table.pattern, profile)?;
    let entry = Entry::divide(dst.len(), axes.slots, table.pattern.dtype())?;
    let window = table.extent();
    let slots = axes.slots;
    let place = |slot| axes.place(slot, &entry, window);
    gather(table, &entry, slots, place, MemoryReductionOp::Copy, dst, profile)
}

/// `table[sum of coefficient * index[e] over the axes] op= data[e]`, serially in slot order; op is bypass or add.
pub fn generic_save(
    dims: &[IndirectDim],
    op: AluOp,
    data: &Src,
    indices: &[Src],
    table: &mut Table<Dst>,
    profile: &Profile,
) -> Result<()> {
    let op = MemoryReductionOp::from_alu(op)?;
    let mut axes = Axes::new(dims, indices, table.pattern, profile)?;
    let entry = Entry::divide(data.len(), axes.slots, table.pattern.dtype())?;
    let window = table.extent();
    let slots = axes.slots;
    let place = |slot| axes.place(slot, &entry, window);
    scatter(table, &entry, slots, place, op, data, profile)
}
