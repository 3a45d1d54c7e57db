"""Who is in the margin: what happens at a breakpoint, and exchanges where columns depend on each other.

Where the column of a variable whose V meets its level depends on those of M (duplicate rows, a linear kernel with more
members than it has rank), there is a null direction, K u = 0 and sum u = 0 in each group: beta moves along it at no cost,
V stays, until a member of M meets a bound and makes way, or the variable itself does (``exchange``). So no ridge is added
to K.
"""

from libc.math cimport fabs
from libc.stdint cimport int32_t

from libsvmx._core.buffers import zeros
from libsvmx._core.vectors cimport svmx_axpy
from libsvmx._solvers.path.margin_factor cimport (
    add_margin_rows, append_to_margin, border_margin, clear_margin, remove_from_margin)
from libsvmx._solvers.path.motion cimport Motion
from libsvmx._solvers.path.path_state cimport AT_LOWER, AT_UPPER, JOINING, LEAVING, MARGIN, PathState

from libsvmx._solvers.path.path_state import PathLost

cdef double ULP = 2.0 ** -52
# A Schur complement below so many roundings of the kernel values that it is made of is none.
cdef double SINGULAR = 8.0
# Entries of a null direction that may be rounding.
cdef double FAINT = 1e-8
# Members from which on they are factored at once.
cdef Py_ssize_t MANY_MEMBERS = 200
# |K'^-1| is estimated, hardly ever more than 10 times too low (Higham 2002, section 15.3).
cdef double SURELY = 100.0


