"""`birsim.run`: programs from traces, dicts, bytes and files."""

import json

import birsim
import numpy as np
import pytest
from birsim import nki
from birsim.nki import isa as nisa
from birsim.nki import language as nl


@nki.jit
def double(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, dtype=x.dtype)
    nisa.dma_copy(dst=t, src=x)
    nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=2.0)
    nisa.dma_copy(dst=out, src=t)
    return out


@pytest.fixture
def module():
    """A module with its output marked."""
    data = json.loads(birsim.trace(double)(np.zeros((4, 8), np.float32)).to_json())
    for entry in data["functions"][0]["allocations"]:
        if entry["kind"] == "Internal" and entry["memorylocations"][0]["type"] == "DRAM":
            entry["kind"] = "ExternalOutput"
    return data


def test_a_module_runs_from_a_dict_bytes_or_a_file(module, tmp_path):
    x = np.arange(32, dtype=np.float32).reshape(4, 8)
    (tmp_path / "m.json").write_text(json.dumps(module))
    np.save(tmp_path / "x.npy", x)
    for program, given in ((module, x), (json.dumps(module).encode(), x), (tmp_path / "m.json", str(tmp_path / "x.npy"))):
        result = birsim.run(program, inputs={"x": given})
        (name,) = result.outputs
        np.testing.assert_array_equal(result[name], 2 * x)
        assert result.report["instructions"] == 3 and result.report["opcodes"]["DMACopy"] == 2


def test_goldens_are_compared(module):
    x = np.ones((4, 8), np.float32)
    name = next(iter(birsim.run(module, inputs={"x": x}).outputs))
    assert birsim.run(module, inputs={"x": x}, goldens={name: 2 * x}).matches
    wrong = birsim.run(module, inputs={"x": x}, goldens={name: 3 * x})
    assert not wrong.matches and "32 of 32 elements differ" in wrong.comparisons[name].report()


def test_mistakes_name_what_is_wrong(module):
    x = np.ones((4, 8), np.float32)
    with pytest.raises(TypeError, match="'tagret'; did you mean target"):
        birsim.run(module, inputs={"x": x}, tagret="trn2")
    with pytest.raises(birsim.InvalidProgramError, match="the program reads x"):
        birsim.run(module)
    with pytest.raises(birsim.InvalidProgramError, match="no tensor named y"):
        birsim.run(module, inputs={"x": x, "y": x})
    with pytest.raises(birsim.InvalidProgramError, match=r"shape \(4, 8\), the array \(3, 3\)"):
        birsim.run(module, inputs={"x": np.ones((3, 3), np.float32)})
    with pytest.raises(birsim.InvalidProgramError, match="type float32, the array float64"):
        birsim.run(module, inputs={"x": x.astype(np.float64)})
    with pytest.raises(ValueError, match="order is one of auto, sync, program"):
        birsim.run(module, inputs={"x": x}, order="random")
    with pytest.raises(birsim.InvalidProgramError) as caught:
        birsim.run(b"{", inputs={})
    assert caught.value.code.startswith("BIR-J")


def test_limits_end_a_run(module):
    with pytest.raises(birsim.BirsimError) as caught:
        birsim.run(module, inputs={"x": np.ones((4, 8), np.float32)}, max_instructions=1)
    assert caught.value.code == "BIR-S009"
