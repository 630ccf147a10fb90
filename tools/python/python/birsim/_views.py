"""Views that are easier to describe in Python."""

from __future__ import annotations

from typing import Any


def rearrange(tensor: Any, src: Any, dst: Any, fixed_sizes: Any = None) -> Any:
    """The dimensions named by `src`, where a tuple splits one, in the order of `dst`, where a tuple joins several."""
    sizes = dict(fixed_sizes or {})
    names: list[Any] = []
    view = tensor
    for entry in src:
        dim = len(names)
        if isinstance(entry, (tuple, list)):
            known = 1
            for n in entry:
                known *= sizes.get(n, 1)
            shape = [sizes.get(n, view.shape[dim] // known) for n in entry]
            view = view.reshape_dim(dim, shape)
            names.extend(entry)
        else:
            names.append(entry)
    order = [n for e in dst for n in (e if isinstance(e, (tuple, list)) else (e,))]
    view = view.permute([names.index(n) for n in order])
    at = 0
    for entry in dst:
        if isinstance(entry, (tuple, list)) and len(entry) > 1:
            view = view.flatten_dims(at, at + len(entry) - 1)
        at += 1
    return view


def assign(target: Any, value: Any) -> None:
    """`t[key] = value`: a copy, or a fill with a number."""
    from .nki import isa
    from .nki import language as nl

    if not isinstance(value, nl.NkiTensor):
        nl._fill(target, value)
    elif target.buffer in ("sbuf", "psum") and value.buffer in ("sbuf", "psum"):
        isa.tensor_copy(target, value)
    else:
        isa.dma_copy(target, value)
