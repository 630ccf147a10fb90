"""A matrix product on two cores (LNC 2): every core takes half of the contraction and they exchange partial sums."""

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np


@nki.jit
def sharded_matmul(lhs_t, rhs):
    """lhs_t.T @ rhs for (256, M) and (256, N), M <= 128, N <= 512; core c contracts rows 128 c to 128 (c + 1)."""
    _, m = lhs_t.shape
    _, n = rhs.shape
    out = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.shared_hbm)
    core = nl.program_id(0)
    stationary = nl.ndarray((128, m), dtype=lhs_t.dtype)
    moving = nl.ndarray((128, n), dtype=rhs.dtype)
    nisa.dma_copy(dst=stationary, src=lhs_t[nl.ds(core * 128, 128), :])
    nisa.dma_copy(dst=moving, src=rhs[nl.ds(core * 128, 128), :])
    product = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=product, stationary=stationary, moving=moving)
    mine = nl.ndarray((m, n), dtype=nl.float32)
    nisa.tensor_copy(dst=mine, src=product)
    theirs = nl.ndarray((m, n), dtype=nl.float32)
    nisa.sendrecv(src=mine, dst=theirs, send_to_rank=1 - core, recv_from_rank=1 - core, pipe_id=0)
    nisa.tensor_tensor(dst=mine, data1=mine, data2=theirs, op=nl.add)
    half = n // 2
    nisa.dma_copy(dst=out[:, nl.ds(core * half, half)], src=mine[:, nl.ds(core * half, half)])
    nisa.core_barrier(out, (0, 1))
    return out


def run():
    """(got, want) of the example."""
    rng = np.random.default_rng(0)
    lhs_t, rhs = rng.standard_normal((256, 96), np.float32), rng.standard_normal((256, 512), np.float32)
    return nki.simulate(sharded_matmul[2])(lhs_t, rhs), lhs_t.T @ rhs


if __name__ == "__main__":
    import birsim

    birsim.assert_close(*run(), rtol=1e-4, atol=1e-4)
    print("two_cores: matches NumPy")
