"""Element types: strings, NumPy types and sizes at once."""

import copy
import pickle

import ml_dtypes
import numpy as np
import pytest
from nki import dtype as d
from nki.dtype import as_dtype

NAMES = [n for n in d.__all__ if n not in ("DType", "as_dtype")]
PLAIN = [n for n in NAMES if not n.endswith("_x4") and n != "tfloat32"]


@pytest.mark.parametrize("name", PLAIN)
def test_a_dtype_equals_its_numpy_type_in_both_directions(name):
    t = getattr(d, name)
    n = t.numpy
    assert t == n and n == t and not t != n and not n != t
    assert np.dtype(t) == n and np.zeros(3, dtype=t).dtype == n
    assert n.type == t and as_dtype(n) is t and as_dtype(n.type) is t
    assert t.itemsize == n.itemsize


@pytest.mark.parametrize("name", NAMES)
def test_a_dtype_is_its_name(name):
    t = getattr(d, name)
    assert t == t.__str__() and hash(t) == hash(str(t)) and {t: 1}[str(t)] == 1
    assert getattr(d, str(t).split(".")[-1], d.bool_) is t
    assert pickle.loads(pickle.dumps(t)) is t and copy.deepcopy(t) is t
    assert t != np.dtype(np.float64) and not t == np.float64


@pytest.mark.parametrize("name", [n for n in NAMES if n.endswith("_x4") or n == "tfloat32"])
def test_types_without_a_numpy_type_compare_unequal_without_raising(name):
    t = getattr(d, name)
    assert t != np.float32 and t != np.dtype(np.uint32)


def test_other_spellings_are_understood():
    assert as_dtype(ml_dtypes.bfloat16) is d.bfloat16
    assert as_dtype("float8e4") is d.float8_e4m3 and as_dtype("bool_") is d.bool_
    with pytest.raises(TypeError, match="float64"):
        as_dtype(np.float64)
