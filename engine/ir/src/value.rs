//! Values of per-opcode fields.

use super::Expr;
use birsim_kernels::Named;

/// An axis of a loop (`LoopAxis`, `DynamicForLoopAxis`).
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Name.
    pub name: String,
    /// Lower bound.
    pub lb: Expr,
    /// Upper bound.
    pub ub: Expr,
    /// Step.
    pub stride: Expr,
}

/// Value of a per-opcode field.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Flag.
    Bool(bool),
    /// Integer; the field says in which range.
    Int(i64),
    /// Float.
    Float(f64),
    /// Text or a name.
    Str(String),
    /// Ordinal in the field's enumeration.
    Enum(u8),
    /// Affine expression in a field that may be affine.
    Expr(Expr),
    /// List of integers or expressions.
    Ints(Vec<Expr>),
    /// List of floats.
    Floats(Vec<f64>),
    /// List of names.
    Strs(Vec<String>),
    /// List of ordinals in the field's enumeration.
    Enums(Vec<u8>),
    /// List of `[step, num]`.
    Pairs(Vec<(i64, i64)>),
    /// List of lists of integers.
    Groups(Vec<Vec<i64>>),
    /// Name to name.
    Map(Vec<(String, String)>),
    /// Loop axis.
    Axis(Box<Axis>),
    /// Anything else, kept as written.
    Json(serde_json::Value),
}

impl Value {
    /// A named enumeration value.
    pub fn named<T: Named>(v: T) -> Self {
        Value::Enum(v.ordinal())
    }
}

impl From<bool> for Value {
    fn from(v: bool) -> Self {
        Value::Bool(v)
    }
}

impl From<i64> for Value {
    fn from(v: i64) -> Self {
        Value::Int(v)
    }
}

impl From<f64> for Value {
    fn from(v: f64) -> Self {
        Value::Float(v)
    }
}

impl From<&str> for Value {
    fn from(v: &str) -> Self {
        Value::Str(v.to_string())
    }
}

impl From<Expr> for Value {
    fn from(v: Expr) -> Self {
        match v.as_const() {
            Some(c) => Value::Int(c),
            None => Value::Expr(v),
        }
    }
}
