"""Functions of every element."""

from __future__ import annotations

import builtins
import math
from typing import Any

from ...nki import isa as nisa
from ...nki import language as nl
from ...nki.dtype import DType, as_dtype, bool_, float32
from .. import emit
from ..tile import Tile
from ..tokens import COMPARISONS


def common(x: DType, y: DType) -> DType:
    """The more precise of two types: floats before integers, then the wider one."""
    if x == y:
        return x
    if (x.kind == "f") != (y.kind == "f"):
        return x if x.kind == "f" else y
    if x.itemsize != y.itemsize:
        return x if x.itemsize > y.itemsize else y
    return float32 if x.kind == "f" and x.itemsize == 2 else x


def binary(name: str, x: Any, y: Any, dtype: Any = None, mask: Any = None) -> Any:
    x, y = emit.number(x), emit.number(y)
    op = getattr(nl, name)
    tiles = [t for t in (x, y) if isinstance(t, Tile)]
    if not tiles:
        raise TypeError(f"nl.{name} needs at least one tile; compute with Python numbers directly")
    for t in tiles:
        t.root
    if dtype is None:
        dtype = tiles[0].dtype if len(tiles) == 1 else common(tiles[0].dtype, tiles[1].dtype)
        if name in COMPARISONS:
            dtype = bool_
        elif len(tiles) == 1 and isinstance(x if tiles[0] is y else y, float) and dtype.kind != "f":
            dtype = float32
    if len(tiles) == 1:
        value, swap = (y, {}) if tiles[0] is x else (x, {"reverse0": True})
        return emit.elementwise(dtype, mask, tiles, lambda d, t: nisa.tensor_scalar(dst=d, data=t, op0=op, operand0=value, **swap))
    if x.buffer == nl.psum and y.buffer == nl.psum:
        y = emit.to_sbuf(y)
    return emit.elementwise(dtype, mask, [x, y], lambda d, a, b: nisa.tensor_tensor(dst=d, data1=a, data2=b, op=op))


def _binary_function(name: str) -> Any:
    def f(x: Any, y: Any, dtype: Any = None, mask: Any = None, **_: Any) -> Any:
        return binary(name, x, y, dtype, mask)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"`{name}` of two tiles, or of a tile and a number, element by element."
    return f


add = _binary_function("add")
subtract = _binary_function("subtract")
multiply = _binary_function("multiply")
divide = _binary_function("divide")
maximum = _binary_function("maximum")
minimum = _binary_function("minimum")
power = _binary_function("power")
bitwise_and = _binary_function("bitwise_and")
bitwise_or = _binary_function("bitwise_or")
bitwise_xor = _binary_function("bitwise_xor")
left_shift = _binary_function("left_shift")
right_shift = _binary_function("right_shift")
logical_and = _binary_function("logical_and")
logical_or = _binary_function("logical_or")
logical_xor = _binary_function("logical_xor")
equal = _binary_function("equal")
not_equal = _binary_function("not_equal")
greater = _binary_function("greater")
greater_equal = _binary_function("greater_equal")
less = _binary_function("less")
less_equal = _binary_function("less_equal")
abs_max = _binary_function("abs_max")
abs_min = _binary_function("abs_min")


def mod(x: Any, y: Any, dtype: Any = None, mask: Any = None, **_: Any) -> Any:
    """The remainder of x / y, with the sign of the divisor."""
    return binary("mod", x, y, dtype, mask)


def fmod(x: Any, y: Any, dtype: Any = None, mask: Any = None, **_: Any) -> Any:
    """The remainder of x / y, with the sign of the dividend."""
    x, y = emit.number(x), emit.number(y)
    size = builtins.abs(y) if not isinstance(y, Tile) else abs(y)
    if not isinstance(x, Tile):
        left = binary("mod", builtins.abs(x), size, dtype, mask)
        return left if x >= 0 else negative(left, mask=mask)
    return binary("multiply", binary("mod", abs(x), size, dtype, mask), sign(x), x.dtype if dtype is None else dtype, mask)


