"""RowBlocks on the workers of a Dask cluster, for the interior-point solver.

A step is a pure function of a block and its previous state, so Dask can repeat the steps of a lost worker, from reading
the rows on.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import numpy as np

from libsvmx._core.blas import one_blas_thread
from libsvmx._core.stopping import NOBODY, Leeway
from libsvmx._solvers.interior_point.row_blocks import Each, Merge, RowBlocks, Step
from libsvmx._train.cluster.problem import Client, Future, gathered

# Number of replies that a worker adds up before the sum is sent on.
FAN_IN = 8


def perform(step: Step, block: Any, before: Any, common: Any, own: Any) -> Any:
    """A step, on a worker; ``before`` is the result of the previous step, (state, reply), or None.

    The receiver of the sums checks that they are finite.
    """
    with one_blas_thread(), np.errstate(all="ignore"):  # workers may have threads of their own
        return step(block, None if before is None else before[0], *common, *own)


class DistributedRowBlocks(RowBlocks):
    """DistributedRowBlocks(client, blocks, n): blocks and states are futures of them on the workers."""

    def __init__(self, client: Client, blocks: list[Future], n: int):
        self.client, self.blocks, self.n = client, blocks, n
        self.states: list[Any] = [None] * len(blocks)
        self.asking = Leeway(NOBODY, None)  # of the control of a solve, in it

    def run(self, step: Step, *common: Any, each: Each = (), merge: Merge | None = None) -> list[Any]:
        count, client = len(self.blocks), self.client
        own = list(each) or [()] * count
        name = f"svmx-{step.__name__}"
        done = client.map(
            perform, [step] * count, self.blocks, self.states, [common] * count, own, key=name, pure=False
        )
        replies = client.map(itemgetter(1), done, pure=False, key=f"{name}-reply")
        while merge is not None and len(replies) > FAN_IN:
            groups = [replies[k : k + FAN_IN] for k in range(0, len(replies), FAN_IN)]
            replies = client.map(merge, groups, pure=False, key=f"{name}-sum")
        values = gathered(client, replies)
        self.states = done
        return values
