"""Every function of `nki.isa` against NumPy, on whole tiles and on views of larger ones."""

import birsim
import ml_dtypes
import numpy as np
import pytest
from birsim import _native, nki
from birsim.nki import isa as nisa
from birsim.nki import language as nl

RNG = np.random.default_rng(12)
BF16 = ml_dtypes.bfloat16
CASES = {}

# Functions that other files of this folder compare with NumPy.
ELSEWHERE = {
    "topk": "test_registers_topk",
    "register_move": "test_registers_topk",
    "register_load": "test_registers_topk",
    "register_store": "test_registers_topk",
    "sendrecv": "test_simulation",
    "core_barrier": "test_simulation",
    "nc_matmul_mx": "test_examples",
    "quantize_mx": "test_simulation",
}


def tile(like, place, buffer=nl.sbuf):
    """A tile of the shape and type of an array; `place` "view" takes every second column of a larger one."""
    if place == "whole" or len(like.shape) != 2:
        return nl.ndarray(like.shape, dtype=like.dtype, buffer=buffer)
    rows, columns = like.shape
    return nl.ndarray((rows, 2 * columns + 3), dtype=like.dtype, buffer=buffer)[:, 1 : 2 * columns + 1 : 2]


class Like:
    """Shape, type and memory of a result, and the values it has before the call."""

    def __init__(self, shape, dtype="float32", before=None, buffer=nl.sbuf):
        self.shape, self.dtype, self.before, self.buffer = tuple(shape), dtype, before, buffer


def case(label, inputs, results, call, want, target="trn3", close=0.0, views=True):
    """`call(results, inputs)` on tiles gives `want`, exactly or within `close` of the largest value."""
    CASES[label] = (inputs, results, call, want, target, close, views)


def check(label, place):
    inputs, results, call, want, target, close, _ = CASES[label]

    def kernel(arrays, befores):
        ins = [tile(a, place) for a in arrays]
        for t, a in zip(ins, arrays):
            nisa.dma_copy(t, a)
        outs = [tile(r, place, r.buffer) for r in results]
        for t, r, b in zip(outs, results, befores):
            if b is not None:
                nisa.dma_copy(t, b)
        call(outs, ins)
        given = []
        for t in outs:
            out = nl.ndarray(t.shape, dtype=t.dtype, buffer=nl.shared_hbm)
            if t.buffer == nl.psum:
                copy = nl.ndarray(t.shape, dtype=t.dtype)
                nisa.tensor_copy(copy, t)
                t = copy
            nisa.dma_copy(out, t)
            given.append(out)
        return given

    got = nki.simulate(kernel, target=target)(list(inputs), [r.before for r in results])
    for g, w in zip(got, want):
        g, w = np.asarray(g).astype(np.float64), np.asarray(w).astype(np.float64)
        if close:
            np.testing.assert_allclose(g, w, rtol=close, atol=close * np.abs(w[np.isfinite(w)]).max(initial=1e-30))
        else:
            np.testing.assert_array_equal(g, w)


def f32(*shape):
    """Small integers: sums and products of them are exact in any order."""
    return RNG.integers(-8, 9, shape).astype(np.float32)


A, B, V = f32(5, 7), f32(5, 7), f32(5, 1)
HALVES = (RNG.integers(-20, 21, (5, 7)) / 4).astype(BF16)
P128 = f32(128, 24)

case("tensor_copy", [A], [Like(A.shape, nl.int16)], lambda o, i: nisa.tensor_copy(o[0], i[0]), [A])
case("tensor_tensor", [A, HALVES], [Like(A.shape)], lambda o, i: nisa.tensor_tensor(o[0], i[0], i[1], nl.multiply), [A * HALVES.astype(np.float32)])
case(
    "tensor_scalar", [A, V], [Like(A.shape)],
    lambda o, i: nisa.tensor_scalar(o[0], i[0], nl.subtract, i[1], reverse0=True, op1=nl.maximum, operand1=-2.0),
    [np.maximum(V - A, -2)],
)  # fmt: skip
case(
    "tensor_scalar bits", [A.astype(np.int32)], [Like(A.shape, nl.int32)],
    lambda o, i: nisa.tensor_scalar(o[0], i[0], nl.bitwise_and, 6, op1=nl.left_shift, operand1=2),
    [(A.astype(np.int32) & 6) << 2],
)  # fmt: skip
case(
    "scalar_tensor_tensor", [A, V, B], [Like(A.shape)],
    lambda o, i: nisa.scalar_tensor_tensor(o[0], i[0], nl.multiply, i[1], nl.subtract, i[2], reverse1=True),
    [B - A * V],
)  # fmt: skip


