"""Which of several ways is taken to a result: from what size, cost and amount of work on.

All of them lead to the same bits, those of seeded solves to the same optimum to ``eps``. A test forces a way on any
problem: ``libsvmx.cross_validate(X, y, 5, policy=KernelPolicy(queue=False))``.
"""

from __future__ import annotations

from libsvmx._core.records import fields, record


@record(frozen=True, slots=True)
class KernelPolicy:
    """How kernel values are kept, what is solved at once, and by how many threads; a field of ``Parameter``."""

    # ---- the queue: many solves over parts of the same rows ----------------------------------------

    # Whether solves may be put into a queue at all.
    queue: bool = True
    # Where all values take no more than so many bytes, and solves are not too few for so many rows, all are computed,
    # for a queue. A single solve would not ask for most of them.
    most_gram_bytes: float = 1 << 24
    # Solves from which on they are not too few, and rows for each of them up to which they are not.
    least_solves: int = 3
    rows_per_solve: int = 200
    # Nonzeros of a row, in the mean, up to which values stand by pairs of classes, where not all fit: dearer rows are
    # computed in blocks on a guess, in no queue.
    cheap_row: float = 64
    # In at least so many pairs must a class be for its values with itself to be computed once for all: about half the
    # rows of a class are asked for in one pair, and more and more in further ones.
    pairs_of_class: int = 3
    # Rows of solves, inner folds included, that stand in a queue at a time: a tenth of a second or so of small
    # problems, which is what a time limit may lose.
    rows_in_queue: int = 1 << 18

    # Pairs of classes without inner folds, which may be of two rows, that stand in a queue at a time: 25 MB.
    pairs_in_queue: int = 1 << 16

    # ---- rows that solves share --------------------------------------------------------------------

    # All rows are shared if they fit this part of the memory; the rest is for the rows of the solve at hand. With room
    # for some only, the others would be computed in a store that has become too small for them.
    memory_share: float = 0.85
    # Of all rows, what must fit there. Less is for tests of a store that is too small for them.
    must_fit: float = 1.0
    # Values that cost more than so many nanoseconds, by counts, are worth sharing: to gather one costs a half.
    expensive_ns: float = 0.7
    # Values that all fit so many bytes are shared, whatever they cost.
    small_bytes: float = 1 << 19

    # ---- threads -----------------------------------------------------------------------------------

    # Squares of the sizes of all solves together from which on threads pay, each of which does a solve: some
    # milliseconds.
    work_for_threads: float = 1e7
    # Multiplications of a prediction from which on another thread pays: some milliseconds, too.
    prediction_work_for_threads: float = 2e7
    # Of a grid, fewer points for each thread are evaluated in turn, and their folds side by side.
    points_per_thread: int = 2
    # So many results of a grid for each thread may wait for their turn: for that of a point that takes long.
    points_ahead: int = 16

    # ---- starts ------------------------------------------------------------------------------------

    # Up to so many rows, auto starts the points of a search from nothing: with seeded ones it takes as long.
    rows_from_nothing: int = 1000
    # What a column of a grid starts from next is kept in a file when computing it again would take so many seconds.
    worth_keeping: float = 1.0

    # ---- features instead of kernel values ---------------------------------------------------------

    # Their normal matrix has 3.2 GB.
    most_features: int = 20_000

    def __repr__(self) -> str:
        values = ((known.name, getattr(self, known.name), known.default) for known in fields(self))
        return f"KernelPolicy({', '.join(f'{name}={value}' for name, value, usual in values if value != usual)})"


DEFAULT = KernelPolicy()
# Of a Parameter that is given none. Commands take no policy: a test of one puts it here.
USUAL = DEFAULT


def usual() -> KernelPolicy:
    """``USUAL`` as it is now."""
    return USUAL
