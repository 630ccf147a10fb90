//! How two patterns of one instruction overlap; decides whether a source must be staged (ruling D34).

use birsim_kernels::access::Pattern;

/// Relation of a source to a destination in the same arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// No byte in common.
    Disjoint,
    /// The same elements in the same order.
    Identical,
    /// Anything else.
    Other,
}

/// Overlap class of two patterns of the same arena. Judged by extents, so interleaved patterns count as `Other`.
pub fn classify(src: &Pattern, dst: &Pattern) -> Overlap {
    match (src.extent(), dst.extent()) {
        (Some((a, b)), Some((c, d))) if a < d && c < b => {
            if src == dst {
                Overlap::Identical
            } else {
                Overlap::Other
            }
        }
        _ => Overlap::Disjoint,
    }
}
