"""What changes from an optimum that is known to the next fold, and the scores of a start made from it.

The rows R leave, T enter, S are shared (Wen et al. 2017, section 2). In a chain of folds T is the fold that was held out
before. In a star each fold starts from the optimum over all rows, and T is empty.
"""

from libc.stdint cimport int32_t

from libsvmx._core.dot_products cimport SVMX_SOURCES
from libsvmx._core.buffers import zeros
from libsvmx._core.smo_steps cimport svmx_axpy_row
from libsvmx._core.thread_pool cimport ThreadPool
from libsvmx._kernels.kernel cimport Kernel, Targets
from libsvmx._problem.dual cimport DualProblem
from libsvmx._solvers.control cimport Control


cdef class FoldChange:
    """FoldChange(kernel, problem, sums, beta, scores, leaving, entering, control=None)

    What a seeder is given; nothing of it is modified. A seeder tells ``control`` of its work: Stopped ends it.

    Parameters
    ----------
    kernel : Kernel
    problem : DualProblem                with the box of the new fold: 0 alone for variables that take no part
    sums : tuple of float                sum of beta over each group in the new fold
    beta, scores : buffer of float64     the optimum that is known, and its V, shape (problem.size,)
    leaving, entering : buffer of int32  the variables of R and of T
    control : Control                    of the fold; None: nothing ends the work

    Attributes
    ----------
    size, lower, upper, group, row       those of the problem
    """

    def __init__(self, Kernel kernel, DualProblem problem, sums, beta, scores, leaving, entering, Control control=None):
        self.control = Control(0.0) if control is None else control
        self.kernel, self.sums, self.beta, self.scores = kernel, sums, beta, scores
        self.leaving, self.entering = leaving, entering
        self.size, self.lower, self.upper = problem.size, problem.lower, problem.upper
        self.group, self.row = problem.group, problem.row

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
    """V at ``start``, V_old - K (start - beta_old), from kernel rows of the variables that differ alone.

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
    cdef const double[::1] beta = change.beta, start = start_, scores = change.scores
    cdef const int32_t[::1] row = change.row
    cdef Py_ssize_t v, n = change.kernel.n, n_changed = 0, at
    cdef int s, count
    cdef float *out[SVMX_SOURCES]
    difference_, product_, moved_ = zeros("d", n), zeros("d", n), zeros("d", change.size)
    changed_, values_ = zeros("i", n), zeros("f", SVMX_SOURCES * n)
    cdef double[::1] difference = difference_, product = product_, moved = moved_
    cdef int32_t[::1] changed = changed_
    cdef float[::1] values = values_
    with nogil:
        for v in range(change.size):
            difference[row[v]] += start[v] - beta[v]
        for v in range(n):
            if difference[v] != 0:
                changed[n_changed] = <int32_t>v
                n_changed += 1
        for s in range(SVMX_SOURCES):
            out[s] = &values[s * n]
        at = 0
        while at < n_changed:
            count = <int>min(SVMX_SOURCES, n_changed - at)
            targets.fill_rows(&changed[at], count, n, out, pool, n * count)
            for s in range(count):
                svmx_axpy_row(n, difference[changed[at + s]], out[s], &product[0])
            at += count
            change.control.asked(4 * count * n)
        change.kernel.values_computed += n_changed * n
        for v in range(change.size):
            moved[v] = scores[v] - product[row[v]]
    return moved_
