"""Signatures and stubs of functions, out of their rows. `python -m birsim._signatures FOLDER` writes the stubs into the package."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any


class _Shown:
    """A default that prints as it is written."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def of(function: Any) -> inspect.Signature:
    """The signature of a function."""
    parameters = []
    for name, _, default in function._parameters:
        value: Any = inspect.Parameter.empty if default is None else _Shown(default)
        parameters.append(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=value))
    return inspect.Signature(parameters)


_HEAD = '''"""Made from the table of functions; do not edit. `python -m birsim._signatures` writes it again."""

from typing import Any, Callable, Sequence

'''


def _instructions(names: Any, imports: str) -> str:
    """The stub of functions of the native table."""
    from . import _native

    out = [_HEAD + imports + "\n"]
    for name in names:
        row = _native.Instruction(name)
        parts = []
        for parameter, kind, default in row._parameters:
            optional = f" | None = {default}" if default == "None" else "" if default is None else f" = {default}"
            parts.append(f"{parameter}: {kind}{optional}")
        out.append(f"def {name}({', '.join(parts)}) -> NkiInstruction: ...\n")
    return "\n".join(out)


def _language() -> str:
    """The stub of the functions of `nki.language` on tiles."""
    from .nki.language import functions

    out = [_HEAD + "from ..._native import NkiTensor\n"]
    for name in functions.__all__:
        f = getattr(functions, name)
        if not hasattr(f, "__signature__"):
            out.append(f"def {name}(*args: Any, **kwargs: Any) -> Any: ...\n")
            continue
        parts = []
        for p in f.__signature__.parameters.values():
            parts.append(f"{p.name}: Any" + ("" if p.default is p.empty else f" = {p.default!r}"))
        result = "None" if name == "store" else "NkiTensor"
        out.append(f"def {name}({', '.join(parts)}) -> {result}: ...\n")
    return "\n".join(out)


def stubs() -> dict[str, str]:
    """The text of every stub by its path in the package."""
    from . import _native

    own, collectives = _native.instructions()
    native = "from {0}_native import NkiInstruction, NkiTensor, VirtualRegister\n"
    enums = "from .enums import dge_mode, dma_engine, engine, matmul_perf_mode, oob_mode, reduce_cmd\n"
    return {
        "nki/isa/functions.pyi": _instructions(own, native.format("...") + enums),
        "nki/exchanges.pyi": _instructions(collectives, native.format("..")),
        "nki/language/functions.pyi": _language(),
    }


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for path, text in stubs().items():
        (folder / path).write_text(text)
