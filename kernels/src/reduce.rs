//! TensorReduce (27), `alu.md` 6.4: acc = x0; acc = op(acc, x_k) strictly in order, one rounding a step.

use crate::access::{CHUNK, Dst, Source, Src};
use crate::alu::{AluOp, Operation, address_op, average_op, float_op, int_op};
use crate::cast::{check_cast, check_unpacked};
use crate::elementwise::{AddressResult, Number, NumericPath, tensor_reduce_path, through_f32};
use crate::{Code, Dtype, Error, Profile, Result};

mod fold;
mod transpose;

use fold::{Rows, fold_all, fold_lanes};

crate::named_enum! {
    /// Which dimensions a reduction folds.
    AxisListType {
        X = 0, "X";
        XY = 1, "XY";
        XYZ = 2, "XYZ";
        XYZW = 3, "XYZW";
        XYZWC = 4, "XYZWC";
        C = 5, "C";
    }
}

/// Parameters of [`tensor_reduce`].
#[derive(Clone, Copy, Debug)]
pub struct TensorReduce {
    /// The fold.
    pub op: AluOp,
    /// The folded dimensions.
    pub axis: AxisListType,
    /// Negate each result.
    pub negate: bool,
    /// Swap partition and element inside 32 x 32 tiles first.
    pub apply_transpose: bool,
    /// Fold the result into the old output: out = op(result, out).
    pub accumulate: Option<AluOp>,
    /// The engine is Pool and no operand is in PSUM (ruling D4).
    pub on_pool: bool,
}

/// Folds the innermost dimensions of `src` (`axis` + 1 of them), or its partitions, into `dst`.
///
/// X to XYZW need that many pairs; a count that reaches the partition pair folds everything into one element, as XYZWC
/// does. C folds the partitions, one output per element of a partition.
pub fn tensor_reduce(p: &TensorReduce, src: &Src, dst: &mut Dst, profile: &Profile) -> Result<()> {
    check_unpacked(src.dtype())?;
    check_unpacked(dst.dtype())?;
    if matches!(p.axis, AxisListType::C | AxisListType::XYZWC) {
        check_cross_lane(p)?;
    }
    if p.apply_transpose {
        let (bytes, pattern) = transpose::transposed(src)?;
        return reduce(p, &Src::new(&bytes, &pattern)?, dst, profile);
    }
    reduce(p, src, dst, profile)
}

fn reduce(p: &TensorReduce, src: &Src, dst: &mut Dst, profile: &Profile) -> Result<()> {
    match tensor_reduce_path(p.op, p.on_pool, src.dtype(), dst.dtype(), profile) {
        NumericPath::Float => {
            check_cast(Dtype::Float32, dst.dtype(), profile)?;
            let rows = rows(p, src, dst)?;
            let accumulate = p.accumulate.map(|op| float_op(op, profile)).transpose()?;
            if p.op == AluOp::Average {
                // Division comes first: the fold starts at x0 / N, and its steps add (1/N) * x.
                let n = rows.extent;
                let run = Fold { op: average_op(n), seed: move |x: f32| x / n as f32, finish: |_: &mut [f32]| {} };
                return run.run(p, rows, accumulate, src, dst, profile);
            }
            let op = float_op(p.op, profile).map_err(unsupported)?;
            Fold { op, seed: |x| x, finish: |_: &mut [f32]| {} }.run(p, rows, accumulate, src, dst, profile)
        }
        NumericPath::Int => {
            check_cast(Dtype::Int32, dst.dtype(), profile)?;
            if through_f32::wanted(profile) && p.accumulate.is_none() {
                let p = TensorReduce { on_pool: false, ..*p };
                let source = Source::Apart(*src);
                return through_f32::run(&source, [None, None], dst, profile, |src, _, dst, profile| {
                    reduce(&p, src, dst, profile)
                });
            }
            let op = int_op(p.op).map_err(unsupported)?.under(profile);
            let accumulate = p.accumulate.map(|op| Ok(int_op(op)?.under(profile))).transpose()?;
            let rows = rows(p, src, dst)?;
            Fold { op, seed: |x: i32| x, finish: |_: &mut [i32]| {} }.run(p, rows, accumulate, src, dst, profile)
        }
        NumericPath::Address => {
            let op = address_op(p.op).map_err(unsupported)?.under(profile);
            let accumulate = p.accumulate.map(|op| Ok(address_op(op)?.under(profile))).transpose()?;
            let rows = rows(p, src, dst)?;
            let result = AddressResult::of(&[src.dtype()], dst.dtype());
            let finish = move |out: &mut [i64]| result.apply(out);
            Fold { op, seed: |x: i64| x, finish }.run(p, rows, accumulate, src, dst, profile)
        }
    }
}

