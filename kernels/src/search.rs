//! The DVE search family: Max (88), MaxIndex (89), MatchReplace (90), MaxIndexAndMatchReplace (91), NonzeroWithCount
//! (104). Values compare as float32.

use crate::access::{CHUNK, Dst, Src, chunks, for_pieces};
use crate::cast::{self, check_unpacked};
use crate::isa::per_isa;
use crate::movement::{castable, same_shape, shapes};
use crate::profile::MaxTies;
use crate::{Code, Dtype, Error, Profile, Result};
use std::ops::RangeInclusive;

/// Values found per partition.
pub const SLOTS: usize = 8;
/// Elements per partition that a search accepts.
pub const DATA: RangeInclusive<usize> = 8..=16384;
/// Index of a value that does not occur.
pub const NOT_FOUND: u32 = u32::MAX;

fn check_data(name: &str, data: &Src) -> Result<()> {
    check_unpacked(data.dtype()).map_err(|e| e.operand(name))?;
    if data.lanes() == 0 || DATA.contains(&data.lane_len()) {
        return Ok(());
    }
    Err(Error::new(Code::S008, "a search takes 8 to 16384 elements per partition")
        .received(data.lane_len())
        .operand(name))
}

fn check_slots(name: &str, lanes: usize, len: usize, data: &Src) -> Result<()> {
    if lanes == data.lanes() && (len == SLOTS || lanes == 0) {
        return Ok(());
    }
    Err(Error::new(Code::S002, "a search has eight values for each partition of its data")
        .received(format!("{lanes} x {len} for {} partitions", data.lanes()))
        .operand(name))
}

/// The eight largest values of each partition, descending.
///
/// An element displaces a slot only when it is greater, and the displaced value moves on (ruling D30): equal values keep
/// their order of arrival, and a NaN stays in the slot that it first reached.
pub fn max8(data: &Src, dst: &mut Dst, profile: &Profile) -> Result<()> {
    check_data("ins[0]", data)?;
    check_slots("outs[0]", dst.lanes(), dst.lane_len(), data)?;
    castable(Dtype::Float32, dst.dtype(), profile)?;
    let displaces = profile.max_ties == MaxTies::Displace;
    dst.for_lanes(data.len(), |dst, lane| {
        let mut top = Top::default();
        let mut values = [0f32; CHUNK];
        chunks(data.lane_len(), |start, n| {
            data.read_f32(lane, start, &mut values[..n]);
            match displaces {
                true => values[..n].iter().for_each(|v| top.insert_before_equals(*v)),
                false => values[..n].chunks(64).for_each(|part| top.insert_all(part)),
            }
            Ok(())
        })?;
        dst.write_f32(lane, 0, &top.slots, profile.fp8());
        Ok(())
    })
}

/// Eight slots, filled in order of arrival and kept sorted as far as NaN allows.
#[derive(Default)]
struct Top {
    slots: [f32; SLOTS],
    filled: usize,
    has_nan: bool,
}

per_isa! {
    /// Some value is greater than `bound`.
    fn any_above(values: &[f32], bound: f32, any: &mut bool) {
        *any = values.iter().fold(false, |any, v| any | (*v > bound));
    }
}

impl Top {
    /// Most values change nothing; that is tested for many of them together, quickly.
    fn insert_all(&mut self, values: &[f32]) {
        let mut any = self.filled < SLOTS || self.has_nan;
        if !any {
            any_above(values, self.slots[SLOTS - 1], &mut any);
        }
        if any {
            values.iter().for_each(|v| self.insert(*v));
        }
    }

    fn insert(&mut self, value: f32) {
        // Without a NaN the slots are sorted: a value that is not greater than the last slot is greater than none.
        let beats_last = value > self.slots[SLOTS - 1];
        if self.filled == SLOTS && !self.has_nan && !beats_last {
            return;
        }
        self.has_nan |= value.is_nan();
        let mut carry = value;
        for slot in &mut self.slots[..self.filled] {
            if carry > *slot {
                std::mem::swap(slot, &mut carry);
            }
        }
        if self.filled < SLOTS {
            self.slots[self.filled] = carry;
            self.filled += 1;
        }
    }
}

