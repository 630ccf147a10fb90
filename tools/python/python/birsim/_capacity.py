"""`birsim.capacity`: does a kernel fit on the chip?

The simulator gives every tensor memory of its own. A compiler has to place them: a tensor needs its bytes from the first
instruction that names it to the last one. Summed over the tensors alive at each point, that is the least any placement needs.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Callable, Iterator

from .errors import NkiValidationError

__all__ = ["Capacity", "Live", "analyse", "capacity", "check_overlaps"]

BANK = 2048
"""Bytes of one PSUM bank in a partition."""
BANKS = 8

# Bytes of a partition that programs may use, by generation.
_SBUF = {"gen2": 180_224, "sunda": 180_224, "inferentia": 180_224, "gen3": 212_984, "cayman": 212_984, "core_v4": 245_752, "gen4": 245_752}


@dataclasses.dataclass(frozen=True)
class Live:
    """A tensor and the instructions between which it holds values."""

    name: str
    memory: str
    partitions: int
    bytes: int
    """Bytes in every partition."""
    first: int
    last: int
    place: str
    """File and line of the first call that names it."""
    address: tuple[int, int] | None = None
    """(partition, byte) that its author asked for."""

    def __str__(self) -> str:
        return f"{self.name}: {self.partitions} partitions x {self.bytes} bytes, {self.place}"


@dataclasses.dataclass(frozen=True)
class Capacity:
    """What a kernel needs on one core."""

    core: int
    sbuf: int
    """Most bytes of a partition of SBUF that are alive at once."""
    sbuf_limit: int
    psum: int
    """Most banks of PSUM that are alive at once."""
    psum_limit: int
    sbuf_tensors: tuple[Live, ...]
    """The tensors of SBUF at its peak, the largest first."""
    psum_tensors: tuple[Live, ...]
    """The tensors of PSUM at its peak, the largest first."""

    @property
    def fits(self) -> bool:
        """Neither memory is exceeded."""
        return self.sbuf <= self.sbuf_limit and self.psum <= self.psum_limit

    def __str__(self) -> str:
        lines = [f"core {self.core}: SBUF {self.sbuf} of {self.sbuf_limit} bytes per partition ({100 * self.sbuf / self.sbuf_limit:.3g} %)"]
        lines += [f"  {t}" for t in self.sbuf_tensors]
        lines.append(f"core {self.core}: PSUM {self.psum} of {self.psum_limit} banks")
        lines += [f"  {t}" for t in self.psum_tensors]
        return "\n".join(lines)


def _instructions(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from block.get("instructions", ())


def _names(value: Any) -> Iterator[str]:
    """Locations that an instruction names, in its operands and in the bodies below it."""
    if isinstance(value, dict):
        ref = value.get("memref")
        if isinstance(ref, str):
            yield ref
        for part in value.values():
            if isinstance(part, (dict, list)):
                yield from _names(part)
    elif isinstance(value, list):
        for part in value:
            yield from _names(part)


def _place(instruction: dict[str, Any]) -> str:
    debug = instruction.get("debug") or {}
    if debug.get("filename") is None:
        return "line unknown"
    return f"{debug['filename']}:{debug.get('lineno')}"


def lifetimes(function: dict[str, Any]) -> list[Live]:
    """The on-chip tensors of a function of a module, in the order in which they are first named."""
    declared: dict[str, tuple[str, int, int, Any]] = {}
    for entry in function.get("allocations", ()):
        for location in entry.get("memorylocations", ()):
            if location.get("type") in ("SB", "PSUM"):
                address = (location["base"], location["addr"]) if location.get("user_allocated") else None
                declared[location["name"]] = (location["type"], location["dims"][0], location["dims"][1], address)
    spans: dict[str, list[Any]] = {}
    position = 0
    for block in function.get("blocks", ()):
        for instruction in _instructions(block):
            for name in _names(instruction):
                if name in declared:
                    span = spans.setdefault(name, [position, position, _place(instruction)])
                    span[1] = position
            position += 1
    out = []
    for name, (first, last, place) in spans.items():
        memory, partitions, size, address = declared[name]
        out.append(Live(name, memory, partitions, size, first, last, place, address))
    return out


def _peak(tensors: list[Live], cost: Callable[[Live], int]) -> tuple[int, tuple[Live, ...]]:
    """The largest cost of tensors alive at once, and those tensors."""
    events: dict[int, int] = {}
    for t in tensors:
        events[t.first] = events.get(t.first, 0) + cost(t)
        events[t.last + 1] = events.get(t.last + 1, 0) - cost(t)
    best, now, at = 0, 0, -1
    for position in sorted(events):
        now += events[position]
        if now > best:
            best, at = now, position
    alive = [t for t in tensors if t.first <= at <= t.last]
    return best, tuple(sorted(alive, key=lambda t: (-cost(t), t.first)))


def _banks(t: Live) -> int:
    return -(-t.bytes // BANK)


def analyse(module: dict[str, Any]) -> list[Capacity]:
    """The needs of every function of a BIR module given as JSON data: one function per core."""
    limit = _SBUF.get(str(module.get("arch", "gen3")), _SBUF["gen3"])
    out = []
    for core, function in enumerate(module["functions"]):
        live = lifetimes(function)
        sbuf, sbuf_tensors = _peak([t for t in live if t.memory == "SB"], lambda t: t.bytes)
        psum, psum_tensors = _peak([t for t in live if t.memory == "PSUM"], _banks)
        out.append(Capacity(core, sbuf, limit, psum, BANKS, sbuf_tensors, psum_tensors))
    return out


def check_capacity(found: list[Capacity]) -> None:
    """Raises when a memory is exceeded."""
    for c in found:
        if not c.fits:
            what = f"SBUF needs {c.sbuf} bytes per partition and has {c.sbuf_limit}" if c.sbuf > c.sbuf_limit else f"PSUM needs {c.psum} banks and has {c.psum_limit}"
            raise NkiValidationError(f"the kernel does not fit: {what}. Use smaller tiles, or let tensors end before others begin.\n{c}")


def check_overlaps(module: dict[str, Any]) -> None:
    """Raises when two tensors that are alive at once were asked for at overlapping addresses."""
    for core, function in enumerate(module["functions"]):
        placed = sorted((t for t in lifetimes(function) if t.address is not None), key=lambda t: t.first)
        alive: list[Live] = []
        for t in placed:
            alive = [a for a in alive if a.last >= t.first]
            for a in alive:
                if a.memory == t.memory and _overlap(a, t):
                    raise NkiValidationError(
                        f"core {core}: {t.name} and {a.name} are alive at once and share addresses of {'SBUF' if t.memory == 'SB' else 'PSUM'}: "
                        f"{_extent(t)} and {_extent(a)}. Give one of them another address, or use it only after the other's last use.\n  {t}\n  {a}"
                    )
            alive.append(t)


def _extent(t: Live) -> str:
    assert t.address is not None
    p, b = t.address
    return f"partitions {p} to {p + t.partitions - 1}, bytes {b} to {b + t.bytes - 1}"


def _overlap(a: Live, b: Live) -> bool:
    assert a.address is not None and b.address is not None
    (ap, ab), (bp, bb) = a.address, b.address
    return ap < bp + b.partitions and bp < ap + a.partitions and ab < bb + b.bytes and bb < ab + a.bytes


def capacity(kernel: Any) -> Callable[..., list[Capacity]]:
    """`birsim.capacity(kernel)(*args)`: what the kernel needs on every core, without running it.

    Every result names the most bytes per partition of SBUF and the most banks of PSUM that are alive at once, their limits on the
    target, and the tensors alive at that point with their lines; `print` shows them.
    """

    @functools.wraps(getattr(kernel, "func", kernel))
    def measured(*args: Any, **kwargs: Any) -> list[Capacity]:
        from .nki.launch import Simulation, module_of

        return analyse(module_of(kernel if isinstance(kernel, Simulation) else Simulation(kernel, {}), *args, **kwargs))

    return measured
