"""Rows that a path goes on without.

On large data V of most variables is far from the level, and stays there. Rows whose variables would not meet it at their
first speed within ``FAR`` times the path are shrunk: rows are permuted so that the others come first, all loops go over
these, and at the end F of the rest is brought up to date (``unshrink``). What was shrunk wrongly is found by the KKT
conditions over all rows, and repaired.
"""

from libc.stdint cimport int32_t
from libc.string cimport memset

from libsvmx._core.buffers import zeros
from libsvmx._core.vectors cimport svmx_axpy
from libsvmx._solvers.path.motion cimport Motion
from libsvmx._solvers.path.path_state cimport PathState, swap_values

from libsvmx._solvers.path.path_state import copied

# Values K_:M from which on shrinking is tried; how far is far; and the share of rows left that makes it worth while.
cdef double MANY_VALUES = 4e5
cdef double FAR = 5.0
cdef double FEW = 0.8
# Repairs after which rows that were shrunk wrongly, and would be again, are the likely cause of the next one.
cdef int ENOUGH_REPAIRS = 1


cdef int shrink_if_many(Motion motion) except -1:
    """Go on with the rows whose variables are in the margin, move, or have their V not far from the level, if that pays."""
    cdef PathState s = motion.state
    cdef Py_ssize_t p, q, v, n_near = 0, n_pairs = 0
    if motion.bounds_move or motion.repairs >= ENOUGH_REPAIRS or s.factor.size * <double>s.n <= MANY_VALUES:
        return 0
    if s.has_empty_group():  # whose level may be anywhere
        return 0
    motion.direction()
    near_, pairs_ = bytearray(s.n), zeros("i", 2 * s.n)
    cdef unsigned char[::1] near = near_
    cdef int32_t[::1] pairs = pairs_
    for v in range(s.per_row * s.n):
        if is_near(motion, s, v):
            near[v // s.per_row] = 1
    for p in range(s.n):
        n_near += near[p]
    if n_near > FEW * s.n:
        return 0
    q = n_near
    for p in range(n_near):
        if not near[p]:
            while not near[q]:
                q += 1
            pairs[2 * n_pairs], pairs[2 * n_pairs + 1] = <int32_t>p, <int32_t>q
            n_pairs += 1
            q += 1
    for p in range(n_pairs):
        q = pairs[2 * p + 1]
        for v in range(s.per_row):
            swap_motion(motion, s.per_row * pairs[2 * p] + v, s.per_row * q + v)
        swap_values(motion.W, q, pairs[2 * p])
    s.swap_rows(&pairs[0], n_pairs)
    motion.start_beta = copied(s.beta, s.per_row * s.n)
    s.active = n_near
    return 0


cdef inline bint is_near(Motion motion, PathState s, Py_ssize_t v) noexcept:
    """Whether a variable is in the margin, moves, or might meet the level at its first speed."""
    cdef double speed = s.side[v] * (motion.dlinear[v] - motion.dF[v // s.per_row] - motion.dlevel[s.group[v]])
    cdef double distance = s.side[v] * (s.level[s.group[v]] - s.score(v))
    return (s.side[v] == 0.0 or motion.velocity[v] != 0.0 or motion.dlinear[v] != 0.0
            or FAR * speed > distance - motion.sharpness)


cdef void swap_motion(Motion motion, Py_ssize_t v, Py_ssize_t w) noexcept:
    """Two variables change places in the lists of the motion."""
    swap_values(motion.velocity, v, w)
    swap_values(motion.dlinear, v, w)
    if motion.final_linear is not None:
        swap_values(motion.final_linear, v, w)


cdef int unshrink(Motion motion) except -1:
    """F and W of the rows that were shrunk, from what beta has become meanwhile."""
    cdef PathState s = motion.state
    cdef Py_ssize_t p, v, begin = s.active, n = s.n - s.active
    cdef double change, velocity
    cdef const double *K
    if n == 0:
        return 0
    memset(&motion.W[begin], 0, n * sizeof(double))
    for p in range(begin):
        change = velocity = 0.0
        for v in range(s.per_row * p, s.per_row * (p + 1)):
            change += s.beta[v] - motion.start_beta[v]
            velocity += motion.velocity[v]
        if change == 0.0 and velocity == 0.0:
            continue
        K = s.row(<int32_t>p) + begin
        svmx_axpy(n, change, K, &s.F[begin])
        if velocity != 0.0:
            svmx_axpy(n, velocity, K, &motion.W[begin])
        motion.tick(n)
    s.active = s.n
    return 0
