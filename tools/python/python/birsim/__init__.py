"""birsim: a functional simulator of AWS Neuron cores, and a front end that runs NKI kernels on it."""

from __future__ import annotations

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
    UnsupportedError,
)

__version__: str = _native.__version__


def __getattr__(name):
    if name == "trace":
        from .nki.launch import Trace

        def trace(kernel, **options):
            """The program of a kernel: `birsim.trace(kernel)(*args)`."""
            return Trace(kernel, options)

        return trace
    if name == "capacity":
        from ._capacity import capacity

        return capacity
    if name == "simulate":
        from .nki.launch import simulate

        return simulate
    raise AttributeError(f"module 'birsim' has no attribute {name!r}")
