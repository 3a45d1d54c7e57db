from libc.math cimport HUGE_VAL
from libc.stdint cimport int8_t, int32_t, int64_t


cdef class DualProblem:
    cdef readonly Py_ssize_t size
    cdef readonly int groups
    cdef readonly object linear
    cdef readonly object lower
    cdef readonly object upper
    cdef readonly object group
    cdef readonly object row
    cdef readonly object beta
    cdef readonly object scores
    cdef readonly bint rounded


cdef class DualSolution:
    cdef readonly object beta
    cdef readonly object scores
    cdef readonly double rho
    cdef readonly double r
    cdef readonly double objective
    cdef readonly int64_t iterations
    cdef readonly int64_t rows_computed
    cdef readonly int64_t values_computed
    cdef readonly int64_t subproblems
    cdef readonly int64_t fallbacks
    cdef readonly double work
    cdef readonly double reach
    cdef readonly object status
    cdef readonly str chosen
    cdef readonly double gap


# A dual problem for compiled loops.
cdef struct Dual:
    Py_ssize_t size     # variables: as many as rows, or twice as many in regression
    double *linear
    double *lower
    double *upper
    double *beta
    int8_t *group
    int32_t *row


# The certificate for compiled loops: begin, add_variable for each one of a group, then gap_of and level_of.
#
#     cdef Certificate found
#     begin(&found)
#     for v in range(n):
#         add_variable(&found, v, V[v], beta[v] < upper[v], beta[v] > lower[v], lower[v] < beta[v] < upper[v])
#     gap_of(&found) <= eps, level_of(&found), found.max_violator, found.min_violator

cdef struct Certificate:
    double highest              # max of V over I_up; -inf if empty
    double lowest               # min of V over I_low; inf if empty
    Py_ssize_t max_violator     # their first variables; -1: none
    Py_ssize_t min_violator
    double total                # sum of V over free variables, in order
    Py_ssize_t n_free


cdef enum BoundState:
    FIXED           # lower = upper
    AT_LOWER
    FREE
    AT_UPPER


cdef inline BoundState bound_state(double beta, double lower, double upper, double tolerance) noexcept nogil:
    """A coefficient within ``tolerance`` of a bound, or beyond it, is at the bound."""
    if lower >= upper:
        return FIXED
    if beta <= lower + tolerance:
        return AT_LOWER
    return AT_UPPER if beta >= upper - tolerance else FREE


cdef inline void begin(Certificate *found) noexcept nogil:
    found.highest, found.lowest, found.max_violator, found.min_violator = -HUGE_VAL, HUGE_VAL, -1, -1
    found.total, found.n_free = 0.0, 0


cdef inline void add_variable(Certificate *found, Py_ssize_t v, double V, bint can_grow, bint can_fall,
                              bint free) noexcept nogil:
    if can_grow and V > found.highest:
        found.highest, found.max_violator = V, v
    if can_fall and V < found.lowest:
        found.lowest, found.min_violator = V, v
    if free:
        found.total += V
        found.n_free += 1


cdef inline void certify(Certificate *found, Py_ssize_t n, const double *V, const float *up,
                         const float *low) noexcept nogil:
    """Begin, and add n variables; ``up``, ``low``: 0 in I_up, I_low, else infinite."""
    cdef Py_ssize_t v
    begin(found)
    for v in range(n):
        add_variable(found, v, V[v], up[v] == 0, low[v] == 0, up[v] == 0 and low[v] == 0)


cdef inline double gap_of(const Certificate *found) noexcept nogil:
    """The KKT gap: optimal to eps if <= eps; -inf if I_up or I_low is empty."""
    return found.highest - found.lowest


cdef inline double level_of(const Certificate *found) noexcept nogil:
    """Minus rho: the mean of V over free variables, else the middle of highest and lowest, or the only one of them."""
    if found.n_free:
        return found.total / found.n_free
    if found.max_violator < 0 and found.min_violator < 0:
        return 0.0
    if found.max_violator < 0 or found.min_violator < 0:
        return found.highest if found.min_violator < 0 else found.lowest
    return (found.highest + found.lowest) / 2


cdef double USUAL_EPS
cdef double score_rounding(double largest, double squares) noexcept nogil
cdef bint rounding_may_hide(double largest, double squares, double eps) noexcept nogil
cdef bint project_chosen(double *b, const double *low, const double *high, double missing, const int32_t *chosen,
                         Py_ssize_t count) except -1 nogil
cdef double grow(const Dual *dual, int groups, const double *beta, const double *V, double growth, double *start,
                 double *scores) noexcept nogil
cdef double width_of_rho(const Dual *dual, const double *beta, const double *V) noexcept nogil
