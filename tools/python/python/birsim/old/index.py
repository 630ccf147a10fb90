"""Index expressions of the 0.1 style: affine forms over the axes of an access.

`nl.arange(128)[:, None]` is not an array but the form `1 * i0` over the shape (128, 1). Sums, differences and multiples of such
forms and integers stay affine, so the access `t[i_p, 2 * i_f + i_g]` has a constant step along each of its axes: exactly what an
access pattern of the machine can say.
"""

from __future__ import annotations

import numbers
import sys
from typing import Any, Iterator

__all__ = ["IndexExpr", "MGrid", "arange", "broadcast_shapes", "mgrid"]


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The common shape of several shapes, aligned at the last axis as NumPy does."""
    rank = max((len(s) for s in shapes), default=0)
    out = [1] * rank
    for shape in shapes:
        for axis, n in enumerate(shape, rank - len(shape)):
            if n != 1 and out[axis] != 1 and out[axis] != n:
                raise ValueError(f"the shapes {', '.join(map(str, shapes))} do not fit together: axis {axis} is {out[axis]} and {n}")
            if n != 1:
                out[axis] = n
    return tuple(out)


class IndexExpr:
    """`const + sum(coefs[k] * i_k)`, where `i_k` runs over `range(shape[k])`. Immutable."""

    __slots__ = ("coefs", "const", "shape")
    # Without this NumPy integers on the left side would build object arrays element by element.
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, shape: tuple[int, ...], coefs: tuple[int, ...], const: int = 0) -> None:
        self.shape, self.coefs, self.const = shape, coefs, const

    @classmethod
    def constant(cls, value: int, shape: tuple[int, ...] = ()) -> "IndexExpr":
        """The form that is `value` everywhere."""
        return cls(shape, (0,) * len(shape), int(value))

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def over(self, shape: tuple[int, ...]) -> "IndexExpr":
        """The same form broadcast to `shape`: it does not depend on the axes that are new or repeated."""
        pad = (0,) * (len(shape) - len(self.shape))
        kept = tuple(c if n == m else 0 for c, n, m in zip(self.coefs, self.shape, shape[len(pad) :]))
        return IndexExpr(shape, pad + kept, self.const)

    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest value."""
        low = high = self.const
        for c, n in zip(self.coefs, self.shape):
            span = c * (n - 1)
            low, high = low + min(span, 0), high + max(span, 0)
        return low, high

    def narrowed(self, box: tuple[tuple[int, int], ...]) -> "IndexExpr":
        """The form over the part `box` of its axes, given as (first, end) per axis."""
        const = self.const + sum(c * first for c, (first, _) in zip(self.coefs, box))
        return IndexExpr(tuple(end - first for first, end in box), self.coefs, const)

    # ---- arithmetic

    def _combine(self, other: Any, sign: int) -> "IndexExpr":
        if isinstance(other, numbers.Integral):
            return IndexExpr(self.shape, self.coefs, self.const + sign * int(other))
        if not isinstance(other, IndexExpr):
            return NotImplemented
        shape = broadcast_shapes(self.shape, other.shape)
        a, b = self.over(shape), other.over(shape)
        return IndexExpr(shape, tuple(x + sign * y for x, y in zip(a.coefs, b.coefs)), a.const + sign * b.const)

    def __add__(self, other: Any) -> "IndexExpr":
        return self._combine(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> "IndexExpr":
        return self._combine(other, -1)

    def __rsub__(self, other: Any) -> "IndexExpr":
        return (-self)._combine(other, 1)

    def __neg__(self) -> "IndexExpr":
        return self * -1

    def __mul__(self, factor: Any) -> "IndexExpr":
        if not isinstance(factor, numbers.Integral):
            return NotImplemented
        return IndexExpr(self.shape, tuple(c * int(factor) for c in self.coefs), self.const * int(factor))

    __rmul__ = __mul__

    def _not_affine(self, what: str) -> TypeError:
        return TypeError(
            f"an index expression cannot be {what}: only sums and integer multiples of nl.arange and nl.mgrid have a constant step; reshape the tensor or loop instead"
        )

    def __floordiv__(self, other: Any) -> "IndexExpr":
        if other == 1:
            return self
        raise self._not_affine("divided")

    def __mod__(self, other: Any) -> "IndexExpr":
        raise self._not_affine("taken modulo a number")

    def __bool__(self) -> bool:
        raise TypeError("an index expression has one value per element and no truth value; use it in a mask= or a pred=")

    # ---- comparisons build masks

    def __lt__(self, other: Any) -> Any:
        return _holds(other - self - 1)

    def __le__(self, other: Any) -> Any:
        return _holds(other - self)

    def __gt__(self, other: Any) -> Any:
        return _holds(self - other - 1)

    def __ge__(self, other: Any) -> Any:
        return _holds(self - other)

    def __eq__(self, other: Any) -> Any:
        if not isinstance(other, (IndexExpr, numbers.Integral)):
            return NotImplemented
        return _holds(self - other, other - self)

    # ---- axes

    def __getitem__(self, key: Any) -> "IndexExpr":
        key = key if isinstance(key, tuple) else (key,)
        if any(k is Ellipsis for k in key):
            at = key.index(Ellipsis)
            rest = len(self.shape) - sum(k is not None for k in key) + 1
            key = key[:at] + (slice(None),) * rest + key[at + 1 :]
        shape: list[int] = []
        coefs: list[int] = []
        const, axis = self.const, 0
        for k in key:
            if k is None:
                shape.append(1)
                coefs.append(0)
                continue
            if axis == len(self.shape):
                raise IndexError(f"an index expression of {len(self.shape)} axes has no axis {axis}")
            n, c = self.shape[axis], self.coefs[axis]
            axis += 1
            if isinstance(k, slice):
                first, end, step = k.indices(n)
                shape.append(len(range(first, end, step)))
                coefs.append(c * step)
                const += c * first
            else:
                i = int(k)
                if not -n <= i < n:
                    raise IndexError(f"index {i} is outside of axis {axis - 1} of size {n}")
                const += c * (i % n)
        return IndexExpr(tuple(shape) + self.shape[axis:], tuple(coefs) + self.coefs[axis:], const)

    def __repr__(self) -> str:
        terms = [f"{c}*i{k}" for k, c in enumerate(self.coefs) if c]
        return f"<index {' + '.join([*terms, str(self.const)])} over {self.shape}>"


def _holds(*forms: IndexExpr) -> Any:
    """The mask of a comparison written in the caller of the caller."""
    from .masks import compared

    return compared(forms, sys._getframe(2))


def arange(start: int, stop: int | None = None, step: int = 1) -> IndexExpr:
    """The integers of `range(start, stop, step)` as an index expression of one axis."""
    first, end = (0, start) if stop is None else (start, stop)
    values = range(int(first), int(end), int(step))
    return IndexExpr((len(values),), (values.step,), values.start)


class MGrid:
    """The index expressions of `nl.mgrid[a:b, c:d]`: unpack them, index them, or take them as `.p`, `.x`, `.y`, `.z`, `.w`."""

    __slots__ = ("_axes",)

    def __init__(self, axes: tuple[IndexExpr, ...]) -> None:
        self._axes = axes

    def __iter__(self) -> Iterator[IndexExpr]:
        return iter(self._axes)

    def __len__(self) -> int:
        return len(self._axes)

    def __getitem__(self, k: int) -> IndexExpr:
        return self._axes[k]

    def __getattr__(self, name: str) -> IndexExpr:
        k = "pxyzw".find(name) if len(name) == 1 else -1
        if not 0 <= k < len(self._axes):
            raise AttributeError(
                f"a grid of {len(self._axes)} axes has no axis {name!r}; its axes are {', '.join('pxyzw'[: len(self._axes)])}"
            )
        return self._axes[k]


class _MGridMaker:
    def __getitem__(self, key: Any) -> MGrid:
        key = key if isinstance(key, tuple) else (key,)
        axes = []
        for k, s in enumerate(key):
            form = arange(s.start or 0, s.stop, 1 if s.step is None else s.step)
            axes.append(form[tuple(slice(None) if j == k else None for j in range(len(key)))])
        return MGrid(tuple(axes))


mgrid = _MGridMaker()
