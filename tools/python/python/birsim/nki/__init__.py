"""NKI kernels on birsim: `jit`, `simulate`, and the modules `isa`, `language`, `collectives`, `typing`."""

from . import compiler, dtype, isa, language, objects, regions, target, tokens, typing
from .language import NKIObject
from .launch import Kernel, jit, simulate

cpu_simulate = simulate


def simulate_kernel(kernel, *args, **kwargs):
    """Runs a kernel."""
    return simulate(kernel)(*args, **kwargs)


def baremetal(func=None, **options):
    """Runs the kernel on the simulator."""
    return (lambda f: jit(f)) if func is None else jit(func)


benchmark = profile = trace = baremetal
