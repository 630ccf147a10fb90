"""The names that kernels import, the script runner and the pytest plugin, each in an interpreter of its own."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest



def python(*args, cwd=None, **env):
    """Runs an interpreter; (code, output)."""
    clean = {k: v for k, v in os.environ.items() if k not in ("BIRSIM_NKI", "PYTHONPATH")}
    done = subprocess.run([sys.executable, *args], cwd=cwd, env={**clean, **env}, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def test_install_serves_one_module_object_under_all_names():
    code, text = python(
        "-c",
        "import birsim; assert birsim.install() and birsim.install()\n"
        "import nki, nki.isa, nki.language as nl, nki.collectives, nki.typing, nki.compiler, nki.isa.constants, nki.dtype, nki.tensor\n"
        "import nki_cpu_simulator, nki_cpu_simulator.nki.isa as i2, nki_cpu_simulator.nki.language.dtypes as d2\n"
        "import nki_cpu_simulator.nki.builtin, nki_cpu_simulator.nki.tensor, nki_cpu_simulator.nki.typing\n"
        "assert i2 is nki.isa and d2 is nki.dtype and nki_cpu_simulator.nki is nki\n"
        "import neuronxcc.nki as old, neuronxcc.nki.language as onl, neuronxcc.nki.isa, neuronxcc.nki.typing, neuronxcc.nki.compiler\n"
        "from neuronxcc import nki as again; assert again is old and old is not nki\n"
        "from neuronxcc.starfish.support.dtype import static_cast; import neuron_dtypes; assert neuron_dtypes.static_cast is static_cast\n"
        "assert onl.bfloat16 is nl.bfloat16 and 'torch' not in __import__('sys').modules\n",
    )
    assert code == 0, text


def test_closed_parts_are_refused_with_the_reason():
    code, text = python("-c", "import birsim; birsim.install(); import neuronxcc.nki.kernels.attention")
    assert code == 1 and "ModuleNotFoundError: neuronxcc.nki.kernels" in text and "which birsim does not have" in text


def test_a_real_nki_wins_unless_forced(tmp_path):
    (tmp_path / "nki").mkdir()
    (tmp_path / "nki" / "__init__.py").write_text("real = True\n")
    code, text = python(
        "-c",
        "import birsim; assert not birsim.install(); import nki; assert nki.real\n"
        "assert birsim.install(force=True); import nki; assert not hasattr(nki, 'real') and nki.__name__ == 'birsim.nki'\n",
        PYTHONPATH=str(tmp_path),
    )
    assert code == 0, text


SCRIPT = """
import sys
import zipfile
from pathlib import Path
import numpy as np
import nki, nki.isa as nisa, nki.language as nl

@nki.jit
def double(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, dtype=x.dtype)
    nisa.dma_copy(dst=t, src=x)
    nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=2.0)
    nisa.dma_copy(dst=out, src=t)
    return out

x = np.ones((4, 4), np.float32)
print("result", nki.simulate(double)(x).sum(), sys.argv[1:], __name__)
"""


def test_the_script_runner(tmp_path):
    (tmp_path / "kernel.py").write_text(SCRIPT)
    code, text = python("-m", "birsim", "kernel.py", "--size", "3", cwd=tmp_path)
    assert (code, text) == (0, "result 32.0 ['--size', '3'] __main__\n")
    code, text = python("-m", "birsim", "-m", "kernel", cwd=tmp_path)
    assert code == 0 and text.startswith("result 32.0")
    code, text = python("-m", "birsim", "missing.py", cwd=tmp_path)
    assert code == 2 and "missing.py: no such file" in text


TESTS = """
import nki, nki.isa as nisa, nki.language as nl
import numpy as np
import pytest

@nki.jit
def copy(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=x)
    return out

@pytest.mark.simulation
@pytest.mark.parametrize("n", range(6))
def test_copy(n, birsim):
    x = np.full((4, 4), n, np.float32)
    birsim.assert_close(nki.simulate(copy)(x), x, rtol=0, atol=0)

@pytest.mark.simulation(target="trn3")
def test_target():
    assert nisa.get_nc_version() == nisa.nc_version.gen4

@pytest.mark.simulation(target="trn2")
def test_other_target():
    assert nisa.get_nc_version() == nisa.nc_version.gen3
"""


@pytest.mark.parametrize("how", [["--birsim"], ["--birsim", "-n", "2"], []])
def test_the_pytest_plugin(tmp_path, how):
    (tmp_path / "test_kernels.py").write_text(TESTS)
    env = {} if how else {"BIRSIM_NKI": "1"}
    code, text = python("-m", "pytest", "-q", "-p", "no:cacheprovider", "--strict-markers", *how, cwd=tmp_path, **env)
    assert code == 0 and "8 passed" in text, text


def test_simulation_tests_are_skipped_without_the_option(tmp_path):
    (tmp_path / "test_kernels.py").write_text("import pytest\n@pytest.mark.simulation\ndef test_x():\n    import nki\n")
    code, text = python("-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs", cwd=tmp_path)
    assert code == 0 and "1 skipped" in text and "needs --birsim" in text, text


@pytest.mark.skipif("BIRSIM_NAMES_WHEEL" not in os.environ, reason="BIRSIM_NAMES_WHEEL names the folder of the wheel birsim-nki")
def test_the_wheel_birsim_nki_owns_the_names(tmp_path):
    wheel = next(Path(os.environ["BIRSIM_NAMES_WHEEL"]).glob("birsim_nki-*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    code, text = python(
        "-c",
        "import nki, nki.isa, nki.language as nl, neuronxcc.nki.language as old, neuron_dtypes, nki_cpu_simulator\n"
        "from neuronxcc import nki as o; import neuronxcc.nki.isa.constants\n"
        "assert nki.__name__ == 'birsim.nki' and o.__name__ == 'birsim.old' and nki_cpu_simulator.nki is nki\n"
        "import birsim; assert birsim.install(); import nki as again; assert again is nki\n",
        PYTHONPATH=str(tmp_path),
    )
    assert code == 0, text


def test_a_kernel_is_traced_by_the_names_of_the_compiler():
    from birsim.nki import language as nl
    from birsim.nki.compiler.frontend import NKIFrontend, ParserFrontend

    def kernel(x, say):
        assert nl.tile_size.total_available_sbuf_size == 212_984 and nl.num_programs() == 2, say
        return x

    import numpy as np

    front = ParserFrontend()
    assert isinstance(front, NKIFrontend)
    result = front.compile(kernel, inputs={"x": np.zeros((2, 3), np.float32), "say": ""}, target="trn2", lnc=2, artifacts_dir="unused")
    assert '"x"' in result.module.to_json()
    with pytest.raises(AssertionError, match="^one core"):
        front.compile(kernel, inputs={"x": np.zeros((2, 3), np.float32), "say": "one core"}, target="trn2", lnc=1)
