//! Element-wise instructions, reductions and recurrences (`alu.md` 6).

use super::Cx;
use super::Want::{self, In, InPlace, Maybe, Out};
use super::activation::{drain_second, epilogue};
use super::fields::own;
use crate::ir::opcodes::params;
use crate::ir::{Engine, EngineAccumulation, Opcode};
use crate::world::{Draft, Opnd, missing};
use crate::{Code, Error, Result};
use birsim_kernels::access::Source;
use birsim_kernels::alu::AluOp;
use birsim_kernels::{elementwise as kernel, pool, reduce, scan};

bind! {
    Pool(own) => pool,
    TensorReduce(prepare_tensor_reduce) => tensor_reduce,
    TensorScalar(prepare_tensor_scalar) => tensor_scalar,
    TensorScalarPtr(prepare_tensor_scalar_ptr) => tensor_scalar_ptr,
    TensorScalarCache(prepare_tensor_scalar_cache) => tensor_scalar_cache,
    TensorTensor(prepare_tensor_tensor) => tensor_tensor,
    TongaReduceMacroSymbolic(prepare_tonga_reduce) => tonga_reduce,
}

fn prepare_tensor_scalar(draft: &Draft) -> Result<kernel::TensorScalar> {
    let params::TensorScalar { op0, const0, reverse0, op1, const1, reverse1 } = own(draft)?;
    Ok(kernel::TensorScalar { op0, const0, reverse0, op1, const1, reverse1 })
}

/// TensorScalar (28).
pub fn tensor_scalar(cx: &mut Cx, p: &kernel::TensorScalar) -> Result<()> {
    let mut io = cx.open(&[InPlace(0), Out(0)])?;
    kernel::tensor_scalar(p, &io.ins.source(0)?, &mut io.outs.dst(0)?, io.profile)
}

/// What TensorScalarPtr does.
pub struct TensorScalarPtr {
    p: kernel::TensorScalarPtr,
    form: PtrForm,
    kind: EngineAccumulation,
    /// The fold goes to a second output.
    reduces: bool,
    negated: bool,
    /// How the third operand is opened.
    third: Want,
}

/// The forms of TensorScalarPtr.
#[derive(PartialEq)]
enum PtrForm {
    Scalars,
    TensorTensor,
    Scan,
}

fn prepare_tensor_scalar_ptr(draft: &Draft) -> Result<TensorScalarPtr> {
    let own = own::<params::TensorScalarPtr>(draft)?;
    if own.apply_transpose {
        return Err(Error::new(Code::U002, "TensorScalarPtr with apply_transpose has no published index maths")
            .operand("apply_transpose"));
    }
    let form = match (own.is_tensor_tensor_scan, own.is_scalar_tensor_tensor) {
        (true, _) => PtrForm::Scan,
        (false, true) => PtrForm::TensorTensor,
        (false, false) => PtrForm::Scalars,
    };
    let is_tensor = |o: &Opnd| matches!(o, Opnd::Static { .. } | Opnd::Dynamic(_) | Opnd::Faulty(_));
    match (&form, draft.ins().get(2)) {
        (PtrForm::Scalars, _) => {}
        (_, Some(third)) if is_tensor(third) => {}
        (PtrForm::TensorTensor, Some(_)) => {
            let what = "the third operand of scalar-tensor-tensor is a tensor";
            return Err(Error::new(Code::S008, what).operand("ins[2]"));
        }
        _ => {
            let what = "this form of TensorScalarPtr has three inputs";
            return Err(Error::new(Code::J009, what).operand("ins[2]"));
        }
    }
    let reduces = own.acc != EngineAccumulation::Idle && draft.n_outs() > 1;
    // A third tensor that is also the start value is read after the first write, so it must not be the destination.
    let third = if form != PtrForm::Scalars && !reduces { InPlace(2) } else { Maybe(2) };
    let p = kernel::TensorScalarPtr {
        op0: own.op0,
        reverse0: own.reverse0,
        op1: own.op1,
        reverse1: own.reverse1,
        address: own.is_tensor_scalar_addr,
    };
    Ok(TensorScalarPtr { p, form, kind: own.acc, reduces, negated: own.negate_second_output, third })
}

/// TensorScalarPtr (29): plain, address, scalar-tensor-tensor and scan forms.
pub fn tensor_scalar_ptr(cx: &mut Cx, own: &TensorScalarPtr) -> Result<()> {
    let TensorScalarPtr { p, form, kind, reduces, negated, third } = own;
    let mut io = cx.open(&[InPlace(0), Maybe(1), *third, Maybe(3), Out(0)])?;
    let (src, s0, dst) = (io.ins.source(0)?, io.ins.input_opt(1)?, &mut io.outs.dst(0)?);
    // LoadAccumulate starts from the operand after those the form uses: TensorScalarReduce has one scalar only.
    let init = match io.ins.input_opt(3)? {
        None if *reduces => io.ins.input_opt(2)?,
        other => other,
    };
    let fold = epilogue(io.accumulator, io.profile, *kind, p.op1, init);
    let scalar = || s0.ok_or_else(|| missing(Opcode::TensorScalarPtr, "ins", 1));
    match form {
        PtrForm::Scan => {
            let scan = scan::TensorTensorScan { op0: p.op0, reverse0: p.reverse0, op1: p.op1, reverse1: p.reverse1 };
            scan::tensor_tensor_scan(&scan, &src, &scalar()?, &io.ins.source(2)?, dst, fold.as_ref(), io.profile)?;
        }
        PtrForm::TensorTensor => {
            kernel::scalar_tensor_tensor(p, &src, &scalar()?, &io.ins.source(2)?, dst, fold.as_ref(), io.profile)?;
        }
        PtrForm::Scalars => {
            // TensorScalarReduce: op1 folds instead of being a second stage.
            let s1 = if *reduces { None } else { io.ins.input_opt(2)? };
            kernel::tensor_scalar_ptr(p, &src, s0.as_ref(), s1.as_ref(), dst, fold.as_ref(), io.profile)?;
        }
    }
    drop(io);
    drain_second(cx, *kind, *negated)
}

