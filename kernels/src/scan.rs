//! Recurrences along the free dimension: the scan form of TensorScalarPtr (29) and TensorScalarCache (30).

use crate::access::{CHUNK, Dst, Input, Source, Src, chunks};
use crate::accumulate::{EngineAccumulationType, Epilogue};
use crate::alu::{AluOp, FloatOp, FloatVisitor, Operation, float_op};
use crate::cast::{check_cast, check_unpacked};
use crate::profile::{CacheStage, CacheStart};
use crate::{Code, Dtype, Error, Profile, Result};

crate::named_enum! {
    /// What TensorScalarCache writes.
    TSCMode {
        Reduce = 0, "Reduce";
        Cumulative = 1, "Cumulative";
        TensorScan = 2, "TensorScan";
    }
}

/// Parameters of [`tensor_tensor_scan`].
#[derive(Clone, Copy, Debug)]
pub struct TensorTensorScan {
    /// First operation, between data0 and the state.
    pub op0: AluOp,
    /// The state is the left operand of `op0`.
    pub reverse0: bool,
    /// Second operation, between that result and data1.
    pub op1: AluOp,
    /// data1 is the left operand of `op1`.
    pub reverse1: bool,
}

/// Parameters of [`tensor_scalar_cache`].
#[derive(Clone, Copy, Debug)]
pub struct TensorScalarCache {
    /// First operation, between the input and the scalar, or the cache when there is no scalar.
    pub op0: AluOp,
    /// The input is the right operand of `op0`.
    pub reverse0: bool,
    /// Second operation, between that result and the cache.
    pub op1: AluOp,
    /// The cache is the left operand of `op1`.
    pub reverse1: bool,
    /// What is written.
    pub mode: TSCMode,
    /// Where the cache starts.
    pub acc: EngineAccumulationType,
}

/// state = op1(op0(data0, state), data1); out = state: one float32 chain per partition, starting at `initial`.
pub fn tensor_tensor_scan(
    p: &TensorTensorScan,
    data0: &Source,
    initial: &Input,
    data1: &Source,
    dst: &mut Dst,
    epilogue: Option<&Epilogue>,
    profile: &Profile,
) -> Result<()> {
    for (data, name) in [(data0, "ins[0]"), (data1, "ins[2]")] {
        let data = data.view(dst);
        check_shape(&data, dst, data.lane_len(), name)?;
    }
    let initial = Column::of(initial, dst.lanes(), "ins[1]")?;
    check_cast(Dtype::Float32, dst.dtype(), profile)?;
    let (op0, op1) = (float_op(p.op0, profile)?, float_op(p.op1, profile)?);
    if let Some(e) = epilogue {
        e.check(dst.lanes())?;
    }
    dst.for_lane_ranges(dst.len(), |dst, range| {
        let (mut a, mut b) = ([0f32; CHUNK], [0f32; CHUNK]);
        for lane in range {
            let mut fold = epilogue.and_then(|e| e.lane(lane, dst.dtype()));
            let mut state = initial.get(lane);
            chunks(dst.lane_len(), |at, n| {
                let (a, b) = (&mut a[..n], &mut b[..n]);
                data0.view(dst).read_f32(lane, at, a);
                data1.view(dst).read_f32(lane, at, b);
                let reverse = [p.reverse0, p.reverse1];
                state = op0.visit(Outer { op1, then: Scan { reverse, state, values: &mut *a, second: b } });
                if let Some(fold) = &mut fold {
                    fold.extend(a);
                }
                dst.write_f32(lane, at, a, profile.fp8());
                Ok(())
            })?;
            if let Some(fold) = fold {
                fold.finish();
            }
        }
        Ok(())
    })
}

