//! The loop that moves entries between a table and a dense operand.

use super::{Table, tell};
use crate::access::{CHUNK, Dst, Pattern, Src};
use crate::cast::{self, MemoryReductionOp};
use crate::movement::{Block, castable};
use crate::{Code, Dtype, Error, Profile, Result, halt, rehearsal};

/// What an index moves: `len` elements, neighbours in memory or laid out as one lane of a pattern.
pub(super) struct Entry<'a> {
    pub(super) len: usize,
    row: Option<&'a Pattern>,
    /// Reach in bytes around the entry's first byte.
    lo: i64,
    hi: i64,
}

impl<'a> Entry<'a> {
    /// `len` neighbouring elements.
    pub(super) fn run(len: usize, dtype: Dtype) -> Self {
        Entry { len, row: None, lo: 0, hi: (len as i64).saturating_mul(dtype.size() as i64) }
    }

    /// The layout of one lane of `pattern`.
    pub(super) fn lane_of(pattern: &'a Pattern) -> Result<Self> {
        if pattern.offsets().is_some() {
            return Err(Error::new(Code::U002, "an indexed operand has strides"));
        }
        let size = pattern.dtype().size() as i64;
        let (mut lo, mut hi) = (0, size);
        for p in &pattern.pairs()[1..] {
            let reach = p.stride * (i64::from(p.num) - 1).max(0);
            if reach < 0 { lo += reach } else { hi += reach }
        }
        let row = if pattern.is_contiguous() { None } else { Some(pattern) };
        Ok(Entry { len: pattern.lane_len(), row, lo, hi })
    }

    /// The entry size that divides `elements` among `slots`.
    pub(super) fn divide(elements: usize, slots: usize, dtype: Dtype) -> Result<Self> {
        let len = elements.checked_div(slots).unwrap_or(0);
        if len * slots != elements {
            return Err(Error::new(Code::S002, "the indices do not divide the elements into equal entries")
                .received(format!("{elements} elements for {slots} indices")));
        }
        Ok(Entry::run(len, dtype))
    }

    /// The start byte, when the whole entry is inside `window`.
    pub(super) fn place(&self, start: i128, window: (i64, i64)) -> Option<i64> {
        let inside =
            start + i128::from(self.lo) >= i128::from(window.0) && start + i128::from(self.hi) <= i128::from(window.1);
        inside.then_some(start as i64)
    }

    /// Number of entries, `stride` bytes apart from `base` on, that `window` holds.
    pub(super) fn bound(&self, base: i64, stride: i64, window: (i64, i64)) -> i128 {
        if stride <= 0 {
            return 0;
        }
        let room = i128::from(window.1) - i128::from(self.hi) - i128::from(base);
        if room < 0 { 0 } else { room / i128::from(stride) + 1 }
    }

    /// Start of element `k` relative to the entry.
    fn offset(&self, k: usize, size: usize) -> i64 {
        match self.row {
            Some(p) => p.byte_of(0, k) - p.base(),
            None => (k * size) as i64,
        }
    }
}

#[cold]
fn left_the_table() -> Error {
    Error::new(Code::B001, "an entry that was placed leaves its table")
}

/// How many entries fit into one chunk, and how long a piece of one entry is.
fn batch(len: usize) -> (usize, usize) {
    ((CHUNK / len.max(1)).max(1), len.min(CHUNK))
}

