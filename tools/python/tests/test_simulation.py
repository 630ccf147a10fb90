"""Launches: observation, faults and their lines, two cores, precision, options, state after errors."""

import threading

import birsim
import ml_dtypes
import numpy as np
import pytest
from birsim import nki
from birsim.nki import isa as nisa
from birsim.nki import language as nl

X = np.arange(4 * 8, dtype=np.float32).reshape(4, 8)


def loaded(x, dtype=None):
    t = nl.ndarray(x.shape, dtype=dtype or x.dtype)
    nisa.dma_copy(dst=t, src=x)
    return t


def stored(t, dtype=None):
    out = nl.ndarray(t.shape, dtype=dtype or t.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=t)
    return out


def test_values_are_seen_while_the_kernel_runs():
    seen = []

    def kernel(x):
        t = loaded(x)
        seen.append(np.asarray(t).copy())
        nisa.tensor_scalar(t, t, nl.add, 1.0)
        seen.append(np.asarray(t[1:2, 0:3]).copy())
        r = nisa.register_alloc(5)
        seen.append(int(r))
        return stored(t)

    np.testing.assert_array_equal(nki.simulate(kernel)(X), X + 1)
    np.testing.assert_array_equal(seen[0], X)
    np.testing.assert_array_equal(seen[1], X[1:2, 0:3] + 1)
    assert seen[2] == 5


@pytest.mark.parametrize("eager", [False, True])
def test_a_fault_names_the_line_of_its_call(eager):
    def kernel(x, index):
        table = loaded(index)
        t = nl.ndarray((4, 8), dtype=nl.float32)
        nisa.dma_copy(dst=t, src=x.ap([[8, 4], [1, 8]], vector_offset=table))  # the line
        reached.append(True)
        return stored(t)

    reached = []
    with pytest.raises(birsim.SimulationFault) as caught:
        nki.simulate(kernel, eager=eager)(X, np.array([[0], [1], [99], [2]], np.int32))
    e = caught.value
    lines = open(__file__).read().split("\n")
    assert e.filename == __file__ and lines[e.lineno - 1].endswith("# the line")
    assert f'File "{__file__}", line {e.lineno}, in kernel' in str(e) and e.code == "BIR-S014"
    assert bool(reached) != eager


def test_the_old_style_names_the_line_of_a_call_whose_result_waits():
    import neuronxcc.nki as old
    import neuronxcc.nki.isa as oisa
    import neuronxcc.nki.language as onl

    @old.jit
    def kernel(x, index):
        rows = onl.load(index)
        t = onl.load(x[rows, onl.arange(8)[None, :]])  # the old line
        z = onl.ndarray((4, 8), dtype=x.dtype, buffer=onl.shared_hbm)
        onl.store(z, oisa.tensor_copy(t))
        return z

    with pytest.raises(IndexError, match="index 792 is out of bounds for axis 0 with size 32") as caught:
        kernel(X, np.array([[0], [1], [99], [2]], np.int32))
    lines = open(__file__).read().split("\n")
    assert lines[caught.value.__cause__.lineno - 1].endswith("# the old line")


def test_an_exception_in_a_kernel_leaves_nothing_behind():
    def bad(x):
        t = loaded(x)
        nisa.tensor_scalar(t, t, nl.add, 1.0)
        raise KeyError("mine")

    for _ in range(3):
        with pytest.raises(KeyError, match="mine"):
            nki.simulate(bad)(X)
        with pytest.raises(KeyError, match="mine"):
            nki.simulate(bad)[2](X)
    np.testing.assert_array_equal(nki.simulate(lambda x: stored(loaded(x)))(X), X)


