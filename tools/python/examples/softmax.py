"""Softmax of every row: maximum, exponential with the sum on the side, and a scaling."""

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np


@nki.jit
def softmax(x):
    """exp(x - max) / sum for rows; at most 128 of them."""
    rows, columns = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((rows, columns), dtype=nl.float32)
    nisa.dma_copy(dst=t, src=x)
    minus_top = nl.ndarray((rows, 1), dtype=nl.float32)
    nisa.tensor_reduce(dst=minus_top, op=nl.maximum, data=t, axis=1, negate=True)
    total = nl.ndarray((rows, 1), dtype=nl.float32)
    nisa.activation_reduce(dst=t, op=nl.exp, data=t, bias=minus_top, reduce_op=nl.add, reduce_res=total)
    nisa.reciprocal(dst=total, data=total)
    nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=total)
    nisa.dma_copy(dst=out, src=t)
    return out


def run():
    """(got, want) of the example."""
    x = np.random.default_rng(0).standard_normal((128, 300), np.float32) * 4
    e = np.exp(x - x.max(-1, keepdims=True))
    return nki.simulate(softmax)(x), e / e.sum(-1, keepdims=True)


if __name__ == "__main__":
    import birsim

    birsim.assert_close(*run(), rtol=1e-5, atol=1e-7)
    print("softmax: matches NumPy")
