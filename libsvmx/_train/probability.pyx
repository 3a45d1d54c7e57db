"""Probability estimates from decision values, by LIBSVM's operations in the same order.

    sigmoid      P(y = 1 | f) = 1 / (1 + exp(A f + B)): Platt (2000), by Newton steps (Lin, Lin & Weng, 2007)
    coupling     of pairwise probabilities: the second method of Wu, Lin & Weng (2004)
    one-class    density marks: Que & Lin (2022)
"""

from libc.math cimport exp, fabs, log, sqrt
from libc.stdint cimport int32_t, int64_t

from libsvmx._core.buffers import filled, zeros

cdef extern from "pairwise.h" nogil:
    double svmx_pair_probability(double f, double A, double B) noexcept
    bint svmx_couple(int k, const double *r, double *p, double *Q, double *Qp) noexcept
    double svmx_normal_probability(double value, const double *marks) noexcept

# Newton method: LIBSVM's constants
cdef int MAX_NEWTON = 100
cdef double MIN_STEP = 1e-10
cdef double HESSIAN_RIDGE = 1e-12   # keeps the Hessian positive definite
cdef double GRADIENT_EPS = 1e-5
N_MARKS = 10

# Failures of a sigmoid, by the value that ``fit`` returns.
TROUBLES = (None, "line search", "newton limit")


cdef double log_loss(Py_ssize_t l, const double *dec, const double *t, double A, double B) noexcept nogil:
    """Negative log likelihood of the targets t, (l,), at decision values dec, (l,)."""
    cdef double loss = 0, z
    cdef Py_ssize_t i
    for i in range(l):
        z = dec[i] * A + B
        if z >= 0:
            loss += t[i] * z + log(1 + exp(-z))
        else:
            loss += (t[i] - 1) * z + log(1 + exp(z))
    return loss


def fit_sigmoid(decision_values, targets):
    """A and B of P(y = 1 | f) = 1 / (1 + exp(A f + B)).

    Parameters
    ----------
    decision_values, targets : buffers of float64, shape (l,)      target > 0 is the positive class

    Returns
    -------
    A, B : float
    trouble : str or None      'line search' or 'newton limit' if the method gave up
    """
    cdef const double[::1] dec = decision_values, y = targets
    cdef double[::1] t = zeros("d", max(dec.shape[0], 1))
    cdef double A = 0, B = 0
    cdef int trouble
    if not dec.shape[0]:
        return 0.0, 0.0, None
    trouble = fit(dec.shape[0], &dec[0], &y[0], &t[0], &A, &B)
    return A, B, TROUBLES[trouble]


cdef int fit(Py_ssize_t l, const double *dec, const double *y, double *t, double *A_out, double *B_out) noexcept nogil:
    """``fit_sigmoid`` with workspace t, (l,); returns an index of TROUBLES."""
    cdef Py_ssize_t i
    cdef int iteration
    cdef double n1 = 0, n0 = 0, high, low, A = 0, B, loss, new_loss, new_A, new_B, step
    cdef double z, e, p, q, w, d, h11, h22, h21, g1, g2, det, dA, dB, slope
    for i in range(l):
        if y[i] > 0:
            n1 += 1
        else:
            n0 += 1
    high, low = (n1 + 1.0) / (n1 + 2.0), 1 / (n0 + 2.0)
    for i in range(l):
        t[i] = high if y[i] > 0 else low
    B = log((n0 + 1.0) / (n1 + 1.0))
    loss = log_loss(l, dec, t, A, B)
    for iteration in range(MAX_NEWTON):
        h11 = h22 = HESSIAN_RIDGE
        h21 = g1 = g2 = 0.0
        for i in range(l):
            z = dec[i] * A + B
            if z >= 0:
                e = exp(-z)
                p = e / (1.0 + e)
                q = 1.0 / (1.0 + e)
            else:
                e = exp(z)
                p = 1.0 / (1.0 + e)
                q = e / (1.0 + e)
            w = p * q
            h11 += dec[i] * dec[i] * w
            h22 += w
            h21 += dec[i] * w
            d = t[i] - p
            g1 += dec[i] * d
            g2 += d
        A_out[0], B_out[0] = A, B
        if fabs(g1) < GRADIENT_EPS and fabs(g2) < GRADIENT_EPS:
            return 0
        det = h11 * h22 - h21 * h21
        dA = -(h22 * g1 - h21 * g2) / det
        dB = -(-h21 * g1 + h11 * g2) / det
        slope = g1 * dA + g2 * dB
        step = 1
        while step >= MIN_STEP:
            new_A, new_B = A + step * dA, B + step * dB
            new_loss = log_loss(l, dec, t, new_A, new_B)
            if new_loss < loss + 0.0001 * step * slope:
                A, B, loss = new_A, new_B, new_loss
                break
            step = step / 2.0
        if step < MIN_STEP:
            return 1
    A_out[0], B_out[0] = A, B
    return 2


