"""The six formulations as dual problems, and the coefficients of a model from their solutions.

Linear term, box and start are LIBSVM's (Chang & Lin 2011, sections 2 and 4.1). A regression with l rows has 2 l
variables: l with beta >= 0 (LIBSVM's alpha), then l with beta <= 0 (alpha*); a row's coefficient is the sum of its two.

Quantile regression (Takeuchi, Le, Sears & Smola, JMLR 7, 2006, eq. 10) has -C (1 - tau) <= beta <= C tau and no tube:
it is epsilon-SVR with p = 0 and a different bound on each side.

A row of weight w counts as w rows, by a bound of C w in C-SVC and regression, of w in nu-SVC and one-class, where the
sum of the weights replaces the number of rows. Sums are computed as in LIBSVM's tool "weights for data instances".
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.memoryview cimport PyMemoryView_FromObject
from libc.math cimport fabs
from libc.stdint cimport int8_t, int32_t, int64_t

from libsvmx._core.arrays cimport Memory, float64_of, int32_of, memory
from libsvmx._solvers.dual cimport Dual, DualProblem, DualSolution

from libsvmx._core.buffers import zeros

from libsvmx.enums import SvmType

cdef int C_SVC = SvmType.C_SVC, NU_SVC = SvmType.NU_SVC
cdef int ONE_CLASS = SvmType.ONE_CLASS, EPSILON_SVR = SvmType.EPSILON_SVR
cdef int QUANTILE_SVR = SvmType.QUANTILE_SVR
# The ``quantity`` of a formulation, see SolveReport.
QUANTITIES = {
    SvmType.C_SVC: "nu", SvmType.NU_SVC: "C", SvmType.EPSILON_SVR: "nu", SvmType.NU_SVR: "epsilon",
}
# A coefficient above this share of its bound is at it, but for rounding.
cdef double ALMOST = 1 - 1e-12


def build_dual(param, targets, double Cp, double Cn, sample_weight=None):
    """The dual problem of a binary classification (first class: targets > 0), one-class or regression training.

    Parameters
    ----------
    param : Parameter
    targets : buffer of float64, shape (l,)
    Cp, Cn : float       bounds of |beta| in the two classes, C-SVC only
    sample_weight : buffer of float64, shape (l,), or None      >= 0, 0 leaves a row out; None: 1
    """
    cdef const double[::1] z = targets, w = sample_weight
    cdef const double *row_weights = NULL
    cdef Py_ssize_t l = z.shape[0]
    cdef Formulation of = formulation_of(param)
    cdef Dual dual
    cdef Py_ssize_t m = 2 * l if param.svm_type.is_regression else l
    linear_, lower_, upper_, beta_ = (zeros("d", m) for _ in range(4))
    group_, row_ = zeros("b", m), zeros("i", m)
    cdef double[::1] linear = linear_, lower = lower_, upper = upper_, beta = beta_
    cdef int8_t[::1] group = group_
    cdef int32_t[::1] row = row_
    if m and sample_weight is not None:
        row_weights = &w[0]
    if m:
        dual = Dual(m, &linear[0], &lower[0], &upper[0], &beta[0], &group[0], &row[0])
        write_dual(&of, l, &z[0], Cp, Cn, row_weights, &dual)
    return DualProblem(linear_, lower_, upper_, group_, row_, beta_)


cdef Formulation formulation_of(param):
    """The fields of a Parameter that ``write_dual`` needs."""
    return Formulation(param.svm_type, param.nu, param.C, param.p, param.tau)


cdef void write_dual(const Formulation *of, Py_ssize_t l, const double *z, double Cp, double Cn, const double *w,
                     Dual *dual) noexcept nogil:
    """``build_dual`` into the arrays of ``dual``, whose size is set."""
    cdef int kind = of.kind
    cdef double nu = of.nu, cost = of.cost, p = of.p, left, left_negative, bound
    cdef double *linear = dual.linear
    cdef double *lower = dual.lower
    cdef double *upper = dual.upper
    cdef double *beta = dual.beta
    cdef Py_ssize_t i
    for i in range(dual.size):
        dual.row[i] = <int32_t>(i if i < l else i - l)
        linear[i], lower[i], beta[i], dual.group[i] = 0.0, 0.0, 0.0, 0
        upper[i] = w[dual.row[i]] if w != NULL else 1.0
    if kind == C_SVC:
        for i in range(l):
            bound = upper[i]
            if z[i] > 0:
                linear[i], upper[i] = 1.0, bound * Cp
            else:
                linear[i], lower[i], upper[i], beta[i] = -1.0, -bound * Cn, 0.0, -0.0
    elif kind == NU_SVC:
        left = left_negative = (sum_of_products(nu, l, w) if w != NULL else nu * l) / 2
        for i in range(l):
            bound = upper[i]
            if z[i] > 0:
                beta[i] = min(bound, left)
                left -= beta[i]
            else:
                dual.group[i], lower[i], upper[i] = 1, -bound, 0.0
                beta[i] = -min(bound, left_negative)
                left_negative += beta[i]
    elif kind == ONE_CLASS and w != NULL:
        left = sum_of_products(nu, l, w)
        for i in range(l):
            beta[i] = min(upper[i], left)
            left -= beta[i]
    elif kind == ONE_CLASS:
        for i in range(<Py_ssize_t>(nu * l)):
            beta[i] = 1.0
        if <Py_ssize_t>(nu * l) < l:
            beta[<Py_ssize_t>(nu * l)] = nu * l - <Py_ssize_t>(nu * l)
    else:
        left = cost * nu * l / 2
        if w != NULL:
            left = 0.0
            for i in range(l):
                left += w[i] * cost * nu
            left /= 2
        for i in range(l):
            bound = upper[i] * cost
            upper[i], lower[l + i], upper[l + i], beta[l + i] = bound, -bound, 0.0, -0.0
            if kind == QUANTILE_SVR:
                upper[i], lower[l + i] = bound * of.tau, -bound * (1 - of.tau)
                linear[i] = linear[l + i] = z[i]
            elif kind == EPSILON_SVR:
                linear[i] = -(p - z[i])
                linear[l + i] = p + z[i]
            else:
                dual.group[l + i] = 1
                beta[i] = min(left, bound)
                beta[l + i] = -beta[i]
                left -= beta[i]
                linear[i] = linear[l + i] = z[i]


cdef double sum_of_products(double factor, Py_ssize_t n, const double *values) noexcept nogil:
    """Sum of factor * value."""
    cdef double total = 0.0
    cdef Py_ssize_t i
    for i in range(n):
        total += factor * values[i]
    return total


def counting_rows(param, targets, sample_weight):
    """Indices of the rows whose bound on |beta| is not 0, int32.

    It is 0 for rows of weight 0, in C-SVC for classes of weight 0, and if the product of C and weights underflows.

    Parameters
    ----------
    targets : buffer of float64, shape (l,)
    sample_weight : buffer of float64, shape (l,), or None
    """
    cdef const double[::1] z = targets, w = sample_weight
    cdef bint weighted = sample_weight is not None, by_class = param.svm_type == SvmType.C_SVC
    cdef double usual = param.C if param.svm_type.has_cost else 1.0, cost = usual
    cdef Py_ssize_t i, n = 0
    cost_of = {}
    if by_class:
        for label, weight in param.weights:
            cost_of[label] = cost_of.get(label, usual) * weight
    rows_ = zeros("i", z.shape[0])
    cdef int32_t[::1] rows = rows_
    for i in range(z.shape[0]):
        if by_class and (i == 0 or z[i] != z[i - 1]):  # runs of one class need no look-up
            cost = cost_of.get(int(z[i]), usual)
        if cost * (w[i] if weighted else 1.0) > 0:
            rows[n] = <int32_t>i
            n += 1
    return rows_[:n]


def coefficient_sums(param, double l):
    """Sum of beta over each group, fixed by the equality constraints, for l rows or rows of total weight l."""
    if param.svm_type == SvmType.NU_SVC:
        return param.nu * l / 2, -(param.nu * l / 2)
    if param.svm_type == SvmType.NU_SVR:
        return param.C * param.nu * l / 2, -(param.C * param.nu * l / 2)
    return (param.nu * l,) if param.svm_type == SvmType.ONE_CLASS else (0.0,)


def recover_coefficients(param, targets, DualProblem problem, DualSolution solution, sample_weight=None):
    """The model's coefficients, and the numbers of a SolveReport. For arguments see ``build_dual``.

    Returns
    -------
    coefficients : buffer of float64, shape (l,)      of the rows (LIBSVM's sv_coef)
    rho, objective : float
    n_sv, n_bsv : int                         support vectors, and those at their bound
    quantity : str or None, value : float     see libsvmx._train.observer.SolveReport
    """
    cdef const double[::1] beta = solution.beta, lower = problem.lower, upper = problem.upper, w = sample_weight
    cdef const double *row_weights = NULL
    cdef Py_ssize_t l = len(targets)
    cdef Formulation of = formulation_of(param)
    cdef Recovered found
    cdef Dual dual
    coefficients_ = zeros("d", l)
    cdef double[::1] coefficients = coefficients_
    found.rho, found.objective = solution.rho, solution.objective
    if l and sample_weight is not None:
        row_weights = &w[0]
    if l:
        dual = Dual(problem.size, NULL, <double *>&lower[0], <double *>&upper[0], NULL, NULL, NULL)
        recover(&of, l, row_weights, &dual, &beta[0], solution.r, &coefficients[0], &found)
    quantity = QUANTITIES[param.svm_type] if l and found.has_value else None
    value = found.value if quantity else 0.0
    return coefficients_, found.rho, found.objective, found.n_sv if l else 0, found.n_bsv if l else 0, quantity, value


cdef void recover(const Formulation *of, Py_ssize_t l, const double *w, const Dual *dual, const double *beta, double r,
                  double *coefficients, Recovered *found) noexcept nogil:
    """``recover_coefficients`` into ``coefficients`` and ``found``; reads only the box of ``dual``."""
    cdef const double *lower = dual.lower
    cdef const double *upper = dual.upper
    cdef Py_ssize_t i, n_part = 0
    cdef double total = 0, bounds = 0, cost_positive = 1.0, cost_negative = 1.0, scale = 1.0
    found.n_sv = found.n_bsv = 0
    found.value, found.has_value = 0.0, False
    for i in range(l):
        n_part += lower[i] < upper[i]
        if w != NULL:
            bounds += upper[i] if upper[i] > 0 else -lower[i]
    if of.kind == C_SVC:
        for i in range(l):
            total += fabs(beta[i])
            coefficients[i] = beta[i]
            if upper[i] > 0:
                cost_positive = upper[i] / w[i] if w != NULL else upper[i]
            elif lower[i] < 0:
                cost_negative = -lower[i] / w[i] if w != NULL else -lower[i]
        if w != NULL:
            # equal but for rounding, or both infinite
            if cost_positive == cost_negative or fabs(cost_positive - cost_negative) <= (1 - ALMOST) * cost_positive:
                found.has_value, found.value = True, total / bounds
        elif cost_positive == cost_negative:
            found.has_value, found.value = True, total / (cost_positive * n_part)
    elif of.kind == NU_SVC:
        scale = 1 / r
        for i in range(l):
            coefficients[i] = beta[i] * scale
        found.rho /= r
        found.objective /= r * r
        found.has_value, found.value = True, scale
    elif of.kind == ONE_CLASS:
        for i in range(l):
            coefficients[i] = beta[i]
    else:
        for i in range(l):
            coefficients[i] = beta[i] + beta[l + i]
            total += fabs(coefficients[i])
        if of.kind == EPSILON_SVR:
            found.has_value, found.value = True, total / (bounds if w != NULL else of.cost * n_part)
        elif of.kind != QUANTILE_SVR:
            found.has_value, found.value = True, -r
    for i in range(l):
        if fabs(coefficients[i]) > 0:
            found.n_sv += 1
            if of.kind == QUANTILE_SVR and coefficients[i] < 0:
                found.n_bsv += coefficients[i] <= lower[l + i]
            elif fabs(coefficients[i]) >= (upper[i] if upper[i] > 0 else -lower[i]) * scale:
                found.n_bsv += 1


def decision_values(DualProblem problem, scores, rows, double scale, double rho):
    """Decision values scale K beta - rho of ``rows`` (int32), float64, from the scores V = linear - K beta."""
    cdef const double[::1] linear = problem.linear, V = scores
    cdef const int32_t[::1] chosen = rows
    cdef Py_ssize_t k
    values_ = zeros("d", chosen.shape[0])
    cdef double[::1] values = values_
    for k in range(chosen.shape[0]):
        values[k] = (linear[chosen[k]] - V[chosen[k]]) * scale - rho
    return values_


def support_vectors(betas, start, order):
    """The support vectors of a classifier: rows with a coefficient other than 0 and nan in any pair of classes.

    Parameters
    ----------
    betas : buffer of float64               coefficients of the pairs (0, 1), (0, 2), …: rows of i, then rows of j
    start : list of int, shape (k + 1,)     first row of each class, and the end
    order : buffer of int32                 row numbers, grouped by class

    Returns
    -------
    rows : buffer of int32, shape (n_sv,)                 their numbers, grouped by class
    coef : buffer of float64, shape ((k-1) * n_sv,)       LIBSVM's sv_coef: pair (i, j) fills row j-1 for class i and
                                                          row i for class j
    sizes : list of int, shape (k,)                       how many are of each class
    numbers : buffer of int32, shape (n_sv,)              ``rows`` counted from 1
    """
    cdef Py_ssize_t k = len(start) - 1, n_sv = 0, at = 0, n_betas, n_rows, own, c, i, j, q
    cdef const double *beta = float64_of(betas, &n_betas)
    cdef const int32_t *row = int32_of(order, &n_rows)
    cdef Memory by_class = memory("q", 2 * k + 2)
    cdef int64_t *begin = <int64_t *>by_class.items
    cdef int64_t *first = begin + k + 1     # column of the first support vector of each class
    for c in range(k + 1):
        begin[c] = start[c]
    cdef Memory positions = memory("i", begin[k])
    cdef int32_t *position = <int32_t *>positions.items     # 1 for a support vector; then those of the support vectors
    for i in range(k):
        for j in range(i + 1, k):
            for c in (i, j):
                for q in range(begin[c], begin[c + 1]):
                    position[q] |= fabs(beta[at]) > 0
                    at += 1
    for c in range(k):
        first[c] = n_sv
        for q in range(begin[c], begin[c + 1]):
            if position[q]:
                position[n_sv] = <int32_t>q
                n_sv += 1
    first[k] = n_sv
    cdef Memory rows_ = memory("i", n_sv, False)
    cdef int32_t *rows = <int32_t *>rows_.items
    # bytes: a model takes them without a copy
    numbers = PyBytes_FromStringAndSize(NULL, n_sv * sizeof(int32_t))
    coef_ = PyBytes_FromStringAndSize(NULL, max(k - 1, 0) * n_sv * sizeof(double))
    cdef int32_t *number = <int32_t *>PyBytes_AS_STRING(numbers)
    cdef double *coef = <double *>PyBytes_AS_STRING(coef_)
    for q in range(n_sv):
        rows[q] = row[position[q]]
        number[q] = rows[q] + 1
    at = 0
    for i in range(k):
        for j in range(i + 1, k):
            own = at + begin[i + 1] - begin[i]  # begin of class j
            for q in range(first[i], first[i + 1]):
                coef[(j - 1) * n_sv + q] = beta[at + position[q] - begin[i]]
            for q in range(first[j], first[j + 1]):
                coef[i * n_sv + q] = beta[own + position[q] - begin[j]]
            at = own + begin[j + 1] - begin[j]
    sizes = [first[c + 1] - first[c] for c in range(k)]
    return (PyMemoryView_FromObject(rows_), PyMemoryView_FromObject(coef_).cast("d"), sizes,
            PyMemoryView_FromObject(numbers).cast("i"))
