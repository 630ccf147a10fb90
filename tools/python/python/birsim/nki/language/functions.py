"""Functions of `nki.language` on tiles: each gives a new tile, and is the operation that instructions take.

They are those of the 0.1 layer, on tensors of the machine; a row of [`_FUNCTIONS`] gives the parameters and the names that share them.
"""

from __future__ import annotations

import inspect as _inspect
from typing import Any, Callable

from ..._names import unexpected as _unexpected

# Parameters to the functions that have them.
_FUNCTIONS = {
    "x, y, dtype=None": (
        "add subtract multiply divide maximum minimum abs_max abs_min power equal not_equal less less_equal greater greater_equal "
        "bitwise_and bitwise_or bitwise_xor left_shift right_shift logical_and logical_or logical_xor fmod mod"
    ),
    "x, dtype=None": (
        "abs square invert logical_not exp log sqrt rsqrt tanh sigmoid relu gelu gelu_apprx_sigmoid gelu_apprx_tanh gelu_dx "
        "gelu_apprx_sigmoid_dx silu silu_dx softplus mish erf erf_dx reciprocal copy sin cos tan arctan ceil floor trunc negative sign "
        "transpose"
    ),
    "x, axis, dtype=None, keepdims=False": "sum max min mean prod var all",
    "x, axis=-1, dtype=None": "softmax",
    "x, w, axis, n, epsilon=1e-06, dtype=None, compute_dtype=None": "rms_norm",
    "condition, x, y, dtype=None": "where",
    "x, rate, dtype=None": "dropout",
    "x, axis": "expand_dims",
    "x, shape, dtype=None": "broadcast_to",
    "x, y, transpose_x=False": "matmul",
    "src, dtype=None": "load load_transpose2d",
    "dst, value": "store",
    "data, indices, axis=0, dtype=None": "gather_flattened",
}


def _function(name: str, parameters: str) -> Callable[..., Any]:
    names, defaults = [], {}
    for part in parameters.split(", "):
        word, _, default = part.partition("=")
        names.append(word)
        if default:
            defaults[word] = eval(default, {})  # noqa: S307  a literal of the table above
    required = len(names) - len(defaults)

    def f(*args: Any, **kwargs: Any) -> Any:
        from ...old import bridge

        if len(args) > len(names):
            raise TypeError(f"{name}() takes at most {len(names)} arguments, {len(args)} were given")
        given = dict(zip(names, args))
        for key, value in kwargs.items():
            if key in given:
                raise TypeError(f"{name}() got the argument {key} twice")
            if key in names:
                given[key] = value
            elif key != "mask" or value is not None:
                raise _unexpected(name, key, names)
        missing = [n for n in names[:required] if n not in given]
        if missing:
            raise TypeError(f"{name}() misses the argument {missing[0]}")
        # The required ones by place: the 0.1 layer calls some of them differently.
        return bridge.call(name, *(given.pop(n) for n in names[:required]), **given)

    f.__name__ = f.__qualname__ = name
    f.__module__ = "nki.language"
    f.__doc__ = f"`{name}` of tiles, as a new tile; also the operation that instructions take."
    f.__signature__ = _inspect.Signature(  # type: ignore[attr-defined]
        [
            _inspect.Parameter(n, _inspect.Parameter.POSITIONAL_OR_KEYWORD, default=defaults.get(n, _inspect.Parameter.empty))
            for n in names
        ]
    )
    return f


def _operation(name: str) -> Callable[..., Any]:
    def f(*args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"nl.{name} is an operation that instructions take, such as op=nl.{name}; it is no function of tiles")

    f.__name__ = f.__qualname__ = name
    f.__module__ = "nki.language"
    f.__doc__ = f"The operation `{name}` of instructions."
    return f


# Operations that only instructions know.
_OPERATIONS = ("average", "bypass", "prelu")
__all__ = [_name for _names in _FUNCTIONS.values() for _name in _names.split()] + list(_OPERATIONS)
for _name in _OPERATIONS:
    globals()[_name] = _operation(_name)
for _parameters, _names in _FUNCTIONS.items():
    for _name in _names.split():
        globals()[_name] = _function(_name, _parameters)
