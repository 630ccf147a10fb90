//! The modes of DMACopy (32) and the bodies of DMADescriptorTranspose, -Replicate and -CCE (70 to 72): transpose,
//! replicate, in-flight reduction, and a copy that adds into its destination.

use crate::access::{Dst, Pair, Pattern, Src, chunks, for_lanes};
use crate::agree::{Block, Linear, castable, each_lane, read_as, shapes};
use crate::alu::{AluOp, float_op};
use crate::cast::dispatch::per_isa;
use crate::cast::{self, MemoryReductionOp, check_unpacked};
use crate::copy::copy;
use crate::elementwise::Number;
use crate::profile::{CceStart, ReplicateRows};
use crate::{Code, Dtype, Error, Profile, Result};
use std::sync::Arc;

crate::named_enum! {
    /// Axis permutations of the DMA transpose; the name lists the destination's axes, outermost first.
    TransposeOps {
        None = 0, "None";
        Wzxy = 1, "WZXY";
        Wxzy = 2, "WXZY";
        Wyxz = 3, "WYXZ";
        Zwyx = 4, "ZWYX";
        Zywx = 5, "ZYWX";
        Zyxw = 6, "ZYXW";
        Yxwz = 7, "YXWZ";
        Yxzw = 8, "YXZW";
        Ywzx = 9, "YWZX";
        Xwzy = 10, "XWZY";
        Xzyw = 11, "XZYW";
        Xyzw = 12, "XYZW";
        Xywz = 13, "XYWZ";
    }
}

impl TransposeOps {
    /// For each destination axis the source axis, W = 0 to X = 3 (`bir-model.md` 2.5).
    pub const fn axes(self) -> [usize; 4] {
        match self {
            TransposeOps::None => [0, 1, 2, 3],
            TransposeOps::Wzxy => [0, 1, 3, 2],
            TransposeOps::Wxzy => [0, 3, 1, 2],
            TransposeOps::Wyxz => [0, 2, 3, 1],
            TransposeOps::Zwyx => [1, 0, 2, 3],
            TransposeOps::Zywx => [1, 2, 0, 3],
            TransposeOps::Zyxw => [1, 2, 3, 0],
            TransposeOps::Yxwz => [2, 3, 0, 1],
            TransposeOps::Yxzw => [2, 3, 1, 0],
            TransposeOps::Ywzx => [2, 0, 1, 3],
            TransposeOps::Xwzy => [3, 0, 1, 2],
            TransposeOps::Xzyw => [3, 1, 2, 0],
            TransposeOps::Xyzw => [3, 2, 1, 0],
            TransposeOps::Xywz => [3, 2, 0, 1],
        }
    }
}

/// Permutes the axes of the source: destination axis k runs over source axis `op.axes()[k]`.
///
/// A source of fewer than four pairs gets unit axes after its first one. The destination takes the elements in its own
/// order, whatever its shape.
pub fn transpose(op: TransposeOps, src: &Src, dst: &Dst, profile: &Profile) -> Result<()> {
    if op == TransposeOps::None {
        return copy(src, dst, profile);
    }
    let pattern = permuted(src.pattern(), op.axes())?;
    copy(&src.reshaped(pattern)?, dst, profile)
}

fn permuted(pattern: &Pattern, axes: [usize; 4]) -> Result<Pattern> {
    let given = pattern.pairs();
    if given.len() > 4 {
        return Err(Error::new(Code::S008, "DMA Transpose must have 4-D access pattern")
            .received(format!("{} pairs", given.len()))
            .operand("ins[0]"));
    }
    let mut source = [Pair { stride: 0, num: 1 }; 4];
    source[0] = given[0];
    source[5 - given.len()..].copy_from_slice(&given[1..]);
    let pairs = axes.map(|a| source[a]);
    let Some(list) = pattern.offsets() else { return pattern.with_pairs(&pairs) };
    // Explicit offsets are reordered one by one.
    let mut step = [1usize; 4];
    for k in (0..3).rev() {
        step[k] = step[k + 1] * source[k + 1].num as usize;
    }
    let nums = pairs.map(|p| p.num);
    let mut order = Vec::with_capacity(list.len());
    for a in 0..nums[0] as usize {
        for b in 0..nums[1] as usize {
            for c in 0..nums[2] as usize {
                for d in 0..nums[3] as usize {
                    order.push(list[a * step[axes[0]] + b * step[axes[1]] + c * step[axes[2]] + d * step[axes[3]]]);
                }
            }
        }
    }
    Pattern::listed(pattern.dtype(), &nums, Arc::from(order))
}

