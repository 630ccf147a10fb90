//! Expressions: names they use, depth, and constants that can never be evaluated.

use super::MAX_NESTING;
use crate::Expr;
use birsim_kernels::{Code, Error, Result};

/// Names and forms found in an expression.
#[derive(Default)]
pub(super) struct Names<'e> {
    pub axes: Vec<&'e str>,
    pub registers: Vec<&'e str>,
    /// Positions of index operands.
    pub index_operands: Vec<i64>,
}

/// Walks an expression.
pub(super) fn names(expr: &Expr) -> Result<Names<'_>> {
    let mut names = Names::default();
    walk(expr, 0, &mut names)?;
    Ok(names)
}

fn walk<'e>(expr: &'e Expr, depth: usize, names: &mut Names<'e>) -> Result<()> {
    if depth > MAX_NESTING {
        return Err(Error::new(Code::J014, format!("an expression nests more than {MAX_NESTING} deep")));
    }
    let mut inner = |e: &'e Expr| walk(e, depth + 1, names);
    match expr {
        Expr::Const(_) | Expr::CcGetRank { .. } => {}
        Expr::Affine { terms, .. } => terms.iter().try_for_each(|(e, _)| inner(e))?,
        Expr::Axis(name) => names.axes.push(name),
        Expr::Register(name) => names.registers.push(name),
        Expr::ShardId { ub } => {
            if *ub <= 0 {
                return Err(Error::new(Code::J012, "a shard id has a positive upper bound").received(ub));
            }
        }
        Expr::Sum(terms) => terms.iter().try_for_each(inner)?,
        Expr::Mult(var, _) => inner(var)?,
        Expr::FloorDiv(numer, denom) | Expr::Modulo(numer, denom) | Expr::CcDiv { numer, denom, .. } => {
            if denom.as_const() == Some(0) {
                return Err(Error::new(Code::J012, "an expression divides by zero").received(0));
            }
            inner(numer)?;
            inner(denom)?;
        }
        Expr::IndirectArg { arg_id } => {
            if *arg_id < 0 {
                return Err(Error::new(Code::J012, "an index operand has a negative position").received(arg_id));
            }
            names.index_operands.push(*arg_id);
        }
    }
    Ok(())
}
