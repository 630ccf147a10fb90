"""Top-k router of a mixture of experts: logits, the eight largest with their positions, and softmax over the chosen ones."""

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np


@nki.jit
def router(x, w, k=4):
    """x (T, H), w (H, E) -> (weights (T, k), experts (T, k)); T and H at most 128, 8 <= E <= 512, k <= 8."""
    tokens, hidden = x.shape
    _, experts = w.shape
    weights_out = nl.ndarray((tokens, k), dtype=nl.float32, buffer=nl.shared_hbm)
    experts_out = nl.ndarray((tokens, k), dtype=nl.uint32, buffer=nl.shared_hbm)
    x_t = nl.ndarray((hidden, tokens), dtype=nl.float32)
    nisa.dma_copy(dst=x_t, src=x.ap([[1, hidden], [hidden, tokens]]))
    table = nl.ndarray((hidden, experts), dtype=nl.float32)
    nisa.dma_copy(dst=table, src=w)
    product = nl.ndarray((tokens, experts), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=product, stationary=x_t, moving=table)
    logits = nl.ndarray((tokens, experts), dtype=nl.float32)
    nisa.tensor_copy(dst=logits, src=product)
    best = nl.ndarray((tokens, 8), dtype=nl.float32)
    where = nl.ndarray((tokens, 8), dtype=nl.uint32)
    nisa.max8(dst=best, src=logits)
    nisa.nc_find_index8(dst=where, data=logits, vals=best)
    chosen = nl.ndarray((tokens, k), dtype=nl.float32)
    total = nl.ndarray((tokens, 1), dtype=nl.float32)
    minus_top = nl.ndarray((tokens, 1), dtype=nl.float32)
    nisa.tensor_scalar(dst=minus_top, data=best[:, 0:1], op0=nl.multiply, operand0=-1.0)
    nisa.activation_reduce(dst=chosen, op=nl.exp, data=best[:, 0:k], bias=minus_top, reduce_op=nl.add, reduce_res=total)
    nisa.reciprocal(dst=total, data=total)
    nisa.tensor_scalar(dst=chosen, data=chosen, op0=nl.multiply, operand0=total)
    nisa.dma_copy(dst=weights_out, src=chosen)
    nisa.dma_copy(dst=experts_out, src=where[:, 0:k])
    return weights_out, experts_out


def run():
    """(got, want) of the example."""
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((64, 128), np.float32), rng.standard_normal((128, 32), np.float32)
    logits = x @ w
    order = np.argsort(-logits, axis=-1)[:, :4].astype(np.uint32)
    best = np.take_along_axis(logits, order.astype(np.int64), -1)
    e = np.exp(best - best[:, :1])
    return nki.simulate(router)(x, w), (e / e.sum(-1, keepdims=True), order)


if __name__ == "__main__":
    import birsim

    birsim.assert_close(*run(), rtol=1e-4, atol=1e-5)
    print("router: matches NumPy")
