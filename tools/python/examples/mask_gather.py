"""The 0.1 style: rows looked up in a table, and a causal mask, with index expressions and calls that return tiles."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np


@nki.jit
def gather_rows(table, rows):
    """table[rows] for up to 128 row numbers."""
    n, width = rows.shape[0], table.shape[1]
    out = nl.ndarray((n, width), dtype=table.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange(n)[:, None]
    i_f = nl.arange(width)[None, :]
    index = nl.load(rows[i_p, 0])
    nl.store(out[i_p, i_f], nl.load(table[index, i_f]))
    return out


@nki.jit
def causal(scores):
    """The lower triangle of a square matrix, minus infinity above it; rows come in tiles of 100."""
    n, _ = scores.shape
    out = nl.ndarray(scores.shape, dtype=scores.dtype, buffer=nl.shared_hbm)
    step = 100
    for t in nl.affine_range((n + step - 1) // step):
        i_p, i_f = nl.mgrid[0:step, 0:n]
        rows = t * step + i_p
        tile = nl.load(scores[rows, i_f], mask=(rows < n))
        masked = nisa.affine_select(pred=(i_f <= rows), on_true_tile=tile, on_false_value=float("-inf"))
        nl.store(out[rows, i_f], masked, mask=(rows < n))
    return out


def run():
    """(got, want) of the examples."""
    rng = np.random.default_rng(0)
    table, rows = rng.random((500, 64), np.float32), rng.integers(0, 500, (96, 1), np.int32)
    scores = rng.random((250, 250), np.float32)
    want = np.where(np.tril(np.ones_like(scores)) > 0, scores, -np.inf)
    return (gather_rows(table, rows), causal(scores)), (table[rows[:, 0]], want)


if __name__ == "__main__":
    import birsim

    birsim.assert_close(*run(), rtol=0, atol=0)
    print("mask_gather: the same bits as NumPy")
