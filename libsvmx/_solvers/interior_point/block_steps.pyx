"""Steps of an interior-point iteration over a block of rows (Jung, O'Leary & Tits 2008, section 3).

    min 1/2 |w|^2 + upper'xi   s.t.  Y(Xw - rho e - l) + xi - s = 0,  xi, s >= 0   multipliers alpha of s, u of xi

The paper writes gamma for rho and tau for upper; its l, the linear term of the dual in beta = Y alpha, is y: Y y = e.
Vectors over rows stay with their block, which may be in another process or on another machine; sums over blocks have
the length of w, or are the normal matrix. A step takes a block and its iterate and returns a new iterate and a reply;
it changes nothing in place, so it can be repeated after the loss of a block.

Residuals (3.1)-(3.4) and, with r_sv and r_xiu the right-hand sides of complementarity (3.7)-(3.10),

    r_w = w - X'Y alpha,  r_alpha = y'alpha,  r_u = upper - alpha - u,  r_s = Y(Xw - rho e - l) + xi - s
    Omega = S/alpha + Xi/u,   rbar_u = r_u + r_xiu/xi,   r_Omega = r_s + r_sv/alpha - (xi/u) rbar_u
    d_alpha = -(r_Omega + Y(X dw - drho e)) / Omega                                                          (3.13)
    d_xi = -(xi/u)(rbar_u - d_alpha),  d_u = -(r_xiu + u d_xi)/xi,  d_s = -(r_sv + s d_alpha)/alpha      (3.14)-(3.16)

r_sv is written s alpha + c_s and r_xiu as xi u + c_u, with c = 0 for the predictor. The arithmetic is in passes over
the rows, _core/loops/interior_steps.c.
"""

from libsvmx._core.dispatch cimport (
    SVMX_ALPHA, SVMX_INVERSE, SVMX_POINT, SVMX_R_S, SVMX_R_U, SVMX_S, SVMX_SIGNED, SVMX_U, SVMX_VALUES, SVMX_XI,
    SVMX_Y_ALPHA, SVMX_Z, svmx_dot, svmx_interior_corrector, svmx_interior_direction, svmx_interior_move,
    svmx_interior_residuals, svmx_interior_right_side, svmx_sum)

import numpy as np

from libsvmx._core.stopping import NOBODY
from libsvmx._solvers.interior_point.constraint_reduction import RankedClass, quantile_sketch
from libsvmx._solvers.interior_point.replies import DataSums, NormalSums, RatioTest, Residuals, RightHandSide

# Vectors of an iterate that are attributes, by their place in its array.
NAMED = {"alpha": SVMX_ALPHA, "u": SVMX_U, "xi": SVMX_XI, "s": SVMX_S, "z": SVMX_Z, "r_s": SVMX_R_S, "r_u": SVMX_R_U,
         "inverse": SVMX_INVERSE}


class RowBlock:
    """RowBlock(rows, y, upper, linear, asking=NOBODY): m rows of the problem.

    Parameters
    ----------
    rows : FeatureRows
    y, upper : arrays of float64, shape (m,)      +1 or -1; upper bounds > 0, the C of each row
    linear : array of float64, shape (m,)         y of C-SVC; of epsilon-SVR target - epsilon where y = 1, else
        target + epsilon, about 1 in size
    asking : Token         asked by long steps whether to stop
    """

    def __init__(self, rows, y, upper, linear, asking=NOBODY):
        self.rows, self.y, self.upper, self.linear, self.asking, self.m = rows, y, upper, linear, asking, len(y)
        if not self.m == rows.m == len(upper) == len(linear):
            raise ValueError("vectors over rows differ in length")
        self.no_correction = np.zeros((2, self.m))  # of every predictor: new memory would take longer than its loops

    def __reduce__(self):
        return RowBlock, (self.rows, self.y, self.upper, self.linear, self.asking)


class Iterate:
    """Iterate(array, correction=None, direction=None, keys=None): over the m rows of a block.

    Attributes
    ----------
    array : ndarray, shape (SVMX_VALUES, m)
    alpha, u, xi, s, z : ndarray, shape (m,)       the point in it; z = X w
    r_s, r_u, inverse : ndarray, shape (m,)        (3.4), (3.3), and 1 / omega, once measured
    correction : ndarray, shape (2, m), or None    c_s / alpha, c_u / xi; None: 0, for the predictor
    direction : ndarray, shape (5, m), or None     d_alpha, d_u, d_xi, d_s, d_z
    keys : ndarray or None                         rows of smallest key enter the normal matrix
    """

    def __init__(self, array, correction=None, direction=None, keys=None):
        self.array, self.correction, self.direction, self.keys = array, correction, direction, keys

    def __getattr__(self, name):
        if name not in NAMED:
            raise AttributeError(f"an iterate has no {name}")
        return self.array[NAMED[name]]


