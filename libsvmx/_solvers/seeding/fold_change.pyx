"""What changes from an optimum that is known to the next fold, and the scores of a start made from it.

The rows R leave, T enter, S are shared (Wen et al. 2017, section 2). In a chain of folds T is the fold that was held out
before. In a star each fold starts from the optimum over all rows, and T is empty.
"""

from libc.math cimport HUGE_VAL
from libc.stdint cimport int32_t

from libsvmx._core.dot_products cimport SVMX_SOURCES
from libsvmx._core.arrays import ramp
from libsvmx._core.buffers import zeros
from libsvmx._core.smo_steps cimport svmx_axpy_row
from libsvmx._core.thread_pool cimport ThreadPool
from libsvmx._kernels.kernel cimport Kernel, Targets
from libsvmx._problem.dual cimport DualProblem
from libsvmx._solvers.control cimport Control


cdef class FoldChange:
    """FoldChange(kernel, problem, sums, beta, scores, leaving, entering, control=None, targets=None, most_work=inf)

    What a seeder is given; nothing of it is modified. A seeder tells ``control`` of its work: Stopped ends it.

    Parameters
    ----------
    kernel : Kernel
    problem : DualProblem                with the box of the new fold: 0 alone for variables that take no part
    sums : tuple of float                sum of beta over each group in the new fold
    beta, scores : buffer of float64     the optimum that is known, and its V, shape (problem.size,)
    leaving, entering : buffer of int32  the variables of R and of T
    control : Control                    of the fold; None: nothing ends the work
    targets : Targets                    all rows of the kernel in their order; None: they are made when they are asked for
    most_work : float                    values that a path may work on, 0: there is to be none; that the solve from nothing
                                         works on, for least squares

    Attributes
    ----------
    size, lower, upper, group, row       those of the problem
    path_work, path_whole : float, bool  what the path of a seeder worked on, -1 without one; whether it came to its end
    """

    def __init__(self, Kernel kernel, DualProblem problem, sums, beta, scores, leaving, entering, Control control=None,
                 Targets targets=None, double most_work=HUGE_VAL):
        self.targets, self.most_work, self.path_work, self.path_whole = targets, most_work, -1.0, False
        self.control = Control(0.0) if control is None else control
        self.kernel, self.sums, self.beta, self.scores = kernel, sums, beta, scores
        self.leaving, self.entering = leaving, entering
        self.size, self.lower, self.upper = problem.size, problem.lower, problem.upper
        self.group, self.row = problem.group, problem.row
        self.reached_beta, self.reached_scores = beta, scores

    @property
    def every_row(self):
        """All rows of the kernel in their order: Targets."""
        if self.targets is None:
            self.targets = self.kernel.targets(ramp(self.kernel.n))
        return self.targets

    def reach(self, beta, scores, double work, bint whole):
        """A path has come to another beta, whose scores are known: ``moved_scores`` goes on from there."""
        self.reached_beta, self.reached_scores, self.path_work, self.path_whole = beta, scores, work, whole

    def kept(self):
        """The known beta within the new bounds, so 0 for R: where every seeder begins. float64, shape (m,)."""
        cdef const double[::1] beta = self.beta, lower = self.lower, upper = self.upper
        cdef Py_ssize_t v
        start_ = zeros("d", self.size)
        cdef double[::1] start = start_
        for v in range(self.size):
            start[v] = min(max(beta[v], lower[v]), upper[v])
        return start_

    def shared(self, bint free_only):
        """The variables of S, or those of them with lower < beta < upper: buffer of int32."""
        cdef const double[::1] beta = self.beta, lower = self.lower, upper = self.upper
        cdef const int32_t[::1] entering = self.entering
        cdef Py_ssize_t v, n = 0
        chosen_ = zeros("i", self.size)
        new_ = bytearray(self.size)
        cdef int32_t[::1] chosen = chosen_
        cdef unsigned char[::1] new = new_
        for v in range(entering.shape[0]):
            new[entering[v]] = 1
        for v in range(self.size):
            if lower[v] < upper[v] and not new[v] and (not free_only or lower[v] < beta[v] < upper[v]):
                chosen[n] = <int32_t>v
                n += 1
        return chosen_[:n]


def moved_scores(FoldChange change, Targets targets, start_, ThreadPool pool):
    """V at ``start``, V_old - K (start - beta_old), from kernel rows of the variables that differ alone; old is the optimum
    that is known, or what a seeder has come to (``reach``).

    Parameters
    ----------
    targets : Targets      all rows of the kernel in their order
    start : buffer of float64, shape (m,)

    Returns
    -------
    buffer of float64, shape (m,)

    Raises
    ------
    Stopped
    """
    cdef const double[::1] beta = change.reached_beta, start = start_, scores = change.reached_scores
    cdef const int32_t[::1] row = change.row
    cdef Py_ssize_t v
    difference_, moved_ = zeros("d", change.kernel.n), zeros("d", change.size)
    cdef double[::1] difference = difference_, moved = moved_, product
    for v in range(change.size):
        difference[row[v]] += start[v] - beta[v]
    product = times_kernel(change, targets, difference, pool)
    for v in range(change.size):
        moved[v] = scores[v] - product[row[v]]
    return moved_


cdef object rows_of_leaving(FoldChange change):
    """Sum over R of beta_r K_r, by variable: float64, shape (m,). Raises Stopped."""
    cdef const double[::1] beta = change.beta
    cdef const int32_t[::1] row = change.row, leaving = change.leaving
    cdef Py_ssize_t k, v
    coef_, sum_ = zeros("d", change.kernel.n), zeros("d", change.size)
    cdef double[::1] coef = coef_, sum = sum_, product
    for k in range(leaving.shape[0]):
        coef[row[leaving[k]]] += beta[leaving[k]]
    product = times_kernel(change, change.every_row, coef, ThreadPool(1))
    for v in range(change.size):
        sum[v] = product[row[v]]
    return sum_


cdef object times_kernel(FoldChange change, Targets targets, double[::1] coef, ThreadPool pool):
    """Sum of coef K over the rows of the kernel, those with coef 0 left out: float64, shape (n,). Raises Stopped."""
    cdef Py_ssize_t v, n = change.kernel.n, n_rows = 0, at
    cdef int s, count
    cdef float *out[SVMX_SOURCES]
    product_, chosen_, values_ = zeros("d", n), zeros("i", n), zeros("f", SVMX_SOURCES * n)
    cdef double[::1] product = product_
    cdef int32_t[::1] chosen = chosen_
    cdef float[::1] values = values_
    with nogil:
        for v in range(n):
            if coef[v] != 0:
                chosen[n_rows] = <int32_t>v
                n_rows += 1
        for s in range(SVMX_SOURCES):
            out[s] = &values[s * n]
        at = 0
        while at < n_rows:
            count = <int>min(SVMX_SOURCES, n_rows - at)
            targets.fill_rows(&chosen[at], count, n, out, pool, n * count)
            for s in range(count):
                svmx_axpy_row(n, coef[chosen[at + s]], out[s], &product[0])
            at += count
            change.control.asked(4 * count * n)
        change.kernel.values_computed += n_rows * n
    return product_
