"""Launching kernels of the 0.1 style: `jit`, `trace`, `baremetal`, `benchmark`, `profile`, `simulate_kernel`.

All of them run the kernel on the simulator; the options of device tools are accepted, because scripts pass them.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from typing import Any, Callable

from .. import nki as _nki
from ..errors import SimulationFault
from ..nki import isa as nisa
from ..nki import language as nl
from . import state
from .grid import points, sizes
from .tile import Tile, as_tile, flush

__all__ = ["Kernel", "baremetal", "benchmark", "jit", "profile", "simulate_kernel", "trace"]


def _wrap(value: Any) -> Any:
    """Arguments with their tensors as tiles."""
    if isinstance(value, (list, tuple)):
        parts = [_wrap(v) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {k: _wrap(v) for k, v in value.items()}
    if hasattr(value, "ap") and hasattr(value, "buffer"):
        return as_tile(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changed = {f.name: _wrap(getattr(value, f.name)) for f in dataclasses.fields(value) if f.init}
        return dataclasses.replace(value, **changed)
    return value


def _unwrap(value: Any) -> Any:
    """Results with their tiles as tensors of the machine."""
    if isinstance(value, Tile):
        whole = all(not f.const and f.shape == g for f, g in zip(value.forms, [value.root.shape] * len(value.forms)))
        if whole and value.root.par is None and tuple(value.root.base.shape) == value.shape:
            return value.root.base
        return _kept(value.nki(), value.dtype)
    if isinstance(value, (list, tuple)):
        parts = [_unwrap(v) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {k: _unwrap(v) for k, v in value.items()}
    return value


def _kept(tensor: Any, dtype: Any) -> Any:
    """A result with the element type that its author gave it."""
    if tensor.dtype == dtype:
        return tensor
    made = nl.ndarray(tuple(tensor.shape), dtype=dtype, buffer=nl.private_hbm)
    if tensor.buffer == nl.psum:
        stage = nl.ndarray(tuple(tensor.shape), dtype=tensor.dtype)
        nisa.tensor_copy(stage, tensor)
        tensor = stage
    nisa.dma_copy(made, tensor)
    return made


def _out_of_bounds(e: SimulationFault, rows: dict[str, int]) -> IndexError:
    """The IndexError that the simulator of 0.1 raised for a row outside of its table, which NumPy worded."""
    found = re.search(r"index (\d+), bound (\d+)", str(e))
    table = re.search(r"tensor (\S+?)[,\n]", str(e))
    size = rows.get(table.group(1)) if table else None
    if found is None or size is None:
        return IndexError(str(e))
    index, bound = (int(n) * size for n in found.groups())
    return IndexError(f"index {index} is out of bounds for axis 0 with size {bound}")


# Codes of an access outside of its tensor.
_BOUNDS = ("BIR-S001", "BIR-S003", "BIR-S014")


class Kernel:
    """A kernel of the 0.1 style; brackets give its grid."""

    def __init__(self, func: Callable[..., Any], options: dict[str, Any], grid: tuple[int, ...] = ()) -> None:
        self.func, self.options, self.grid = func, options, grid
        functools.update_wrapper(self, func)

    def __getitem__(self, grid: Any) -> "Kernel":
        return Kernel(self.func, self.options, sizes(grid))

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if state.running():
            # A kernel called from a running kernel is a plain function.
            return self.func(*args, **kwargs)
        launch = state.State(self.grid)

        @functools.wraps(self.func)
        def body(*inner: Any, **named: Any) -> Any:
            result = None
            with state.launched(launch):
                wrapped, wrapped_named = _wrap(list(inner)), _wrap(named)
                for t in (*wrapped, *wrapped_named.values()):
                    if isinstance(t, Tile):
                        launch.note(t)
                for n, point in enumerate(points(self.grid)):
                    launch.start(point)
                    value = self.func(*wrapped, **wrapped_named)
                    flush()
                    result = _unwrap(value) if n == 0 else result
            return result

        target = self.options.get("platform_target")
        kernel = _nki.jit(body, **({} if target is None else {"platform_target": target}))
        try:
            return _nki.simulate(kernel)(*args, **kwargs)
        except SimulationFault as e:
            # The simulator of 0.1 raised a plain IndexError for an index outside of its tensor, and tests compare the type.
            if e.code in _BOUNDS:
                raise _out_of_bounds(e, launch.rows) from e
            raise


def jit(func: Any = None, **options: Any) -> Any:
    """Makes a kernel of a function; usable as a decorator with or without options."""
    if func is None:
        return lambda f: jit(f, **options)
    if isinstance(func, Kernel):
        return Kernel(func.func, {**func.options, **options}, func.grid)
    return Kernel(func, options)


def trace(func: Any = None, **options: Any) -> Any:
    """As `jit`; `grid=` gives the grid."""
    if func is None:
        return lambda f: trace(f, **options)
    made = jit(func, **{k: v for k, v in options.items() if k != "grid"})
    grid = options.get("grid")
    return made if grid in (None, ()) else made[grid]


baremetal = jit


class _Latency:
    """Stands for the measurement of a device: there is none on a CPU."""

    def get_latency_percentile(self, percentile: float) -> int:
        """0: a functional simulation has no time."""
        return 0


class _Result:
    nc_latency = _Latency()


class _Measured(Kernel):
    """A kernel under a device tool: it runs once."""

    benchmark_result = _Result()

    def __getitem__(self, grid: Any) -> "_Measured":
        return _Measured(self.func, self.options, sizes(grid))


def benchmark(func: Any = None, **options: Any) -> Any:
    """Runs the kernel once; a functional simulation has no time to measure."""
    if func is None:
        return lambda f: benchmark(f, **options)
    kernel = jit(func)
    return _Measured(kernel.func, kernel.options, kernel.grid)


profile = benchmark


def simulate_kernel(kernel: Any, *args: Any, **kwargs: Any) -> Any:
    """Runs a kernel, or a plain function as one."""
    return (kernel if isinstance(kernel, Kernel) else jit(kernel))(*args, **kwargs)
