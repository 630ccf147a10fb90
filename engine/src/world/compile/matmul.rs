//! Errors about the sizes of a matrix product, in its own words. Without them, an operand that is too large or was swapped
//! with the other one would be reported as an access pattern that leaves its tensor.

use crate::ir::{Instruction, MatmultPerfMode, Opcode, Operand, Value};
use crate::{Code, Error};
use birsim_kernels::matmul::PeLimits;

/// What is wrong with the sizes of a plain product whose operands are static.
pub(super) fn misfit(i: &Instruction, level: u32) -> Option<Error> {
    let plain = i.opcode == Opcode::Matmult
        && i.field("perf_mode") == Some(Value::named(MatmultPerfMode::None))
        && i.field("is_transpose") == Some(Value::Bool(false));
    let ([ifmap, weights], [out]) = (i.ins.as_slice(), i.outs.as_slice()) else { return None };
    if !plain {
        return None;
    }
    let limits = PeLimits::of(level, out.dtype());
    let ((k, n), (rows, m), (lanes, columns)) = (size(ifmap)?, size(weights)?, size(out)?);
    let sizes = || format!("ins[0] {k} x {n}, ins[1] {rows} x {m}, outs[0] {lanes} x {columns}");
    if k == rows && (n, m) == (lanes, columns) && n != m {
        let what = "the operands of the matmul are swapped: ins[0] is the moving matrix, ins[1] the stationary one";
        let advice =
            format!("the product ins[1]^T x ins[0] has {m} partitions of {n} elements: exchange ins[0] and ins[1]");
        return Some(Error::new(Code::S002, what).received(sizes()).advice(advice));
    }
    if n > limits.moving as i64 {
        let what = format!("a matmul has at most {} moving columns", limits.moving);
        let advice = format!("split ins[0] and the output into pieces of at most {} columns", limits.moving);
        return Some(Error::new(Code::S008, what).received(format!("{n} ({})", sizes())).advice(advice));
    }
    None
}

/// Partitions and elements of each, of a pattern.
fn size(operand: &Operand) -> Option<(i64, i64)> {
    let Operand::Physical(a) = operand else { return None };
    let (first, rest) = a.ap.split_first().filter(|_| a.dynamic.is_none())?;
    let count = rest.iter().try_fold(1i64, |n, pair| n.checked_mul(pair.num))?;
    Some((first.num, count))
}
