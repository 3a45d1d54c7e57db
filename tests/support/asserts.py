"""Rewriting of asserts by pytest: only after ``rewrite`` is called, which conftest does for runs of few files.

Importing this takes pytest's hook out of the way before hypothesis is imported, all of which it would rewrite, too.
"""

import sys

HOOKS = [one for one in sys.meta_path if type(one).__name__ == "AssertionRewritingHook"]
sys.meta_path[:] = [one for one in sys.meta_path if one not in HOOKS]


def rewrite():
    sys.meta_path[:0] = HOOKS