#[cold]
fn unsupported(e: Error) -> Error {
    let op = e.received_value().unwrap_or("?").to_string();
    Error::new(Code::S006, format!("visitInstTensorReduce(): op {op} is not supported yet")).received(op)
}

/// The cross-lane reductions know six operations and no negation (`opcodes.md` 4).
fn check_cross_lane(p: &TensorReduce) -> Result<()> {
    let known = matches!(
        p.op,
        AluOp::Add | AluOp::Average | AluOp::Max | AluOp::BitwiseOr | AluOp::BitwiseAnd | AluOp::BitwiseXor
    );
    if !known {
        return Err(Error::new(Code::S006, format!("the cross-partition reduce does not support the ALU op {}", p.op))
            .received(p.op)
            .advice("use add, average, max, bitwise_or, bitwise_and or bitwise_xor"));
    }
    if p.negate {
        return Err(Error::new(Code::S008, "the cross-partition reduce cannot negate"));
    }
    Ok(())
}

/// Derives the rows that are folded and checks that `dst` has one element for each.
fn rows(p: &TensorReduce, src: &Src, dst: &Dst) -> Result<Rows> {
    let pairs = src.pattern().pairs();
    let folded = match p.axis {
        AxisListType::C => return rows_over_partitions(src, dst),
        AxisListType::XYZWC => pairs.len(),
        axis => axis as usize + 1,
    };
    if pairs.len() < folded {
        return Err(Error::new(
            Code::S008,
            format!("Input AP dimension should be larger than num_dims, which is {folded}"),
        )
        .received(format!("{} pairs", pairs.len())));
    }
    let whole = folded == pairs.len();
    let extent = if whole { src.len() } else { pairs[pairs.len() - folded..].iter().map(|p| p.num as usize).product() };
    let lanes = if whole { 1 } else { src.lanes() };
    let per_lane: usize =
        if whole { 1 } else { pairs[1..pairs.len() - folded].iter().map(|p| p.num as usize).product() };
    if (dst.lanes(), dst.lane_len()) != (lanes, per_lane) && !(dst.is_empty() && lanes * per_lane == 0) {
        return Err(Error::new(Code::S002, "a reduction writes one element for each position that is left").received(
            format!("{} partitions of {} elements where {lanes} of {per_lane} are left", dst.lanes(), dst.lane_len()),
        ));
    }
    check_extent(extent, dst)?;
    Ok(Rows { extent, per_lane, whole, across: false })
}

fn rows_over_partitions(src: &Src, dst: &Dst) -> Result<Rows> {
    if dst.lanes() != 1 || dst.lane_len() != src.lane_len() {
        return Err(Error::new(Code::S002, "a cross-partition reduce writes one partition of the input's free size")
            .received(format!(
                "{} partitions of {} elements for a free size of {}",
                dst.lanes(),
                dst.lane_len(),
                src.lane_len()
            )));
    }
    check_extent(src.lanes(), dst)?;
    Ok(Rows { extent: src.lanes(), per_lane: src.lane_len(), whole: false, across: true })
}

fn check_extent(extent: usize, dst: &Dst) -> Result<()> {
    if extent == 0 && !dst.is_empty() {
        return Err(Error::new(Code::S008, "a reduction needs at least one element to fold"));
    }
    Ok(())
}

/// A fold in one working type: `seed` turns the first element into the accumulator, `finish` treats the results.
struct Fold<N: Number, S, F> {
    op: N::Op,
    seed: S,
    finish: F,
}

impl<N: Number, S: Fn(N) -> N + Sync, F: Fn(&mut [N]) + Sync> Fold<N, S, F> {
    fn run(
        &self,
        p: &TensorReduce,
        rows: Rows,
        accumulate: Option<N::Op>,
        src: &Src,
        dst: &mut Dst,
        profile: &Profile,
    ) -> Result<()> {
        // Negates the results `at..` of `lane`, folds them into the old output, and stores them.
        let store = |dst: &mut Dst, lane: usize, at: usize, acc: &mut [N]| {
            if p.negate {
                acc.iter_mut().for_each(|a| *a = a.negate());
            }
            if let Some(op) = accumulate {
                let mut old = [N::zeroed(); CHUNK];
                let old = &mut old[..acc.len()];
                N::read(&dst.as_src(), lane, at, old);
                op.apply(acc, old);
            }
            (self.finish)(acc);
            N::write(dst, lane, at, acc, profile.fp8());
        };
        if dst.is_empty() {
            return Ok(());
        }
        if rows.across {
            return fold::fold_partitions(self.op, &self.seed, src, dst, &store);
        }
        if rows.whole {
            return fold_all(self.op, &self.seed, src, |acc| store(dst, 0, 0, acc));
        }
        dst.for_lane_ranges(src.len(), |dst, range| {
            fold_lanes(self.op, &self.seed, src, &rows, range, |lane, at, acc| store(dst, lane, at, acc))
        })
    }
}
