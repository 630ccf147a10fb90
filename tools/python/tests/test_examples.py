"""Every example matches its NumPy reference."""

import birsim
import pytest

TOLERANCES = {
    "tensor_add": (0, 0),
    "matmul": (1e-4, 1e-4),
    "softmax": (1e-5, 1e-7),
    "norms": (1e-4, 1e-5),
    "attention": (1e-4, 1e-5),
    "conv1d": (1e-4, 1e-4),
    "router": (1e-4, 1e-5),
    "two_cores": (1e-4, 1e-4),
    "mx": (5e-2, 5),
    "mask_gather": (0, 0),
}


@pytest.mark.parametrize("name", TOLERANCES)
def test_example(name):
    rtol, atol = TOLERANCES[name]
    got, want = __import__(name).run()
    birsim.assert_close(got, want, rtol=rtol, atol=atol)