cdef int breakpoint_event(Motion motion, PathState s, Py_ssize_t v) except -1 nogil:
    """A line ends at ``v``, which changes sets: a member of M goes to the bound it has met, another joins M."""
    cdef bint upper
    cdef double rate
    motion.breakpoints += 1
    if s.where[v] == MARGIN:
        upper = s.upper[v] - s.beta[v] < s.beta[v] - s.lower[v]
        remove_from_margin(s, v)
        return motion.fix_at_bound(v, upper)
    rate = motion.dlinear[v] - motion.dF[v // s.per_row] - motion.dlevel[s.group[v]]
    if s.where[v] == JOINING:
        motion.stop_moving(v)
        if not s.is_inside(v):
            # at once: its beta is optimal where it is
            s.assign_bound(v)
            return 0
    return enter_margin(motion, s, v, rate)


cdef int enter_margin(Motion motion, PathState s, Py_ssize_t v, double rate) except -1 nogil:
    """A variable with V at its level, whose V would move away from there at ``rate``, joins the margin."""
    cdef double schur = border_margin(s, v)
    if motion.velocity[v] != 0.0:
        motion.stop_moving(v)
    if is_nonsingular(s, schur):
        append_to_margin(s, v, schur)
        return 0
    with gil:
        return exchange(motion, v, 1.0 if rate > 0 else -1.0)


cdef bint is_nonsingular(PathState s, double schur) except -1 nogil:
    """Whether the Schur complement of ``border_margin`` is more than rounding; ``null`` becomes K'_MM^-1 K'_Mv.

    It is u'K'u with u = (1, -null), so rounding of K' is seen through (sum |u|)^2.
    """
    cdef Py_ssize_t k, m = s.factor.size
    cdef double mass = 1.0
    for k in range(m):
        s.null[k] = s.column[k]
    s.factor.backward(&s.null[0])
    for k in range(m):
        mass += fabs(s.null[k])
    mass *= SINGULAR * ULP * (s.largest + s.shift) * mass
    if schur < -mass:
        with gil:
            raise PathLost("the kernel matrix is not positive semidefinite")
    return schur > mass


cdef int exchange(Motion motion, Py_ssize_t v, double sign) except -1:
    """Move along the null direction u_v = 1, u_M = -null, until ``v`` or a member meets a bound.

    V cannot tell members and ``v`` apart by more than u, sum u_j V_j: after the exchange the member that makes
    way moves to the side of the level that its bound asks for, as ``v`` would have.
    """
    cdef PathState s = motion.state
    cdef Py_ssize_t w, blocking
    cdef double u, length, schur
    while True:
        motion.exchanges += 1
        motion.tick(s.factor.size * s.factor.size + s.n)
        blocking = first_blocking(motion, v, sign, &length)
        if length > 0.0:
            move_along_null(motion, v, sign, length)
        if blocking < 0:
            return motion.fix_at_bound(v, sign > 0)
        w, u = s.member[blocking], -sign * s.null[blocking]
        remove_from_margin(s, w)
        motion.fix_at_bound(w, u > 0)
        schur = border_margin(s, v)
        if is_nonsingular(s, schur):
            append_to_margin(s, v, schur)
            return 0


cdef Py_ssize_t first_blocking(Motion motion, Py_ssize_t v, double sign, double *length) noexcept:
    """The place of the member that meets a bound first along the null direction, -1 if ``v`` does, and how far it is.

    Of those that meet one within ``near_bound`` of the first, the fastest (Harris' ratio test).
    """
    cdef PathState s = motion.state
    cdef Py_ssize_t k, w, m = s.factor.size, blocking = -1
    cdef double room, u, fastest = FAINT, nearest = room_of(s, v, sign)
    for k in range(m):
        w = s.member[k]
        u = -sign * s.null[k]
        if fabs(u) <= FAINT:
            continue
        room = room_of(s, w, u) + motion.near_bound(w)
        if room < nearest * fabs(u):
            nearest = room / fabs(u)
            blocking = k
    length[0] = nearest
    if blocking >= 0:
        for k in range(m):
            u = -sign * s.null[k]
            room = room_of(s, s.member[k], u)
            if fabs(u) > fastest and room <= nearest * fabs(u):
                blocking, fastest, length[0] = k, fabs(u), room / fabs(u)
    return blocking


cdef inline double room_of(PathState s, Py_ssize_t v, double u) noexcept nogil:
    """How far a variable is from the bound that it nears in direction ``u``."""
    return max(s.upper[v] - s.beta[v] if u > 0 else s.beta[v] - s.lower[v], 0.0)


cdef int move_along_null(Motion motion, Py_ssize_t v, double sign, double length) except -1:
    """beta of the margin and of ``v`` moves by ``length`` along the null direction; F follows what rounding makes of it."""
    cdef PathState s = motion.state
    cdef Py_ssize_t k, w, m = s.factor.size
    cdef double beta
    for k in range(m):
        # those too faint to block may be at a bound, and stay there
        w = s.member[k]
        beta = min(max(s.beta[w] - sign * length * s.null[k], s.lower[w]), s.upper[w])
        s.dbeta[k] = beta - s.beta[w]
        s.beta[w] = beta
    s.beta[v] += sign * length
    add_margin_rows(s, &s.dbeta[0], s.active, &s.F[0])
    svmx_axpy(s.active, sign * length, s.row(<int32_t>(v // s.per_row)), &s.F[0])
    s.drift += ULP * s.largest * (length * (m + 1) + fabs(s.beta[v]))
    return 0


cdef int gather_margin(Motion motion) except -1:
    """The margin anew: variables within their bounds, exchanged while their columns depend on each other."""
    cdef PathState s = motion.state
    cdef Py_ssize_t v, n_members = 0, m = s.per_row * s.n
    cdef double schur
    clear_margin(s)
    for v in range(m):
        if s.where[v] == LEAVING:
            continue
        if motion.is_free(v):
            s.assign(v, MARGIN)
            n_members += 1
        elif s.beta[v] <= s.lower[v] + motion.near_bound(v):
            s.set_beta(v, s.lower[v])
            s.assign(v, AT_LOWER)
        else:
            s.set_beta(v, s.upper[v])
            s.assign(v, AT_UPPER)
    if n_members >= MANY_MEMBERS:
        factor_at_once(motion, n_members)
    for v in range(m):
        if s.where[v] == MARGIN and s.place[v] < 0:
            schur = border_margin(s, v)
            if is_nonsingular(s, schur):
                append_to_margin(s, v, schur)
            else:
                exchange(motion, v, 1.0)
            motion.tick(s.factor.size * s.factor.size)
    return 0


cdef int factor_at_once(Motion motion, Py_ssize_t n_wanted) except -1:
    """Those that are to be members join by one call of LAPACK, but for those that nearly depend on others: these are left
    to be joined one by one, and so are all, if the rest is too near to singular.

    The null vector of each, as of ``is_nonsingular``, has sum |u| <= L_jj (|M| |K'^-1|)^1/2, so each Schur complement
    L_jj^2 is more than rounding where SINGULAR ULP (largest + shift) |M| |K'^-1| < 1.
    """
    cdef PathState s = motion.state
    cdef Py_ssize_t k, q, v
    cdef const double *K
    cdef double[::1, :] values
    # most paths have small margins, and these take as long to load as many of them
    import numpy as np

    from libsvmx._core.blas import one_blas_thread
    from libsvmx._core.dense import factor_and_inverse_norm, independent_rows, part
    wanted_ = zeros("i", n_wanted)
    cdef int32_t[::1] wanted = wanted_
    matrix = np.empty((n_wanted, n_wanted), order="F")
    values = matrix
    k = 0
    for v in range(s.per_row * s.n):
        if s.where[v] == MARGIN:
            wanted[k] = <int32_t>v
            k += 1
    for k in range(n_wanted):
        K = s.row(<int32_t>(wanted[k] // s.per_row))
        for q in range(n_wanted):
            values[q, k] = K[wanted[q] // s.per_row] + (s.shift if s.group[wanted[q]] == s.group[wanted[k]] else 0.0)
        motion.tick(n_wanted)
    with one_blas_thread():
        factor, inverse_norm = factor_and_inverse_norm(part(matrix, None, motion.control), motion.control)
        if not are_members(motion, inverse_norm, n_wanted):
            del factor
            chosen = independent_rows(matrix, motion.control)
            if len(chosen) in (0, n_wanted):
                return 0
            factor, inverse_norm = factor_and_inverse_norm(part(matrix, chosen, motion.control), motion.control)
            if not are_members(motion, inverse_norm, len(chosen)):
                return 0
            wanted = np.asarray(wanted_)[chosen]
    del matrix
    values = None  # so that two are the most there are at a time
    s.make_room_in_margin(wanted.shape[0])
    s.factor.load(factor)
    for k in range(wanted.shape[0]):
        v = wanted[k]
        s.member[k], s.place[v] = <int32_t>v, <int32_t>k
        s.rows.pin(<int32_t>(v // s.per_row))
    return 0


cdef bint are_members(Motion motion, double inverse_norm, Py_ssize_t n) noexcept:
    """Whether all Schur complements of the n rows of a K' with such an inverse are more than rounding."""
    cdef PathState s = motion.state
    return SURELY * SINGULAR * ULP * (s.largest + s.shift) * n * inverse_norm < 1.0
