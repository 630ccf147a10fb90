//! DMA operators (`klr.md` 5.7).

use crate::ast::{self, AluOp, DgeComputeOp, DmaBounds, DmaCompute, DmaTranspose, NcDmaCopy, TensorRef, TransposeOps};
use crate::lower::access::{Dynamic, dynamic, row_major_stride};
use crate::lower::context::{Core, need_float};
use crate::lower::maps;
use birsim_ir::{CopyMode, DgeType, Engine, IndirectDim, Instruction, Opcode, Operand, PhysicalAp, TransposeOp, Value};
use birsim_kernels::{Code, Error, Named, Result, alu};

/// Copy, accumulating copy, gather or scatter.
pub fn nc_dma_copy(cx: &mut Core<'_>, p: &NcDmaCopy) -> Result<Instruction> {
    let accumulates = p.compute_op == DgeComputeOp::Add;
    let (src, dst) = (dynamic(&p.src)?.is_some(), dynamic(&p.dst)?);
    // Repeated indices must accumulate one after the other. A static destination cannot repeat an element, so it takes
    // the plain path. The reference refuses it without an index vector; so does strict mode.
    if accumulates && !p.unique_indices && (dst.is_some() || cx.options.strict) {
        return scatter_accumulate(cx, p, dst);
    }
    let dge = maps::dge(p.dge_mode)?;
    if src && dst.is_some() {
        return Err(Error::new(Code::K004, "Only one of the src and dst can contain dynamic access."));
    }
    let moves = src || dst.is_some();
    if moves && dge == DgeType::None {
        let side = if src { "src" } else { "dst" };
        let what = format!("DGE must be enabled when dynamic {side} access in DMA is used");
        return Err(Error::new(Code::K004, what));
    }
    let engine = dma_engine(cx, p, dge)?;
    let mut inst = cx.inst(if moves { "DynamicDMACopy-" } else { "dma_copy_" }, Opcode::DMACopy, engine);
    push_dynamic(cx, &p.src, &mut inst, false)?;
    push_dynamic(cx, &p.dst, &mut inst, true)?;
    if accumulates {
        inst = inst.with("cce_op", Value::named(alu::AluOp::Add));
    }
    Ok(inst
        .with("mode", Value::named(CopyMode::Copy))
        .with("dge_type", Value::named(dge))
        .with("oob_is_err", !matches!(p.oob_mode, DmaBounds::Skip)))
}

/// The author's engine has an effect only with hardware descriptor generation.
fn dma_engine(cx: &mut Core<'_>, p: &NcDmaCopy, dge: DgeType) -> Result<Engine> {
    if dge == DgeType::Hwdge {
        return Ok(cx.engine(p.engine));
    }
    if p.engine != ast::Engine::Unassigned {
        let what = "dma_copy engine can only be specified when HWDGE mode is used.";
        if cx.options.strict {
            return Err(Error::new(Code::K004, what).received(p.engine));
        }
        cx.note(format!("{what} The engine {} is ignored.", p.engine));
    }
    Ok(Engine::Dma)
}

/// Appends an operand that may be dynamic, and its index operand.
fn push_dynamic(cx: &mut Core<'_>, reference: &TensorRef, inst: &mut Instruction, out: bool) -> Result<()> {
    let (ap, index) = cx.dynamic_ap(reference)?;
    let list = if out { &mut inst.outs } else { &mut inst.ins };
    list.push(Operand::Physical(ap));
    inst.indirection_ins.extend(index);
    Ok(())
}

/// Scatter that adds, with indices that may repeat.
fn scatter_accumulate(cx: &mut Core<'_>, p: &NcDmaCopy, dst: Option<Dynamic<'_>>) -> Result<Instruction> {
    if dynamic(&p.src)?.is_some() {
        let what = "When unique_index=False, dynamic access in src is not supported";
        return Err(Error::new(Code::K004, what));
    }
    let (index, axis) = match dst {
        Some(Dynamic::Vector(index, axis)) => (index, axis),
        Some(Dynamic::Scalar(..)) => {
            return Err(Error::new(Code::K004, "an accumulating scatter needs a vector offset, not a scalar one"));
        }
        None => return Err(Error::new(Code::K004, "an accumulating scatter needs a destination with indices")),
    };
    let dim = u8::try_from(axis)
        .ok()
        .and_then(IndirectDim::from_ordinal)
        .ok_or_else(|| Error::new(Code::K005, "indirectDim names no axis of the destination").received(axis))?;
    let mut inst = cx.inst("IndirectSaveAccumulate-", Opcode::GenericIndirectSave, Engine::Dma);
    inst.ins.push(cx.ap(&p.src)?);
    inst.ins.push(cx.index_ap(index)?);
    inst.outs.push(Operand::Physical(table(cx, &p.dst)?));
    Ok(inst.with("indirect_dims", Value::Enums(vec![dim.ordinal()])).with("op", Value::named(alu::AluOp::Add)))
}

