"""Where tests that draw their cases begin: LIBSVMX_FUZZ_SEED in place of 1, so that other runs see other cases."""

import os

SEED = int(os.environ.get("LIBSVMX_FUZZ_SEED", "1"))