def scanned(a, b, first):
    state, out = first, []
    for k in range(a.shape[1]):
        state = a[:, k] * state + b[:, k]
        out.append(state)
    return np.stack(out, 1)


SIGNS = np.sign(A)
case(
    "tensor_tensor_scan", [SIGNS, B], [Like(A.shape)],
    lambda o, i: nisa.tensor_tensor_scan(o[0], i[0], i[1], 2.0, nl.multiply, nl.add),
    [scanned(SIGNS, B, np.full(5, 2.0))],
)  # fmt: skip
case("reciprocal", [np.exp2(A)], [Like(A.shape)], lambda o, i: nisa.reciprocal(o[0], i[0]), [np.exp2(-A)])
case(
    "activation", [A, V], [Like(A.shape)],
    lambda o, i: nisa.activation(o[0], nl.exp, i[0], bias=i[1], scale=0.25), [np.exp(A * 0.25 + V)], close=1e-6,
)  # fmt: skip
case(
    "activation_reduce", [A], [Like(A.shape), Like((5, 1))],
    lambda o, i: nisa.activation_reduce(o[0], nl.square, i[0], nl.add, o[1]), [A * A, (A * A).sum(1, keepdims=True)],
)  # fmt: skip
case(
    "activate2", [A, V], [Like(A.shape)],
    lambda o, i: nisa.activate2(o[0], nl.relu, i[0], imm0=2.0, imm1=i[1], op0=nl.multiply, op1=nl.subtract),
    [np.maximum(A * 2 - V, 0)],
)  # fmt: skip
case(
    "exponential", [A, A.max(1, keepdims=True)], [Like(A.shape), Like((5, 1))],
    lambda o, i: nisa.exponential(o[0], i[0], max_value=i[1], reduce_res=o[1], reduce_cmd=nisa.reduce_cmd.reset_reduce),
    [np.exp(A - A.max(1, keepdims=True)), np.exp(A - A.max(1, keepdims=True)).sum(1, keepdims=True)], close=1e-6,
)  # fmt: skip
case("memset", [], [Like((5, 7), nl.bfloat16), Like((3, 2), nl.int32)], lambda o, i: [nisa.memset(o[0], value=1.5), nisa.memset(o[1], value=-3)], [np.full((5, 7), 1.5), np.full((3, 2), -3)])
case(
    "iota", [], [Like((5, 6), nl.int32)], lambda o, i: nisa.iota(o[0], pattern=[[10, 2], [1, 3]], offset=4, channel_multiplier=100),
    [4 + 100 * np.arange(5)[:, None] + np.array([0, 1, 2, 10, 11, 12])],
)  # fmt: skip
ROW, COLUMN = np.arange(5)[:, None], np.arange(7)[None]
case(
    "affine_select", [A], [Like(A.shape)],
    lambda o, i: nisa.affine_select(o[0], pattern=[[-1, 7]], channel_multiplier=1, on_true_tile=i[0], on_false_value=-9.0, cmp_op=nl.greater_equal, offset=1),
    [np.where(1 + ROW - COLUMN >= 0, A, -9)],
)  # fmt: skip
BOUND = np.array([[3], [4], [9], [0], [6]], np.float32)
KEPT = (COLUMN + 2 >= 3) & (COLUMN + 2 < BOUND)
LEAST = np.float32(np.finfo(np.float32).min)
case(
    "range_select", [A, np.full((5, 1), 3, np.float32), BOUND], [Like(A.shape), Like((5, 1))],
    lambda o, i: nisa.range_select(o[0], i[0], nl.greater_equal, nl.less, i[1], i[2], reduce_res=o[1], range_start=2),
    [np.where(KEPT, A, LEAST), np.where(KEPT, A, LEAST).max(1, keepdims=True)],
)  # fmt: skip
WHERE = (A > 0).astype(np.uint8)
case(
    "tensor_copy_predicated", [B, WHERE], [Like(A.shape, before=A)],
    lambda o, i: nisa.tensor_copy_predicated(o[0], i[0], i[1], reverse_pred=True), [np.where(WHERE == 0, B, A)],
)  # fmt: skip
case(
    "select_reduce", [WHERE, A, V], [Like(A.shape), Like((5, 1))],
    lambda o, i: nisa.select_reduce(o[0], i[0], i[1], i[2], reduce_res=o[1], reduce_cmd=nisa.reduce_cmd.reset_reduce),
    [np.where(WHERE != 0, A, V), np.where(WHERE != 0, A, V).max(1, keepdims=True)],
)  # fmt: skip
case(
    "sequence_bounds", [np.array([[1, 1, 2, 2, 2, 0]], np.float32)], [Like((1, 2, 6))],
    lambda o, i: nisa.sequence_bounds(o[0], i[0]), [[[[0, 0, 2, 2, 2, 6], [2, 2, 5, 5, 5, -1]]]],
)  # fmt: skip
CUBE = f32(5, 3, 4)
case("tensor_reduce", [A], [Like((5, 1))], lambda o, i: nisa.tensor_reduce(o[0], nl.add, i[0], axis=1, negate=True), [-A.sum(1, keepdims=True)])
case("tensor_reduce of two axes", [CUBE], [Like((5, 1))], lambda o, i: nisa.tensor_reduce(o[0], nl.minimum, i[0], axis=(1, 2)), [CUBE.min((1, 2))[:, None]])
case("tensor_partition_reduce", [P128], [Like((1, 24))], lambda o, i: nisa.tensor_partition_reduce(o[0], nl.add, i[0]), [P128.sum(0, keepdims=True)])
case(
    "tensor_scalar_reduce", [A, V], [Like(A.shape), Like((5, 1))],
    lambda o, i: nisa.tensor_scalar_reduce(o[0], i[0], nl.multiply, i[1], nl.maximum, o[1]), [A * V, (A * V).max(1, keepdims=True)],
)  # fmt: skip
case(
    "tensor_scalar_cumulative", [A], [Like(A.shape)],
    lambda o, i: nisa.tensor_scalar_cumulative(o[0], i[0], nl.multiply, nl.add, 2.0), [np.cumsum(2 * A, 1)],
)  # fmt: skip
NORMAL = RNG.normal(size=(5, 32)).astype(np.float32)


