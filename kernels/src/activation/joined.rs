//! Dense operands without anything per partition, seen as fewer, longer lanes: each lane has a start that costs.

use super::{Activation, Front};
use crate::access::{CHUNK, Dst, Input, Src, piece_count};

/// Elements of a lane from which on its start does not show.
const LONG: usize = 64 * CHUNK;

/// The same elements in the same order, when every scalar is an immediate and nothing folds a partition.
pub(super) fn joined<'a>(p: &Activation, src: &Src<'a>, dst: &Dst<'a>) -> Option<(Src<'a>, Dst<'a>)> {
    let number = |input: &Input| input.view().is_none();
    let plain = match &p.front {
        Front::Affine { scale, bias } => number(scale) && number(bias),
        Front::Ops { stages } => stages.iter().all(|(_, scalar, _)| scalar.as_ref().is_none_or(number)),
    };
    if !plain || !number(&p.alpha) || p.epilogue.is_some() {
        return None;
    }
    let lanes = piece_count().max(16);
    let (from, to) = (src.pattern().long_lanes(lanes, LONG)?, dst.pattern().long_lanes(lanes, LONG)?);
    Some((src.reshaped(from).ok()?, dst.reshaped(to).ok()?))
}
