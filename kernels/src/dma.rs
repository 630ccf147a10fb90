//! The modes of DMACopy (32) and the bodies of DMADescriptorTranspose, -Replicate and -CCE (70 to 72): transpose,
//! replicate, in-flight reduction, and a copy that adds into its destination.

use crate::access::{Dst, Pair, Pattern, Src, chunks};
use crate::alu::{AluOp, Operation, float_op};
use crate::cast::{self, MemoryReductionOp, check_unpacked};
use crate::copy::copy;
use crate::elementwise::Number;
use crate::isa::per_isa;
use crate::movement::{Block, Linear, castable, each_lane, read_as, shapes};
use crate::profile::{CceStart, ReplicateRows};
use crate::{Code, Dtype, Error, Profile, Result};
use arrayvec::ArrayVec;
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
    /// For each destination axis the source axis, W = 0 to X = 3 (`opcodes.md` 2.2).
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
pub fn transpose(op: TransposeOps, src: &Src, dst: &mut Dst, profile: &Profile) -> Result<()> {
    if op == TransposeOps::None {
        return copy(src, dst, profile);
    }
    let pattern = permuted(src.pattern(), op.axes())?;
    copy(&src.reshaped(&pattern)?, dst, profile)
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
pub fn replicate(src: &Src, dst: &mut Dst, profile: &Profile) -> Result<()> {
    castable(src.dtype(), dst.dtype(), profile)?;
    if dst.is_empty() {
        return Ok(());
    }
    if src.lanes() == 0 || src.lane_len() != dst.lane_len() {
        return Err(shapes("ins[0]", src, dst));
    }
    let (dtype, cfg) = (dst.dtype(), profile.fp8());
    let cyclic = profile.replicate_rows == ReplicateRows::Cyclic;
    let rows = dst.lanes();
    let row = |lane: usize| if cyclic { lane % src.lanes() } else { lane * src.lanes() / rows };
    dst.for_lanes(dst.len(), |dst, lane| {
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
pub fn cce(p: &Cce, sources: &[Src], dst: &mut Dst, profile: &Profile) -> Result<()> {
    let op = match p.op {
        AluOp::Add => None,
        AluOp::Max | AluOp::Min => Some(float_op(p.op, &Profile { float_max_min: profile.cce_max_min, ..*profile })?),
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
    let mut flat = vec![None; sources.len()];
    for ((k, s), flat) in sources.iter().enumerate().zip(&mut flat) {
        let name = format!("ins[{k}]");
        check_unpacked(s.dtype()).map_err(|e| e.operand(name.clone()))?;
        castable(Dtype::Float32, dst.dtype(), profile).map_err(|e| e.operand("outs[0]"))?;
        from.push(Linear::new(&name, s, dst, flat)?);
    }
    // -0 + x is x, for every x.
    let zero = if profile.cce_start == CceStart::First { -0.0 } else { 0.0 };
    let elements = dst.len().saturating_mul(from.len());
    // The destination itself can be the accumulator, when nothing is rounded on the way.
    let plain = dst.dtype() == Dtype::Float32;
    let factor = |k: usize| p.constants.get(k).copied();
    each_lane(dst, elements, |dst, lane, [acc, blocks @ ..]: &mut [Block; TOGETHER + 1]| {
        // A few sources that need no conversion need no pieces either: every value is read and written once.
        if plain && op.is_none() && from.len() <= TOGETHER && dst.lane_len() <= LONGEST {
            let len = dst.lane_len();
            let ready: ArrayVec<Scaled, TOGETHER> =
                (0..).zip(&from).map_while(|(k, s)| Some((s.whole_lane(lane, len)?, factor(k)))).collect();
            if ready.len() == from.len()
                && let Some(acc) = f32::in_place_mut(dst, lane, 0, len)
            {
                add_scaled(acc, &ready, Some(zero));
                return Ok(());
            }
        }
        chunks(dst.lane_len(), |start, n| {
            let mut run = |acc: &mut [f32]| {
                for (j, group) in from.chunks(TOGETHER).enumerate() {
                    let inputs: ArrayVec<Scaled, TOGETHER> = group
                        .iter()
                        .zip(blocks.iter_mut())
                        .zip(TOGETHER * j..)
                        .map(|((s, block), k)| {
                            let buf = bytemuck::cast_slice_mut(block.bytes(n, Dtype::Float32));
                            (s.floats(lane, start, buf), factor(k))
                        })
                        .collect();
                    let Some(op) = op else {
                        add_scaled(acc, &inputs, (j == 0).then_some(zero));
                        continue;
                    };
                    for (k, (input, _)) in inputs.iter().enumerate() {
                        if j == 0 && k == 0 {
                            acc.copy_from_slice(input);
                        } else {
                            op.apply_reversed(acc, input);
                        }
                    }
                }
            };
            match if plain { f32::in_place_mut(dst, lane, start, n) } else { None } {
                Some(acc) => run(acc),
                None => {
                    let acc = bytemuck::cast_slice_mut(acc.bytes(n, Dtype::Float32));
                    run(acc);
                    dst.write_f32(lane, start, acc, profile.fp8());
                }
            }
            Ok(())
        })
    })
}

/// Elements that are added between two checks whether the run should stop.
const LONGEST: usize = 1 << 20;

/// Sources that are added in one walk over the accumulator. Its order does not depend on it.
const TOGETHER: usize = 3;

/// Values and their factor.
type Scaled<'a> = (&'a [f32], Option<f32>);

per_isa! {
    /// acc = acc + c * x for one to three sources in turn, from `start` when there is one.
    fn add_scaled(acc: &mut [f32], sources: &[Scaled], start: Option<f32>) {
        match start {
            Some(start) => sum(acc, sources, |_| start),
            None => sum(acc, sources, |a| *a),
        }
    }
}

#[inline(always)]
fn sum(acc: &mut [f32], sources: &[Scaled], from: impl Fn(&f32) -> f32) {
    // A factor of one changes no value, and the sum quiets a NaN just as the product would.
    let one = |c: Option<f32>| c.unwrap_or(1.0);
    match *sources {
        [(x, c)] => {
            let c = one(c);
            acc.iter_mut().zip(x).for_each(|(a, x)| *a = from(a) + c * x);
        }
        [(x, c), (y, d)] => {
            let (c, d) = (one(c), one(d));
            acc.iter_mut().zip(x).zip(y).for_each(|((a, x), y)| *a = from(a) + c * x + d * y);
        }
        [(x, c), (y, d), (z, e)] => {
            let (c, d, e) = (one(c), one(d), one(e));
            acc.iter_mut().zip(x).zip(y).zip(z).for_each(|(((a, x), y), z)| *a = from(a) + c * x + d * y + e * z);
        }
        _ => debug_assert!(sources.is_empty(), "at most three"),
    }
}

/// A copy that combines with what the destination holds (`numerics.md` 5): the source is cast to the destination's
/// dtype first, then accumulated with the FP8 flags off.
pub fn accumulate_copy(op: MemoryReductionOp, src: &Src, dst: &mut Dst, profile: &Profile) -> Result<()> {
    if op == MemoryReductionOp::Copy {
        return copy(src, dst, profile);
    }
    castable(src.dtype(), dst.dtype(), profile)?;
    let mut flat = None;
    let from = Linear::new("ins[0]", src, dst, &mut flat)?;
    let (dtype, cfg) = (dst.dtype(), profile.fp8());
    dst.for_lanes(dst.len(), |dst, lane| {
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
