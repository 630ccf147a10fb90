"""The target that kernels are made for, and what depends on it."""

from __future__ import annotations

import enum
import os
from typing import Any

from .. import _native

__all__ = ["NcVersion", "current", "generation", "normalise"]

_NAMES = {
    "trn1": "trn1", "inf2": "trn1", "gen2": "trn1", "sunda": "trn1", "trainium": "trn1",
    "trn2": "trn2", "gen3": "trn2", "cayman": "trn2",
    "trn3": "trn3", "gen4": "trn3", "core_v4": "trn3",
}  # fmt: skip


class NcVersion(enum.IntEnum):
    """Generations of cores."""

    gen2 = 2
    gen3 = 3
    gen4 = 4


def normalise(name: Any) -> str:
    """The target of one of its names."""
    found = _NAMES.get(str(name).lower().split(".")[-1])
    if found is None:
        raise ValueError(f"{name!r} is not a target; targets are trn1 (inf2, gen2), trn2 (gen3) and trn3 (gen4)")
    return found


def chosen(explicit: Any = None) -> str:
    """The target of a launch: the kernel's, the environment's, else trn3."""
    if explicit is not None:
        return normalise(explicit)
    for variable in ("NKI_NC_VERSION", "NEURON_PLATFORM_TARGET_OVERRIDE"):
        value = os.environ.get(variable)
        if value:
            return normalise(value)
    return "trn3"


def current() -> str:
    """The target of the running kernel, or the one that a launch would have."""
    found = _native.tracing()
    return found[0] if found is not None else chosen()


def generation() -> NcVersion:
    """The generation of the target."""
    return {"trn1": NcVersion.gen2, "trn2": NcVersion.gen3, "trn3": NcVersion.gen4}[current()]
