//! Operations: what a function of `nki.language`, a NumPy function or a name stands for as an operand.

use birsim_engine::ir::ActivationFunction as F;
use birsim_kernels::alu::AluOp as A;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

/// An operation.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// NKI name.
    pub name: &'static str,
    /// Operation of arithmetic.
    pub alu: Option<A>,
    /// Activation function.
    pub func: Option<F>,
}

const fn alu(name: &'static str, op: A) -> Token {
    Token { name, alu: Some(op), func: None }
}

const fn func(name: &'static str, f: F) -> Token {
    Token { name, alu: None, func: Some(f) }
}

const TOKENS: &[Token] = &[
    Token { name: "bypass", alu: Some(A::Bypass), func: Some(F::Identity) },
    alu("invert", A::BitwiseNot),
    alu("add", A::Add),
    alu("subtract", A::Subtract),
    alu("multiply", A::Mult),
    alu("divide", A::Divide),
    alu("maximum", A::Max),
    alu("minimum", A::Min),
    alu("bitwise_and", A::BitwiseAnd),
    alu("bitwise_or", A::BitwiseOr),
    alu("bitwise_xor", A::BitwiseXor),
    alu("logical_and", A::LogicalAnd),
    alu("logical_or", A::LogicalOr),
    alu("logical_xor", A::LogicalXor),
    alu("left_shift", A::LogicalShiftLeft),
    alu("right_shift", A::LogicalShiftRight),
    alu("arith_shift_left", A::ArithShiftLeft),
    alu("arith_shift_right", A::ArithShiftRight),
    alu("equal", A::IsEqual),
    alu("not_equal", A::NotEqual),
    alu("greater", A::IsGt),
    alu("greater_equal", A::IsGe),
    alu("less", A::IsLt),
    alu("less_equal", A::IsLe),
    alu("average", A::Average),
    alu("power", A::Pow),
    alu("mod", A::Mod),
    Token { name: "rsqrt", alu: Some(A::Rsqrt), func: Some(F::Rsqrt) },
    Token { name: "abs", alu: Some(A::Abs), func: Some(F::Abs) },
    alu("abs_max", A::AbsMax),
    alu("abs_min", A::AbsMin),
    func("identity", F::Identity),
    func("copy", F::Copy),
    func("square", F::Square),
    func("relu", F::Relu),
    func("prelu", F::Prelu),
    func("sigmoid", F::Sigmoid),
    func("tanh", F::Tanh),
    func("exp", F::Exp),
    func("softplus", F::Softplus),
    func("sqrt", F::Sqrt),
    func("log", F::Ln),
    func("erf", F::Erf),
    func("erf_dx", F::DerivativeErf),
    func("sin", F::Sin),
    func("arctan", F::Arctan),
    func("sign", F::Sign),
    func("gelu", F::Gelu),
    func("gelu_dx", F::DerivativeGelu),
    func("gelu_apprx_tanh", F::GeluApprxTanh),
    func("gelu_apprx_sigmoid", F::GeluApprxSigmoid),
    func("gelu_apprx_sigmoid_dx", F::DerivativeGeluApprxSigmoid),
    func("mish", F::Mish),
    func("reciprocal", F::Reciprocal),
    func("silu", F::Silu),
    func("silu_dx", F::DerivativeSilu),
];

/// Names that NumPy and older versions use.
const ALIASES: &[(&str, &str)] = &[
    ("max", "maximum"),
    ("min", "minimum"),
    ("amax", "maximum"),
    ("amin", "minimum"),
    ("sum", "add"),
    ("prod", "multiply"),
    ("absolute", "abs"),
    ("true_divide", "divide"),
    ("pow", "power"),
    ("remainder", "mod"),
    ("bitwise_not", "invert"),
    ("is_equal", "equal"),
    ("mult", "multiply"),
];

fn named(name: &str) -> Option<Token> {
    let name = ALIASES.iter().find(|(k, _)| *k == name).map_or(name, |(_, n)| n);
    TOKENS.iter().find(|t| t.name == name).copied()
}

/// Objects seen so far. They are kept, so that their addresses stay theirs.
static SEEN: OnceLock<Mutex<Seen>> = OnceLock::new();

type Seen = HashMap<usize, (Py<PyAny>, Token)>;

/// Objects that are kept at most: kernels that make operations on the fly are looked up by name each time.
const KEPT: usize = 1024;

/// The operation that an object stands for.
pub fn token(ob: &Bound<'_, PyAny>) -> PyResult<Token> {
    let seen = SEEN.get_or_init(Mutex::default);
    let key = ob.as_ptr() as usize;
    if let Some((_, t)) = seen.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
        return Ok(*t);
    }
    let name: Option<String> = match ob.cast::<PyString>() {
        Ok(s) => Some(s.to_cow()?.into_owned()),
        Err(_) => ob.getattr("__name__").ok().and_then(|n| n.extract().ok()),
    };
    let found = name.as_deref().and_then(named).ok_or_else(|| {
        let text = ob.repr().map_or_else(|_| "?".to_owned(), |r| r.to_string());
        PyTypeError::new_err(format!("{text} is not an operation such as nl.add or nl.exp"))
    })?;
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    if seen.len() < KEPT {
        seen.insert(key, (ob.clone().unbind(), found));
    }
    Ok(found)
}
