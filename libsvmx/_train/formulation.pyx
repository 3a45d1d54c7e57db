"""The five formulations as dual problems, and back from alpha to coefficients.

For each one: y, linear = -y p, C and the start of LIBSVM (Chang & Lin 2011, sections 2 and 4.1),
then coefficients beta over the rows. Variables of regression: l with y = +1, l with y = -1.
"""

from libc.math cimport fabs
from libc.stdint cimport int8_t, int32_t, int64_t

from libsvmx._core.buffers import zeros
from libsvmx._problem.dual cimport DualProblem, DualSolution

from libsvmx.enums import SvmType


def pose(param, targets, double Cp, double Cn):
    """The dual problem of a binary classification (targets > 0 or not), one-class or regression training.

    Parameters
    ----------
    param : Parameter
    targets : buffer of float64, shape (l,)
    Cp, Cn : float       upper bounds of the two classes, C-SVC only

    Returns
    -------
    DualProblem
    """
    cdef const double[::1] z = targets
    cdef Py_ssize_t l = z.shape[0], i
    cdef bint regression = param.svm_type.is_regression
    cdef Py_ssize_t m = 2 * l if regression else l
    y_, linear_, C_, alpha_, index_ = zeros("b", m), zeros("d", m), zeros("d", m), zeros("d", m), zeros("i", m)
    cdef int8_t[::1] y = y_
    cdef double[::1] linear = linear_, C = C_, alpha = alpha_
    cdef int32_t[::1] index = index_
    cdef double nu = param.nu, cost = param.C, p = param.p, left, left_negative
    kind = param.svm_type
    for i in range(m):
        index[i] = <int32_t>(i if i < l else i - l)
        y[i] = 1
        C[i] = 1.0
    if kind == SvmType.C_SVC:
        for i in range(l):
            y[i] = 1 if z[i] > 0 else -1
            linear[i] = y[i]
            C[i] = Cp if y[i] > 0 else Cn
    elif kind == SvmType.NU_SVC:
        left = left_negative = nu * l / 2
        for i in range(l):
            if z[i] > 0:
                alpha[i] = min(1.0, left)
                left -= alpha[i]
            else:
                y[i] = -1
                alpha[i] = min(1.0, left_negative)
                left_negative -= alpha[i]
    elif kind == SvmType.ONE_CLASS:
        for i in range(<Py_ssize_t>(nu * l)):
            alpha[i] = 1.0
        if <Py_ssize_t>(nu * l) < l:
            alpha[<Py_ssize_t>(nu * l)] = nu * l - <Py_ssize_t>(nu * l)
    else:
        left = cost * nu * l / 2
        for i in range(l):
            y[l + i] = -1
            C[i] = C[l + i] = cost
            if kind == SvmType.EPSILON_SVR:
                linear[i] = -(p - z[i])
                linear[l + i] = p + z[i]
            else:
                alpha[i] = alpha[l + i] = min(left, cost)
                left -= alpha[i]
                linear[i] = linear[l + i] = z[i]
    return DualProblem(y_, linear_, C_, alpha_, index_, kind in (SvmType.NU_SVC, SvmType.NU_SVR))


def held_out(DualProblem problem, rows):
    """The upper bounds with 0 for the variables of ``rows``: float64, shape (problem.size,)."""
    cdef const double[::1] C = problem.C
    cdef const int32_t[::1] index = problem.index
    cdef const int32_t[::1] chosen = rows
    cdef Py_ssize_t v, k
    gone_, bounds_ = bytearray(problem.size), zeros("d", problem.size)
    cdef unsigned char[::1] gone = gone_
    cdef double[::1] bounds = bounds_
    for k in range(chosen.shape[0]):
        gone[chosen[k]] = 1
    for v in range(problem.size):
        bounds[v] = 0.0 if gone[index[v]] else C[v]
    return bounds_


def scaled_start(DualProblem problem, bounds, kept_alpha, kept_scores, double growth):
    """A start within ``bounds`` from an optimum whose bounds were smaller by the factor 1 / ``growth``.

    Any factor q from 1 to ``growth`` keeps q alpha feasible, and its scores V = linear - q sum_j beta_j K_j need no
    kernel row. Where most support vectors are free they stay what they are, q = 1; where most are bounded they
    want to grow, and q is the best point of the ray: the least of q^2 alpha'Q alpha / 2 + q p'alpha. In nu-SVR, where the
    sums grow with C, and where C has become smaller, q is ``growth``.

    Returns
    -------
    alpha, scores : buffers of float64, shape (problem.size,)
    """
    cdef const double[::1] C = bounds, alpha = kept_alpha, V = kept_scores, linear = problem.linear
    cdef const int8_t[::1] y = problem.y
    cdef Py_ssize_t v, n_free = 0, n_bounded = 0
    cdef double curvature = 0.0, slope = 0.0, factor = growth
    start_, scores_ = zeros("d", problem.size), zeros("d", problem.size)
    cdef double[::1] start = start_, scores = scores_
    if not problem.split and growth > 1.0:
        for v in range(problem.size):
            if alpha[v] > 0:
                # what is at the old bound is at the new one after growing in full, but for rounding
                n_bounded += alpha[v] * growth > C[v] * (1 - 1e-12)
                n_free += alpha[v] * growth <= C[v] * (1 - 1e-12)
                slope += y[v] * alpha[v] * linear[v]
                curvature += y[v] * alpha[v] * (linear[v] - V[v])
        factor = 1.0
        if n_bounded > n_free and curvature > 0:
            factor = max(1.0, min(slope / curvature, growth))
    for v in range(problem.size):
        start[v] = alpha[v] * factor
        if start[v] > C[v] * (1 - 1e-12):
            start[v] = C[v]
        scores[v] = linear[v] + factor * (V[v] - linear[v])
    return start_, scores_


