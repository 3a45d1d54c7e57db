"""The two passes over all active variables that an iteration of SMO makes, cut up for several threads if they are long.

Each part finds what a pass over its positions alone would find, and joining the parts in their order gives what one pass
gives: the last position wins a tie. So nothing depends on the threads.
"""

from libc.math cimport HUGE_VAL
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free

from libsvmx._core.buffers import zeros
from libsvmx._core.smo_steps cimport SVMX_SPAN, svmx_pairing, svmx_partner, svmx_update_max_violator
from libsvmx._core.thread_pool cimport ThreadPool

# A part has about so many positions at least: half a microsecond of work, a few times a handing over.
cdef Py_ssize_t LEAST_PART = 8 * SVMX_SPAN


cdef class Scans:
    """Scans(n, pool): passes over up to n positions, by the threads of ``pool``."""

    def __cinit__(self, Py_ssize_t n, ThreadPool pool):
        self.pool, self.tops = pool, zeros("f", n // SVMX_SPAN + 1)
        self.parts = <Part *>calloc(pool.n, sizeof(Part))
        if self.parts == NULL:
            raise MemoryError("threads of a solve")

    def __dealloc__(self):
        free(self.parts)

    cdef int64_t update_max_violator(self, Py_ssize_t n, double *V, const float *K_i, const float *K_j, double dbeta_i,
                                     double dbeta_j, const float *up, double *maximum) noexcept nogil:
        """V -= K_i dbeta_i + K_j dbeta_j; returns the last position of the largest V + up, -1 if there is none."""
        if self.cut(n) == 1:
            return svmx_update_max_violator(n, V, K_i, K_j, dbeta_i, dbeta_j, up, maximum)
        self.V, self.K_i, self.K_j, self.up, self.dbeta_i, self.dbeta_j = V, K_i, K_j, up, dbeta_i, dbeta_j
        self.pool.run_short(_update_part, <void *>self, self.n_parts)
        return self.join(maximum)

    cdef int64_t partner(self, const svmx_pairing *pair, Py_ssize_t n, double eps, double *largest,
                         double *gap) noexcept nogil:
        """The last position of the largest gain as a partner of i, -1 if there is none; see svmx_partner."""
        cdef Py_ssize_t k
        if self.cut(n) == 1:
            return svmx_partner(pair, n, eps, &self.tops[0], largest, gap)
        self.pair, self.eps = pair, eps
        self.pool.run_short(_partner_of_part, <void *>self, self.n_parts)
        gap[0] = self.parts[0].gap
        for k in range(1, self.n_parts):
            gap[0] = max(gap[0], self.parts[k].gap)
        return self.join(largest)

    cdef Py_ssize_t cut(self, Py_ssize_t n) noexcept nogil:
        """Into how many parts n positions are cut from now on."""
        self.n, self.n_parts = n, max(1, min(<Py_ssize_t>self.pool.n, n // LEAST_PART))
        return self.n_parts

    cdef Py_ssize_t begin(self, int64_t part) noexcept nogil:
        """Where a part begins, and the one before ends: at a multiple of SVMX_SPAN, or behind the last position."""
        return self.n if part == self.n_parts else self.n // SVMX_SPAN * part // self.n_parts * SVMX_SPAN

    cdef int64_t join(self, double *largest) noexcept nogil:
        """The last position of the largest value of all parts."""
        cdef int64_t found = -1
        cdef Py_ssize_t k
        largest[0] = -HUGE_VAL
        for k in range(self.n_parts):
            if self.parts[k].found >= 0 and self.parts[k].largest >= largest[0]:
                found, largest[0] = self.parts[k].found, self.parts[k].largest
        return found

    cdef void update_part(self, int64_t number) noexcept nogil:
        cdef Part *part = &self.parts[number]
        cdef Py_ssize_t begin = self.begin(number)
        part.found = svmx_update_max_violator(self.begin(number + 1) - begin, self.V + begin, self.K_i + begin, self.K_j + begin,
                                              self.dbeta_i, self.dbeta_j, self.up + begin, &part.largest)
        part.found += begin if part.found >= 0 else 0

    cdef void partner_of_part(self, int64_t number) noexcept nogil:
        cdef Part *part = &self.parts[number]
        cdef Py_ssize_t begin = self.begin(number)
        cdef svmx_pairing pair = self.pair[0]
        pair.V += begin
        pair.QD += begin
        pair.low += begin
        pair.K += begin
        part.found = svmx_partner(&pair, self.begin(number + 1) - begin, self.eps, &self.tops[0] + begin // SVMX_SPAN,
                                  &part.largest, &part.gap)
        part.found += begin if part.found >= 0 else 0


cdef void _update_part(void *scans, int64_t number) noexcept nogil:
    (<Scans>scans).update_part(number)


cdef void _partner_of_part(void *scans, int64_t number) noexcept nogil:
    (<Scans>scans).partner_of_part(number)
