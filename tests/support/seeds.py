"""The seed of tests that draw their cases: LIBSVMX_FUZZ_SEED, or 1."""

import os

SEED = int(os.environ.get("LIBSVMX_FUZZ_SEED", "1"))
