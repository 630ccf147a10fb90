"""Functions of every element."""

from __future__ import annotations

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


def mod(x: Any, y: Any, dtype: Any = None, mask: Any = None, **_: Any) -> Any:
    """The remainder of x / y, with the sign of the divisor."""
    return binary("mod", x, y, dtype, mask)


def fmod(x: Any, y: Any, dtype: Any = None, mask: Any = None, **_: Any) -> Any:
    """The remainder of x / y, with the sign of the dividend."""
    return binary("fmod", x, y, dtype, mask)


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


def _several_steps(name: str) -> Any:
    """A function that `nki.language` builds from several instructions."""

    def f(x: Tile, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
        g = getattr(nl, name)
        kept = as_dtype(x.dtype if dtype is None else dtype)

        def run(d: Any, t: Any) -> None:
            nisa.tensor_copy(dst=d, src=g(t, dtype=kept))

        return emit.elementwise(kept, mask, [x], run)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"`{name}` of every element."
    return f


sin = _several_steps("sin")
cos = _several_steps("cos")
tan = _several_steps("tan")
ceil = _several_steps("ceil")
floor = _several_steps("floor")
trunc = _several_steps("trunc")
