//! RangeSelect (63).

use crate::access::{CHUNK, Dst, Imm, Input, Src, chunks};
use crate::accumulate::Epilogue;
use crate::alu::{AluOp, and_compare};
use crate::cast::check_unpacked;
use crate::iota::comparison;
use crate::isa::per_isa;
use crate::movement::{castable, each_lane, merge, read_as, repeat, same_shape, scalar_as, shapes};
use crate::profile::RangeCompares;
use crate::{Code, Dtype, Error, Profile, Result};

/// Fields and optional operands of RangeSelect.
pub struct RangeSelect<'a> {
    /// Index of the first element of a lane.
    pub base: i64,
    /// Comparison of the index with the first bound.
    pub compare_op0: AluOp,
    /// Comparison of the index with the second bound.
    pub compare_op1: AluOp,
    /// Written outside the range.
    pub fill_value: f32,
    /// Partitions in use; 0 means all partitions of the pattern.
    pub num_active_channels: i64,
    /// Fold of the resulting rows into the engine's accumulator.
    pub epilogue: Option<Epilogue<'a>>,
}

/// Keeps the element at position i when (base + i) passes both comparisons, else writes the fill value
/// (`alu.md` 6.10). Index and bounds compare as float32; bounds are a number or one per partition.
pub fn range_select(
    p: &RangeSelect,
    src: &Src,
    bound0: &Input,
    bound1: &Input,
    dst: &mut Dst,
    profile: &Profile,
) -> Result<()> {
    same_shape("ins[0]", src, dst)?;
    castable(src.dtype(), dst.dtype(), profile)?;
    let compare = [comparison("RangeSelect", p.compare_op0)?, comparison("RangeSelect", p.compare_op1)?];
    let bounds = [("ins[1]", bound0), ("ins[2]", bound1)];
    for (name, bound) in bounds {
        if let Input::View(v) = bound
            && (v.lanes() != dst.lanes() || v.lane_len() != 1)
        {
            return Err(shapes(name, v, dst).advice("a bound is a number or one element per partition"));
        }
        check_unpacked(bound.dtype()).map_err(|e| e.operand(name))?;
    }
    if p.num_active_channels != 0 && p.num_active_channels != dst.lanes() as i64 {
        return Err(Error::new(Code::U002, "RangeSelect over a part of the partitions is not described")
            .received(p.num_active_channels)
            .operand("num_active_channels"));
    }
    let (dtype, cfg) = (dst.dtype(), profile.fp8());
    if let Some(e) = &p.epilogue {
        e.check(dst.lanes())?;
        check_unpacked(src.dtype()).map_err(|e| e.operand("ins[0]"))?;
    }
    let fill = scalar_as(Imm::f32(p.fill_value), dtype, profile)?;
    let fill = &fill[..dtype.size()];
    let by_value = profile.range_select_compares == RangeCompares::Value;
    if by_value {
        check_unpacked(src.dtype()).map_err(|e| e.operand("ins[0]"))?;
    }
    each_lane(dst, dst.len(), |dst, lane, [index, input, result]| {
        let (lo, hi) = (bound(bound0, lane), bound(bound1, lane));
        let mut fold = p.epilogue.as_ref().and_then(|e| e.lane(lane, dtype));
        let mut take = [false; CHUNK];
        chunks(dst.lane_len(), |start, n| {
            let index: &mut [f32] = bytemuck::cast_slice_mut(index.bytes(n, Dtype::Float32));
            match by_value {
                true => src.read_f32(lane, start, index),
                false => positions(p.base.wrapping_add(start as i64), index),
            }
            take[..n].fill(true);
            and_compare(compare[0], index, lo, &mut take[..n]);
            and_compare(compare[1], index, hi, &mut take[..n]);
            if let Some(fold) = &mut fold {
                // The fold sees the values before they are rounded, so it reads the input before anything is written.
                let mut values = [0f32; CHUNK];
                src.read_f32(lane, start, &mut values[..n]);
                for (v, t) in values.iter_mut().zip(&take[..n]) {
                    *v = if *t { *v } else { p.fill_value };
                }
                fold.extend(&values[..n]);
            }
            let (input, result) = (input.bytes(n, dtype), result.bytes(n, dtype));
            read_as(src, lane, start, dtype, cfg, input);
            repeat(fill, result);
            merge(dtype.size(), &take[..n], input, result);
            dst.scatter(lane, start, result);
            Ok(())
        })?;
        if let Some(fold) = fold {
            fold.finish();
        }
        Ok(())
    })
}

per_isa! {
    /// first, first + 1 .. as float32.
    fn positions(first: i64, out: &mut [f32]) {
        for (k, o) in out.iter_mut().enumerate() {
            *o = first.wrapping_add(k as i64) as f32;
        }
    }
}

fn bound(input: &Input, lane: usize) -> f32 {
    match input {
        Input::Imm(imm) => imm.as_f32(),
        Input::View(v) => {
            let mut out = [0.0];
            v.read_f32(lane, 0, &mut out);
            out[0]
        }
    }
}
