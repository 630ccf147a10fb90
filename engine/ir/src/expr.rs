//! Affine expressions and predicates (`bir-json.md` 7).

use std::fmt;

/// An affine expression over loop axes, registers and ranks.
///
/// Names are resolved when a module is compiled for the machine; here they are as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A constant.
    Const(i64),
    /// `c + sum coeff * idx` (`AffExprKind`).
    Affine {
        /// (index expression, coefficient).
        terms: Vec<(Expr, i64)>,
        /// Constant part.
        c: i64,
    },
    /// Induction value of an axis (`AffIVKind`).
    Axis(String),
    /// Value of a register (`IntRuntimeValueKind`).
    Register(String),
    /// Core id in [0, ub) (`ShardIDKind`).
    ShardId {
        /// Upper bound.
        ub: i64,
    },
    /// Sum (`SumKind`).
    Sum(Vec<Expr>),
    /// Product with a constant (`MultKind`).
    Mult(Box<Expr>, i64),
    /// Floor division (`FloorDivKind`).
    FloorDiv(Box<Expr>, Box<Expr>),
    /// Floor modulo (`ModuloKind`, `CCModKind`).
    Modulo(Box<Expr>, Box<Expr>),
    /// Division on a rank (`CCDivKind`).
    CcDiv {
        /// Numerator.
        numer: Box<Expr>,
        /// Denominator.
        denom: Box<Expr>,
        /// Which replica groups.
        replica_groups_id: i64,
    },
    /// Rank lookup (`CCGetRankKind`).
    CcGetRank {
        /// Iteration.
        iteration_id: i64,
        /// Channel.
        channel_id: i64,
    },
    /// Value of an index tensor operand (`IndirectArgId`).
    IndirectArg {
        /// Which operand.
        arg_id: i64,
    },
}

impl Expr {
    /// The value, when the expression is a constant.
    pub fn as_const(&self) -> Option<i64> {
        match self {
            Expr::Const(c) => Some(*c),
            Expr::Affine { terms, c } if terms.is_empty() => Some(*c),
            _ => None,
        }
    }
}

impl fmt::Display for Expr {
    /// The expression as arithmetic, for listings and messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Const(c) => write!(f, "{c}"),
            Expr::Affine { terms, c } => {
                for (n, (e, k)) in terms.iter().enumerate() {
                    let plus = if n > 0 { " + " } else { "" };
                    match k {
                        1 => write!(f, "{plus}{e}")?,
                        k => write!(f, "{plus}{k}*{e}")?,
                    }
                }
                match (terms.is_empty(), c) {
                    (true, c) => write!(f, "{c}"),
                    (false, 0) => Ok(()),
                    (false, c) => write!(f, " + {c}"),
                }
            }
            Expr::Axis(name) | Expr::Register(name) => f.write_str(name),
            Expr::ShardId { ub } => write!(f, "shard_id({ub})"),
            Expr::Sum(terms) => {
                f.write_str("(")?;
                for (n, e) in terms.iter().enumerate() {
                    write!(f, "{}{e}", if n > 0 { " + " } else { "" })?;
                }
                f.write_str(")")
            }
            Expr::Mult(e, k) => write!(f, "{k}*{e}"),
            Expr::FloorDiv(a, b) => write!(f, "(({a}) div ({b}))"),
            Expr::Modulo(a, b) => write!(f, "(({a}) mod ({b}))"),
            Expr::CcDiv { numer, denom, .. } => write!(f, "(rank ({numer}) div ({denom}))"),
            Expr::CcGetRank { iteration_id, channel_id } => write!(f, "rank({iteration_id}, {channel_id})"),
            Expr::IndirectArg { arg_id } => write!(f, "index({arg_id})"),
        }
    }
}

birsim_kernels::named_enum! {
    /// Relation of a predicate's expression to zero.
    PredicateOp { Ge = 0, "ge"; Eq = 1, "eq"; Lt = 2, "lt"; Le = 3, "le"; Gt = 4, "gt"; Ne = 5, "ne"; }
}

/// An affine predicate: true when `expr op 0` (`bir-json.md` 7.3).
#[derive(Clone, Debug, PartialEq)]
pub struct Predicate {
    /// Left side.
    pub expr: Expr,
    /// Relation to zero.
    pub op: PredicateOp,
}
