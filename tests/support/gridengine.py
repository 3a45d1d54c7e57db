"""An engine for grid searches whose rate tells where a point started from, so that a wrong start shows in the table."""

import struct
import time
from hashlib import sha256

from libsvmx._core.buffers import filled
from libsvmx._train.validation import grid_search
from libsvmx._train.validation.fold_start import WarmStart
from libsvmx._train.validation.scheme import Seeding

SEEDED = Seeding("sir")


def chained(problem, param, n_folds, rand, observer, seeding, start, kernels=None):
    """The warm start is the chain of parameters from its start on; as many rows are right as its hash says."""
    gamma = struct.pack("d", param.gamma)
    warm_start = [*(start or ()), {(0, 0): WarmStart(param.C, gamma, gamma)}]
    n = len(problem)
    correct = int.from_bytes(sha256(repr((warm_start, n_folds, rand.draw())).encode()).digest()[:4], "big") % (n + 1)
    observer.remark("one class")
    predicted = filled("d", (y if i < correct else y + 1 for i, y in enumerate(problem.targets)))
    return grid_search.Evaluation(predicted, warm_start, 100 * len(warm_start) + correct)


def install(seconds=0.0):
    """In this process, for all searches: ``chained``, slowed down, in place of the engine."""

    def engine(*arguments, **options):
        time.sleep(seconds)
        return chained(*arguments, **options)

    grid_search.cross_validate = engine