def test_two_threads_simulate_at_once():
    def kernel(x):
        t = loaded(x)
        for _ in range(50):
            nisa.tensor_scalar(t, t, nl.add, 1.0)
        return stored(t)

    results = {}

    def work(k):
        results[k] = [nki.simulate(kernel)(X + k) for _ in range(5)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    for k in range(4):
        for got in results[k]:
            np.testing.assert_array_equal(got, X + k + 50)


def test_two_cores_exchange_and_observe():
    def kernel(x):
        me = nl.program_id(0)
        out = nl.ndarray((2, 4, 8), dtype=nl.float32, buffer=nl.shared_hbm)
        mine = loaded(x)
        nisa.tensor_scalar(mine, mine, nl.add, float(me))
        theirs = nl.ndarray((4, 8), dtype=nl.float32)
        nisa.sendrecv(src=mine, dst=theirs, send_to_rank=1 - me, recv_from_rank=1 - me, pipe_id=0)
        seen[me] = float(np.asarray(theirs)[0, 0])
        nisa.dma_copy(dst=out[me], src=theirs)
        nisa.core_barrier(out, (0, 1))
        return out

    seen = {}
    got = nki.simulate(kernel)[2](X)
    np.testing.assert_array_equal(got, np.stack([X + 1, X]))
    assert seen == {0: 1.0, 1: 0.0}


def test_unequal_shared_tensors_of_two_cores_are_named():
    def kernel(x):
        out = nl.ndarray((4, 8 + nl.program_id(0)), dtype=nl.float32, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=out[:, 0:8], src=loaded(x))
        return out

    with pytest.raises(birsim.NkiValidationError, match=r"do not make the same shared tensors"):
        nki.simulate(kernel)[2](X)


def loops(kind):
    def kernel(x, n):
        t = loaded(x)
        if kind == "while":
            r = nisa.register_alloc(loaded(n))

            def body(i):
                nisa.tensor_scalar(t, t, nl.add, 1.0)
                step = nl.ndarray((1, 1), dtype=nl.int32)
                nisa.memset(step, value=int(i) - 1)
                following = nisa.register_alloc(0)
                nisa.register_load(following, step)
                return following

            nl.while_loop(r, body)
        elif kind == "fori":
            nl.fori_loop(0, nisa.register_alloc(loaded(n)), lambda _: nisa.tensor_scalar(t, t, nl.add, 1.0))
        else:
            for _ in nl.dynamic_range(nisa.register_alloc(loaded(n))):
                nisa.tensor_scalar(t, t, nl.add, 1.0)
        return stored(t)

    return kernel


@pytest.mark.parametrize("kind", ["while", "fori", "range"])
@pytest.mark.parametrize("trips", [0, 1, 3])
def test_loops_whose_length_is_known_at_run_time(kind, trips):
    got = nki.simulate(loops(kind))(X, np.array([[trips]], np.int32))
    np.testing.assert_array_equal(got, X + trips)


def test_a_traced_program_has_the_loop_itself():
    program = birsim.trace(loops("range"))(X, np.array([[3]], np.int32))
    assert program.to_json().count("DynamicForLoop") >= 1


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float8_e5m2"])
def test_nki_precise_fp_keeps_or_drops_the_rounding(monkeypatch, name):
    dtype = getattr(nl, name)

    def kernel(x):
        t = loaded(x, dtype)
        nisa.tensor_scalar(t, t, nl.add, 1e-4)
        return stored(t, nl.float32)

    x = np.ones((4, 8), np.float32)
    np.testing.assert_array_equal(nki.simulate(kernel)(x), x)
    monkeypatch.setenv("NKI_PRECISE_FP", "0")
    np.testing.assert_array_equal(nki.simulate(kernel)(x), x + np.float32(1e-4))
    got = nki.simulate(lambda a: stored(loaded(a)))(x.astype(dtype.numpy))
    assert got.dtype == dtype.numpy and (got.astype(np.float32) == 1).all()
    with pytest.raises(birsim.NkiValidationError, match="NKI_PRECISE_FP=0 keeps low-precision floats in float32"):
        nki.simulate(lambda a: stored(loaded(a).view(nl.uint8)))(x.astype(dtype.numpy))


def test_fp8_bits_of_the_newer_kind_are_taken_for_the_older_one_before_trn3():
    kinds = {}

    def kernel(x):
        kinds[nisa.get_nc_version()] = str(x.dtype)
        return stored(loaded(x))

    x = np.ones((4, 8), ml_dtypes.float8_e4m3fn)
    for target in ("trn2", "trn3"):
        nki.simulate(kernel, target=target)(x)
    assert kinds == {3: "float8_e4m3", 4: "float8_e4m3fn"}


def test_the_target_is_trn3_unless_somebody_says_otherwise(monkeypatch):
    for variable in ("NKI_NC_VERSION", "NEURON_PLATFORM_TARGET_OVERRIDE"):
        monkeypatch.delenv(variable, raising=False)
    assert nisa.get_nc_version() == nisa.nc_version.gen4
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "inf2")
    assert nisa.get_nc_version() == 2


