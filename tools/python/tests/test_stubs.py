"""The stubs in the package are those that the tables give."""

from pathlib import Path

import birsim
from birsim import _signatures


def test_stubs_are_up_to_date():
    folder = Path(birsim.__file__).parent
    for path, text in _signatures.stubs().items():
        assert (folder / path).read_text() == text, f"{path} is old: run python -m birsim._signatures tools/python/python/birsim"


def test_signatures_are_shown():
    import inspect

    from birsim.nki import isa as nisa

    text = str(inspect.signature(nisa.tensor_scalar))
    assert text.startswith("(dst, data, op0, operand0=None, reverse0=False, op1=None") and "engine=engine.unknown" in text
    assert nisa.tensor_scalar.__name__ == "tensor_scalar"
