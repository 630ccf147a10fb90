"""birsim: a functional simulator of AWS Neuron cores, and a front end that runs NKI kernels on it."""

from __future__ import annotations

from typing import Any

from . import _native
from ._install import install, uninstall
from .assert_close import assert_close, compare
from .errors import (
    BirsimError,
    InternalError,
    InvalidProgramError,
    NkiIndexError,
    NkiValidationError,
    SimulationFault,
    SimulationWarning,
    UnsupportedError,
)

__all__ = [
    "BirsimError",
    "InternalError",
    "InvalidProgramError",
    "NkiIndexError",
    "NkiValidationError",
    "SimulationFault",
    "SimulationWarning",
    "UnsupportedError",
    "assert_close",
    "compare",
    "install",
    "uninstall",
]
__version__: str = _native.__version__


def __getattr__(name: str) -> Any:
    if name == "trace":
        from .nki.launch import Trace

        def trace(kernel: Any, **options: Any) -> Any:
            """The program of a kernel: `birsim.trace(kernel)(*args)`."""
            return Trace(kernel, options)

        return trace
    if name == "capacity":
        from ._capacity import capacity

        return capacity
    if name == "simulate":
        from .nki.launch import simulate

        return simulate
    if name in ("run", "Result"):
        from . import _run

        return getattr(_run, name)
    raise AttributeError(f"module 'birsim' has no attribute {name!r}")