def at_point(*point):
    """The iterate at alpha, u, xi, s and z, arrays of shape (m,)."""
    array = np.empty((SVMX_VALUES, len(point[0])))
    for k in range(SVMX_POINT):
        array[k] = point[k]
    array[SVMX_POINT:] = np.nan
    return Iterate(array)


def check(block, iterate, directed=False):
    """Raise ValueError unless the iterate fits the block, with a direction if ``directed``."""
    m = iterate.array.shape[1]
    if m != block.m or m == 0:
        raise ValueError(f"an iterate over {m} rows for a block of {block.m}")
    if directed and iterate.direction is None:
        raise ValueError("an iterate without a direction")


def begin(block, iterate):
    """A start invariant to the scale of C: w = 0, rho = 0, alpha = u = upper/2, xi = s = 2.

    The paper's alpha = u = 2 is this for upper = 4; with alpha + u = upper, r_u = 0.
    """
    cdef const double[::1] upper = block.upper
    half, two, positive = block.upper / 2, np.full(block.m, 2.0), int(np.count_nonzero(block.y > 0))
    sums = DataSums(positive, block.m - positive, block.rows.squares(), svmx_sum(block.m, &upper[0]), block.rows.nnz)
    return at_point(half, half, two, two, np.zeros(block.m)), sums


def net(rows, alpha):
    """alpha minus the smaller one of the two variables of a row, which would cancel with a large rounding error."""
    if rows.unit == 1:
        return alpha
    pairs = alpha.reshape(-1, 2)
    return (pairs - pairs.min(axis=1, keepdims=True)).reshape(-1)


def measure(block, iterate, double rho):
    """Residuals, Omega^-1, and the right-hand side of the predictor."""
    check(block, iterate)
    array = np.empty_like(iterate.array)
    array[:SVMX_POINT] = iterate.array[:SVMX_POINT]
    return measured(block, array, rho)


def move(block, iterate, double step, double rho):
    """Take a step along the direction, and measure. ``rho``: after the step."""
    check(block, iterate, True)
    array = np.empty_like(iterate.array)
    cdef const double[:, ::1] at = iterate.array, by = iterate.direction
    cdef double[:, ::1] to = array
    with nogil:
        svmx_interior_move(SVMX_POINT * to.shape[1], step, &at[0, 0], &by[0, 0], &to[0, 0])
    return measured(block, array, rho)


cdef tuple measured(block, array, double rho):
    """The iterate of an array with the point set, and its residuals."""
    cdef double[:, ::1] v = array
    cdef const double[:, ::1] c = block.no_correction
    cdef const double[::1] y = block.y, upper = block.upper, linear = block.linear
    cdef Py_ssize_t m = y.shape[0]
    cdef double largest[2]
    cdef double complementarity, r_alpha, slack_loss, hinge_loss, inverse, r_omega
    with nogil:
        svmx_interior_residuals(m, &y[0], &upper[0], &linear[0], rho, &v[0, 0], largest)
        hinge_loss = svmx_dot(m, &upper[0], &v[SVMX_SIGNED, 0])  # it holds the hinge losses
        svmx_interior_right_side(m, &y[0], &v[0, 0], &c[0, 0], &v[SVMX_SIGNED, 0])
        complementarity = (svmx_dot(m, &v[SVMX_S, 0], &v[SVMX_ALPHA, 0])
                           + svmx_dot(m, &v[SVMX_XI, 0], &v[SVMX_U, 0]))
        r_alpha = svmx_sum(m, &v[SVMX_Y_ALPHA, 0])
        slack_loss = svmx_dot(m, &upper[0], &v[SVMX_XI, 0])
        inverse = svmx_sum(m, &v[SVMX_INVERSE, 0])
        r_omega = svmx_sum(m, &v[SVMX_SIGNED, 0])
    reply = Residuals(complementarity, r_alpha, slack_loss, hinge_loss, inverse, r_omega, (largest[0], largest[1]),
                      block.rows.transposed(array[SVMX_Y_ALPHA:]))
    return Iterate(array), reply


