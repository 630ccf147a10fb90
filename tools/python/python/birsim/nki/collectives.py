"""`nki.collectives`."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass
class ReplicaGroup:
    """Groups of ranks."""

    groups: Any
