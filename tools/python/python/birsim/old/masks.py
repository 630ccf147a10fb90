"""Masks of the 0.1 style: conjunctions of affine inequalities over the axes of an access.

A mask never becomes data. One whose inequalities each name a single axis is a box, and the access is made smaller. Any other
convex region is cut into boxes along the axes that several inequalities share.
"""

from __future__ import annotations

import sys
import threading
from opcode import opname
from types import FrameType
from typing import Any, Iterator, Tuple

from .index import IndexExpr, broadcast_shapes

__all__ = ["Box", "Mask", "boxes"]

Box = Tuple[Tuple[int, int], ...]
"""(first, end) of every axis."""


class Mask:
    """Elements where every form of `forms` is at least zero."""

    __slots__ = ("forms",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, forms: tuple[IndexExpr, ...]) -> None:
        self.forms = forms

    def __and__(self, other: Any) -> Any:
        if isinstance(other, Mask):
            return Mask(self.forms + other.forms)
        if isinstance(other, bool):
            return self if other else False
        return NotImplemented

    __rand__ = __and__

    def __or__(self, other: Any) -> Any:
        raise TypeError("masks can be joined with & only: a union of regions is not one access; make two calls")

    def __invert__(self) -> "Mask":
        if len(self.forms) != 1:
            raise TypeError("only a mask of one inequality can be inverted")
        return Mask((-self.forms[0] - 1,))

    def __bool__(self) -> bool:
        # Kernels of 0.1 also write `a and b`, which its compiler understood: Python asks for the truth of `a` and then yields `b`
        # alone, so `a` is kept for the comparison that follows.
        frame = sys._getframe(1)
        if not _evaluates_and(frame):
            raise TypeError("a mask has one value per element and no truth value; join masks with &")
        _kept.left = (self, frame)
        return True

    @property
    def shape(self) -> tuple[int, ...]:
        """The common shape of the inequalities."""
        return broadcast_shapes(*(f.shape for f in self.forms))

    def __repr__(self) -> str:
        return " & ".join(f"({f!r} >= 0)" for f in self.forms)


_kept = threading.local()


def compared(forms: tuple[IndexExpr, ...], frame: FrameType) -> Mask:
    """The mask of a comparison, joined with what stands left of an `and` in the same expression of the kernel."""
    left, _kept.left = getattr(_kept, "left", None), None
    if left is not None and left[1] is frame:
        return Mask(left[0].forms + forms)
    return Mask(forms)


def _evaluates_and(frame: FrameType) -> bool:
    """The frame asks for a truth value inside of `x and y` as an expression."""
    code, at = frame.f_code.co_code, frame.f_lasti
    if opname[code[at]] == "JUMP_IF_FALSE_OR_POP":
        return True
    if "JUMP_IF_TRUE" in opname[code[at]]:
        return False
    # Later interpreters copy the value first; an `if` or `while` does not.
    for back in range(at - 2, max(at - 12, -1), -2):
        name = opname[code[back]]
        if name not in ("CACHE", "TO_BOOL"):
            return name == "COPY" and _jumps_on_false(code, at)
    return False


def _jumps_on_false(code: bytes, at: int) -> bool:
    for forward in range(at, min(at + 14, len(code)), 2):
        name = opname[code[forward]]
        if "JUMP_IF" in name:
            return "FALSE" in name
    return False


def boxes(mask: Any, shape: tuple[int, ...]) -> Iterator[Box]:
    """The part of `shape` where `mask` holds, as boxes that do not overlap, in the order of their first element.

    `mask` may be None (everything), a Python bool, or a `Mask`.
    """
    whole = tuple((0, n) for n in shape)
    if mask is None or mask is True:
        yield whole
        return
    if mask is False:
        return
    if not isinstance(mask, Mask):
        raise TypeError(f"mask= takes a comparison of index expressions, not {type(mask).__name__}")
    forms = []
    for f in mask.forms:
        # An axis that the access does not have can only be one on which the form does not depend.
        extra = len(f.shape) - len(shape)
        if extra > 0:
            if any(f.coefs[:extra]):
                raise ValueError(f"the mask has the axes {f.shape} and the access only {shape}")
            f = IndexExpr(f.shape[extra:], f.coefs[extra:], f.const)
        pad = (0,) * (len(shape) - len(f.shape))
        forms.append((pad + f.coefs, f.const))
    yield from _cut(forms, whole)


def _cut(forms: list[tuple[tuple[int, ...], int]], box: Box) -> Iterator[Box]:
    """Boxes of the region inside of `box`; recursion depth is at most the number of axes."""
    ranges = list(box)
    mixed = []
    for coefs, const in forms:
        axes = [k for k, c in enumerate(coefs) if c]
        if not axes:
            if const < 0:
                return
        elif len(axes) == 1:
            k = axes[0]
            c = coefs[k]
            first, end = ranges[k]
            if c > 0:
                first = max(first, -(const // c))
            else:
                end = min(end, const // -c + 1)
            ranges[k] = (first, end)
        else:
            mixed.append((coefs, const))
    if any(first >= end for first, end in ranges):
        return
    if not mixed:
        yield tuple(ranges)
        return
    # Fixing the first axis of a mixed inequality leaves one axis less in it.
    k = next(k for k, c in enumerate(mixed[0][0]) if c)
    for i in range(*ranges[k]):
        fixed = [(coefs[:k] + (0,) + coefs[k + 1 :], const + coefs[k] * i) for coefs, const in mixed]
        yield from _cut(fixed, tuple(ranges[:k]) + ((i, i + 1),) + tuple(ranges[k + 1 :]))
