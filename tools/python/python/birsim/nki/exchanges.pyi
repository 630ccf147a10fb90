"""Made from the table of functions; do not edit. `python -m birsim._signatures` writes it again."""

from typing import Any, Callable, Sequence

from .._native import NkiInstruction, NkiTensor, VirtualRegister


def all_reduce(srcs: Sequence[NkiTensor] | NkiTensor, dsts: Sequence[NkiTensor] | NkiTensor, replica_group: Any, op: Callable[..., Any] | str, priority: Any | None = None, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def all_gather(srcs: Sequence[NkiTensor] | NkiTensor, dsts: Sequence[NkiTensor] | NkiTensor, replica_group: Any, collective_dim: VirtualRegister | int = 0, priority: Any | None = None, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def reduce_scatter(srcs: Sequence[NkiTensor] | NkiTensor, dsts: Sequence[NkiTensor] | NkiTensor, replica_group: Any, collective_dim: VirtualRegister | int, op: Callable[..., Any] | str, priority: Any | None = None, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def all_to_all(srcs: Sequence[NkiTensor] | NkiTensor, dsts: Sequence[NkiTensor] | NkiTensor, replica_group: Any, collective_dim: VirtualRegister | int = 0, priority: Any | None = None, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def collective_permute(srcs: Sequence[NkiTensor] | NkiTensor, dsts: Sequence[NkiTensor] | NkiTensor, source_target_pairs: Sequence[Sequence[int]], priority: Any | None = None, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def collective_permute_implicit(srcs_by_channel: Any, dsts_by_channel: Any, replica_group: Any, channel_ids: Sequence[int] | None = None, priority: Any | None = None, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def collective_permute_implicit_reduce(srcs0_by_channel: Any, srcs1_by_channel: Any, dsts_by_channel: Any, replica_group: Any, op: Callable[..., Any] | str, channel_ids: Sequence[int] | None = None, priority: Any | None = None, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def all_to_all_v(srcs: Sequence[NkiTensor] | NkiTensor, dsts: Sequence[NkiTensor] | NkiTensor, replica_group: Any, metadata_tensor: NkiTensor, recv_counts_known: bool = False, has_rdispls: bool = False, priority: Any | None = None, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""

def all_gather_v(srcs: Sequence[NkiTensor] | NkiTensor, dsts: Sequence[NkiTensor] | NkiTensor, replica_group: Any, metadata_tensor: NkiTensor, recv_counts_known: bool = False, has_rdispls: bool = False, priority: Any | None = None, name: str | None = None) -> NkiInstruction:
    """A function of `nki.isa`, as Python sees it."""
