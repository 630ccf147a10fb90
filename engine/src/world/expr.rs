//! Expressions compiled for evaluation: names are indices, arithmetic is checked.

use super::{AxisId, RegRef};
use crate::{Code, Error, Result};

/// A compiled affine expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Ex {
    /// Constant.
    C(i64),
    /// Induction value of an axis.
    Axis(AxisId),
    /// Register value.
    Reg(RegRef),
    /// c + sum coeff * term.
    Lin(Box<[(Ex, i64)]>, i64),
    /// Core id in [0, ub).
    Shard(i64),
    /// Floor division.
    Div(Box<(Ex, Ex)>),
    /// Floor modulo.
    Mod(Box<(Ex, Ex)>),
    /// Rank of this core.
    Rank,
    /// Index-tensor operand: has no scalar value.
    Indirect(u32),
}

/// What an expression may look at.
pub trait Env {
    /// Induction value of an axis.
    fn axis(&self, axis: AxisId) -> Result<i64>;
    /// Register value, extended to 64 bits by its signedness.
    fn register(&self, reg: RegRef) -> Result<i64>;
    /// Core id.
    fn core(&self) -> i64;
    /// Rank.
    fn rank(&self) -> i64;
}

fn overflow() -> Error {
    Error::new(Code::S008, "an expression leaves the 64-bit range").advice("check the coefficients and bounds")
}

impl Ex {
    /// The value, when it needs no environment.
    pub fn as_const(&self) -> Option<i64> {
        match self {
            Ex::C(c) => Some(*c),
            Ex::Lin(terms, c) if terms.is_empty() => Some(*c),
            _ => None,
        }
    }

    /// Calls `f` with every register that the value depends on.
    pub fn registers(&self, f: &mut impl FnMut(RegRef)) {
        match self {
            Ex::Reg(r) => f(*r),
            Ex::Lin(terms, _) => terms.iter().for_each(|(t, _)| t.registers(f)),
            Ex::Div(p) | Ex::Mod(p) => {
                p.0.registers(f);
                p.1.registers(f);
            }
            Ex::C(_) | Ex::Axis(_) | Ex::Shard(_) | Ex::Rank | Ex::Indirect(_) => {}
        }
    }

    /// Evaluates. Depth is limited when the expression is compiled.
    pub fn eval(&self, env: &impl Env) -> Result<i64> {
        Ok(match self {
            Ex::C(c) => *c,
            Ex::Axis(a) => env.axis(*a)?,
            Ex::Reg(r) => env.register(*r)?,
            Ex::Lin(terms, c) => {
                let mut sum = *c;
                for (t, k) in terms {
                    let v = t.eval(env)?.checked_mul(*k).ok_or_else(overflow)?;
                    sum = sum.checked_add(v).ok_or_else(overflow)?;
                }
                sum
            }
            Ex::Shard(ub) => {
                let core = env.core();
                if core >= *ub {
                    return Err(Error::new(
                        Code::S008,
                        "the shard expression is used by more cores than it has shards",
                    )
                    .received(format!("core {core} of {ub}")));
                }
                core
            }
            Ex::Div(p) => floor(p.0.eval(env)?, p.1.eval(env)?)?.0,
            Ex::Mod(p) => floor(p.0.eval(env)?, p.1.eval(env)?)?.1,
            Ex::Rank => env.rank(),
            Ex::Indirect(arg) => {
                return Err(Error::new(Code::U002, "an index-tensor term is used where a scalar is needed")
                    .received(format!("IndirectArgId {arg}")));
            }
        })
    }
}

/// Floor quotient and modulo; the modulo has the divisor's sign.
fn floor(n: i64, d: i64) -> Result<(i64, i64)> {
    if d == 0 {
        return Err(Error::new(Code::S008, "an expression divides by zero").received(n));
    }
    let (q, r) = (n.checked_div(d).ok_or_else(overflow)?, n.checked_rem(d).ok_or_else(overflow)?);
    if r != 0 && (r < 0) != (d < 0) { Ok((q - 1, r + d)) } else { Ok((q, r)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct None;
    impl Env for None {
        fn axis(&self, axis: AxisId) -> Result<i64> {
            Ok(i64::from(axis.0) * 10)
        }
        fn register(&self, _: RegRef) -> Result<i64> {
            Ok(7)
        }
        fn core(&self) -> i64 {
            1
        }
        fn rank(&self) -> i64 {
            1
        }
    }

    #[test]
    fn division_and_modulo_floor() {
        for (n, d, q, r) in [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1)] {
            assert_eq!(floor(n, d).unwrap(), (q, r));
        }
        assert_eq!(floor(1, 0).unwrap_err().code(), Code::S008);
        assert_eq!(floor(i64::MIN, -1).unwrap_err().code(), Code::S008);
    }

    #[test]
    fn affine_terms_add_up() {
        let e = Ex::Lin(Box::new([(Ex::Axis(AxisId(1)), 3), (Ex::Axis(AxisId(2)), -1)]), 5);
        assert_eq!(e.eval(&None).unwrap(), 15);
        let e = Ex::Lin(Box::new([(Ex::C(i64::MAX), 2)]), 0);
        assert_eq!(e.eval(&None).unwrap_err().code(), Code::S008);
    }
}
