"""Functions of `nki.language` that return tiles, against NumPy."""

import birsim
import numpy as np
import pytest
from birsim import nki
from birsim.nki import language as nl

RNG = np.random.default_rng(5)


def apply(f, *arrays, dtype=np.float32):
    """A function of tiles on arrays."""

    def kernel(*tensors):
        tiles = [nl.load(t) for t in tensors]
        result = f(*tiles)
        out = nl.ndarray(result.shape, dtype=dtype, buffer=nl.shared_hbm)
        nl.store(out, result)
        return out

    return nki.simulate(kernel)(*arrays)


X = np.concatenate([RNG.normal(0, 30, (8, 60)), [[0.5, 1.5, -0.5, -1.5]] * 8], 1).astype(np.float32)
BIG = np.array([[1e9, -3e9, 1e20, 2.0**23 + 1, -(2.0**23), 8388607.5, 0.0, -0.25]], np.float32)


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc"])
@pytest.mark.parametrize("x", [X, BIG], ids=["small", "large"])
def test_rounding(name, x):
    np.testing.assert_array_equal(apply(getattr(nl, name), x), getattr(np, name)(x))


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_angles_of_any_size(name):
    x = RNG.uniform(-100, 100, (16, 64)).astype(np.float32)
    want = getattr(np, name)(x.astype(np.float64))
    keep = np.abs(np.cos(x.astype(np.float64))) > 0.05
    got = apply(getattr(nl, name), x)
    assert np.abs(got - want)[keep].max() < (2e-5 if name != "tan" else 2e-2)


@pytest.mark.parametrize("name", ["mod", "fmod"])
def test_remainders(name):
    x, y = X, np.where(np.abs(X[::-1]) < 0.5, 3.0, X[::-1]).astype(np.float32)
    np.testing.assert_allclose(apply(getattr(nl, name), x, y), getattr(np, name)(x, y), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(apply(lambda t: getattr(nl, name)(t, 7.0), x), getattr(np, name)(x, np.float32(7)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["sum", "max", "min", "prod", "mean", "var"])
def test_reductions(name):
    x = RNG.uniform(0.5, 1.5, (8, 4, 6)).astype(np.float32)
    want = getattr(np, name)(x, axis=(1, 2))
    np.testing.assert_allclose(apply(lambda t: getattr(nl, name)(t, axis=[1, 2]), x)[:, 0], want, rtol=1e-5)


def test_where_softmax_and_rms_norm():
    x, y = X[:, :32], X[:, 32:]
    np.testing.assert_array_equal(apply(lambda a, b: nl.where(nl.greater(a, b), a, b), x, y), np.maximum(x, y))
    e = np.exp(x - x.max(1, keepdims=True))
    birsim.assert_close(apply(nl.softmax, x), e / e.sum(1, keepdims=True), rtol=1e-5)


def test_creation_fills():
    def kernel():
        out = [nl.ndarray((4, 8), dtype=nl.float32, buffer=nl.shared_hbm) for _ in range(3)]
        nl.store(out[0], nl.ones((4, 8), dtype=nl.float32))
        nl.store(out[1], nl.full((4, 8), 2.5, dtype=nl.float32))
        nl.store(out[2], nl.zeros_like(nl.load(out[0])))
        return tuple(out)

    for got, want in zip(nki.simulate(kernel)(), (1.0, 2.5, 0.0)):
        np.testing.assert_array_equal(got, np.full((4, 8), want, np.float32))


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float32"])
def test_results_of_every_float_type_lie_on_chip(name):
    def kernel(x):
        results = [nl.sum(nl.load(x), axis=1), nl.exp(nl.load(x)), nl.mean(nl.load(x), axis=[1], keepdims=True)]
        assert [(r.buffer, r.dtype) for r in results] == [(nl.sbuf, x.dtype)] * 3
        return x

    nki.simulate(kernel)(np.ones((4, 8), getattr(nl, name).numpy))