/// Destination row r takes source row r mod rows (ruling D16), or blocks of rows take the same one.
pub fn replicate(src: &Src, dst: &Dst, profile: &Profile) -> Result<()> {
    castable(src.dtype(), dst.dtype(), profile)?;
    if dst.is_empty() {
        return Ok(());
    }
    if src.lanes() == 0 || src.lane_len() != dst.lane_len() {
        return Err(shapes("ins[0]", src, dst));
    }
    let (dtype, cfg) = (dst.dtype(), profile.fp8());
    let cyclic = profile.replicate_rows == ReplicateRows::Cyclic;
    let row = |lane: usize| if cyclic { lane % src.lanes() } else { lane * src.lanes() / dst.lanes() };
    for_lanes(dst.lanes(), dst.len(), dst.pattern().lanes_disjoint(), |lane| {
        let mut block = Block::new();
        chunks(dst.lane_len(), |start, n| {
            let bytes = block.bytes(n, dtype);
            read_as(src, row(lane), start, dtype, cfg, bytes);
            dst.scatter(lane, start, bytes);
            Ok(())
        })
    })
}

/// Fields of the CCE mode.
#[derive(Clone, Debug)]
pub struct Cce<'a> {
    /// add, max or min.
    pub op: AluOp,
    /// One factor per source, used by add; empty when there are none.
    pub constants: &'a [f32],
}

/// Reduces N sources in float32 (ruling D15).
///
/// add: acc = 0, then acc = acc + c * in, product and sum rounded separately. max and min: the first source seeds the
/// accumulator, later ones follow the SSE rule with the accumulator as second operand, so it wins on NaN and ties.
pub fn cce(p: &Cce, sources: &[Src], dst: &Dst, profile: &Profile) -> Result<()> {
    let op = match p.op {
        AluOp::Add => None,
        AluOp::Max | AluOp::Min => {
            Some(float_op(p.op, &Profile { float_max_min: profile.cce_max_min, ..profile.clone() })?)
        }
        other => {
            return Err(Error::new(Code::S006, "an in-flight reduction knows add, max and min").received(other));
        }
    };
    if sources.is_empty() {
        return Err(Error::new(Code::J009, "an in-flight reduction needs at least one source"));
    }
    if !p.constants.is_empty() && p.constants.len() != sources.len() {
        return Err(Error::new(Code::S008, "an in-flight reduction has one constant per source")
            .received(format!("{} constants for {} sources", p.constants.len(), sources.len()))
            .operand("constants"));
    }
    check_unpacked(dst.dtype()).map_err(|e| e.operand("outs[0]"))?;
    let mut from = Vec::with_capacity(sources.len());
    for (k, s) in sources.iter().enumerate() {
        let name = format!("ins[{k}]");
        check_unpacked(s.dtype()).map_err(|e| e.operand(name.clone()))?;
        castable(Dtype::Float32, dst.dtype(), profile).map_err(|e| e.operand("outs[0]"))?;
        from.push(Linear::new(&name, s, dst)?);
    }
    let from_first = profile.cce_start == CceStart::First;
    let elements = dst.len().saturating_mul(from.len());
    // The destination itself can be the accumulator, when nothing else reads it and nothing is rounded on the way.
    let apart = dst.dtype() == Dtype::Float32 && sources.iter().all(|s| !dst.starts_at(s));
    let factor = |k: usize| p.constants.get(k).copied();
    each_lane(dst.lanes(), elements, dst.pattern().lanes_disjoint(), |lane, [acc, input, other]| {
        chunks(dst.lane_len(), |start, n| {
            // SAFETY: sources are disjoint from the destination or identical to it, and `apart` excludes the latter.
            let direct = if apart { unsafe { f32::in_place_mut(dst, lane, start, n) } } else { None };
            let stored = direct.is_some();
            let acc = direct.unwrap_or_else(|| bytemuck::cast_slice_mut(acc.bytes(n, Dtype::Float32)));
            let buf: &mut [f32] = bytemuck::cast_slice_mut(input.bytes(n, Dtype::Float32));
            let second: &mut [f32] = bytemuck::cast_slice_mut(other.bytes(n, Dtype::Float32));
            match op {
                None if from_first => {
                    for (k, s) in from.iter().enumerate() {
                        let input = s.floats(lane, start, &mut *buf);
                        match factor(k) {
                            c if k > 0 => add_scaled(acc, (input, c), None, false),
                            Some(c) => acc.iter_mut().zip(input).for_each(|(a, x)| *a = c * x),
                            None => acc.copy_from_slice(input),
                        }
                    }
                }
                // Two sources at a time halve the walks over the accumulator; its order stays.
                None => {
                    for (j, pair) in from.chunks(2).enumerate() {
                        let x = (pair[0].floats(lane, start, &mut *buf), factor(2 * j));
                        let y = pair.get(1).map(|s| (s.floats(lane, start, &mut *second), factor(2 * j + 1)));
                        add_scaled(acc, x, y, j == 0);
                    }
                }
                Some(op) => {
                    for (k, s) in from.iter().enumerate() {
                        let input = s.floats(lane, start, &mut *buf);
                        if k == 0 {
                            acc.copy_from_slice(input);
                        } else {
                            op.apply_reversed(acc, input);
                        }
                    }
                }
            }
            if !stored {
                dst.write_f32(lane, start, acc, profile.fp8());
            }
            Ok(())
        })
    })
}