/// Ruling D6: v = op0(in, scalar); cache = op1(v, cache), one chain per partition.
///
/// `scalar` is `in[1]`, `initial` is `in[2]`: the start value that LoadAccumulate needs and nothing else may have. Cumulative and
/// TensorScan write every value of the cache, Reduce the last one.
pub fn tensor_scalar_cache(
    p: &TensorScalarCache,
    src: &Src,
    scalar: Option<&Input>,
    initial: Option<&Input>,
    dst: &mut Dst,
    profile: &Profile,
) -> Result<()> {
    let reduce = p.mode == TSCMode::Reduce;
    check_shape(src, dst, if reduce { 1 } else { src.lane_len() }, "ins[0]")?;
    check_cast(Dtype::Float32, dst.dtype(), profile)?;
    let (op0, op1) = (float_op(p.op0, profile)?, float_op(p.op1, profile)?);
    let scalar = scalar.map(|s| Column::of(s, dst.lanes(), "ins[1]")).transpose()?;
    let initial = match (p.acc, initial) {
        (EngineAccumulationType::LoadAccumulate, Some(i)) => Column::of(i, dst.lanes(), "ins[2]")?,
        (EngineAccumulationType::LoadAccumulate, None) => {
            return Err(
                Error::new(Code::S008, "LoadAccumulate needs its start value as the third operand").operand("ins[2]")
            );
        }
        (_, Some(_)) => {
            return Err(Error::new(Code::S008, "a third operand requires acc = LoadAccumulate")
                .received(p.acc)
                .operand("ins[2]"));
        }
        (_, None) => Column::Value(match profile.cache_start {
            CacheStart::Identity => p.op1.cache_start().unwrap_or(0.0),
            CacheStart::Zero => 0.0,
        }),
    };
    dst.for_lane_ranges(src.len(), |dst, range| {
        let mut a = [0f32; CHUNK];
        for lane in range {
            let mut cache = initial.get(lane);
            let s = scalar.as_ref().map(|s| s.get(lane));
            chunks(src.lane_len(), |at, n| {
                let a = &mut a[..n];
                src.read_f32(lane, at, a);
                match s {
                    Some(second) if profile.cache_stage == CacheStage::First => {
                        let reverse = [p.reverse0, p.reverse1];
                        cache = op0.visit(Outer { op1, then: CacheFirst { reverse, state: cache, values: a, second } });
                    }
                    Some(s) => {
                        op0.apply_scalar(a, s, p.reverse0);
                        cache = op1.visit(Prefix { reverse: p.reverse1, state: cache, values: a });
                    }
                    None => {
                        let reverse = [p.reverse0, p.reverse1];
                        cache = op0.visit(Outer { op1, then: Cache { reverse, state: cache, values: a } });
                    }
                }
                if !reduce {
                    dst.write_f32(lane, at, a, profile.fp8());
                }
                Ok(())
            })?;
            if reduce {
                dst.write_f32(lane, 0, &[cache], profile.fp8());
            }
        }
        Ok(())
    })
}

/// One value per lane.
enum Column<'a> {
    Value(f32),
    View(&'a Src<'a>),
}

impl<'a> Column<'a> {
    fn of(input: &'a Input<'a>, lanes: usize, name: &str) -> Result<Self> {
        match input {
            Input::Imm(imm) => Ok(Column::Value(imm.as_f32())),
            Input::View(v) if v.lanes() == lanes && v.lane_len() == 1 && !v.dtype().is_packed() => Ok(Column::View(v)),
            Input::View(v) => Err(Error::new(Code::S002, "a scalar operand has one element per partition")
                .received(format!("{} partitions of {} elements of {}", v.lanes(), v.lane_len(), v.dtype()))
                .operand(name)),
        }
    }

    fn get(&self, lane: usize) -> f32 {
        match self {
            Column::Value(v) => *v,
            Column::View(view) => {
                let mut out = [0.0];
                view.read_f32(lane, 0, &mut out);
                out[0]
            }
        }
    }
}

