"""Run programs written for LIBSVM's Python interface without changes.

    python -m libsvmx.compat script.py [argument ...]
    python -m libsvmx.compat -m module [argument ...]
    python -m libsvmx.compat                                 prints the folder for PYTHONPATH

In that folder ``libsvm``, ``svm``, ``svmutil`` and ``commonutil`` are libsvmx. It is on no path by default, so
everywhere else ``import libsvm`` is an installed LIBSVM. Modules beside the script take precedence.
"""

from __future__ import annotations

import os
import runpy
import sys

SHIM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "shim")


def main(arguments: list[str]) -> int:
    """Print the folder, or run a script or module with it on the path, with its own errors; the exit code."""
    if not arguments:
        print(SHIM)
        return 0
    if arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0
    as_module = arguments[0] == "-m"
    program = arguments[1:] if as_module else arguments
    if not program or program[0].startswith("-") or not (as_module or os.path.exists(program[0])):
        what = f"there is no {program[0]}" if program else "option -m needs a module"
        print(f"python -m libsvmx.compat: {what}; see --help", file=sys.stderr)
        return 1
    own = [] if sys.flags.safe_path else [os.getcwd() if as_module else os.path.dirname(os.path.abspath(program[0]))]
    sys.path[: len(own)] = [*own, SHIM]  # replaces the entry of this module
    sys.argv = program
    if as_module:
        runpy.run_module(program[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(program[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
