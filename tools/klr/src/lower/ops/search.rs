//! Searches and gathers (`klr.md` 5.5, 5.7).

use crate::ast::{FindIndex8, MatchReplace8, Max8, NcLocalGather, NcNGather, NonzeroWithCount, SequenceBounds};
use crate::lower::context::{Core, int_imm, need_float, need_int};
use birsim_ir::{Engine, Instruction, Opcode, Operand};
use birsim_kernels::{Code, Error, Result};

/// The eight largest values of each row.
pub fn max8(cx: &mut Core<'_>, p: &Max8) -> Result<Instruction> {
    let mut inst = cx.inst("Max-", Opcode::Max, Engine::Dve);
    inst.ins.push(cx.ap(&p.src)?);
    inst.outs.push(cx.ap(&p.dst)?);
    Ok(inst)
}

/// Positions of eight values.
pub fn find_index8(cx: &mut Core<'_>, p: &FindIndex8) -> Result<Instruction> {
    let mut inst = cx.inst("MaxIndex-", Opcode::MaxIndex, Engine::Dve);
    inst.ins.push(cx.ap(&p.vals)?);
    inst.ins.push(cx.ap(&p.src)?);
    inst.outs.push(cx.ap(&p.dst)?);
    Ok(inst)
}

/// Replaces eight values, and with `dstIdx` also writes their positions.
pub fn match_replace8(cx: &mut Core<'_>, p: &MatchReplace8) -> Result<Instruction> {
    let value = need_float(&p.replace_value, "The replace value for MatchReplace8 must be a float")?;
    let (prefix, opcode) = match p.dst_idx {
        None => ("MatchReplace-", Opcode::MatchReplace),
        Some(_) => ("MaxIndexAndMatchReplace-", Opcode::MaxIndexAndMatchReplace),
    };
    let mut inst = cx.inst(prefix, opcode, Engine::Dve);
    inst.ins.push(cx.ap(&p.vals)?);
    inst.ins.push(cx.ap(&p.src)?);
    inst.outs.push(cx.ap(&p.dst)?);
    if let Some(indices) = &p.dst_idx {
        inst.outs.push(cx.ap(indices)?);
    }
    Ok(inst.with("imm_value", f64::from(value)))
}

/// Gather in blocks of 16 partitions.
pub fn local_gather(cx: &mut Core<'_>, p: &NcLocalGather) -> Result<Instruction> {
    let what = "num_valid_indices for local gather must be an integer";
    let per_index = need_int(&p.num_elem_per_idx, what)?;
    let mut inst = cx.inst("LocalGather-", Opcode::IndirectCopy, Engine::Pool);
    inst.ins.push(cx.ap(&p.src)?);
    inst.ins.push(cx.ap(&p.index)?);
    inst.outs.push(cx.ap(&p.dst)?);
    let valid = match &p.num_valid_indicies {
        Some(valid) => need_int(valid, what)?,
        // Without a number, as many as fill the destination's row.
        None if per_index > 0 => elements(&inst.outs[0])? / per_index,
        None => return Err(Error::new(Code::K005, "elements per index must be positive").received(per_index)),
    };
    if !(0..=i64::from(u32::MAX)).contains(&valid) {
        return Err(Error::new(Code::K005, "the number of valid indices is out of range").received(valid));
    }
    Ok(inst.with("num_valid_indices", valid))
}

/// Elements per partition of an access pattern.
fn elements(operand: &Operand) -> Result<i64> {
    let free = operand.ap().and_then(|pairs| pairs.get(1..)).unwrap_or_default();
    free.iter()
        .try_fold(1i64, |n, p| n.checked_mul(p.num))
        .ok_or_else(|| Error::new(Code::K005, "an access pattern leaves 64 bits"))
}

/// out[p][i] = data[p][index[p][i]].
pub fn n_gather(cx: &mut Core<'_>, p: &NcNGather) -> Result<Instruction> {
    let mut inst = cx.inst("Gather-", Opcode::Gather, Engine::Pool);
    inst.ins.push(cx.ap(&p.data)?);
    inst.ins.push(cx.ap(&p.indices)?);
    inst.outs.push(cx.ap(&p.dst)?);
    Ok(inst)
}

/// Positions of non-zero elements and their count.
pub fn nonzero_with_count(cx: &mut Core<'_>, p: &NonzeroWithCount) -> Result<Instruction> {
    let offset = need_int(&p.index_offset, "indexOffset must be int32")?;
    let padding = need_int(&p.padding_val, "paddingVal must be int32")?;
    let mut inst = cx.inst("NonzeroWithCount-", Opcode::NonzeroWithCount, Engine::Pool);
    inst.ins.extend([cx.ap(&p.src)?, int_imm(offset), int_imm(padding)]);
    inst.outs.push(cx.ap(&p.dst)?);
    Ok(inst)
}

/// Start and end of each element's run of equal segment ids.
pub fn sequence_bounds(cx: &mut Core<'_>, p: &SequenceBounds) -> Result<Instruction> {
    let mut inst = cx.inst("SequenceBounds-", Opcode::GetSequenceBounds, Engine::Pool);
    inst.ins.push(cx.ap(&p.segment_ids)?);
    inst.outs.push(cx.ap(&p.dst)?);
    Ok(inst)
}
