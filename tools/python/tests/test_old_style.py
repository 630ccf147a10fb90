"""The 0.1 style (`neuronxcc.nki`) against NumPy: index expressions, masks, block dimensions, grids, operators, value-returning calls."""

import birsim
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np
import pytest

RNG = np.random.default_rng(7)


def data(*shape, dtype=np.float32):
    return (RNG.standard_normal(shape) * 3).astype(dtype)


def elementwise(make):
    """Runs `make` on loaded tiles and returns what it stores."""

    @nki.jit
    def kernel(*arrays):
        result = make(*(nl.load(a) for a in arrays))
        out = nl.ndarray(result.shape, dtype=result.dtype, buffer=nl.shared_hbm)
        nl.store(out, result)
        return out

    return kernel


@pytest.mark.parametrize(
    "name, reference",
    [
        ("add", np.add),
        ("subtract", np.subtract),
        ("multiply", np.multiply),
        ("divide", np.divide),
        ("maximum", np.maximum),
        ("minimum", np.minimum),
    ],
)
@pytest.mark.parametrize("shapes", [((96, 40), (96, 40)), ((96, 40), (96, 1)), ((96, 40), (1, 40)), ((96, 1), (1, 40)), ((96, 40), (1, 1)), ((8, 3, 5), (8, 1, 5))])
def test_binary_functions_broadcast_both_ways(name, reference, shapes):
    a, b = (data(*s) for s in shapes)
    f = getattr(nl, name)
    birsim.assert_close(elementwise(f)(a, b), reference(a, b), rtol=1e-6, atol=0)
    birsim.assert_close(elementwise(lambda x: f(x, 1.5))(a), reference(a, np.float32(1.5)), rtol=1e-6, atol=0)
    birsim.assert_close(elementwise(lambda x: f(1.5, x))(a), reference(np.float32(1.5), a), rtol=1e-6, atol=0)


@pytest.mark.parametrize("name, reference", [("less", np.less), ("less_equal", np.less_equal), ("greater", np.greater), ("equal", np.equal), ("not_equal", np.not_equal)])
def test_comparisons_give_booleans(name, reference):
    a, b = data(32, 20).round(), data(32, 20).round()
    got = elementwise(getattr(nl, name))(a, b)
    assert got.dtype == np.bool_
    assert (got == reference(a, b)).all()


@pytest.mark.parametrize("name, reference", [("exp", np.exp), ("tanh", np.tanh), ("square", np.square), ("abs", np.abs), ("negative", np.negative)])
@pytest.mark.parametrize("shape", [(128, 64), (5, 7), (1, 300), (17, 3, 4)])
def test_unary_functions(name, reference, shape):
    a = data(*shape)
    birsim.assert_close(elementwise(getattr(nl, name))(a), reference(a), rtol=1e-5, atol=1e-6)


