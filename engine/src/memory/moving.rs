//! Patterns whose offset is known only when the instruction runs. Everything else about them is decided at load: counts,
//! strides, and which offsets keep every element inside the location.

use super::LocationInfo;
use super::layout::{Steps, in_one_bank, reach, steps};
use crate::ir::ApPair;
use birsim_kernels::Dtype;
use birsim_kernels::access::Pattern;
use std::ops::RangeInclusive;

/// A pattern of a location without its offset.
#[derive(Clone, Debug)]
pub struct Moving {
    steps: Steps,
    /// The pattern with its first element at the location's first byte.
    pattern: Pattern,
    /// Offsets that keep every element inside the location.
    inside: RangeInclusive<i64>,
}

impl Moving {
    /// `None` where the offset decides more than where the pattern starts, or where no offset is good:
    /// [`resolve`](super::resolve) then judges each offset in full.
    pub fn of(loc: &LocationInfo, dtype: Dtype, ap: &[ApPair]) -> Option<Moving> {
        let size = dtype.size() as u64;
        let fits = loc.rules.check(loc.dtype, dtype, ap).is_ok() && loc.row_bytes.is_multiple_of(size);
        if !fits || ap.iter().any(|p| p.num == 0) || !in_one_bank(loc) {
            return None;
        }
        let (lo, hi) = reach(0, ap).ok()?;
        let last = i128::from(loc.bytes() / size) - 1 - hi;
        let inside = i64::try_from(-lo).ok()?..=i64::try_from(last).ok()?;
        if inside.is_empty() {
            return None;
        }
        let (pairs, steps) = steps(loc, dtype, ap).ok()?;
        let pattern = Pattern::new(dtype, loc.start as i64, &pairs).ok()?;
        Some(Moving { steps, pattern, inside })
    }

    /// The pattern at an offset in elements; `None` when it leaves the location there, or runs across the end of a row.
    #[inline]
    pub fn at(&self, offset: i64) -> Option<Pattern> {
        if !self.inside.contains(&offset) {
            return None;
        }
        let bytes = self.steps.bytes_to(offset)?;
        Some(self.pattern.clone().shifted(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::MemoryType;
    use crate::memory::{ArenaId, PlaceRules, resolve};

    fn place(row_stride: u64, ty: MemoryType, bank_offset: u64) -> LocationInfo {
        LocationInfo {
            arena: ArenaId(0),
            base: 0,
            start: 64,
            row_stride,
            row_bytes: 32,
            rows: 4,
            ty,
            dtype: Dtype::Float32,
            bank_offset,
            rules: PlaceRules::default(),
        }
    }

    /// Whatever the offset, the prepared pattern is the one that resolving in full makes, or leaves the judgement to it.
    #[test]
    fn every_offset_gives_what_resolving_in_full_gives() {
        let pairs = |list: &[(i64, i64)]| -> Vec<ApPair> {
            list.iter().map(|(step, num)| ApPair { step: *step, num: *num }).collect()
        };
        let shapes = [
            pairs(&[(8, 1), (1, 1)]),
            pairs(&[(8, 2), (1, 3)]),
            pairs(&[(-8, 2), (-1, 3)]),
            pairs(&[(1, 1), (3, 4)]),
            pairs(&[(16, 2), (0, 5), (2, 2)]),
            pairs(&[(8, 5), (1, 1)]),
            pairs(&[(8, 1), (1, 0)]),
        ];
        let mut moved = 0;
        for place in [place(32, MemoryType::Dram, 0), place(100, MemoryType::Sb, 0), place(100, MemoryType::Psum, 2040)]
        {
            for ap in &shapes {
                let moving = Moving::of(&place, Dtype::Float32, ap);
                for offset in -40..40 {
                    let full = resolve(&place, Dtype::Float32, offset, ap);
                    let Some(prepared) = moving.as_ref().and_then(|m| m.at(offset)) else { continue };
                    assert_eq!(prepared, full.unwrap(), "{place:?} {ap:?} {offset}");
                    moved += 1;
                }
            }
        }
        assert_eq!(moved, 193);
    }
}
