"""The matrix of the margin: which variables are its rows, and its Cholesky factor.

Members of the margin M, whose V are at the level of their group, move together. Their matrix is K_MM bordered by the sum
of each group. Adding one number to every kernel value within a group changes V of all its variables alike, since the sum
of their beta is fixed, so the border can be had by

    K'_MM = K_MM + shift sum_g e_g e_g',      x'K'x = x'Kx + shift sum_g (e_g'x)^2,      e_g = 1 in group g, else 0

which is positive definite whenever the bordered matrix is nonsingular and K positive semidefinite: one Cholesky factor,
also where K_MM itself is singular (a linear kernel with |M| = d + 1).
"""

from libc.stdint cimport int32_t
from libc.string cimport memcpy

from libsvmx._core.vectors cimport SVMX_TOGETHER, svmx_add_rows
from libsvmx._solvers.path.path_state cimport MARGIN, PathState

from libsvmx._core.buffers import zeros

cdef double ULP = 2.0 ** -52
# The shift is not far from the kernel values in size: within this factor.
cdef double SAME_SIZE = 64.0


cdef double border_margin(PathState s, Py_ssize_t v) except? -1.0 nogil:
    """The Schur complement of a variable that may join; ``column`` becomes L^-1 of its column of K'."""
    cdef Py_ssize_t k
    cdef const double *K
    if s.factor.size + 2 > s.member.shape[0] or s.factor.size + 1 > s.factor.room:
        with gil:
            s.make_room_in_margin()
    K = s.row(<int32_t>(v // s.per_row))
    for k in range(s.factor.size):
        s.column[k] = K[s.member[k] // s.per_row] + (s.shift if s.group[s.member[k]] == s.group[v] else 0.0)
    return s.factor.border(&s.column[0], K[v // s.per_row] + s.shift)


cdef void append_to_margin(PathState s, Py_ssize_t v, double schur) noexcept nogil:
    """The variable of ``border_margin`` joins, with its Schur complement."""
    s.member[s.factor.size], s.place[v] = <int32_t>v, <int32_t>s.factor.size
    s.assign(v, MARGIN)
    s.factor.append(&s.column[0], schur)
    s.rows.pin(<int32_t>(v // s.per_row))


cdef void remove_from_margin(PathState s, Py_ssize_t v) noexcept nogil:
    """A member leaves; where it is then is up to the caller."""
    cdef Py_ssize_t k = s.place[v]
    s.factor.remove(k)
    s.place[v] = -1
    while k < s.factor.size:
        s.member[k] = s.member[k + 1]
        s.place[s.member[k]] = <int32_t>k
        k += 1
    s.rows.unpin(<int32_t>(v // s.per_row))


cdef void clear_margin(PathState s) noexcept nogil:
    """No member is left; where they are then is up to the caller."""
    cdef Py_ssize_t k
    for k in range(s.factor.size):
        s.place[s.member[k]] = -1
        s.rows.unpin(<int32_t>(s.member[k] // s.per_row))
    s.factor.size = 0


cdef int add_margin_rows(PathState s, const double *coef, Py_ssize_t n, double *out) except -1 nogil:
    """out += sum over the margin of coef K, over the first n rows.

    In an order that does not depend on which rows are kept: a path from the same state has the same bits whatever paths
    went before. Rows for which there is no room are computed as their group needs them.
    """
    cdef Py_ssize_t k, count = 0, n_computed = 0
    cdef int32_t p
    cdef const double *K
    cdef double *kept_coef = &s.ones[0]  # scratch
    cdef double *computed = NULL
    for k in range(s.factor.size):
        if coef[k] == 0.0:
            continue
        p = <int32_t>(s.member[k] // s.per_row)
        K = s.row(p)  # a member is pinned: valid on, if it is kept
        if s.rows.kept(p) == NULL:
            if computed == NULL:
                computed = room_for(s, SVMX_TOGETHER * n)
            memcpy(computed + n_computed * n, K, n * sizeof(double))
            K = computed + n_computed * n
            n_computed += 1
        kept_coef[count], s.margin_rows[count] = coef[k], K
        count += 1
        if n_computed and count % SVMX_TOGETHER == 0:
            svmx_add_rows(n, count, kept_coef, s.margin_rows, out)
            count = n_computed = 0
    if count:
        svmx_add_rows(n, count, kept_coef, s.margin_rows, out)
    return 0


cdef double *room_for(PathState s, Py_ssize_t n) except NULL nogil:
    """Scratch for so many kernel values, kept for the next time."""
    if s.computed.shape[0] < n:
        with gil:
            s.computed = zeros("d", n)
    return &s.computed[0]


cdef int rescale_shift(PathState s) except -1:
    """A shift of the size of the kernel values, which may have become others; with it the factor is another."""
    cdef Py_ssize_t v
    if s.largest == 0.0 or 1.0 / SAME_SIZE < s.shift / s.largest < SAME_SIZE:
        return 0
    members = [s.member[v] for v in range(s.factor.size)]
    s.shift = s.largest
    clear_margin(s)
    for v in members:
        append_to_margin(s, v, max(border_margin(s, v), ULP * s.largest))
    return 0
