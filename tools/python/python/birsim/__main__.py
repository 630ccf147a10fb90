"""`python -m birsim script.py`: runs a Python script whose `import nki` finds birsim."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from typing import Sequence

from ._install import install


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the script or the module of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m birsim",
        usage="python -m birsim [--force] [--eager] (SCRIPT | -m MODULE) [ARGUMENTS]",
        description="Runs a Python script whose `import nki` and `import neuronxcc.nki` find birsim.",
    )
    parser.add_argument("--force", action="store_true", help="birsim goes before an installed nki")
    parser.add_argument(
        "--eager", action="store_true", help="run every call at once, so that a fault is raised on its own line (BIRSIM_EAGER=1)"
    )
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is the name of a module")
    parser.add_argument("--version", action="store_true", help="print the version")
    parser.add_argument("script", nargs="?", metavar="SCRIPT")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENTS")
    options = parser.parse_args(argv)
    if options.version:
        import birsim

        print(f"birsim {birsim.__version__}")
        return
    if options.script is None:
        parser.error("which script? Try `python -m birsim kernel.py`")
    if options.eager:
        os.environ["BIRSIM_EAGER"] = "1"
    if not install(force=options.force):
        print("birsim: an installed nki is used; --force puts birsim in front of it", file=sys.stderr)
    if options.module:
        sys.argv = [options.script, *options.arguments]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(options.script, run_name="__main__", alter_sys=True)
        return
    if not os.path.exists(options.script):
        parser.error(f"{options.script}: no such file")
    sys.argv = [options.script, *options.arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(options.script)))
    runpy.run_path(options.script, run_name="__main__")


if __name__ == "__main__":
    main()
