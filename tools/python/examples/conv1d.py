"""Convolution along a sequence: one matrix product for every tap, accumulated in PSUM, read from a padded tile."""

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np


@nki.jit
def conv1d(x, w, padding=1):
    """x (C_in, L), w (taps, C_in, C_out) -> (C_out, L) with zeros around; at most 128 channels and 512 positions."""
    c_in, length = x.shape
    taps, _, c_out = w.shape
    out_length = length + 2 * padding - taps + 1
    out = nl.ndarray((c_out, out_length), dtype=x.dtype, buffer=nl.shared_hbm)
    padded = nl.ndarray((c_in, length + 2 * padding), dtype=x.dtype)
    nisa.memset(dst=padded, value=0.0)
    nisa.dma_copy(dst=padded[:, padding : padding + length], src=x)
    total = nl.ndarray((c_out, out_length), dtype=nl.float32, buffer=nl.psum)
    for t in range(taps):
        weights = nl.ndarray((c_in, c_out), dtype=w.dtype)
        nisa.dma_copy(dst=weights, src=w[t])
        nisa.nc_matmul(dst=total, stationary=weights, moving=padded[:, t : t + out_length])
    result = nl.ndarray((c_out, out_length), dtype=x.dtype)
    nisa.tensor_copy(dst=result, src=total)
    nisa.dma_copy(dst=out, src=result)
    return out


def run():
    """(got, want) of the example."""
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((48, 200), np.float32), rng.standard_normal((3, 48, 96), np.float32)
    padded = np.pad(x, ((0, 0), (1, 1)))
    want = sum(w[t].T @ padded[:, t : t + 200] for t in range(3))
    return nki.simulate(conv1d)(x, w), want


if __name__ == "__main__":
    import birsim

    birsim.assert_close(*run(), rtol=1e-4, atol=1e-4)
    print("conv1d: matches NumPy")
