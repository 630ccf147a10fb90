"""`neuronxcc.nki.typing`: annotations of kernels, those of `nki.typing`."""

from ..nki.typing import mutable as mutable
from ..nki.typing import mutable_tensor as mutable_tensor
from ..nki.typing import scalar as scalar
from ..nki.typing import tensor as tensor

__all__ = ["mutable", "mutable_tensor", "scalar", "tensor"]
