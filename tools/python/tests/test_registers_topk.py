"""Registers, and `nisa.topk`, against NumPy."""

import birsim
import ml_dtypes
import numpy as np
import pytest
from birsim import nki
from birsim.nki import isa as nisa
from birsim.nki import language as nl


def test_registers_are_moved_loaded_and_stored():
    def kernel(x):
        tile = nl.ndarray((1, 4), dtype=nl.int32)
        nisa.dma_copy(tile, x)
        a = nisa.register_alloc(7)
        b = nisa.register_alloc(a)
        nisa.register_move(a, imm=-3)
        nisa.register_load(dst=b, src=tile[0:1, 2:3])
        nisa.register_store(tile[0:1, 0:1], a)
        nisa.register_store(dst=tile[0:1, 1:2], src=b)
        nisa.register_store(tile[0:1, 3:4], 99)
        assert int(a) == -3 and int(b) == 12
        out = nl.ndarray((1, 4), dtype=nl.int32, buffer=nl.shared_hbm)
        nisa.dma_copy(out, tile)
        return out

    got = nki.simulate(kernel)(np.array([[10, 11, 12, 13]], np.int32))
    np.testing.assert_array_equal(got, [[-3, 12, 12, 99]])


def test_mistakes_with_registers_are_explained():
    def kernel(x, mistake):
        tile = nl.ndarray((1, 4), dtype=nl.int32)
        nisa.dma_copy(tile, x)
        mistake(tile, nisa.register_alloc(1))
        return x

    x = np.zeros((1, 4), np.int32)
    for mistake, error, text in [
        (lambda t, r: nisa.register_load(r, t), birsim.NkiValidationError, r"src has the shape \(1, 4\); a register holds one element"),
        (lambda t, r: nisa.register_move(t, 1), TypeError, "dst is a register of nki.isa.register_alloc, not NkiTensor"),
        (lambda t, r: nisa.register_move(r, "one"), TypeError, "src is an integer"),
        (lambda t, r: [nisa.register_move(i, 1) for i in nl.dynamic_range(2)], AssertionError, "the variable of a loop is a frozen register"),
    ]:
        with pytest.raises(error, match=text):
            nki.simulate(kernel)(x, mistake)


def topk(n, k):
    def kernel(x):
        src = nl.ndarray(x.shape, dtype=nl.bfloat16)
        nisa.dma_copy(src, x)
        values = nl.ndarray((x.shape[0], k), dtype=nl.bfloat16)
        places = nl.ndarray((x.shape[0], k), dtype=nl.uint32)
        nisa.memset(values, 0)
        nisa.memset(places, 0)
        nisa.topk(val_dst=values, idx_dst=places, src=src, n=n)
        out = [nl.ndarray(t.shape, dtype=t.dtype, buffer=nl.shared_hbm) for t in (values, places)]
        for o, t in zip(out, (values, places)):
            nisa.dma_copy(o, t)
        return tuple(out)

    return kernel


def unsnaked(tile, count):
    """The first elements of every 16 partitions, in the order of the snake."""
    groups = tile.reshape(-1, 16, tile.shape[1])
    return groups.transpose(0, 2, 1).reshape(len(groups), -1)[:, :count]


@pytest.mark.parametrize("partitions, n, k", [(16, 42, 8), (32, 64, 3), (128, 100, 16), (48, 200, 21), (16, 8, 8)])
def test_topk_of_every_sixteen_partitions(partitions, n, k):
    rng = np.random.default_rng(n)
    columns = -(-n // 16) + 1
    # No value occurs twice in a group, so that the positions are unique.
    lines = np.stack([rng.permutation(16 * columns) for _ in range(partitions // 16)]).astype(np.float32) - 40
    x = lines.reshape(-1, columns, 16).transpose(0, 2, 1).reshape(partitions, columns).astype(ml_dtypes.bfloat16)
    values, places = nki.simulate(topk(n, k))(x)
    rows = unsnaked(x.astype(np.float32), n)
    want = np.sort(rows, axis=1)[:, n - k :]
    np.testing.assert_array_equal(unsnaked(values.astype(np.float32), k), want)
    np.testing.assert_array_equal(np.take_along_axis(rows, unsnaked(places, k).astype(int), 1), want)


def test_topk_says_what_does_not_fit():
    x = np.zeros((16, 4), ml_dtypes.bfloat16)
    for n, k, text in [(7, 4, "n is 7; 8 to 64 elements"), (65, 4, "n is 65; 8 to 64"), (8, 9, "at most n = 8")]:
        with pytest.raises(birsim.NkiValidationError, match=text):
            nki.simulate(topk(n, k))(x)
    with pytest.raises(birsim.NkiValidationError, match="a multiple of 16"):
        nki.simulate(topk(8, 4))(np.zeros((24, 4), ml_dtypes.bfloat16))
    with pytest.raises(birsim.NkiValidationError, match="src has the type float32; it must be bfloat16"):
        nki.simulate(lambda a: nisa.topk(*[nl.ndarray((16, 4), dtype=d) for d in ("bfloat16", "uint32", "float32")], n=8))(x)
