//! Kinds 18 and 21: the two halves of a matrix product.

use super::unclear;
use crate::ast::{LoadStationary, MatMul};
use crate::lower::context::Core;
use birsim_ir::{ApPair, Engine, Extra, Instruction, MatmultPerfMode, Opcode, Operand, PhysicalAp, Value};
use birsim_kernels::{Code, Error, Result};

/// Side of the PE array.
const PE: i64 = 128;

/// The matrix that the PE holds: a copy, since its source may change before the product.
#[derive(Clone)]
pub struct Loaded(PhysicalAp);

/// Copies the matrix to a tensor of its own, which the products that follow in the same block use.
pub fn load_stationary(cx: &mut Core<'_>, p: &LoadStationary) -> Result<Instruction> {
    if p.is_transpose {
        return Err(unclear(18, "which matrix a transposing load transposes is not described"));
    }
    let src = cx.ap(&p.src)?;
    let pairs = src.ap().unwrap_or_default();
    let rows = pairs.first().map_or(0, |p| p.num);
    let columns = pairs.iter().skip(1).try_fold(1i64, |n, p| n.checked_mul(p.num)).unwrap_or(i64::MAX);
    if !(1..=PE).contains(&rows) || !(1..=PE).contains(&columns) {
        return Err(Error::new(Code::K005, format!("a stationary matrix is at most {PE} x {PE}"))
            .received(format!("{rows} x {columns}")));
    }
    let name = cx.generated("COMPILER-GENERATED-stationary-");
    let (memref, memsetref) = cx.internal_tensor(&name, src.dtype(), rows, columns);
    let ap = vec![ApPair { step: columns, num: rows }, ApPair { step: 1, num: columns }];
    let (memref, memsetref, ap) = (memref.into(), memsetref.into(), ap.into());
    let held = PhysicalAp { dtype: src.dtype(), memref, memsetref, offset: 0, ap, dynamic: None, extra: Extra::new() };
    let mut inst = cx.inst("LoadStationary-", Opcode::TensorCopy, Engine::Dve);
    inst.ins.push(src);
    inst.outs.push(Operand::Physical(held.clone()));
    cx.stationary = Some(Loaded(held));
    Ok(inst)
}

/// A product with the last matrix that was loaded.
pub fn mat_mul(cx: &mut Core<'_>, p: &MatMul) -> Result<Instruction> {
    let Some(Loaded(held)) = cx.stationary.clone() else {
        return Err(unclear(21, "no loadStationary precedes it in its block"));
    };
    let mut inst = cx.inst("matmult_", Opcode::Matmult, Engine::Pe);
    inst.ins.extend([cx.ap(&p.moving)?, Operand::Physical(held)]);
    inst.outs.push(cx.ap(&p.dst)?);
    Ok(inst.with("perf_mode", Value::named(MatmultPerfMode::None)))
}
