from libc.stdint cimport int8_t, int32_t, int64_t

from libsvmx._core.tickets cimport svmx_countdown
from libsvmx._kernels.sharedrows cimport GramRows, KernelValues
from libsvmx._problem.dual cimport Dual
from libsvmx._solvers.control cimport Control
from libsvmx._solvers.seeding.ato_path cimport StartBudget
from libsvmx._solvers.seeding.fold_change cimport FoldStart, ValueRows
from libsvmx._solvers.seeding.seeders cimport FoldSeeder, SeederKind
from libsvmx._train.formulation cimport Formulation, Recovered


cdef struct Task:
    Py_ssize_t first            # in ``rows``: its rows, then those held out
    Py_ssize_t n
    Py_ssize_t n_positive       # the rows of target +1 come first; -1: it has targets of its own
    Py_ssize_t targets          # of these, in ``targets``
    Py_ssize_t n_held
    Py_ssize_t n_variables      # one for each row, or two
    Py_ssize_t parent           # the task from whose optimum it starts; -1: from nothing
    bint of_earlier               # that is one of ``earlier``
    bint chained                # it is of a chain: its parent is the task before, the first one has none
    double growth               # > 0: it is the same at a C so many times as large; 0: over other rows
    bint turned                 # that optimum has the classes the other way round
    Py_ssize_t places           # in ``rows``: where its rows stand among those of the parent, then the rows that left
    Py_ssize_t n_left           # rows of the parent that are not its own
    Py_ssize_t n_new            # rows of its own that the parent lacks
    double work_from_nothing    # values that the last of those it follows has worked on that started from nothing
    bint keeps                  # its optimum is kept for others
    Py_ssize_t optimum          # in ``kept_beta`` and ``kept_scores``
    double Cp
    double Cn
    Formulation of              # of the training that it is a part of, or at another C
    const double *weights       # of all rows of ``kernel_values`` in that training; NULL: 1 each
    Py_ssize_t out              # of its coefficients; -1 if they are not kept
    Py_ssize_t values           # of the decision values of the rows held out
    Py_ssize_t sigmoid          # that waits for these; -1 for none
    Py_ssize_t fold             # that waits for the coefficients; -1 for none
    # what came of it
    Recovered found
    double gap
    double width                # of the interval in which rho may lie
    double reach
    double seconds
    double seeding_seconds      # of these, for the start
    bint along_path             # of ATO
    bint from_nothing           # there is a parent, but no start that pays, or none that is feasible
    double r                    # of the dual problem, as of Optimum
    int64_t iterations
    int64_t rows_computed
    int64_t values_computed
    bint converged
    bint rounding               # but the gap is above the tolerance once kernel values are in double
    bint begun                  # before the end of the call
    char *marks
    Py_ssize_t n_marks
    Py_ssize_t room


# What steps of SMO work on: for each variable two rows, and the choice of the next two; and what a step takes besides, as
# much as so many variables.
cdef enum:
    VALUES_OF_A_STEP = 3
    VARIABLES_OF_A_STEP = 256


cdef inline double work_of_steps(Py_ssize_t n_variables, double iterations) noexcept nogil:
    return VALUES_OF_A_STEP * <double>(n_variables + VARIABLES_OF_A_STEP) * iterations


# Whether it is over the same rows as the one from whose optimum it starts: a pair of classes, of which a fold has none.
cdef inline bint is_as_parent(const Task *task) noexcept nogil:
    return task.growth == 0 and task.n_left == 0 and task.n_new == 0


# Whether it starts from an optimum.
cdef inline bint has_start(const Task *task) noexcept nogil:
    return task.parent >= 0


cdef struct Sigmoid:
    Py_ssize_t n
    Py_ssize_t n_positive
    Py_ssize_t values           # of the decision values of its rows
    int n_solves                # inner folds that are solved
    svmx_countdown left         # of these
    # what came of it
    double A
    double B
    int trouble
    bint done


cdef struct Fold:
    Py_ssize_t first            # in ``rows``: its rows by class, then those held out, the solve of each pair, the starts
    Py_ssize_t n
    Py_ssize_t n_held
    int k                       # classes; 1 for a single function of all rows
    Py_ssize_t n_functions
    Py_ssize_t values           # of decision values, row by row
    svmx_countdown left         # solves
    bint solved
    bint done                   # the decision values are there


cpdef double work_of_start(Py_ssize_t n, Py_ssize_t n_changed) noexcept nogil
cpdef double tolerance_of_start(double eps, double r) noexcept nogil
cpdef bint start_pays(double r) noexcept nogil


# What a task starts from.
cdef struct Parent:
    const Task *task
    const int32_t *rows
    const double *beta          # by variable
    const double *V


