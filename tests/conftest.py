"""Before anything else: the oracle must run with one thread, or it sums in another order."""

import os

os.environ["OMP_NUM_THREADS"] = "1"
