"""The number of hypothesis's examples for a property: all with ``--exhaustive``, else a share.

They are the same in every run, so that a find belongs to a change, unless LIBSVMX_FUZZ_SEED asks for others; then those
that failed are tried again first, as hypothesis does.
"""

import os

from hypothesis import settings

SHARE = 12
FEWEST = 10
exhaustive = False  # set by conftest before tests are collected

settings.register_profile("libsvmx", derandomize="LIBSVMX_FUZZ_SEED" not in os.environ)
settings.load_profile("libsvmx")


def examples(n, **options):
    """Settings of a property with at most ``n`` examples; no example has a time limit."""
    if not exhaustive:
        n = max(n // SHARE, min(n, FEWEST))
    return settings(max_examples=n, deadline=None, **options)
