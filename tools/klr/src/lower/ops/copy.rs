//! Copies and shuffles (`klr.md` 5.7).

use crate::ast::{NcCopy, ScalarOffset, Shuffle, TensorRef};
use crate::lower::access::{Dynamic, dynamic, row_major_stride};
use crate::lower::context::{Core, need_int};
use birsim_ir::{Engine, Expr, Instruction, Opcode, Operand, Value};
use birsim_kernels::{Code, Dtype, Error, Result};

/// Copy with cast; one side may have a scalar run-time offset.
pub fn nc_copy(cx: &mut Core<'_>, p: &NcCopy) -> Result<Instruction> {
    let engine = cx.engine(p.engine);
    let (opcode, prefix, moving) = match (dynamic(&p.src)?, dynamic(&p.dst)?) {
        (None, None) => {
            let mut inst = cx.inst("TensorCopy_", Opcode::TensorCopy, engine);
            inst.ins.push(cx.ap(&p.src)?);
            inst.outs.push(cx.ap(&p.dst)?);
            return Ok(inst);
        }
        (Some(_), Some(_)) => {
            let what = "Only one of src and dst can have dynamic access in tensor_copy.";
            return Err(Error::new(Code::K004, what));
        }
        (Some(_), None) => (Opcode::TensorCopyDynamicSrc, "TensorCopyDynamicSrc_", &p.src),
        (None, Some(_)) => (Opcode::TensorCopyDynamicDst, "TensorCopyDynamicDst_", &p.dst),
    };
    let (offset, scale) = scalar_offset(cx, moving)?;
    let mut inst = cx.inst(prefix, opcode, engine);
    inst.ins.push(Operand::Physical(cx.base_ap(&p.src)?));
    inst.ins.push(offset);
    inst.outs.push(Operand::Physical(cx.base_ap(&p.dst)?));
    Ok(inst.with("scale", scale))
}

/// The offset operand of a dynamic copy, and how many elements one unit of it counts.
fn scalar_offset(cx: &mut Core<'_>, reference: &TensorRef) -> Result<(Operand, i64)> {
    match (dynamic(reference)?, reference) {
        (Some(Dynamic::Scalar(scalar, axis)), TensorRef::Abstract(access)) => {
            let offset = match scalar {
                ScalarOffset::Reg(name) if !cx.has_register(name) => {
                    return Err(Error::new(Code::K005, format!("Cannot find register: {name} for scalar offset")));
                }
                ScalarOffset::Reg(name) => cx.register(name, Dtype::Int32)?,
                ScalarOffset::Acc(index) => cx.index_ap(index)?,
            };
            Ok((offset, row_major_stride(access.tensor(), axis)?))
        }
        (Some(Dynamic::Vector(..)), _) => {
            let what = "tensor_copy only supports scalar_offset for dynamic access, not vector_offset.";
            Err(Error::new(Code::K004, what))
        }
        _ => Err(Error::new(Code::K005, "Dynamic access must have scalarOffset")),
    }
}

/// Moves partitions inside blocks of 32 by a mask.
pub fn shuffle(cx: &mut Core<'_>, p: &Shuffle) -> Result<Instruction> {
    let mask: Result<Vec<Expr>> = p
        .shuffle_mask
        .iter()
        .map(|m| need_int(m, "an entry of the shuffle mask must be an integer").map(Expr::Const))
        .collect();
    let mut inst = cx.inst("StreamShuffle-", Opcode::StreamShuffle, Engine::Dve);
    inst.ins.push(cx.ap(&p.src)?);
    inst.outs.push(cx.ap(&p.dst)?);
    Ok(inst.with("mask", Value::Ints(mask?)))
}
