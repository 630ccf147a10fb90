//! Activation (4) and its relatives: function values of a scaled and biased operand (`activation.md`).

use crate::access::{CHUNK, Dst, Input, Source, Src, pieces};
use crate::accumulate::Epilogue;
use crate::alu::{AluOp, FloatOp, Operation, float_op};
use crate::cast;
use crate::elementwise::{Number, normalise};
use crate::isa::Isa;
use crate::{Code, Dtype, Error, Named, Profile, Result};

mod forms;
mod math;
mod narrow_abs;
pub mod pwp;
mod rounded;
mod single;
mod vector;

pub use forms::apply;
use forms::{Affine, Piece};

crate::named_enum! {
    /// The activation functions. The last two have a name in the reference but no ordinal there.
    ActivationFunctionType {
        Identity = 0, "Identity";
        Square = 1, "Square";
        Relu = 2, "Relu";
        Lrelu = 3, "Lrelu";
        Prelu = 4, "Prelu";
        Sigmoid = 5, "Sigmoid";
        Tanh = 6, "Tanh";
        Exp = 7, "Exp";
        Softplus = 8, "Softplus";
        Sqrt = 9, "Sqrt";
        Rsqrt = 10, "Rsqrt";
        Ln = 11, "Ln";
        Erf = 12, "Erf";
        Sin = 13, "Sin";
        Arctan = 14, "Arctan";
        Sign = 15, "Sign";
        Gelu = 16, "Gelu";
        Mish = 17, "Mish";
        GeluApprxTanh = 18, "Gelu_apprx_tanh";
        GeluApprxSigmoid = 19, "Gelu_apprx_sigmoid";
        DerivativeGeluApprxSigmoid = 20, "Derivative_Gelu_apprx_sigmoid";
        DerivativeGelu = 21, "Derivative_Gelu";
        DerivativeErf = 22, "Derivative_Erf";
        Copy = 23, "Copy";
        Abs = 24, "Abs";
        Reciprocal = 25, "Reciprocal";
        AbsReciprocalSqrt = 26, "Abs_reciprocal_sqrt";
        Silu = 27, "Silu";
        DerivativeSilu = 28, "Derivative_silu";
        IsFinite = 29, "Is_finite";
        Unknown = 30, "Unknown";
        LnPrime = 254, "Ln_prime";
        MemsetZero = 255, "MemsetZero";
    }
}

/// What happens to an element before the function.
pub enum Front<'a> {
    /// in * scale + bias, each rounded to float32.
    Affine {
        /// Multiplier.
        scale: Input<'a>,
        /// Addend.
        bias: Input<'a>,
    },
    /// Activate2: (in op0 imm0) op1 imm1.
    Ops {
        /// First and second operation; a missing scalar skips its stage.
        stages: [(AluOp, Option<Input<'a>>, bool); 2],
    },
}

/// Fields of an Activation.
pub struct Activation<'a> {
    /// The function.
    pub func: ActivationFunctionType,
    /// What comes before it.
    pub front: Front<'a>,
    /// Slope of Prelu.
    pub alpha: Input<'a>,
    /// What comes after it.
    pub epilogue: Option<Epilogue<'a>>,
    /// Piecewise tables; without them the exact forms are used.
    pub tables: Option<&'a pwp::Tables>,
}

/// Activation (4): out = func(front(in); alpha), then the accumulate epilogue over the float32 values.
pub fn activation(p: &Activation, src: &Source, dst: &mut Dst, profile: &Profile) -> Result<()> {
    operands(&src.view(dst), dst, profile)?;
    let lanes = dst.lanes();
    let front = Stages::new(&p.front, lanes, profile)?;
    check_scalar("alpha", &p.alpha, lanes)?;
    if let Some(e) = &p.epilogue {
        e.check(lanes)?;
    }
    if matches!(p.func, ActivationFunctionType::IsFinite | ActivationFunctionType::Unknown) {
        return Err(unsupported(p.func));
    }
    let table = p.tables.and_then(|t| t.get(p.func));
    if let Some(src) = src.apart().filter(|src| table.is_none() && narrow_abs::applies(p, src, dst)) {
        return narrow_abs::run(src, dst, profile);
    }
    let run = |src: &Source, dst: &mut Dst| {
        let isa = Isa::best();
        each_lane(src, dst, p.epilogue.as_ref(), profile, |lane| {
            let front = front.lane(lane);
            let alpha = scalar(&p.alpha, lane);
            move |input: &[f32], out: &mut [f32]| {
                let piece = match &front {
                    LaneFront::Affine(front) => Piece { input, out, front: *front },
                    LaneFront::Ops(ops) => {
                        out.copy_from_slice(input);
                        for (op, s, reverse) in ops.iter().flatten() {
                            op.apply_scalar(out, *s, *reverse);
                        }
                        if let Some(t) = table {
                            return t.apply(out);
                        }
                        let mut values = [0.0; CHUNK];
                        return out.chunks_mut(CHUNK).try_for_each(|out| {
                            let values = &mut values[..out.len()];
                            values.copy_from_slice(out);
                            forms::map(isa, p.func, alpha, Piece { input: values, out, front: Affine::NONE }, profile)
                        });
                    }
                };
                match table {
                    Some(t) => {
                        let out = &mut *piece.out;
                        forms::affine(isa, Piece { out: &mut *out, ..piece });
                        t.apply(out)
                    }
                    None => forms::map(isa, p.func, alpha, piece, profile),
                }
            }
        })
    };
    // Lanes can be joined when nothing differs from one to the next.
    if per_element(p) {
        return normalise(src, [None, None], dst, None, |src, _, dst| run(src, dst));
    }
    run(src, dst)
}

