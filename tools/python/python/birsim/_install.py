"""Serves the names that NKI kernels import: `nki`, `neuronxcc.nki`, `nki_cpu_simulator`, `neuron_dtypes`.

One module object answers to all names of a module, so that `nki_cpu_simulator.nki.isa is nki.isa`. Packages of these names that
are installed for real win, unless `force=True`.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import types
from typing import Any, Sequence

__all__ = ["claim", "install", "installed", "uninstall"]

MARKER = "_birsim_names.py"
"""A file by which a package that only forwards to birsim is told from a real one."""

_TOPS = ("nki", "neuronxcc", "nki_cpu_simulator", "neuron_dtypes")

# Names that are not `nki.X` of `birsim.nki.X` or `neuronxcc.nki.X` of `birsim.old.X`.
_EXACT = {
    "neuron_dtypes": "birsim.neuron_dtypes",
    "neuronxcc.starfish.support.dtype": "birsim.neuron_dtypes",
    "neuronxcc.nki.isa.constants": "birsim.nki.isa.constants",
    "nki.language.dtypes": "birsim.nki.dtype",
}
_PREFIXES = (("nki_cpu_simulator.nki", "nki"), ("neuronxcc.nki", "birsim.old"), ("nki", "birsim.nki"))
# Packages that exist only to hold the ones below them.
_EMPTY = ("neuronxcc", "neuronxcc.starfish", "neuronxcc.starfish.support", "nki_cpu_simulator")
# Parts of the closed compiler that kernels import and that nobody else can offer.
_CLOSED = {
    "neuronxcc.nki.kernels": "the closed kernel collection of the compiler",
    "neuronxcc.nki._private_kernels": "the closed kernel collection of the compiler",
    "neuronxcc.nki._pre_prod_kernels": "the closed kernel collection of the compiler",
    "nki.framework": "the bridge to machine-learning frameworks of the device package",
    "nki.runtime": "the runtime of the device",
}


def target_of(name: str) -> str | None:
    """The module of this package that answers to `name`."""
    for _ in range(3):
        if name in _EXACT:
            return _EXACT[name]
        for prefix, real in _PREFIXES:
            if name == prefix or name.startswith(prefix + "."):
                name = real + name[len(prefix) :]
                break
        else:
            return None
        if name.startswith("birsim."):
            return name
    return None


class _Loader(importlib.abc.Loader):
    """Hands out the module of another name."""

    def __init__(self, target: str | None) -> None:
        self.target = target
        self._own: Any = None

    def create_module(self, spec: Any) -> types.ModuleType:
        if self.target is None:
            return types.ModuleType(spec.name, "Holds the modules that birsim serves.")
        module = importlib.import_module(self.target)
        self._own = (module.__spec__, module.__dict__.get("__loader__"))
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        # The import system wrote the specification of the alias into the module; relative imports need its own.
        if self._own is not None:
            module.__spec__, module.__loader__ = self._own
        elif module.__name__ == "nki_cpu_simulator":
            module.nki = importlib.import_module("birsim.nki")  # type: ignore[attr-defined]


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the served names."""

    def __init__(self, tops: Sequence[str]) -> None:
        self.tops = tuple(tops)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name.split(".", 1)[0] not in self.tops:
            return None
        for closed, what in _CLOSED.items():
            if name == closed or name.startswith(closed + "."):
                raise ModuleNotFoundError(f"{name} is part of {what}, which birsim does not have", name=name)
        if name in _EMPTY:
            return importlib.machinery.ModuleSpec(name, _Loader(None), is_package=True)
        real = target_of(name)
        if real is None:
            return None
        try:
            found = importlib.util.find_spec(real)
        except ModuleNotFoundError:
            found = None
        if found is None:
            return None
        spec = importlib.machinery.ModuleSpec(name, _Loader(real), is_package=found.submodule_search_locations is not None)
        spec.origin = found.origin
        return spec


_finder: _Finder | None = None


def _is_real(top: str) -> bool:
    """A package of this name comes from somewhere else."""
    found = sys.modules.get(top)
    spec = getattr(found, "__spec__", None) if found is not None else None
    if found is not None and (getattr(found, "__name__", "").startswith("birsim") or isinstance(getattr(spec, "loader", None), _Loader)):
        return False
    if spec is None:
        for finder in sys.meta_path:
            if isinstance(finder, _Finder):
                continue
            spec = finder.find_spec(top, None) if hasattr(finder, "find_spec") else None
            if spec is not None:
                break
    if spec is None:
        return False
    folders = list(spec.submodule_search_locations or [])
    if any(os.path.exists(os.path.join(f, MARKER)) for f in folders):
        return False
    if top == "neuronxcc":
        # The compiler's package has the language; a folder that only stands in for one of its modules does not.
        return any(os.path.exists(os.path.join(f, "nki", part)) for f in folders for part in ("language", "language.py", "isa", "isa.py"))
    return spec.origin is not None or bool(folders)


def install(force: bool = False) -> bool:
    """Lets `import nki`, `import neuronxcc.nki`, `import nki_cpu_simulator` and `import neuron_dtypes` find birsim.

    Returns False, and changes nothing, when a real `nki` is there; `force=True` puts birsim in front of it. Calling it again is
    harmless.
    """
    global _finder
    if not force and _is_real("nki"):
        return False
    tops = [top for top in _TOPS if force or not _is_real(top)]
    if _finder is None:
        _finder = _Finder(tops)
    else:
        _finder.tops = tuple(dict.fromkeys((*_finder.tops, *tops)))
    for name in list(sys.modules):
        # What was imported from elsewhere under a served name must not stay half visible.
        if name.split(".", 1)[0] in _finder.tops:
            found = sys.modules[name]
            ours = getattr(found, "__name__", "").startswith("birsim") or isinstance(
                getattr(getattr(found, "__spec__", None), "loader", None), _Loader
            )
            if not ours:
                del sys.modules[name]
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    return True


def claim(top: str) -> None:
    """Makes birsim answer to the top-level name `top`, on behalf of a package that only forwards to it."""
    global _finder
    if _finder is None:
        _finder = _Finder((top,))
    elif top not in _finder.tops:
        _finder.tops += (top,)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    real = target_of(top)
    if real is not None:
        sys.modules[top] = importlib.import_module(real)
    elif top == "nki_cpu_simulator":
        sys.modules[top].nki = importlib.import_module("birsim.nki")  # type: ignore[attr-defined]


def installed() -> bool:
    """The names are served now."""
    return _finder is not None and _finder in sys.meta_path


def uninstall() -> None:
    """Takes the names away again; modules that were imported stay with whoever holds them."""
    global _finder
    if _finder is None:
        return
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    for name in list(sys.modules):
        if name.split(".", 1)[0] in _finder.tops:
            del sys.modules[name]
    _finder = None
