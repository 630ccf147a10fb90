"""Attention forward: scores on the tensor engine, softmax along the free axis, and the weighted sum of values."""

import math

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np

P = 128


@nki.jit
def attention(q, k, v):
    """softmax(q @ k.T / sqrt(d)) @ v for (S, d) inputs with d <= 128 and S a multiple of 128, at most 512."""
    s, d = q.shape
    out = nl.ndarray((s, d), dtype=q.dtype, buffer=nl.shared_hbm)
    k_t = nl.ndarray((d, s), dtype=nl.float32)
    nisa.dma_copy(dst=k_t, src=k.ap([[1, d], [d, s]]))
    values = nl.ndarray((P, s // P, d), dtype=nl.float32)
    nisa.dma_copy(dst=values, src=v.ap([[d, P], [P * d, s // P], [1, d]]))
    for i in range(s // P):
        q_t = nl.ndarray((d, P), dtype=nl.float32)
        nisa.dma_copy(dst=q_t, src=q.ap([[1, d], [d, P]], offset=i * P * d))
        scores = nl.ndarray((P, s), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=scores, stationary=q_t, moving=k_t)
        scale = 1.0 / math.sqrt(d)
        top = nl.ndarray((P, 1), dtype=nl.float32)
        nisa.tensor_reduce(dst=top, op=nl.maximum, data=scores, axis=1)
        nisa.tensor_scalar(dst=top, data=top, op0=nl.multiply, operand0=-scale)
        weights = nl.ndarray((P, s), dtype=nl.float32)
        total = nl.ndarray((P, 1), dtype=nl.float32)
        nisa.activation_reduce(dst=weights, op=nl.exp, data=scores, scale=scale, bias=top, reduce_op=nl.add, reduce_res=total)
        nisa.reciprocal(dst=total, data=total)
        mixed = nl.ndarray((P, d), dtype=nl.float32, buffer=nl.psum)
        for j in range(s // P):
            turned = nl.ndarray((P, P), dtype=nl.float32, buffer=nl.psum)
            nisa.nc_transpose(dst=turned, data=weights[:, j * P : (j + 1) * P])
            stationary = nl.ndarray((P, P), dtype=nl.float32)
            nisa.tensor_copy(dst=stationary, src=turned)
            nisa.nc_matmul(dst=mixed, stationary=stationary, moving=values[:, j, :])
        result = nl.ndarray((P, d), dtype=nl.float32)
        nisa.tensor_scalar(dst=result, data=mixed, op0=nl.multiply, operand0=total)
        nisa.dma_copy(dst=out[i * P : (i + 1) * P, :], src=result)
    return out


def run():
    """(got, want) of the example."""
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((256, 64), np.float32) for _ in range(3))
    scores = q @ k.T / 8
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return nki.simulate(attention)(q, k, v), e / e.sum(-1, keepdims=True) @ v


if __name__ == "__main__":
    import birsim

    birsim.assert_close(*run(), rtol=1e-4, atol=1e-5)
    print("attention: matches NumPy")
