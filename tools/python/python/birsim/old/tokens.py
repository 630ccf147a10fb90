"""What may stand where an operation is expected: functions of this namespace, of `nki.language`, NumPy's ufuncs, or names."""

from __future__ import annotations

from typing import Any

from ..nki import language as nl

__all__ = ["COMPARISONS", "activation_token", "alu_token"]

COMPARISONS = (
    "equal",
    "not_equal",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "logical_not",
)

# NumPy's and 0.1's names of what `nki.language` calls differently.
_ALU = {
    "max": "maximum",
    "amax": "maximum",
    "min": "minimum",
    "amin": "minimum",
    "sum": "add",
    "prod": "multiply",
    "mul": "multiply",
    "sub": "subtract",
    "true_divide": "divide",
    "absolute": "abs",
    "bitwise_not": "invert",
    "float_power": "power",
}
_ACTIVATION = {"absolute": "abs", "identity": "copy", "arctan2": "arctan"}


def _name(op: Any) -> str | None:
    if isinstance(op, str):
        return op.rsplit(".", 1)[-1]
    return getattr(op, "__name__", None)


def _token(op: Any, names: dict[str, str], what: str) -> Any:
    name = _name(op)
    found = None if name is None else getattr(nl, names.get(name, name), None)
    if found is None:
        raise TypeError(f"{op!r} is not an {what}; use nl.add, nl.exp, np.maximum and the like")
    return found


def alu_token(op: Any) -> Any:
    """The operation of arithmetic that `op` means; None stays None."""
    return None if op is None else _token(op, _ALU, "operation of arithmetic")


def activation_token(op: Any) -> Any:
    """The activation function that `op` means."""
    return None if op is None else _token(op, _ACTIVATION, "activation function")