/// Reciprocal (21): exact float32 division, never a table.
pub fn reciprocal(src: &Source, dst: &mut Dst, profile: &Profile) -> Result<()> {
    operands(&src.view(dst), dst, profile)?;
    let isa = Isa::best();
    each_lane(src, dst, None, profile, |_| {
        move |input: &[f32], out: &mut [f32]| {
            forms::reciprocals(isa, Piece { input, out, front: Affine::NONE });
            Ok(())
        }
    })
}

/// Exponential (103): exp(in - row maximum), the difference rounded to float32, then the accumulate epilogue.
pub fn exponential(
    src: &Source,
    row_max: &Input,
    dst: &mut Dst,
    epilogue: Option<&Epilogue>,
    profile: &Profile,
) -> Result<()> {
    operands(&src.view(dst), dst, profile)?;
    check_scalar("row maximum", row_max, dst.lanes())?;
    if let Some(e) = epilogue {
        e.check(dst.lanes())?;
    }
    let isa = Isa::best();
    each_lane(src, dst, epilogue, profile, |lane| {
        let m = scalar(row_max, lane);
        move |input: &[f32], out: &mut [f32]| {
            forms::exponential(isa, m, Piece { input, out, front: Affine::NONE }, profile);
            Ok(())
        }
    })
}

/// Lanes up to this length get buffers of this length: clearing long ones would cost more than the work.
const SMALL: usize = 16;

/// Transforms, folds and writes every lane piece by piece. `make` prepares the transformation of one lane.
fn each_lane<F: FnMut(&[f32], &mut [f32]) -> Result<()>>(
    src: &Source,
    dst: &mut Dst,
    epilogue: Option<&Epilogue>,
    profile: &Profile,
    make: impl Fn(usize) -> F + Sync,
) -> Result<()> {
    if dst.lane_len() <= SMALL {
        with_buffers::<SMALL, F>(src, dst, epilogue, profile, make)
    } else {
        with_buffers::<CHUNK, F>(src, dst, epilogue, profile, make)
    }
}

fn with_buffers<const N: usize, F: FnMut(&[f32], &mut [f32]) -> Result<()>>(
    src: &Source,
    dst: &mut Dst,
    epilogue: Option<&Epilogue>,
    profile: &Profile,
    make: impl Fn(usize) -> F + Sync,
) -> Result<()> {
    // float32r is rounded on the way out.
    let plain = dst.dtype() == Dtype::Float32;
    // Without a buffer on either side, longer pieces cost fewer calls.
    let wide = plain && src.apart().is_some_and(f32::always_in_place) && f32::always_in_place(&dst.as_src());
    let piece = if wide { 8 * CHUNK } else { N };
    dst.for_lane_ranges(dst.len(), |dst, range| {
        let (mut from, mut to) = ([0.0f32; N], [0.0f32; N]);
        for lane in range {
            let mut f = make(lane);
            let mut fold = epilogue.and_then(|e| e.lane(lane, dst.dtype()));
            pieces(dst.lane_len(), piece, |at, n| {
                let input = match src.apart().and_then(|src| f32::in_place(src, lane, at, n)) {
                    Some(input) => input,
                    None => {
                        src.view(dst).read_f32(lane, at, &mut from[..n]);
                        &from[..n]
                    }
                };
                let mut run = |out: &mut [f32]| {
                    f(input, out)?;
                    if let Some(fold) = &mut fold {
                        fold.extend(out);
                    }
                    Ok(())
                };
                match if plain { f32::in_place_mut(dst, lane, at, n) } else { None } {
                    Some(out) => run(out),
                    None => {
                        let out = &mut to[..n];
                        run(out)?;
                        dst.write_f32(lane, at, out, profile.fp8());
                        Ok(())
                    }
                }
            })?;
            if let Some(fold) = fold {
                fold.finish();
            }
        }
        Ok(())
    })
}

