"""Matrix product in tiles: contraction in steps of 128 partitions, accumulated in PSUM."""

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np


@nki.jit
def matmul(lhs_t, rhs):
    """lhs_t.T @ rhs for (K, M) and (K, N); K and M are multiples of 128, N of 512."""
    k, m = lhs_t.shape
    _, n = rhs.shape
    out = nl.ndarray((m, n), dtype=lhs_t.dtype, buffer=nl.shared_hbm)
    tile_k, tile_m, tile_n = nl.tile_size.pmax, nl.tile_size.gemm_stationary_fmax, nl.tile_size.gemm_moving_fmax
    for i in nl.affine_range(m // tile_m):
        for j in nl.affine_range(n // tile_n):
            total = nl.ndarray((tile_m, tile_n), dtype=nl.float32, buffer=nl.psum)
            for s in nl.affine_range(k // tile_k):
                stationary = nl.ndarray((tile_k, tile_m), dtype=lhs_t.dtype)
                moving = nl.ndarray((tile_k, tile_n), dtype=rhs.dtype)
                nisa.dma_copy(dst=stationary, src=lhs_t[nl.ds(s * tile_k, tile_k), nl.ds(i * tile_m, tile_m)])
                nisa.dma_copy(dst=moving, src=rhs[nl.ds(s * tile_k, tile_k), nl.ds(j * tile_n, tile_n)])
                nisa.nc_matmul(dst=total, stationary=stationary, moving=moving)
            result = nl.ndarray((tile_m, tile_n), dtype=out.dtype)
            nisa.tensor_copy(dst=result, src=total)
            nisa.dma_copy(dst=out[nl.ds(i * tile_m, tile_m), nl.ds(j * tile_n, tile_n)], src=result)
    return out


def run():
    """(got, want) of the example."""
    rng = np.random.default_rng(0)
    lhs_t, rhs = rng.standard_normal((256, 256), np.float32), rng.standard_normal((256, 1024), np.float32)
    return nki.simulate(matmul)(lhs_t, rhs), lhs_t.T @ rhs


if __name__ == "__main__":
    import birsim

    birsim.assert_close(*run(), rtol=1e-4, atol=1e-4)
    print("matmul: matches NumPy")
