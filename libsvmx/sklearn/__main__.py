"""Run a script with libsvmx's estimators instead of scikit-learn's.

Usage: python -m libsvmx.sklearn [--verbose] SCRIPT [ARGUMENT ...]
       python -m libsvmx.sklearn [--verbose] -m MODULE [ARGUMENT ...]

--verbose lists on standard error which estimators are replaced.
"""

from __future__ import annotations

import logging
import os
import runpy
import sys

from libsvmx.sklearn.patching import patch_sklearn


def main(arguments: list[str]) -> int:
    """Run; returns the exit code. Exceptions of the script pass through."""
    if arguments[:1] == ["--verbose"]:
        logging.basicConfig(format="%(name)s: %(message)s")
        logging.getLogger("libsvmx.sklearn").setLevel(logging.INFO)
        arguments = arguments[1:]
    as_module = arguments[:1] == ["-m"]
    rest = arguments[1:] if as_module else arguments
    if not rest or (rest[0].startswith("-") and not as_module):
        wanted = rest[:1] in (["-h"], ["--help"])
        print((__doc__ or "").strip(), file=sys.stdout if wanted else sys.stderr)
        return 0 if wanted else 1
    patch_sklearn()
    sys.argv = rest
    if as_module:
        sys.path[0] = os.getcwd()
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(rest[0]))
        runpy.run_path(rest[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
