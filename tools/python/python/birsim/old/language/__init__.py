"""`neuronxcc.nki.language`: tensors, loops and functions that return tiles."""

# ruff: noqa: A004, F401, F403

from types import SimpleNamespace
from typing import Any

import numpy as np

from ...nki import language as _new
from ...nki.dtype import *
from ...nki.dtype import bool_ as bool
from ..grid import nc, spmd_dim
from ..index import arange, mgrid
from ..tile import ParDim as par_dim
from ..tile import Tile as Tensor
from . import constants
from .arithmetic import (
    abs,
    abs_max,
    abs_min,
    add,
    arctan,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    ceil,
    cos,
    divide,
    equal,
    erf,
    erf_dx,
    exp,
    floor,
    fmod,
    gelu,
    gelu_apprx_sigmoid,
    gelu_apprx_sigmoid_dx,
    gelu_apprx_tanh,
    gelu_dx,
    greater,
    greater_equal,
    invert,
    left_shift,
    less,
    less_equal,
    log,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    mish,
    mod,
    multiply,
    negative,
    not_equal,
    power,
    reciprocal,
    relu,
    right_shift,
    rsqrt,
    sigmoid,
    sign,
    silu,
    silu_dx,
    sin,
    softplus,
    sqrt,
    square,
    subtract,
    tan,
    tanh,
    trunc,
)
from .loops import affine_range, loop_reduce, num_programs, program_id, program_ndim, sequential_range, static_range
from .memory import atomic_rmw, copy, load, load_transpose2d, store
from .random import device_print, dropout, no_reorder, rand, random_seed
from .reductions import all, max, mean, min, prod, sum, var
from .shapes import broadcast_to, expand_dims, gather_flattened, matmul, rms_norm, softmax, transpose, where
from .tensors import ds, empty_like, full, ndarray, ones, shared_constant, shared_identity_matrix, static_cast, zeros, zeros_like

sbuf, psum = _new.sbuf, _new.psum
hbm, shared_hbm, private_hbm = _new.hbm, _new.shared_hbm, _new.private_hbm
tile_size = _new.tile_size
tensor = Tensor
fp32 = SimpleNamespace(min=float(np.finfo(np.float32).min), max=float(np.finfo(np.float32).max))


def __getattr__(name: str) -> Any:
    """Tokens that only an instruction takes are those of `nki.language`."""
    found = None if name.startswith("_") else getattr(_new, name, None)
    if found is None:
        raise AttributeError(f"neuronxcc.nki.language has no attribute {name!r}")
    return found