def class_probabilities(decision_values, Py_ssize_t n_rows, int k, prob_a, prob_b):
    """Probabilities of k classes from pairwise decision values.

    Parameters
    ----------
    decision_values : buffer of float64, shape (n_rows * k (k-1) / 2,), row by row
    prob_a, prob_b : buffers of float64, shape (k (k-1) / 2,)

    Returns
    -------
    probabilities : buffer of float64, shape (n_rows * k,)
    unfinished : int          number of rows whose coupling met its iteration limit
    """
    cdef const double[::1] dec = decision_values, A = prob_a, B = prob_b
    cdef Py_ssize_t row, pairs = k * (k - 1) // 2, pair, unfinished = 0
    cdef int i, j
    cdef double value
    out_ = zeros("d", n_rows * k)
    cdef double[::1] out = out_
    if k == 1:
        for row in range(n_rows):
            out[row] = 1.0
        return out_, 0
    cdef double[::1] r = zeros("d", k * k), Q = zeros("d", k * k), p = zeros("d", k), Qp = zeros("d", k)
    for row in range(n_rows):
        pair = 0
        for i in range(k):
            for j in range(i + 1, k):
                value = svmx_pair_probability(dec[row * pairs + pair], A[pair], B[pair])
                r[i * k + j], r[j * k + i] = value, 1 - value
                pair += 1
        if k == 2:
            p[0], p[1] = r[1], r[2]
        elif not svmx_couple(k, &r[0], &p[0], &Q[0], &Qp[0]):
            unfinished += 1
        for i in range(k):
            out[row * k + i] = p[i]
    return out_, unfinished


def density_marks(decision_values):
    """The ten density marks of one-class probability estimates, or None with fewer than five values on a side of 0.

    ``decision_values``: buffer of float64, those of the training rows.
    """
    ordered = sorted(decision_values)
    l, middle = len(ordered), N_MARKS // 2
    negative = next((i for i, value in enumerate(ordered) if value >= 0), 0)
    positive = l - negative
    if negative < middle or positive < middle:
        return None
    ends = [ordered[i * negative // middle] for i in range(middle)] + [0.0]
    ends += [ordered[negative - 1 + (i - middle) * positive // middle] for i in range(middle + 1, N_MARKS + 1)]
    return filled("d", [(ends[i] + ends[i + 1]) / 2 for i in range(N_MARKS)])


def normal_probability(double value, marks):
    """Probability that a row with this one-class decision value is an inlier; ``marks``: (10,)."""
    cdef const double[::1] mark = marks
    return svmx_normal_probability(value, &mark[0])


def laplace_scale(targets, predictions):
    """Scale of Laplace noise: mean absolute residual without those beyond five standard deviations."""
    cdef const double[::1] y = targets, f = predictions
    cdef Py_ssize_t i, l = y.shape[0], dropped = 0
    cdef double mae = 0, std, kept = 0
    for i in range(l):
        mae += fabs(y[i] - f[i])
    mae /= l
    std = sqrt(2 * mae * mae)
    for i in range(l):
        if fabs(y[i] - f[i]) > 5 * std:
            dropped += 1
        else:
            kept += fabs(y[i] - f[i])
    return kept / (l - dropped)
