"""The rows of a problem in blocks, each with a state: in this process or elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from libsvmx._core.stopping import NOBODY, Leeway, Token
from libsvmx._core.threads import in_order
from libsvmx._kernels.featurerows import FeatureRows
from libsvmx._solvers.interior_point.block_steps import RowBlock
from libsvmx._typing import FloatArray

if TYPE_CHECKING:  # which imports this module
    from libsvmx._solvers.interior_point.solver import InteriorPolicy

# (block, state, ...) -> (state, reply); arguments of each block; several replies -> one
Step = Callable[..., tuple[Any, Any]]
Each = Sequence[tuple[Any, ...]]
Merge = Callable[[list[Any]], Any]


class RowBlocks(Protocol):
    """Interface of the rows to the solver.

    Attributes
    ----------
    states : list     of each block. Steps do not change them, so they may be saved and restored
    n : int           features
    asking : Leeway   asked by steps and by users of their replies whether to stop
    """

    states: list[Any]
    n: int
    asking: Leeway

    def run(self, step: Step, *common: Any, each: Each = (), merge: Merge | None = None) -> list[Any]:
        """Call ``step(block, state, *common, *each[k])`` for each block; keep the states, return the replies in order.

        ``merge``: merges several replies into one, so that fewer are sent and returned. After an exception, the states
        are unchanged.
        """


class LocalRowBlocks(RowBlocks):
    """Row blocks in this process.

    Parameters
    ----------
    rows : FeatureRows
    y, upper, linear : arrays of float64, shape (m,)      +1 or -1; upper bounds > 0; linear terms, as in RowBlock
    policy : InteriorPolicy                               sizes of a block
    """

    def __init__(
        self,
        rows: FeatureRows,
        y: FloatArray,
        upper: FloatArray,
        linear: FloatArray,
        policy: InteriorPolicy,
        threads: int = 1,
        asking: Token = NOBODY,
    ):
        most = max(1, min(policy.block_rows, policy.block_elements * rows.m // max(rows.nnz, 1)))
        size = -(-rows.m // max(1, -(-rows.m // most)))  # equal sizes
        size += -size % rows.unit
        self.n, self.asking = rows.n, Leeway(asking, None)
        ranges = [slice(begin, min(begin + size, rows.m)) for begin in range(0, rows.m, size)]
        self.blocks = [
            RowBlock(rows.part(own.start, own.stop), y[own], upper[own], linear[own], self.asking) for own in ranges
        ]
        self.sizes = [block.rows.nnz for block in self.blocks]
        self.states: list[Any] = [None] * len(self.blocks)
        self.threads = threads

    def run(self, step: Step, *common: Any, each: Each = (), merge: Merge | None = None) -> list[Any]:
        def one(k: int) -> tuple[Any, Any]:
            with np.errstate(all="ignore"):  # per thread; non-finite sums are noticed later
                done = step(self.blocks[k], self.states[k], *common, *(each[k] if each else ()))
            self.asking.ask(self.sizes[k])
            return done

        states: list[Any] = []
        replies: list[Any] = []
        for state, reply in in_order(one, ((k,) for k in range(len(self.blocks))), self.threads, self.asking):
            states.append(state)
            # at once, as replies may be large; in order, so that sums do not depend on threads
            replies = [merge([*replies, reply])] if merge and replies else [*replies, reply]
        self.states = states
        return replies
