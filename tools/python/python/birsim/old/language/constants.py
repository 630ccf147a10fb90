"""`neuronxcc.nki.language.constants`."""

from ...neuron_dtypes import sizeinbytes
from ...nki.language import hbm, private_hbm, psum, sbuf, shared_hbm

__all__ = ["hbm", "private_hbm", "psum", "sbuf", "shared_hbm", "sizeinbytes"]
