"""Operations: what a function of `nki.language` stands for when an instruction takes it as an operand."""

from __future__ import annotations

from typing import Any

__all__ = ["ALU", "FUNC", "alu", "func"]

# NKI name -> AluOpType of BIR.
ALU = {
    "bypass": 0, "invert": 1, "add": 4, "subtract": 5, "multiply": 6, "divide": 7, "maximum": 8, "max": 8, "minimum": 9, "min": 9,
    "bitwise_and": 10, "bitwise_or": 11, "bitwise_xor": 12, "logical_and": 13, "logical_or": 14, "logical_xor": 15, "left_shift": 16,
    "right_shift": 17, "equal": 18, "not_equal": 19, "greater": 20, "greater_equal": 21, "less": 22, "less_equal": 23, "average": 24,
    "power": 26, "mod": 27, "rsqrt": 28, "abs": 29, "abs_max": 30, "abs_min": 31, "sum": 4, "prod": 6,
}  # fmt: skip
# NKI name -> ActivationFunctionType of BIR.
FUNC = {
    "square": 1, "relu": 2, "prelu": 4, "sigmoid": 5, "tanh": 6, "exp": 7, "softplus": 8, "sqrt": 9, "rsqrt": 10, "log": 11, "erf": 12, "sin": 13,
    "arctan": 14, "sign": 15, "gelu": 16, "mish": 17, "gelu_apprx_tanh": 18, "gelu_apprx_sigmoid": 19, "gelu_apprx_sigmoid_dx": 20, "gelu_dx": 21,
    "erf_dx": 22, "copy": 23, "abs": 24, "reciprocal": 25, "silu": 27, "silu_dx": 28,
}  # fmt: skip
BITVEC = frozenset((1, 10, 11, 12, 16, 17))


def _name(op: Any) -> Any:
    name = op if isinstance(op, str) else getattr(op, "__name__", None)
    return None if name is None else {"absolute": "abs", "amax": "maximum", "amin": "minimum"}.get(name, name)


def alu(op: Any) -> int:
    """The operation of arithmetic; None means bypass."""
    if op is None:
        return 0
    found = ALU.get(_name(op))
    if found is None:
        raise TypeError(f"{op!r} is not an operation of arithmetic such as nl.add or nl.maximum")
    return found


def func(op: Any) -> int:
    """The activation function."""
    found = FUNC.get(_name(op))
    if found is None:
        raise TypeError(f"{op!r} is not an activation function such as nl.exp or nl.copy")
    return found
