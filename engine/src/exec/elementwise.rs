//! Element-wise instructions, reductions and recurrences (`alu.md` 6).

use super::Cx;
use super::Want::{In, InPlace, Maybe, Out};
use super::activation::{drain_second, epilogue};
use crate::ir::opcodes::elementwise::field as f;
use crate::ir::{AxisList, Engine, EngineAccumulation, PoolFunction, TscMode};
use crate::{Code, Error, Result};
use birsim_kernels::access::Source;
use birsim_kernels::alu::AluOp;
use birsim_kernels::{elementwise as kernel, pool, reduce, scan};

bind! {
    Pool => pool,
    TensorReduce => tensor_reduce,
    TensorScalar => tensor_scalar,
    TensorScalarPtr => tensor_scalar_ptr,
    TensorScalarCache => tensor_scalar_cache,
    TensorTensor => tensor_tensor,
    TongaReduceMacroSymbolic => tonga_reduce,
}

/// TensorScalar (28).
pub fn tensor_scalar(cx: &mut Cx) -> Result<()> {
    let p = kernel::TensorScalar {
        op0: cx.named(f::TensorScalar::op0)?,
        const0: cx.float(f::TensorScalar::const0)?,
        reverse0: cx.flag(f::TensorScalar::reverse0)?,
        op1: cx.named(f::TensorScalar::op1)?,
        const1: cx.float(f::TensorScalar::const1)?,
        reverse1: cx.flag(f::TensorScalar::reverse1)?,
    };
    let mut io = cx.open(&[InPlace(0), Out(0)])?;
    kernel::tensor_scalar(&p, &io.ins.source(0)?, &mut io.outs.dst(0)?, io.profile)
}

/// TensorScalarPtr (29): plain, address, scalar-tensor-tensor and scan forms.
pub fn tensor_scalar_ptr(cx: &mut Cx) -> Result<()> {
    let kind = accumulation(cx, f::TensorScalarPtr::acc)?;
    let p = kernel::TensorScalarPtr {
        op0: cx.named(f::TensorScalarPtr::op0)?,
        reverse0: cx.flag(f::TensorScalarPtr::reverse0)?,
        op1: cx.named(f::TensorScalarPtr::op1)?,
        reverse1: cx.flag(f::TensorScalarPtr::reverse1)?,
        address: cx.flag(f::TensorScalarPtr::is_tensor_scalar_addr)?,
    };
    if cx.flag(f::TensorScalarPtr::apply_transpose)? {
        return Err(Error::new(Code::U002, "TensorScalarPtr with apply_transpose has no published index maths")
            .operand("apply_transpose"));
    }
    let negated = cx.flag(f::TensorScalarPtr::negate_second_output)?;
    let scan = cx.flag(f::TensorScalarPtr::is_tensor_tensor_scan)?;
    let two_tensors = scan || cx.flag(f::TensorScalarPtr::is_scalar_tensor_tensor)?;
    let reduces = kind != EngineAccumulation::Idle && cx.n_outs() > 1;
    // A third tensor that also is a start value is read after the first write.
    let third = if two_tensors && cx.n_ins() > 2 && !reduces { InPlace(2) } else { Maybe(2) };
    let mut io = cx.open(&[InPlace(0), Maybe(1), third, Maybe(3), Out(0)])?;
    let (src, s0, dst) = (io.ins.source(0)?, io.ins.input_opt(1)?, &mut io.outs.dst(0)?);
    // LoadAccumulate starts from the operand after those the form uses: TensorScalarReduce has one scalar only.
    let init = match io.ins.input_opt(3)? {
        None if reduces => io.ins.input_opt(2)?,
        other => other,
    };
    let fold = epilogue(io.accumulator, io.profile, kind, p.op1, init);
    let missing =
        |k: usize| Error::new(Code::J009, "this form of TensorScalarPtr has three inputs").operand(format!("ins[{k}]"));
    if scan {
        let scan = scan::TensorTensorScan { op0: p.op0, reverse0: p.reverse0, op1: p.op1, reverse1: p.reverse1 };
        let initial = s0.ok_or_else(|| missing(1))?;
        let data1 = io.ins.source(2).map_err(|_| missing(2))?;
        scan::tensor_tensor_scan(&scan, &src, &initial, &data1, dst, fold.as_ref(), io.profile)?;
    } else if two_tensors {
        let scalar = s0.ok_or_else(|| missing(1))?;
        if third == Maybe(2) && io.ins.input_opt(2)?.is_none() {
            return Err(missing(2));
        }
        let tensor1 = io.ins.source(2).map_err(|_| {
            Error::new(Code::S008, "the third operand of scalar-tensor-tensor is a tensor").operand("ins[2]")
        })?;
        kernel::scalar_tensor_tensor(&p, &src, &scalar, &tensor1, dst, fold.as_ref(), io.profile)?;
    } else {
        // TensorScalarReduce: op1 folds instead of being a second stage.
        let s1 = if reduces { None } else { io.ins.input_opt(2)? };
        kernel::tensor_scalar_ptr(&p, &src, s0.as_ref(), s1.as_ref(), dst, fold.as_ref(), io.profile)?;
    }
    drop(io);
    drain_second(cx, kind, negated)
}

