"""Functions of the 0.1 layer on tensors of the machine, for `nki.language`."""

from __future__ import annotations

from typing import Any

from .. import _native
from . import language, state
from .launch import _unwrap
from .tile import as_tile, flush


def _wrap(value: Any) -> Any:
    if isinstance(value, _native.NkiTensor):
        return _view(value)
    return value


def _view(t: Any) -> Any:
    """A tile that is exactly a view: its own storage for the layer."""
    return as_tile(t)


def call(name: str, *args: Any, **kwargs: Any) -> Any:
    """Calls a function and gives its result as a tensor of the machine."""
    # A launch decides about precision for all of its tensors, these results included.
    with state.launched(state.State(precise=True)):
        result = getattr(language, name)(*(_wrap(a) for a in args), **{k: _wrap(v) for k, v in kwargs.items()})
        flush()
        return _unwrap(result)
