"""The functions of `nki.isa` that are instructions: rows of the native table. The stub beside this file is made from the same rows."""

from __future__ import annotations

from ... import _native

__all__ = list(_native.instructions()[0])
for _name in __all__:
    globals()[_name] = _native.Instruction(_name)
