"""Whether asserts are rewritten: not before ``rewrite`` is called, which conftest does where few files are tested.

Importing this takes pytest's hook out of the way before hypothesis is imported, all of which it would rewrite, too.
"""

import sys

HOOKS = [one for one in sys.meta_path if type(one).__name__ == "AssertionRewritingHook"]
sys.meta_path[:] = [one for one in sys.meta_path if one not in HOOKS]


def rewrite():
    sys.meta_path[:0] = HOOKS
