"""Running kernels: arguments become tensors of HBM, results become arrays."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import warnings
from typing import Any, Callable

import numpy as np

from .. import _native, _observe
from .._names import nearest
from ..errors import NkiValidationError, SimulationWarning
from . import target as _target
from .dtype import as_dtype
from .turns import Turns

__all__ = ["Kernel", "Simulation", "Trace", "jit", "simulate"]


class Kernel:
    """A function that runs on the simulator; brackets give the number of cores."""

    def __init__(self, func: Callable[..., Any], options: dict[str, Any], lnc: Any = None) -> None:
        self.func, self.options, self.lnc = func, options, lnc
        functools.update_wrapper(self, func)

    def __getitem__(self, lnc: Any) -> "Kernel":
        return type(self)(self.func, self.options, _lnc(lnc))

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def with_schedule(self, edges: Any) -> "Kernel":
        """Ordering edges, which change nothing here."""
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _native.tracing() is not None:
            return self.func(*args, **kwargs)
        return Simulation(self, {})(*args, **kwargs)


def _lnc(value: Any) -> int:
    sizes = value if isinstance(value, (tuple, list)) else (value,)
    n = 1
    for s in sizes:
        n *= int(getattr(s, "size", s))
    if n not in (1, 2):
        raise ValueError(f"a logical core has 1 or 2 cores, not {n}")
    return n


def jit(func: Any = None, **options: Any) -> Any:
    """Makes a kernel of a function."""
    if func is None:
        return lambda f: jit(f, **options)
    if isinstance(func, Kernel):
        return Kernel(func.func, {**func.options, **options}, func.lnc)
    return Kernel(func, options)


class _Arguments:
    """The arrays of a call and the tensors that stand for them."""

    def __init__(self, launch: Any, buffer: str, target: str, precise: bool) -> None:
        self.launch, self.buffer, self.target, self.precise = launch, buffer, target, precise
        self.arrays: list[tuple[Any, np.ndarray, Any]] = []
        self.torch = False
        self.packed: dict[str, Any] = {}

    def take(self, value: Any, name: str) -> Any:
        """The value with its arrays as tensors."""
        array = self.as_array(value)
        if array is not None:
            kind = as_dtype(array.dtype)
            if kind.kind == "x":
                self.packed[str(kind)] = array.dtype
            if kind == "float8_e4m3fn" and self.target != "trn3":
                # Older targets have one type of 4 exponent bits, and take these bits for it.
                kind = as_dtype("float8_e4m3")
            data = np.ascontiguousarray(array)
            if not self.precise and kind.kind == "f" and kind.itemsize < 4 and kind != "float8_e8m0fnu":
                data = data.astype(np.float32)
            shape = list(array.shape) or [1]
            made = self.launch.input(name, shape, kind, self.buffer, data.tobytes())
            self.arrays.append((value, array, made))
            return made
        if isinstance(value, (list, tuple)):
            parts = [self.take(v, f"{name}_{k}") for k, v in enumerate(value)]
            return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
        if type(value) is dict:
            return {k: self.take(v, f"{name}_{k}") for k, v in value.items()}
        if dataclasses.is_dataclass(value) and not isinstance(value, type) and any(self.holds(getattr(value, f.name, None)) for f in dataclasses.fields(value)):
            import copy

            made = copy.copy(value)
            for f in dataclasses.fields(value):
                object.__setattr__(made, f.name, self.take(getattr(value, f.name), f"{name}_{f.name}"))
            return made
        return value

    def holds(self, value: Any) -> bool:
        """There is an array somewhere in the value."""
        if self.as_array(value) is not None:
            return True
        if isinstance(value, (list, tuple)):
            return any(self.holds(v) for v in value)
        return dataclasses.is_dataclass(value) and not isinstance(value, type) and any(self.holds(getattr(value, f.name, None)) for f in dataclasses.fields(value))

    def as_array(self, value: Any) -> Any:
        """The NumPy array of an argument; None when it is none."""
        if isinstance(value, np.ndarray):
            return value
        kind = type(value)
        if kind.__module__.split(".")[0] == "torch" and hasattr(value, "detach") and hasattr(value, "numpy"):
            self.torch = True
            return _from_torch(value)
        return None

    def put_back(self) -> None:
        """Copies what the kernel wrote into the caller's arrays."""
        for original, array, made in self.arrays:
            if made._written:
                values = _observe.gather(self.launch.read(made), made).view(array.dtype).reshape(array.shape)
                if original is array:
                    if array.flags.writeable:
                        array[...] = values
                else:
                    original.copy_(_to_torch(values))


_TORCH_BITS = {"torch.bfloat16": ("int16", "bfloat16"), "torch.float8_e4m3fn": ("uint8", "float8_e4m3fn"), "torch.float8_e5m2": ("uint8", "float8_e5m2")}


def _from_torch(value: Any) -> Any:
    import torch

    value = value.detach().cpu().contiguous()
    bits = _TORCH_BITS.get(str(value.dtype))
    if bits is None:
        return value.numpy()
    return value.view(getattr(torch, bits[0])).numpy().view(as_dtype(bits[1]).numpy)


def _to_torch(values: Any) -> Any:
    import torch

    name = str(values.dtype)
    for torch_name, (bits, ours) in _TORCH_BITS.items():
        if ours == name and hasattr(torch, torch_name.split(".")[1]):
            return torch.from_numpy(np.ascontiguousarray(values).view(bits)).view(getattr(torch, torch_name.split(".")[1]))
    if values.dtype.kind == "u" and not hasattr(torch, name):
        # Before 2.3 torch has no unsigned integers of more than 8 bits: the same bits, signed.
        values = values.view(f"int{8 * values.itemsize}")
    return torch.from_numpy(np.ascontiguousarray(values))


