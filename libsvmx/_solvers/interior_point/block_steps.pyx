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

from libc.string cimport memcpy

from libsvmx._core.dispatch cimport (
    svmx_dot, svmx_interior_corrector, svmx_interior_direction, svmx_interior_direction_of, svmx_interior_move,
    svmx_interior_residuals, svmx_interior_right_side, svmx_interior_rows, svmx_interior_sides, svmx_sum)

import numpy as np

from libsvmx._core.stopping import NOBODY
from libsvmx._solvers.interior_point.constraint_reduction import RankedClass, quantile_sketch
from libsvmx._solvers.interior_point.replies import DataSums, NormalSums, RatioTest, Residuals, RightHandSide

# Values of an iterate per row: the point, residuals, and three vectors to be multiplied by X'.
cdef enum:
    ALPHA, U, XI, S, Z, R_S, R_U, Y_ALPHA, INVERSE, SIGNED, VALUES
# The first of these are the point; a direction has the same order.
cdef enum:
    POINT = R_S

# Those that are attributes of an iterate.
NAMED = {"alpha": ALPHA, "u": U, "xi": XI, "s": S, "z": Z, "r_s": R_S, "r_u": R_U, "inverse": INVERSE}


cdef class RowBlock:
    """RowBlock(rows, y, upper, linear, asking=NOBODY): rows of the problem.

    Parameters
    ----------
    rows : FeatureRows
    y, upper : arrays of float64, shape (m,)      +1 or -1; upper bounds > 0, the C of each row
    linear : array of float64, shape (m,)         y of C-SVC; of epsilon-SVR target - epsilon where y = 1, else
        target + epsilon, about 1 in size
    asking : Token         asked by long steps whether to stop
    """

    cdef readonly object rows, y, upper, linear, asking
    cdef readonly Py_ssize_t m
    cdef const double[::1] of_y, of_upper, of_linear

    def __init__(self, rows, y, upper, linear, asking=NOBODY):
        self.rows, self.y, self.upper, self.linear, self.asking = rows, y, upper, linear, asking
        self.of_y, self.of_upper, self.of_linear = y, upper, linear
        self.m = len(y)
        if not self.m == rows.m == len(upper) == len(linear):
            raise ValueError("vectors over rows differ in length")

    def __reduce__(self):
        return RowBlock, (self.rows, self.y, self.upper, self.linear, self.asking)


cdef class Iterate:
    """Iterate(alpha, u, xi, s, z): an iterate over the rows of a block.

    Attributes, all of shape (m,)
    ----------
    alpha, u, xi, s, z : ndarray      z = X w
    r_s, r_u, inverse : ndarray       (3.4), (3.3), and 1 / omega, once measured
    keys : ndarray or None            rows of smallest key enter the normal matrix
    correction : (ndarray, ndarray) or None      c_s / alpha, c_u / xi
    direction : tuple of ndarray, or None        d_alpha, d_u, d_xi, d_s, d_z
    """

    cdef object array, corrections, directions
    cdef readonly object keys
    cdef readonly Py_ssize_t m
    cdef const double[:, ::1] values, by_correction, by_direction

    def __init__(self, alpha, u, xi, s, z):
        array = np.full((VALUES, len(alpha)), np.nan)
        for k, own in enumerate((alpha, u, xi, s, z)):
            array[k] = own
        self.hold(array, None, None, None)

    cdef hold(self, array, corrections, directions, keys):
        self.array, self.corrections, self.directions, self.keys = array, corrections, directions, keys
        self.values = array
        self.m = self.values.shape[1]
        if corrections is not None:
            self.by_correction = corrections
        if directions is not None:
            self.by_direction = directions

    cdef int check(self, RowBlock block, bint directed) except -1:
        """Raise ValueError unless it fits the block, with a direction if ``directed``."""
        if self.m != block.m or self.m == 0:
            raise ValueError(f"an iterate over {self.m} rows for a block of {block.m}")
        if directed and self.directions is None:
            raise ValueError("an iterate without a direction")
        return 0

    cdef svmx_interior_sides sides(self):
        """r_s, r_u, Omega^-1, and the correction, if any."""
        cdef svmx_interior_sides found = svmx_interior_sides(
            &self.values[R_S, 0], &self.values[R_U, 0], &self.values[INVERSE, 0], NULL, NULL)
        if self.corrections is not None:
            found.c_s, found.c_u = &self.by_correction[0, 0], &self.by_correction[1, 0]
        return found

    def __getattr__(self, name):
        if name not in NAMED:
            raise AttributeError(f"an iterate has no {name}")
        return self.array[NAMED[name]]

    @property
    def correction(self):
        return None if self.corrections is None else tuple(self.corrections)

    @property
    def direction(self):
        return None if self.directions is None else tuple(self.directions)

    def __reduce__(self):
        return _iterate, (self.array, self.corrections, self.directions, self.keys)