/// Values and their factor.
type Scaled<'a> = (&'a [f32], Option<f32>);

per_isa! {
    /// acc = acc + c * x, then the same for `y`; from 0 when `first`.
    fn add_scaled, add_scaled_on(acc: &mut [f32], x: Scaled, y: Option<Scaled>, first: bool) = add_scaled_body;
}

#[inline(always)]
fn add_scaled_body(acc: &mut [f32], (x, c): Scaled, y: Option<Scaled>, first: bool) {
    // One is exact, and the sum quiets the same NaN.
    let c = c.unwrap_or(1.0);
    match y {
        Some((y, d)) => {
            let d = d.unwrap_or(1.0);
            let sources = acc.iter_mut().zip(x).zip(y);
            if first {
                sources.for_each(|((a, x), y)| *a = 0.0 + c * x + d * y);
            } else {
                sources.for_each(|((a, x), y)| *a = *a + c * x + d * y);
            }
        }
        None if first => acc.iter_mut().zip(x).for_each(|(a, x)| *a = 0.0 + c * x),
        None => acc.iter_mut().zip(x).for_each(|(a, x)| *a += c * x),
    }
}

/// A copy that combines with what the destination holds (`numerics.md` 5): the source is cast to the destination's
/// dtype first, then accumulated with the FP8 flags off.
pub fn accumulate_copy(op: MemoryReductionOp, src: &Src, dst: &Dst, profile: &Profile) -> Result<()> {
    if op == MemoryReductionOp::Copy {
        return copy(src, dst, profile);
    }
    castable(src.dtype(), dst.dtype(), profile)?;
    let from = Linear::new("ins[0]", src, dst)?;
    let (dtype, cfg) = (dst.dtype(), profile.fp8());
    for_lanes(dst.lanes(), dst.len(), dst.pattern().lanes_disjoint(), |lane| {
        let (mut input, mut old) = (Block::new(), Block::new());
        chunks(dst.lane_len(), |start, n| {
            let (input, old) = (input.bytes(n, dtype), old.bytes(n, dtype));
            from.read_as(lane, start, dtype, cfg, input);
            dst.as_src().gather(lane, start, old);
            cast::accumulate(op, dtype, old, input)?;
            dst.scatter(lane, start, old);
            Ok(())
        })
    })
}
