"""KernelPolicy: thresholds of size, cost and work at which a training switches to another mechanism.

The result does not depend on them: the same bits; for seeded solves, and with solver auto, the same optimum to ``eps``.
Tests force a mechanism by them: ``libsvmx.cross_validate(X, y, 5, policy=KernelPolicy(queue=False))``.
"""

from __future__ import annotations

from libsvmx._core.records import fields, record


@record(frozen=True, slots=True)
class KernelPolicy:
    """Which kernel values are kept, which solves are run together, and by how many threads; a field of
    ``Parameter``."""

    # ---- the queue: many solves over parts of the same rows ----------------------------------------

    queue: bool = True
    # A queue computes the whole Gram matrix, most of which a single solve would not ask for: only up to this size, and
    # for at least min_solves solves and rows / rows_per_solve of them.
    max_gram_bytes: float = 1 << 24
    min_solves: int = 3
    rows_per_solve: int = 200
    # If the Gram matrix does not fit: mean nonzeros of a row up to which a queue computes the values of each pair of
    # classes. More expensive rows are computed in blocks, outside of a queue.
    max_row_nonzeros: float = 64
    # Rows of the solves, inner folds included, in the queue at a time: about 0.1 s of small problems, which is what a
    # time limit may lose.
    rows_in_queue: int = 1 << 18
    # Pairs of classes without inner folds, which may have two rows only, in the queue at a time: 14 MB.
    pairs_in_queue: int = 1 << 15
    # Up to this many pairs SMO tries them in a queue, which keeps all of them: 56 MB.
    pairs_tried: int = 1 << 17

    # ---- rows shared by solves ---------------------------------------------------------------------

    # Share of the memory for shared rows; the rest is the row store of the current solve.
    memory_share: float = 0.85
    # Rows are shared only if this share of them fits there: a store that is too small would compute the others.
    required_share: float = 1.0
    # Estimated cost of a kernel value in a block from which sharing pays. With 0.7 instead, folds of regressions of
    # 3,000 rows with 6 to 12 features took 9 to 16 % longer; with 9, 4,000 rows of 30 features 10 %.
    expensive_ns: float = 1.3
    # Up to this size all values are shared, whatever they cost; in a queue one thread computes them.
    small_bytes: float = 1 << 19
    # Rows that a function of the caller computes may take this share of the free memory of a process, if that is more
    # than cache_size.
    share_of_free: float = 0.5

    # ---- threads -----------------------------------------------------------------------------------

    # Sum of squared sizes of the solves from which threads, one for each solve, pay: some milliseconds.
    work_for_threads: float = 1e7
    # Multiplications of a prediction from which one more thread pays: some milliseconds, too.
    prediction_work_for_threads: float = 2e7
    # A grid with fewer points per thread evaluates them in turn, with the folds of each in parallel.
    points_per_thread: int = 2
    # Results per thread that may wait for an earlier grid point that takes longer.
    points_ahead: int = 16

    # ---- starts ------------------------------------------------------------------------------------

    # Number of rows up to which seeder auto cold-starts the points of a search: warm starts are not faster there.
    max_cold_start_rows: int = 1000
    # The next start of a grid column is saved to a file if computing it again would take this long.
    min_recompute_seconds: float = 1.0

    # ---- features instead of kernel values ---------------------------------------------------------

    # The normal matrix of this many features takes 3.2 GB.
    most_features: int = 20_000

    def __repr__(self) -> str:
        values = ((known.name, getattr(self, known.name), known.default) for known in fields(self))
        return f"KernelPolicy({', '.join(f'{name}={value}' for name, value, usual in values if value != usual)})"


DEFAULT = KernelPolicy()
# The policy of a Parameter without one. Commands take no policy: tests of commands assign theirs here.
USUAL = DEFAULT


def usual() -> KernelPolicy:
    """The current value of ``USUAL``."""
    return USUAL
