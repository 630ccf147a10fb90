"""What the Python front end costs, with NumPy in the same run: `python benches/python/bench.py [--cli target/release/birsim]`.

Needs the wheel, built with optimisation. Prints calls in microseconds, kernels as ratios NumPy time / ours, start as milliseconds.
Times are processor time of the calling thread where only tracing is measured, else wall time; each is the best of several.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import birsim
import numpy as np

birsim.install()
import nki
import nki.isa as nisa
import nki.language as nl


def best(f, times=5):
    """The shortest of several runs."""
    out = []
    for _ in range(times):
        start = time.perf_counter()
        f()
        out.append(time.perf_counter() - start)
    return min(out)


def calls():
    """Microseconds per call, traced and appended."""

    def empty(t, u, v, n):
        for _ in range(n):
            pass

    def slices(t, u, v, n):
        for _ in range(n):
            t[0:128, 0:512]

    def ready(t, u, v, n):
        for _ in range(n):
            nisa.tensor_tensor(dst=t, data1=u, data2=v, op=nl.add)

    def sliced(t, u, v, n):
        for _ in range(n):
            nisa.tensor_tensor(dst=t[0:128, 0:512], data1=u[0:128, 0:512], data2=v[0:128, 0:512], op=nl.add)

    def pattern(t, u, v, n):
        for _ in range(n):
            t.ap(pattern=[[512, 128], [1, 512]], offset=0)

    def tensor(t, u, v, n):
        for _ in range(n):
            nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)

    def measured(body, n=20_000):
        found = []

        def kernel():
            t, u, v = (nl.ndarray((128, 512), dtype=nl.float32) for _ in range(3))
            body(t, u, v, 10)
            start = time.thread_time()
            body(t, u, v, n)
            found.append((time.thread_time() - start) / n * 1e6)

        for _ in range(3):
            birsim.trace(kernel)()
        return min(found)

    base = measured(empty)
    for label, body in (
        ("slice t[0:128, 0:512]", slices),
        ("t.ap(pattern=.., offset=..)", pattern),
        ("nl.ndarray", tensor),
        ("tensor_tensor on ready views", ready),
        ("tensor_tensor with three slices", sliced),
    ):
        print(f"  {label:34} {measured(body) - base:6.2f} us")


def kernels(n=10_000):
    """10,000 calls on tiles, against the same calls as NumPy functions."""
    for rows, columns in ((32, 16), (128, 64), (128, 512)):
        a = np.random.default_rng(1).random((rows, columns), np.float32)

        def kernel(x):
            t, u = nl.ndarray((rows, columns), dtype=nl.float32), nl.ndarray((rows, columns), dtype=nl.float32)
            nisa.dma_copy(dst=t, src=x)
            nisa.dma_copy(dst=u, src=x)
            for _ in range(n // 4):
                nisa.tensor_tensor(dst=u, data1=u, data2=t, op=nl.add)
                nisa.tensor_scalar(dst=u, data=u, op0=nl.multiply, operand0=0.5, op1=nl.add, operand1=0.25)
                nisa.tensor_tensor(dst=u, data1=u, data2=t, op=nl.maximum)
                nisa.tensor_copy(dst=u, src=u)
            out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
            nisa.dma_copy(dst=out, src=u)
            return out

        def plain():
            t, u = a.copy(), a.copy()

            def tensor_tensor(dst, x, y, op):
                dst[...] = op(x, y)

            def tensor_scalar(dst, x, op0, s0, op1, s1):
                dst[...] = op1(op0(x, np.float32(s0)), np.float32(s1))

            def tensor_copy(dst, src):
                dst[...] = src.copy()

            for _ in range(n // 4):
                tensor_tensor(u, u, t, np.add)
                tensor_scalar(u, u, np.multiply, 0.5, np.add, 0.25)
                tensor_tensor(u, u, t, np.maximum)
                tensor_copy(u, u)
            return u

        np.testing.assert_array_equal(nki.simulate(kernel, threads=1)(a), plain())
        ours, theirs = best(lambda: nki.simulate(kernel, threads=1)(a), 3), best(plain, 3)
        print(f"  {n} calls on {rows} x {columns:4}: NumPy {1e3 * theirs:8.1f} ms, ours {1e3 * ours:8.1f} ms, ratio {theirs / ours:5.2f}")


def attention(cli):
    """The example attention, 2048 x 128, from Python and as a module by the command line."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools/python/examples"))
    from attention import attention as kernel

    rng = np.random.default_rng(2)
    q, k, v = (rng.normal(0, 1, (2048, 128)).astype(np.float32) for _ in range(3))
    ours = best(lambda: nki.simulate(kernel)(q, k, v), 3)
    print(f"  attention 2048 x 128 from Python: {1e3 * ours:.0f} ms")
    if cli is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        module, here = Path(folder) / "m.json", {}
        module.write_text(birsim.trace(kernel)(q, k, v).to_json())
        for name, array in zip(("q", "k", "v"), (q, k, v)):
            np.save(Path(folder) / f"{name}.npy", array)
            here[name] = Path(folder) / f"{name}.npy"
        declared = [e["name"].removesuffix("_set") for e in json.loads(module.read_text())["functions"][0]["allocations"] if e["kind"] == "ExternalInput"]
        given = [f"--input={name}={path}" for name, path in zip(declared, here.values())]
        command = [cli, "run", "-q", "--set", "psum_multibank=allow", str(module), *given, "--out", folder + "/out"]
        theirs = best(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL), 3)
    print(f"  the same module by the command line: {1e3 * theirs:.0f} ms; Python / command line {ours / theirs:.2f}")


def start():
    """Milliseconds from nothing to `import nki`, beyond what NumPy takes."""

    def run(code):
        return best(lambda: subprocess.run([sys.executable, "-c", code], check=True), 5)

    numpy = run("import numpy, ml_dtypes")
    ours = run("import birsim; birsim.install(); import nki")
    print(f"  start: {1e3 * (ours - numpy):.0f} ms beyond NumPy's {1e3 * numpy:.0f} ms")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cli", help="the birsim command, for the comparison with a module")
    options = parser.parse_args()
    print(f"birsim {birsim.__version__}, NumPy {np.__version__}, Python {sys.version.split()[0]}, load {os.getloadavg()[0]:.1f}")
    calls()
    kernels()
    attention(options.cli)
    start()