def coefficient_sums(param, Py_ssize_t l):
    """What the equality constraints fix with l rows: (sum of y alpha,), or (sum over y = +1, sum over y = -1) in the
    nu formulations."""
    if param.svm_type == SvmType.NU_SVC:
        return param.nu * l / 2, param.nu * l / 2
    if param.svm_type == SvmType.NU_SVR:
        return param.C * param.nu * l / 2, param.C * param.nu * l / 2
    return (param.nu * l,) if param.svm_type == SvmType.ONE_CLASS else (0.0,)


def read_off(param, targets, DualProblem problem, DualSolution solution):
    """Coefficients and what is reported of them. Rows with C = 0 take no part.

    Returns
    -------
    beta : buffer of float64, shape (l,)      coefficients of the rows, LIBSVM's sv_coef
    rho, objective : float
    n_sv, n_bsv : int                         support vectors, and those at their bound
    quantity : str or None, value : float     see libsvmx._train.observer.SolveReport
    """
    cdef const double[::1] z = targets, alpha = solution.alpha, C = problem.C
    cdef const int8_t[::1] y = problem.y
    cdef Py_ssize_t l = z.shape[0], i, n_sv = 0, n_bsv = 0, n_part = 0
    cdef double r, total = 0, bound_positive = 1.0, bound_negative = 1.0, value = 0.0
    cdef double rho = solution.rho, objective = solution.objective
    beta_ = zeros("d", l)
    cdef double[::1] beta = beta_
    quantity = None
    kind = param.svm_type
    for i in range(l):
        n_part += C[i] > 0
    if kind == SvmType.C_SVC:
        for i in range(l):
            total += alpha[i]
            beta[i] = alpha[i] * y[i]
            if C[i] <= 0:
                continue
            if y[i] > 0:
                bound_positive = C[i]
            else:
                bound_negative = C[i]
        if bound_positive == bound_negative:
            quantity, value = "nu", total / (bound_positive * n_part)
    elif kind == SvmType.NU_SVC:
        r = solution.r
        for i in range(l):
            beta[i] = alpha[i] * (y[i] / r)
        rho /= r
        objective /= r * r
        bound_positive = bound_negative = 1 / r
        quantity, value = "C", 1 / r
    elif kind == SvmType.ONE_CLASS:
        for i in range(l):
            beta[i] = alpha[i]
    else:
        bound_positive = bound_negative = param.C
        for i in range(l):
            beta[i] = alpha[i] - alpha[l + i]
            total += fabs(beta[i])
        if kind == SvmType.EPSILON_SVR:
            quantity, value = "nu", total / (bound_positive * n_part)
        else:
            quantity, value = "epsilon", -solution.r
    for i in range(l):
        if fabs(beta[i]) > 0:
            n_sv += 1
            if fabs(beta[i]) >= (bound_positive if z[i] > 0 else bound_negative):
                n_bsv += 1
    return beta_, rho, objective, n_sv, n_bsv, quantity, value


def assemble_coefficients(betas, positions, start, Py_ssize_t k):
    """LIBSVM's sv_coef, float64, shape ((k-1) * n_sv,): pair (i, j) fills row j-1 for class i and row i for class j.

    Parameters
    ----------
    betas : list of buffers of float64      coefficients of each pair (0,1), (0,2), …: the rows of i, then those of j
    positions : buffer of int32             the support vectors among the rows grouped by class, ascending
    start : list of int                     first row of each class, and the end
    k : int                                 classes
    """
    cdef const int32_t[::1] position = positions
    cdef const double[::1] beta
    cdef Py_ssize_t n_sv = position.shape[0], column, c, i, j, pair = 0
    coef_ = zeros("d", max(k - 1, 0) * n_sv)
    first_ = zeros("q", k + 1)      # first column of each class
    begin_ = zeros("q", k + 1)
    cdef double[::1] coef = coef_
    cdef int64_t[::1] first = first_, begin = begin_
    column = 0
    for c in range(k + 1):
        begin[c] = start[c]
        while column < n_sv and position[column] < begin[c]:
            column += 1
        first[c] = column
    for i in range(k):
        for j in range(i + 1, k):
            beta = betas[pair]
            for column in range(first[i], first[i + 1]):
                coef[(j - 1) * n_sv + column] = beta[position[column] - begin[i]]
            for column in range(first[j], first[j + 1]):
                coef[i * n_sv + column] = beta[begin[i + 1] - begin[i] + position[column] - begin[j]]
            pair += 1
    return coef_
