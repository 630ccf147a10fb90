//! Element-wise instructions, reductions and recurrences (`alu.md` 6).

use super::Cx;
use super::activation::{drain_second, epilogue};
use crate::ir::opcodes::elementwise::field as f;
use crate::ir::{AxisList, Engine, EngineAccumulation, PoolFunction, TscMode};
use crate::{Code, Error, Result};
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
    kernel::tensor_scalar(&p, &cx.src(0)?, &cx.dst(0)?, cx.profile())
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
    let (src, s0, s1) = (cx.src(0)?, cx.input_opt(1)?, cx.input_opt(2)?);
    let reduces = kind != EngineAccumulation::Idle && cx.n_outs() > 1;
    // LoadAccumulate starts from the operand after those that the form uses; TensorScalarReduce uses one scalar only.
    let init = match cx.input_opt(3)? {
        None if reduces => s1.clone(),
        other => other,
    };
    let dst = cx.dst(0)?;
    let fold = epilogue(cx, kind, p.op1, init);
    let missing =
        |k: usize| Error::new(Code::J009, "this form of TensorScalarPtr has three inputs").operand(format!("ins[{k}]"));
    if cx.flag(f::TensorScalarPtr::is_tensor_tensor_scan)? {
        let scan = scan::TensorTensorScan { op0: p.op0, reverse0: p.reverse0, op1: p.op1, reverse1: p.reverse1 };
        let initial = s0.ok_or_else(|| missing(1))?;
        let data1 = s1.as_ref().and_then(|s| s.view()).ok_or_else(|| missing(2))?;
        scan::tensor_tensor_scan(&scan, &src, &initial, data1, &dst, fold.as_ref(), cx.profile())?;
    } else if cx.flag(f::TensorScalarPtr::is_scalar_tensor_tensor)? {
        let (scalar, tensor1) = (s0.ok_or_else(|| missing(1))?, s1.ok_or_else(|| missing(2))?);
        kernel::scalar_tensor_tensor(&p, &src, &scalar, &tensor1, &dst, fold.as_ref(), cx.profile())?;
    } else {
        // TensorScalarReduce: op1 folds instead of being a second stage.
        let s1 = if reduces { None } else { s1 };
        kernel::tensor_scalar_ptr(&p, &src, s0.as_ref(), s1.as_ref(), &dst, fold.as_ref(), cx.profile())?;
    }
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
    let (src, scalar, initial) = (cx.src(0)?, cx.input_opt(1)?, cx.input_opt(2)?);
    scan::tensor_scalar_cache(&p, &src, scalar.as_ref(), initial.as_ref(), &cx.dst(0)?, cx.profile())
}

/// TensorTensor (31). The epilogue's fold is not a field of the record: sums.
pub fn tensor_tensor(cx: &mut Cx) -> Result<()> {
    let kind = accumulation(cx, f::TensorTensor::acc)?;
    let on_pool = cx.inst.engine == Engine::Pool && !cx.any_in_psum()?;
    let p = kernel::TensorTensor { op: cx.named(f::TensorTensor::op)?, on_pool };
    let (a, b) = (cx.src(0)?, cx.src(1)?);
    let dst = cx.dst(0)?;
    let fold = epilogue(cx, kind, AluOp::Add, None);
    kernel::tensor_tensor(&p, &a, &b, &dst, fold.as_ref(), cx.profile())?;
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
    reduce::tensor_reduce(&p, &cx.src(0)?, &cx.dst(0)?, cx.profile())
}

/// Pool (20).
pub fn pool(cx: &mut Cx) -> Result<()> {
    let func = cx.named::<PoolFunction>(f::Pool::func)?;
    pool::pool(func, &cx.src(0)?, &cx.dst(0)?, cx.profile())
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
    let (ins, profile) = ((0..cx.n_ins()).map(|k| cx.src(k)).collect::<Result<Vec<_>>>()?, cx.profile());
    let dst = cx.dst(0)?;
    for (k, src) in ins.iter().enumerate() {
        if first && k == 0 {
            birsim_kernels::copy::copy(src, &dst, profile)?;
        } else {
            kernel::tensor_tensor(&p, &dst.as_src(), src, &dst, None, profile)?;
        }
    }
    Ok(())
}