def rank_rows(block, iterate, rule, double least, double near, draw):
    """Set the keys of the rows; replies q_L and a sketch of the keys for the classes +1 and -1.

    q_L counts rows with Omega^-1 >= ``least``, theta sqrt(mu) in (3.20); with the rule distance, those with alpha/s >=
    ``least`` or s <= ``near``. ``draw``: seed of random keys, for the first iteration.
    """
    if rule == "omega":
        needed = iterate.inverse >= least
        keys = -iterate.inverse
    else:
        needed = (iterate.alpha >= least * iterate.s) | (iterate.s <= near)
        keys = iterate.r_s + iterate.s
    if draw is not None:
        keys = np.random.default_rng(draw).random(block.m)
    reply = [
        RankedClass(int(np.count_nonzero(needed & members)), quantile_sketch(keys[members]))
        for members in (block.y > 0, block.y <= 0)
    ]
    return Iterate(iterate.array, iterate.correction, iterate.direction, keys), reply


def normal_sums(block, iterate, thresholds):
    """The sums over the rows Q with keys up to ``thresholds`` (of +1, of -1; None: all rows)."""
    weights, members = iterate.inverse, None
    if thresholds is not None:
        members = np.flatnonzero(iterate.keys <= np.where(block.y > 0, thresholds[0], thresholds[1]))
        if len(members) == block.m:
            members = None
        else:
            weights = weights[members]
    outer, ybar = block.rows.gram(members, weights, block.asking)
    cdef const double[::1] of_weights = weights
    cdef Py_ssize_t q = of_weights.shape[0]
    return iterate, NormalSums(outer, ybar, svmx_sum(q, &of_weights[0]) if q else 0.0, q)


def curvature(block, iterate, v):
    """X'Omega^-1 X v over all rows, shape (n,)."""
    return iterate, block.rows.curvature(iterate.inverse, v)


def direct(block, iterate, dw, double drho):
    """The direction over the rows for (dw, drho): (3.13) to (3.16)."""
    check(block, iterate)
    direction = np.empty((SVMX_POINT, block.m))
    direction[SVMX_Z] = block.rows.times(dw)
    cdef const double[:, ::1] at = iterate.array
    cdef const double[:, ::1] c = block.no_correction if iterate.correction is None else iterate.correction
    cdef const double[::1] y = block.y
    cdef double[:, ::1] d = direction
    cdef Py_ssize_t m = y.shape[0]
    cdef double ratio, linear, quadratic
    with nogil:
        ratio = svmx_interior_direction(m, &y[0], &at[0, 0], &c[0, 0], drho, &d[0, 0])
        linear = (svmx_dot(m, &at[SVMX_S, 0], &d[SVMX_ALPHA, 0]) + svmx_dot(m, &at[SVMX_ALPHA, 0], &d[SVMX_S, 0])
                  + svmx_dot(m, &at[SVMX_XI, 0], &d[SVMX_U, 0]) + svmx_dot(m, &at[SVMX_U, 0], &d[SVMX_XI, 0]))
        quadratic = svmx_dot(m, &d[SVMX_S, 0], &d[SVMX_ALPHA, 0]) + svmx_dot(m, &d[SVMX_XI, 0], &d[SVMX_U, 0])
    return Iterate(iterate.array, iterate.correction, direction, iterate.keys), RatioTest(ratio, linear, quadratic)


def correct(block, iterate, double sigma_mu):
    """The right-hand side of the corrector, (3.9) and (3.10)."""
    check(block, iterate, True)
    correction, array = np.empty((2, block.m)), np.empty((1, block.m))
    cdef const double[:, ::1] at = iterate.array, d = iterate.direction
    cdef const double[::1] y = block.y
    cdef double[:, ::1] c = correction, to = array
    cdef Py_ssize_t m = y.shape[0]
    cdef double r_omega
    with nogil:
        svmx_interior_corrector(m, &at[0, 0], &d[0, 0], sigma_mu, &c[0, 0])
        svmx_interior_right_side(m, &y[0], &at[0, 0], &c[0, 0], &to[0, 0])
        r_omega = svmx_sum(m, &to[0, 0])
    return (Iterate(iterate.array, correction, None, iterate.keys),
            RightHandSide(r_omega, block.rows.transposed(array)[0]))
