//! The register map: what RegisterAlu computes (`alu.md` 6.12).

use super::AluOp;
use super::declare::IntegerMap;
use super::floats::truth;
use super::integers::Integer;
use super::table::{integer_entry, with_integer};
use crate::{Code, Error, Result};
use std::num::Wrapping;

/// op(a, b) on the low 32 or, when `wide`, all 64 bits of two registers. Arithmetic wraps. The signedness decides about
/// comparisons and divisions, and how a 32-bit result is extended.
pub fn register_op(op: AluOp, a: u64, b: u64, wide: bool, signed: bool) -> Result<u64> {
    let Some((kind, second)) = integer_entry(op, IntegerMap::Register, None) else {
        return Err(Error::new(Code::S006, format!("{op} is not an integer operation of RegisterAlu")).operand("op"));
    };
    macro_rules! on {
        ($t:ident) => {
            with_integer!(Wrapping<$t>, kind, second, f => f(Wrapping(a as $t), Wrapping(b as $t)).0 as u64)
        };
    }
    Ok(match (wide, signed) {
        (false, true) => on!(i32),
        (false, false) => on!(u32),
        (true, true) => on!(i64),
        (true, false) => on!(u64),
    })
}