def _activation_function(name: str) -> Any:
    def f(x: Tile, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
        op = getattr(nl, name)
        kept = x.dtype if x.dtype.kind == "f" else float32
        return emit.elementwise(kept if dtype is None else dtype, mask, [x], lambda d, t: nisa.activation(dst=d, op=op, data=t))

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"`{name}` of every element."
    return f


exp = _activation_function("exp")
log = _activation_function("log")
tanh = _activation_function("tanh")
sqrt = _activation_function("sqrt")
rsqrt = _activation_function("rsqrt")
sigmoid = _activation_function("sigmoid")
relu = _activation_function("relu")
gelu = _activation_function("gelu")
gelu_dx = _activation_function("gelu_dx")
gelu_apprx_tanh = _activation_function("gelu_apprx_tanh")
gelu_apprx_sigmoid = _activation_function("gelu_apprx_sigmoid")
gelu_apprx_sigmoid_dx = _activation_function("gelu_apprx_sigmoid_dx")
silu = _activation_function("silu")
silu_dx = _activation_function("silu_dx")
softplus = _activation_function("softplus")
mish = _activation_function("mish")
erf = _activation_function("erf")
erf_dx = _activation_function("erf_dx")
arctan = _activation_function("arctan")
sign = _activation_function("sign")
square = _activation_function("square")


def abs(x: Tile, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:  # noqa: A001
    """The magnitude of every element."""
    return by_number(x, nl.abs, 0.0, dtype, mask)


def by_number(x: Tile, op: Any, value: Any, dtype: Any, mask: Any, **more: Any) -> Tile:
    """One `tensor_scalar` over a tile."""
    kept = x.dtype if dtype is None else dtype
    return emit.elementwise(kept, mask, [x], lambda d, t: nisa.tensor_scalar(dst=d, data=t, op0=op, operand0=value, **more))


def negative(x: Tile, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """The negative of every element."""
    return by_number(x, nl.multiply, -1 if x.dtype.kind != "f" else -1.0, dtype, mask)


def reciprocal(x: Tile, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """1 / x of every element."""
    return emit.elementwise(x.dtype if dtype is None else dtype, mask, [x], lambda d, t: nisa.reciprocal(dst=d, data=t))


def invert(x: Tile, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """All bits of every element flipped."""
    return by_number(x, nl.bitwise_xor, -1 if x.dtype.kind == "i" else (1 << 8 * x.dtype.itemsize) - 1, dtype, mask)


bitwise_not = invert


def logical_not(x: Tile, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """1 where an element is zero, else 0."""
    return by_number(x, nl.equal, 0.0, bool_ if dtype is None else dtype, mask)


# 2 pi as a sum of two float32 numbers, of which the first has few bits: its multiples are exact.
_TURN = 6.28125, 1.9353071795864769e-3
# From here on every float32 number is whole.
_WHOLE = float(2**23)


def _turned(x: Tile, shift: float, mask: Any) -> Tile:
    """x + shift less whole turns, in [-pi, pi]."""
    angle = by_number(x, nl.multiply, 1.0, float32, mask, op1=nl.add, operand1=shift)
    turns = by_number(angle, nl.multiply, 1 / (2 * math.pi), as_dtype("int32"), mask)
    turns = by_number(turns, nl.multiply, 1.0, float32, mask)
    for part in _TURN:
        angle = binary("subtract", angle, by_number(turns, nl.multiply, part, float32, mask), float32, mask)
    return by_number(angle, nl.minimum, math.pi, float32, mask, op1=nl.maximum, operand1=-math.pi)


_narrow_sin = _activation_function("sin")


def sin(x: Tile, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """The sine of every element; the machine's own takes angles from -pi to pi."""
    return _narrow_sin(_turned(x, 0.0, mask), x.dtype if dtype is None else dtype, mask)


def cos(x: Tile, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """The cosine of every element."""
    return _narrow_sin(_turned(x, math.pi / 2, mask), x.dtype if dtype is None else dtype, mask)


def tan(x: Tile, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """The tangent of every element."""
    return binary("divide", sin(x, float32, mask), cos(x, float32, mask), x.dtype if dtype is None else dtype, mask)


def _rounded(x: Tile, dtype: Any, mask: Any, correction: Any) -> Tile:
    """The nearest whole number of every element, less what `correction(nearest, x)` gives."""
    kept = as_dtype(x.dtype if dtype is None else dtype)
    if x.dtype.kind != "f":
        return by_number(x, nl.add, 0, kept, mask)
    from .shapes import where

    nearest = by_number(by_number(x, nl.multiply, 1.0, as_dtype("int32"), mask), nl.multiply, 1.0, float32, mask)
    whole = binary("subtract", nearest, correction(nearest, x), float32, mask)
    small = by_number(abs(x, float32, mask), nl.less, _WHOLE, bool_, mask)
    # Large numbers are whole already, and leave the range of int32.
    return where(small, whole, x, kept, mask)


def floor(x: Tile, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """The largest whole number that is not above, for every element."""
    return _rounded(x, dtype, mask, lambda n, x: binary("greater", n, x, float32, mask))


def ceil(x: Tile, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """The smallest whole number that is not below, for every element."""
    return _rounded(x, dtype, mask, lambda n, x: negative(binary("less", n, x, float32, mask)))


def trunc(x: Tile, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """Every element without its fraction."""

    def beyond(n: Tile, x: Tile) -> Tile:
        over = binary("greater", abs(n, float32, mask), abs(x, float32, mask), float32, mask)
        return binary("multiply", over, sign(x, float32, mask), float32, mask)

    return _rounded(x, dtype, mask, beyond)