/// Checks the counts: equal partitions, and `written` elements per partition of the destination.
fn check_shape(src: &Src, dst: &Dst, written: usize, name: &str) -> Result<()> {
    check_unpacked(src.dtype())?;
    check_unpacked(dst.dtype())?;
    if src.lanes() != dst.lanes() || dst.lane_len() != written {
        return Err(Error::new(Code::S002, "operands of a scan must have equal partition and element counts")
            .received(format!(
                "{} partitions of {} elements against {} of {}",
                src.lanes(),
                src.lane_len(),
                dst.lanes(),
                dst.lane_len()
            ))
            .operand(name));
    }
    Ok(())
}

/// A loop over two operations.
trait Chain {
    fn run(self, f: impl Fn(f32, f32) -> f32 + Copy, g: impl Fn(f32, f32) -> f32 + Copy) -> f32;
}

/// Binds the first operation, then the second.
struct Outer<C> {
    op1: FloatOp,
    then: C,
}

struct Inner<F, C> {
    f: F,
    then: C,
}

impl<C: Chain> FloatVisitor for Outer<C> {
    fn visit(self, f: impl Fn(f32, f32) -> f32 + Copy) -> f32 {
        self.op1.visit(Inner { f, then: self.then })
    }
}

impl<F: Fn(f32, f32) -> f32 + Copy, C: Chain> FloatVisitor for Inner<F, C> {
    fn visit(self, g: impl Fn(f32, f32) -> f32 + Copy) -> f32 {
        self.then.run(self.f, g)
    }
}

/// state = g(f(x, state), y)
struct Scan<'a> {
    reverse: [bool; 2],
    state: f32,
    values: &'a mut [f32],
    second: &'a [f32],
}

impl Chain for Scan<'_> {
    fn run(self, f: impl Fn(f32, f32) -> f32 + Copy, g: impl Fn(f32, f32) -> f32 + Copy) -> f32 {
        let mut state = self.state;
        for (x, y) in self.values.iter_mut().zip(self.second) {
            let v = if self.reverse[0] { f(state, *x) } else { f(*x, state) };
            state = if self.reverse[1] { g(*y, v) } else { g(v, *y) };
            *x = state;
        }
        state
    }
}

/// state = g(f(x, state), state)
struct Cache<'a> {
    reverse: [bool; 2],
    state: f32,
    values: &'a mut [f32],
}

impl Chain for Cache<'_> {
    fn run(self, f: impl Fn(f32, f32) -> f32 + Copy, g: impl Fn(f32, f32) -> f32 + Copy) -> f32 {
        let mut state = self.state;
        for x in self.values {
            let v = if self.reverse[0] { f(state, *x) } else { f(*x, state) };
            state = if self.reverse[1] { g(state, v) } else { g(v, state) };
            *x = state;
        }
        state
    }
}

/// state = g(f(x, state), second), another reading of `alu.md` 6.8.
struct CacheFirst<'a> {
    reverse: [bool; 2],
    state: f32,
    values: &'a mut [f32],
    second: f32,
}

impl Chain for CacheFirst<'_> {
    fn run(self, f: impl Fn(f32, f32) -> f32 + Copy, g: impl Fn(f32, f32) -> f32 + Copy) -> f32 {
        let mut state = self.state;
        for x in self.values {
            let v = if self.reverse[0] { f(state, *x) } else { f(*x, state) };
            state = if self.reverse[1] { g(self.second, v) } else { g(v, self.second) };
            *x = state;
        }
        state
    }
}

/// state = f(x, state)
struct Prefix<'a> {
    reverse: bool,
    state: f32,
    values: &'a mut [f32],
}

impl FloatVisitor for Prefix<'_> {
    fn visit(self, f: impl Fn(f32, f32) -> f32 + Copy) -> f32 {
        let mut state = self.state;
        for x in self.values {
            state = if self.reverse { f(state, *x) } else { f(*x, state) };
            *x = state;
        }
        state
    }
}