/// Nothing differs from partition to partition: every scalar is an immediate and nothing is folded.
fn per_element(p: &Activation) -> bool {
    let number = |input: &Input| input.view().is_none();
    let plain = match &p.front {
        Front::Affine { scale, bias } => number(scale) && number(bias),
        Front::Ops { stages } => stages.iter().all(|(_, scalar, _)| scalar.as_ref().is_none_or(number)),
    };
    plain && number(&p.alpha) && p.epilogue.is_none()
}

/// The front with its operations looked up and its operands checked.
enum Stages<'p, 'a> {
    Affine(&'p Input<'a>, &'p Input<'a>),
    Ops([Option<(FloatOp, &'p Input<'a>, bool)>; 2]),
}

/// The front of one lane.
enum LaneFront {
    Affine(Affine),
    Ops([Option<(FloatOp, f32, bool)>; 2]),
}

impl<'p, 'a> Stages<'p, 'a> {
    fn new(front: &'p Front<'a>, lanes: usize, profile: &Profile) -> Result<Self> {
        match front {
            Front::Affine { scale, bias } => {
                check_scalar("scale", scale, lanes)?;
                check_scalar("bias", bias, lanes)?;
                Ok(Stages::Affine(scale, bias))
            }
            Front::Ops { stages } => {
                let mut out = [None, None];
                for (out, (op, imm, reverse)) in out.iter_mut().zip(stages) {
                    let op = float_op(*op, profile)?;
                    if let Some(imm) = imm {
                        check_scalar("immediate", imm, lanes)?;
                        *out = Some((op, imm, *reverse));
                    }
                }
                Ok(Stages::Ops(out))
            }
        }
    }

    fn lane(&self, lane: usize) -> LaneFront {
        match self {
            Stages::Affine(scale, bias) => {
                LaneFront::Affine(Affine { scale: scalar(scale, lane), bias: scalar(bias, lane) })
            }
            Stages::Ops(ops) => LaneFront::Ops(ops.map(|o| o.map(|(op, imm, rev)| (op, scalar(imm, lane), rev)))),
        }
    }
}

/// One value per lane from memory of any dtype, or a float32 immediate.
fn check_scalar(name: &str, input: &Input, lanes: usize) -> Result<()> {
    match input {
        Input::Imm(i) if i.dtype != Dtype::Float32 => {
            Err(Error::new(Code::S007, "activation function only support float32 bias/scale/alpha")
                .received(format!("{name} {}", i.dtype)))
        }
        Input::View(v) if v.lanes() != lanes || v.lane_len() != 1 || v.dtype().is_packed() => {
            Err(Error::new(Code::S002, format!("the {name} operand has one element per partition of the data"))
                .received(format!("{} partitions of {} {}", v.lanes(), v.lane_len(), v.dtype())))
        }
        _ => Ok(()),
    }
}

fn scalar(input: &Input, lane: usize) -> f32 {
    match input {
        Input::Imm(i) => i.as_f32(),
        Input::View(v) => {
            let mut one = [0.0];
            v.read_f32(lane, 0, &mut one);
            one[0]
        }
    }
}

fn operands(src: &Src, dst: &Dst, profile: &Profile) -> Result<()> {
    if src.lanes() != dst.lanes() || src.lane_len() != dst.lane_len() {
        return Err(Error::new(Code::S002, "input and output have the same partitions and elements")
            .received(format!("{} x {} and {} x {}", src.lanes(), src.lane_len(), dst.lanes(), dst.lane_len())));
    }
    cast::check_unpacked(src.dtype())?;
    cast::check_unpacked(dst.dtype())?;
    cast::check_cast(Dtype::Float32, dst.dtype(), profile)
}

fn unsupported(func: ActivationFunctionType) -> Error {
    Error::new(Code::S008, format!("Unsupported activation function Simulator::simulation: {}", func.name()))
        .advice("the reference has no kernel for this function either; use another one")
}