def test_operators_on_tiles():
    a, b = data(64, 30), data(64, 30)
    got = elementwise(lambda x, y: (2 * x - y / 4 + 1) * (-x) + (x**2.0 if False else x * y))(a, b)
    birsim.assert_close(got, (2 * a - b / 4 + 1) * -a + a * b, rtol=1e-5, atol=1e-5)

    def update(x, y):
        x += y
        x -= 1.0
        x *= 2
        x[0:32, 3:5] = 0.25
        x[5, 7] = 9
        return x

    want = (a + b - 1) * 2
    want[0:32, 3:5] = 0.25
    want[5, 7] = 9
    birsim.assert_close(elementwise(update)(a, b), want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("axes", [1, [1], [2], [1, 2], [2, 3], [1, 3], [1, 2, 3], -1])
def test_reductions_along_any_free_axes(axes):
    a = data(9, 4, 5, 6)
    as_axes = tuple(axes) if isinstance(axes, list) else (axes,)
    for name, reference in (("sum", np.sum), ("max", np.max), ("min", np.min), ("mean", np.mean)):
        want = reference(a, axis=as_axes)
        got = elementwise(lambda x: getattr(nl, name)(x, axis=axes))(a)
        birsim.assert_close(got, want.reshape(got.shape), rtol=1e-5, atol=1e-5, name=name)
        assert got.shape == (want.shape if want.ndim > 1 else (*want.shape, 1))
        kept = elementwise(lambda x: getattr(nl, name)(x, axis=axes, keepdims=True))(a)
        birsim.assert_close(kept, reference(a, axis=as_axes, keepdims=True), rtol=1e-5, atol=1e-5, name=name)


def test_index_expressions_read_and_write_any_affine_pattern():
    a = data(40, 60)

    @nki.jit
    def kernel(x):
        out = nl.ndarray((20, 3, 10), dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x)
        i, j, k = nl.mgrid[0:20, 0:3, 0:10]
        picked = nl.copy(tile[i, 5 * k + 2 * j + 1])
        nl.store(out[19 - i if False else i, 2 - j, k], picked)
        return out

    i, j, k = np.mgrid[0:20, 0:3, 0:10]
    want = np.empty((20, 3, 10), np.float32)
    want[i, 2 - j, k] = a[i, 5 * k + 2 * j + 1]
    assert (kernel(a) == want).all()


def test_hbm_may_be_read_by_overlapping_windows():
    a = data(30, 20)

    @nki.jit
    def kernel(x):
        out = nl.ndarray((28, 18), dtype=x.dtype, buffer=nl.shared_hbm)
        i, di, j = nl.mgrid[0:28, 0:3, 0:20]
        rows = nl.load(x[i + di, j])
        i, di, j, dj = nl.mgrid[0:28, 0:3, 0:18, 0:3]
        nl.store(out, nl.max(rows[i, di, j + dj], axis=[1, 3]))
        return out

    assert (kernel(a) == np.lib.stride_tricks.sliding_window_view(a, (3, 3)).max((2, 3))).all()


@pytest.mark.parametrize("rows, columns", [(300, 700), (128, 1), (129, 33)])
def test_masks_guard_the_last_tile(rows, columns):
    a = data(rows, columns)

    @nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        i_p, i_f = nl.arange(128)[:, None], nl.arange(256)[None, :]
        for r in nl.affine_range(-(-rows // 128)):
            for c in nl.affine_range(-(-columns // 256)):
                mask = (r * 128 + i_p < rows) & (c * 256 + i_f < columns)
                t = nl.load(x[r * 128 + i_p, c * 256 + i_f], mask=mask)
                t = nl.multiply(t, 2.0, mask=mask)
                nl.store(out[r * 128 + i_p, c * 256 + i_f], t, mask=mask)
        return out

    assert (kernel(a) == 2 * a).all()


def test_masks_that_are_no_boxes():
    a = data(50, 50)

    @nki.jit
    def kernel(x):
        out = nl.zeros(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        i, j = nl.mgrid[0:50, 0:50]
        t = nl.load(x)
        doubled = nl.add(t, t, mask=(j <= i))
        nl.store(out[i, j], doubled, mask=(j <= i and 2 * j >= i))
        return out

    i, j = np.mgrid[0:50, 0:50]
    assert (kernel(a) == np.where((j <= i) & (2 * j >= i), 2 * a, 0)).all()


def test_an_index_outside_of_the_mask_is_an_error_that_names_it():
    @nki.jit
    def kernel(x):
        i, j = nl.mgrid[0:50, 0:60]
        return nl.load(x[i, j])

    with pytest.raises(IndexError, match=r"index 59 of dimension 1 is outside of x of shape \(50, 50\)"):
        kernel(data(50, 50))


def test_block_dimensions_are_independent_tiles():
    a = data(3, 128, 40)

    @nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        t = nl.ndarray((3, nl.par_dim(128), 40), dtype=x.dtype, buffer=nl.sbuf)
        for b in nl.affine_range(3):
            t[b] = nl.load(x[b])
        for b in nl.affine_range(3):
            t[b, :, 5:10] = nl.exp(t[b, :, 5:10])
            nl.store(out[2 - b], t[b])
        return out

    want = a.copy()
    want[:, :, 5:10] = np.exp(want[:, :, 5:10])
    birsim.assert_close(kernel(a), want[::-1], rtol=1e-6, atol=0)


def test_products_accumulate_in_psum():
    a, b = data(256, 64), data(256, 300)

    @nki.jit
    def kernel(lhs_t, rhs):
        out = nl.ndarray((64, 300), dtype=nl.float32, buffer=nl.shared_hbm)
        total = nl.zeros((64, 300), dtype=nl.float32, buffer=nl.psum)
        for k in nl.affine_range(2):
            total += nisa.nc_matmul(nl.load(lhs_t[k * 128 : (k + 1) * 128]), nl.load(rhs[k * 128 : (k + 1) * 128]))
        nl.store(out, total)
        return out

    birsim.assert_close(kernel(a, b), a.T @ b, rtol=1e-3, atol=1e-3)


def test_products_add_to_psum_that_holds_other_values():
    a, b, c = data(128, 64), data(128, 300), data(64, 300)

    @nki.jit
    def kernel(lhs_t, rhs, start):
        total = nl.ndarray((64, 300), dtype=nl.float32, buffer=nl.psum)
        total[...] = nl.copy(nl.load(start))
        total[0:64, 0:300] += nisa.nc_matmul(nl.load(lhs_t), nl.load(rhs))
        out = nl.ndarray((64, 300), dtype=nl.float32, buffer=nl.shared_hbm)
        nl.store(out, total)
        return out

    birsim.assert_close(kernel(a, b, c), c + a.T @ b, rtol=1e-3, atol=1e-3)


def test_an_assigned_result_does_not_alias_its_destination():
    a = data(32, 16)

    @nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        t = nl.load(x)
        buffer = nl.ndarray((32, 16), dtype=x.dtype)
        kept = nl.multiply(t, 2.0)
        buffer[...] = kept
        buffer[...] = nl.multiply(buffer, 10.0)
        nl.store(out, kept)
        return out

    assert (kernel(a) == 2 * a).all()


def test_matmul_transposes_and_chains():
    a, b = data(100, 64), data(64, 90)
    birsim.assert_close(elementwise(lambda x, y: nl.copy(nl.matmul(x, y)))(a, b), a @ b, rtol=1e-3, atol=1e-3)
    birsim.assert_close(elementwise(lambda x, y: nl.copy(nl.matmul(x, y, transpose_x=True)))(a.T.copy(), b), a @ b, rtol=1e-3, atol=1e-3)
    assert (elementwise(nl.transpose)(a) == a.T).all()


def test_softmax_rms_norm_where_and_variance():
    a, w = data(64, 50), data(1, 50)
    e = np.exp(a - a.max(-1, keepdims=True))
    birsim.assert_close(elementwise(lambda x: nl.softmax(x, axis=1))(a), e / e.sum(-1, keepdims=True), rtol=1e-5, atol=1e-7)
    want = a / np.sqrt((a**2).mean(-1, keepdims=True) + 1e-6) * w
    birsim.assert_close(elementwise(lambda x, g: nl.rms_norm(x, g, axis=1, n=50))(a, w), want, rtol=1e-4, atol=1e-5)
    birsim.assert_close(elementwise(lambda x: nl.var(x, axis=1))(a), a.var(-1, keepdims=True), rtol=1e-4, atol=1e-5)
    assert (elementwise(lambda x: nl.where(x > 0.0, x, -1.0))(a) == np.where(a > 0, a, -1)).all()


def test_rows_are_gathered_and_scattered_by_a_tile_of_numbers():
    table, rows = data(300, 24), RNG.permutation(300)[:70].astype(np.int32).reshape(70, 1)

    @nki.jit
    def kernel(x, index):
        out = nl.zeros(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        i_p, i_f = nl.arange(70)[:, None], nl.arange(24)[None, :]
        t = nl.load(index)
        found = nl.load(x[t[i_p, 0], i_f])
        nl.store(out[t, i_f], nl.multiply(found, 3.0))
        return out

    want = np.zeros_like(table)
    want[rows[:, 0]] = 3 * table[rows[:, 0]]
    assert (kernel(table, rows) == want).all()


def test_grids_run_every_point_once_on_shared_tensors():
    a = data(4, 3, 8, 5)

    @nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        i, j = nl.program_id(0), nl.program_id(1)
        assert nl.num_programs(0) == 4 and nl.program_ndim() == 2
        nl.store(out[i, j], nl.add(nl.load(x[i, j]), float(10 * i + j)))
        return out

    want = a + (10 * np.arange(4)[:, None] + np.arange(3)).astype(np.float32)[:, :, None, None]
    for grid in ((4, 3), (nl.nc(2) * 2, 3), (nl.spmd_dim(2, nl.nc(2)), 3)):
        assert (kernel[grid](a) == want).all()


def test_loop_reduce_adds_over_the_named_loops():
    a = data(3, 2, 32, 8)

    @nki.jit
    def kernel(x):
        out = nl.ndarray((2, 32, 8), dtype=x.dtype, buffer=nl.shared_hbm)
        total = nl.ndarray((2, nl.par_dim(32), 8), dtype=x.dtype, buffer=nl.sbuf)
        for k in nl.affine_range(3):
            for m in nl.affine_range(2):
                total[m] = nl.loop_reduce(nl.load(x[k, m]), op=np.add, loop_indices=[k], dtype=nl.float32)
        for m in nl.affine_range(2):
            nl.store(out[m], total[m])
        return out

    birsim.assert_close(kernel(a), a.sum(0), rtol=1e-6, atol=1e-6)


def test_instructions_that_return_tiles():
    a, b = data(128, 64), data(128, 1)

    def several(x, y):
        t = nisa.activation(op=np.exp, data=x, bias=y, scale=0.5)
        t = nisa.tensor_scalar(t, np.multiply, y, op1=np.add, operand1=1.0)
        t = nisa.tensor_tensor(t, x, op=nl.subtract)
        return nisa.scalar_tensor_tensor(data=t, op0=nl.add, operand0=y, op1=nl.multiply, operand1=x)

    want = (np.exp(a * 0.5 + b) * b + 1 - a + b) * a
    birsim.assert_close(elementwise(several)(a, b), want, rtol=1e-4, atol=1e-4)
    birsim.assert_close(elementwise(lambda x: nisa.tensor_reduce(np.max, x, axis=[1], negate=True))(a), -a.max(1, keepdims=True), rtol=0, atol=0)
    birsim.assert_close(elementwise(lambda x: nl.copy(nisa.nc_transpose(x)))(a), a.T, rtol=0, atol=0)
    birsim.assert_close(elementwise(lambda x: nisa.iota(2 * nl.arange(64)[None, :] + 100 * nl.arange(5)[:, None] - 7, dtype=nl.int32))(a), 2 * np.arange(64) + 100 * np.arange(5)[:, None] - 7)
    scan = elementwise(lambda x, y: nisa.tensor_tensor_scan(x, x, initial=y, op0=nl.multiply, op1=nl.add))
    want, state = np.empty_like(a), b[:, 0]
    for k in range(64):
        state = a[:, k] * state + a[:, k]
        want[:, k] = state
    birsim.assert_close(scan(a, b), want, rtol=1e-3, atol=1e-3)


def test_affine_select_of_several_inequalities():
    a = data(60, 80)

    def select(x):
        i, j = nl.mgrid[0:60, 0:80]
        return nisa.affine_select(pred=(j <= i) & (i - j < 9), on_true_tile=x[i, j], on_false_value=-5.0)

    i, j = np.mgrid[0:60, 0:80]
    assert (elementwise(select)(a) == np.where((j <= i) & (i - j < 9), a, -5)).all()


def test_a_tile_prints_its_values_now(capsys):
    @nki.jit
    def kernel(x):
        t = nl.add(nl.load(x), 1.0)
        print(t)
        nl.device_print("sum", nl.sum(t, axis=1))
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, t)
        return out

    kernel(np.zeros((2, 3), np.float32))
    text = capsys.readouterr().out
    assert "tensor (2, 3) float32" in text and "[1., 1., 1.]" in text and "sum [[3.]\n [3.]]" in text


def test_device_tools_run_the_kernel():
    a = data(16, 16)

    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load(x))
        return out

    timed = nki.benchmark(warmup=2, iters=3, save_neff_name="x.neff")(kernel)
    assert (timed(a) == a).all() and timed.benchmark_result.nc_latency.get_latency_percentile(99) == 0
    assert (nki.baremetal(kernel)(a) == a).all() and (nki.baremetal()(kernel)(a) == a).all()
    assert (nki.simulate_kernel(kernel, a) == a).all() and (nki.simulate_kernel(nki.trace(kernel), a) == a).all()
    b = np.zeros_like(a)

    @nki.trace
    def into(x, y):
        nl.store(y, nl.load(x))

    nki.simulate_kernel(into, a, b)
    assert (a == b).all()


@pytest.mark.parametrize("dtype", [nl.float32, nl.bfloat16])
def test_assignment_of_a_masked_result_keeps_the_rest(dtype):
    """Whether the result is written in place or, for another type, copied."""

    @nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        t, s = nl.load(x), nl.load(x)
        p, f = nl.arange(8)[:, None], nl.arange(8)[None, :]
        t[...] = nl.add(s, 100.0, dtype=dtype, mask=(f < 3))
        t[...] = nl.multiply(s, 7.0, dtype=dtype, mask=False)
        t[:, 5:6] = nl.max(s, axis=1, dtype=dtype, mask=False)
        t[...] = nisa.affine_select(pred=(p >= 6 + f * 0), on_true_tile=s, on_false_value=-1.0, dtype=dtype, mask=(f > 6))
        nl.store(out, t)
        return out

    x = np.arange(64, dtype=np.float32).reshape(8, 8)
    want = x.copy()
    want[:, :3] += 100
    want[:, 7] = np.where(np.arange(8) >= 6, x[:, 7], -1)
    np.testing.assert_array_equal(kernel(x), want)


def test_mistakes_are_explained():
    def wrong(body):
        with pytest.raises((TypeError, ValueError)) as e:
            elementwise(body)(data(8, 8))
        return str(e.value)

    assert "a tile has no truth value" in wrong(lambda x: x if x > 0.0 else x)
    assert "not iterable" in wrong(lambda x: list(x))
    assert "do not fit together" in wrong(lambda x: x + nl.ndarray((8, 7), dtype=nl.float32))
    assert "axis 0" in wrong(lambda x: nl.sum(x, axis=0))
    with pytest.raises(RuntimeError, match="needs a running kernel"):
        nl.ndarray((8, 8), dtype=nl.float32)
