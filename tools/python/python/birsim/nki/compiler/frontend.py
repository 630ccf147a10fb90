"""`nki.compiler.frontend`: what traces a kernel without running it. A trace is a program of the machine, not one of MLIR."""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping

from ..launch import Program, Trace

__all__ = ["Compiled", "NKIFrontend", "ParserFrontend", "TracerFrontend"]


@dataclasses.dataclass(frozen=True)
class Compiled:
    """A traced kernel."""

    module: Program


class NKIFrontend:
    """Turns kernels into programs."""

    def compile(self, kernel: Any, inputs: Mapping[str, Any], target: Any = None, lnc: int = 1, **_: Any) -> Compiled:
        """Traces `kernel` on `lnc` cores of `target` with arguments by name; folders and names of artefacts are not needed.

        What the kernel raises leaves the call unchanged.
        """
        options = {} if target is None else {"target": target}
        return Compiled(Trace(kernel, options)[int(lnc)](**inputs))


class ParserFrontend(NKIFrontend):
    """The compiler reads the source of a kernel; here it is traced as by [`TracerFrontend`]."""


class TracerFrontend(NKIFrontend):
    """Calls the kernel and records what it does."""
