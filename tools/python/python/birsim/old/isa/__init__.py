"""`neuronxcc.nki.isa`: the instructions with 0.1's signatures. Most return a new tile instead of taking a destination."""

# ruff: noqa: F401, F403

from ...nki.isa import *
from .copies import (
    dma_copy,
    dma_transpose,
    iota,
    memset,
    nc_stream_shuffle,
    tensor_copy,
    tensor_copy_dynamic_dst,
    tensor_copy_dynamic_src,
    tensor_copy_predicated,
)
from .elementwise import (
    activation,
    activation_reduce,
    dropout,
    reciprocal,
    scalar_tensor_tensor,
    tensor_scalar,
    tensor_scalar_cumulative,
    tensor_scalar_reduce,
    tensor_tensor,
    tensor_tensor_scan,
)
from .matrices import nc_matmul, nc_transpose
from .search import (
    bn_aggr,
    bn_stats,
    local_gather,
    max8,
    nc_find_index8,
    nc_match_replace8,
    sequence_bounds,
    tensor_partition_reduce,
    tensor_reduce,
)
from .selection import affine_select, range_select, select_reduce
