"""`nki.collectives`: what the ranks of a group do together. The ranks of a run are the cores of its logical core."""

from __future__ import annotations

import dataclasses
from typing import Any

from .. import _native
from .exchanges import *  # noqa: F403
from .isa import VirtualRegister


@dataclasses.dataclass
class ReplicaGroup:
    """Groups of ranks."""

    groups: Any


def rank_id(name: Any = None) -> Any:
    """A register with this rank."""
    found = _native.tracing()
    return VirtualRegister(0 if found is None else found[2], False)


def collective_permute_implicit_current_processing_rank_id(iteration_id: int, replica_group: Any = None, channel_id: int = 0, name: Any = None, num_channels: int = 1) -> Any:
    """A register with the rank whose data arrived after `iteration_id` steps round the ring."""
    found = _native.tracing()
    rank = 0 if found is None else found[2]
    groups = getattr(replica_group, "groups", replica_group) or [[rank]]
    group = next((list(g) for g in groups if rank in list(g)), [rank])
    at = group.index(rank)
    return VirtualRegister(int(group[(at - int(iteration_id)) % len(group)]), False)