cdef class TaskList:
    cdef readonly KernelValues kernel_values
    cdef readonly object param
    cdef object matrix_of
    cdef object matrix              # the rows, in the order of ``kernel_values``; None while no values are wanted
    cdef Formulation of             # of the tasks that are added
    cdef bint doubled               # two variables for a row
    cdef const double *weights      # of the tasks that are added
    cdef list kept_weights          # of which the tasks have addresses; the first are those of the list
    cdef TaskList earlier             # of ``start_from``
    cdef bint has_starts            # some tasks start from an optimum
    cdef bint has_larger            # some at a larger C than another one
    cdef bint keeps_all
    cdef double eps
    cdef bint divides               # decision values are those of the dual, divided by r: nu-SVC
    cdef bint may_stand             # an optimum stands where rows without coefficients leave
    cdef SeederKind seeder
    cdef bint chooses               # whether it is auto
    cdef SeederKind in_a_star       # as of FoldSeeder
    cdef Py_ssize_t n_chains
    cdef int32_t[::1] position      # scratch of ``link``: of each row, -1
    cdef int32_t *rows
    cdef readonly Py_ssize_t n_rows
    cdef Py_ssize_t room_for_rows
    cdef double *targets
    cdef Py_ssize_t n_targets
    cdef Py_ssize_t room_for_targets
    cdef Task *tasks
    cdef readonly Py_ssize_t n_tasks
    cdef Py_ssize_t room_for_tasks
    cdef Sigmoid *sigmoids
    cdef readonly Py_ssize_t n_sigmoids
    cdef Py_ssize_t room_for_sigmoids
    cdef Fold *folds
    cdef readonly Py_ssize_t n_folds
    cdef Py_ssize_t most_rows       # of a solve
    cdef Py_ssize_t most_held       # rows held out of a solve
    cdef Py_ssize_t most_labels     # of a sigmoid
    cdef Py_ssize_t most_functions  # of a fold
    cdef int64_t[::1] order         # in which tasks are done
    cdef int64_t[::1] unit          # where each unit begins in ``order``, which one worker does in turn, and the end
    cdef bint by_group              # folds are solved at the very end, all of them
    cdef bint predicts              # decision values are wanted
    cdef bint by_floats             # those of folds from the kernel values that solves have
    cdef bint held_by_floats        # those of rows held out of a solve
    cdef bint tabulates             # K of all rows with all is computed once for all decision values
    cdef double[::1] table          # it, for a CrossTable; None before it is there
    cdef list constants             # decision values that need no solve: (place, value)
    # what comes of it
    cdef Py_ssize_t n_out
    cdef Py_ssize_t n_values
    cdef double[::1] coefficient    # (n_out,)
    cdef double[::1] kept_beta      # of the tasks that keep their optimum, by variable
    cdef double[::1] kept_scores
    cdef double[::1] value          # (n_values,)
    cdef Task *task(self, Py_ssize_t t) except NULL
    cdef bint crosses(self) noexcept
    cdef Py_ssize_t number_of(self, const Task *task) noexcept nogil
    cdef int append(self, Py_ssize_t n_rows) except -1
    cdef int add_targets(self, Task *task, targets) except -1
    cdef Task *new_task(self) except NULL
    cdef Sigmoid *new_sigmoid(self) except NULL
    cdef int link(self, Py_ssize_t number, Py_ssize_t parent, TaskList earlier) except -1
    cdef int make_room(self) except -1
    cdef Parent parent_of(self, const Task *task) noexcept nogil


cdef class PairNumbers:
    cdef dict place             # of a class, among them
    cdef Py_ssize_t room        # classes
    cdef int64_t[::1] number    # (room, room)
    cdef places(self, labels)


cdef class QueueStarts:
    cdef TaskList todo
    cdef GramRows kernel_rows
    cdef Control control
    cdef FoldStart at
    cdef ValueRows rows
    cdef FoldSeeder seeder
    cdef Py_ssize_t last_task       # that ``budget`` knows of, and whose margin the path has the factor of; -1: none
    cdef StartBudget budget
    cdef double[::1] V, origin      # of the variables of a task in the optimum from which it starts: V and beta
    cdef double drawn_out           # at another C: by how much
    cdef int8_t[::1] entering
    cdef int32_t[::1] left_column, sv_column
    cdef double[::1] left_beta, sv_beta
    cdef bint begin(self, Task *task, const Dual *dual) noexcept nogil
    cdef int begin_larger(self, Task *task, const Dual *dual, double *scores) except -1 nogil
    cdef int add_new(self, const Task *task, const Dual *dual) except -1 nogil
    cdef bint pays(self, Task *task) noexcept nogil
    cdef void follow(self, const Task *task) noexcept nogil
    cdef bint make(self, Task *task, const Dual *dual, double *scores) except -1 nogil
    cdef double worth_a_path(self, const Task *task, const Dual *dual, double most_work) noexcept nogil