def normalised(o, i):
    stats = nl.ndarray((5, 6), dtype=nl.float32)
    nisa.bn_stats(stats, i[0])
    nisa.bn_aggr(o[0], stats)


case("bn_stats bn_aggr", [NORMAL], [Like((5, 2))], normalised, [np.stack([NORMAL.mean(1), NORMAL.var(1)], 1)], close=1e-5)
DISTINCT = np.stack([RNG.permutation(20) for _ in range(5)]).astype(np.float32)
DOWN = np.sort(DISTINCT, 1)[:, ::-1][:, :8]
AT = np.argsort(-DISTINCT, 1)[:, :8]
case("max8", [DISTINCT], [Like((5, 8))], lambda o, i: nisa.max8(o[0], i[0]), [DOWN])
case("nc_find_index8", [DISTINCT, DOWN], [Like((5, 8), nl.uint32)], lambda o, i: nisa.nc_find_index8(o[0], i[0], i[1]), [AT])
case(
    "nc_match_replace8", [DISTINCT, DOWN], [Like(DISTINCT.shape), Like((5, 8), nl.uint32)],
    lambda o, i: nisa.nc_match_replace8(o[0], i[0], i[1], -1.0, o[1]), [np.where(DISTINCT >= 12, -1, DISTINCT), AT],
)  # fmt: skip
SPARSE = np.zeros((32, 6), np.float32)
SPARSE[0, [1, 4]], SPARSE[16, :] = 1, 2
COUNTED = np.full((32, 7), 77, np.int32)
COUNTED[0], COUNTED[16] = [11, 14, -5, -5, -5, -5, 2], [10, 11, 12, 13, 14, 15, 6]
case(
    "nonzero_with_count", [SPARSE], [Like((32, 7), nl.int32, before=np.full((32, 7), 77, np.int32))],
    lambda o, i: nisa.nonzero_with_count(o[0], i[0], index_offset=10, padding_val=-5), [COUNTED], views=False,
)  # fmt: skip
PICK = RNG.integers(0, 7, (5, 4)).astype(np.uint32)
case("nc_n_gather", [A, PICK], [Like((5, 4))], lambda o, i: nisa.nc_n_gather(o[0], i[0], i[1]), [np.take_along_axis(A, PICK.astype(int), 1)])
TALL, SHARED = f32(32, 12), RNG.integers(0, 11, (32, 1)).astype(np.uint16)
GATHERED = np.stack([TALL[p][(SHARED[p // 16 * 16 : p // 16 * 16 + 16] + np.arange(2)).ravel()] for p in range(32)])
case(
    "local_gather", [TALL, SHARED], [Like((32, 32))],
    lambda o, i: nisa.local_gather(o[0], i[0], i[1], num_elem_per_idx=2, num_valid_indices=16), [GATHERED], views=False,
)  # fmt: skip
case(
    "nc_matmul", [P128, f32(128, 20)], [Like((24, 20), buffer=nl.psum)],
    lambda o, i: [nisa.nc_matmul(o[0], i[0], i[1]), nisa.nc_matmul(o[0], i[0], i[1], accumulate=True)], None,
)  # fmt: skip
CASES["nc_matmul"] = (*CASES["nc_matmul"][:3], [2 * P128.T @ CASES["nc_matmul"][0][1]], *CASES["nc_matmul"][4:])
case("nc_transpose", [P128], [Like((24, 128), buffer=nl.psum)], lambda o, i: nisa.nc_transpose(o[0], i[0]), [P128.T])
case("nc_transpose vector", [A], [Like((7, 5))], lambda o, i: nisa.nc_transpose(o[0], i[0], engine=nisa.engine.vector), [A.T])
case("dma_copy", [HALVES], [Like(A.shape)], lambda o, i: nisa.dma_copy(o[0], i[0]), [HALVES])
case("dma_transpose", [A], [Like((7, 5))], lambda o, i: nisa.dma_transpose(o[0], i[0]), [A.T])
case("dma_compute", [A, B], [Like(A.shape)], lambda o, i: nisa.dma_compute(o[0], [i[0], i[1]], nl.add), [A + B])
MASK = [(k + 3) % 32 for k in range(32)]
case("nc_stream_shuffle", [TALL], [Like(TALL.shape)], lambda o, i: nisa.nc_stream_shuffle(o[0], i[0], MASK), [TALL[MASK]])


@pytest.mark.parametrize("label", CASES)
def test_whole_tiles(label):
    check(label, "whole")


@pytest.mark.parametrize("label", [k for k, c in CASES.items() if c[6]])
def test_views(label):
    check(label, "view")


def test_random_numbers():
    seeds = RNG.integers(1, 1 << 30, (8, 6)).astype(np.uint32)

    def kernel(given, x):
        tiles = {n: nl.ndarray((8, 64), dtype=d) for n, d in [("bits", nl.uint32), ("again", nl.uint32), ("uniform", nl.float32), ("dropped", nl.float32)]}
        state = nl.ndarray((8, 6), dtype=nl.uint32)
        data = nl.ndarray(x.shape, dtype=x.dtype)
        nisa.dma_copy(state, given)
        nisa.dma_copy(data, x)
        for name in ("bits", "again"):
            nisa.rand_set_state(state, engine=nisa.engine.gpsimd)
            nisa.rng(tiles[name], engine=nisa.engine.gpsimd)
        after = nl.ndarray((8, 6), dtype=nl.uint32)
        nisa.rand_get_state(after, engine=nisa.engine.gpsimd)
        nisa.rand2(tiles["uniform"], min=-1.0, max=3.0)
        nisa.dropout(tiles["dropped"], data, 0.25)
        out = []
        for t in (*tiles.values(), after):
            out.append(nl.ndarray(t.shape, dtype=t.dtype, buffer=nl.shared_hbm))
            nisa.dma_copy(out[-1], t)
        return out

    x = np.full((8, 64), 5, np.float32)
    bits, again, uniform, dropped, after = nki.simulate(kernel)(seeds, x)
    np.testing.assert_array_equal(bits, again)
    assert len(np.unique(bits)) > 500 and (after != seeds).any()
    assert uniform.min() >= -1 and uniform.max() < 3 and uniform.std() > 0.5
    assert set(np.unique(dropped)) == {0.0, 5.0} and 0.1 < (dropped == 0).mean() < 0.4


def test_every_function_is_compared():
    own, _ = _native.instructions()
    random = {"rng", "rand_set_state", "rand_get_state", "rand2", "dropout"}
    # A seed of one number has no form that the machine takes: its generators have states of 6 words.
    refused = {"set_rng_seed"}
    tested = {word for label in CASES for word in label.split()} | set(ELSEWHERE) | random | refused
    assert set(own) <= tested, sorted(set(own) - tested)


def test_too_many_partitions_are_named():
    def kernel(x):
        t = nl.ndarray((256, 4), dtype=nl.float32)
        nisa.memset(t, value=0)

    with pytest.raises(birsim.NkiValidationError, match=r"memset dst partition dimension 256 exceeds the maximum 128 of sbuf \(trn2\)"):
        nki.simulate(kernel, target="trn2")(A)
