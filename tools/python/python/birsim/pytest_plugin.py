"""pytest plugin: `--birsim`, the marker `simulation` and the fixture `birsim`.

With `--birsim`, or with BIRSIM_NKI=1 in the environment, `import nki` in tests finds this package. Without either the plugin only
registers its marker: it imports nothing else.
"""

from __future__ import annotations

import os
from typing import Any, Iterator

import pytest

_TARGET = "NEURON_PLATFORM_TARGET_OVERRIDE"


def _wanted(options: Any) -> bool:
    return bool(getattr(options, "birsim", False)) or os.environ.get("BIRSIM_NKI", "") not in ("", "0")


def pytest_addoption(parser: Any) -> None:
    """Adds the options."""
    group = parser.getgroup("birsim", "birsim: run NKI kernels on a simulator")
    group.addoption(
        "--birsim", action="store_true", default=False, help="let `import nki` and `import neuronxcc.nki` find birsim (also: BIRSIM_NKI=1)"
    )
    group.addoption("--birsim-target", default=None, metavar="T", help="target for all tests: trn1, trn2 or trn3")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: Any) -> None:
    """Installs the names before the first conftest.py, which may import nki."""
    options = early_config.known_args_namespace
    if _wanted(options):
        from birsim._install import install

        install()
    if getattr(options, "birsim_target", None):
        os.environ[_TARGET] = options.birsim_target


def pytest_configure(config: Any) -> None:
    """Registers the marker."""
    config.addinivalue_line(
        "markers",
        "simulation(target=None): the test runs NKI kernels on the simulator; it is skipped without --birsim. target=: trn1, trn2 or trn3 for this test",
    )


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Skips simulation tests when the simulator was not asked for."""
    if _wanted(config.option):
        return
    skip = pytest.mark.skip(reason="needs --birsim (or BIRSIM_NKI=1)")
    for item in items:
        if item.get_closest_marker("simulation") is not None:
            item.add_marker(skip)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: Any) -> Iterator[None]:
    """Sets the target of a test that names one."""
    marker = item.get_closest_marker("simulation")
    target = None if marker is None else marker.kwargs.get("target", marker.args[0] if marker.args else None)
    if target is None:
        yield
        return
    before = os.environ.get(_TARGET)
    os.environ[_TARGET] = str(target)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_TARGET, None)
        else:
            os.environ[_TARGET] = before


@pytest.fixture
def birsim() -> Any:
    """The package `birsim`, with `import nki` finding it: `birsim.simulate(kernel)(x)`, `birsim.assert_close(got, want)`."""
    import birsim as package

    package.install()
    return package
