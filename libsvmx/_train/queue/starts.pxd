from libc.stdint cimport int8_t, int32_t, int64_t

from libsvmx._core.stopping cimport Control
from libsvmx._kernels.sharedrows cimport GramRows
from libsvmx._solvers.dual cimport Dual
from libsvmx._solvers.seeding.fold_change cimport FoldStart
from libsvmx._solvers.seeding.paying cimport PathKind, StartKind, Taken
from libsvmx._solvers.seeding.seeders cimport FoldSeeder
from libsvmx._train.queue.tasks cimport Parent, Task, TaskList


cdef class PairNumbers:
    cdef dict place             # index of each class
    cdef Py_ssize_t room        # classes
    cdef int64_t[::1] number    # (room, room)
    cdef places(self, labels)


cdef class QueueStarts:
    cdef TaskList todo
    cdef GramRows kernel_rows
    cdef Control control
    cdef FoldStart at
    cdef FoldSeeder seeder
    cdef Py_ssize_t last_task       # of a chain: the last one known to ``taken`` and the path's factor; -1: none
    cdef Taken taken                # by the earlier tasks of a chain
    cdef double[::1] V              # of the task's variables at the parent's optimum
    cdef const double *shared_from  # optimum of the factor that the paths of a star share
    cdef double drawn_out           # at a larger C: factor of the parent's beta
    cdef int8_t[::1] entering
    cdef int32_t[::1] left_column, sv_column, margin_column
    cdef double[::1] left_beta, sv_beta
    cdef bint begin(self, Task *task, const Dual *dual) noexcept nogil
    cdef void inherit(self, Task *task, const Task *former) noexcept nogil
    cdef bint stands(self, const Task *task, const Parent *parent) noexcept nogil
    cdef bint takes_over(self, Task *task, double *coefficients, double *beta, double *scores) noexcept nogil
    cdef int begin_larger(self, Task *task, const Dual *dual, double *scores) except -1 nogil
    cdef int add_new(self, const Task *task, const Dual *dual) except -1 nogil
    cdef void follow(self, const Task *task) noexcept nogil
    cdef double part_in_factor(self, const Task *task) noexcept nogil
    cdef PathKind kind_of_path(self, const Task *task) noexcept nogil
    cdef int share_factor(self, const Task *task) except -1 nogil
    cdef StartKind kind_of_start(self, const Task *task, double *limit) noexcept nogil
    cdef bint make(self, Task *task, const Dual *dual, double *scores) except -1 nogil
