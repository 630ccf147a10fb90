//! Kinds 8 and 11.

use super::unclear;
use crate::ast::{Copy, DgeComputeOp, DmaBounds, DmaCopy, Engine, NcCopy, NcDmaCopy};
use crate::lower::access::dynamic;
use crate::lower::context::Core;
use crate::lower::ops;
use birsim_ir::Instruction;
use birsim_kernels::Result;

/// A plain copy. The purpose of `opDim` is not documented, and a copy needs no axes.
pub fn copy(cx: &mut Core<'_>, p: &Copy) -> Result<Instruction> {
    let p = NcCopy { dst: p.dst.clone(), src: p.src.clone(), dtype: None, engine: Engine::Unassigned };
    ops::copy::nc_copy(cx, &p)
}

/// A DMA. Only a run-time offset can leave a tensor, so only the bounds policy of that side has an effect.
pub fn dma_copy(cx: &mut Core<'_>, p: &DmaCopy) -> Result<Instruction> {
    let policy = match (dynamic(&p.src)?.is_some(), dynamic(&p.dst)?.is_some()) {
        (true, _) => &p.src_bounds_check,
        (_, true) => &p.dst_bounds_check,
        _ => &DmaBounds::Error,
    };
    if matches!(policy, DmaBounds::Reg(_)) {
        return Err(unclear(11, "the bounds policy is in a numbered register, and its codes are not documented"));
    }
    if p.compute_op != DgeComputeOp::None && dynamic(&p.dst)?.is_some() {
        return Err(unclear(11, "the file does not say whether the indices of an accumulating copy may repeat"));
    }
    let p = NcDmaCopy {
        dst: p.dst.clone(),
        src: p.src.clone(),
        compute_op: p.compute_op,
        oob_mode: policy.clone(),
        dge_mode: 0,
        unique_indices: p.compute_op != DgeComputeOp::None,
        priority: None,
        engine: Engine::Unassigned,
    };
    ops::dma::nc_dma_copy(cx, &p)
}
