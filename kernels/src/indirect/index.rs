//! Reading index tensors.

use crate::access::{CHUNK, Src};
use crate::profile::MinusOneSkips;
use crate::{Code, Dtype, Error, Profile, Result};

/// Index values in slot order, read a chunk at a time.
pub(super) struct Indices<'a> {
    src: Src<'a>,
    buffer: Box<[i64; CHUNK]>,
    first: usize,
    held: usize,
    /// The value that skips its slot, as `get` gives it: -1 extended from the element's width.
    skip: Option<i64>,
}

impl<'a> Indices<'a> {
    /// `wide` allows 64-bit values.
    pub(super) fn new(name: &str, src: &Src<'a>, wide: bool, profile: &Profile) -> Result<Self> {
        let ok = match src.dtype() {
            Dtype::Int32 | Dtype::Uint32 | Dtype::Uint16 => true,
            Dtype::Int64 | Dtype::Uint64 => wide,
            _ => false,
        };
        if !ok {
            return Err(Error::new(Code::S007, "loading mem addr, which must be uint64")
                .received(src.dtype())
                .operand(name)
                .advice(
                    "index with int32, uint32 or uint16, or with 64-bit addresses where the instruction takes them",
                ));
        }
        // Ruling D13: only a 64-bit -1 skips, unless the profile extends that to 32 bits.
        let skip = match src.dtype().size() {
            8 => Some(-1),
            4 if profile.minus_one_skips == MinusOneSkips::Narrow => Some(0xFFFF_FFFF),
            _ => None,
        };
        Ok(Indices { src: *src, buffer: Box::new([0; CHUNK]), first: 0, held: 0, skip })
    }

    pub(super) fn len(&self) -> usize {
        self.src.len()
    }

    /// Values are 64 bits wide.
    pub(super) fn is_wide(&self) -> bool {
        self.src.dtype().size() == 8
    }

    /// Reads the values from `first` on, across the ends of lanes.
    fn fill(&mut self) {
        let (len, mut done) = (self.src.lane_len(), 0);
        while done < self.held {
            let (lane, at) = ((self.first + done) / len, (self.first + done) % len);
            let n = (len - at).min(self.held - done);
            self.src.read_i64(lane, at, &mut self.buffer[done..done + n]);
            done += n;
        }
    }

    /// The slot's value is the -1 that skips it (ruling D13).
    pub(super) fn skips(&mut self, slot: usize) -> bool {
        self.skip.is_some_and(|skip| self.get(slot) == skip)
    }

    /// The value of a slot: zero-extended when narrow (ruling D13), the bits of the element when wide.
    pub(super) fn get(&mut self, slot: usize) -> i64 {
        if slot < self.first || slot >= self.first + self.held {
            self.first = slot;
            self.held = CHUNK.min(self.src.len() - slot);
            self.fill();
        }
        let value = self.buffer[slot - self.first];
        if self.is_wide() { value } else { i64::from(value as u32) }
    }
}

/// The error of an index that leaves the table.
#[cold]
pub(super) fn out_of_range(index: i128, bound: i128, slot: usize) -> Error {
    let what = match bound {
        ..=0 => format!("index {index} of slot {slot} is used with a table that has no entries"),
        _ => format!("index {index} of slot {slot} is not in the table, whose largest index is {}", bound - 1),
    };
    Error::new(Code::S014, what).received(format!("index {index}, bound {}", bound.max(0)))
}
