"""A program that uses the typed surface; a type checker reads it, nobody runs it."""

from __future__ import annotations

from typing import Any

import birsim
import numpy as np
from birsim import nki
from birsim.nki import isa as nisa
from birsim.nki import language as nl


@nki.jit
def kernel(x: nl.NkiTensor, scale: float = 2.0) -> nl.NkiTensor:
    """Typed as its author wrote it."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((rows, columns), dtype=nl.float32)
    nisa.dma_copy(dst=t, src=x[0:rows, nl.ds(0, columns)])
    nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=scale)
    nisa.dma_copy(dst=out, src=t)
    return out


def use(x: "np.ndarray[Any, np.dtype[np.float32]]") -> bool:
    """Calls of the package itself."""
    result = nki.simulate(kernel)(x)
    both = nki.simulate(kernel[2])(x)
    birsim.assert_close(result, both, rtol=0, atol=0, name="two cores")
    return birsim.install(force=False)
