//! GetSequenceBounds (64).

use crate::access::{Dst, Src};
use crate::movement::castable;
use crate::{Profile, Result, cast};

/// Start and end of the run of equal ids around every position (GetSequenceBounds, 64).
///
/// The result holds per lane all starts, then all ends; ends are exclusive. Id 0 is padding and gives (n, -1)
/// (`opcodes.md` 13).
pub fn sequence_bounds(ids: &Src, dst: &mut Dst, profile: &Profile) -> Result<()> {
    let n = ids.lane_len();
    if ids.lanes() != dst.lanes() || dst.lane_len() != 2 * n {
        return Err(crate::movement::shapes("ins[0]", ids, dst)
            .advice("the result holds two values, start and end, for each segment id"));
    }
    cast::check_unpacked(ids.dtype())?;
    castable(ids.dtype(), dst.dtype(), profile)?;
    dst.for_lanes(dst.len(), |dst, lane| {
        let mut run_start = 0;
        while run_start < n {
            let id = Id::at(ids, lane, run_start);
            let mut end = run_start + 1;
            while end < n && Id::at(ids, lane, end) == id {
                end += 1;
            }
            let (first, last) = if id.is_padding() { (n as i64, -1) } else { (run_start as i64, end as i64) };
            for at in run_start..end {
                put(dst, lane, at, first, profile);
                put(dst, lane, n + at, last, profile);
            }
            run_start = end;
        }
        Ok(())
    })
}

/// A segment id: integers compare exactly, floats by value.
#[derive(Clone, Copy, PartialEq)]
enum Id {
    Int(i64),
    Float(f32),
}

impl Id {
    fn at(ids: &Src, lane: usize, index: usize) -> Id {
        if ids.dtype().is_integer() {
            let mut v = [0];
            ids.read_i64(lane, index, &mut v);
            return Id::Int(v[0]);
        }
        let mut v = [0.0];
        ids.read_f32(lane, index, &mut v);
        Id::Float(v[0])
    }

    fn is_padding(self) -> bool {
        match self {
            Id::Int(v) => v == 0,
            Id::Float(v) => v == 0.0,
        }
    }
}

fn put(dst: &mut Dst, lane: usize, index: usize, value: i64, profile: &Profile) {
    let mut out = [0; 8];
    let bytes = &mut out[..dst.dtype().size()];
    if dst.dtype().is_signed() {
        cast::encode_i64(dst.dtype(), profile.fp8(), &[value], bytes);
    } else {
        cast::encode_f32(dst.dtype(), profile.fp8(), &[value as f32], bytes);
    }
    dst.scatter(lane, index, bytes);
}
