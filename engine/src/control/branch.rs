//! Branch conditions (`opcodes.md` 11; ruling D58).

use crate::ir::BranchCompare;
use crate::world::{Inst, Opnd, Program, Scalars, read_register};
use crate::{Code, Error, Result};
use birsim_kernels::Dtype;
use birsim_kernels::profile::BranchDtypes;
use std::cmp::Ordering;

/// The dtypes a branch compares (ruling D58).
const COMPARED: [Dtype; 7] =
    [Dtype::Uint8, Dtype::Int8, Dtype::Uint16, Dtype::Int16, Dtype::Uint32, Dtype::Int32, Dtype::Float32];

/// Evaluates a CompareAndBranch. Unordered float comparisons are false, except NE.
pub fn taken(program: &Program, inst: &Inst, op: BranchCompare, dtypes: BranchDtypes, env: &Scalars) -> Result<bool> {
    let ins = program.ins(inst);
    let [lhs, rhs, ..] = ins else {
        return Err(Error::new(Code::J009, "a branch compares two operands").received(ins.len()));
    };
    let dtype = match lhs {
        Opnd::Register(_, d) => *d,
        Opnd::Imm { imm, .. } => imm.dtype,
        _ => return Err(Error::new(Code::J009, "a branch compares a register").operand("ins[0]")),
    };
    if dtypes == BranchDtypes::Documented && !COMPARED.contains(&dtype) {
        return Err(Error::new(Code::S007, "a branch compares integers of up to 32 bits and float32")
            .received(dtype)
            .operand("ins[0]"));
    }
    if op == BranchCompare::Unsupported {
        return Err(Error::new(Code::S008, "the branch comparison is Unsupported").operand("comp_op"));
    }
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