/// The table of a scatter: an index takes the place of the row, so the pattern covers the rows that exist.
fn table(cx: &mut Core<'_>, reference: &TensorRef) -> Result<PhysicalAp> {
    let mut ap = cx.base_ap(reference)?;
    let TensorRef::Abstract(access) = reference else { return Ok(ap) };
    let tensor = access.tensor();
    let row = row_major_stride(tensor, 0)?;
    if let Some(first) = ap.ap.first_mut() {
        first.step = row;
        if row > 0 {
            let rows = i64::try_from(tensor.shape.par_dim).unwrap_or(i64::MAX) - ap.offset / row;
            first.num = first.num.min(rows.max(1));
        }
    }
    Ok(ap)
}

/// Axis permutation in the DMA. The reference writes XZYW whatever the axes are. Other axes are refused here, because
/// XZYW would silently give another result than the author's.
pub fn dma_transpose(cx: &mut Core<'_>, p: &DmaTranspose) -> Result<Instruction> {
    if dynamic(&p.dst)?.is_some() {
        return Err(Error::new(Code::K004, "Dynamic Access is not allowed in the instruction.").operand("dst"));
    }
    if !matches!(p.axes, TransposeOps::None | TransposeOps::XZYW) && !cx.options.strict {
        return Err(Error::new(Code::K004, "dma_transpose is documented for the axes XZYW only").received(p.axes));
    }
    let dge = maps::dge(p.dge_mode)?;
    let mut inst = cx.inst("DMATranspose-", Opcode::DMACopy, Engine::Pool);
    push_dynamic(cx, &p.src, &mut inst, false)?;
    push_dynamic(cx, &p.dst, &mut inst, true)?;
    for operand in inst.ins.iter().chain(&inst.outs) {
        let pairs = operand.ap().map_or(0, <[_]>::len);
        if pairs != 4 {
            let what = "a DMA transpose needs access patterns of exactly four pairs";
            return Err(Error::new(Code::K004, what).received(format!("{pairs} pairs")));
        }
    }
    Ok(inst
        .with("mode", Value::named(CopyMode::Transpose))
        .with("transpose_op", Value::named(TransposeOp::Xzyw))
        .with("dge_type", Value::named(dge))
        .with("oob_is_err", !matches!(p.oob_mode, DmaBounds::Skip)))
}

/// Sum of scaled sources.
pub fn dma_compute(cx: &mut Core<'_>, p: &DmaCompute) -> Result<Instruction> {
    if p.reduce_op != AluOp::Add {
        let what = "dma_compute currently only supports nl.add as its reduce op!";
        return Err(Error::new(Code::K004, what).received(p.reduce_op));
    }
    if p.scales.len() != p.srcs.len() || p.srcs.is_empty() {
        let found = format!("{} scales for {} sources", p.scales.len(), p.srcs.len());
        return Err(Error::new(Code::K005, "dma_compute needs one scale per source").received(found));
    }
    let scales: Result<Vec<f64>> =
        p.scales.iter().map(|s| need_float(s, "scale values for dma_compute must be floats").map(f64::from)).collect();
    let mut inst = cx.inst("DMACompute", Opcode::DMACopy, Engine::Dma);
    for src in &p.srcs {
        inst.ins.push(cx.ap(src)?);
    }
    inst.outs.push(cx.ap(&p.dst)?);
    Ok(inst
        .with("mode", Value::named(CopyMode::Cce))
        .with("cce_op", Value::named(alu::AluOp::Add))
        .with("constants", Value::Floats(scales?)))
}