/// Moves entries from the table: slot k fills elements k * len .. of `dst`. `place` gives the start of a slot's entry,
/// already proven inside the window, or `None` to leave the destination as it is.
pub(super) fn gather(
    table: &Table<Src>,
    entry: &Entry,
    slots: usize,
    mut place: impl FnMut(usize) -> Result<Option<i64>>,
    op: MemoryReductionOp,
    dst: &mut Dst,
    profile: &Profile,
) -> Result<()> {
    let (from, to) = (table.pattern.dtype(), dst.dtype());
    castable(from, to, profile)?;
    if slots * entry.len != dst.len() {
        return Err(Error::new(Code::S002, "indices and result disagree in their number of elements")
            .received(format!("{slots} entries of {} for {} elements", entry.len, dst.len())));
    }
    if rehearsal::is_on() {
        return Ok(());
    }
    let (window, log) = (table.whole.window(), table.log);
    let flat = dst.pattern().flat();
    let mut flat = dst.reshaped(&flat)?;
    // Entries of neighbouring elements are copied directly when no conversion is needed.
    let whole = entry.row.is_none() && from == to && op == MemoryReductionOp::Copy;
    let (mut raw, mut out, mut old) = (Block::new(), Block::new(), Block::new());
    let (size, (_, piece)) = (from.size(), batch(entry.len));
    for slot in 0..slots {
        halt::check()?;
        let Some(start) = place(slot)? else { continue };
        if whole {
            let run = window.bytes(start, entry.len * size).ok_or_else(left_the_table)?;
            tell(log, start, entry.len * size);
            flat.scatter(0, slot * entry.len, run);
            continue;
        }
        let mut done = 0;
        while done < entry.len {
            halt::check()?;
            let n = piece.min(entry.len - done);
            let bytes = raw.bytes(n, from);
            let read = |byte: i64, into: &mut [u8]| {
                tell(log, byte, into.len());
                window.read(byte, into)
            };
            let ok = match entry.row {
                None => read(start + (done * size) as i64, bytes),
                Some(_) => {
                    bytes.chunks_exact_mut(size).enumerate().all(|(k, e)| read(start + entry.offset(done + k, size), e))
                }
            };
            if !ok {
                return Err(left_the_table());
            }
            let at = slot * entry.len + done;
            let values = if from == to {
                bytes
            } else {
                let values = out.bytes(n, to);
                cast::cast(from, to, profile.fp8(), bytes, values)?;
                values
            };
            if op == MemoryReductionOp::Copy {
                flat.scatter(0, at, values);
            } else {
                let old = old.bytes(n, to);
                flat.as_src().gather(0, at, old);
                cast::accumulate(op, to, old, values)?;
                flat.scatter(0, at, old);
            }
            done += n;
        }
    }
    Ok(())
}

/// Moves entries into the table, one slot after the other: elements k * len .. of `data` go to slot k.
pub(super) fn scatter(
    table: &mut Table<Dst>,
    entry: &Entry,
    slots: usize,
    mut place: impl FnMut(usize) -> Result<Option<i64>>,
    op: MemoryReductionOp,
    data: &Src,
    profile: &Profile,
) -> Result<()> {
    let (from, to) = (data.dtype(), table.pattern.dtype());
    castable(from, to, profile)?;
    if slots * entry.len != data.len() {
        return Err(Error::new(Code::S002, "indices and data disagree in their number of elements").received(format!(
            "{slots} entries of {} for {} elements",
            entry.len,
            data.len()
        )));
    }
    if op != MemoryReductionOp::Copy {
        // The dtype check comes before the first write.
        cast::accumulate(op, to, &mut [], &[])?;
    }
    if rehearsal::is_on() {
        return Ok(());
    }
    let log = table.log;
    let mut window = table.whole.window();
    let flat = data.pattern().flat();
    let flat = data.reshaped(&flat)?;
    let (mut raw, mut old) = (Block::new(), Block::new());
    let (size, (per, piece)) = (to.size(), batch(entry.len));
    let mut put = |byte: i64, values: &[u8]| -> Result<()> {
        tell(log, byte, values.len());
        let ok = if op == MemoryReductionOp::Copy {
            window.write(byte, values)
        } else {
            let old = &mut old.bytes(CHUNK, Dtype::Int64)[..values.len()];
            window.read(byte, old) && {
                cast::accumulate(op, to, old, values)?;
                window.write(byte, old)
            }
        };
        if ok { Ok(()) } else { Err(left_the_table()) }
    };
    let mut slot = 0;
    while slot < slots {
        // Several short entries, or a piece of a long one, per read.
        let group = per.min(slots - slot);
        let mut done = 0;
        while done < entry.len {
            halt::check()?;
            let n = piece.min(entry.len - done);
            let bytes = raw.bytes(group * n, to);
            crate::movement::read_as(&flat, 0, slot * entry.len + done, to, profile.fp8(), bytes);
            for (k, values) in bytes.chunks_exact(n * size).enumerate() {
                let Some(start) = place(slot + k)? else { continue };
                match entry.row {
                    None => put(start + (done * size) as i64, values)?,
                    Some(_) => {
                        for (j, v) in values.chunks_exact(size).enumerate() {
                            put(start + entry.offset(done + j, size), v)?;
                        }
                    }
                }
            }
            done += n;
        }
        slot += group;
    }
    Ok(())
}