def test_assignment_copies_or_fills():
    def kernel(x):
        t = nl.ndarray((4, 8), dtype=nl.float32)
        t[0:4, 0:8] = 7.0
        t[:, 2:4] = loaded(x)[:, 0:2]
        out = nl.ndarray((4, 8), dtype=nl.float32, buffer=nl.shared_hbm)
        out[...] = t
        return out

    want = np.full((4, 8), 7, np.float32)
    want[:, 2:4] = X[:, 0:2]
    np.testing.assert_array_equal(nki.simulate(kernel)(X), want)


def test_overlapping_addresses_of_living_tensors_are_refused():
    def kernel(x, byte):
        a = nl.ndarray((4, 8), dtype=nl.float32, address=(0, 0))
        b = nl.ndarray((4, 8), dtype=nl.float32, address=(0, byte))
        nisa.dma_copy(dst=a, src=x)
        nisa.dma_copy(dst=b, src=x)
        nisa.tensor_tensor(b, a, b, nl.add)
        return stored(b)

    np.testing.assert_array_equal(nki.simulate(kernel)(X, 16), 2 * X)
    np.testing.assert_array_equal(nki.simulate(kernel, check="overlap")(X, 32), 2 * X)
    with pytest.raises(birsim.NkiValidationError, match="share addresses of SBUF"):
        nki.simulate(kernel, check="overlap")(X, 16)


def test_unknown_names_are_type_errors_with_the_nearest_one():
    def kernel(x):
        nisa.tensor_scalar(dst=x, data=x, op0=nl.add, operand=1.0)

    with pytest.raises(TypeError, match="tensor_scalar.. got an unexpected keyword argument 'operand'; did you mean operand0"):
        nki.simulate(kernel)(X)
    with pytest.raises(TypeError, match="'targte'; did you mean target"):
        nki.simulate(kernel, targte="trn2")
    with pytest.raises(TypeError, match="'axes'; did you mean axis"):
        nki.simulate(lambda x: nl.sum(loaded(x), axes=1))(X)


def test_scales_that_no_group_owns_are_zero():
    def kernel(x):
        data = nl.ndarray((32, 16), dtype=nl.float8_e5m2_x4)
        scale = nl.ndarray((32, 16), dtype=nl.uint8)
        nisa.quantize_mx(dst=data, src=loaded(x), dst_scale=scale)
        return stored(scale)

    got = nki.simulate(kernel, target="trn3")(np.ones((32, 64), ml_dtypes.bfloat16))
    assert (got[0:4] != 0).all() and (got[4:] == 0).all()


def test_a_running_combination_goes_on_in_a_later_call():
    def kernel(x, kind):
        t = nl.ndarray((4, 8), dtype=kind)
        nisa.tensor_scalar_cumulative(dst=t, src=loaded(x), op0=nl.add, op1=nl.add, imm0=0.0)
        nisa.tensor_scalar_cumulative(dst=t, src=loaded(x), op0=nl.add, op1=nl.add, imm0=0.0, reduce_cmd=nisa.reduce_cmd.reduce)
        return stored(t, nl.float32)

    want = np.cumsum(np.concatenate([X, X], 1), 1)[:, 8:]
    for kind in (nl.float32, nl.bfloat16):
        np.testing.assert_array_equal(nki.simulate(kernel)(X, kind), want.astype(kind.numpy).astype(np.float32))
