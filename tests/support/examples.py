"""The number of hypothesis examples of a property: all with ``--exhaustive``, else a share.

The same in every run, so that a failure belongs to a change, unless LIBSVMX_FUZZ_SEED draws new ones; then hypothesis
first repeats earlier failures.
"""

import os

from hypothesis import settings

SHARE = 12
FEWEST = 10
exhaustive = False  # set by conftest before tests are collected

settings.register_profile("libsvmx", derandomize="LIBSVMX_FUZZ_SEED" not in os.environ)
settings.load_profile("libsvmx")


def examples(n, **options):
    """Hypothesis settings with at most ``n`` examples and no time limit for an example."""
    if not exhaustive:
        n = max(n // SHARE, min(n, FEWEST))
    return settings(max_examples=n, deadline=None, **options)
