"""The functions of `nki.collectives` that are instructions: rows of the native table. The stub beside this file is made from them."""

from __future__ import annotations

from .. import _native

__all__ = list(_native.instructions()[1])
for _name in __all__:
    globals()[_name] = _native.Instruction(_name)
