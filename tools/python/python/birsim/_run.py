"""`birsim.run`: programs from files, on arrays."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any, Mapping, Sequence

import numpy as np

from . import _native
from ._names import unexpected
from .assert_close import compare
from .errors import InvalidProgramError
from .nki.dtype import as_dtype

__all__ = ["Result", "run"]

_OPTIONS: dict[str, Any] = {
    "target": None, "threads": None, "seed": None, "order": None, "schedule": None, "schedule_seed": None, "mem_mode": None, "profile": None,
    "set": (), "check": (), "fill": None, "strict": False, "accept_abstract": False, "max_memory": None, "max_instructions": None, "timeout": None,
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Result:
    """What a run left."""

    outputs: dict[str, Any]
    """Arrays by the names of the program's outputs."""
    report: dict[str, Any]
    """Counters: instructions, opcodes, order, memory, and what the program printed."""
    warnings: list[str]
    """Remarks of the loading and of the run."""
    comparisons: dict[str, Any]
    """How each output with a golden differs from it."""

    @property
    def matches(self) -> bool:
        """Every output that has a golden lies within the tolerance."""
        return all(c.ok for c in self.comparisons.values())

    def __getitem__(self, name: str) -> Any:
        return self.outputs[name]


def _program(value: Any) -> list[tuple[str, bytes]]:
    """(name, contents) of every file of a program."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return [("program", bytes(value))]
    if isinstance(value, Mapping):
        return [("program", json.dumps(value).encode())]
    texts = getattr(value, "texts", None)
    if texts is not None:
        return [(f"core {k}", t.encode()) for k, t in enumerate(texts)]
    if isinstance(value, (list, tuple)):
        return [part for v in value for part in _program(v)]
    path = os.fspath(value)
    with open(path, "rb") as file:
        return [(str(path), file.read())]


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    unknown = [name for name in given if name not in _OPTIONS]
    if unknown:
        raise unexpected("run", unknown[0], _OPTIONS)
    options = {**_OPTIONS, **given}
    settings = options["set"]
    pairs = settings.items() if isinstance(settings, Mapping) else settings
    options["set"] = [(str(k), str(v).lower() if isinstance(v, bool) else str(v)) for k, v in pairs]
    checks = options["check"]
    options["check"] = checks.split(",") if isinstance(checks, str) else list(checks)
    return options


def _file(value: Any) -> Any:
    return np.load(value) if isinstance(value, (str, os.PathLike)) else value


def _bytes(name: str, value: Any, dtype: Any, shape: Sequence[int]) -> bytes:
    """An array as the bytes of a tensor: the shape and the type must be the tensor's; bits of the same size count as the type."""
    array = np.asarray(_file(value))
    if tuple(array.shape) != tuple(shape) and array.size != int(np.prod(shape)):
        raise InvalidProgramError(f"{name} has the shape {tuple(shape)}, the array {array.shape}")
    want = dtype.numpy
    if array.dtype != want:
        bits = array.dtype.kind in "iuV" and array.dtype.itemsize == want.itemsize
        exact = array.dtype.kind in "biu" and want.kind in "iu" and bool(np.all(array.astype(want) == array))
        if not bits and not exact:
            raise InvalidProgramError(f"{name} has the type {dtype}, the array {array.dtype}; convert it with array.astype(birsim.nki.language.{dtype})")
        array = array.astype(want) if exact else array.view(want)
    return np.ascontiguousarray(array).tobytes()


def run(
    program: Any,
    inputs: Mapping[str, Any] | None = None,
    goldens: Mapping[str, Any] | None = None,
    *,
    rtol: float = 1e-2,
    atol: float = 1e-5,
    **options: Any,
) -> Result:
    """Runs a `.klr` or BIR-JSON program and gives its outputs as arrays.

    `program` is a path, the bytes of a file, a module as a dict, what `birsim.trace` gives, or a list of modules, one per core.
    `inputs` and `goldens` are arrays, or paths of `.npy` files, by the names of tensors. Options are those of the command line:
    target, threads, seed, order, schedule, schedule_seed, mem_mode, profile, set, check, fill, strict, accept_abstract, max_memory,
    max_instructions, timeout.
    """
    loaded = _native.Run(_program(program), _options(options))
    tensors = {name: (as_dtype(dtype), tuple(shape), needed, output) for name, dtype, shape, needed, output in loaded.tensors()}

    def known(name: str) -> str:
        if name in tensors:
            return name
        if f"{name}_set" in tensors:
            return f"{name}_set"
        raise InvalidProgramError(f"the program has no tensor named {name}; it has {', '.join(tensors)}")

    given = {known(name): value for name, value in (inputs or {}).items()}
    for name, (dtype, shape, needed, _) in tensors.items():
        if name in given:
            loaded.bind(name, _bytes(name, given[name], dtype, shape))
        elif needed:
            raise InvalidProgramError(f"the program reads {name}, which nothing binds: give inputs={{{name!r}: array}} of {dtype} {shape}")
    loaded.run()
    outputs = {}
    for name, (dtype, shape, _, output) in tensors.items():
        if output:
            flat = np.frombuffer(loaded.output(name), dtype=dtype.numpy)
            outputs[name] = flat[: int(np.prod(shape))].reshape(shape).copy()
    comparisons = {known(name): compare(outputs[known(name)], _file(want), rtol=rtol, atol=atol) for name, want in (goldens or {}).items()}
    return Result(outputs, loaded.report(), loaded.warnings(), comparisons)
