"""Memory of a process that simulates many kernels."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import birsim, numpy as np
birsim.install()
import nki, nki.isa as nisa, nki.language as nl

def kernel(x, fails):
    total = nl.zeros(x.shape, dtype=nl.float32)
    for k in nl.affine_range(4):
        t = nl.ndarray(x.shape, dtype=nl.float32)
        nisa.dma_copy(dst=t, src=x)
        nisa.tensor_tensor(total, total, t, nl.add)
    if fails:
        raise RuntimeError("in the middle of a kernel")
    out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=total)
    return out

x = np.ones((128, 256), np.float32)

def resident():
    return int(open("/proc/self/statm").read().split()[1])

def simulate(times):
    for n in range(times):
        try:
            got = nki.simulate(kernel)[1 + n % 2](x, n % 5 == 4)
            assert (got == 4).all()
        except RuntimeError:
            assert n % 5 == 4

simulate(100)
before = resident()
simulate(900)
print(before, resident())
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_a_thousand_simulations_need_the_memory_of_a_hundred():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    before, after = map(int, done.stdout.split())
    assert after <= 1.1 * before, f"{before} pages after 100 simulations, {after} after 1,000"