/// TensorScalarCache (30).
pub fn tensor_scalar_cache(cx: &mut Cx) -> Result<()> {
    let p = scan::TensorScalarCache {
        op0: cx.named(f::TensorScalarCache::op0)?,
        reverse0: cx.flag(f::TensorScalarCache::reverse0)?,
        op1: cx.named(f::TensorScalarCache::op1)?,
        reverse1: cx.flag(f::TensorScalarCache::reverse1)?,
        mode: cx.named::<TscMode>(f::TensorScalarCache::mode)?,
        acc: accumulation(cx, f::TensorScalarCache::acc)?,
    };
    let mut io = cx.open(&[In(0), Maybe(1), Maybe(2), Out(0)])?;
    let (src, scalar, initial) = (io.ins.src(0)?, io.ins.input_opt(1)?, io.ins.input_opt(2)?);
    scan::tensor_scalar_cache(&p, &src, scalar.as_ref(), initial.as_ref(), &mut io.outs.dst(0)?, io.profile)
}

/// TensorTensor (31). The epilogue's fold is not a field of the record: sums.
pub fn tensor_tensor(cx: &mut Cx) -> Result<()> {
    let kind = accumulation(cx, f::TensorTensor::acc)?;
    let on_pool = cx.inst.engine == Engine::Pool && !cx.any_in_psum()?;
    let p = kernel::TensorTensor { op: cx.named(f::TensorTensor::op)?, on_pool };
    let mut io = cx.open(&[InPlace(0), InPlace(1), Out(0)])?;
    let (a, b) = (io.ins.source(0)?, io.ins.source(1)?);
    let fold = epilogue(io.accumulator, io.profile, kind, AluOp::Add, None);
    kernel::tensor_tensor(&p, &a, &b, &mut io.outs.dst(0)?, fold.as_ref(), io.profile)?;
    drop(io);
    drain_second(cx, kind, false)
}

/// TensorReduce (27).
pub fn tensor_reduce(cx: &mut Cx) -> Result<()> {
    let on_pool = cx.inst.engine == Engine::Pool && !cx.any_in_psum()?;
    let p = reduce::TensorReduce {
        op: cx.named(f::TensorReduce::op)?,
        axis: cx.named::<AxisList>(f::TensorReduce::axis)?,
        negate: cx.flag(f::TensorReduce::negate)?,
        apply_transpose: cx.flag(f::TensorReduce::apply_transpose)?,
        accumulate: None,
        on_pool,
    };
    let mut io = cx.open(&[In(0), Out(0)])?;
    reduce::tensor_reduce(&p, &io.ins.src(0)?, &mut io.outs.dst(0)?, io.profile)
}

/// Pool (20).
pub fn pool(cx: &mut Cx) -> Result<()> {
    let func = cx.named::<PoolFunction>(f::Pool::func)?;
    let mut io = cx.open(&[In(0), Out(0)])?;
    pool::pool(func, &io.ins.src(0)?, &mut io.outs.dst(0)?, io.profile)
}

fn accumulation(cx: &Cx, field: usize) -> Result<EngineAccumulation> {
    Ok(cx.named_opt::<EngineAccumulation>(field)?.unwrap_or(EngineAccumulation::Idle))
}

/// TongaReduceMacroSymbolic (109): folds its inputs into the output, which it overwrites in the first iteration of the
/// reduce axes (`opcodes.md` 13).
pub fn tonga_reduce(cx: &mut Cx) -> Result<()> {
    let op = cx.named::<AluOp>(f::TongaReduceMacroSymbolic::op)?;
    // The field holds the distance of every reduce axis from its lower bound.
    let first = cx.flag(f::TongaReduceMacroSymbolic::is_first_reduce)?
        && cx.ints(f::TongaReduceMacroSymbolic::reduce_axes)?.iter().all(|d| *d == 0);
    let on_pool = cx.inst.engine == Engine::Pool && !cx.any_in_psum()?;
    let p = kernel::TensorTensor { op, on_pool };
    let mut io = cx.open_all()?;
    let dst = &mut io.outs.dst(0)?;
    for (k, src) in io.ins.tensors()?.into_iter().enumerate() {
        if first && k == 0 {
            birsim_kernels::copy::copy(&src, dst, io.profile)?;
        } else {
            kernel::tensor_tensor(&p, &Source::Same, &src.into(), dst, None, io.profile)?;
        }
    }
    Ok(())
}
