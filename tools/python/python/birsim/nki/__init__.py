"""NKI kernels on birsim: `jit`, `simulate`, and the modules `isa`, `language`, `collectives`, `typing`."""

from typing import Any

from . import collectives, compiler, dtype, isa, language, objects, regions, target, tokens, typing
from .language import NKIObject
from .launch import Kernel, jit, simulate

__all__ = [
    "Kernel",
    "NKIObject",
    "baremetal",
    "benchmark",
    "collectives",
    "compiler",
    "cpu_simulate",
    "dtype",
    "isa",
    "jit",
    "language",
    "objects",
    "profile",
    "regions",
    "simulate",
    "simulate_kernel",
    "target",
    "tokens",
    "trace",
    "typing",
]

cpu_simulate = simulate


def simulate_kernel(kernel: Any, *args: Any, **kwargs: Any) -> Any:
    """Runs a kernel."""
    return simulate(kernel)(*args, **kwargs)


def baremetal(func: Any = None, **options: Any) -> Any:
    """Runs the kernel on the simulator."""
    return (lambda f: jit(f)) if func is None else jit(func)


benchmark = profile = trace = baremetal
