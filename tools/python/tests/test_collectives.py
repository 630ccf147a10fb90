"""`nki.collectives` between the two cores of a run, against NumPy."""

import birsim
import numpy as np
import pytest
from birsim import nki
from birsim.nki import collectives as ncc
from birsim.nki import isa as nisa
from birsim.nki import language as nl

X = np.arange(4 * 8, dtype=np.float32).reshape(4, 8)


def group(n):
    return ncc.ReplicaGroup([list(range(n))])


def collective(f, shape):
    def kernel(x):
        me = nl.program_id(0)
        mine = nl.ndarray((4, 8), dtype=nl.float32, buffer=nl.private_hbm)
        t = nl.ndarray(x.shape, dtype=x.dtype)
        nisa.dma_copy(dst=t, src=x)
        nisa.tensor_scalar(t, t, nl.add, 100.0 * me)
        nisa.dma_copy(dst=mine, src=t)
        got = nl.ndarray(shape, dtype=nl.float32, buffer=nl.private_hbm)
        f(mine, got)
        out = nl.ndarray((2, *shape), dtype=nl.float32, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=out[me], src=got)
        return out

    return nki.simulate(kernel)[2](X)


A, B = X, X + 100


def test_collectives_of_two_ranks():
    both = lambda a, b: np.stack([a, b])  # noqa: E731
    got = collective(lambda s, d: ncc.all_reduce(srcs=[s], dsts=[d], replica_group=group(2), op=nl.add), (4, 8))
    np.testing.assert_array_equal(got, both(A + B, A + B))
    got = collective(lambda s, d: ncc.all_gather(srcs=[s], dsts=[d], replica_group=group(2), collective_dim=0), (8, 8))
    np.testing.assert_array_equal(got, both(*[np.concatenate([A, B])] * 2))
    got = collective(lambda s, d: ncc.reduce_scatter(srcs=[s], dsts=[d], replica_group=group(2), collective_dim=0, op=nl.add), (2, 8))
    np.testing.assert_array_equal(got, both((A + B)[:2], (A + B)[2:]))
    got = collective(lambda s, d: ncc.all_to_all(srcs=[s], dsts=[d], replica_group=group(2), collective_dim=0), (4, 8))
    np.testing.assert_array_equal(got, both(np.concatenate([A[:2], B[:2]]), np.concatenate([A[2:], B[2:]])))
    got = collective(lambda s, d: ncc.collective_permute(srcs=[s], dsts=[d], source_target_pairs=[(0, 1), (1, 0)]), (4, 8))
    np.testing.assert_array_equal(got, both(B, A))
    got = collective(lambda s, d: ncc.collective_permute_implicit([[s]], [[d]], group(2)), (4, 8))
    np.testing.assert_array_equal(got, both(B, A))


def variable(function, counts, known, displacements, size):
    """What both ranks receive from `function`, and its metadata afterwards. `counts` are the rows of each rank."""

    def kernel(x, table):
        me = nl.program_id(0)
        mine = nl.ndarray((32,), dtype=nl.float32, buffer=nl.private_hbm)
        metadata = nl.ndarray(table.shape[1:], dtype=nl.uint32, buffer=nl.private_hbm)
        nisa.dma_copy(dst=mine, src=x[me])
        nisa.dma_copy(dst=metadata, src=table[me])
        got = nl.zeros((size,), dtype=nl.float32, buffer=nl.private_hbm)
        function([mine], [got], group(2), metadata, recv_counts_known=known, has_rdispls=displacements)
        out = nl.ndarray((2, size), dtype=nl.float32, buffer=nl.shared_hbm)
        seen = nl.ndarray(table.shape, dtype=nl.uint32, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=out[me], src=got)
        nisa.dma_copy(dst=seen[me], src=metadata)
        return out, seen

    return nki.simulate(kernel)[2](np.stack([X.ravel(), X.ravel() + 100]), np.array(counts, np.uint32))


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("displacements", [False, True])
def test_all_to_all_of_chunks_of_any_size(known, displacements):
    # Rank 0 sends 3 elements from 0 on and 5 from 3 on; rank 1 sends 2 from 10 on and 4 from 20 on.
    received = [[3, 2], [5, 4]] if known else [[0, 0], [0, 0]]
    rows = [[[3, 5], [0, 3], received[0]], [[2, 4], [10, 20], received[1]]]
    if displacements:
        rows[0].append([1, 9])
        rows[1].append([6, 0])
    got, seen = variable(ncc.all_to_all_v, rows, known, displacements, 16)
    a, b = X.ravel(), X.ravel() + 100
    want = np.zeros((2, 16), np.float32)
    places = [[1, 9], [6, 0]] if displacements else [[0, 8], [0, 8]]
    for rank, chunks in enumerate([[a[0:3], b[10:12]], [a[3:8], b[20:24]]]):
        for place, chunk in zip(places[rank], chunks):
            want[rank, place : place + len(chunk)] = chunk
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(seen[:, 2], [[3, 2], [5, 4]])


@pytest.mark.parametrize("known", [False, True])
def test_all_gather_of_chunks_of_any_size(known):
    received = [3, 5] if known else [0, 0]
    rows = [[[3, 0], [4, 0], received], [[5, 0], [1, 0], received]]
    got, seen = variable(ncc.all_gather_v, rows, known, False, 12)
    want = np.zeros(12, np.float32)
    want[0:3], want[6:11] = X.ravel()[4:7], X.ravel()[1:6] + 100
    np.testing.assert_array_equal(got, [want, want])
    np.testing.assert_array_equal(seen[:, 2], [[3, 5], [3, 5]])
    # Nothing but the received counts is written into the kernel's metadata.
    np.testing.assert_array_equal(seen[:, :2], np.array(rows)[:, :2])


def test_exchanges_say_what_does_not_fit():
    with pytest.raises(birsim.NkiValidationError, match="it holds 4 rows with a number for each rank"):
        variable(ncc.all_to_all_v, [[[1, 1]] * 3] * 2, False, True, 8)
    with pytest.raises(birsim.NkiValidationError, match="pairs srcs with dsts, 1 with 0"):
        collective(lambda s, d: ncc.all_reduce(srcs=[s], dsts=[], replica_group=group(2), op=nl.add), (4, 8))
