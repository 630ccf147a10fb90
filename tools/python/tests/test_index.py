"""Index expressions and masks against NumPy."""

import numpy as np
import pytest
from birsim.old.index import arange, mgrid
from birsim.old.masks import boxes

I, J = np.mgrid[0:5, 0:7]
i, j = arange(5)[:, None], arange(7)[None, :]


def values(form):
    axes = np.indices(form.shape)
    return form.const + sum(c * a for c, a in zip(form.coefs, axes))


@pytest.mark.parametrize(
    "form, want",
    [
        (i + j, I + J),
        (2 * i - 3 * j + 4, 2 * I - 3 * J + 4),
        (np.int64(3) + i * np.int32(2), 2 * I[:, :1] + 3),
        (-(i - 1), 1 - I[:, :1]),
        (arange(2, 12, 3)[None, :], np.arange(2, 12, 3)[None, :]),
        ((i + j)[1:4, ::2], (I + J)[1:4, ::2]),
        ((i + j)[-1], (I + J)[-1]),
    ],
)
def test_arithmetic_is_numpys(form, want):
    assert form.shape == want.shape
    assert (values(form) == want).all()
    assert form.bounds() == (want.min(), want.max())


def test_grids_unpack_and_have_names():
    grid = mgrid[0:3, 2:10:2]
    p, x = grid
    assert (values(p + x) == np.arange(3)[:, None] + np.arange(2, 10, 2)[None]).all()
    assert grid.p is p and grid.x is x and grid[1] is x and len(grid) == 2
    with pytest.raises(AttributeError, match="its axes are p, x"):
        grid.y  # noqa: B018


@pytest.mark.parametrize(
    "mask, want",
    [
        ((i < 2) & (j < 3), (I < 2) & (J < 3)),
        (j <= i, J <= I),
        (3 * i - 2 * j >= 1, 3 * I - 2 * J >= 1),
        (5 - 2 * i > j, 5 - 2 * I > J),
        (i == 2, I == 2),
        (~(i < 2), I >= 2),
        ((j > 2 * i - 3) & (j < 6) & (i >= 1), (J > 2 * I - 3) & (J < 6) & (I >= 1)),
        (i < 0, I < 0),
        (None, I >= 0),
        (True, I >= 0),
        (False, I < 0),
    ],
)
def test_masks_are_cut_into_boxes_that_do_not_overlap(mask, want):
    seen = np.zeros((5, 7), int)
    for box in boxes(mask, (5, 7)):
        seen[tuple(slice(*side) for side in box)] += 1
    assert (seen == want).all()


def test_what_is_not_affine_is_refused():
    for wrong in (lambda: i // 2, lambda: i % 2, lambda: i * j, lambda: bool(i), lambda: bool(i < 2), lambda: (i < 1) | (j < 1)):
        with pytest.raises(TypeError):
            wrong()