def _iterate(array, corrections, directions, keys):
    cdef Iterate found = Iterate.__new__(Iterate)
    found.hold(array, corrections, directions, keys)
    return found


cdef svmx_interior_rows rows_at(RowBlock block, const double[:, ::1] values):
    return svmx_interior_rows(
        block.m, &block.of_y[0], &values[ALPHA, 0], &values[U, 0], &values[XI, 0], &values[S, 0])


def begin(RowBlock block, iterate):
    """A start invariant to the scale of C: w = 0, rho = 0, alpha = u = upper/2, xi = s = 2.

    The paper's alpha = u = 2 is this for upper = 4; with alpha + u = upper, r_u = 0.
    """
    cdef Py_ssize_t m = block.m, positive = 0, k
    array = np.empty((VALUES, m))
    array[POINT:] = np.nan
    cdef double[:, ::1] v = array
    for k in range(m):
        positive += block.of_y[k] > 0
        v[ALPHA, k] = v[U, k] = block.of_upper[k] / 2
        v[XI, k] = v[S, k] = 2.0
        v[Z, k] = 0.0
    sums = DataSums((positive, m - positive), block.rows.squares(), svmx_sum(m, &block.of_upper[0]), block.rows.nnz)
    return _iterate(array, None, None, None), sums


def net(rows, alpha):
    """alpha minus the smaller one of the two variables of a row, which would cancel with a large rounding error."""
    if rows.unit == 1:
        return alpha
    pairs = alpha.reshape(-1, 2)
    return (pairs - pairs.min(axis=1, keepdims=True)).reshape(-1)


def measure(RowBlock block, Iterate iterate, double rho):
    """Residuals, Omega^-1, and the right-hand side of the predictor."""
    iterate.check(block, False)
    array = np.empty((VALUES, block.m))
    array[:POINT] = iterate.array[:POINT]
    return measured(block, array, rho)


def move(RowBlock block, Iterate iterate, double step, double rho):
    """Take a step along the direction, and measure. ``rho``: after the step."""
    iterate.check(block, True)
    array = np.empty((VALUES, block.m))
    cdef double[:, ::1] to = array
    with nogil:
        svmx_interior_move(POINT * block.m, step, &iterate.values[0, 0], &iterate.by_direction[0, 0], &to[0, 0])
    return measured(block, array, rho)


