from libc.stdint cimport int8_t, int32_t

from libsvmx._kernels.gram cimport GramRows
from libsvmx._solvers.control cimport Control
from libsvmx._solvers.seeding.ato_path cimport AtoPath
from libsvmx._solvers.seeding.path_budget cimport PathBudget
from libsvmx._solvers.seeding.replacement cimport Replacement
from libsvmx._solvers.seeding.seeded_start cimport FoldStart
from libsvmx._solvers.seeding.start_rows cimport ValueRows
from libsvmx._train.formulation cimport Dual
from libsvmx._train.queue.tasks cimport Task, TaskList


cdef class QueueStarts:
    cdef TaskList todo
    cdef GramRows kernel_rows
    cdef Control control
    cdef FoldStart at
    cdef ValueRows rows
    cdef AtoPath path
    cdef Replacement replacement
    cdef Py_ssize_t last_task       # of whose margin the path has the factor; -1: of none
    cdef PathBudget budget
    cdef double[::1] V, origin      # of the rows of a task in the optimum from which it starts: V and beta
    cdef double[::1] leaving, before
    cdef int8_t[::1] entering
    cdef int8_t[::1] is_new         # by row of ``kernel_values``: it has come back into the fold
    cdef int32_t[::1] new           # T
    cdef Py_ssize_t n_new
    cdef int32_t[::1] free          # rows that may take what rows that left had
    cdef Py_ssize_t n_free
    cdef void look_up(self, Task *task) noexcept nogil
    cdef void begin_at_optimum(self, Task *task, const int32_t *rows, double *start) noexcept nogil
    cdef const int32_t *left_of(self, const Task *task) noexcept nogil
    cdef double beta_left(self, const Task *task, Py_ssize_t k) noexcept nogil
    cdef bint stands(self, const Task *task) noexcept nogil
    cdef int make(self, Task *task, const int32_t *rows, Dual *dual, double *scores) except -1 nogil
    cdef int leave_to_next(self, const Task *task, const int32_t *rows, const Dual *dual, const double *beta,
                           const double *scores) except -1 nogil
    cdef const float *row_of(self, int32_t row) noexcept nogil
    cdef double worth_a_path(self, const Task *task, double most_work) noexcept nogil
    cdef int hand_on(self, const Task *task, const int32_t *left) except -1 nogil
    cdef int describe(self, const Task *task, const int32_t *rows, Dual *dual) except -1 nogil
    cdef bint make_feasible(self) except -1 nogil
    cdef int hand_over_all(self, const Task *task, const int32_t *left) except -1 nogil
    cdef void hand_over(self, const float *K, double beta) noexcept nogil
    cdef Py_ssize_t nearest(self, const float *K, bint growing) noexcept nogil
    cdef int replace_each(self, const Task *task, const int32_t *left) except -1 nogil
