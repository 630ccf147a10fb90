"""Element-wise sum of two tensors, tile by tile."""

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np


@nki.jit
def tensor_add(a, b):
    """a + b for matrices whose rows are a multiple of 128."""
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    rows, columns = a.shape
    for r in nl.affine_range(rows // 128):
        x = nl.ndarray((128, columns), dtype=a.dtype)
        y = nl.ndarray((128, columns), dtype=b.dtype)
        here = slice(r * 128, (r + 1) * 128)
        nisa.dma_copy(dst=x, src=a[here, :])
        nisa.dma_copy(dst=y, src=b[here, :])
        nisa.tensor_tensor(dst=x, data1=x, data2=y, op=nl.add)
        nisa.dma_copy(dst=out[here, :], src=x)
    return out


def run():
    """(got, want) of the example."""
    rng = np.random.default_rng(0)
    a, b = rng.random((256, 512), np.float32), rng.random((256, 512), np.float32)
    return nki.simulate(tensor_add)(a, b), a + b


if __name__ == "__main__":
    import birsim

    birsim.assert_close(*run(), rtol=0, atol=0)
    print("tensor_add: the same bits as NumPy")
