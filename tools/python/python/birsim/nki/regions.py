"""The memories as objects: strings that compare equal to their names."""

from __future__ import annotations

from typing import Any

from .. import _native
from . import dtype


class MemoryRegion(str):
    """A memory."""

    @property
    def value(self) -> str:
        """Its name."""
        return str.__str__(self)


sbuf, psum = MemoryRegion("sbuf"), MemoryRegion("psum")
hbm, shared_hbm, private_hbm = MemoryRegion("hbm"), MemoryRegion("shared_hbm"), MemoryRegion("private_hbm")
# The members of the enumeration that the reference has.
MemoryRegion.sbuf, MemoryRegion.psum = sbuf, psum  # type: ignore[attr-defined]
MemoryRegion.private_hbm, MemoryRegion.shared_hbm = private_hbm, shared_hbm  # type: ignore[attr-defined]
ALL = (sbuf, psum, hbm, shared_hbm, private_hbm)
_native.register_regions({str(r): r for r in ALL})
_native.register_dtypes({str(getattr(dtype, n)): getattr(dtype, n) for n in dtype.__all__ if isinstance(getattr(dtype, n), dtype.DType)})


def name_of(buffer: Any) -> str:
    """The name of a memory given as `buffer=`."""
    if buffer is None:
        return "sbuf"
    name = getattr(buffer, "value", buffer)
    if isinstance(name, str) and name in ("sbuf", "psum", "hbm", "shared_hbm", "private_hbm"):
        return str(name)
    region = getattr(buffer, "region", None)
    if region is not None:
        return name_of(region)
    raise TypeError(f"{buffer!r} is not a memory; memories are nl.sbuf, nl.psum, nl.hbm, nl.shared_hbm and nl.private_hbm")


def is_hbm(buffer: Any) -> bool:
    """The memory is off chip."""
    return buffer in ("hbm", "shared_hbm", "private_hbm")


def is_sbuf(buffer: Any) -> bool:
    """The memory is the state buffer."""
    return bool(buffer == "sbuf")


def is_psum(buffer: Any) -> bool:
    """The memory is the accumulation buffer."""
    return bool(buffer == "psum")


def is_on_chip(buffer: Any) -> bool:
    """The memory is on chip."""
    return buffer in ("sbuf", "psum")
