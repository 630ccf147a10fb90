"""`nki.compiler`: allocation hints, which a simulator without a schedule accepts and needs not."""

from __future__ import annotations

import contextlib
from typing import Any

from .. import regions as _nl

__all__ = ["enable_stack_allocator", "no_reorder", "psum", "sbuf", "skip_middle_end_transformations"]


class _Placed:
    """A buffer with a wish for the address."""

    def __init__(self, region: Any) -> None:
        self.region = region


class _Allocator:
    """`sbuf` and `psum` of this module: usable as `buffer=`, with or without a wish for the address."""

    def __init__(self, region: Any) -> None:
        self.region = region

    def alloc(self, fn: Any = None, **_: Any) -> _Placed:
        """An address that a function of the block computes."""
        return _Placed(self.region)

    def mod_alloc(self, *_args: Any, **_: Any) -> _Placed:
        """An address by a rule of tiles that take turns."""
        return _Placed(self.region)

    auto_alloc = alloc


sbuf, psum = _Allocator(_nl.sbuf), _Allocator(_nl.psum)


def _decorator(f: Any = None, **_: Any) -> Any:
    """A decorator that leaves the kernel as it is, with or without a call."""
    return f if callable(f) else _decorator


skip_middle_end_transformations = enable_stack_allocator = force_auto_alloc = _decorator


def no_reorder(f: Any = None) -> Any:
    """An ordering hint: a decorator or a `with` block."""
    return f if callable(f) else contextlib.nullcontext()