impl Top {
    /// As `insert`, but an equal value takes the slot and moves the old one on.
    fn insert_before_equals(&mut self, value: f32) {
        let mut carry = value;
        for slot in &mut self.slots[..self.filled] {
            if carry >= *slot {
                std::mem::swap(slot, &mut carry);
            }
        }
        if self.filled < SLOTS {
            self.slots[self.filled] = carry;
            self.filled += 1;
        }
    }
}

/// Which of the eight values have been found in the data.
struct Matches {
    values: [f32; SLOTS],
    index: [u32; SLOTS],
    open: u8,
    descending: bool,
}

impl Matches {
    fn new(values: &Src, lane: usize, descending: bool) -> Self {
        let mut m = Matches { values: [0.0; SLOTS], index: [NOT_FOUND; SLOTS], open: u8::MAX, descending };
        values.read_f32(lane, 0, &mut m.values);
        m
    }

    /// [`Matches::meet`] for elements from position `start`; an element that matches a value is replaced by `with`.
    fn meet_all(&mut self, elements: &mut [f32], start: usize, with: Option<f32>) {
        // Nearly all elements match nothing; that is tested for many of them together, quickly.
        const TOGETHER: usize = 64;
        for (block, part) in elements.chunks_mut(TOGETHER).enumerate() {
            let mut any = false;
            meets_any(&self.values, part, &mut any);
            if !any {
                continue;
            }
            for (k, v) in part.iter_mut().enumerate() {
                if self.meet(*v, start + block * TOGETHER + k)
                    && let Some(with) = with
                {
                    *v = with;
                }
            }
        }
    }

    /// True when a value that is not found yet equals the element; that value is then found.
    fn meet(&mut self, element: f32, index: usize) -> bool {
        let hits = self.values.iter().enumerate().fold(0u8, |h, (k, v)| h | (u8::from(element == *v) << k)) & self.open;
        if hits == 0 {
            return false;
        }
        let k = if self.descending { 7 - hits.leading_zeros() } else { hits.trailing_zeros() } as usize;
        self.open &= !(1 << k);
        self.index[k] = index as u32;
        true
    }
}

per_isa! {
    /// One of the elements equals one of the values.
    fn meets_any(values: &[f32; SLOTS], elements: &[f32], any: &mut bool) {
        let mut hit = 0u32;
        for e in elements {
            let mut here = 0u32;
            for v in values {
                here |= u32::from(*e == *v);
            }
            hit |= here;
        }
        *any = hit != 0;
    }
}

fn write_indices(dst: &mut Dst, lane: usize, index: &[u32; SLOTS], profile: &Profile) -> Result<()> {
    let mut out = [0u8; SLOTS * 8];
    let bytes = &mut out[..SLOTS * dst.dtype().size()];
    cast::cast(Dtype::Uint32, dst.dtype(), profile.fp8(), bytemuck::cast_slice(index), bytes)?;
    dst.scatter(lane, 0, bytes);
    Ok(())
}

/// For each of the eight values the position of its first occurrence, one element per value: equal values get successive
/// occurrences. A value that does not occur, or is a NaN, gets [`NOT_FOUND`].
pub fn max_index(values: &Src, data: &Src, dst: &mut Dst, profile: &Profile) -> Result<()> {
    check_data("ins[1]", data)?;
    check_unpacked(values.dtype()).map_err(|e| e.operand("ins[0]"))?;
    check_slots("ins[0]", values.lanes(), values.lane_len(), data)?;
    check_slots("outs[0]", dst.lanes(), dst.lane_len(), data)?;
    castable(Dtype::Uint32, dst.dtype(), profile)?;
    dst.for_lanes(data.len(), |dst, lane| {
        let mut matches = Matches::new(values, lane, false);
        let mut buffer = [0f32; CHUNK];
        chunks(data.lane_len(), |start, n| {
            if matches.open != 0 {
                data.read_f32(lane, start, &mut buffer[..n]);
                matches.meet_all(&mut buffer[..n], start, None);
            }
            Ok(())
        })?;
        write_indices(dst, lane, &matches.index, profile)
    })
}

