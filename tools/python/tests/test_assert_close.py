"""The text of `assert_close`."""

import birsim
import ml_dtypes
import numpy as np
import pytest


def test_equal_and_close_arrays_pass():
    a = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
    birsim.assert_close(a, a, rtol=0, atol=0)
    birsim.assert_close([a, {"x": a}], [a, {"x": a + 1e-6}])
    birsim.assert_close(a.astype(ml_dtypes.bfloat16), a)
    birsim.assert_close(np.array([np.inf, -np.inf]), np.array([np.inf, -np.inf]))
    birsim.assert_close(np.array([np.nan]), np.array([np.nan]), equal_nan=True)


def test_the_report_names_the_count_the_worst_the_first_the_region_and_a_histogram():
    want = np.arange(1, 65, dtype=np.float32).reshape(8, 8)
    got = want.copy()
    got[2:6, 1:8:2] += 1
    got[4, 3] += 100
    with pytest.raises(AssertionError) as e:
        birsim.assert_close(got, want, rtol=1e-3, name="y")
    text = str(e.value)
    assert text.startswith("y: 16 of 64 elements differ (25 %), rtol 0.001, atol 1e-05\n  max abs 101, max rel 2.806\n")
    assert "first [2, 1]: got 19, want 18, abs 1, rel 0.0556" in text
    assert "worst [4, 3]: got 137, want 36, abs 101, rel 2.81" in text
    assert "region [2:6, 1:8:2], 100 % of it" in text
    assert "  equal         48" in text and "   >= 1          1" in text


@pytest.mark.parametrize(
    "got, want, text",
    [
        ([np.nan], [1.0], "1 of the wrong elements are NaN"),
        ([1.0], [np.nan], "1 of 1 elements differ"),
        ([np.inf], [1.0], "max abs inf"),
        ([-np.inf], [np.inf], "1 of 1 elements differ"),
        ([0.0], [np.inf], "1 of 1 elements differ"),
        ([1.0, 2.0], [1.0], "got shape (2,), want shape (1,)".replace("want shape", "want")),
    ],
)
def test_nan_infinity_and_shape(got, want, text):
    with pytest.raises(AssertionError) as e:
        birsim.assert_close(np.array(got), np.array(want))
    assert text in str(e.value)


def test_a_missing_result_is_named():
    with pytest.raises(AssertionError, match="got 1 result"):
        birsim.assert_close([np.zeros(2)], [np.zeros(2), np.zeros(2)])
