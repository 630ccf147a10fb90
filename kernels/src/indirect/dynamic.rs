//! Dynamic offsets of DMA copies: one index per row (vector form), and bounds tests of the scalar form.

use super::entries::{Entry, gather, scatter};
use super::index::{Indices, out_of_range};
use super::{Table, tell};
use crate::access::{Dst, Pattern, Src};
use crate::cast::{self, MemoryReductionOp};
use crate::movement::castable;
use crate::{Code, Error, Profile, Result, halt};

/// The vector form of a dynamic access pattern: row w of the pattern starts at `base + coefficient * index[w]`; the
/// pattern's own outermost step is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorOffset {
    /// Elements between neighbouring rows of the table.
    pub coefficient: i64,
    /// Rows that can be addressed.
    pub max_index: Option<u32>,
    /// An index out of range is a fault; otherwise its row is skipped.
    pub oob_is_err: bool,
}

struct Rows<'a> {
    p: &'a VectorOffset,
    indices: Indices<'a>,
    base: i64,
    stride: i64,
    skipped: usize,
}

impl<'a> Rows<'a> {
    fn new(p: &'a VectorOffset, indices: &Src<'a>, pattern: &Pattern, profile: &Profile) -> Result<Self> {
        let indices = Indices::new("indirection_ins[0]", indices, true, profile)?;
        if indices.len() != pattern.lanes() {
            return Err(Error::new(Code::S002, "a vector offset has one index per row of its pattern")
                .received(format!("{} indices for {} rows", indices.len(), pattern.lanes())));
        }
        let stride = p
            .coefficient
            .checked_mul(pattern.dtype().size() as i64)
            .ok_or_else(|| Error::new(Code::J011, "the distance of rows overflows").received(p.coefficient))?;
        Ok(Rows { p, indices, base: pattern.base(), stride, skipped: 0 })
    }

    fn place(&mut self, slot: usize, entry: &Entry, window: (i64, i64)) -> Result<Option<i64>> {
        let index = self.indices.get(slot);
        let start = i128::from(self.base) + i128::from(self.stride) * i128::from(index);
        let inside = index >= 0 && self.p.max_index.is_none_or(|m| index < i64::from(m));
        if let Some(byte) = entry.place(start, window).filter(|_| inside) {
            return Ok(Some(byte));
        }
        if self.p.oob_is_err {
            let room = entry.bound(self.base, self.stride, window);
            let bound = self.p.max_index.map_or(room, |m| i128::from(m).min(room));
            return Err(out_of_range(i128::from(index), bound, slot));
        }
        self.skipped += 1;
        Ok(None)
    }
}

/// Copies (or accumulates) the indexed rows of the table into `dst`. Returns the number of rows skipped.
pub fn vector_gather(
    p: &VectorOffset,
    indices: &Src,
    table: &Table<Src>,
    op: MemoryReductionOp,
    dst: &mut Dst,
    profile: &Profile,
) -> Result<usize> {
    let mut rows = Rows::new(p, indices, table.pattern, profile)?;
    let entry = Entry::lane_of(table.pattern)?;
    let window = table.extent();
    gather(table, &entry, table.pattern.lanes(), |slot| rows.place(slot, &entry, window), op, dst, profile)?;
    Ok(rows.skipped)
}

/// Writes (or accumulates) `data` into the indexed rows of the table, serially. Returns the number of rows skipped.
pub fn vector_scatter(
    p: &VectorOffset,
    data: &Src,
    indices: &Src,
    table: &mut Table<Dst>,
    op: MemoryReductionOp,
    profile: &Profile,
) -> Result<usize> {
    let mut rows = Rows::new(p, indices, table.pattern, profile)?;
    let entry = Entry::lane_of(table.pattern)?;
    let window = table.extent();
    let slots = table.pattern.lanes();
    // Long entries are visited in pieces, so `place` may see a slot more than once. Skips are therefore counted by slot.
    let mut last = None;
    let mut skipped = 0;
    let place = |slot: usize| {
        let placed = rows.place(slot, &entry, window)?;
        if placed.is_none() && last != Some(slot) {
            skipped += 1;
        }
        last = Some(slot);
        Ok(placed)
    };
    scatter(table, &entry, slots, place, op, data, profile)?;
    Ok(skipped)
}

/// The tolerant copy of a scalar dynamic offset (ruling D22, `oob_is_err` false): elements whose source or destination
/// is outside its tensor are skipped. Returns their number.
pub fn copy_in_bounds(src: &Table<Src>, dst: &mut Table<Dst>, profile: &Profile) -> Result<usize> {
    let (from, to) = (src.pattern.dtype(), dst.pattern.dtype());
    castable(from, to, profile)?;
    let total = src.pattern.len();
    if total != dst.pattern.len() {
        return Err(Error::new(Code::S002, "source and destination disagree in their number of elements")
            .received(format!("{total} and {}", dst.pattern.len())));
    }
    let (pattern, log) = (dst.pattern, dst.log);
    let (read, mut write) = (src.whole.window(), dst.whole.window());
    let (mut a, mut b) = ([0u8; 8], [0u8; 8]);
    let (a, b) = (&mut a[..from.size()], &mut b[..to.size()]);
    let at = |p: &Pattern, i: usize| p.byte_of(i / p.lane_len(), i % p.lane_len());
    let mut skipped = 0;
    for i in 0..total {
        if i.is_multiple_of(1024) {
            halt::check()?;
        }
        let done = read.read(at(src.pattern, i), a) && {
            cast::cast(from, to, profile.fp8(), a, b)?;
            write.write(at(pattern, i), b)
        };
        if done {
            tell(src.log, at(src.pattern, i), from.size());
            tell(log, at(pattern, i), to.size());
        }
        skipped += usize::from(!done);
    }
    Ok(skipped)
}