/// Copies the data and writes `imm_value` over the first occurrence of each of the eight values; with `indices` also
/// writes their positions, as [`max_index`] does.
pub fn match_replace<'a>(
    imm_value: f32,
    values: &Src,
    data: &Src,
    dst: &'a mut Dst,
    indices: Option<&'a mut Dst>,
    profile: &Profile,
) -> Result<()> {
    check_data("ins[1]", data)?;
    check_unpacked(values.dtype()).map_err(|e| e.operand("ins[0]"))?;
    check_slots("ins[0]", values.lanes(), values.lane_len(), data)?;
    same_shape("ins[1]", data, dst)?;
    castable(Dtype::Float32, dst.dtype(), profile)?;
    let mut splits = dst.pattern().lanes_disjoint();
    if let Some(i) = &indices {
        check_slots("outs[1]", i.lanes(), i.lane_len(), data)?;
        castable(Dtype::Uint32, i.dtype(), profile)?;
        splits &= i.pattern().lanes_disjoint();
    }
    let whole = (dst.reborrow(), indices.map(Dst::reborrow));
    let cut = |(dst, indices): (Dst<'a>, Option<Dst<'a>>), lane| {
        let (dst, indices) = (dst.split_at(lane), indices.map(|i| i.split_at(lane)).unzip());
        ((dst.0, indices.0), (dst.1, indices.1))
    };
    for_pieces(whole, data.lanes(), data.len(), splits, cut, |(dst, indices), mut lanes| {
        lanes.try_for_each(|lane| {
            let mut matches = Matches::new(values, lane, profile.match_replace_descending);
            let mut buffer = [0f32; CHUNK];
            chunks(data.lane_len(), |start, n| {
                let buffer = &mut buffer[..n];
                data.read_f32(lane, start, buffer);
                if matches.open != 0 {
                    matches.meet_all(buffer, start, Some(imm_value));
                }
                dst.write_f32(lane, start, buffer, profile.fp8());
                Ok(())
            })?;
            match indices {
                Some(i) => write_indices(i, lane, &matches.index, profile),
                None => Ok(()),
            }
        })
    })
}

/// Partitions between two that NonzeroWithCount works on.
pub const NONZERO_STEP: usize = 16;

/// NonzeroWithCount: on partitions 0, 16, 32, .. writes the positions of the non-zero elements plus `index_offset`, then
/// `padding`, and in the last element their count. Other partitions stay untouched. An extension: the documented
/// simulator has no such kernel (`opcodes.md` 4).
pub fn nonzero_with_count(index_offset: i32, padding: i32, src: &Src, dst: &mut Dst) -> Result<()> {
    check_unpacked(src.dtype()).map_err(|e| e.operand("ins[0]"))?;
    if !matches!(dst.dtype(), Dtype::Int32 | Dtype::Uint32) {
        return Err(Error::new(Code::S007, "positions and count are int32").received(dst.dtype()).operand("outs[0]"));
    }
    if dst.lanes() != src.lanes() || dst.lane_len() != src.lane_len() + 1 {
        return Err(shapes("ins[0]", src, dst).advice("the result has one element more per partition: the count"));
    }
    dst.for_lane_groups(NONZERO_STEP, src.len() / NONZERO_STEP, |dst, mut groups| {
        groups.try_for_each(|group| {
            let lane = group * NONZERO_STEP;
            let mut values = [0i64; CHUNK];
            let mut found = 0usize;
            chunks(src.lane_len(), |start, n| {
                nonzero(src, lane, start, &mut values[..n]);
                for (k, _) in values[..n].iter().enumerate().filter(|(_, v)| **v != 0) {
                    let position = index_offset.wrapping_add((start + k) as i32);
                    dst.scatter(lane, found, &position.to_le_bytes());
                    found += 1;
                }
                Ok(())
            })?;
            for at in found..src.lane_len() {
                dst.scatter(lane, at, &padding.to_le_bytes());
            }
            dst.scatter(lane, src.lane_len(), &(found as i32).to_le_bytes());
            Ok(())
        })
    })
}

/// 1 for every element that is not zero; NaN is not zero.
fn nonzero(src: &Src, lane: usize, start: usize, out: &mut [i64]) {
    if src.dtype().is_integer() {
        return src.read_i64(lane, start, out);
    }
    let mut hub = [0f32; CHUNK];
    src.read_f32(lane, start, &mut hub[..out.len()]);
    out.iter_mut().zip(hub).for_each(|(o, v)| *o = i64::from(v != 0.0));
}
