//! How two patterns of one instruction overlap; decides whether a source must be staged (ruling D34).

use birsim_kernels::access::Pattern;

/// Relation of a source to a destination in the same arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// No byte in common.
    Disjoint,
    /// The same elements in the same order, none of them twice.
    Identical,
    /// Anything else.
    Other,
}

/// Overlap class of two patterns of the same arena. Judged by extents, so interleaved patterns count as `Other`.
pub fn classify(src: &Pattern, dst: &Pattern) -> Overlap {
    match (src.extent(), dst.extent()) {
        (Some((a, b)), Some((c, d))) if a < d && c < b => {
            // A pattern that meets an element twice reads it again after the first write.
            if src == dst && dst.elements_disjoint() { Overlap::Identical } else { Overlap::Other }
        }
        _ => Overlap::Disjoint,
    }
}

/// How the inputs of an instruction lie to its outputs, by operand (over ins, outs, indirection_ins).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overlaps {
    meets: u32,
    same: u32,
}

/// Operands from this one on are judged together.
const LAST: usize = 31;

impl Overlaps {
    /// Notes input `k` against output `o` of the same arena.
    pub fn note(&mut self, k: usize, o: usize, src: &Pattern, dst: &Pattern) {
        let class = classify(src, dst);
        if class == Overlap::Disjoint {
            return;
        }
        let (bit, first) = (1 << k.min(LAST), self.meets & (1 << k.min(LAST)) == 0);
        self.meets |= bit;
        // What also meets another output, or is one of many, is copied.
        if class == Overlap::Identical && o == 0 && first && k < LAST {
            self.same |= bit;
        } else {
            self.same &= !bit;
        }
    }

    /// Input `k` has bytes in common with an output: the kernel gets a copy, unless it works in place.
    pub fn meets(&self, k: usize) -> bool {
        self.meets & (1 << k.min(LAST)) != 0
    }

    /// Some input has bytes in common with an output.
    pub fn any(&self) -> bool {
        self.meets != 0
    }

    /// Input `k` has the elements of output 0, in the same order, and no byte of another output.
    pub fn same(&self, k: usize) -> bool {
        k < LAST && self.same & (1 << k) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use birsim_kernels::Dtype;
    use birsim_kernels::access::Pair;

    fn pattern(base: i64, pairs: &[(i64, u32)]) -> Pattern {
        let pairs: Vec<Pair> = pairs.iter().map(|(stride, num)| Pair { stride: *stride, num: *num }).collect();
        Pattern::new(Dtype::Float32, base, &pairs).unwrap()
    }

    #[test]
    fn d34_a_broadcast_destination_is_never_worked_on_in_place() {
        let dense = pattern(0, &[(64, 4), (4, 16)]);
        assert_eq!(classify(&dense, &dense), Overlap::Identical);
        assert_eq!(classify(&dense, &pattern(256, &[(64, 4), (4, 16)])), Overlap::Disjoint);
        assert_eq!(classify(&dense, &pattern(4, &[(64, 4), (4, 16)])), Overlap::Other);
        for pairs in [[(64, 4), (0, 16)], [(0, 4), (4, 16)], [(4, 4), (4, 16)]] {
            let p = pattern(0, &pairs);
            assert_eq!(classify(&p, &p), Overlap::Other, "{pairs:?}");
        }
    }
}
