"""What a kernel needs of the chip: live ranges, peaks, banks and overlapping addresses."""

import birsim
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest
from birsim._capacity import analyse, check_capacity, check_overlaps


def module(*tensors, uses):
    """A module with tensors (name, memory, partitions, bytes, address or None) and instructions that name them."""
    allocations = []
    for name, memory, partitions, size, address in tensors:
        location = {"name": name, "type": memory, "dims": [partitions, size], "base": 0, "addr": 0, "user_allocated": False}
        if address is not None:
            location.update(base=address[0], addr=address[1], user_allocated=True)
        allocations.append({"memorylocations": [location]})
    instructions = [
        {"ins": [{"memref": n} for n in names[1:]], "outs": [{"memref": names[0]}], "debug": {"filename": "k.py", "lineno": line}}
        for line, names in enumerate(uses, 10)
    ]
    return {"arch": "gen3", "functions": [{"allocations": allocations, "blocks": [{"instructions": instructions}]}]}


def test_only_tensors_alive_at_once_count():
    m = module(("a", "SB", 128, 100, None), ("b", "SB", 64, 50, None), ("c", "SB", 128, 80, None), ("p", "PSUM", 128, 2049, None), uses=["ab", "bp", "cb"])
    (found,) = analyse(m)
    assert (found.sbuf, found.psum) == (150, 2)
    assert [t.name for t in found.sbuf_tensors] == ["a", "b"] and found.sbuf_tensors[0].place == "k.py:10"
    assert "a: 128 partitions x 100 bytes, k.py:10" in str(found)


def test_names_inside_of_loop_bodies_live_for_the_whole_loop():
    m = module(("a", "SB", 128, 10, None), ("b", "SB", 128, 20, None), uses=["a", "b"])
    body = {"instructions": [{"ins": [], "outs": [{"memref": "a"}]}]}
    m["functions"][0]["blocks"][0]["instructions"].append({"blocks": [body]})
    assert analyse(m)[0].sbuf == 30


def test_a_kernel_that_does_not_fit_is_an_error_with_the_tensors():
    m = module(("a", "SB", 128, 200_000, None), ("b", "SB", 128, 20_000, None), uses=["ab"])
    with pytest.raises(birsim.NkiValidationError, match="SBUF needs 220000 bytes per partition and has 212984") as e:
        check_capacity(analyse(m))
    assert "a: 128 partitions x 200000 bytes" in str(e.value)
    check_capacity(analyse(module(("a", "SB", 128, 200_000, None), ("b", "SB", 128, 20_000, None), uses=["a", "b"])))


def test_overlapping_addresses_are_an_error_while_both_tensors_live():
    placed = (("a", "SB", 64, 100, (0, 0)), ("b", "SB", 64, 100, (32, 96)))
    with pytest.raises(birsim.NkiValidationError, match="b and a are alive at once and share addresses of SBUF"):
        check_overlaps(module(*placed, uses=["a", "b", "ab"]))
    check_overlaps(module(*placed, uses=["a", "b"]))
    check_overlaps(module(("a", "SB", 32, 100, (0, 0)), ("b", "SB", 64, 100, (32, 96)), uses=["a", "b", "ab"]))


@nki.jit
def chain(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for _ in range(20):
        t = nl.ndarray(x.shape, dtype=x.dtype)
        nisa.dma_copy(dst=t, src=x)
        u = nl.ndarray(x.shape, dtype=nl.bfloat16)
        nisa.tensor_copy(dst=u, src=t)
        nisa.dma_copy(dst=out, src=t)
    return out


def test_capacity_of_a_kernel():
    (found,) = birsim.capacity(chain)(np.zeros((128, 256), np.float32))
    assert found.fits and found.sbuf == 256 * 4 + 256 * 2
    assert "test_capacity.py:" in str(found)


def test_checks_are_options_of_simulate():
    @nki.jit
    def large(x):
        a = nl.ndarray((128, 40_000), dtype=nl.float32)
        b = nl.ndarray((128, 40_000), dtype=nl.float32)
        nisa.memset(dst=a, value=1.0)
        nisa.tensor_copy(dst=b, src=a)
        out = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=out, src=b[:, 0:1])
        return out

    x = np.zeros((1, 1), np.float32)
    assert (nki.simulate(large)(x) == 1).all()
    with pytest.raises(birsim.NkiValidationError, match="does not fit"):
        nki.simulate(large, check="capacity")(x)
