"""Microscaling (trn3): quantise two tiles to packed 8-bit floats with shared scales, and multiply them."""

import os

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np


@nki.jit
def mx_matmul(lhs, rhs):
    """The product of two (128, 4 N) bfloat16 tiles whose contraction runs over 128 partitions times 4 packed neighbours."""
    p, m4 = lhs.shape
    _, n4 = rhs.shape
    out = nl.ndarray((m4 // 4, n4 // 4), dtype=nl.float32, buffer=nl.shared_hbm)
    packed = []
    for source, columns in ((lhs, m4), (rhs, n4)):
        tile = nl.ndarray((p, columns), dtype=source.dtype)
        nisa.dma_copy(dst=tile, src=source)
        values = nl.ndarray((p, columns // 4), dtype=nl.float8_e4m3fn_x4)
        scales = nl.ndarray((p, columns // 4), dtype=nl.uint8)
        nisa.quantize_mx(dst=values, src=tile, dst_scale=scales)
        packed.append((values, scales))
    (a, a_scale), (b, b_scale) = packed
    product = nl.ndarray((m4 // 4, n4 // 4), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul_mx(dst=product, stationary=a, moving=b, stationary_scale=a_scale, moving_scale=b_scale)
    result = nl.ndarray((m4 // 4, n4 // 4), dtype=nl.float32)
    nisa.tensor_copy(dst=result, src=product)
    nisa.dma_copy(dst=out, src=result)
    return out


def run():
    """(got, want) of the example."""
    import ml_dtypes

    before = os.environ.get("NEURON_PLATFORM_TARGET_OVERRIDE")
    os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = "trn3"
    try:
        rng = np.random.default_rng(0)
        lhs, rhs = (rng.standard_normal((128, 4 * n)).astype(ml_dtypes.bfloat16) for n in (64, 128))
        got = nki.simulate(mx_matmul)(lhs, rhs)
    finally:
        if before is None:
            del os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"]
        else:
            os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = before
    a, b = (t.astype(np.float32).reshape(128, -1, 4) for t in (lhs, rhs))
    return got, np.einsum("pmk,pnk->mn", a, b)


if __name__ == "__main__":
    import birsim

    # Eight bits per element: the errors of 512 products average to about one percent of the largest result.
    birsim.assert_close(*run(), rtol=5e-2, atol=5)
    print("mx: matches NumPy within the precision of the format")