fn prepare_tensor_scalar_cache(draft: &Draft) -> Result<scan::TensorScalarCache> {
    let params::TensorScalarCache { op0, reverse0, op1, reverse1, mode, acc } = own(draft)?;
    Ok(scan::TensorScalarCache { op0, reverse0, op1, reverse1, mode, acc })
}

/// TensorScalarCache (30).
pub fn tensor_scalar_cache(cx: &mut Cx, p: &scan::TensorScalarCache) -> Result<()> {
    let mut io = cx.open(&[In(0), Maybe(1), Maybe(2), Out(0)])?;
    let (src, scalar, initial) = (io.ins.src(0)?, io.ins.input_opt(1)?, io.ins.input_opt(2)?);
    scan::tensor_scalar_cache(p, &src, scalar.as_ref(), initial.as_ref(), &mut io.outs.dst(0)?, io.profile)
}

/// The Pool engine computes integers its own way, unless an operand is in PSUM (ruling D4).
fn on_pool(draft: &Draft) -> Result<bool> {
    Ok(draft.engine == Engine::Pool && !draft.any_in_psum()?)
}

/// An operation on two tensors, and what becomes of its fold.
pub struct TensorTensor {
    p: kernel::TensorTensor,
    kind: EngineAccumulation,
}

fn prepare_tensor_tensor(draft: &Draft) -> Result<TensorTensor> {
    let params::TensorTensor { op, acc: kind } = own(draft)?;
    Ok(TensorTensor { p: kernel::TensorTensor { op, on_pool: on_pool(draft)? }, kind })
}

/// TensorTensor (31). The epilogue's fold is not a field of the record: sums.
pub fn tensor_tensor(cx: &mut Cx, own: &TensorTensor) -> Result<()> {
    let mut io = cx.open(&[InPlace(0), InPlace(1), Out(0)])?;
    let (a, b) = (io.ins.source(0)?, io.ins.source(1)?);
    let fold = epilogue(io.accumulator, io.profile, own.kind, AluOp::Add, None);
    kernel::tensor_tensor(&own.p, &a, &b, &mut io.outs.dst(0)?, fold.as_ref(), io.profile)?;
    drop(io);
    drain_second(cx, own.kind, false)
}

fn prepare_tensor_reduce(draft: &Draft) -> Result<reduce::TensorReduce> {
    let params::TensorReduce { op, axis, negate, apply_transpose } = own(draft)?;
    Ok(reduce::TensorReduce { op, axis, negate, apply_transpose, accumulate: None, on_pool: on_pool(draft)? })
}

/// TensorReduce (27).
pub fn tensor_reduce(cx: &mut Cx, p: &reduce::TensorReduce) -> Result<()> {
    let mut io = cx.open(&[In(0), Out(0)])?;
    reduce::tensor_reduce(p, &io.ins.src(0)?, &mut io.outs.dst(0)?, io.profile)
}

/// Pool (20).
pub fn pool(cx: &mut Cx, own: &params::Pool) -> Result<()> {
    let mut io = cx.open(&[In(0), Out(0)])?;
    pool::pool(own.func, &io.ins.src(0)?, &mut io.outs.dst(0)?, io.profile)
}

/// A fold of all inputs into the output.
pub struct TongaReduce {
    p: kernel::TensorTensor,
    /// The first input overwrites the output.
    first: bool,
}

fn prepare_tonga_reduce(draft: &Draft) -> Result<TongaReduce> {
    let own = own::<params::TongaReduceMacroSymbolic>(draft)?;
    // Every reduce axis is at its lower bound.
    let first = own.is_first_reduce && own.reduce_axes.iter().flatten().all(|distance| *distance == 0);
    Ok(TongaReduce { p: kernel::TensorTensor { op: own.op, on_pool: on_pool(draft)? }, first })
}

/// TongaReduceMacroSymbolic (109): folds its inputs into the output, which it overwrites in the first iteration of the
/// reduce axes (`opcodes.md` 13).
pub fn tonga_reduce(cx: &mut Cx, own: &TongaReduce) -> Result<()> {
    let mut io = cx.open_all()?;
    let dst = &mut io.outs.dst(0)?;
    for (k, src) in io.ins.tensors()?.into_iter().enumerate() {
        if own.first && k == 0 {
            birsim_kernels::copy::copy(&src, dst, io.profile)?;
        } else {
            kernel::tensor_tensor(&own.p, &Source::Same, &src.into(), dst, None, io.profile)?;
        }
    }
    Ok(())
}
