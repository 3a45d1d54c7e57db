"""pytest's rewriting of asserts, off until ``rewrite`` is called, which conftest does for runs of few files.

Importing this removes pytest's import hook before hypothesis is imported, which it would rewrite entirely.
"""

import sys

HOOKS = [one for one in sys.meta_path if type(one).__name__ == "AssertionRewritingHook"]
sys.meta_path[:] = [one for one in sys.meta_path if one not in HOOKS]


def rewrite():
    sys.meta_path[:0] = HOOKS
