"""Layer norm by bn_stats and bn_aggr, and RMS norm by a squared sum."""

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np


@nki.jit
def layer_norm(x, epsilon=1e-5):
    """(x - mean) / sqrt(variance + epsilon) of every row."""
    rows, columns = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((rows, columns), dtype=nl.float32)
    nisa.dma_copy(dst=t, src=x)
    step = nl.tile_size.bn_stats_fmax
    parts = (columns + step - 1) // step
    stats = nl.ndarray((rows, 6 * parts), dtype=nl.float32)
    for k in range(parts):
        nisa.bn_stats(dst=stats[:, 6 * k : 6 * k + 6], data=t[:, k * step : min((k + 1) * step, columns)])
    moments = nl.ndarray((rows, 2), dtype=nl.float32)
    nisa.bn_aggr(dst=moments, data=stats)
    scale = nl.ndarray((rows, 1), dtype=nl.float32)
    nisa.tensor_scalar(dst=scale, data=moments[:, 1:2], op0=nl.add, operand0=epsilon)
    nisa.activation(dst=scale, op=nl.rsqrt, data=scale)
    nisa.tensor_scalar(dst=t, data=t, op0=nl.subtract, operand0=moments[:, 0:1], op1=nl.multiply, operand1=scale)
    nisa.dma_copy(dst=out, src=t)
    return out


@nki.jit
def rms_norm(x, gamma, epsilon=1e-6):
    """x / sqrt(mean(x^2) + epsilon) * gamma of every row."""
    rows, columns = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((rows, columns), dtype=nl.float32)
    nisa.dma_copy(dst=t, src=x)
    squares = nl.ndarray((rows, columns), dtype=nl.float32)
    total = nl.ndarray((rows, 1), dtype=nl.float32)
    nisa.activation_reduce(dst=squares, op=nl.square, data=t, reduce_op=nl.add, reduce_res=total)
    nisa.tensor_scalar(dst=total, data=total, op0=nl.multiply, operand0=1.0 / columns, op1=nl.add, operand1=epsilon)
    nisa.activation(dst=total, op=nl.rsqrt, data=total)
    weights = nl.ndarray((rows, columns), dtype=nl.float32)
    nisa.dma_copy(dst=weights, src=gamma.ap([[0, rows], [1, columns]]))
    nisa.scalar_tensor_tensor(dst=t, data=t, op0=nl.multiply, operand0=total, op1=nl.multiply, operand1=weights)
    nisa.dma_copy(dst=out, src=t)
    return out


def run():
    """(got, want) of the examples."""
    rng = np.random.default_rng(0)
    x, gamma = rng.standard_normal((128, 1000), np.float32), rng.random(1000, np.float32)
    want_layer = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    want_rms = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * gamma
    return (nki.simulate(layer_norm)(x), nki.simulate(rms_norm)(x, gamma)), (want_layer, want_rms)


if __name__ == "__main__":
    import birsim

    birsim.assert_close(*run(), rtol=1e-4, atol=1e-5)
    print("layer_norm, rms_norm: match NumPy")
