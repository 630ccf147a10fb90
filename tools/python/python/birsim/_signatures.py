"""Signatures of the functions of `nki.isa`, out of their rows."""

from __future__ import annotations

import inspect
from typing import Any


class _Shown:
    """A default that prints as it is written."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def of(function: Any) -> inspect.Signature:
    """The signature of a function."""
    parameters = []
    for name, _, default in function._parameters:
        value: Any = inspect.Parameter.empty if default is None else _Shown(default)
        parameters.append(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=value))
    return inspect.Signature(parameters)
