"""The 0.1 style of NKI, `neuronxcc.nki`: calls that return tiles, index expressions, masks, block dimensions and grids.

A pure Python layer over `birsim.nki`: every call becomes one or a few calls of the destination style.
"""

from . import compiler, isa, language, typing
from .launch import Kernel, baremetal, benchmark, jit, profile, simulate_kernel, trace
from .typing import tensor

__all__ = [
    "Kernel",
    "baremetal",
    "benchmark",
    "compiler",
    "isa",
    "jit",
    "language",
    "profile",
    "simulate_kernel",
    "tensor",
    "trace",
    "typing",
]
