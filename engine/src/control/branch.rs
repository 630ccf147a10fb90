//! Branch conditions (`opcodes.md` 11; ruling D58).

use crate::ir::BranchCompare;
use crate::world::{Inst, Opnd, Program, Scalars, compared, read_register};
use crate::{Code, Error, Result};
use birsim_kernels::Dtype;
use birsim_kernels::profile::BranchDtypes;
use std::cmp::Ordering;

/// Evaluates a CompareAndBranch. Unordered float comparisons are false, except NE.
pub fn taken(program: &Program, inst: &Inst, op: BranchCompare, dtypes: BranchDtypes, env: &Scalars) -> Result<bool> {
    let dtype = compared(program.ins(inst), op, dtypes)?;
    let [lhs, rhs, ..] = program.ins(inst) else { return Ok(false) };
    let (a, b) = (value(lhs, env)?, value(rhs, env)?);
    let order = if matches!(dtype, Dtype::Float32 | Dtype::Float32r) {
        f32::from_bits(a as u32).partial_cmp(&f32::from_bits(b as u32))
    } else if dtype.is_signed() {
        Some(cut(a, dtype).cmp(&cut(b, dtype)))
    } else {
        let mask = u64::MAX >> (64 - dtype.size() as u32 * 8);
        Some((a as u64 & mask).cmp(&(b as u64 & mask)))
    };
    use BranchCompare::*;
    Ok(match op {
        LtImm | LtReg => order == Some(Ordering::Less),
        LeImm | LeReg => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        EqImm | EqReg => order == Some(Ordering::Equal),
        NeImm | NeReg => order != Some(Ordering::Equal),
        GeImm | GeReg => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        GtImm | GtReg => order == Some(Ordering::Greater),
        Unsupported => false,
    })
}

fn cut(v: i64, dtype: Dtype) -> i64 {
    let shift = 64 - dtype.size() as u32 * 8;
    (v << shift) >> shift
}

fn value(o: &Opnd, env: &Scalars) -> Result<i64> {
    match o {
        Opnd::Register(r, _) => Ok(read_register(env.registers, *r)),
        Opnd::Imm { imm, .. } => Ok(imm.bits as i64),
        _ => Err(Error::new(Code::J009, "a branch compares registers and immediates").operand("ins[1]")),
    }
}