cdef tuple measured(RowBlock block, array, double rho):
    """The iterate of an array with the point set, and its residuals."""
    cdef double[:, ::1] v = array
    cdef Py_ssize_t m = block.m
    cdef svmx_interior_rows at = rows_at(block, v)
    cdef svmx_interior_sides sides = svmx_interior_sides(&v[R_S, 0], &v[R_U, 0], &v[INVERSE, 0], NULL, NULL)
    cdef double largest[2]
    cdef double complementarity, r_alpha, slack_loss, hinge_loss, inverse, r_omega
    with nogil:
        svmx_interior_residuals(&at, rho, &v[Z, 0], &block.of_upper[0], &block.of_linear[0], &v[R_S, 0], &v[R_U, 0],
                                &v[INVERSE, 0], &v[Y_ALPHA, 0], &v[SIGNED, 0], largest)
        hinge_loss = svmx_dot(m, &block.of_upper[0], &v[SIGNED, 0])  # it held the hinge losses
        svmx_interior_right_side(&at, &sides, &v[SIGNED, 0])
        complementarity = svmx_dot(m, at.s, at.alpha) + svmx_dot(m, at.xi, at.u)
        r_alpha = svmx_sum(m, &v[Y_ALPHA, 0])
        slack_loss = svmx_dot(m, &block.of_upper[0], at.xi)
        inverse = svmx_sum(m, &v[INVERSE, 0])
        r_omega = svmx_sum(m, &v[SIGNED, 0])
    reply = Residuals(complementarity, r_alpha, slack_loss, hinge_loss, inverse, r_omega, (largest[0], largest[1]),
                      block.rows.transposed(array[Y_ALPHA:]))
    return _iterate(array, None, None, None), reply


def rank_rows(RowBlock block, Iterate iterate, rule, double least, double near, draw):
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
    return _iterate(iterate.array, iterate.corrections, iterate.directions, keys), reply


def normal_sums(RowBlock block, Iterate iterate, thresholds):
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


def curvature(RowBlock block, Iterate iterate, v):
    """X'Omega^-1 X v over all rows, shape (n,)."""
    return iterate, block.rows.curvature(iterate.inverse, v)


def direct(RowBlock block, Iterate iterate, dw, double drho):
    """The direction over the rows for (dw, drho): (3.13) to (3.16)."""
    iterate.check(block, False)
    cdef svmx_interior_rows at = rows_at(block, iterate.values)
    cdef svmx_interior_sides sides = iterate.sides()
    cdef Py_ssize_t m = block.m
    cdef const double[::1] d_z = block.rows.times(dw)
    array = np.empty((POINT, m))
    cdef double[:, ::1] d = array
    cdef svmx_interior_direction out = svmx_interior_direction(&d[ALPHA, 0], &d[U, 0], &d[XI, 0], &d[S, 0])
    cdef double ratio, linear, quadratic
    with nogil:
        memcpy(&d[Z, 0], &d_z[0], m * sizeof(double))
        ratio = svmx_interior_direction_of(&at, &sides, drho, &d_z[0], &out)
        linear = (svmx_dot(m, at.s, out.alpha) + svmx_dot(m, at.alpha, out.s)
                  + svmx_dot(m, at.xi, out.u) + svmx_dot(m, at.u, out.xi))
        quadratic = svmx_dot(m, out.s, out.alpha) + svmx_dot(m, out.xi, out.u)
    return _iterate(iterate.array, iterate.corrections, array, iterate.keys), RatioTest(ratio, linear, quadratic)


def correct(RowBlock block, Iterate iterate, double sigma_mu):
    """The right-hand side of the corrector, (3.9) and (3.10)."""
    iterate.check(block, True)
    cdef svmx_interior_rows at = rows_at(block, iterate.values)
    cdef const double[:, ::1] d = iterate.by_direction
    cdef svmx_interior_direction by = svmx_interior_direction(
        <double *>&d[ALPHA, 0], <double *>&d[U, 0], <double *>&d[XI, 0], <double *>&d[S, 0])
    corrections = np.empty((2, block.m))
    cdef double[:, ::1] c = corrections
    with nogil:
        svmx_interior_corrector(&at, &by, sigma_mu, &c[0, 0], &c[1, 0])
    cdef Iterate found = _iterate(iterate.array, corrections, None, iterate.keys)
    cdef svmx_interior_sides sides = found.sides()
    array = np.empty((1, block.m))
    cdef double[:, ::1] to = array
    cdef double r_omega
    with nogil:
        svmx_interior_right_side(&at, &sides, &to[0, 0])
        r_omega = svmx_sum(block.m, &to[0, 0])
    return found, RightHandSide(r_omega, block.rows.transposed(array)[0])