class Simulation:
    """`nki.simulate(kernel)`: callable, and subscriptable by the number of cores."""

    def __init__(self, kernel: Any, options: dict[str, Any], lnc: Any = None) -> None:
        self.kernel = kernel if isinstance(kernel, Kernel) else Kernel(getattr(kernel, "func", kernel), {})
        self.options = options
        self.lnc = lnc if lnc is not None else self.kernel.lnc
        functools.update_wrapper(self, self.kernel.func)
        self.func = self.kernel.func

    def __getitem__(self, lnc: Any) -> "Simulation":
        return type(self)(self.kernel, self.options, _lnc(lnc))

    def _target(self) -> str:
        return _target.chosen(self.options.get("target", self.kernel.options.get("platform_target")))

    def _launch(self, whole: bool) -> Any:
        eager = self.options.get("eager", os.environ.get("BIRSIM_EAGER", "") not in ("", "0"))
        config = os.environ.get("NEURON_LOGICAL_NC_CONFIG", "")
        if self.lnc is not None and config.isdigit() and int(config) != self.lnc:
            warnings.warn(f"kernel[{self.lnc}] under NEURON_LOGICAL_NC_CONFIG={config}: a device runs a kernel only when both agree", stacklevel=4)
        return _native.Launch(
            self._target(),
            cores=self.lnc or 1,
            eager=bool(eager),
            whole=whole,
            grid=self.lnc is not None,
            threads=self.options.get("threads"),
            seed=self.options.get("seed"),
            settings=[(str(k), str(v)) for k, v in dict(self.options.get("set", {})).items()],
            precise=_precise(),
        )

    def _traced(self, whole: bool, args: Any, kwargs: Any) -> Any:
        """(launch, arguments, results of core 0)."""
        launch = self._launch(whole)
        taken = _Arguments(launch, "shared_hbm" if (self.lnc or 1) > 1 else "hbm", self._target(), _precise())
        names = list(inspect.signature(self.func).parameters) if callable(self.func) else []
        inner = [taken.take(a, names[k] if k < len(names) else f"arg{k}") for k, a in enumerate(args)]
        named = {k.replace(".must_alias_input", ""): taken.take(v, k.replace(".must_alias_input", "")) for k, v in kwargs.items()}
        turns = Turns(launch, self.lnc or 1, lambda: self.func(*inner, **named))
        if not whole:
            launch.set_baton(turns.give)
        try:
            result = turns.run()
        except BaseException:
            launch.kill()
            raise
        return launch, taken, result

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        check = self.options.get("check")
        if check:
            from .._capacity import analyse, check_capacity, check_overlaps

            for name in check.split(","):
                module = module_of(self, *args, **kwargs)
                if name == "capacity":
                    check_capacity(analyse(module))
                elif name == "overlap":
                    check_overlaps(module)
                else:
                    raise ValueError(f"check={check!r}: checks are capacity and overlap")
        launch, taken, result = self._traced(False, args, kwargs)
        try:
            launch.finish()
            for text, file, line in launch.warnings():
                warnings.warn_explicit(text, SimulationWarning, file or "<kernel>", line or 0)
            unpaired = launch.unpaired()
            if unpaired:
                raise NkiValidationError("the cores do not make the same shared tensors:\n  " + "\n  ".join(unpaired))
            out = self._out(launch, taken, result)
            taken.put_back()
        finally:
            launch.forget()
        return out

    def _out(self, launch: Any, taken: _Arguments, value: Any) -> Any:
        if isinstance(value, _native.NkiTensor):
            for original, array, made in taken.arrays:
                if made is value and array is original and array.flags.writeable:
                    return original
            values = _observe.gather(launch.read(value), value)
            packed = taken.packed.get(str(value.dtype))
            if packed is not None:
                values = values.view(packed)
            return _to_torch(values) if taken.torch else values
        if isinstance(value, (list, tuple)):
            parts = [self._out(launch, taken, v) for v in value]
            return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
        if isinstance(value, dict):
            return {k: self._out(launch, taken, v) for k, v in value.items()}
        return value


def _precise() -> bool:
    """Low-precision floats are kept as such, as on a device."""
    return os.environ.get("NKI_PRECISE_FP", "1") not in ("", "0")


_OPTIONS = ("target", "eager", "threads", "seed", "set", "check")


def simulate(kernel: Any = None, **options: Any) -> Any:
    """A kernel that runs on the simulator, whatever the machine has.

    Options: target ("trn1", "trn2", "trn3"), eager (every call runs at once), threads, seed, set (fields of the profile), check
    ("capacity", "overlap").
    """
    for name in options:
        if name not in _OPTIONS:
            raise TypeError(f"simulate() got an unexpected keyword argument '{name}'{nearest(name, _OPTIONS)}")
    if kernel is None:
        return lambda k: simulate(k, **options)
    return Simulation(kernel, options)


class Trace(Simulation):
    """`birsim.trace(kernel)`: gives the program instead of running it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        launch, _, _ = self._traced(True, args, kwargs)
        try:
            return Program(launch.modules())
        finally:
            launch.forget()


class Program:
    """BIR modules, one per core."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts

    def to_json(self, core: int = 0) -> str:
        """The module of a core as BIR-JSON."""
        return self.texts[core]


def module_of(simulation: Simulation, *args: Any, **kwargs: Any) -> Any:
    """The modules of a kernel as JSON data, one function per core."""
    import json

    program = Trace(simulation.kernel, simulation.options, simulation.lnc)(*args, **kwargs)
    modules = [json.loads(t) for t in program.texts]
    first = dict(modules[0])
    first["functions"] = [m["functions"][0] for m in modules]
    return first
