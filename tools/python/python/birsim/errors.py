"""Exceptions of birsim. Those of a run carry `code`, `place`, `rule`, `filename` and `lineno`."""

from __future__ import annotations

from typing import Any

__all__ = ["BirsimError", "InternalError", "InvalidProgramError", "NkiIndexError", "NkiValidationError", "SimulationFault", "SimulationWarning", "UnsupportedError"]


class NkiValidationError(ValueError, AssertionError):
    """A call breaks a rule of the language or of the target."""


class NkiIndexError(NkiValidationError, IndexError):
    """An index leaves its tensor."""


class SimulationWarning(UserWarning):
    """A remark about a run, at the line of the call that it is about."""


class BirsimError(RuntimeError):
    """An error of the simulator, with the text of the command line."""

    code: str = ""
    place: str = ""
    rule: str = ""
    exit_code: int = 0
    filename: Any = None
    lineno: Any = None


class InvalidProgramError(BirsimError, ValueError):
    """The program or its inputs are malformed."""


class SimulationFault(BirsimError, IndexError):
    """The simulated program broke a rule of the machine while it ran."""


class UnsupportedError(BirsimError, NotImplementedError):
    """The program needs something that is not modelled."""


class InternalError(BirsimError):
    """A defect of birsim."""
