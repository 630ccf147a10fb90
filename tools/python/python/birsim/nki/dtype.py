"""Element types of NKI as strings that NumPy understands.

NKI's dtypes are strings since 0.3, and kernels rely on it: they are dict keys, parts of test ids, compared with `"bfloat16"`, and
handed to NumPy. `DType` is a `str`, so all of this holds; it also compares equal to the NumPy dtype that carries its values, in
both directions, and knows its size and its number in BIR.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

__all__ = [
    "DType",
    "as_dtype",
    "bfloat16",
    "bool_",
    "float16",
    "float32",
    "float4_e2m1fn_x4",
    "float8_e4m3",
    "float8_e4m3fn",
    "float8_e4m3fn_x4",
    "float8_e5m2",
    "float8_e5m2_x4",
    "float8_e8m0fnu",
    "int16",
    "int32",
    "int64",
    "int8",
    "tfloat32",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
]


class DType(str):
    """One element type. A plain string to everybody who only compares, prints or hashes it."""

    __slots__ = ("code", "itemsize", "kind", "lanes", "numpy")

    code: int
    """The number of the type in BIR."""
    itemsize: int
    """Bytes of one element; a packed (x4) element counts as one."""
    kind: str
    """`f` float, `i` signed, `u` unsigned, `b` boolean, `x` packed."""
    lanes: int
    """Values in one element: 4 for the packed types, else 1."""
    numpy: np.dtype
    """The NumPy type that carries the values; for packed types the unsigned integer of the same width."""

    def __new__(cls, name: str, code: int, kind: str, carrier: Any, lanes: int = 1) -> "DType":
        self = str.__new__(cls, name)
        self.numpy = np.dtype(carrier)
        self.code, self.kind, self.lanes = code, kind, lanes
        self.itemsize = self.numpy.itemsize
        return self

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return str.__eq__(self, other)
        if isinstance(other, np.dtype):
            return _of_numpy(other) is self
        if isinstance(other, type) and issubclass(other, np.generic):
            return _of_numpy(np.dtype(other)) is self
        return NotImplemented

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    __hash__ = str.__hash__

    def __reduce__(self) -> Any:
        return as_dtype, (str(self),)


bool_ = DType("bool", 0, "b", np.bool_)
uint8 = DType("uint8", 0, "u", np.uint8)
int8 = DType("int8", 1, "i", np.int8)
uint16 = DType("uint16", 10, "u", np.uint16)
int16 = DType("int16", 11, "i", np.int16)
uint32 = DType("uint32", 14, "u", np.uint32)
int32 = DType("int32", 15, "i", np.int32)
uint64 = DType("uint64", 18, "u", np.uint64)
int64 = DType("int64", 19, "i", np.int64)
float16 = DType("float16", 13, "f", np.float16)
bfloat16 = DType("bfloat16", 12, "f", ml_dtypes.bfloat16)
float32 = DType("float32", 16, "f", np.float32)
tfloat32 = DType("tfloat32", 17, "f", np.float32)
float8_e4m3 = DType("float8_e4m3", 4, "f", ml_dtypes.float8_e4m3)
float8_e4m3fn = DType("float8_e4m3fn", 5, "f", ml_dtypes.float8_e4m3fn)
float8_e5m2 = DType("float8_e5m2", 7, "f", ml_dtypes.float8_e5m2)
float8_e8m0fnu = DType("float8_e8m0fnu", 6, "f", ml_dtypes.float8_e8m0fnu)
float8_e4m3fn_x4 = DType("float8_e4m3fn_x4", 8, "x", np.uint32, 4)
float8_e5m2_x4 = DType("float8_e5m2_x4", 9, "x", np.uint32, 4)
float4_e2m1fn_x4 = DType("float4_e2m1fn_x4", 2, "x", np.uint16, 4)

_BY_NAME = {
    str(t): t
    for t in (
        bool_,
        uint8,
        int8,
        uint16,
        int16,
        uint32,
        int32,
        uint64,
        int64,
        float16,
        bfloat16,
        float32,
        tfloat32,
        float8_e4m3,
        float8_e4m3fn,
        float8_e5m2,
        float8_e8m0fnu,
        float8_e4m3fn_x4,
        float8_e5m2_x4,
        float4_e2m1fn_x4,
    )
}
# Spellings that older front ends and NumPy use for the same types.
_ALIASES = {
    "bool_": bool_,
    "float8e4": float8_e4m3,
    "float8e5": float8_e5m2,
    "fp32": float32,
    "float32r": tfloat32,
    "fp16": float16,
    "bf16": bfloat16,
}


def _of_numpy(dtype: np.dtype) -> DType | None:
    """The type of a NumPy dtype, by name: packed user types of any package are found as well."""
    found = _BY_NAME.get(dtype.name)
    if found is None and dtype.kind == "V":
        found = _BY_NAME.get(str(dtype))
    return None if found is tfloat32 else found


def as_dtype(value: Any) -> DType:
    """The NKI dtype that `value` means: a dtype, its name, a NumPy or ml_dtypes type, or another framework's dtype object.

    Raises TypeError when there is none, naming the value and the types that exist.
    """
    if isinstance(value, DType):
        return value
    if isinstance(value, str):
        name = value.rsplit(".", 1)[-1]
        found = _BY_NAME.get(name) or _ALIASES.get(name)
    else:
        found = None
        if isinstance(value, (np.dtype, type)):
            try:
                found = _of_numpy(np.dtype(value))
            except TypeError:
                found = None
        if found is None:
            # torch.float32 and the like print as `framework.name`.
            name = str(value).rsplit(".", 1)[-1]
            found = _BY_NAME.get(name) or _ALIASES.get(name)
    if found is None:
        raise TypeError(f"{value!r} is not an NKI element type; the types are {', '.join(sorted(_BY_NAME))}")
    return found
