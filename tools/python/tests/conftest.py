"""Tests of the Python package. Run them on an installed wheel: `python -m pytest --birsim tools/python/tests`."""

from __future__ import annotations

import sys
from pathlib import Path

import birsim

birsim.install()
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))
