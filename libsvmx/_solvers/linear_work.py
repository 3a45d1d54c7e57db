"""The work of crsvm with a linear kernel, in steps of SMO: what solver auto compares.

Estimates by counts, equal in every run.
"""

from __future__ import annotations

from libsvmx._core.records import NamedTuple
from libsvmx._kernels.kernel_matrix import Kernel
from libsvmx.enums import KernelType

# crsvm is an alternative up to this number of features, with at least this many rows per feature.
MAX_FEATURES = 1000
ROWS_PER_FEATURE = 2
# Work of crsvm, in values read by an SMO step (about 0.2 ns each). In each of its iterations (about 25): per row, for
# each product of two entries (dense, sparse), each entry, and the row itself (measured: a9a 95, the formula says 123;
# letter 80, 82; madelon 5,350, 6,810; mushrooms 170, 192); per d^3 of the factorisation; and a constant, mostly Python.
CRSVM_ITERATIONS, PER_DENSE_PRODUCT, PER_SPARSE_PRODUCT, PER_ENTRY, PER_ROW = 25, 1 / 40, 1 / 4, 1.0, 60.0
PER_CUBE, PER_ITERATION = 1 / 12, 1e6
# Work of SMO in the same unit: of a step, beside the values that it reads; of a kernel value of binary rows, else per
# entry (dense, sparse) and the value itself.
PER_STEP, PER_BINARY_VALUE, PER_DENSE_ENTRY, PER_SPARSE_ENTRY, PER_VALUE = 250, 2.0, 1 / 9, 1 / 2, 3.0


def are_few(n_features: int, n_rows: int) -> bool:
    """Whether crsvm may be faster than SMO."""
    return n_features <= min(MAX_FEATURES, n_rows // ROWS_PER_FEATURE)


class LinearWork(NamedTuple):
    """What the work of crsvm depends on, with a linear kernel; no features with another one.

    Attributes
    ----------
    nonzeros : float      mean per row
    n_features : int
    binary : bool         all are 1
    """

    nonzeros: float
    n_features: int
    binary: bool

    def allows(self, n: int) -> bool:
        """Whether crsvm is an alternative over n rows."""
        return self.n_features > 0 and are_few(self.n_features, n)

    def in_steps(self, n: int, variables: int) -> int:
        """SMO steps over n rows that cost about as much as crsvm. A step computes two kernel rows until all are there.

        ``variables``: n, in epsilon-SVR 2 n
        """
        of_rows = n * self.of_row() + (variables - n) * PER_ROW
        work = CRSVM_ITERATIONS * (of_rows + PER_CUBE * self.n_features**3 + PER_ITERATION)
        per_entry = PER_DENSE_ENTRY * self.n_features if self.is_dense else PER_SPARSE_ENTRY * self.nonzeros
        of_step, of_rows = variables + PER_STEP, 2 * n * (PER_BINARY_VALUE if self.binary else PER_VALUE + per_entry)
        steps = work / (of_step + of_rows)
        return int(steps if 2 * steps <= n else (work - n / 2 * of_rows) / of_step)

    def of_row(self) -> float:
        """Work of one row in an iteration of crsvm."""
        if self.is_dense:
            return PER_DENSE_PRODUCT * self.n_features**2 + PER_ENTRY * self.n_features + PER_ROW
        return PER_SPARSE_PRODUCT * self.nonzeros**2 + PER_ENTRY * self.nonzeros + PER_ROW

    @property
    def is_dense(self) -> bool:
        """Whether crsvm stores the rows densely."""
        from libsvmx._core.matrix import DENSE_SHARE

        return self.nonzeros >= DENSE_SHARE * self.n_features


def linear_work(kernel: Kernel) -> LinearWork:
    if kernel.kind != KernelType.LINEAR:
        return LinearWork(0.0, 0, False)
    from libsvmx._core.matrix import count_nonzeros

    nonzeros, n_features = count_nonzeros(kernel.matrix)
    return LinearWork(nonzeros / kernel.matrix.n_rows, n_features, kernel.binary)
